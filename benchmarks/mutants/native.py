"""C++ mutants: builds of the C++ tests of a workplace, and the test programs that a source is part of."""

import json
import os
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Timer

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically

from .mutant import Mutant, digest
from .native_lines import Lines, executed, programs_of
from .workplace import Workplace, test_projects

LONGEST_BUILD = 1800.0
"""Seconds."""
LIMITED = 'ulimit -c 0; ulimit -v 4194304; ulimit -Ht {hard}; ulimit -St {soft}; exec "$@"'
"""For a shell: runs its arguments without core dumps, in 4 GiB of memory and so many seconds of the processor."""
_MEASURING = Lock()


@dataclass
class NativeTest:
    """A program that CTest runs."""

    name: str
    build: Path
    target: str
    command: list[str]
    environment: dict[str, str]
    folder: str
    usual: float = 0.0
    """Seconds, when nothing is wrong."""


class NativeTests:
    """Every CMake project of the copy that has tests, built, with its programs; tests that are scripts are left out."""

    def __init__(self, workplace: Workplace, files: list[str], kept: Path) -> None:
        self._workplace, self._tree = workplace, workplace.tree
        self._tools = workplace.environment / "bin"
        self._of: dict[str, list[NativeTest]] = {}
        projects = test_projects(self._tree, files)
        self.tests = [test for project in projects for test in self._build(project, "native", "")]
        for test in self.tests:
            test.usual, failed = self._run(test, 600.0)
            if failed:
                raise InputError(f"the C++ test {test.name} fails without a mutant: {failed}; mend it first")
        self.tests.sort(key=lambda test: test.usual)
        sources = [name for name in files if name.endswith((".cc", ".cpp", ".h", "CMakeLists.txt"))]
        path = kept / f"{digest(b''.join((self._tree / name).read_bytes() for name in sources))}.json"
        with _MEASURING:
            if not path.is_file():
                measured = json.dumps(self._measure(projects))
                with write_atomically(path) as temporary:
                    temporary.write_text(measured, encoding="utf-8")
            content = json.loads(path.read_text(encoding="utf-8"))
        self._lines: Lines | None = content and {
            name: {source: {int(line): count for line, count in lines.items()} for source, lines in counts.items()}
            for name, counts in content.items()
        }

    def _measure(self, projects: list[str]) -> Lines | None:
        """Lines of each program, by a second build."""
        tests = [test for project in projects for test in self._build(project, "native-covered", " --coverage")]
        runs = [(test.name, partial(self._run, test, 600.0)) for test in tests]
        return executed(sorted({test.build for test in tests}), self._tree, runs)

    def _build(self, project: str, folder: str, flags: str) -> list[NativeTest]:
        build = self._workplace.folder / folder / project.replace("/", "-")
        options = [
            *("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={self._tools / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DPython_ROOT_DIR={self._workplace.environment}", "-DPython_FIND_VIRTUALENV=ONLY"),
            # A mutant may leave a variable unused; the scalar kernels are to stand for themselves.
            f"-DCMAKE_CXX_FLAGS=-w -DTETRAPHONE_SCALAR_ONLY{flags}",
        ]
        self._checked([self._tools / "cmake", "-S", self._tree / project, "-B", build, *options])
        # CTest names the programs of tests in JSON once they are there.
        named = "".join(path.read_text(encoding="utf-8") for path in build.rglob("CTestTestfile.cmake"))
        programs = re.findall(rf'add_test\(\S+ "{re.escape(str(build))}/([^"]+)"', named)
        self._checked([self._tools / "ninja", "-j", "1", "-C", build, *programs])
        listing = self._checked([self._tools / "ctest", "--test-dir", build, "--show-only=json-v1"])
        tests = []
        for entry in json.loads(listing)["tests"]:
            program = Path(entry.get("command", [""])[0])
            if not program.is_relative_to(build):
                continue
            properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
            environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
            target = program.relative_to(build).as_posix()
            place = properties.get("WORKING_DIRECTORY", str(build))
            tests.append(NativeTest(f"{project}: {entry['name']}", build, target, entry["command"], environment, place))
        return tests

    def linked(self, path: str) -> list[NativeTest]:
        """Programs that a source or header is part of, quickest first."""
        if path not in self._of:
            for test in self.tests:
                self._make(test)
            os.utime(self._tree / path)
            plans = [self._checked([self._tools / "ninja", "-C", test.build, "-n", test.target]) for test in self.tests]
            self._of[path] = [test for test, plan in zip(self.tests, plans, strict=True) if "no work to do" not in plan]
        return self._of[path]

    def attempt(self, mutant: Mutant, text: str) -> tuple[str, str, int]:
        """Verdict ("stillborn", "killed", "timeout", "survived"), by which test, and how many execute its statement."""
        source = self._tree / mutant.path
        original = source.read_text(encoding="utf-8")
        linked = self.linked(mutant.path)
        names = self._lines and programs_of(self._lines, mutant.path, *mutant.edit.lines)
        tests = linked if names is None else [test for test in linked if test.name in names]
        try:
            source.write_text(text, encoding="utf-8")
            if not tests and linked and not self._make(linked[0]):
                return "stillborn", "", 0
            for test in tests:
                if not self._make(test):
                    return "stillborn", "", len(tests)
                seconds = 10 + 5 * test.usual
                taken, failed = self._run(test, seconds)
                if failed:
                    return ("timeout" if taken >= seconds else "killed"), f"{test.name}: {failed}", len(tests)
        finally:
            source.write_text(original, encoding="utf-8")
        return "survived", "", len(tests)

    def _make(self, test: NativeTest) -> bool:
        command = [self._tools / "ninja", "-j", "1", "-C", test.build, test.target]
        return subprocess.run(command, capture_output=True, timeout=LONGEST_BUILD).returncode == 0

    def _checked(self, command: list[str | Path]) -> str:
        environment = {**os.environ, "PATH": f"{self._tools}:{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_BUILD, env=environment)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-20:]
            raise InputError(f"{' '.join(map(str, command))} failed:\n" + "\n".join(last))
        return done.stdout

    def _run(self, test: NativeTest, cpu: float) -> tuple[float, str]:
        """Seconds of processor time, and the first line that says FAILED or how the program ended."""

        environment = {**os.environ, **test.environment, "GTEST_FAIL_FAST": "1"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(
            ["sh", "-c", LIMITED.format(soft=int(cpu) + 1, hard=int(cpu) + 2), "sh", *test.command],
            cwd=test.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started = time.monotonic()
        longest = 60 + 10 * cpu
        timer = Timer(longest, process.kill)
        timer.start()
        failed = ""
        assert process.stdout is not None
        for line in process.stdout:
            if b"FAILED" in line:
                failed = line.decode(errors="replace").replace("FAILED", "").strip(" []\n")
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
        code = process.wait()
        timer.cancel()
        if code and not failed:
            failed = f"exit status {code}"
        if time.monotonic() - started >= longest:
            return cpu, failed
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, failed
