"""What a confidence means: the chance that a recognised phone is right, fitted on held-out recordings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

LEAST = 1e-9
"""Posteriors are kept this far from 0 and 1 (recognizer/recognizer.cc has the same formula)."""
STEPS = 50
"""Of Newton's method; it needs about ten."""
RIDGE = 1e-3
"""Pulls a fit on few phones to the identity."""
BINS = 10
"""Of the calibration error."""


@dataclass(frozen=True)
class Confidence:
    """confidence = sigmoid(slope · logit(posterior) + intercept) (Platt, 1999); the posterior itself by default."""

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.slope < np.inf and -np.inf < self.intercept < np.inf):
            raise InputError(
                f"slope is {self.slope}, intercept {self.intercept}; give finite ones, the slope at least 0"
            )

    def apply(self, posterior: float) -> float:
        """The confidence of a phone of that mean posterior."""
        return float(1 / (1 + np.exp(-(self.slope * _logit(np.array(posterior)) + self.intercept))))


def _logit(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(posteriors, LEAST, 1 - LEAST)
    return np.asarray(np.log(clipped) - np.log(1 - clipped))


def fit(posteriors: Sequence[float], right: Sequence[bool]) -> Confidence:
    """The likeliest slope and intercept of recognised phones' posteriors and whether each was right.

    Raises:
        InputError: all of them are right, or all wrong, or there are none.
    """
    if len(set(right)) < 2:
        found = "no phones" if not right else f"{len(right)} phones, all {'right' if right[0] else 'wrong'}"
        raise InputError(f"cannot calibrate on {found}; give more held-out recordings")
    x = np.stack([_logit(np.asarray(posteriors)), np.ones(len(right))], axis=1)
    target, weights, start = np.asarray(right, float), np.array([1.0, 0.0]), np.array([1.0, 0.0])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (chance - target) + RIDGE * (weights - start)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + RIDGE * np.eye(2)
        weights = weights - np.linalg.solve(curvature, gradient)
    return Confidence(max(float(weights[0]), 0.0), float(weights[1]))


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Naeini et al., 2015), 0 to 1: |share right − mean confidence|, weighted over bins."""
    if not right:
        return float("nan")
    values, good = np.asarray(confidences), np.asarray(right, float)
    places = np.minimum((values * BINS).astype(int), BINS - 1)
    gaps = [abs((values - good)[places == place].sum()) for place in range(BINS)]
    return float(sum(gaps) / len(good))
