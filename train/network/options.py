"""The options of a network, and the limits of its sizes; it imports no torch."""

from dataclasses import dataclass, field
from typing import Literal

from tetraphone.common.errors import InputError, check_least, check_types, typed
from tetraphone.common.native import check_network

from .kinds import LAYER_KINDS, KindName

WIDEST_DENSE = 32768
Direction = Literal["uni", "bi", "bi-shared"]
"""Forward in time; both ways with weights of their own; both ways with one set of weights (the paper's counts)."""


def check_quaternion_size(size: int, name: str) -> int:
    """Returns the number of quaternions in `size` reals.

    Raises:
        InputError: `size` is not a positive multiple of 4.
    """
    size = typed(name, int, size)
    if size < 1 or size % 4:
        raise InputError(f"{name} is {size} reals; a quaternion layer needs a positive multiple of 4")
    return size // 4


def check_dropout(dropout: float) -> None:
    """Raises InputError: it is no probability below 1."""
    if not 0 <= typed("dropout", float, dropout) < 1:
        raise InputError(f"dropout is {dropout}; give a probability of at least 0 and below 1")


@dataclass(frozen=True)
class Initialisation:
    """Algorithm 1, with a choice where the paper is open. Real layers read the criterion alone.

    Raises:
        InputError: a choice is none of those.
    """

    criterion: Literal["glorot", "he"] = "glorot"
    """σ = 1/√(2(n_in + n_out)) or 1/√(2 n_in), n counted in quaternions."""
    modulus: Literal["chi", "uniform"] = "chi"
    """Modulus of a weight: σ times chi of four degrees of freedom, so E|w|² = 4σ² (the paper's derivation, its authors'
    code), or uniform in [−σ, σ] (the paper's Algorithm 1)."""
    axis: Literal["paper", "centred"] = "paper"
    """Imaginary unit: parts from U[0, 1], so that all three share a sign (the paper), or uniform on the sphere."""

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True)
class NetworkOptions:
    """The recurrent stack; a real layer gives the scores."""

    kind: KindName = "qlstm"
    """Recurrent layers: quaternion or real, LSTM or simple."""
    hidden: int = 256
    """Reals of a layer's hidden state (four to a quaternion)."""
    layers: int = 3
    """Recurrent layers."""
    direction: Direction = "uni"
    """uni streams and can be exported; bi reads whole utterances; bi-shared does so with one set of weights."""
    dropout: float = 0.1
    """Probability of zeroing a value between layers, in training."""
    dense: int = 0
    """Reals of a dense tanh layer behind the recurrent ones, as in the paper's WSJ networks; 0: none."""
    initialisation: Initialisation = field(default_factory=lambda: Initialisation(axis="centred"))
    """Algorithm 1; the centred imaginary unit learns faster than the paper's under CTC."""

    def __post_init__(self) -> None:
        check_types(self)
        check_dropout(self.dropout)
        if not 0 <= self.dense <= WIDEST_DENSE:
            raise InputError(f"dense is {self.dense}; give the reals of a layer, up to {WIDEST_DENSE}, or 0 for none")
        self.check(inputs=4, outputs=1)

    def check(self, inputs: int, outputs: int) -> None:
        """Refuses sizes that no recogniser could run; of a network that is never exported, those that it cannot have.

        Raises:
            InputError: names the size and the limit.
        """
        if LAYER_KINDS[self.kind].operator and self.direction == "uni" and not self.dense:
            check_network(self.kind, self.direction, inputs, self.hidden, self.layers, outputs)
            return
        for name, size in (("hidden", self.hidden), ("layers", self.layers), ("outputs", outputs)):
            check_least(name, typed(name, int, size), 1)
        if self.quaternion:
            check_quaternion_size(self.hidden, "hidden")
            check_quaternion_size(self.dense or 4, "dense")

    @property
    def quaternion(self) -> bool:
        """Whether the layers are quaternion ones; the output layer is real in any case."""
        return LAYER_KINDS[self.kind].quaternion

    def parameters(self, inputs: int, outputs: int) -> int:
        """How many reals the network learns: what the paper calls its parameters."""
        kind, share = LAYER_KINDS[self.kind], 4 if self.quaternion else 1
        width = self.hidden * (1 if self.direction == "uni" else 2)
        sets = 2 if self.direction == "bi" else 1
        rows, columns = kind.gates * self.hidden, [inputs] + (self.layers - 1) * [width]
        recurrent = sum(sets * rows * ((column + self.hidden) // share + 1) for column in columns)
        dense = self.dense * (width // share + 1)
        return recurrent + dense + outputs * ((self.dense or width) + 1)
