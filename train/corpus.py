"""Corpora: prepared ones (lhotse manifests) and JSON-lines manifests as they stand."""

import gzip
import json
import math
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lhotse import Recording, SupervisionSegment

from .errors import InputError
from .files import write_atomically
from .native import check_phones
from .phones import ARPABET, unknown_phones

Made = TypeVar("Made")

EXTRA = ("labels", "age", "gender")
PhoneTimes = tuple[tuple[str, float, float], ...]
"""(phone, start, end), seconds from the utterance's start."""


@dataclass(frozen=True)
class Utterance:
    """A stretch of a recording and the phones in it."""

    id: str
    speaker: str
    audio: Path
    start: float
    """Seconds into the recording."""
    duration: float
    """Seconds."""
    phones: tuple[str, ...]
    text: str
    times: PhoneTimes | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What else the manifest says: labels, age, gender."""
    channel: int | None = None
    """Of the recording, counted from 0; None: the mean of all."""


@dataclass(frozen=True)
class Corpus:
    """One part of a corpus."""

    name: str
    part: str
    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """One line for each utterance or line that was left out: its name and its fault."""


def read_corpus(spec: str, part: str, phones: Collection[str] | None = ARPABET) -> Corpus:
    """Reads one part of a corpus; faulty utterances are left out and named in `problems`.

    Args:
        spec: "FOLDER" with lhotse manifests (PREFIX_recordings_PART.jsonl.gz, PREFIX_supervisions_PART.jsonl.gz),
            "FOLDER:PART", or "MANIFEST.jsonl" with an object a line (keys id, audio, speaker, duration, text, phones).
        part: the one to take where the folder holds several and `spec` names none.
        phones: the phone set, outside of which a phone is a fault; None: any.

    Raises:
        InputError: the corpus is missing or has no usable utterance.
    """
    if spec.endswith(".jsonl"):
        path = find_manifest(spec)
        return _usable(spec, path.stem, read_lines(path, partial(jsonl_utterance, path.parent)), phones)
    folder, prefix, name = find_part(spec, part)
    return _usable(spec, name, _lhotse_utterances(folder, prefix, name), phones)


def find_manifest(spec: str) -> Path:
    """The JSON-lines manifest that a spec names.

    Raises:
        InputError: there is none.
    """
    path = Path(spec)
    if not path.is_file():
        raise InputError(f"there is no manifest {spec}; give a .jsonl file or the folder of a prepared corpus")
    return path


def find_part(spec: str, part: str) -> tuple[Path, str, str]:
    """Folder, prefix and part of a prepared corpus that a spec names, see `read_corpus`.

    Raises:
        InputError: there is no such corpus or part.
    """
    path, chosen = Path(spec), ""
    if not path.is_dir() and ":" in spec:
        folder, chosen = spec.rsplit(":", 1)
        path = Path(folder)
    parts = corpus_parts(path)
    if not parts:
        raise InputError(f"{path} holds no prepared corpus; make one with `tetraphone corpus` or give a .jsonl file")
    if chosen and chosen not in parts:
        raise InputError(f"{path} has no part {chosen}; it has {', '.join(sorted(parts))}")
    name = chosen or (part if part in parts else next(iter(parts)) if len(parts) == 1 else "")
    if not name:
        raise InputError(f"{path} has no part {part}; choose one of {', '.join(f'{path}:{p}' for p in sorted(parts))}")
    return path, parts[name], name


def corpus_parts(folder: Path) -> dict[str, str]:
    """Parts of a prepared corpus, each with the prefix of its manifests.

    Raises:
        InputError: two corpora in the folder have a part of the same name.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*_supervisions_*.jsonl.gz")):
        prefix, _, part = path.name.removesuffix(".jsonl.gz").partition("_supervisions_")
        if part in found:
            raise InputError(f"{folder} holds a part {part} of {found[part]} and of {prefix}; give each its own folder")
        found[part] = prefix
    return found


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
    """Writes a JSON-lines manifest, whole or not at all.

    Raises:
        InputError: an utterance does not begin with its recording.
    """
    lines = []
    for utterance in utterances:
        if utterance.start:
            raise InputError(f"{utterance.id} begins inside of its recording; cut the recordings beforehand")
        line = {name: getattr(utterance, name) for name in ("id", "speaker", "duration", "text", "phones")}
        line |= {"audio": str(utterance.audio.resolve())}
        lines.append(line | ({} if utterance.times is None else {"alignment": utterance.times}))
    with write_atomically(path) as temporary:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _usable(spec: str, part: str, read: Iterable[Utterance | str], phones: Collection[str] | None) -> Corpus:
    utterances, problems, seen = [], [], set()
    for item in read:
        unknown = [] if isinstance(item, str) or phones is None else unknown_phones(item.phones, phones)
        if isinstance(item, str):
            problems.append(item)
        elif unknown:
            known = (
                f"{len(phones or ())} ARPABET phones without stress" if phones == ARPABET else " ".join(phones or ())
            )
            problems.append(f"{item.id}: unknown phones {' '.join(unknown)}; the {known} are known")
        elif item.id in seen:
            problems.append(f"{item.id}: a second utterance of this id")
        else:
            seen.add(item.id)
            utterances.append(item)
    if not utterances:
        raise InputError(f"{spec} has no usable utterance; {problems[0] if problems else 'it is empty'}")
    return Corpus(spec, part, tuple(utterances), tuple(problems))


