"""How the head that aligns known words is made."""

from dataclasses import dataclass

from tetraphone.common.errors import InputError, check_least, check_types

MOST_FRAMES = 100
"""Of what a file may say of a head (native/model/model.h)."""


@dataclass(frozen=True)
class AlignerOptions:
    """Of the head of `train-aligner`; the defaults are those of the models that ship.

    Raises:
        InputError: an option is out of its range.
    """

    rows: int = 1
    """Frames of the top recurrent layer's output that tell of a frame."""
    delay: int = 2
    """Frames behind a frame that the last of these rows is: what is said shows in a streaming network's output when it
    is over."""
    prior: float = 0.75
    """How much of each phone's frequency is taken off its score, 0 to 1: frequent ones are not preferred."""
    epochs: int = 4
    """Passes over the frames."""
    batch_size: int = 2048
    """Frames a step."""
    learning_rate: float = 2e-3
    """The first; it falls linearly to zero (AdamW)."""
    seed: int = 1
    """Of the noise in which each utterance is heard too, and of the order of the frames."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("epochs", "batch_size"):
            check_least(name, getattr(self, name), 1)
        for name, least in (("rows", 1), ("delay", 0)):
            if not least <= getattr(self, name) <= MOST_FRAMES:
                raise InputError(f"{name} is {getattr(self, name)}; give a number from {least} to {MOST_FRAMES}")
        if not 0 <= self.prior <= 1:
            raise InputError(f"prior is {self.prior}; give a number from 0 to 1")
        if not 0 < self.learning_rate < 1:
            raise InputError(f"learning_rate is {self.learning_rate}; give a number between 0 and 1, such as 2e-3")
