"""Objects of the C library, known by numbers."""

import ctypes
from types import TracebackType
from typing import Self

from tetraphone.common.native import library


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
