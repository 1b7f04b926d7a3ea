"""Corpora: prepared ones (lhotse manifests) and JSON-lines manifests as they stand."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import lhotse

from .errors import InputError
from .phones import unknown_phones

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


@dataclass(frozen=True)
class Corpus:
    """One part of a corpus."""

    name: str
    part: str
    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """One line for each utterance that was left out: its name and its fault."""


def read_corpus(spec: str, part: str) -> Corpus:
    """Reads one part of a corpus; faulty utterances are left out and named in `problems`.

    Args:
        spec: "FOLDER" with lhotse manifests (PREFIX_recordings_PART.jsonl.gz, PREFIX_supervisions_PART.jsonl.gz),
            "FOLDER:PART", or "MANIFEST.jsonl" with an object a line (keys id, audio, speaker, duration, text, phones).
        part: the one to take where the folder holds several and `spec` names none.

    Raises:
        InputError: the corpus is missing or has no usable utterance.
    """
    path = Path(spec)
    if spec.endswith(".jsonl"):
        if not path.is_file():
            raise InputError(f"there is no manifest {spec}; give a .jsonl file or the folder of a prepared corpus")
        return _usable(spec, path.stem, _jsonl_utterances(path))
    chosen = ""
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
    return _usable(spec, name, _lhotse_utterances(path, parts[name], name))


def corpus_parts(folder: Path) -> dict[str, str]:
    """Parts of a prepared corpus, each with the prefix of its manifests."""
    found = {}
    for path in sorted(folder.glob("*_supervisions_*.jsonl.gz")):
        prefix, part = path.name.removesuffix(".jsonl.gz").split("_supervisions_")
        found[part] = prefix
    return found


def _usable(spec: str, part: str, read: Iterator[Utterance | str]) -> Corpus:
    utterances, problems, seen = [], [], set()
    for item in read:
        if isinstance(item, str):
            problems.append(item)
        elif item.id in seen:
            problems.append(f"{item.id}: a second utterance of this id")
        else:
            seen.add(item.id)
            utterances.append(item)
    if not utterances:
        raise InputError(f"{spec} has no usable utterance; {problems[0] if problems else 'it is empty'}")
    return Corpus(spec, part, tuple(utterances), tuple(problems))


def checked(utterance: Utterance) -> Utterance | str:
    """The utterance, or its fault."""
    unknown = unknown_phones(list(utterance.phones))
    if unknown:
        return f"{utterance.id}: unknown phones {' '.join(unknown)}; the 39 ARPABET phones without stress are known"
    if not utterance.phones:
        return f"{utterance.id}: no phones"
    if not utterance.duration > 0:
        return f"{utterance.id}: a duration of {utterance.duration} seconds"
    if not utterance.audio.is_file():
        return f"{utterance.id}: there is no recording {utterance.audio}"
    return utterance


def _jsonl_utterances(path: Path) -> Iterator[Utterance | str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _guarded(f"{path.name}, line {number}", partial(_jsonl_utterance, line, path.parent))


def _guarded(where: str, make: Callable[[], Utterance]) -> Utterance | str:
    try:
        return checked(make())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        fault = f"no key {error}" if isinstance(error, KeyError) else str(error)
        return f"{where}: {fault}"


def _jsonl_utterance(line: str, folder: Path) -> Utterance:
    item: dict[str, Any] = json.loads(line)
    phones = item["phones"]
    if not isinstance(phones, list) or not all(isinstance(phone, str) for phone in phones):
        raise ValueError("phones is not a list of strings")
    times = item.get("alignment")
    return Utterance(
        str(item["id"]),
        str(item["speaker"]),
        folder / item["audio"],
        0.0,
        float(item["duration"]),
        tuple(phones),
        str(item.get("text", "")),
        None if times is None else tuple((str(phone), float(start), float(end)) for phone, start, end in times),
        {key: item[key] for key in EXTRA if key in item},
    )


def _lhotse_utterances(folder: Path, prefix: str, part: str) -> Iterator[Utterance | str]:
    try:
        recordings = {
            recording.id: recording
            for recording in lhotse.RecordingSet.from_jsonl_lazy(folder / f"{prefix}_recordings_{part}.jsonl.gz")
        }
        supervisions = list(lhotse.SupervisionSet.from_jsonl_lazy(folder / f"{prefix}_supervisions_{part}.jsonl.gz"))
    except Exception as error:
        raise InputError(f"cannot read the manifests of {part} in {folder}: {error}; prepare it again") from error
    for supervision in supervisions:
        yield _guarded(supervision.id, partial(_lhotse_utterance, supervision, recordings, folder))


def _lhotse_utterance(supervision: Any, recordings: dict[str, Any], folder: Path) -> Utterance:
    recording = recordings[supervision.recording_id]
    times = (supervision.alignment or {}).get("phone")
    custom = supervision.custom or {}
    return Utterance(
        supervision.id,
        supervision.speaker or supervision.id,
        folder / recording.sources[0].source,
        supervision.start,
        supervision.duration,
        tuple(custom["phones"]),
        supervision.text or "",
        None if times is None else tuple((item.symbol, item.start, item.end) for item in times),
        {key: custom[key] for key in EXTRA if key in custom},
    )
