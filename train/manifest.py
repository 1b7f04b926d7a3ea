"""Manifests: what a line says, of our own JSON lines and of lhotse's recordings, supervisions and cuts.

lhotse counts the times of an alignment from the start of the recording; an `Utterance` counts them from its own start.
"""

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lhotse import AudioSource, Recording, SupervisionSegment
from lhotse.supervision import AlignmentItem

from .errors import InputError
from .files import write_atomically
from .transcripts import LineError, Reading
from .utterance import EXTRA, Utterance

Made = TypeVar("Made")

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


@dataclass(frozen=True)
class Line:
    """An object of a manifest, and where it stands."""

    name: str
    """Of the manifest's file."""
    number: int
    """From 1."""
    item: dict[str, Any]

    @property
    def where(self) -> str:
        return f"{self.name}, line {self.number}"


# Lines.


def read_lines(path: Path, make: Callable[[Line], Made]) -> Iterator[Made | str]:
    """What `make` makes of the object in each line, or the line's fault.

    Raises:
        InputError: the file is UTF-16 or UTF-32.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, content in enumerate(file, 1):
                if number == 1 and (content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]):
                    raise InputError(f"{path} is in UTF-16 or UTF-32; save it as UTF-8")
                if content.strip():
                    yield _made(path.name, number, content, make)
    except OSError as error:
        fault = "is no gzip file" if isinstance(error, gzip.BadGzipFile) else f"cannot be read: {error.strerror}"
        yield f"{path.name}: {fault}{f', after line {number}' if number else ''}; prepare it again"
    except (EOFError, zlib.error):
        yield f"{path.name}: is cut short or damaged after line {number}; prepare it again"


def _made(name: str, number: int, content: bytes, make: Callable[[Line], Made]) -> Made | str:
    where = f"{name}, line {number}"
    try:
        line = Line(name, number, _object(content))
    except LineError as fault:
        return f"{where}: {fault}"
    try:
        return make(line)
    except LineError as fault:
        called = line.item.get("id")
        return f"{where}: {called}: {fault}" if isinstance(called, str) else f"{where}: {fault}"


def _object(content: bytes) -> dict[str, Any]:
    """The JSON object in a line.

    Raises:
        LineError: there is none.
    """
    try:
        item = DECODER.decode(content.decode("utf-8-sig"))
        if b"\\u" in content:
            json.dumps(item, ensure_ascii=False).encode()  # Half a surrogate pair is no text.
    except UnicodeDecodeError as error:
        raise LineError(f"byte {error.start + 1} is no text in UTF-8; save the file as UTF-8") from error
    except UnicodeEncodeError as error:
        raise LineError("it holds half a character (a lone surrogate, \\ud800 to \\udfff); write it whole") from error
    except json.JSONDecodeError as error:
        raise LineError(f"no JSON object (wrong at character {error.pos + 1}); write one object a line") from error
    except LineError:
        raise
    except ValueError as error:
        raise LineError("a number of thousands of digits; write it shorter") from error
    except RecursionError as error:
        raise LineError("no JSON object (lists within lists without end); write one object a line") from error
    if not isinstance(item, dict):
        raise LineError(f'{_shown(item)} is no JSON object; write one a line: {{"id": …}}')
    return item


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which each key stands once."""
    item = dict(pairs)
    if len(item) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise LineError(f"the key {twice} stands there twice; keep one")
    return item


DECODER = json.JSONDecoder(object_pairs_hook=_once)


# Values.


def _shown(value: object) -> str:
    """A value as JSON has it, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _given(item: Mapping[str, Any], *keys: str) -> Any:
    """The value of the one of some synonymous keys that is there; None (null) where there is none.

    Raises:
        LineError: they have different values.
    """
    values = {key: item[key] for key in keys if item.get(key) is not None}
    first = next(iter(values.values()), None)
    if any(value != first for value in values.values()):
        said = " and ".join(f"{key} is {_shown(value)}" for key, value in values.items())
        raise LineError(f"{said}, though they mean the same; give one of them")
    return first


def _string(item: Mapping[str, Any], *keys: str) -> str:
    value = item.get(keys[0]) if len(keys) == 1 else _given(item, *keys)
    if value is None:
        raise LineError(f"no key {keys[0]}; give it a string")
    if not isinstance(value, str):
        raise LineError(f"{keys[0]} is {_shown(value)}, which is not a string")
    if not value:
        raise LineError(f"{keys[0]} is empty; give it a string")
    return value


def _text(item: Mapping[str, Any], key: str) -> str:
    """A string that may be missing."""
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise LineError(f"{key} is {_shown(value)}, which is not a string")
    return value or ""


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LineError(f"{name} is {_shown(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise LineError(f"{name} is {_shown(value)}, which is not a finite number")
    return number


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise LineError(f"{name} is {_shown(value)}, which is not a list")
    return value


def _stretch(start: object, duration: object) -> tuple[float, float]:
    """Start and duration of an utterance, in seconds."""
    if duration is None:
        raise LineError("no key duration; give it seconds")
    first, long = _number(start, "start"), _number(duration, "duration")
    if first < 0:
        raise LineError(f"it starts at {first} seconds, before its recording; give a start of 0 or more")
    if not long > 0:
        raise LineError(f"a duration of {long} seconds; give one above 0")
    return first, long


def _channel(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LineError(f"channel is {_shown(value)}; give the number of one, counted from 0")
    return value


def _channels(value: object) -> list[int]:
    """Channels, counted from 0; none: all."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return sorted({_channel(one) for one in values})


