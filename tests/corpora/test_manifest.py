"""What a line of a manifest means: the same stored, streamed, and in Shar archives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from lhotse import CutSet, Recording, RecordingSet, SupervisionSegment, SupervisionSet
from manifests import (
    FORMS,
    LHOTSE,
    LINES,
    RATE,
    SOUND,
    name_of,
    read_form,
    read_gz,
    samples_of,
    supervision_of,
    write_form,
    write_lines,
)

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.manifest import write_manifest
from tetraphone.corpora.preparation import prepare
from tetraphone.corpora.preparation.prepare import prepare_jsonl
from tetraphone.corpora.sources import Item, Manifests, Member, find_source
from tetraphone.corpora.transcripts import Reading
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import open_sound, read_recording


@pytest.mark.parametrize("form", FORMS)
def test_a_segment_of_a_call_is_read_with_its_channel_and_its_own_times(folder: Path, form: str) -> None:
    items, problems, notes = read_form(write_form(folder, form), form)
    assert problems == []
    assert [item.id for item in items] == ["u0", "u1", "u2"]
    for item, line in zip(items, LINES, strict=True):
        utterance, first = item.utterance, round(line["start"] * RATE)
        assert (utterance.duration, utterance.phones) == (1.0, tuple(line["phones"]))
        assert (utterance.speaker, utterance.text) == ("s", "two words")
        assert np.allclose(samples_of(item), SOUND[first : first + RATE, line["channel"]] / 32768, atol=1e-4)
        assert form == "shar" or utterance.times == tuple((p, s, pytest.approx(e)) for p, s, e in line["alignment"])
    # lhotse counts times from the start of a recording that the archive does not name.
    assert form != "shar" or all(item.utterance.times is None for item in items)
    assert len(notes) == (form == "shar")
    assert form != "shar" or "line 1: u0" in notes[0]


def test_shar_archives_of_lhotse_hold_times_from_a_start_that_they_do_not_tell(folder: Path) -> None:
    cuts = list(CutSet.from_shar(in_dir=write_form(folder, "shar")))
    assert [cut.start for cut in cuts] == [0, 0, 0]
    assert [cut.supervisions[0].start for cut in cuts] == [0, 0, 0]
    assert cuts[1].supervisions[0].alignment["phone"][0].start == 2.0


@pytest.mark.parametrize("channel", [[0, 1], None])
@pytest.mark.parametrize("form", FORMS)
def test_all_channels_are_averaged(folder: Path, form: str, channel: Any) -> None:
    if channel == [0, 1] and form != "lhotse":
        channel = None
    if form == "shar":
        recording = Recording.from_file(folder / "call.wav", recording_id="r")
        one = replace_channel(supervision_of(LINES[0]), [0, 1])
        cuts = CutSet.from_manifests(RecordingSet([recording]), SupervisionSet([one])).trim_to_supervisions()
        (folder / "shar").mkdir()
        cuts.to_shar(folder / "shar", fields={"recording": "wav"}, shard_size=5)
        item, first = read_form(str(folder / "shar"), form)[0][0], RATE // 2
    else:
        item, first = read_form(write_form(folder, form, {"channel": channel}), form)[0][1], 2 * RATE
    assert item.utterance.channel is None
    expected = SOUND[first : first + RATE].astype(np.float64).mean(1) / 32768
    assert np.allclose(samples_of(item), expected, atol=1e-4)


def replace_channel(supervision: SupervisionSegment, channel: Any) -> SupervisionSegment:
    supervision.channel = channel
    return supervision


@pytest.mark.parametrize("form", ["lhotse", "lhotse streamed"])
def test_a_recording_with_a_file_a_channel(folder: Path, form: str) -> None:
    spec = write_form(folder, form)
    for channel in (0, 1):
        soundfile.write(folder / f"{channel}.wav", SOUND[:, channel], RATE)
    recording = read_gz(folder / "m_recordings_train.jsonl.gz")[0]
    recording["sources"] = [{"type": "file", "channels": [c], "source": f"{c}.wav"} for c in (0, 1)]
    write_lines(folder / "m_recordings_train.jsonl.gz", [recording])
    items, problems, _ = read_form(spec, form)
    assert problems == []
    assert [item.utterance.audio.name for item in items] == ["0.wav", "1.wav", "0.wav"]
    assert np.array_equal(samples_of(items[1]), SOUND[2 * RATE : 3 * RATE, 1] / np.float32(32768))
    write_lines(
        folder / "m_supervisions_train.jsonl.gz", [supervision_of(LINES[0] | {"channel": [0, 1]}).to_dict()] * 2
    )
    fault = "line 1: u0: its channels 0, 1 lie in several files; give a supervision for each channel"
    if form == "lhotse":
        with pytest.raises(InputError, match=fault):
            read_form(spec, form)
    else:
        assert fault in read_form(spec, form)[1][0]


@pytest.mark.parametrize("form", LHOTSE)
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"channel": 5}, "u1: its recording {} has the channels {}, not 5"),
        ({"channel": True}, "u1: channel is true; give the number of one, counted from 0"),
    ],
)
def test_a_channel_that_a_recording_lacks(folder: Path, form: str, change: Any, fault: str) -> None:
    _, problems, _ = read_form(write_form(folder, form, change), form)
    shar = form == "shar"
    assert problems == [f"{name_of(form)}, line 2: " + fault.format("u1" if shar else "r", "1" if shar else "0, 1")]


@pytest.mark.parametrize("form", ["lhotse", "lhotse streamed"])
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"sources": []}, "no source; write its manifest again with lhotse"),
        ({"sources": 5}, "sources is 5, which is not a list"),
        (
            {"sources": [{"type": "command", "channels": [0, 1], "source": "cat x"}]},
            "a source of type command, and only",
        ),
        ({"sources": [{"type": "url", "channels": [0], "source": "https://x"}]}, "a source of type url, and only"),
        ({"sources": [{"type": "memory", "channels": [0], "source": "UklG"}]}, "a source of type memory, and only"),
        ({"sources": [{"type": "file", "source": "call.wav"}]}, "a source without channels"),
        ({"sources": [{"type": "file", "channels": [0], "source": 7}]}, "source is 7, which is not a string"),
        ({"transforms": [{"name": "Speed", "kwargs": {"factor": 0.9}}]}, "lhotse is to change it first (Speed); save"),
        ({"transforms": [{"name": "Resample", "kwargs": {}}]}, "lhotse is to change it first (Resample); save"),
    ],
    ids=str,
)
def test_what_lhotse_could_read_of_a_recording_and_we_cannot_is_named(
    folder: Path, form: str, change: Any, fault: str
) -> None:
    spec = write_form(folder, form)
    recording = read_gz(folder / "m_recordings_train.jsonl.gz")[0]
    write_lines(folder / "m_recordings_train.jsonl.gz", [recording | {"id": "other"}, recording | change])
    where = (
        "m_supervisions_train.jsonl.gz, line 1: u0: its recording r cannot be read: m_recordings_train.jsonl.gz, line 2"
    )
    if form == "lhotse":
        with pytest.raises(InputError) as error:
            read_form(spec, form)
        assert f"no usable utterance; {where}: {fault}" in str(error.value)
    else:
        items, problems, _ = read_form(spec, form)
        assert (items, len(problems)) == ([], 3)
        assert problems[0].startswith(f"{where}: {fault}")


def test_lhotse_itself_writes_what_we_name(folder: Path) -> None:
    """The names of types and transforms above are lhotse's."""
    recording = Recording.from_file(folder / "call.wav", recording_id="r")
    assert recording.resample(8000).to_dict()["transforms"][0]["name"] == "Resample"
    assert recording.perturb_speed(0.9).to_dict()["transforms"][0]["name"] == "Speed"
    assert recording.move_to_memory().to_dict()["sources"][0]["type"] == "memory"


