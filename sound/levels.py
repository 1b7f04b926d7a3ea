"""How loud sound is: whether its channels cancel out, or its samples have the scale of integers."""

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.native import check_levels

PIECE = 1 << 22
"""Samples of all channels that are looked at a time."""


@dataclass
class Part:
    """The levels of samples `begin` to `end` of a recording; see `check_levels`."""

    begin: int
    end: int
    frames: int = 0
    energies: NDArray[np.float64] | float = 0.0
    mean_energy: float = 0.0
    peak: float = 0.0

    def add(self, block: NDArray[np.float32], at: int) -> None:
        """Takes what lies in the part of a block [frames, channels] that begins at sample `at`."""
        block = block[max(0, self.begin - at) : max(0, self.end - at)]
        self.frames += len(block)
        self.energies += np.square(block, dtype=np.float64).sum(axis=0)
        self.mean_energy += float(np.square(block.mean(axis=1, dtype=np.float64)).sum())
        self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))

    @property
    def fault(self) -> str:
        """Follows the recording's name; or nothing."""
        try:
            check_levels(np.atleast_1d(self.energies).tolist(), self.frames, self.mean_energy, self.peak)
        except InputError as error:
            return str(error)
        return ""


def level_fault(samples: NDArray[np.float32]) -> str:
    """What `check_levels` says of samples [frames] or [frames, channels]; follows their name; or nothing."""
    part = Part(0, sys.maxsize)
    columns = samples[:, None] if samples.ndim == 1 else samples
    size = max(1, PIECE // max(1, columns.shape[1]))
    for at in range(0, len(columns), size):
        part.add(columns[at : at + size], at)
    return part.fault
