"""The number formats of weights, in one table; it imports no torch."""

from enum import IntEnum
from typing import Literal, get_args

WeightFormat = Literal["int8", "int4"]
"""Those that weights are quantised to."""
HEAD_FORMAT: WeightFormat = "int8"
"""Of the heads for known words, which are small, beside a quantised network of any format."""
WEIGHT_FORMATS: tuple[WeightFormat, ...] = get_args(WeightFormat)


class Format(IntEnum):
    """The number of a format in a packed block, and what follows from it; `Formats` of native/kernels/layers.h."""

    greatest: int
    """Of an integer's magnitude; 0: weights are no integers."""
    group: int
    """Weights of an output that share a scale, which is float16; 0: all of them share one, which is float32."""

    FLOAT32 = 1
    INT8 = 2, 127
    INT4 = 3, 7, 32

    def __new__(cls, number: int, greatest: int = 0, group: int = 0) -> "Format":
        made = int.__new__(cls, number)
        made._value_, made.greatest, made.group = number, greatest, group
        return made

    @classmethod
    def named(cls, name: str) -> "Format":
        """The format of a checkpoint's or a command's name for it."""
        return cls[name.upper()]
