"""How the learning rate, and the average of the weights, follow the steps."""

import math

from torch import Tensor

from tetraphone.train.options import TrainOptions

COOLDOWN = 0.3
"""Share of the steps over which the learning rate of the schedule `cooldown` falls."""
CONSTANT = {"cosine": 0.0, "cooldown": 1 - COOLDOWN, "constant": 1.0, "halving": 1.0}
"""Share of the epochs during which a schedule's learning rate does not depend on how many there will be."""
LEAST_GAIN = 0.1
"""Points by which the development error must fall, or the schedule `halving` halves the learning rate."""


def learning_rate(options: TrainOptions, step: int, total: int, scale: float) -> float:
    """Of the step to come.

    Args:
        step: steps before it.
        total: steps of the whole run.
        scale: what the schedule `halving` has left of the rate: see `halved`.
    """
    rate = options.learning_rate * min(1.0, (step + 1) / max(1, options.warmup_steps))
    if options.schedule == "cosine":
        return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, step / total)))
    if options.schedule == "cooldown":
        return rate * min(1.0, max(0, total - step) / (COOLDOWN * total))
    if options.schedule == "constant":
        return rate
    return rate * scale


def halved(scale: float, before: float, error: float) -> float:
    """The scale after an epoch, by the development errors of the epoch before and of this one, percent."""
    return 0.5 * scale if error > before - LEAST_GAIN else scale


def averaged(average: Tensor, weight: Tensor, steps: int, most: int) -> Tensor:
    """The average of a weight of so many steps with the next one's: plain over up to `most`, exponential beyond."""
    return average + (weight - average) / min(steps + 1, most)
