"""The head that scores how a known text was said: from what is measured of each phone, in both directions."""

from typing import Any

import torch
from torch import Tensor, nn

from .layers import KINDS, State

MEASURES = 20
"""Numbers that are measured of a phone besides those of each output (kMeasures of native/model/model.h)."""
OUTPUTS = ("phone accuracy", "word accuracy", "word stress", "word total", "accuracy", "fluency", "total")
"""What the head gives for each phone, 0 to 2: of the phone; then parts of the mean over a word's phones, and over all
(kScores)."""
KIND = "qlstm"
"""Of its recurrent layers."""


def measure_count(phones: int) -> int:
    """Numbers that are measured of a phone, without the zeros behind them (MeasureCount of native/model/model.h)."""
    return MEASURES + 2 * (phones + 1) + phones


def padded_measures(phones: int) -> int:
    """The same with zeros up to whole quaternions (PaddedMeasures)."""
    return -(-measure_count(phones) // 4) * 4


class ScorerHead(nn.Module):
    """A recurrent layer from a sentence's first phone to its last, one from the last to the first, and a linear layer
    over what both give at a phone.

    Args:
        phones: of the network's phone set.
        hidden: reals of each recurrent layer, a multiple of 4.
        dropout: probability, of measures and of hidden reals, in training.
    """

    def __init__(self, phones: int, hidden: int, generator: torch.Generator, dropout: float = 0.0) -> None:
        super().__init__()
        self.inputs, self.hidden = padded_measures(phones), hidden
        self.ahead = KINDS[KIND](self.inputs, hidden, 1, generator)
        self.back = KINDS[KIND](self.inputs, hidden, 1, generator)
        self.output = nn.Linear(2 * hidden, len(OUTPUTS))
        with torch.no_grad():
            self.output.weight.normal_(0.0, (1 / hidden) ** 0.5, generator=generator)
            self.output.bias.zero_()
        self.dropout = nn.Dropout(dropout)
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(self.inputs))
        self.register_buffer("deviation", torch.ones(self.inputs))

    @classmethod
    def of_content(cls, content: dict[str, Any], phones: int, _: int) -> "ScorerHead":
        """Of what `content` gave, for a network of so many phones; without its weights where they are None.

        Raises:
            KeyError, TypeError, RuntimeError, InputError: it is not of such a network, or not whole.
        """
        head = cls(phones, content["hidden"], torch.Generator())
        if content["weights"] is not None:
            head.load_state_dict(content["weights"], strict=True)
        return head

    def content(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        return {"weights": self.state_dict(), "hidden": self.hidden}

    def normalised(self, measures: Tensor) -> Tensor:
        """Measures [phones, measures] → what the programs read, [phones, inputs]."""
        count = measures.shape[1]
        return nn.functional.pad((measures - self.mean[:count]) / self.deviation[:count], (0, self.inputs - count))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Scores of a padded batch: normalised measures [sentences, phones, inputs] and their numbers of phones →
        [sentences, phones, OUTPUTS]; behind a sentence's end they mean nothing."""
        x = self.dropout(x)
        places = torch.arange(x.shape[1])
        turned = (lengths[:, None] - 1 - places).clamp(min=0)[..., None]  # its own inverse, within a sentence

        def turn(rows: Tensor) -> Tensor:
            return rows.gather(1, turned.expand(-1, -1, rows.shape[2]))

        both = torch.cat([self.ahead(x)[0], turn(self.back(turn(x))[0])], dim=2)
        scores: Tensor = self.output(self.dropout(both))
        return scores

    def rows(self, part: str, x: Tensor, state: State) -> Tensor:
        """What the recurrent layer `part` ("ahead" or "back") gives for rows in its own order: [rows, hidden]."""
        given: Tensor = getattr(self, part)(x[None], state)[0][0]
        return given
