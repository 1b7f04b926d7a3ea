"""How far boundaries of phones are from where they were marked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

Times = Sequence[tuple[str, float, float]]
"""(phone, start, end) in seconds, in order, without silences."""
NEAR = (0.02, 0.05)
"""Seconds."""
TOUCHING = 1e-3
"""Seconds: phones with less between them follow one another without a silence."""


@dataclass
class BoundaryErrors:
    """Differences of boundaries, found less marked, in seconds.

    Each phone's start counts, and its end where a silence follows it, so that a boundary of two phones counts once.
    """

    errors: list[float] = field(default_factory=list)

    def add(self, marked: Times, found: Iterable[tuple[float, float]]) -> None:
        """Takes an utterance: its phones as they were marked, and the start and end that were found of each.

        Raises:
            ValueError: as many were not found; then nothing of it counts.
        """
        pairs = list(zip(marked, found, strict=True))
        for index, ((_, start, end), (found_start, found_end)) in enumerate(pairs):
            self.errors.append(found_start - start)
            if index + 1 == len(marked) or marked[index + 1][1] - end > TOUCHING:
                self.errors.append(found_end - end)

    @property
    def median(self) -> float:
        """Seconds."""
        return float(np.median(self.errors))

    def figures(self) -> dict[str, float]:
        """{"boundaries", "mean_absolute_error_ms", "within_20_ms", "within_50_ms" (percent), "median_ms" (signed)}."""
        distance = np.abs(self.errors)
        return {
            "boundaries": len(self.errors),
            "mean_absolute_error_ms": round(1000 * float(distance.mean()), 2),
            **{f"within_{1000 * near:.0f}_ms": round(100 * float((distance <= near).mean()), 2) for near in NEAR},
            "median_ms": round(1000 * self.median, 2),
        }
