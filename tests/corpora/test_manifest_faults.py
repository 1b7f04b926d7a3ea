"""What is wrong with a line of a manifest: the same stored, streamed, and in Shar archives."""

import json
from pathlib import Path
from typing import Any

import pytest
from manifests import FORMS, LINES, name_of, read_form, write_form, write_lines

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.preparation import prepare
from tetraphone.corpora.sources import Shar, find_source
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data import stream

DEEP = b"[" * 100_000
ANYWHERE: list[tuple[Any, str]] = [
    ({"phones": []}, "u1: no phones"),
    ({"phones": "AH T"}, 'u1: phones is "AH T", which is not a list of strings; write ["AH", "T"]'),
    ({"phones": ["AH", 7]}, 'u1: phones is ["AH", 7], which is not a list of strings'),
    ({"phones": {"AH": 1}}, 'u1: phones is {"AH": 1}, which is not a list of strings'),
    ({"phones": ["AH", "QQ", "DX*"]}, "u1: unknown phones QQ DX*; the 39 ARPABET phones without stress are known"),
    ({"duration": True}, "u1: duration is true, which is not a number"),
    ({"duration": "1.0"}, 'u1: duration is "1.0", which is not a number'),
    ({"duration": None}, "u1: no key duration; give it seconds"),
    ({"duration": 0}, "u1: a duration of 0.0 seconds; give one above 0"),
    ({"duration": -1}, "u1: a duration of -1.0 seconds; give one above 0"),
    ({"duration": float("nan")}, "u1: duration is NaN, which is not a finite number"),
    ({"duration": float("inf")}, "u1: duration is Infinity, which is not a finite number"),
    ({"duration": 10**400}, "00…, which is not a finite number"),
    ({"duration": 1e308}, "u1: a duration of 1e+308 seconds; give one of at most 1e+07"),
    ({"start": 1e308}, "u1: a start of 1e+308 seconds; give one of at most 1e+07"),
    ({"start": False}, "u1: start is false, which is not a number"),
    ({"start": -0.5}, "u1: it starts at -0.5 seconds, before its recording"),
    ({"channel": -1}, "u1: channel is -1; give the number of one, counted from 0"),
    ({"channel": "left"}, 'u1: channel is "left"; give the number of one, counted from 0'),
    ({"text": 5}, "u1: text is 5, which is not a string"),
    ({"speaker": ["s"]}, 'u1: speaker is ["s"], which is not a string'),
    (b"[1, 2]", '[1, 2] is no JSON object; write one a line: {"id": …}'),
    (b"null", 'null is no JSON object; write one a line: {"id": …}'),
    (b'"u1"', '"u1" is no JSON object'),
    (b'{"id": "u1", ', "no JSON object (wrong at character"),
    (b'{"id": "u1"} {"id": "u2"}', "no JSON object (wrong at character 14)"),
    (b'{"id": "u1", "id": "u2"}', "the key id stands there twice; keep one"),
    (b'{"id": "\xff"}', "byte 9 is no text in UTF-8; save the file as UTF-8"),
    (b'{"id": "\\ud800"}', "it holds half a character (a lone surrogate"),
    (b'{"id": "u1", "duration": ' + b"1" * 5000 + b"}", "a number of thousands of digits"),
    (DEEP, "no JSON object (lists within lists without end)"),
]
INTERVALS: list[tuple[Any, str]] = [
    ([["T", 0.5, 0.2], ["S", 0.6, 1.0]], "0.2 s in alignment ends before it starts; align again"),
    ([["T", 0.0, 0.5], ["S", 0.6, 1.4]], "is not within the utterance of 1 s (JSON lines count from the utterance's"),
    ([["T", -0.4, 0.5], ["S", 0.6, 1.0]], "is not within the utterance of 1 s"),
    ([["T", 0.0, 0.7], ["S", 0.3, 1.0]], "starts before the phone before it ends, at 0.7 s; align again"),
    ([["T", 0.6, 0.9], ["S", 0.0, 0.5]], "starts before the phone before it ends, at 0.9 s; align again"),
    ([["T", 0.0, float("nan")], ["S", 0.6, 1.0]], "in alignment is NaN, which is not a finite number"),
]


def check_fault(folder: Path, form: str, change: Any, fault: str) -> None:
    items, problems, _ = read_form(write_form(folder, form, change), form)
    assert [item.id for item in items] == ["u0", "u2"]
    assert len(problems) == 1
    assert problems[0].startswith(f"{name_of(form)}, line 2: ")
    assert fault in problems[0]
    for word in ("codec", "NoneType", "int()", "float", "subscript", "indices", "Errno", "Expecting", "argument"):
        assert word not in problems[0]


@pytest.mark.parametrize("form", FORMS)
def test_a_fault_is_named_by_file_and_line_and_the_rest_goes_on(folder: Path, form: str) -> None:
    """All faults in one test for each form: writing Shar archives takes a while."""
    for number, (change, fault) in enumerate(ANYWHERE):
        own = folder / str(number)
        own.mkdir()
        (own / "call.wav").symlink_to(folder / "call.wav")
        check_fault(own, form, change, fault)


@pytest.mark.parametrize("form", FORMS[:4])
@pytest.mark.parametrize(("alignment", "fault"), INTERVALS, ids=lambda value: str(value)[:30])
def test_intervals_that_cannot_be_are_named(folder: Path, form: str, alignment: Any, fault: str) -> None:
    check_fault(folder, form, {"alignment": alignment}, fault)


