"""The bytes of a recording: a file, a pipe or standard input; and what is wrong where they cannot be had."""

import errno
import os
import select
import stat
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from tetraphone.common.errors import InputError
from tetraphone.common.files import MENDS
from tetraphone.common.native import check_decoded

PIPE = Path("-")
"""Stands for standard input."""
OPENED = os.O_RDONLY | getattr(os, "O_BINARY", 0)
"""Windows takes bytes for text without the second."""
READABLE = {
    errno.ENOENT: "check its path",
    errno.ENOTDIR: "check its path",
    errno.EACCES: "let yourself read it (chmod)",
    errno.EPERM: "let yourself read it (chmod)",
    errno.ENAMETOOLONG: MENDS[errno.ENAMETOOLONG],
}
"""What helps when a file cannot be opened; else another one does."""


def unreadable(name: str, why: str, mend: str = "export it as WAV or FLAC") -> InputError:
    return InputError(f"cannot read the recording {name}: {why}; {mend}")


def undecoded(name: str, begin: bytes, why: str) -> InputError:
    """For what libsndfile does not decode, by its first bytes: what it is where that is known, else `why`."""
    try:
        check_decoded(begin)
    except InputError as error:
        return InputError(f"cannot read the recording {name}: {error}")
    return unreadable(name, why)


def unopened(path: Path, error: OSError) -> InputError:
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    mend = READABLE.get(error.errno or 0, "give a file or a pipe that holds a recording")
    return unreadable(str(path), "no such file" if missing else words(error), mend)


def words(error: Exception) -> str:
    """What libsndfile or the system says."""
    said = getattr(error, "error_string", None) or getattr(error, "strerror", None) or error
    return str(said).strip().removeprefix("Error : ").rstrip(".")


def open_bytes(path: Path) -> BinaryIO:
    """A recording's bytes, in a file that can be searched."""
    stdin = sys.__stdin__
    if path == PIPE and stdin is None:
        raise OSError("standard input is closed")
    try:
        descriptor = os.dup(stdin.fileno()) if path == PIPE and stdin is not None else os.open(path, OPENED)
    except ValueError as error:  # a name that holds a zero
        raise OSError(str(error)) from error
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise OSError("it is a folder")
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
            raise OSError("it is a device")
        file = open(os.dup(descriptor), "rb") if stat.S_ISREG(kind) else _spool(descriptor)  # noqa: SIM115
    finally:
        os.close(descriptor)
    if file.seek(0, os.SEEK_END) == 0:
        file.close()
        raise OSError("it is empty")
    return file


def _spool(descriptor: int) -> BinaryIO:
    """What comes through a pipe, in a file without a name."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115
    while True:
        try:
            part = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            select.select([descriptor], [], [])
            continue
        if not part:
            return kept
        kept.write(part)


def check_there(path: Path) -> None:
    """Raises InputError: there is no such recording, or it may not be read; nothing is read of it."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            raise OSError("it is a folder")
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except ValueError as error:
        raise unreadable(str(path), str(error)) from error
    except OSError as error:
        raise unopened(path, error) from error
