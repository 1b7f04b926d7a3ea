"""Training that knows of the rounding to come: weights as the quantiser will round them, gradients as if it did not."""

from torch import Tensor

from .formats import WeightFormat
from .weights import QuantizedWeight


def rounded(weight: Tensor, weight_format: WeightFormat) -> Tensor:
    """What the quantised weight stands for; its gradient is the weight's (straight through, Bengio et al., 2013).

    Raises:
        InputError: a weight is not finite, or too large for its scale's type.
    """
    stands_for = QuantizedWeight(weight, weight_format).dequantized().to(weight.dtype)
    return weight + (stands_for - weight).detach()
