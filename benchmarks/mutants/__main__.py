"""How many small faults, put in on purpose, the tests notice, by module.

    python -m benchmarks.mutants [MODULE ...]

Run it in the checkout. Verdicts are kept in build/mutants as they come, so that a run that was stopped goes on where it
was; a verdict holds while its source and the tests that gave it are the same. Writes mutants.json and mutants.md.
"""

import fcntl
import json
import os
import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import tyro

from tetraphone.common.errors import InputError
from tetraphone.common.files import machine
from tetraphone.common.progress import Progress, say

from . import report
from .cpp_edits import cpp_edits
from .mutant import Mutant, digest, number, sample
from .native import NativeTests
from .python_edits import compiles, imported_modules, python_edits
from .selection import Selection
from .workplace import Workplace, modules, packages, test_projects, tracked


@dataclass(frozen=True)
class Options:
    """What to try, and where."""

    modules: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Only these, or those in these folders; all by default. The table has all that are finished."""
    sample: int = 60
    """Mutants of a module; 0: all."""
    all_of: tuple[str, ...] = ("kernels", "decoder")
    """Modules whose path has one of these words are tried whole."""
    seed: int = 0
    """Of the sample."""
    jobs: int = 1
    """Processes, each with a copy of the checkout."""
    seconds: float = 120.0
    """Tests that a Python mutant is given, by how long they usually take."""
    tests: tuple[str, ...] = ()
    """Only these files of Python tests: for work on one module. What survives may be killed by others."""
    work: Path = Path("build/mutants")
    """The folder of copies and of what is kept."""
    output: Path = Path("benchmarks/results")
    """The folder of the table."""
    explanations: Path = Path("benchmarks/mutants/explanations.toml")
    """Why survivors survive, by id."""
    table_only: bool = False
    """Write the table again, after a change of the explanations."""


class Worker:
    """A workplace; what it needs is started when first asked for."""

    def __init__(self, workplace: Workplace, files: list[str], lock: int) -> None:
        self._workplace, self._files, self._lock = workplace, files, lock
        self._process: subprocess.Popen[str] | None = None
        self._native: NativeTests | None = None
        self.scratch = workplace.folder / "scratch"

    @property
    def tree(self) -> Path:
        return self._workplace.tree

    @property
    def native(self) -> NativeTests:
        if self._native is None:
            kept = self._workplace.folder.parent / "native"
            self._native = NativeTests(self._workplace, self._files, kept)
        return self._native

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """The warm Python process's answer to a job."""
        if self._process is None:
            self.scratch.mkdir(parents=True, exist_ok=True)
            script = Path(__file__).with_name("worker.py")
            command = [self._workplace.python, script, self.tree.resolve(), self.scratch.resolve(), *self._imports()]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            environment.pop("PYTHONPATH", None)
            log = (self.scratch / "worker.log").open("w")
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log, "text": True}
            # It holds the lock until it has put back what it changed, even if this process is killed.
            self._process = subprocess.Popen(command, env=environment, pass_fds=(self._lock,), **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise InputError(f"the process of {self._workplace.folder} ended; see {self.scratch / 'worker.log'}")
        return dict(json.loads(answer))

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()

    def _imports(self) -> list[str]:
        """What sources and tests import of others, which a process need not do again for each mutant."""
        own = {Path(package).parts[0] for package in packages(self._workplace.root)}
        own |= {Path(name).stem for name in self._files}
        found = {"pytest"}
        for name in self._files:
            if name.endswith(".py"):
                found |= imported_modules((self._workplace.root / name).read_text(encoding="utf-8"))
        return sorted(name for name in found if name.split(".")[0] not in own)


def _locked(work: Path) -> IO[str]:
    """The folder's lock, after the run that holds it."""
    work.mkdir(parents=True, exist_ok=True)
    lock = (work / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"waiting for another run in {work}")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


class Verdicts:
    """What is known of mutants, a line each, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self._entries: dict[tuple[str, str], dict[str, Any]] = {}
        if path.is_file():
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            os.truncate(path, len(whole))  # the last line may be half a line
            for line in whole.splitlines():
                entry = json.loads(line)
                self._entries[entry["id"], entry["source"]] = entry
        self._file = path.open("a", encoding="utf-8")

    def get(self, mutant: Mutant, source: str) -> dict[str, Any] | None:
        return self._entries.get((mutant.id, source))

    def add(self, entry: dict[str, Any]) -> None:
        self._entries[entry["id"], entry["source"]] = entry
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


class Run:
    """One call of the command."""

    def __init__(self, root: Path, options: Options) -> None:
        self.options, self._root = options, root
        self._files = tracked(root)
        self._python, self._native = modules(root, self._files)
        self.listed = [*self._python, *self._native]
        self._lock = _locked(options.work)
        self._verdicts = Verdicts(options.work / "verdicts.jsonl")
        self._selection = Selection(root, options.work / "coverage")
        projects = test_projects(root, self._files)
        tests = [name for name in self._files if str(Path(name).parent) in projects]
        self._native_identity = digest(b"".join((root / name).read_bytes() for name in tests))
        self._killers = set[str]()
        self._workers: list[Worker] = []
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def chosen(self) -> list[str]:
        """The modules that were asked for, in that order.

        Raises:
            InputError: there is none of a name.
        """
        found: list[str] = []
        for wanted in [name.rstrip("/") for name in self.options.modules or ("",)]:
            here = [path for path in self.listed if not wanted or path == wanted or path.startswith(f"{wanted}/")]
            if not here:
                raise InputError(f"git knows no module {wanted}; name one as {self.listed[0]}, or its folder")
            found += [path for path in here if path not in found]
        return found

    def start(self, chosen: list[str]) -> None:
        for index in range(self.options.jobs):
            workplace = Workplace(self._root, self.options.work / f"worker-{index}")
            workplace.prepare(self._files)
            self._workers.append(Worker(workplace, self._files, self._lock.fileno()))
            self._free.put(self._workers[-1])
        if set(chosen) & set(self._python):
            tests = [name for name in self._files if Path(name).name.startswith("test_") and name.endswith(".py")]
            tests = [name for name in tests if not self.options.tests or name in self.options.tests]
            missing = self._selection.missing(tests)
            if missing:
                self._each(
                    self._measure, missing, Progress[Any](what="measuring tests", total=len(missing), unit="files")
                )

    def _measure(self, worker: Worker, file: str) -> None:
        found = self._selection.measure(file, worker.tree, worker.scratch, worker.ask)
        if len(found.durations) < len(found.known) or not found.known:
            say(f"{file}: {len(found.durations)} of {len(found.known)} tests pass and are used")

    def _each(self, work: Any, items: list[Any], progress: Progress[Any]) -> list[Any]:
        """`work(worker, item)` for all items, by as many threads as there are workers."""

        def one(item: Any) -> Any:
            worker = self._free.get()
            try:
                return work(worker, item)
            finally:
                self._free.put(worker)
                progress.update()

        pool = ThreadPoolExecutor(len(self._workers))
        try:
            with progress:
                return list(pool.map(one, items))
        finally:
            pool.shutdown(cancel_futures=True)

    def module(self, path: str) -> dict[str, Any]:
        """Tries the sampled mutants of a module."""
        source = (self._root / path).read_text(encoding="utf-8")
        mutants = number(path, source, (python_edits if path in self._python else cpp_edits)(source))
        if path in self._native and not self._workers[0].native.linked(path):
            mutants = []  # no program of the C++ tests has it
        whole = any(word in path for word in self.options.all_of)
        drawn = sample(mutants, self.options.seed, None if whole or not self.options.sample else self.options.sample)
        self._killers = set()
        attempt = self._try_python if path in self._python else self._try_native
        progress = Progress[Any](what=path, total=len(drawn), unit="mutants")
        tried = self._each(lambda worker, mutant: attempt(worker, mutant, source), drawn, progress)
        summary = report.summary(mutants, tried, str(machine()["revision"]))
        return summary | ({"only_tests": self.options.tests} if self.options.tests and path in self._python else {})

    def _try_python(self, worker: Worker, mutant: Mutant, source: str) -> dict[str, Any]:
        tests, left = self._selection.tests(mutant.path, *mutant.edit.lines, self.options.seconds)
        names = [test for test, _ in tests]
        known = self._verdicts.get(mutant, digest(source.encode()))
        if known and known["tests_digest"] == self._selection.identity([known["by"]] if known["by"] else names):
            self._killers |= {known["by"]} - {""}
            return known
        start, text = time.monotonic(), mutant.apply(source)
        if not compiles(text, mutant.path):
            found = {"verdict": "stillborn", "by": ""}
        elif not tests:
            found = {"verdict": "survived", "by": ""}
        else:
            job = {
                "kind": "try",
                "path": mutant.path,
                "text": text,
                "batches": self._selection.batches(tests, self._killers),
            }
            found = worker.ask(job)
        by = found["by"] if found["by"] in names else ""
        self._killers |= {by} - {""}
        identity = self._selection.identity([by] if by else names)
        return self._keep(mutant, source, {**found, "by": by}, identity, start, len(names), left)

    def _try_native(self, worker: Worker, mutant: Mutant, source: str) -> dict[str, Any]:
        identity = self._native_identity
        known = self._verdicts.get(mutant, digest(source.encode()))
        if known and known["tests_digest"] == identity:
            return known
        native, start = worker.native, time.monotonic()
        verdict, by, programs = native.attempt(mutant, mutant.apply(source))
        return self._keep(mutant, source, {"verdict": verdict, "by": by}, identity, start, programs, 0)

    def _keep(
        self, mutant: Mutant, source: str, found: dict[str, Any], tests_digest: str, start: float, tests: int, left: int
    ) -> dict[str, Any]:
        entry = {"id": mutant.id, "source": digest(source.encode()), "tests_digest": tests_digest, **found}
        entry |= {"seconds": round(time.monotonic() - start, 2), "tests": tests, "left": left}
        self._verdicts.add(entry)
        return entry

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


def main(options: Options) -> None:
    root = Path.cwd()
    run = Run(root, options)
    explanations = report.read_explanations(options.explanations)
    path = options.output / "mutants.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"modules": {}}
    if not options.table_only or not results["modules"]:
        command = " ".join(["python -m benchmarks.mutants", *sys.argv[1:]])
        head = {"command": command, **machine(), "seed": options.seed, "sample": options.sample}
        results = {**head, "seconds": options.seconds, "modules": results["modules"]}
    try:
        if not options.table_only:
            chosen = run.chosen()
            run.start(chosen)
            for module in chosen:
                results["modules"][module] = found = run.module(module)
                report.write(options.output, results, run.listed, explanations)
                for name in report.outdated(module, found, explanations):
                    say(f"{options.explanations}: {name} of {module} does not survive any more; take it out")
                share = f"{found['killed']} of {found['tried']} killed"
                say(f"{module}: {share}, {len(found['survivors'])} survive")
        report.write(options.output, results, run.listed, explanations)
    finally:
        run.close()


if __name__ == "__main__":
    try:
        main(tyro.cli(Options, description=__doc__))
    except InputError as error:
        sys.exit(f"error: {error}")
