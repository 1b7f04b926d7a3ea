"""The shape of the house: folders and files that stay small, names that say where one is, C++ that includes one way.

Python's order of imports is a contract in pyproject.toml, which `make lint` checks.
"""

import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
CODE = {".py", ".cc", ".cpp", ".h", ".kt", ".sh", ".js", ".mjs", ".ts"}
MOST_FILES = 14
MOST_LINES = 420
FLOORS = (
    {"kernels"},
    {"operators", "common"},
    {"system"},
    {"frontend", "decoder", "lexicon", "recordings", "results"},
    {"model"},
    {"recognizer", "pronunciation"},
    {"aligner"},
    {"capi"},
    {"command"},
)
"""Of native/, lowest first: a file includes headers of its own folder and of lower floors."""


def tracked_files() -> list[PurePosixPath]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the list of files needs git: {done.stderr.strip()}")
    return [path for path in map(PurePosixPath, done.stdout.splitlines()) if (ROOT / path).exists()]


def code_files() -> list[PurePosixPath]:
    return [path for path in tracked_files() if path.suffix in CODE]


def test_folders_are_small() -> None:
    # But the app, whose folders of Kotlin wait for a change of its structure.
    files = (path for path in code_files() if path.name != "__init__.py" and path.parts[0] != "android_demo")
    folders = Counter(path.parent for path in files)
    assert {str(folder): count for folder, count in folders.items() if count > MOST_FILES} == {}


def test_files_are_short() -> None:
    lines = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in code_files()}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_modules_differ_in_their_last_two_names() -> None:
    """`train/network/layers.py` and `quant/layers.py` are told apart; two files `data/store.py` would not be."""
    names = Counter("/".join(path.with_suffix("").parts[-2:]) for path in code_files() if path.suffix == ".py")
    assert {name for name, count in names.items() if count > 1 and not name.endswith("__init__")} == set()


def test_tests_differ_in_their_names() -> None:
    """pytest imports each by its name alone, and stops where two have one."""
    names = Counter(path.name for path in code_files() if path.parts[0] == "tests" and path.match("test_*.py"))
    assert len(names) > 50
    assert {name for name, count in names.items() if count > 1} == set()


def anchors_of(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, target: str) -> bool:
    place, _, anchor = target.partition("#")
    there = page.parent / place if place else page
    return there.exists() and (not anchor or anchor in anchors_of(there))


LINK = re.compile(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"|^\[[^]]+\]: (\S+)", re.MULTILINE)


def test_links_of_the_pages_lead_somewhere() -> None:
    pages = [ROOT / path for path in tracked_files() if path.suffix == ".md"]
    links = [(page, "".join(found)) for page in pages for found in LINK.findall(page.read_text(encoding="utf-8"))]
    links = [(page, target) for page, target in links if not target.startswith("http")]
    assert len(pages) > 8
    assert len(links) > 40
    assert [(page.name, target) for page, target in links if not leads_somewhere(page, target)] == []


def test_native_includes_one_way() -> None:
    floor = {folder: number for number, folders in enumerate(FLOORS) for folder in folders}
    upwards, seen = [], 0
    for path in code_files():
        if path.parts[0] != "native":
            continue
        for name in re.findall(r'^#include "\.\./(\w+)/', (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE):
            if name in floor:
                seen += 1
                if floor[name] >= floor[path.parts[1]]:
                    upwards.append(f"{path} includes from {name}")
    assert seen > 30
    assert upwards == []
