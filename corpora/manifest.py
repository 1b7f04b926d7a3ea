"""Manifests: what a line says, of our own JSON lines and of lhotse's recordings, supervisions and cuts.

lhotse counts the times of an alignment from the start of the recording; an `Utterance` counts them from its own start.
"""

import gzip
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lhotse import AudioSource, Recording, SupervisionSegment
from lhotse.supervision import AlignmentItem

from tetraphone.common.files import write_atomically

from .lines import (
    Line,
    channel_of,
    channels_of,
    list_of,
    number_of,
    object_of,
    shown,
    stretch_of,
    string_of,
    symbols_of,
    text_of,
    value_of,
)
from .transcripts import LineError, Reading
from .utterance import EXTRA, Utterance

LINE_KEYS = frozenset(
    {"id", "speaker", "audio", "audio_filepath", "start", "offset", "duration", "channel"}
    | {"text", "phones", "alignment", *EXTRA}
)
"""Of an object in a manifest of JSON lines; audio_filepath is NeMo's word for audio, offset its word for start."""
SUPERVISION_KEYS = frozenset(
    {"id", "recording_id", "start", "duration", "channel", "text", "language", "speaker", "gender"}
    | {"custom", "alignment"}
)
RECORDING_KEYS = frozenset(["id", "sources", "sampling_rate", "num_samples", "duration", "channel_ids", "transforms"])
CUT_KEYS = frozenset(["id", "start", "duration", "channel", "supervisions", "features", "recording", "custom", "type"])
TOLERANCE = 0.03
"""Seconds by which intervals of phones may overlap, or leave the utterance: aligners and manifests round."""


# Utterances.


def line_utterance(folder: Path, reading: Reading, line: Line) -> Utterance:
    """The utterance in a line of our own form; relative paths of recordings start in `folder`.

    Raises:
        LineError: what the line says is wrong or missing.
    """
    item = line.item
    if theirs := {"recording_id", "supervisions", "sources"}.intersection(item):
        folder_of = "the folder of PREFIX_recordings_PART.jsonl.gz and PREFIX_supervisions_PART.jsonl.gz"
        raise LineError(f"{theirs.pop()} is a key of lhotse's manifests; give {folder_of}, or of Shar archives")
    channels: Sequence[int | None] = channels_of(item.get("channel")) or [None]
    if len(channels) > 1:
        raise LineError(f"channel is {shown(item['channel'])}; give one, or leave channel out for the mean of all")
    start = value_of(item, "start", "offset")
    reading.unknown_keys(item, LINE_KEYS, line.name, line.number)
    return _utterance(
        reading,
        line,
        string_of(item, "id"),
        string_of(item, "speaker"),
        (folder / string_of(item, "audio", "audio_filepath"), channels[0]),
        stretch_of(0 if start is None else start, item.get("duration")),
        item.get("phones"),
        [_interval(part, "end") for part in list_of(item.get("alignment") or [], "alignment")],
        item,
    )


@dataclass(frozen=True)
class Sources:
    """Where the sound of one of lhotse's recordings lies."""

    name: str
    files: tuple[tuple[Path, tuple[int, ...]], ...]
    """Each with the recording's channels in it, in their order."""
    fault: str = ""
    """Why it cannot be read."""

    def find(self, channels: list[int]) -> tuple[Path, int | None]:
        """The file that holds channels of the recording (none: all), and the one within it, None for all.

        Raises:
            LineError: the recording cannot be read, has no such channels, or has them in several files.
        """
        if self.fault:
            raise LineError(f"its recording {self.name} cannot be read: {self.fault}")
        every = sorted({channel for _, held in self.files for channel in held})
        wanted = channels or every
        if absent := set(wanted).difference(every):
            raise LineError(f"its recording {self.name} has the channels {_few(every)}, not {_few(absent)}")
        holding = [file for file in self.files if set(wanted) <= set(file[1])]
        if not holding:
            raise LineError(f"its channels {_few(wanted)} lie in several files; give a supervision for each channel")
        path, held = holding[0]
        if len(wanted) == 1:
            return path, held.index(wanted[0])
        if len(wanted) < len(held):
            raise LineError(f"channels {_few(wanted)} of {len(held)}; give a supervision for one of them, or for all")
        return path, None


def _few(channels: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(channels)))


def lhotse_sources(folder: Path, reading: Reading, line: Line) -> Sources:
    """Of one of lhotse's recordings; relative paths start in `folder`.

    Raises:
        LineError: it has no id.
    """
    name = string_of(line.item, "id")
    reading.unknown_keys(line.item, RECORDING_KEYS, line.name, line.number)
    try:
        return Sources(name, _files(folder, line.item, "file"))
    except LineError as fault:
        return Sources(name, (), f"{line.where}: {fault}")


