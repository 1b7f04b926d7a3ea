"""One corpus in every form of manifest: a call, whose two speakers have a channel each."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lhotse import CutSet, Recording, RecordingSet, SupervisionSegment, SupervisionSet
from lhotse.supervision import AlignmentItem

from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.sources import Item, find_source
from tetraphone.corpora.transcripts import Reading, Transcripts
from tetraphone.sound.audio import read_recording
from tetraphone.train.data import stream

RATE = 16000
SOUND = np.round(0.1 * np.random.default_rng(0).standard_normal((8 * RATE, 2)) * 32768).astype(np.int16)
"""A call: one speaker in each channel."""
LINES: list[dict[str, Any]] = [
    {"start": 0.5, "channel": 0, "phones": ["AH", "T"], "alignment": [["AH", 0.1, 0.4], ["T", 0.4, 0.9]]},
    {"start": 2.0, "channel": 1, "phones": ["T", "S"], "alignment": [["T", 0.0, 0.5], ["S", 0.6, 1.0]]},
    {"start": 5.5, "channel": 0, "phones": ["S", "AH"], "alignment": [["S", 0.2, 0.3], ["AH", 0.3, 0.8]]},
]
for number, line in enumerate(LINES):
    line |= {"id": f"u{number}", "speaker": "s", "audio": "call.wav", "duration": 1.0, "text": "two words"}
FORMS = ("jsonl", "jsonl streamed", "lhotse", "lhotse streamed", "shar")
LHOTSE = FORMS[2:]
ARPABET_ALONE = Transcripts()


def write_lines(path: Path, lines: list[Any]) -> Path:
    """Lines of a manifest: objects as JSON, bytes as they are."""
    content = b"".join(
        (item if isinstance(item, bytes) else json.dumps(item, ensure_ascii=False).encode()) + b"\n" for item in lines
    )
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read_gz(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def supervision_of(line: dict[str, Any]) -> SupervisionSegment:
    """As lhotse has it: times are counted from the recording's start."""
    start = line.get("start", 0.0)
    items = [AlignmentItem(phone, start + first, round(end - first, 8)) for phone, first, end in line["alignment"]]
    return SupervisionSegment(
        line["id"],
        "r",
        start,
        line["duration"],
        line["channel"],
        line["text"],
        speaker=line["speaker"],
        custom={"phones": line["phones"]},
        alignment={"phone": items},
    )


def patched(supervision: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """A supervision with a change of a JSON line."""
    for key, value in change.items():
        if key == "phones":
            supervision["custom"] = {"phones": value}
        elif key == "alignment":
            start = supervision["start"] + LINES[1]["start"] * (supervision["start"] == 0)
            supervision["alignment"] = {"phone": [[symbol, first + start, end - first] for symbol, first, end in value]}
        else:
            supervision[key] = value
    return supervision


def write_form(folder: Path, form: str, change: Any = None) -> str:
    """LINES in a form; line 2 with a change, or, if that is bytes, replaced by them. Returns its spec."""

    def changed(lines: list[Any], patch: Callable[[Any, Any], Any]) -> list[Any]:
        if isinstance(change, bytes):
            lines[1] = change
        elif change is not None:
            lines[1] = patch(lines[1], change)
        return lines

    if form.startswith("jsonl"):
        lines = changed([dict(line) for line in LINES], lambda line, change: line | change)
        return str(write_lines(folder / "train.jsonl", lines))
    recording = Recording.from_file(folder / "call.wav", recording_id="r")
    supervisions = [supervision_of(line) for line in LINES]
    if form.startswith("lhotse"):
        write_lines(folder / "m_recordings_train.jsonl.gz", [recording.to_dict()])
        write_lines(
            folder / "m_supervisions_train.jsonl.gz", changed([item.to_dict() for item in supervisions], patched)
        )
        return str(folder)
    made = CutSet.from_manifests(RecordingSet([recording]), SupervisionSet(supervisions)).trim_to_supervisions()
    (folder / "shar").mkdir()
    made.to_shar(folder / "shar", fields={"recording": "wav"}, shard_size=5)
    cuts = folder / "shar" / "cuts.000000.jsonl.gz"

    def within(cut: Any, change: Any) -> Any:
        return cut | {"supervisions": [patched(cut["supervisions"][0], change)]}

    write_lines(cuts, changed(read_gz(cuts), within))
    return str(folder / "shar")


def read_form(
    spec: str, form: str, transcripts: Transcripts = ARPABET_ALONE
) -> tuple[list[Item], list[str], list[str]]:
    """Utterances, problems and notes."""
    if form in ("jsonl", "lhotse"):
        options = {"keep_silences": transcripts.keep_silences, "fold": transcripts.fold}
        corpus = read_corpus(spec, "train", transcripts.phones, **options)  # type: ignore[arg-type]
        items = [Item(utterance, None, utterance.duration) for utterance in corpus.utterances]
        return items, list(corpus.problems), list(corpus.notes)
    reading = Reading(transcripts)
    read = list(find_source(spec, "train").read(reading))
    items = [item for item in read if isinstance(item, Item)]
    return items, [item for item in read if isinstance(item, str)], list(reading.notes(spec))


def samples_of(item: Item) -> np.ndarray:
    utterance = item.utterance
    stretch = utterance.start, utterance.duration, utterance.channel
    if item.member is None:
        return read_recording(utterance.audio, RATE, *stretch)
    return stream._read_member(item.member, utterance.audio, RATE, *stretch)


def name_of(form: str) -> str:
    """The file that has the lines."""
    if form == "shar":
        return "cuts.000000.jsonl.gz"
    return "train.jsonl" if form.startswith("jsonl") else "m_supervisions_train.jsonl.gz"
