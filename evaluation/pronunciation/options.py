"""How the head that scores known words is made."""

from dataclasses import dataclass

from tetraphone.common.errors import InputError, check_least, check_types

WIDEST = 512


@dataclass(frozen=True)
class ScorerOptions:
    """Of the head of `train-scorer`; the defaults are those of the models that ship.

    Raises:
        InputError: an option is out of its range.
    """

    hidden: int = 56
    """Reals of the recurrent layer in each direction, a multiple of 4."""
    dropout: float = 0.2
    """Probability, of measures and of hidden reals."""
    epochs: int = 25
    """Passes over the utterances."""
    batch_size: int = 25
    """Utterances a step."""
    learning_rate: float = 3e-3
    """The first; it falls linearly to zero (AdamW)."""
    weight_decay: float = 1e-3
    """Of AdamW."""
    seed: int = 1
    """Of the weights, of dropout and of the order of the utterances."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("epochs", "batch_size"):
            check_least(name, getattr(self, name), 1)
        if not 4 <= self.hidden <= WIDEST or self.hidden % 4:
            raise InputError(f"hidden is {self.hidden}; give a multiple of 4 from 4 to {WIDEST}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; give a probability of at least 0 and below 1")
        if not 0 < self.learning_rate < 1:
            raise InputError(f"learning_rate is {self.learning_rate}; give a number between 0 and 1, such as 3e-3")
        if not 0 <= self.weight_decay < 1:
            raise InputError(f"weight_decay is {self.weight_decay}; give a number of at least 0 and below 1")
