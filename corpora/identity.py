"""Whether data are the same as before, by what they hold and not by where they lie or how their path was spelt."""

import ast
import hashlib
import inspect
import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tetraphone.common.files import write_atomically
from tetraphone.common.progress import Progress

from .utterance import Utterance

RECORDINGS = "recordings.json"
"""Beside features: digests of recordings that were read, by path, size and times."""
GLIMPSE = 4096
"""Bytes from the middle of a recording that is streamed, which stand for it beside its size."""

Digests = dict[Path, str]


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes; empty if it cannot be read, or is a pipe."""
    try:
        if not os.path.isfile(path):
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def recording_digests(paths: Iterable[Path], known: Path) -> Digests:
    """`file_digest` of recordings.

    Args:
        known: a file of digests from before, which is added to: what has its size, times and place on the disk still is
            not read again.

    Raises:
        InputError: `known` cannot be written.
    """
    before: dict[str, list[Any]] = {}
    with suppress(OSError, ValueError, AttributeError):  # a damaged file is as good as none
        read = json.loads(known.read_text(encoding="utf-8"))
        before = {path: note for path, note in read.items() if isinstance(note, list) and len(note) == 2}
    stamps = {path: _stamp(path) for path in dict.fromkeys(paths)}
    found = {path: before[str(path)][1] for path in stamps if before.get(str(path), [None])[0] == stamps[path]}
    new = [path for path in stamps if path not in found]
    if new:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            digests = Progress(pool.map(file_digest, new), "comparing recordings", len(new), "recordings")
            found |= dict(zip(new, digests, strict=True))
        noted = {str(path): [stamps[path], found[path]] for path in new if found[path]}
        if noted:
            with write_atomically(known) as temporary:
                temporary.write_text(json.dumps(before | noted), encoding="utf-8")
    return found


def _stamp(path: Path) -> list[int]:
    """Size and times, and the place on the disk, which moves with a file that is renamed."""
    try:
        stat = path.stat()
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def code_text(source: str) -> str:
    """What code does, whatever its comments and layout, in the words of Python 3.11 in later versions too."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not getattr(node, "type_params", True):
            del node.type_params  # type: ignore[attr-defined]  # 3.12 has it of each function, mostly without any
    shown: dict[str, Any] = {} if sys.version_info < (3, 13) else {"show_empty": True}
    return ast.dump(tree, **shown)


@cache
def code_digest(*modules: ModuleType) -> str:
    """SHA-256 of what modules' code does, whatever its comments and layout: it stands for every constant in it."""
    code = [code_text(inspect.getsource(module)) for module in modules]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


def glimpse(path: Path, offset: int = 0, size: int | None = None) -> str:
    """Size and middle of a recording, or of a part of a file; empty if it cannot be read."""
    try:
        if not os.path.isfile(path):
            return ""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size if size is None else size
            file.seek(offset + max(0, size - GLIMPSE) // 2)
            return f"{size} {hashlib.sha256(file.read(min(size, GLIMPSE))).hexdigest()}"
    except OSError:
        return ""


def utterances_digest(utterances: Sequence[Utterance], known: Path, further: Sequence[str] = ()) -> str:
    """SHA-256 of what decides the features and targets of utterances, in their order: see `digest_of`.

    Args:
        known: see `recording_digests`.

    Raises:
        InputError: `known` cannot be written.
    """
    digests = recording_digests((utterance.audio for utterance in utterances), known)
    return digest_of(((utterance, digests[utterance.audio]) for utterance in utterances), further)


def digest_of(utterances: Iterable[tuple[Utterance, str]], further: Sequence[str] = ()) -> str:
    """SHA-256 of utterances in their order: id, digest of the recording, start, duration, channel, phones.

    Args:
        further: names of what else of an utterance counts.
    """
    digest = hashlib.sha256()
    for utterance, recording in utterances:
        parts = ("id", "start", "duration", "channel", "phones", *further)
        digest.update(json.dumps([recording, *(getattr(utterance, name) for name in parts)]).encode() + b"\n")
    return digest.hexdigest()
