"""The documentation: it builds strictly, and its commands and examples run.

Examples in C and C++ are compiled by tests/recognition/test_native.py, that in Kotlin by `make android`.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tetraphone.commands.main import main
from tetraphone.common.extras import EXTRA_OF

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
MEASURE = ROOT / "android_demo/app/src/main/assets/measure.wav"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SNIPPETS = {page.stem: BLOCK.findall(page.read_text(encoding="utf-8")) for page in PAGES}
CHECKED_ALONE = {"train", "export"}
"""Pages whose commands take too long or need a corpus; tests/commands/test_readme.py compares them with the parsers."""
SAID = ("SH IY S EH L", "ʃ i s ɛ l", "SH 0.3675 0.3975", "cannot read the recording none.wav: no such file")
"""What the snippets of python.md print, among others."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader is: with a recording, and a folder of them."""
    (tmp_path / "recordings").mkdir()
    for name in ("speech.wav", "recordings/one.wav", "recordings/two.wav"):
        shutil.copy(MEASURE, tmp_path / name)
    for name in ("one.lab", "two.txt"):
        (tmp_path / "recordings" / name).write_text("She sells sea shells; he thinks of thin ships.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_snippets() -> None:
    languages = [language for snippets in SNIPPETS.values() for language, _ in snippets]
    assert languages.count("sh") >= 5
    assert languages.count("python") >= 8


@pytest.mark.parametrize(
    "page", sorted(page for page, snippets in SNIPPETS.items() if snippets and page not in CHECKED_ALONE)
)
def test_the_snippets_of_a_page_run_one_after_another(
    page: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {"__name__": page}
    for language, text in SNIPPETS[page]:
        if language == "python":
            exec(compile(text, page, "exec"), names)
            continue
        for line in text.splitlines():
            run_line(line)
        for name in ("phones.png", "results/one.TextGrid"):
            if name.split("/")[0] in text:
                assert (folder / name).stat().st_size > 100
    if page == "python":
        out = capfd.readouterr().out
        assert [said for said in SAID if said not in out] == []
        assert {path.name for path in folder.iterdir()} >= {"speech.TextGrid", "speech.labels.txt"}


def run_line(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[:2] == ["pip", "install"]:
        extras = re.findall(r"[\w]+(?=[\],])", words[2].partition("[")[2])
        assert set(extras) <= set(EXTRA_OF.values()), line
    elif "--microphone" not in words:
        assert words[0] == "tetraphone", line
        assert main(words[1:]) == 0, line


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    """Links, anchors, embedded files and the reference of docstrings."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (pip install 'tetraphone[dev]')")
    regular = ROOT / "build" / "regular"
    if not regular.is_dir():
        pytest.skip(f"{regular} is not there; `make lint` lays the package out")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {page.stem: (tmp_path / page.stem / "index.html") for page in PAGES if page.stem != "index"}
    assert "tetraphone_recognizer_load" in pages["embed"].read_text(encoding="utf-8")
    assert "phonesOf" in pages["embed"].read_text(encoding="utf-8")
    assert "StreamOptions.beam" in pages["reference"].read_text(encoding="utf-8")
