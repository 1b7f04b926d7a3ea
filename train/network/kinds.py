"""The kinds of recurrent layers, in one table with their cells; it imports no torch.

A kind is its cell and its row of `LAYER_KINDS`: training, quantisation and, of a kind that names its operator, the
exporter follow. `native/kernels/kinds.h` is the same table for the recogniser.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

Cell = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]
"""(sums, state) → the state behind a frame, by the methods of torch's tensors.

sums: W x + R h + b, [..., gates · hidden], gate after gate. state: before the frame, h first; each [..., hidden].
"""


def rnn(sums: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """h = tanh(W x + R h + b)."""
    return (sums.tanh(),)


def lstm(sums: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without peepholes, gates in torch's order: input, forget, cell, output."""
    i, f, g, o = sums.chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@dataclass(frozen=True)
class LayerKind:
    """What a layer computes, and what the sizes of its weights and of its state follow from."""

    quaternion: bool
    """Whether its products are Hamilton products."""
    gates: int
    """Blocks of rows in its weights, as many as its cell has sums."""
    states: int
    """Tensors of its state: see `layers.State`."""
    cell: Cell
    """Its equations; `layers.FUSED` has torch's fused kernels for some."""
    operator: str = ""
    """The recogniser's operator; empty for a kind that is trained only."""


LAYER_KINDS: dict[str, LayerKind] = {
    "qlstm": LayerKind(quaternion=True, gates=4, states=2, cell=lstm, operator="lstm"),
    "qrnn": LayerKind(quaternion=True, gates=1, states=1, cell=rnn, operator="rnn"),
    "lstm": LayerKind(quaternion=False, gates=4, states=2, cell=lstm),
    "rnn": LayerKind(quaternion=False, gates=1, states=1, cell=rnn),
}

if TYPE_CHECKING:
    KindName = str
else:
    KindName = Literal[tuple(LAYER_KINDS)]