def _table(item: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An object that may be missing."""
    value = item.get(key)
    if value is not None and not isinstance(value, dict):
        raise LineError(f"{key} is {_shown(value)}, which is not an object")
    return value or {}


def _symbols(value: object) -> list[str]:
    if value is None:
        raise LineError("no key phones; give a list of strings (lhotse's supervisions have it in custom)")
    if isinstance(value, str):
        raise LineError(f"phones is {_shown(value)}, which is not a list of strings; write {_shown(value.split())}")
    if not isinstance(value, list) or not all(isinstance(phone, str) for phone in value):
        raise LineError(f"phones is {_shown(value)}, which is not a list of strings")
    return value


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
    channels: Sequence[int | None] = _channels(item.get("channel")) or [None]
    if len(channels) > 1:
        raise LineError(f"channel is {_shown(item['channel'])}; give one, or leave channel out for the mean of all")
    start = _given(item, "start", "offset")
    reading.unknown_keys(item, LINE_KEYS, line.name, line.number)
    return _utterance(
        reading,
        line,
        _string(item, "id"),
        _string(item, "speaker"),
        (folder / _string(item, "audio", "audio_filepath"), channels[0]),
        _stretch(0 if start is None else start, item.get("duration")),
        item.get("phones"),
        [_interval(part, "end") for part in _list(item.get("alignment") or [], "alignment")],
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
    name = _string(line.item, "id")
    reading.unknown_keys(line.item, RECORDING_KEYS, line.name, line.number)
    try:
        return Sources(name, _files(folder, line.item, "file"))
    except LineError as fault:
        return Sources(name, (), f"{line.where}: {fault}")


def _files(folder: Path, recording: dict[str, Any], kind: str) -> tuple[tuple[Path, tuple[int, ...]], ...]:
    if changes := _list(recording.get("transforms") or [], "transforms"):
        names = ", ".join(str(change.get("name")) for change in changes if isinstance(change, dict))
        raise LineError(f"lhotse is to change it first ({names}); save what it makes of it, and name that file")
    files = []
    for source in _list(recording.get("sources"), "sources"):
        if not isinstance(source, dict) or not source.get("channels"):
            raise LineError("a source without channels; write its manifest again with lhotse")
        if source.get("type") != kind:
            what = f"a source of type {source.get('type')}"
            raise LineError(f"{what}, and only files are read; save it as a file, and name that")
        path = folder if kind == "shar" else folder / _string(source, "source")
        files.append((path, tuple(_channel(channel) for channel in _list(source["channels"], "channels"))))
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
    found = sources(_string(supervision, "recording_id")).find(_channels(supervision.get("channel")))
    start, duration = _stretch(supervision.get("start", 0), supervision.get("duration"))
    return _supervised(reading, line, supervision, found, (start, duration), start)


def cut_utterance(archive: Path, reading: Reading, line: Line) -> Utterance:
    """The utterance in a line of a Shar archive's cuts; its recording is a part of `archive`.

    Raises:
        LineError: what the line says is wrong or missing.
    """
    cut = line.item
    if "tracks" in cut or cut.get("type") == "PaddingCut":
        raise LineError(f"a cut of type {cut.get('type')}, which is mixed or empty; save it as a recording of its own")
    supervisions = _list(cut.get("supervisions"), "supervisions")
    if len(supervisions) != 1 or not isinstance(supervisions[0], dict):
        raise LineError(f"{len(supervisions)} supervisions; use trim_to_supervisions before to_shar")
    if not isinstance(cut.get("recording"), dict):
        raise LineError("a cut without a recording; write the archive again")
    supervision = supervisions[0]
    reading.unknown_keys(cut, CUT_KEYS, line.name, line.number)
    held = Sources(_string(cut, "id"), _files(archive, cut["recording"], "shar"))
    start, duration = _stretch(supervision.get("start", 0), supervision.get("duration"))
    within = (_number(cut.get("start", 0), "start") + start, duration)
    return _supervised(reading, line, supervision, held.find(_channels(supervision.get("channel"))), within, None)


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
    custom, gender = _table(supervision, "custom"), supervision.get("gender")
    alignment = _table(supervision, "alignment").get("phone") or []
    name = _string(supervision, "id")
    intervals: list[tuple[str, float, float]] = []
    if origin is not None:
        for part in _list(alignment, "alignment"):
            symbol, start, end = _interval(part, "duration")
            intervals.append((symbol, round(start - origin, 8), round(end - origin, 8)))
    elif alignment:
        reading.unanchored = reading.unanchored or f"{line.where}: {name}"
    said = {**({} if gender is None else {"gender": gender}), **custom, "text": supervision.get("text")}
    speaker = _text(supervision, "speaker") or name
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
    phones = reading.read(_symbols(symbols))
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
        name, speaker, path, *stretch, phones, _text(said, "text"), times or None, extra, channel, line.where
    )


def _interval(part: object, last: str) -> tuple[str, float, float]:
    """(symbol, start, end) of [symbol, start, end], or, by lhotse, [symbol, start, duration, score]."""
    values = [part.get(key) for key in ("symbol", "start", last)] if isinstance(part, dict) else part
    if not isinstance(values, list) or len(values) < 3 or not isinstance(values[0], str):
        raise LineError(f"{_shown(part)} stands in alignment; write [phone, start, {last}]")
    start, end = _number(values[1], "a start in alignment"), _number(values[2], f"the {last} in alignment")
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
