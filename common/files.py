"""Files and folders that appear whole or not at all, and what to note in them: machine and revision."""

import contextlib
import errno
import functools
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PARTIAL = ".partial-"
"""In the name of a file that is still being written."""
LOCK = ".lock"
"""In a folder that a command works in."""
SHOWN_NAME = 24
"""Characters of a file's name in that of its partial one: with four bytes each it is short enough for any system."""
MENDS = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EFBIG: "raise the limit of the size of files (ulimit -f)",
    errno.ENAMETOOLONG: "give a shorter name",
}
"""What helps when a file cannot be written; else another folder does."""
UNNAMED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
"""Faults of writing that come without the file's name."""


@contextlib.contextmanager
def writing(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """For what writes `path`, or `temporary` in its stead.

    Raises:
        InputError: the system cannot write it.
    """
    try:
        yield
    except OSError as error:
        named = None if error.filename is None else Path(error.filename)
        if error.errno not in UNNAMED if named is None else named not in (path, *path.parents, temporary):
            raise  # of another file, which was read, or of no file
        mend = MENDS.get(error.errno or 0, "choose a folder that you may write to")
        raise InputError(f"cannot write {path}: {error.strerror or error}; {mend}") from error


@contextlib.contextmanager
def write_atomically(path: Path, durable: bool = True) -> Iterator[Path]:
    """Yields a path beside `path` to write to; moves it into place on success and removes it on failure.

    Args:
        durable: whether it is on the disk before it appears; else a loss of power may leave an empty file.

    Raises:
        InputError: the file or its folder cannot be written, or `path` is a folder or a device.
    """
    path = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    with writing(path), made_for(path.parent):
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; give the name of a file in it")
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is a device or a pipe; give the name of a file")
        suffix = path.suffix if len(path.suffix) < SHOWN_NAME else ""
        prefix = f".{path.name[:SHOWN_NAME]}{PARTIAL}"
        try:
            descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=path.parent)
        except OSError as error:
            error.filename = str(path)  # not the name that it would have had until it is whole
            raise
        os.close(descriptor)
        temporary = Path(name)
        try:
            with writing(path, temporary):
                yield temporary
                temporary.chmod(0o644)
                if durable:
                    with temporary.open("rb+") as file:
                        os.fsync(file.fileno())
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def check_plain(path: Path, what: str) -> None:
    """Refuses what is no plain file, such as a pipe that would be waited for; one that is not there is not refused.

    Raises:
        InputError: names it as `what`.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"cannot read {what} {path}: it is a folder, a pipe or a device; give a plain file")


def append(path: Path, content: bytes) -> None:
    """Adds bytes to a file, all or none.

    Raises:
        InputError: it cannot be written.
    """
    with writing(path):
        before = path.stat().st_size if path.exists() else None
        try:
            with path.open("ab") as file:
                file.write(content)
        except OSError:
            if before is None:
                path.unlink(missing_ok=True)
            else:
                os.truncate(path, before)
            raise


def remove_partial(folder: Path) -> None:
    """Removes the files that a killed process was writing in `folder` when it ended."""
    for path in folder.glob(f".*{PARTIAL}*"):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def made_for(folder: Path) -> Iterator[None]:
    """Makes a folder and those above it; on failure those that it made go again, if nothing lies in them.

    Raises:
        OSError: the folder cannot be made.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


@contextlib.contextmanager
def kept_folder(path: Path, new: bool = False) -> Iterator[Path]:
    """A folder for a command to work in alone, see `locked`, made if it is not there; with `new` it must be empty.

    Raises:
        InputError: the folder cannot be made, another process works in it, or it holds files already.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(made_for(path))
            used = any(path.iterdir())
        except OSError as error:
            mend = MENDS.get(error.errno or 0, "choose another")
            raise InputError(f"cannot make the folder {path}: {error.strerror}; {mend}") from error
        if new and used:
            raise InputError(f"{path} holds files already; choose a new folder or empty this one")
        stack.enter_context(locked(path))
        yield path


new_folder = functools.partial(kept_folder, new=True)
"""See `kept_folder`."""


def claimed(folder: Path, resume: bool) -> contextlib.AbstractContextManager[object]:
    """The folder of a run, for this process alone: a new one, or with `resume` one that is there.

    Raises:
        InputError: it is used, or is not there, or another process works in it.
    """
    if not resume:
        return new_folder(folder)
    if not os.path.isdir(folder):
        raise InputError(f"there is no run {folder} to resume; check the name, or start it without --resume")
    return locked(folder)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes out of a folder that is there; the system frees it when this process ends, however it does.

    Raises:
        InputError: another process works in it.
    """
    path = folder / LOCK
    with writing(path):
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if not _lock(descriptor):
                os.close(descriptor)
                raise InputError(f"another process works in {folder}; wait for it, or choose another folder")
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                break  # else who had it removed it meanwhile
            os.close(descriptor)
    try:
        yield
    finally:
        _unlock(descriptor, path)


if sys.platform == "win32":

    def _lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int, path: Path) -> None:
        os.close(descriptor)  # what is open cannot be removed
        with contextlib.suppress(PermissionError):  # another process has it open by now
            path.unlink(missing_ok=True)

else:

    def _lock(descriptor: int) -> bool:
        """Whether this process has the lock of a file now; closing it gives it back."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int, path: Path) -> None:
        """Gives a lock back and removes its file."""
        path.unlink(missing_ok=True)
        os.close(descriptor)


def revision() -> str:
    """The git revision of the source tree that this code runs from, '-dirty' if changed, or 'unknown'."""
    import subprocess  # here: recognition does not wait for it

    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict[str, Any]:
    """What a figure depends on: processor, cores, and the revision of the source."""
    cpuinfo = Path("/proc/cpuinfo")
    names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    processor = names[0].split(":")[1].strip() if names else platform.machine()
    return {"processor": processor, "cores": os.cpu_count(), "revision": revision()}
