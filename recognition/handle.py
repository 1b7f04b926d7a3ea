"""What calls of the C library have in common: names of files, errors, and objects that are known by numbers."""

import ctypes
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tetraphone.common.errors import InputError, typed
from tetraphone.common.native import failure, library


def path_bytes(path: Path) -> bytes:
    """A file's name for the library. Raises InputError: it contains a zero byte."""
    name = os.fsencode(typed("the file", Path, path))
    if b"\0" in name:
        raise InputError(f"{str(path)!r} contains a zero byte; give the name of a file")
    return name


def checked(number: int) -> int:
    """What a function of the library returned. Raises InputError: it is an error's code."""
    if number < 0:
        raise failure()
    return number


def library_text(room: int, function: Any, *arguments: Any) -> str:
    """The text that a function of the library writes into a buffer of `room` bytes, or of as many as it needs.

    Raises:
        InputError: the function fails.
    """
    while True:
        text = ctypes.create_string_buffer(room)
        size = checked(function(*arguments, text, ctypes.c_size_t(room)))
        if size < room:  # else it was cut, with a 0 at its end
            return text.raw[:size].decode("utf-8", "surrogateescape")
        room = size + 1


class Handle:
    """A handle of the C library, closed once."""

    _close: str
    _handle = ctypes.c_uint64(0)

    def __init__(self, handle: int) -> None:
        self._handle = ctypes.c_uint64(handle)

    def close(self) -> None:
        """Frees the object; later calls raise InputError. Safe while another thread is in a call."""
        handle, self._handle = self._handle, ctypes.c_uint64(0)
        if handle:
            getattr(library(), self._close)(handle)

    def __reduce__(self) -> str:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled; load the file again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
