"""Folders of results that can be gone on with: which settings made them, and which recording each is of.

native/README.md, "Folders of results", says what such a folder holds; native/command/results_folder.h makes the same.
"""

import contextlib
import json
import os
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tetraphone.common.errors import InputError, check_types
from tetraphone.common.files import append, kept_folder, remove_partial
from tetraphone.recognition.results import Format, Result, path_from, write_result

from .batch import Job

SETTINGS = "tetraphone.json"
"""In a folder of results: what they depend on besides the recordings."""
RECORDINGS = "tetraphone.recordings"
"""In a folder of results: which recording each is of, an object of JSON a line, the last of a result holds."""
PIECE = 1 << 20
"""Bytes of a recording that are read at a time."""
MEND = "name another folder, or give --overwrite to make them anew"


@dataclass(frozen=True)
class Output:
    """Where results are written, and how."""

    folder: Path
    format: Format
    alphabet: str

    def path(self, job: Job) -> Path:
        """The file of a recording's result."""
        return self.folder / job.place.with_name(job.place.name + self.format.suffix)


@dataclass(frozen=True)
class Source:
    """What is remembered of a recording. Pipes and missing files have neither size, time nor checksum."""

    recording: str
    """Its path from the folder of results, so that both may be moved together."""
    size: int
    modified: int
    """Nanoseconds since 1970."""
    crc32: int
    text: int | None = None
    """The checksum of what is said in it, where the result depends on that."""


class Results:
    """The results of a folder that this process works in alone; see `results_folder`."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._path = output.folder / RECORDINGS
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[str, Source]] = {}
        with contextlib.suppress(FileNotFoundError):
            content = self._path.read_bytes()
            if content and not content.endswith(b"\n"):
                append(self._path, b"\n")  # a loss of power cut the line
            for line in content.splitlines():
                with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError, InputError):
                    values = json.loads(line)
                    result, source = values.pop("result"), Source(**values)
                    check_types(source)
                    self._known[_folded(result)] = result, source

    def is_there(self, job: Job) -> bool:
        """Whether there is a result of this recording as it is now. An empty one may be what a loss of power left.

        Raises:
            InputError: it is another recording's.
        """
        result, name = self.output.path(job), path_from(self.output.folder, job.recording)
        kept, known = self._known.get(_folded(self._name(job)), ("", None))
        if known is None or (now := _stamp(job.recording)) is None:
            return False
        found = _stamp(result)
        is_there = found is not None and found[0] > 0
        same = (name, *now) == (known.recording, known.size, known.modified)
        if not same:  # unless it was moved, or its time changed
            same = now[0] == known.size and _checksum(job.recording) == known.crc32
        if not same and name != known.recording and (is_there or kept != self._name(job)):
            other = os.path.normpath(self.output.folder / known.recording)
            raise InputError(f"{result} is the result of {other}, not of {job.recording}; {MEND}")
        return same and is_there and known.text == _text_checksum(job)

    def source(self, job: Job) -> Source:
        """The recording as it is before it is read for its result."""
        now = _stamp(job.recording)
        checksum = 0 if now is None else _checksum(job.recording)
        return Source(path_from(self.output.folder, job.recording), *(now or (0, 0)), checksum, _text_checksum(job))

    def write(self, job: Job, result: Result, source: Source) -> None:
        """Writes a result, whole or not at all, and then remembers which recording it is of.

        Raises:
            InputError: it cannot be written.
        """
        path = self.output.path(job)
        write_result(path, result.for_file(path, self.output.format.name, self.output.alphabet), durable=False)
        values = {name: value for name, value in asdict(source).items() if value is not None}
        line = json.dumps({"result": self._name(job), **values})
        with self._lock:
            append(self._path, line.encode() + b"\n")

    def _name(self, job: Job) -> str:
        return self.output.path(job).relative_to(self.output.folder).as_posix()


def _folded(path: str | Path) -> bytes:
    """A path in small letters, of ASCII alone: some disks do not tell capital ones apart."""
    return os.fsencode(path).lower()


def _stamp(path: Path) -> tuple[int, int] | None:
    """Size and time; None if it is no plain file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _checksum(recording: Path) -> int:
    checksum = 0
    with contextlib.suppress(OSError), recording.open("rb") as file:
        while piece := file.read(PIECE):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def _text_checksum(job: Job) -> int | None:
    return None if job.text is None else zlib.crc32(job.text.encode("utf-8", "surrogatepass"))


def colliding(jobs: Iterable[Job], output: Output) -> str | None:
    """Why results would overwrite one another, a sentence; None where each has a place of its own."""
    settings = output.folder / SETTINGS
    taken: dict[bytes, Path] = {_folded(settings): settings}
    for job in jobs:
        path = output.path(job)
        other = taken.setdefault(_folded(path), job.recording)
        if other is settings:
            return f"the result of {job.recording} would replace {settings}; give the recording another name"
        if other is not job.recording:
            return f"{other} and {job.recording} would both have the result {path}; name a folder above both"
    return None


@contextlib.contextmanager
def results_folder(
    output: Output, settings: str, jobs: Sequence[Job], overwrite: bool
) -> Iterator[tuple[Results, list[Job]]]:
    """A folder whose results are all made with these settings, for this process alone; and which are still to be made.

    Raises:
        InputError: others are in it, or results of unknown settings or of other recordings, or it cannot be written.
    """
    path = output.folder / SETTINGS
    with kept_folder(output.folder):
        for folder in {output.folder, *(output.path(job).parent for job in jobs)}:
            remove_partial(folder)
        try:
            known = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
            if known is not None and known != settings and not overwrite:
                raise InputError(f"the results in {output.folder} are of another model or of other options; {MEND}")
            for job in () if known is not None or overwrite else jobs:
                if os.path.exists(output.path(job)):
                    raise InputError(f"{output.path(job)} is there, and {path.name} does not say what made it; {MEND}")
            if known is None or overwrite:
                # First: what other settings made must not be taken for a result should the process end here.
                (output.folder / RECORDINGS).unlink(missing_ok=True)
                write_result(path, settings)
            results = Results(output)
        except OSError as error:
            raise InputError(f"cannot read {error.filename or path}: {error.strerror}; {MEND}") from error
        yield results, [job for job in jobs if not results.is_there(job)]
