"""Which tests execute a line, and how long each takes: one measured run of each file of tests, which is kept."""

import json
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage

from tetraphone.common.files import write_atomically

from .mutant import digest

LONGEST_FILE = 3600.0
"""Seconds that a file of tests may take while it is measured."""
BATCHES = (3.0, 30.0)
"""Seconds of tests after which a new process goes on: the first one has the quickest."""
FRONT = 6
"""Tests that are tried by themselves first."""
SETTINGS = """[run]
data_file = {data}
parallel = true
include = {tree}/*
patch = fork, _exit
{more}"""


@dataclass(frozen=True)
class Covered:
    """What one file of tests executed."""

    file: str
    known: tuple[str, ...]
    """All its tests."""
    durations: dict[str, float]
    """Seconds of each test that passes."""
    lines: dict[str, dict[int, tuple[str, ...]]]
    """By source and line, the tests that execute it; "" stands for the import."""
    digests: dict[str, str]
    """Of the sources and of the file itself, as they were."""


class Selection:
    """Measured files of tests of the tree `root`."""

    def __init__(self, root: Path, kept: Path) -> None:
        self._root, self._kept = root, kept
        self._covered: dict[str, Covered] = {}

    def missing(self, files: Iterable[str]) -> list[str]:
        """Those that were never measured, or whose sources have changed since; reads the others."""
        stale = []
        for file in files:
            try:
                content = json.loads(self._file(file).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                stale.append(file)
                continue
            found = Covered(
                file,
                tuple(content["known"]),
                content["durations"],
                {
                    path: {
                        int(line): tuple(content["known"][index] if index >= 0 else "" for index in tests)
                        for line, tests in lines.items()
                    }
                    for path, lines in content["lines"].items()
                },
                content["digests"],
            )
            if all(self._digest(path) == expected for path, expected in found.digests.items()):
                self._covered[file] = found
            else:
                stale.append(file)
        return stale

    def measure(self, file: str, tree: Path, scratch: Path, ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Covered:
        """Runs a file of tests by `ask` in the copy `tree` and keeps what it executed."""
        data = scratch / "coverage"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        settings, child = data / "settings", data / "child"
        for path, more in ((settings, ""), (child, "context = ${PYTEST_CURRENT_TEST}\n")):
            path.write_text(SETTINGS.format(data=data / "data", tree=tree.resolve(), more=more), encoding="utf-8")
        job = {"kind": "cover", "file": file, "settings": str(settings), "child_settings": str(child)}
        found = ask({**job, "wall": LONGEST_FILE})
        passed = set(found.get("durations", {})) - set(found.get("failed", [])) - set(found.get("skipped", []))
        durations = {test: round(found["durations"][test], 3) for test in sorted(passed)}
        known = sorted(found.get("durations", {}))
        lines: dict[str, dict[int, tuple[str, ...]]] = {}
        if found.get("durations"):
            report = coverage.Coverage(config_file=str(settings), data_file=str(data / "data"))
            report.combine([str(data)])
            measured = report.get_data()
            for path in measured.measured_files():
                name = Path(path).resolve().relative_to(tree.resolve()).as_posix()
                contexts = measured.contexts_by_lineno(path)
                lines[name] = {line: _tests(tests, passed) for line, tests in contexts.items()}
        sources = {file, *(name for name in lines if (self._root / name).is_file())}
        covered = Covered(file, tuple(known), durations, lines, {name: self._digest(name) for name in sorted(sources)})
        number = {"": -1, **{test: index for index, test in enumerate(known)}}
        numbered = {
            path: {line: [number[test] for test in tests] for line, tests in of_path.items() if tests}
            for path, of_path in lines.items()
            if not path.startswith(str(Path(file).parent))
        }
        content = {"known": known, "durations": durations, "digests": covered.digests, "lines": numbered}
        self._kept.mkdir(parents=True, exist_ok=True)
        with write_atomically(self._file(file)) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")
        self._covered[file] = covered
        return covered

    def tests(self, path: str, first: int, last: int, seconds: float) -> tuple[list[tuple[str, float]], int]:
        """Tests that execute one of the lines, quickest first, and how many more than `seconds` hold were left out.

        What is executed when the module is imported every test that imports it may notice: those that execute
        something of the module go first.
        """
        direct, touching, importing = dict[str, float](), dict[str, float](), dict[str, float]()
        for covered in self._covered.values():
            lines = covered.lines.get(path, {})
            here = {test for line in range(first, last + 1) for test in lines.get(line, ())}
            direct |= {test: covered.durations[test] for test in here - {""}}
            if "" in here:
                touched = {test for tests in lines.values() for test in tests} - {""}
                touching |= {test: covered.durations[test] for test in touched}
                importing |= covered.durations
        ordered = dict[str, float]()
        for group in (direct, touching, importing):
            for test, duration in sorted(group.items(), key=lambda item: (item[1], item[0])):
                ordered.setdefault(test, duration)
        chosen, total = [], 0.0
        for test, duration in ordered.items():
            if chosen and total + duration > seconds:
                continue
            chosen.append((test, duration))
            total += duration
        return chosen, len(ordered) - len(chosen)

    def batches(self, tests: list[tuple[str, float]], killers: Collection[str]) -> list[dict[str, Any]]:
        """The tests as jobs' batches: first the quickest few that killed others of the module, then the rest."""
        front = [item for item in tests if item[0] in killers and item[1] < BATCHES[0]][:FRONT]
        parts: list[list[tuple[str, float]]] = [front, []]
        total = 0.0
        for test, duration in [item for item in tests if item not in front]:
            if len(parts) <= len(BATCHES) + 1 and parts[-1] and total + duration > BATCHES[len(parts) - 2]:
                parts.append([])
            parts[-1].append((test, duration))
            total += duration
        return [self._batch(part) for part in parts if part]

    def _batch(self, tests: list[tuple[str, float]]) -> dict[str, Any]:
        usual = sum(duration for _, duration in tests)
        seconds = dict[str, float]()
        for test, duration in tests:
            file = test.split("::")[0]
            seconds[file] = seconds.get(file, 0.0) + duration
        return {
            "files": sorted(seconds, key=seconds.__getitem__),
            "tests": [test for test, _ in tests],
            "known": [test for file in seconds for test in self._covered[file].known],
            "cpu": 15 + 5 * usual,
            "wall": 90 + 10 * usual,
        }

    def identity(self, tests: Iterable[str]) -> str:
        """A digest of the tests as they are written now."""
        names = sorted(tests)
        files = sorted({test.split("::")[0] for test in names})
        return digest("\n".join([*names, *(self._digest(file) for file in files)]).encode())

    def _file(self, file: str) -> Path:
        return self._kept / f"{file.replace('/', '_')}.json"

    def _digest(self, name: str) -> str:
        path = self._root / name
        return digest(path.read_bytes()) if path.is_file() else ""


def _tests(contexts: Iterable[str], passed: set[str]) -> tuple[str, ...]:
    """Tests of contexts: those of child processes are called "test (call)"."""
    names = {
        context.rsplit(" (", 1)[0] if context.endswith(")") and " (" in context else context for context in contexts
    }
    return tuple(sorted(names & (passed | {""})))
