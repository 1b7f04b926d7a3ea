"""How to quantise; it imports no torch."""

from dataclasses import dataclass
from typing import Literal

from tetraphone.common.errors import check_types

WeightFormat = Literal["int8", "int4"]


@dataclass(frozen=True)
class QuantizeOptions:
    """How to quantise.

    Raises:
        InputError: there is no such number format.
    """

    weights: WeightFormat = "int8"
    """Number format of the weights; activations are int8."""

    def __post_init__(self) -> None:
        check_types(self)
