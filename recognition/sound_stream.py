"""What streams of a recogniser and of an aligner have in common (native/recognizer/sound_stream.h)."""

import ctypes
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tetraphone.common.errors import InputError
from tetraphone.common.native import int32, library
from tetraphone.sound.audio import Samples

from .handle import Handle, checked

if TYPE_CHECKING:
    from tetraphone.sound.features import Frames

PIECE = 256
"""Items that one call of the library returns at most."""
Item = TypeVar("Item", bound=ctypes.Structure)


class SoundStream(Handle):
    """One source of sound. Calls from several threads wait for one another."""

    _kind: str
    """Of the functions of the library: tetraphone_KIND_accept."""

    def __init__(self, handle: int, phones: tuple[str, ...], bands: int) -> None:
        self._close = f"tetraphone_{self._kind}_close"
        super().__init__(handle)
        self._phones, self._bands = phones, bands

    def accept(self, samples: Samples, rate: int) -> None:
        """Takes floating-point samples in [−1, 1], [frames] or [frames, channels], at any rate from 1 to 768 kHz.

        Raises:
            InputError: rate or channels differ from the stream's first, a sample is not finite, the stream is closed or
                finished; then no sample was taken.
        """
        try:
            kind = np.asarray(samples).dtype
        except ValueError as error:
            raise InputError("samples in lists of unequal lengths; give [frames] or [frames, channels]") from error
        if not np.issubdtype(kind, np.floating):
            raise InputError(f"samples of type {kind}; give floats in [-1, 1], such as int16 samples over 32768")
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(samples, np.float32)
        if values.ndim not in (1, 2):
            raise InputError(f"samples of shape {values.shape}; give [frames] or [frames, channels]")
        channels = 1 if values.ndim == 1 else values.shape[1]
        pointer = values.ctypes.data_as(ctypes.c_void_p)
        frames = ctypes.c_size_t(len(values))
        checked(self._call("accept", pointer, frames, ctypes.c_int32(int32("rate", rate)), ctypes.c_int32(channels)))

    def finish(self) -> None:
        """Ends the sound; provisional phones become final."""
        checked(self._call("finish"))

    def reset(self) -> None:
        """Returns the stream to its initial state."""
        checked(self._call("reset"))

    @property
    def seconds(self) -> float:
        """Seconds of sound that the stream has taken."""
        seconds = ctypes.c_double()
        checked(self._call("seconds", ctypes.byref(seconds)))
        return seconds.value

    def bands(self) -> "Frames":
        """Log-mel energies [frames, bands] since the last call."""
        return self._floats("bands", self._bands)

    def scores(self) -> "Frames":
        """Unnormalised scores [network frames, phones + 1] since the last call, blank first."""
        return self._floats("scores", len(self._phones) + 1)

    def _call(self, function: str, *arguments: Any) -> int:
        number: int = getattr(library(), f"tetraphone_{self._kind}_{function}")(self._handle, *arguments)
        return number

    def _handed(self, function: str, kind: type[Item]) -> list[Item]:
        """What a function hands over piece by piece, to its end."""
        found: list[Item] = []
        while piece := self._first(function, kind):
            found += piece
        return found

    def _first(self, function: str, kind: type[Item]) -> list[Item]:
        """The first PIECE items that a function gives."""
        items = (kind * PIECE)()
        return items[: checked(self._call(function, items, ctypes.c_size_t(PIECE)))]

    def _floats(self, function: str, width: int) -> "Frames":
        found = [np.empty(0, np.float32)]
        while True:
            buffer = np.empty(PIECE * width, np.float32)  # whole frames, so that threads may take turns
            pointer = buffer.ctypes.data_as(ctypes.c_void_p)
            count = checked(self._call(function, pointer, ctypes.c_size_t(len(buffer))))
            if not count:
                return np.concatenate(found).reshape(-1, width)
            found.append(buffer[:count])
