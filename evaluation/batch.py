"""Recordings, folders of them and patterns, recognised in parallel; folders of results that can be gone on with.

native/README.md, "Folders of results", says what such a folder holds; native/command makes the same.
"""

import contextlib
import glob
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.files import kept_folder, remove_partial
from tetraphone.recognition.model import LoadedModel, recognize_recording
from tetraphone.recognition.results import Format, Recognition, write_result

SOUND = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf", ".w64", ".rf64"}
    | {".sph", ".nist"}
)
"""Endings of what is taken for a recording in a folder."""
SETTINGS = "tetraphone.json"
"""In a folder of results: what they depend on."""
WAITING = 4
"""Recordings a thread that are handed out ahead."""


@dataclass(frozen=True)
class Job:
    """A recording to recognise."""

    recording: Path
    place: Path
    """Of its result in a folder of results, without a suffix."""


@dataclass(frozen=True)
class Output:
    """Where results are written, and how."""

    folder: Path
    format: Format
    alphabet: str

    def path(self, job: Job) -> Path:
        """The file of a recording's result."""
        return self.folder / job.place.with_name(job.place.name + self.format.suffix)

    def is_fresh(self, job: Job) -> bool:
        """Whether there is a result that is not older than its recording and than the folder's settings. An empty one
        may be what a loss of power left."""
        try:
            made = self.path(job).stat()
            if not stat.S_ISREG(made.st_mode):
                return False
            sources = (os.stat(path).st_mtime_ns for path in (job.recording, self.folder / SETTINGS))
            return made.st_size > 0 and all(made.st_mtime_ns >= changed for changed in sources)
        except OSError:
            return False


@dataclass(frozen=True)
class Outcome:
    """What came of a recording."""

    job: Job
    result: Recognition | None
    fault: str = ""
    """Why there is no result, a sentence."""


def find_jobs(names: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The recordings that names of files, folders and patterns (with *, ** and ?) stand for, each once.

    Returns:
        Them in the order of the names, those of a folder by their names; and faults: folders that cannot be read and
        folders and patterns without a recording.
    """
    jobs: list[Job] = []
    faults: list[str] = []
    for name in names:
        path, before = Path(name), len(jobs) + len(faults)
        if os.path.isdir(path):
            jobs += (Job(item, item.relative_to(path).with_suffix("")) for item in _below(path, faults))
            if len(jobs) + len(faults) == before:
                faults.append(f"the folder {name} holds no recording, by the ending of its name; name its recordings")
        elif glob.has_magic(name) and not os.path.lexists(name):
            found = sorted(item for item in glob.glob(name, recursive=True) if not os.path.isdir(item))
            jobs += (Job(Path(item), Path(Path(item).stem)) for item in found)
            if not found:
                faults.append(f"no file matches {name}; check the pattern")
        else:
            jobs.append(Job(path, Path(path.stem)))
    kept: dict[str, Job] = {}
    for job in jobs:
        kept.setdefault(os.path.normpath(job.recording), job)
    return list(kept.values()), faults


def _below(folder: Path, faults: list[str]) -> Iterator[Path]:
    """The recordings in a folder, by their names; hidden files and links to folders are passed over."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        faults.append(f"cannot read the folder {folder}: {error.strerror}; give a readable folder")
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), faults)
        elif os.path.splitext(entry.name)[1].lower() in SOUND and not entry.is_dir():
            yield Path(entry.path)


def colliding(jobs: Iterable[Job], output: Output) -> str | None:
    """Why results would overwrite one another, a sentence; None where each has a place of its own. Capital letters of
    ASCII count as small ones, since some disks do not tell them apart."""
    settings = output.folder / SETTINGS
    taken: dict[bytes, Path] = {os.fsencode(settings).lower(): settings}
    for job in jobs:
        path = output.path(job)
        other = taken.setdefault(os.fsencode(path).lower(), job.recording)
        if other is settings:
            return f"the result of {job.recording} would replace {settings}; give the recording another name"
        if other is not job.recording:
            return f"{other} and {job.recording} would both have the result {path}; name a folder above both"
    return None


@contextlib.contextmanager
def results_folder(output: Output, settings: str, jobs: Sequence[Job], overwrite: bool) -> Iterator[None]:
    """A folder whose results are all made with these settings, for this process alone.

    Raises:
        InputError: others are in it, or results of unknown settings, or it cannot be written.
    """
    path = output.folder / SETTINGS
    with kept_folder(output.folder):
        for folder in {output.folder, *(output.path(job).parent for job in jobs)}:
            remove_partial(folder)
        mend = "name another folder, or give --overwrite to make them anew"
        try:
            known = path.read_text(encoding="utf-8", errors="replace") if path.exists() else None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; {mend}") from error
        if known is not None and known != settings and not overwrite:
            raise InputError(f"the results in {output.folder} are of another model or of other options; {mend}")
        for job in () if known is not None or overwrite else jobs:
            if os.path.exists(output.path(job)):
                raise InputError(f"{output.path(job)} is there, and {path.name} does not say what made it; {mend}")
        if known is None or overwrite:
            write_result(path, settings)
        yield


def outcomes(
    jobs: Iterable[Job], model: LoadedModel, channel: int | None, threads: int, output: Output | None = None
) -> Iterator[Outcome]:
    """Recognises recordings, in their order; with `output` each result is written there, whole or not at all.

    Args:
        channel: the one to recognise; by default the mean of all.
        threads: how many recordings at a time; the library works outside of Python's lock.
    """
    if threads == 1:
        for job in jobs:
            yield _outcome(job, model, channel, output)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[Outcome]] = deque()
    with ThreadPoolExecutor(threads) as executor:
        try:
            for job in jobs:
                waiting.append(executor.submit(_outcome, job, model, channel, output))
                if len(waiting) >= WAITING * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _outcome(job: Job, model: LoadedModel, channel: int | None, output: Output | None) -> Outcome:
    try:
        result = recognize_recording(job.recording, model, channel)[0]
        if output is not None:
            write_result(output.path(job), result.to(output.format.name, output.alphabet), durable=False)
    except InputError as error:
        return Outcome(job, None, str(error))
    return Outcome(job, result)
