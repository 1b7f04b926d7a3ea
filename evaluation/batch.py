"""Recordings, folders of them and patterns, worked on in parallel."""

import glob
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tetraphone.common.errors import InputError
from tetraphone.recognition.results import Result

if TYPE_CHECKING:
    from .results_folder import Results

SOUND = frozenset(
    {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf", ".w64", ".rf64"}
    | {".sph", ".nist"}
)
"""Endings of what is taken for a recording in a folder."""
UNDECODED = frozenset({".3gp", ".aac", ".amr", ".m4a", ".mka", ".mp4", ".webm", ".wma"})
"""Endings of recordings that are not decoded here; native/command/files.cc has both sets."""
WAITING = 4
"""Recordings a thread that are handed out ahead."""


@dataclass(frozen=True)
class Job:
    """A recording to recognise."""

    recording: Path
    place: Path
    """Of its result in a folder of results, without a suffix."""
    text: str | None = None
    """What is said in it, where that is known; the result depends on it too."""


@dataclass(frozen=True)
class Outcome:
    """What came of a recording."""

    job: Job
    result: Result | None
    fault: str = ""
    """Why there is no result, a sentence."""


def find_jobs(names: Sequence[str]) -> tuple[list[Job], list[str], list[str]]:
    """The recordings that names of files, folders and patterns (with *, ** and ?) stand for, each once.

    Returns:
        Them in the order of the names, those of a folder by their names; faults: folders that cannot be read, folders
        and patterns without a recording, and pipes in them; and notes of recordings that are not decoded here.
    """
    jobs: list[Job] = []
    faults: list[str] = []
    notes: list[str] = []
    for name in names:
        path, before = Path(name), len(jobs) + len(faults)
        if os.path.isdir(path):
            undecoded: list[Path] = []
            jobs += (Job(item, item.relative_to(path).with_suffix("")) for item in _below(path, faults, undecoded))
            if undecoded:
                notes.append(
                    f"passed over in {name}: {len(undecoded)} not decoded here, such as {undecoded[0].name}; "
                    "convert them, as by `ffmpeg -i INPUT output.wav`"
                )
            if len(jobs) + len(faults) == before:
                faults.append(f"the folder {name} holds no recording, by the ending of its name; name its recordings")
        elif glob.has_magic(name) and not os.path.lexists(name):
            found = sorted(item for item in glob.glob(name, recursive=True) if not os.path.isdir(item))
            jobs += (Job(Path(item), Path(Path(item).stem)) for item in found if not _waits(Path(item), faults))
            if not found:
                faults.append(f"no file matches {name}; check the pattern")
        else:
            jobs.append(Job(path, Path(path.stem)))
    kept: dict[str, Job] = {}
    for job in jobs:
        kept.setdefault(os.path.normpath(job.recording), job)
    return list(kept.values()), faults, notes


def same_names(jobs: Iterable[Job]) -> str | None:
    """Why a format that has names of recordings without folders and suffix could not tell them apart, a sentence."""
    taken: dict[str, Path] = {}
    for job in jobs:
        name = job.recording.stem
        if (other := taken.setdefault(name, job.recording)) is not job.recording:
            return (
                f"{other} and {job.recording} would both be called {name} in this format; rename one, or give "
                "--output DIR"
            )
    return None


def _waits(path: Path, faults: list[str]) -> bool:
    """Whether a file is none that can be read at once, which is a fault then."""
    if not os.path.exists(path) or os.path.isfile(path):
        return False
    faults.append(f"{path} is a pipe or a device; name it by itself, or leave it out")
    return True


def _below(folder: Path, faults: list[str], undecoded: list[Path]) -> Iterator[Path]:
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
            yield from _below(Path(entry.path), faults, undecoded)
        elif (suffix := os.path.splitext(entry.name)[1].lower()) in UNDECODED:
            undecoded.append(Path(entry.path))
        elif suffix in SOUND and not entry.is_dir() and not _waits(Path(entry.path), faults):
            yield Path(entry.path)


def outcomes(
    jobs: Iterable[Job], work: Callable[[Job], Result], threads: int, results: "Results | None" = None
) -> Iterator[Outcome]:
    """The outcomes of recordings, in their order; with `results` each result is written there, whole or not at all.

    Args:
        work: gives a recording's result, or fails with an `InputError`.
        threads: how many recordings at a time; the library works outside of Python's lock.
    """
    if threads == 1:
        for job in jobs:
            yield _outcome(job, work, results)
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    waiting: deque[Future[Outcome]] = deque()
    with ThreadPoolExecutor(threads) as executor:
        try:
            for job in jobs:
                waiting.append(executor.submit(_outcome, job, work, results))
                if len(waiting) >= WAITING * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _outcome(job: Job, work: Callable[[Job], Result], results: "Results | None") -> Outcome:
    try:
        source = None if results is None else results.source(job)
        result = work(job)
        if results is not None and source is not None:
            results.write(job, result, source)
    except InputError as error:
        return Outcome(job, None, str(error))
    return Outcome(job, result)
