"""Where the utterances of a corpus come from: JSON lines, lhotse's two manifests of a part, lhotse's Shar archives."""

import hashlib
import math
import os
import random as python_random
import tarfile
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from tetraphone.common.errors import InputError

from .lines import Line, read_lines
from .manifest import Sources, cut_utterance, lhotse_sources, lhotse_utterance, line_utterance
from .transcripts import LineError, Reading
from .utterance import Utterance

WINDOW = 1000
"""Recordings by which the two manifests of a part may be out of step where they are streamed."""
MEGABYTE = 1 << 20
ID_GROUPS = 4096


@dataclass(frozen=True)
class Member:
    """Where a recording lies in a Shar archive, in bytes."""

    offset: int
    size: int


@dataclass(slots=True)
class Item:
    """An utterance as the sampler sees it: what lhotse reads of a cut."""

    utterance: Utterance
    member: Member | None
    """None: the utterance's audio is a file of its own."""
    duration: float
    number: int = 0
    dataloading_info: object = None
    """The sampler's note."""

    @property
    def id(self) -> str:
        return self.utterance.id


class Source(Protocol):
    """One part of a corpus."""

    def lines(self) -> float:
        """About the number of its utterances: its share where several are mixed."""

    def read(self, reading: Reading, order: python_random.Random | None = None) -> Iterator[Item | str]:
        """Its utterances, and the faults of those that are none; `order` shuffles shards.

        Raises:
            InputError: a manifest is not in UTF-8.
        """


def find_source(spec: str, part: str, window: float = WINDOW) -> "JsonLines | Manifests | Shar":
    """The source that a corpus spec names; nothing is read yet.

    Args:
        spec: "FOLDER" with lhotse manifests (PREFIX_recordings_PART.jsonl.gz, PREFIX_supervisions_PART.jsonl.gz),
            "FOLDER:PART", a folder of Shar archives (cuts.NUMBER.jsonl.gz, recording.NUMBER.tar), or "MANIFEST.jsonl"
            with an object a line (see `line_utterance`).
        part: the one to take where the folder holds several and `spec` names none.
        window: recordings by which the two manifests of a part may be out of step.

    Raises:
        InputError: there is none.
    """
    if spec.endswith(".jsonl"):
        return JsonLines(_find_manifest(spec))
    shards = tuple(sorted(Path(spec).glob("cuts.*.jsonl*"))) if os.path.isdir(spec) else ()
    return Shar(shards) if shards else Manifests(*_find_part(spec, part), window)


def _find_manifest(spec: str) -> Path:
    path = Path(spec)
    if not os.path.isfile(path):
        raise InputError(f"there is no manifest {spec}; give a .jsonl file or the folder of a prepared corpus")
    return path


def _find_part(spec: str, part: str) -> tuple[Path, str, str]:
    """Folder, prefix and part of a prepared corpus that a spec names, see `find_source`.

    Raises:
        InputError: there is no such corpus or part.
    """
    path, chosen = Path(spec), ""
    if not os.path.isdir(path) and ":" in spec:
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
    for path in sorted(folder.glob("*_supervisions_*.jsonl.gz")) if os.path.isdir(folder) else ():
        prefix, _, part = path.name.removesuffix(".jsonl.gz").partition("_supervisions_")
        if part in found:
            raise InputError(f"{folder} holds a part {part} of {found[part]} and of {prefix}; give each its own folder")
        found[part] = prefix
    return found


def _lines(first: Path, *others: Path) -> float:
    """About the lines of files alike, from the first megabyte of the first."""
    with first.open("rb") as file:
        head = file.read(MEGABYTE)
    text, used = head, len(head)
    if first.suffix == ".gz":
        decoder = zlib.decompressobj(wbits=31)
        try:
            text = decoder.decompress(head, MEGABYTE)
        except zlib.error:
            return 1.0
        used -= len(decoder.unconsumed_tail)
    return max(1, text.count(b"\n")) / max(1, used) * sum(path.stat().st_size for path in (first, *others))


@dataclass(frozen=True)
class JsonLines:
    """A manifest of our own form."""

    path: Path

    @property
    def part(self) -> str:
        return self.path.stem

    def lines(self) -> float:
        return _lines(self.path)

    def read(self, reading: Reading, _: python_random.Random | None = None) -> Iterator[Item | str]:
        for made in read_lines(self.path, partial(line_utterance, self.path.parent, reading)):
            yield made if isinstance(made, str) else Item(made, None, made.duration)


@dataclass(frozen=True)
class Manifests:
    """lhotse's two manifests of a part, read side by side."""

    folder: Path
    prefix: str
    part: str
    window: float

    def path(self, kind: str) -> Path:
        return self.folder / f"{self.prefix}_{kind}_{self.part}.jsonl.gz"

    def lines(self) -> float:
        return _lines(self.path("supervisions"))

    def read(self, reading: Reading, _: python_random.Random | None = None) -> Iterator[Item | str]:
        recordings = _Recordings(self.folder, self.path("recordings"), reading, self.window)
        for made in read_lines(self.path("supervisions"), partial(lhotse_utterance, reading, sources=recordings.find)):
            yield from recordings.faults
            recordings.faults.clear()
            yield made if isinstance(made, str) else Item(made, None, made.duration)


