"""Phone symbols of transcripts: one form of Unicode, silences, tables, and what no model can have."""

from pathlib import Path

import pytest
import soundfile
from manifests import FORMS, RATE, SOUND, name_of, read_form, write_form

from tetraphone.common.errors import InputError
from tetraphone.common.phones import SILENCES
from tetraphone.corpora.preparation.timit import SILENT, SYMBOLS
from tetraphone.corpora.transcripts import Transcripts, read_fold


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    soundfile.write(tmp_path / "call.wav", SOUND, RATE)
    return tmp_path


# Phone symbols.

TILDE = "a\u0303"


@pytest.mark.parametrize("form", FORMS)
def test_symbols_are_composed_and_it_is_told(folder: Path, form: str) -> None:
    spec = write_form(folder, form, {"phones": [TILDE, "ã", "t"], "alignment": []})
    items, problems, notes = read_form(spec, form, Transcripts(None))
    assert (items[1].utterance.phones, problems) == (("ã", "ã", "t"), [])
    told = f"{spec}: phone symbols are read in Unicode's form NFC: {TILDE} (U+0061 U+0303) as ã (U+00E3)"
    assert told in notes
    # A model that has learned the other form keeps it.
    assert read_form(spec, form, Transcripts((TILDE, "ã", "t", "AH", "T", "S")))[0][1].utterance.phones[0] == TILDE


@pytest.mark.parametrize("form", FORMS)
def test_silences_are_left_out_and_counted_unless_they_are_kept(folder: Path, form: str) -> None:
    spoken = ["sil", "T", "SP", "S", "sil", "bcl"]
    spec = write_form(folder, form, {"phones": spoken, "alignment": []})
    items, problems, notes = read_form(spec, form, Transcripts(None))
    assert (items[1].utterance.phones, problems) == (("T", "S", "bcl"), [])
    mend = "; --keep-silences keeps them"
    assert f"{spec}: 3 silences are left out of the transcripts (sil 2, SP 1){mend}" in notes
    assert read_form(spec, form, Transcripts(None, keep_silences=True))[0][1].utterance.phones == tuple(spoken)
    # A phone set that has one keeps it.
    kept = read_form(spec, form, Transcripts(("sil", "T", "S", "AH", "bcl")))[0][1].utterance.phones
    assert kept == ("sil", "T", "S", "sil", "bcl")


def test_only_silences_are_no_phones(folder: Path) -> None:
    _, problems, _ = read_form(write_form(folder, "jsonl", {"phones": ["sil", "sp"]}), "jsonl")
    assert problems == ["train.jsonl, line 2: u1: no phones"]


def test_silences_cannot_be_kept_in_a_phone_set_that_is_given() -> None:
    with pytest.raises(InputError, match=r"--phones corpus; leave out --keep-silences"):
        Transcripts(keep_silences=True)


def test_of_timits_symbols_pauses_alone_are_silences() -> None:
    assert SILENCES.intersection(SYMBOLS) == {"pau", "epi", "h#"}
    assert set(SILENT) - SILENCES == {"bcl", "dcl", "gcl", "pcl", "tcl", "kcl", "q"}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_folds_transcripts_and_times(folder: Path, form: str) -> None:
    (folder / "table.txt").write_text("# ours\nax AH\n\ntcl\nt T\npau sil\n", encoding="utf-8")
    fold = read_fold(folder / "table.txt")
    assert fold == {"ax": "AH", "tcl": "", "t": "T", "pau": "sil"}
    times = [["pau", 0, 0.1], ["tcl", 0.1, 0.2], ["t", 0.2, 0.3], ["ax", 0.3, 0.6], ["S", 0.6, 1.0]]
    spec = write_form(folder, form, {"phones": [symbol for symbol, _, _ in times], "alignment": times})
    items, problems, notes = read_form(spec, form, Transcripts(fold=fold))
    utterance = items[1].utterance
    assert (utterance.phones, problems) == (("T", "AH", "S"), [])
    assert f"{spec}: 1 silences are left out of the transcripts (pau 1)" in notes
    if form != "shar":
        assert utterance.times is not None
        assert [(phone, pytest.approx(start)) for phone, start, _ in utterance.times] == [
            ("T", 0.2),
            ("AH", 0.3),
            ("S", 0.6),
        ]
        assert not any("alignments" in note for note in notes)


def test_a_symbol_that_the_table_lacks_stays_as_it_is(folder: Path) -> None:
    items, problems, _ = read_form(
        write_form(folder, "jsonl", {"phones": ["S", "dx"]}), "jsonl", Transcripts(fold={"q": ""})
    )
    assert [item.id for item in items] == ["u0", "u2"]
    assert "u1: unknown phones dx; " in problems[0]
    assert "the table does not fold them" in problems[0]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"ax AH\nix IH extra\n", "line 2: 3 words; write a symbol and the one phone"),
        (b"ax AH\nax IH\n", "line 2: ax stands for IH, but for AH above; keep one"),
        (b"# nothing\n", "has no line like: ax AH"),
        ("ax ã\n".encode("latin-1"), "is not text in UTF-8 \\(byte 3\\); save it as UTF-8"),
        (b"ax " + b"A" * 200 + b"\n", "line 1: .*AAAA"),
        (None, "cannot read the table .*table.txt: No such file or directory; give a file"),
    ],
)
def test_a_table_that_is_none_is_named_by_line(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "table.txt").write_bytes(content)
    with pytest.raises(InputError, match=f"table.txt.*{fault}" if content is not None else fault):
        read_fold(tmp_path / "table.txt")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("symbol", ["", "a b", " a", "a" * 63])
def test_a_symbol_that_no_model_can_have_is_named_when_the_corpus_is_read(folder: Path, form: str, symbol: str) -> None:
    spec = write_form(folder, form, {"phones": ["T", symbol], "alignment": []})
    items, problems, _ = read_form(spec, form, Transcripts(None))
    assert [item.id for item in items] == ["u0", "u2"]
    assert problems[0].startswith(f"{name_of(form)}, line 2: u1: ")
