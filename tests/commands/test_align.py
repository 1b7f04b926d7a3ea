"""`tetraphone align` on several recordings: whose problem it is, and when its status is 1."""

import json
import shutil
from pathlib import Path

import pytest

from tetraphone.commands.main import main

MEASURE = Path(__file__).parents[2] / "android_demo/app/src/main/assets/measure.wav"
GRID = 'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n3\n<exists>\n1\n"IntervalTier"\n"words"\n0\n3\n2\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings, one with a text of which a word is guessed, one with an interval that cannot be said."""
    for name, suffix, text in (
        ("a", "lab", "She sells sea shells; he thinks of thin blorps."),
        ("b", "TextGrid", f'{GRID}0\n1\n"she sells"\n1\n1.5\n"5"\n'),
    ):
        shutil.copy(MEASURE, tmp_path / f"{name}.wav")
        (tmp_path / f"{name}.{suffix}").write_text(text)
    return tmp_path


def test_problems_name_their_recordings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fault = f"{folder / 'b.wav'}: from 1.00 to 1.50 s: the text has '5'"
    assert main(["align", str(folder)]) == 1
    printed, said = capsys.readouterr()
    assert "SELLS" in printed
    assert f"problem: {folder / 'a.wav'}: the dictionary lacks 'BLORPS'" in said
    assert f"problem: {fault}" in said
    assert "1 of 2 recordings failed" in said
    assert main(["align", str(folder), "--output", str(folder / "out"), "--json", "--quiet"]) == 1
    counts = json.loads(capsys.readouterr().out)
    assert (counts["aligned"], counts["failed"]) == (1, 1)
    assert any(problem.startswith(fault) for problem in counts["problems"])
    assert (folder / "out/b.json").is_file()


@pytest.mark.parametrize("options", [["--json"], [], ["--format", "ctm"]])
def test_a_stretch_that_fails_makes_the_status_1(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", str(folder / "b.wav"), *options]) == 1
    printed, said = capsys.readouterr()
    assert "SHE" in printed
    assert "from 1.00 to 1.50 s: the text has '5'" in (printed if options == ["--json"] else said)
    assert main(["align", str(folder / "a.wav"), *options]) == 0
