"""The kinds of recurrent layers, in one table; it imports no torch."""

from dataclasses import dataclass
from typing import Literal

KindName = Literal["qlstm", "qrnn", "lstm", "rnn"]


@dataclass(frozen=True)
class LayerKind:
    """What the sizes of a kind's weights and of its state follow from."""

    quaternion: bool
    """Whether its products are Hamilton products."""
    gates: int
    """Blocks of rows in its weights, as many as its cell has sums: see `layers.cell`."""
    states: int
    """Tensors of its state: see `layers.State`."""
    operator: Literal["lstm", "rnn"]
    """What computes its frames: torch's fused kernel and, of quaternion kinds, the recogniser's operator."""

    @property
    def gated(self) -> bool:
        """Whether it has gates that can hold its state as it was."""
        return self.operator == "lstm"


LAYER_KINDS: dict[KindName, LayerKind] = {
    "rnn": LayerKind(quaternion=False, gates=1, states=1, operator="rnn"),
    "lstm": LayerKind(quaternion=False, gates=4, states=2, operator="lstm"),
    "qrnn": LayerKind(quaternion=True, gates=1, states=1, operator="rnn"),
    "qlstm": LayerKind(quaternion=True, gates=4, states=2, operator="lstm"),
}