@pytest.mark.parametrize("form", ["jsonl", "jsonl streamed"])
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"id": 7}, "line 2: id is 7, which is not a string"),
        ({"id": ""}, "id is empty; give it a string"),
        ({"audio": "a\0b"}, "u1: audio holds the character U+0000; give it a string of text"),
        ({"speaker": None}, "u1: no key speaker; give it a string"),
        ({"audio": None}, "u1: no key audio; give it a string"),
        ({"audio": ["1.wav"]}, 'u1: audio is ["1.wav"], which is not a string'),
        (
            {"audio_filepath": "other.wav"},
            'audio is "call.wav" and audio_filepath is "other.wav", though they mean the',
        ),
        ({"offset": 3.0}, "start is 2.0 and offset is 3.0, though they mean the same; give one of them"),
        ({"channel": [0, 1]}, "channel is [0, 1]; give one, or leave channel out for the mean of all"),
        ({"alignment": [["T", 0.1]]}, 'u1: ["T", 0.1] stands in alignment; write [phone, start, end]'),
        ({"alignment": {"T": 1}}, 'u1: alignment is {"T": 1}, which is not a list'),
        ({"alignment": [["T", "0", 1]]}, 'u1: a start in alignment is "0", which is not a number'),
        ({"recording_id": "r"}, "recording_id is a key of lhotse's manifests; give the folder"),
    ],
    ids=str,
)
def test_a_fault_of_json_lines(folder: Path, form: str, change: Any, fault: str) -> None:
    check_fault(folder, form, change, fault)


@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_is_not_known_is_named_once(folder: Path, form: str) -> None:
    spec = write_form(folder, form, {"dialect": "north"})
    items, problems, notes = read_form(spec, form)
    assert (len(items), problems) == (3, [])
    assert notes[0] == f"{name_of(form)}, line 2: the key dialect is not known and is left unread"
    assert sum("dialect" in note for note in notes) == 1


@pytest.mark.parametrize("form", ["jsonl", "jsonl streamed"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_is_refused_as_a_whole(folder: Path, form: str, encoding: str) -> None:
    text = "".join(json.dumps(line) + "\n" for line in LINES)
    (folder / "train.jsonl").write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"train\.jsonl is in UTF-16 or UTF-32; save it as UTF-8"):
        read_form(str(folder / "train.jsonl"), form)


@pytest.mark.parametrize("form", ["jsonl", "jsonl streamed"])
def test_a_byte_order_mark_of_utf_8_is_no_fault(folder: Path, form: str) -> None:
    lines = [json.dumps(line).encode() for line in LINES]
    spec = str(write_lines(folder / "train.jsonl", [b"\xef\xbb\xbf" + lines[0], b"", b"\xef\xbb\xbf" + lines[1]]))
    assert [item.id for item in read_form(spec, form)[0]] == ["u0", "u1"]


def test_missing_recordings_are_named_alike_stored_and_streamed(folder: Path) -> None:
    names = ("absent.wav", ".", "x" * 5000)
    lines = [LINES[0] | {"id": f"m{number}", "audio": name} for number, name in enumerate(names)]
    spec = str(write_lines(folder / "train.jsonl", [*LINES, *lines]))
    stored = read_corpus(spec, "train").problems
    for number, fault in enumerate(("no such file; check", "it is a folder; give", "too long; give a shorter")):
        assert stored[number].startswith(f"train.jsonl, line {number + 4}: m{number}: cannot read the recording ")
        assert fault in stored[number]
    streamed = [item for item in read_form(spec, "jsonl streamed")[0] if item.id in ("m0", "m1")]
    assert [stream._energies(item, FeatureOptions(), 1.0) for item in streamed] == list(stored[:2])


def test_a_second_utterance_of_an_id_is_named_with_the_first(folder: Path) -> None:
    spec = str(write_lines(folder / "train.jsonl", [*LINES, LINES[1]]))
    assert read_corpus(spec, "train").problems == (
        "train.jsonl, line 4: u1: a second utterance of this id; the first is train.jsonl, line 2",
    )


def test_shar_archives_are_for_streams(folder: Path) -> None:
    spec = write_form(folder, "shar")
    assert isinstance(find_source(spec, "train"), Shar)
    with pytest.raises(InputError, match="holds Shar archives, which only train --stream reads"):
        read_corpus(spec, "train")


@pytest.mark.parametrize("form", FORMS[:4])
def test_an_alignment_of_other_phones_is_told(folder: Path, form: str) -> None:
    spec = write_form(folder, form, {"alignment": [["T", 0.0, 0.5], ["AH", 0.6, 1.0]]})
    items, problems, notes = read_form(spec, form)
    assert (len(items), problems) == (3, [])
    first = f"{name_of(form)}, line 2: u1"
    told = "1 alignments have other phones than their transcripts, and their times are not compared; the first is "
    assert notes == [f"{spec}: {told}{first}"]


def test_an_empty_folder_of_the_user_stays_where_preparation_fails(folder: Path) -> None:
    (folder / "mine").mkdir()
    for form, place in (("jsonl", folder / "absent.jsonl"), ("librispeech", folder)):
        for destination in (folder / "mine", folder / "new"):
            with pytest.raises(InputError):
                prepare.prepare(form, place, destination)
    assert (folder / "mine").is_dir()
    assert not (folder / "new").exists()
