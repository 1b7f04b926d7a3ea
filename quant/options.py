"""How to quantise; it imports no torch."""

from dataclasses import dataclass

from tetraphone.common.errors import check_types

from .formats import WeightFormat


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