def _files(folder: Path, recording: dict[str, Any], kind: str) -> tuple[tuple[Path, tuple[int, ...]], ...]:
    if changes := list_of(recording.get("transforms") or [], "transforms"):
        names = ", ".join(str(change.get("name")) for change in changes if isinstance(change, dict))
        raise LineError(f"lhotse is to change it first ({names}); save what it makes of it, and name that file")
    files = []
    for source in list_of(recording.get("sources"), "sources"):
        if not isinstance(source, dict) or not source.get("channels"):
            raise LineError("a source without channels; write its manifest again with lhotse")
        if source.get("type") != kind:
            what = f"a source of type {source.get('type')}"
            raise LineError(f"{what}, and only files are read; save it as a file, and name that")
        path = folder if kind == "shar" else folder / string_of(source, "source")
        files.append((path, tuple(channel_of(channel) for channel in list_of(source["channels"], "channels"))))
    if not files:
        raise LineError("no source; write its manifest again with lhotse")
    return tuple(files)


def lhotse_utterance(reading: Reading, line: Line, sources: Callable[[str], Sources]) -> Utterance:
    """The utterance in a line of lhotse's supervisions.

    Args:
        sources: of a recording, by its id.

    Raises:
        LineError: what the line says is wrong or missing.
    """
    supervision = line.item
    found = sources(string_of(supervision, "recording_id")).find(channels_of(supervision.get("channel")))
    start, duration = stretch_of(supervision.get("start", 0), supervision.get("duration"))
    return _supervised(reading, line, supervision, found, (start, duration), start)


def cut_utterance(archive: Path, reading: Reading, line: Line) -> Utterance:
    """The utterance in a line of a Shar archive's cuts; its recording is a part of `archive`.

    Raises:
        LineError: what the line says is wrong or missing.
    """
    cut = line.item
    if "tracks" in cut or cut.get("type") == "PaddingCut":
        raise LineError(f"a cut of type {cut.get('type')}, which is mixed or empty; save it as a recording of its own")
    supervisions = list_of(cut.get("supervisions"), "supervisions")
    if len(supervisions) != 1 or not isinstance(supervisions[0], dict):
        raise LineError(f"{len(supervisions)} supervisions; use trim_to_supervisions before to_shar")
    if not isinstance(cut.get("recording"), dict):
        raise LineError("a cut without a recording; write the archive again")
    supervision = supervisions[0]
    reading.unknown_keys(cut, CUT_KEYS, line.name, line.number)
    held = Sources(string_of(cut, "id"), _files(archive, cut["recording"], "shar"))
    start, duration = stretch_of(supervision.get("start", 0), supervision.get("duration"))
    within = (number_of(cut.get("start", 0), "start") + start, duration)
    return _supervised(reading, line, supervision, held.find(channels_of(supervision.get("channel"))), within, None)


def _supervised(
    reading: Reading,
    line: Line,
    supervision: dict[str, Any],
    audio: tuple[Path, int | None],
    stretch: tuple[float, float],
    origin: float | None,
) -> Utterance:
    """The utterance of one of lhotse's supervisions; its times are counted from `origin`; None: it is not known."""
    reading.unknown_keys(supervision, SUPERVISION_KEYS, line.name, line.number)
    custom, gender = object_of(supervision, "custom"), supervision.get("gender")
    alignment = object_of(supervision, "alignment").get("phone") or []
    name = string_of(supervision, "id")
    intervals: list[tuple[str, float, float]] = []
    if origin is not None:
        for part in list_of(alignment, "alignment"):
            symbol, start, end = _interval(part, "duration")
            intervals.append((symbol, round(start - origin, 8), round(end - origin, 8)))
    elif alignment:
        reading.unanchored = reading.unanchored or f"{line.where}: {name}"
    said = {**({} if gender is None else {"gender": gender}), **custom, "text": supervision.get("text")}
    speaker = text_of(supervision, "speaker") or name
    return _utterance(reading, line, name, speaker, audio, stretch, custom.get("phones"), intervals, said)


