"""How transcripts are cleaned; it imports no torch."""

import math
from dataclasses import dataclass
from typing import Literal

from tetraphone.common.errors import InputError, check_types

Kind = Literal["dropped", "dictionary", "reduced"]
"""Of a correction: the utterance is left out; a word has another pronunciation of the dictionary, or a weak form."""


@dataclass(frozen=True)
class CleanOptions:
    """When a transcript is dropped, and when a word counts as said otherwise.

    Raises:
        InputError: a value is out of its range.
    """

    drop_below: float = -2.0
    """Of the worst hundredth of each corpus, drop utterances of a lower score: the log probability of the transcript
    over that of the likeliest phones, for each phone, 0 at best."""
    margin: float = 1.0
    """By how much (nats, of a whole word) another pronunciation of the dictionary must be likelier than the
    transcript's."""
    reduced_margin: float = 3.0
    """The same for a weak form that the dictionary lacks, or a t or d that falls at a word's end."""
    dictionary_only: bool = False
    """Try no such forms."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("margin", "reduced_margin"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 0 and finite")
        if not -math.inf < self.drop_below <= 0:
            raise InputError(f"drop_below is {self.drop_below}; scores are at most 0")