def read_lines(path: Path, make: Callable[[dict[str, Any]], Made | str]) -> Iterator[Made | str]:
    """What `make` makes of the object in each line, or the line's fault."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _guarded(f"{path.name}, line {number}", line, make)
    except (OSError, EOFError, zlib.error) as error:
        yield f"{path.name}: cannot be read behind line {number} ({error}); prepare it again"


def _guarded(where: str, line: bytes, make: Callable[[dict[str, Any]], Made | str]) -> Made | str:
    try:
        item = json.loads(line)
        if b"\\u" in line:
            json.dumps(item, ensure_ascii=False).encode()  # Half a surrogate pair is no text.
        return make(item)
    except Exception as error:  # Whatever a line makes json or lhotse raise is the line's fault.
        fault = f"no key {error}" if isinstance(error, KeyError) else str(error)
        return f"{where}: {fault}"


def _checked(utterance: Utterance) -> Utterance | str:
    """The utterance, or its fault."""
    if not utterance.phones:
        return f"{utterance.id}: no phones"
    if not 0 < utterance.duration < math.inf:
        return f"{utterance.id}: a duration of {utterance.duration} seconds"
    if not utterance.audio.is_file():
        return f"{utterance.id}: there is no recording {utterance.audio}"
    return utterance


def checked_phones(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(phone, str) for phone in value):
        raise TypeError("phones is not a list of strings")
    check_phones(dict.fromkeys(value))
    return tuple(value)


def jsonl_utterance(folder: Path, item: dict[str, Any]) -> Utterance | str:
    for key, kind in (("id", str), ("speaker", str), ("audio", str), ("duration", int | float)):
        if not isinstance(item[key], kind):
            raise TypeError(f"{key} is {item[key]!r}, which is not a {'string' if kind is str else 'number'}")
    times = item.get("alignment")
    return _checked(
        Utterance(
            item["id"],
            item["speaker"],
            folder / item["audio"],
            0.0,
            float(item["duration"]),
            checked_phones(item["phones"]),
            str(item.get("text") or ""),
            None if times is None else tuple((str(phone), float(start), float(end)) for phone, start, end in times),
            {key: item[key] for key in EXTRA if key in item},
        )
    )


def _lhotse_utterances(folder: Path, prefix: str, part: str) -> Iterator[Utterance | str]:
    recordings: dict[str, Recording] = {}
    for item in read_lines(folder / f"{prefix}_recordings_{part}.jsonl.gz", Recording.from_dict):
        if isinstance(item, str):
            yield item
        else:
            recordings[item.id] = item
    make = partial(_lhotse_utterance, folder, recordings)
    yield from read_lines(folder / f"{prefix}_supervisions_{part}.jsonl.gz", make)


def _lhotse_utterance(folder: Path, recordings: dict[str, Recording], item: dict[str, Any]) -> Utterance | str:
    supervision = SupervisionSegment.from_dict(item)
    if supervision.recording_id not in recordings:
        return f"{supervision.id}: its recording {supervision.recording_id} is not in the manifest of recordings"
    times = (supervision.alignment or {}).get("phone")
    custom = supervision.custom or {}
    return _checked(
        Utterance(
            supervision.id,
            supervision.speaker or supervision.id,
            folder / recordings[supervision.recording_id].sources[0].source,
            supervision.start,
            supervision.duration,
            checked_phones(custom["phones"]),
            supervision.text or "",
            None if times is None else tuple((item.symbol, item.start, item.end) for item in times),
            {key: custom[key] for key in EXTRA if key in custom},
        )
    )