def _utterance(
    reading: Reading,
    line: Line,
    name: str,
    speaker: str,
    audio: tuple[Path, int | None],
    stretch: tuple[float, float],
    symbols: object,
    intervals: Sequence[tuple[str, float, float]],
    said: dict[str, Any],
) -> Utterance:
    """The utterance, of which `symbols` and `intervals` are as its manifest has them, and `said` has text and EXTRA."""
    phones = reading.read(symbols_of(symbols))
    _check_times(intervals, stretch[1])
    times = tuple(
        (phone, start, end) for symbol, start, end in intervals if symbol and (phone := reading.phone(symbol))
    )
    if times and tuple(phone for phone, _, _ in times) != phones:
        reading.disagreeing += 1
        reading.first_disagreeing = reading.first_disagreeing or f"{line.where}: {name}"
    extra = {key: said[key] for key in EXTRA if key in said}
    path, channel = audio
    return Utterance(
        name, speaker, path, *stretch, phones, text_of(said, "text"), times or None, extra, channel, line.where
    )


def _interval(part: object, last: str) -> tuple[str, float, float]:
    """(symbol, start, end) of [symbol, start, end], or, by lhotse, [symbol, start, duration, score]."""
    values = [part.get(key) for key in ("symbol", "start", last)] if isinstance(part, dict) else part
    if not isinstance(values, list) or len(values) < 3 or not isinstance(values[0], str):
        raise LineError(f"{shown(part)} stands in alignment; write [phone, start, {last}]")
    start, end = number_of(values[1], "a start in alignment"), number_of(values[2], f"the {last} in alignment")
    return values[0], start, end if last == "end" else start + end


def _check_times(intervals: Sequence[tuple[str, float, float]], duration: float) -> None:
    """Looks at intervals that are counted from the utterance's start.

    Raises:
        LineError: one ends before it starts, leaves the utterance, or lies before the end of the one before it.
    """
    before = -math.inf
    for symbol, start, end in intervals:
        spoken = f"the {symbol} from {start:g} to {end:g} s in alignment"
        if end < start:
            raise LineError(f"{spoken} ends before it starts; align again")
        if start < -TOLERANCE or end > duration + TOLERANCE:
            counted = "JSON lines count from the utterance's start, lhotse from the recording's"
            raise LineError(f"{spoken} is not within the utterance of {duration:g} s ({counted})")
        if start < before - TOLERANCE:
            raise LineError(f"{spoken} starts before the phone before it ends, at {before:g} s; align again")
        before = end


# Writing.


def to_lhotse(utterance: Utterance, rate: int, samples: int, channels: int) -> tuple[Recording, SupervisionSegment]:
    """The whole recording of an utterance, of so many samples and channels, and the utterance in it."""
    source = AudioSource("file", list(range(channels)), str(utterance.audio.resolve()))
    items = [
        AlignmentItem(phone, round(utterance.start + start, 8), round(end - start, 8))
        for phone, start, end in utterance.times or ()
    ]
    every: int | list[int] = list(range(channels)) if channels > 1 else 0
    return (
        Recording(utterance.id, [source], rate, samples, samples / rate),
        SupervisionSegment(
            id=utterance.id,
            recording_id=utterance.id,
            start=utterance.start,
            duration=utterance.duration,
            channel=every if utterance.channel is None else utterance.channel,
            text=utterance.text,
            speaker=utterance.speaker,
            alignment={"phone": items} if items else None,
            custom={**utterance.extra, "phones": list(utterance.phones)},
        ),
    )


def write_part(
    folder: Path, prefix: str, part: str, items: Sequence[tuple[Recording, SupervisionSegment]]
) -> dict[str, Any]:
    """Writes the two manifests of a part, the same bytes for the same items.

    Returns:
        {"utterances", "speakers", "hours"}.
    """
    recordings, supervisions = [recording for recording, _ in items], [supervision for _, supervision in items]
    # Supervisions last: a part that has them is whole.
    for name, manifest in (("recordings", recordings), ("supervisions", supervisions)):
        with (
            write_atomically(folder / f"{prefix}_{name}_{part}.jsonl.gz") as temporary,
            temporary.open("wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file,
        ):
            file.writelines(json.dumps(item.to_dict(), ensure_ascii=False).encode() + b"\n" for item in manifest)
    return {
        "utterances": len(items),
        "speakers": len({supervision.speaker for supervision in supervisions}),
        "hours": round(sum(supervision.duration for supervision in supervisions) / 3600, 4),
    }


def write_manifest(utterances: Iterable[Utterance], path: Path) -> None:
    """Writes a manifest of JSON lines, whole or not at all."""
    lines = []
    for utterance in utterances:
        line = {name: getattr(utterance, name) for name in ("id", "speaker", "duration", "text", "phones")}
        line |= {"audio": str(utterance.audio.resolve()), **utterance.extra}
        line |= {"start": utterance.start} if utterance.start else {}
        line |= {} if utterance.channel is None else {"channel": utterance.channel}
        lines.append(line | ({} if utterance.times is None else {"alignment": utterance.times}))
    with write_atomically(path) as temporary:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
