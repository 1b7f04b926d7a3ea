"""Which lines of C++ each test program executes, by gcov."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

Lines = dict[str, dict[str, dict[int, int]]]
"""By program and source: how often each line was executed, of those that have code."""


def executed(builds: list[Path], tree: Path, programs: list[tuple[str, Callable[[], object]]]) -> Lines | None:
    """Runs each program, built with --coverage in one of `builds`; None where gcov is missing."""
    if shutil.which("gcov") is None:
        return None
    found: Lines = {}
    for name, run in programs:
        for build in builds:
            for data in build.rglob("*.gcda"):
                data.unlink()
        run()
        counts: dict[str, dict[int, int]] = {}
        for build in builds:
            for data in build.rglob("*.gcda"):
                command = ["gcov", "--json-format", "--stdout", data]
                told = subprocess.run(command, cwd=build, capture_output=True, text=True)
                for report in told.stdout.splitlines():
                    for file in json.loads(report)["files"]:
                        path = (build / file["file"]).resolve()
                        if path.is_relative_to(tree):
                            lines = counts.setdefault(path.relative_to(tree).as_posix(), {})
                            for line in file["lines"]:
                                number = line["line_number"]
                                lines[number] = lines.get(number, 0) + line["count"]
        found[name] = counts
    return found


def programs_of(lines: Lines, path: str, first: int, last: int) -> set[str] | None:
    """Programs that execute one of the lines; None if there is no code in them, as far as the compiler says."""
    of_path = {name: counts.get(path, {}) for name, counts in lines.items()}
    if not any(first <= line <= last for counts in of_path.values() for line in counts):
        return None
    return {name for name, counts in of_path.items() if any(first <= line <= last and counts[line] for line in counts)}
