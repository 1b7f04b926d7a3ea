"""The head that aligns known words: what is spoken in each third of a network frame, from the rows around it."""

from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError

SUB_FRAMES = 3
"""Equal parts of a network frame, 10 ms each of 30 (kSubFrames of native/model/model.h)."""


class AlignerHead(nn.Module):
    """A linear layer over k rows of the top recurrent layer's output (`model.hidden`), one after another, and the first
    reals of the network's own input, which tell sharper when a sound changes.

    Args:
        weight: float32 [3 · (1 + phones), k · hidden + features]: rows are sub-frame after sub-frame, silence before
            the phones in each; columns are row after row of the window, the earliest first, then the features.
        bias: float32 [3 · (1 + phones)], with whatever prior is to be taken off.
        rows: k.
        features: of the network's inputs, the first so many.
        delay: the last row of frame t's window is t + delay, so the first one t + delay − k + 1.
        shift: seconds, added to each boundary.

    Raises:
        InputError: weight and bias are not of such shapes.
    """

    NUMBERS = ("rows", "delay", "shift")
    """What a file keeps of it besides the layer; as `align_<name>` in a program file."""

    def __init__(
        self, weight: Tensor, bias: Tensor, *, rows: int, features: int, delay: int, shift: float = 0.0
    ) -> None:
        super().__init__()
        if weight.dim() != 2 or len(weight) % SUB_FRAMES or tuple(bias.shape) != (len(weight),):
            found = f"{tuple(weight.shape)} and {tuple(bias.shape)}"
            raise InputError(
                f"weight and bias of shape {found}; give [3 · (1 + phones), k · hidden + features] and its rows"
            )
        self.linear = nn.Linear(weight.shape[1], len(weight))
        with torch.no_grad():
            self.linear.weight.copy_(weight)
            self.linear.bias.copy_(bias)
        self.inputs, self.outputs = weight.shape[1], len(weight)
        self.rows, self.features, self.delay, self.shift = int(rows), int(features), int(delay), float(shift)

    @classmethod
    def of_content(cls, content: dict[str, Any], phones: int, hidden: int) -> "AlignerHead":
        """Of what `content` gave, for a network of so many phones and hidden reals; zeros where its weights are None.

        Raises:
            KeyError, TypeError, RuntimeError: it is not of such a network, or not whole.
        """
        outputs = SUB_FRAMES * (1 + phones)
        numbers = {name: content[name] for name in ("features", *cls.NUMBERS)}
        inputs = content["rows"] * hidden + content["features"]
        head = cls(torch.zeros(outputs, inputs), torch.zeros(outputs), **numbers)
        if content["weights"] is not None:
            head.load_state_dict(content["weights"], strict=True)
        return head

    def content(self) -> dict[str, Any]:
        """What a checkpoint keeps of it."""
        numbers = {name: getattr(self, name) for name in ("features", *self.NUMBERS)}
        return {"weights": self.state_dict(), **numbers}

    def windows(self, hidden: Tensor, x: Tensor) -> Tensor:
        """What describes each frame: [frames, k · hidden + features].

        Args:
            hidden: [frames, hidden]; zeros stand before and behind them.
            x: the network's inputs, [frames, inputs].
        """
        padded = nn.functional.pad(hidden, (0, 0, self.rows - 1, self.delay))
        windows = padded.unfold(0, self.rows, 1)[self.delay :].transpose(1, 2).flatten(1)
        return torch.cat([windows, x[:, : self.features]], dim=1)

    def forward(self, windows: Tensor) -> Tensor:
        """Windows → log-likelihoods up to a constant of each sub-frame, [..., 3 · (1 + phones)]."""
        scores: Tensor = self.linear(windows)
        return scores
