"""Confidence: the probability that a recognised phone is right, fitted on held-out recordings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError

LEAST = 1e-9
"""Posteriors are clipped to this distance from 0 and 1 (native/recognizer/recognizer.cc has the same formula)."""
STEPS = 100
"""Most steps of Newton's method, which needs about ten; a step is halved until the likelihood grows."""
TOLERANCE = 1e-7
GREATEST = 1000.0
"""Greatest slope and intercept; native/model/model.cc refuses greater ones."""
RIDGE = 1e-3
"""Weight of the penalty that keeps a fit on few phones close to the identity."""
BINS = 10
"""Bins of the calibration error."""


@dataclass(frozen=True)
class Confidence:
    """confidence = sigmoid(slope · logit(posterior) + intercept) (Platt, 1999); the posterior itself by default."""

    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.slope <= GREATEST and abs(self.intercept) <= GREATEST):
            raise InputError(
                f"slope is {self.slope}, intercept {self.intercept}; give 0 to {GREATEST}, and ±{GREATEST} at most"
            )

    def apply(self, posterior: float) -> float:
        """The confidence of a phone with this mean posterior."""
        logit = self.slope * _logit(np.array(posterior)) + self.intercept
        return float(1 / (1 + np.exp(-np.clip(logit, -700, 700))))


def _logit(posteriors: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = np.clip(posteriors, LEAST, 1 - LEAST)
    return np.asarray(np.log(clipped) - np.log(1 - clipped))


def fit(posteriors: Sequence[float], right: Sequence[bool]) -> Confidence:
    """Fits slope and intercept by maximum likelihood.

    Args:
        posteriors: the mean posterior of each recognised phone.
        right: whether that phone is right.

    Raises:
        InputError: all phones are right, or all wrong, or there are none.
    """
    if len(set(right)) < 2:
        found = "no phones" if not right else f"{len(right)} phones, all {'right' if right[0] else 'wrong'}"
        raise InputError(f"cannot calibrate on {found}; give more held-out recordings")
    x = np.stack([_logit(np.asarray(posteriors)), np.ones(len(right))], axis=1)
    target, start = np.asarray(right, float), np.array([1.0, 0.0])

    def cost(at: NDArray[np.float64]) -> float:
        logits = x @ at
        return float((np.logaddexp(0, logits) - target * logits).sum() + RIDGE / 2 * np.square(at - start).sum())

    weights = start
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (chance - target) + RIDGE * (weights - start)
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while cost(weights - step) > cost(weights) and np.abs(step).max() > TOLERANCE:
            step = step / 2
        if np.abs(step).max() <= TOLERANCE:
            break
        weights = weights - step
    if weights[0] < 0:  # posteriors mislead: without them, the likeliest confidence is the share of right phones
        return Confidence(0.0, float(_logit(target.mean())))
    slope, intercept = np.clip(weights, -GREATEST, GREATEST)
    return Confidence(float(slope), float(intercept))


def calibration_error(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error (Naeini et al., 2015), 0 to 1: |share right − mean confidence|, weighted over bins."""
    if not right:
        return float("nan")
    values, good = np.asarray(confidences), np.asarray(right, float)
    places = np.minimum((values * BINS).astype(int), BINS - 1)
    gaps = [abs((values - good)[places == place].sum()) for place in range(BINS)]
    return float(sum(gaps) / len(good))
