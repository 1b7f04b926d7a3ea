"""Quantised weights: how values and scales are chosen, and what they stand for.

int8 has one float32 scale for each output quaternion, so that its four components can be scaled at once: the greatest
absolute component over 127. int4 has one float16 scale for each group of 8 input quaternions with their 4 components:
the greatest over 7. Real matrices have one scale for each output, or one for each 32 inputs. Values are symmetric, so
that negation is exact.
"""

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError, typed
from tetraphone.train.network.quaternion import check_tensor

from .formats import Format, WeightFormat


class QuantizedWeight(nn.Module):
    """A weight matrix as integers and scales, both buffers.

    Args:
        weight: float, components [4, rows, columns] of a quaternion matrix or [rows, columns] of a real one.
        weight_format: "int8" or "int4".

    Raises:
        InputError: the weight has another shape, is not finite, or too large for its scale's type; or there is no such
            format.
    """

    values: Tensor
    """int8, of the shape of the weight."""
    scales: Tensor
    """float32 [rows] (int8) or float16 [rows, groups] (int4; the last group may be a part of one)."""

    def __init__(self, weight: Tensor, weight_format: WeightFormat) -> None:
        super().__init__()
        check_tensor("the weight", weight)
        typed("weight_format", WeightFormat, weight_format)
        if weight.dim() != 2 and (weight.dim() != 3 or weight.shape[0] != 4):
            raise InputError(f"a weight of shape {tuple(weight.shape)}; give [4, rows, columns] or [rows, columns]")
        found = Format.named(weight_format)
        greatest = found.greatest
        self.group = found.group // (4 if weight.dim() == 3 else 1)
        peak = weight.detach().abs()
        if weight.dim() == 3:
            peak = peak.amax(0)
        if self.group:
            padding = -peak.shape[1] % self.group
            peak = nn.functional.pad(peak, (0, padding)).unflatten(1, (-1, self.group))
            scales = (peak.amax(-1) / greatest).half()
        else:
            scales = peak.amax(-1) / greatest
        if not scales.isfinite().all():
            what = "too large for a float16 scale" if weight.isfinite().all() else "not finite"
            raise InputError(f"a weight is {what}; quantise a checkpoint of a run that did not diverge")
        self.register_buffer("scales", scales)
        step = self._spread(weight.shape[-1])
        values = (weight.detach() / step.where(step > 0, 1.0)).round().clamp(-greatest, greatest)
        self.register_buffer("values", values.to(torch.int8))

    def _spread(self, columns: int) -> Tensor:
        """The scale of each row and column, float32."""
        if not self.group:
            return self.scales[:, None]
        return self.scales.float().repeat_interleave(self.group, dim=1)[:, :columns]

    def dequantized(self) -> Tensor:
        """The weights that the integers stand for, float64 and exact."""
        return self.values.double() * self._spread(self.values.shape[-1]).double()


def quantize_frame(x: Tensor) -> tuple[Tensor, Tensor]:
    """int8 activations: [..., n] → integers as float64, and each frame's scale: its peak over 127."""
    peak = x.abs().amax(-1, keepdim=True)
    integers = (x * (127.0 / peak)).where(peak > 0, 0.0).round()
    return integers.double(), peak / 127
