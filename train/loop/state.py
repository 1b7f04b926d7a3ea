"""Where a run is: what changes from step to step beside weights and optimiser, and a checkpoint keeps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .schedule import halved


@dataclass
class State:
    """The position of a run; its defaults are those of a run that has not begun."""

    step: int = 0
    """Optimiser steps that were made."""
    epoch: int = 0
    """Epochs that are complete."""
    batch: int = 0
    """Batches of the next epoch that were learnt from."""
    best: float = math.inf
    """Least development error, percent."""
    last_error: float = math.inf
    """At the end of the last complete epoch, percent."""
    scale: float = 1.0
    """What the schedule `halving` has left of the learning rate."""
    loss_sum: float = 0.0
    """Over the steps of this epoch."""
    loss_batches: int = 0
    """Steps of this epoch."""
    infinite: list[str] = field(default_factory=list)
    """Ids of utterances that were too short for their phones, once for each time."""

    @classmethod
    def restored(cls, training: Mapping[str, Any]) -> "State":
        """As a checkpoint kept it: see `Checkpoint.training`."""
        return cls(**{name: training[name] for name in NAMES})

    @property
    def loss(self) -> float:
        """Mean of this epoch's steps."""
        return self.loss_sum / max(1, self.loss_batches)

    def count_step(self, loss: float, batches: int) -> None:
        self.step, self.batch = self.step + 1, self.batch + batches
        self.loss_sum, self.loss_batches = self.loss_sum + loss, self.loss_batches + 1

    def count_evaluation(self, error: float) -> bool:
        """Whether the model is the best so far, by its development error."""
        best = error < self.best
        self.best = min(self.best, error)
        return best

    def count_epoch(self, error: float) -> bool:
        """As `count_evaluation`, at an epoch's end."""
        self.scale = halved(self.scale, self.last_error, error)
        self.last_error = error
        self.epoch, self.batch, self.loss_sum, self.loss_batches = self.epoch + 1, 0, 0.0, 0
        return self.count_evaluation(error)


NAMES = tuple(field.name for field in fields(State))
"""Under which a checkpoint keeps it."""