class _Recordings:
    """The sources of recordings, found near the place of the one before."""

    def __init__(self, folder: Path, manifest: Path, reading: Reading, window: float) -> None:
        self.manifest, self.window = manifest, window
        self.lines = read_lines(manifest, partial(lhotse_sources, folder, reading))
        self.near: dict[str, tuple[Sources, int]] = {}
        """Each with its place: those less than the window before and behind the one found last."""
        self.read = self.place = 0
        self.faults: list[str] = []

    def find(self, name: str) -> Sources:
        """Raises LineError: there is no such recording near the one before."""
        while name not in self.near and self.read - self.place < self.window:
            line = next(self.lines, None)
            if line is None:
                break
            if isinstance(line, str):
                self.faults.append(line)
                continue
            self.read += 1
            self.near[line.name] = (line, self.read)
            if len(self.near) > 2 * self.window:
                del self.near[next(iter(self.near))]
        if name not in self.near:
            near = "" if math.isinf(self.window) else f" within {self.window} lines of its place"
            raise LineError(f"its recording {name} is not in {self.manifest.name}{near}; write both manifests again")
        sources, self.place = self.near[name]
        return sources


@dataclass(frozen=True)
class Shar:
    """lhotse's Shar archives. Only headers of the tar files are read here: audio stays there until it is decoded."""

    shards: tuple[Path, ...]

    def lines(self) -> float:
        return _lines(*self.shards)

    def read(self, reading: Reading, order: python_random.Random | None = None) -> Iterator[Item | str]:
        for shard in self.shards if order is None else order.sample(self.shards, len(self.shards)):
            archive = shard.with_name(f"recording.{shard.name.split('.')[1]}.tar")
            yield from read_lines(shard, partial(self._item, archive, _members(archive), reading))

    @staticmethod
    def _item(archive: Path, members: Iterator[tuple[str, Member]], reading: Reading, line: Line) -> Item:
        member = next((member for name, member in members if name == line.item.get("id")), None)
        if member is None:
            raise LineError(f"its recording is not at its place in {archive}; write the archive again")
        utterance = cut_utterance(archive, reading, line)
        return Item(utterance, member, utterance.duration)


def _members(archive: Path) -> Iterator[tuple[str, Member]]:
    """Name and place of each recording in a Shar archive; the description behind each is skipped.

    Raises:
        LineError: the archive cannot be read.
    """
    try:
        with tarfile.open(archive, "r:") as tar:
            for number in range(10**12):
                info = tar.next()
                if info is None:
                    return
                tar.members.clear()  # type: ignore[attr-defined]
                if number % 2 == 0:
                    yield info.name.rpartition(".")[0], Member(info.offset_data, info.size)
    except OSError as error:
        raise LineError(f"cannot read {archive}: {error.strerror}; write the archive again") from error
    except tarfile.TarError as error:
        raise LineError(f"{archive} is damaged; write the archive again") from error


# Several sources at once.


@dataclass(frozen=True)
class Stream:
    """Usable utterances of one or more corpora, mixed, in an order that the seed alone decides."""

    sources: tuple[Source, ...]

    def read(self, reading: Reading, report: Callable[[str], None], seed: str | None = None) -> Iterator[Item]:
        """Each utterance once; faulty lines, and a corpus's further utterances of an id, are reported and left out."""
        number = 0
        order = None if seed is None else python_random.Random(seed)
        sources = [(source.lines(), _once(source.read(reading, order))) for source in self.sources]
        for made in _mixed(sources, python_random.Random(f"mixed {seed}")):
            if isinstance(made, str):
                report(made)
            else:
                made.number = number
                number += 1
                yield made


def _once(items: Iterator[Item | str]) -> Iterator[Item | str]:
    """Items, and the fault of each whose id another had before it."""
    ids = _Ids()
    for made in items:
        if isinstance(made, str) or ids.add(made.id):
            yield made
        else:
            yield f"{made.utterance.label}: a second utterance of this id; give each its own"


class _Ids:
    """Ids that were seen, eight bytes each: two that differ are taken for one in 1 of 2^64 pairs."""

    def __init__(self) -> None:
        self._groups = [array("Q") for _ in range(ID_GROUPS)]
        """Sorted digests."""

    def add(self, name: str) -> bool:
        """Whether it is new."""
        digest = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())
        group = self._groups[digest % ID_GROUPS]
        place = bisect_left(group, digest)
        if place < len(group) and group[place] == digest:
            return False
        group.insert(place, digest)
        return True


def _mixed(sources: list[tuple[float, Iterator[Item | str]]], random: python_random.Random) -> Iterator[Item | str]:
    """Items of all sources, each drawn from a source by its share, until all are read."""
    while len(sources) > 1:
        chosen = random.choices(sources, [lines for lines, _ in sources])[0]
        made = next(chosen[1], None)
        if made is None:
            sources.remove(chosen)
        else:
            yield made
    for _, last in sources:
        yield from last