def test_mixed_cuts_are_named(folder: Path) -> None:
    spec = write_form(folder, "shar")
    cuts = Path(spec) / "cuts.000000.jsonl.gz"
    first, second, third = read_gz(cuts)
    mixed = {"id": "u1", "tracks": [{"cut": second, "offset": 0}], "type": "MixedCut"}
    write_lines(cuts, [first, mixed, third | {"recording": None}])
    items, problems, _ = read_form(spec, "shar")
    assert [item.id for item in items] == ["u0"]
    assert "line 2: u1: a cut of type MixedCut, which is mixed or empty" in problems[0]
    assert "line 3: u2: a cut without a recording" in problems[1]


# Writing.


def test_what_prepare_writes_means_the_same_to_us_and_to_lhotse(folder: Path) -> None:
    short = {**LINES[0], "id": "u3", "duration": 3.0, "start": 0, "channel": None, "alignment": None, "age": 7}
    spec = str(write_lines(folder / "train.jsonl", [*LINES, short]))
    direct, prepared = read_corpus(spec, "train").utterances, folder / "prepared"
    assert prepare_jsonl(Path(spec), prepared)["problems"] == []
    for read in (read_corpus(str(prepared), "train").utterances, find_items(prepared)):
        assert [facts(utterance) for utterance in read] == [facts(utterance) for utterance in direct]
    prefix = folder.name.replace("_", "-")
    supervisions = SupervisionSet.from_jsonl(prepared / f"{prefix}_supervisions_train.jsonl.gz")
    recordings = RecordingSet.from_jsonl(prepared / f"{prefix}_recordings_train.jsonl.gz")
    assert [item.start for item in supervisions["u1"].alignment["phone"]] == [2.0, 2.6]
    cuts = CutSet.from_manifests(recordings, supervisions).trim_to_supervisions()
    for cut, utterance in zip(sorted(cuts, key=lambda cut: cut.id), direct, strict=True):
        assert (cut.start, cut.duration) == (utterance.start, utterance.duration)
        ours = read_recording(utterance.audio, RATE, utterance.start, utterance.duration, utterance.channel)
        assert np.allclose(cut.load_audio().mean(0), ours, atol=1e-4)


