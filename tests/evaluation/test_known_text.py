"""What is said in a recording, as files beside it say it."""

from pathlib import Path

import pytest

from tetraphone.common.errors import InputError
from tetraphone.evaluation.known_text import stretches_of, text_beside

HEAD = 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n0\n3\n<exists>\n'


def grid(*intervals: tuple[float, float, str]) -> str:
    rows = "".join(f'{start}\n{end}\n"{text}"\n' for start, end, text in intervals)
    return f'{HEAD}1\n"IntervalTier"\n"words"\n0\n3\n{len(intervals)}\n{rows}'


def test_silences_of_a_textgrid_are_not_said() -> None:
    silences = [(0.1 * i, 0.1 * i + 0.1, text) for i, text in enumerate(("", " ", "sil", "SP", "<eps>", "<sil>"))]
    found = stretches_of(grid(*silences, (1, 2, "the ship"), (2, 3, "sp")), "a.TextGrid")
    assert [(stretch.text, stretch.start, stretch.end) for stretch in found] == [("the ship", 1, 2)]
    with pytest.raises(InputError, match=r"a\.TextGrid has no interval with a text"):
        stretches_of(grid(*silences), "a.TextGrid")


def test_intervals_that_overlap_are_named() -> None:
    with pytest.raises(InputError, match=r"^a\.TextGrid: the interval from 0\.50 to 2\.00 s begins before the end"):
        stretches_of(grid((0, 1, "the"), (0.5, 2, "ship")), "a.TextGrid")
    with pytest.raises(InputError, match=r"a\.TextGrid is a TextGrid that is damaged"):
        stretches_of(grid((1, 1, "the")), "a.TextGrid")


def test_a_text_that_is_called_a_textgrid_is_refused() -> None:
    assert stretches_of("the ship", "a.txt")[0].text == "the ship"
    for name in ("a.TextGrid", "a.TEXTGRID"):
        with pytest.raises(InputError, match=rf"{name} is called a TextGrid and is none; save it by Praat, or call it"):
            stretches_of("the ship", name)


def test_files_beside_a_recording_may_be_in_capitals(tmp_path: Path) -> None:
    recording = tmp_path / "a.wav"
    with pytest.raises(InputError, match=r"there is no a\.lab or a\.txt or a\.TextGrid beside"):
        text_beside(recording)
    for suffix in (".TEXTGRID", ".TXT", ".LAB", ".TextGrid", ".txt", ".lab"):
        (tmp_path / f"a{suffix}").write_text("the ship")
        assert text_beside(recording).suffix == suffix
