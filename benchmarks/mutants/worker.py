"""A process of a workplace that has imported what tests need, and forks for each set of tests that it runs.

    python worker.py TREE SCRATCH MODULE...

Reads jobs from standard input and answers each, one JSON object a line. A job "cover" runs a file of tests and says
which lines each test executed; a job "try" puts a mutant into its file and runs tests until one fails.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path

MEMORY = 12 << 30
"""Bytes of address space that a mutant may ask for."""


class Plugin:
    """Keeps the chosen tests, quickest first, and those that are new; notes outcomes, times and contexts."""

    def __init__(self, chosen=None, known=(), coverage=None):
        self.chosen, self.known, self.coverage = chosen, set(known), coverage
        self.durations, self.failed, self.skipped = {}, [], set()

    def pytest_collection_modifyitems(self, items):
        if self.chosen is None:
            return
        place = {test: index for index, test in enumerate(self.chosen)}
        files = {}
        for item in items:
            files.setdefault(item.nodeid.split("::")[0], len(files))
        kept = [item for item in items if item.nodeid in place or item.nodeid not in self.known]
        kept.sort(key=lambda item: (files[item.nodeid.split("::")[0]], place.get(item.nodeid, len(place))))
        items[:] = kept

    def pytest_runtest_logstart(self, nodeid):
        if self.coverage:
            self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report):
        self.durations[report.nodeid] = self.durations.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        if report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def run_tests(files, plugin, arguments, scratch):
    import pytest

    temporary = scratch / "tmp"
    code = pytest.main(
        [*files, "-q", "-p", "no:cacheprovider", "--tb=short", f"--basetemp={temporary}", *arguments], [plugin]
    )
    return {
        "code": int(code),
        "failed": plugin.failed,
        "durations": plugin.durations,
        "skipped": sorted(plugin.skipped),
    }


def cover(job, scratch):
    import coverage

    sys.dont_write_bytecode = False  # pytest keeps its rewritten tests, for the mutants
    measured = coverage.Coverage(config_file=job["settings"])
    os.environ["COVERAGE_PROCESS_START"] = job["child_settings"]
    measured.start()
    plugin = Plugin(coverage=measured)
    found = run_tests([job["file"]], plugin, [], scratch)
    measured.stop()
    measured.save()
    return found


def in_child(work, scratch, cpu, wall):
    """What `work` returns in a child process, or how that one ended: {"ended": reason}."""
    answer = scratch / "answer.json"
    answer.unlink(missing_ok=True)
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            log = os.open(scratch / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            partial = answer.with_suffix(".part")
            partial.write_text(json.dumps(work()))
            partial.rename(answer)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # no exit handlers: nothing more is to be said
    deadline, ended = time.monotonic() + wall, None
    try:
        while os.waitpid(process, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                ended = "timeout"
                os.killpg(process, signal.SIGKILL)
            time.sleep(0.005)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what it started
    shutil.rmtree(scratch / "tmp", ignore_errors=True)
    if answer.is_file():
        return json.loads(answer.read_text())
    return {"ended": ended or "crash"}


def attempt(job, scratch):
    """Runs the batches of tests on the mutant; the first that fails ends it."""
    path = Path(job["path"])
    original = path.read_text(encoding="utf-8")
    try:
        path.write_text(job["text"], encoding="utf-8")
        for batch in job["batches"]:
            plugin = Plugin(batch["tests"], batch["known"])
            work = lambda: run_tests(batch["files"], plugin, ["-x"], scratch)  # noqa: B023, E731
            start = os.times()
            found = in_child(work, scratch, batch["cpu"], batch["wall"])
            if "ended" in found:
                used = sum(os.times()[2:4]) - sum(start[2:4])
                return {
                    "verdict": "timeout" if found["ended"] == "timeout" or used >= batch["cpu"] else "killed",
                    "by": "",
                }
            if found["code"] not in (0, 5):
                return {"verdict": "killed", "by": (found["failed"] or [""])[0]}
    finally:
        path.write_text(original, encoding="utf-8")
    return {"verdict": "survived", "by": ""}


def main():
    tree, scratch, *wanted = sys.argv[1:]
    sys.path.pop(0)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.chdir(tree)
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for name in wanted:
        try:
            importlib.import_module(name)
        except Exception as error:
            print(f"not imported beforehand: {name}: {error}", file=sys.stderr)
    gc.collect()
    gc.freeze()  # what is collected in a child would be copied first
    for line in sys.stdin:
        job = json.loads(line)
        if job["kind"] == "cover":
            found = in_child(lambda: cover(job, Path(scratch)), Path(scratch), job["wall"], job["wall"])  # noqa: B023
        else:
            found = attempt(job, Path(scratch))
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