def find_items(folder: Path) -> list[Utterance]:
    source = find_source(str(folder), "train")
    assert isinstance(source, Manifests)
    return [item.utterance for item in source.read(Reading()) if isinstance(item, Item)]


def facts(utterance: Utterance) -> tuple[Any, ...]:
    return (
        *(utterance.id, utterance.speaker, utterance.audio.resolve(), utterance.start, utterance.duration),
        *(utterance.channel, utterance.phones, utterance.text, utterance.extra, utterance.times),
    )


def test_a_manifest_that_is_written_is_read_again_as_it_was(folder: Path) -> None:
    spec = write_form(folder, "jsonl", {"labels": "exact", "score": -0.5})
    before = read_corpus(spec, "train").utterances
    write_manifest(before, folder / "again.jsonl")
    again = read_corpus(str(folder / "again.jsonl"), "train")
    assert [facts(utterance) for utterance in again.utterances] == [facts(utterance) for utterance in before]
    assert again.notes == ()
    assert before[1].extra == {"labels": "exact", "score": -0.5}


@pytest.mark.parametrize(
    ("declared", "kept"),
    [(3.0, 3.0), (8.0, 8.0), (8.05, 8.0), (8.2, None)],
    ids=["a part", "all", "rounded", "too much"],
)
def test_a_declared_duration_is_the_same_directly_and_prepared(
    folder: Path, declared: float, kept: float | None
) -> None:
    line = {"id": "u", "speaker": "s", "audio": "call.wav", "duration": declared, "phones": ["AH"]}
    spec = write_lines(folder / "train.jsonl", [LINES[0], line])
    summary = prepare_jsonl(spec, folder / "prepared")
    read = {utterance.id: utterance for utterance in read_corpus(str(folder / "prepared"), "train").utterances}
    if kept is None:
        assert len(summary["problems"]) == 1
        assert "train.jsonl, line 2: u: " in summary["problems"][0]
        assert "call.wav has only 8.00 of its 8.20 seconds" in summary["problems"][0]
        assert read.keys() == {"u0"}
    else:
        assert summary["problems"] == []
        assert read["u"].duration == kept


@pytest.mark.parametrize("form", ["jsonl", "jsonl streamed"])
def test_the_words_of_nemo_are_taken(folder: Path, form: str) -> None:
    plain = {key: value for key, value in LINES[1].items() if key not in ("audio", "start", "alignment")}
    spec = str(write_lines(folder / "train.jsonl", [plain | {"audio_filepath": "call.wav", "offset": 2.0}]))
    items, problems, notes = read_form(spec, form)
    assert (problems, notes) == ([], [])
    assert (items[0].utterance.start, items[0].utterance.audio) == (2.0, folder / "call.wav")


def test_the_member_of_an_archive_is_a_part_of_it(folder: Path) -> None:
    item = read_form(write_form(folder, "shar"), "shar")[0][0]
    assert isinstance(item.member, Member)
    assert item.utterance.audio.name == "recording.000000.tar"


def test_utterances_are_equal_wherever_they_stand(folder: Path) -> None:
    utterance = read_corpus(write_form(folder, "jsonl"), "train").utterances[0]
    assert utterance.where == "train.jsonl, line 1"
    assert replace(utterance, where="") == utterance


def test_a_recording_of_many_utterances_is_decoded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def counted(path: Path, channel: int | None) -> Any:
        opened.append((path.name, channel))
        return open_sound(path, channel)

    monkeypatch.setattr(prepare, "open_sound", counted)
    spec = Path(write_form(folder, "jsonl"))
    assert prepare_jsonl(spec, folder / "prepared")["parts"]["train"]["utterances"] == 3
    assert sorted(opened) == [("call.wav", 0), ("call.wav", 1)]  # two utterances of the first
    assert [u.id for u in read_corpus(str(folder / "prepared"), "train").utterances] == ["u0", "u1", "u2"]
