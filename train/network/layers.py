"""Quaternion and real layers under one interface: `forward(x, state) → (y, state)`.

Sizes in signatures count reals. Gates and activations act on each component alone (split), so a QLSTM is an LSTM whose
matrices have quaternion block structure: training expands the components once a batch, inside autograd, and calls
torch's fused kernels.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError, typed

from .kinds import LAYER_KINDS, Cell, KindName, LayerKind, lstm, rnn
from .options import Direction, Initialisation, check_dropout, check_quaternion_size
from .quaternion import block_matrix, check_alike, check_tensor, eight_products, initial_components

State = tuple[Tensor, ...]
"""(h,) of an RNN, (h, c) of an LSTM; each [layers · directions, batch, hidden], a layer's directions side by side."""

PAPER = Initialisation()

HOLD = 1e4
"""A pre-activation at which a sigmoid is exactly 0 or 1 in every float type."""

EIGHT_PRODUCTS_FROM = 512 * 512
"""Inputs times outputs from which training multiplies in eight block products. Forward and backward against nn.Linear,
3,200 rows, one thread, a busy machine: 1.13 to 1.27 of its time at 256 reals, 0.83 to 1.06 at 512, 0.69 to 0.86 at
1,024; the expanded matrix takes 1.0 to 1.1."""


def check_input(x: Tensor, shape: str, size: int, weight: Tensor) -> None:
    """Checks what a layer is given against its weight, before a kernel reads it.

    Args:
        x: the input; its last dimension must have `size` reals.
        shape: of the input as the message names it, such as "batch, frames"; "…" stands for any leading dimensions.
        weight: whose device and, but under autocast, type `x` must have.

    Raises:
        InputError: it differs, which is named with what the layer takes; or it has no frame.
    """
    check_tensor("the input", x)
    if x.dim() < 1 or (shape != "…" and x.dim() != shape.count(",") + 2) or x.shape[-1] != size:
        raise InputError(f"input of shape {tuple(x.shape)}; the layer takes [{shape}, {size}]")
    if shape != "…" and x.shape[-2] < 1:
        raise InputError(f"input of shape {tuple(x.shape)} has no frame; give one at least")
    check_alike("the input", x, "the layer", weight)


def check_state(state: State, parts: int, shape: tuple[int, ...], x: Tensor) -> None:
    """Checks a recurrent layer's state against what the layer and its input need, before a kernel reads it.

    Raises:
        InputError: it is no tuple of tensors, or has another number of them, another shape, device or, but under
            autocast, type; both are named.
    """
    if not isinstance(state, tuple | list) or not all(isinstance(part, Tensor) for part in state):
        parted = isinstance(state, tuple | list)
        kinds = ", ".join(type(part).__name__ for part in state) if parted else f"a {type(state).__name__}"
        raise InputError(
            f"state of {kinds}; the layer takes a tuple of {parts} tensors: start with None or "
            f"initial_state({x.shape[0]}, x)"
        )
    found = [tuple(part.shape) for part in state]
    if found != parts * [shape]:
        raise InputError(
            f"state of shape {', '.join(map(str, found))} for input of shape {tuple(x.shape)}; the layer takes "
            f"{parts} of {shape}: start with initial_state({x.shape[0]}, x)"
        )
    for part in state:
        check_alike("the state", part, "the input", x)


def checked_lengths(lengths: Tensor | Sequence[int], x: Tensor) -> Tensor:
    """The frames of each utterance of a batch x [batch, frames, inputs], as int64 [batch].

    Raises:
        InputError: they are not whole numbers [batch], or one is not within 1 and the frames of the batch.
    """
    if not isinstance(lengths, Tensor):
        try:
            lengths = torch.as_tensor(lengths, dtype=None if len(lengths) else torch.long)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"lengths are {lengths!r}; give {len(x)} whole numbers") from error
    whole = not (lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool)
    if tuple(lengths.shape) != x.shape[:1] or not whole:
        found = f"{tuple(lengths.shape)}, {lengths.dtype}"
        raise InputError(f"lengths of shape {found} for input of shape {tuple(x.shape)}; give {len(x)} whole numbers")
    if lengths.device.type == "cpu" and not torch.compiler.is_compiling() and len(lengths):
        least, most = int(lengths.min()), int(lengths.max())
        if least < 1 or most > x.shape[1]:
            raise InputError(f"lengths from {least} to {most}; an utterance of this batch has 1 to {x.shape[1]} frames")
    return lengths.long()  # bytes would be taken for a mask, not for places


def _check_sources(generator: torch.Generator, bias: bool, initialisation: Initialisation) -> None:
    """Raises InputError: what a layer's weights are made by is of another type."""
    for name, hint, value in (
        ("generator", torch.Generator, generator),
        ("bias", bool, bias),
        ("initialisation", Initialisation, initialisation),
    ):
        typed(name, hint, value)


class QuaternionLinear(nn.Module):
    """y = W ⊗ x + b: [..., inputs] → [..., outputs], planar.

    One product with the expanded matrix, except in the training of wide layers on a processor: see `_trains_wide`.

    Raises:
        InputError: a size is not a multiple of 4, or another argument not of its type; in `forward`, see `check_input`.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        generator: torch.Generator,
        bias: bool = True,
        initialisation: Initialisation = PAPER,
    ) -> None:
        super().__init__()
        _check_sources(generator, bias, initialisation)
        columns, rows = check_quaternion_size(inputs, "inputs"), check_quaternion_size(outputs, "outputs")
        self.inputs = inputs
        self.weight = nn.Parameter(initial_components(rows, columns, generator, initialisation))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, "…", self.inputs, self.weight)
        if self._trains_wide(x):
            return eight_products(x, self.weight, self.bias)
        return nn.functional.linear(x, block_matrix(self.weight), self.bias)

    def _trains_wide(self, x: Tensor) -> bool:
        """Whether to multiply in eight products: to train, from a measured width, with plain tensors of one type.

        Not while torch.export traces, nor with fake or quantised tensors: they see a linear layer. Not under autocast,
        whose matrix units prefer one large product; not on a GPU, where nobody has measured it.
        """
        return (
            self.training
            and torch.is_grad_enabled()
            and 4 * self.weight.numel() >= EIGHT_PRODUCTS_FROM
            and type(x) is Tensor
            and type(self.weight) is nn.Parameter
            and x.dtype == self.weight.dtype
            and x.device.type == "cpu"
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
        )


def gates_matrix(weight: Tensor, gates: int) -> Tensor:
    """Components [4, gates · rows, columns] → the real matrix [gates · 4 · rows, 4 · columns], gate after gate."""
    return block_matrix(weight.unflatten(1, (gates, -1)).transpose(0, 1)).flatten(0, 1)


Weights = tuple[Tensor, Tensor, Tensor]
"""W [gates · hidden, inputs] and R [gates · hidden, hidden], both real, and b."""


def _by_frames(cell: Cell, x: Tensor, state: State, weights: Weights, padding: Tensor | None) -> tuple[Tensor, State]:
    """Runs [batch, frames, inputs] → [batch, frames, hidden] by the cell; padding [batch, frames] holds states."""
    w, r, bias = weights
    sums, outputs = nn.functional.linear(x, w, bias), []
    for frame in range(x.shape[1]):
        after = cell(sums[:, frame] + nn.functional.linear(state[0], r), state)
        if padding is not None:
            held = padding[:, frame, None]
            after = tuple(torch.where(held, old, new) for old, new in zip(state, after, strict=True))
        state = after
        outputs.append(state[0])
    return torch.stack(outputs, dim=1), state


def _rnn(x: Tensor, state: State, weights: Weights, padding: Tensor | None, training: bool) -> tuple[Tensor, State]:
    """By torch's fused kernel; h behind an utterance's end means nothing."""
    (h,) = _given(state)
    y, h = torch.rnn_tanh(x, h, _torchs(weights), True, 1, 0.0, training, False, True)
    return y, (h[0],)


def _lstm(x: Tensor, state: State, weights: Weights, padding: Tensor | None, training: bool) -> tuple[Tensor, State]:
    """By torch's fused kernel; h behind an utterance's end means nothing."""
    w, r, bias = weights
    if padding is not None:
        # One more input, 1 in padding, shuts the input gate and holds the forget gate open: c stays as it was.
        x = torch.cat([x, padding[..., None].to(x.dtype)], dim=-1)
        hold = w.new_tensor([-HOLD, HOLD, 0.0, 0.0]).repeat_interleave(r.shape[1])
        w = torch.cat([w, hold[:, None]], dim=-1)
    compiled = torch.compiler.is_compiling() and torch.is_grad_enabled()
    kernel = _torch_lstm_apart if compiled else _torch_lstm
    y, h, c = kernel(x, _given(state), _torchs((w, r, bias)), training)
    return y, (h[0], c[0])


def _given(state: State) -> list[Tensor]:
    return [part.unsqueeze(0).contiguous() for part in state]


def _torchs(weights: Weights) -> list[Tensor]:
    """As torch's kernels take them, which add two biases."""
    return [*weights, torch.zeros_like(weights[-1])]


def _torch_lstm(
    x: Tensor, initial: list[Tensor], parameters: list[Tensor], training: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.lstm(x, initial, parameters, True, 1, 0.0, training, False, True)


_torch_lstm_apart = torch.compiler.disable(_torch_lstm)
"""For torch.compile where gradients are wanted: torch 2.14 cannot trace oneDNN's backward pass."""

FUSED = {rnn: _rnn, lstm: _lstm}
"""The cells that torch has a fused kernel for, which is many times as fast as `_by_frames`."""


class Recurrent(nn.Module):
    """A stack of recurrent layers of one kind, such as `RNN`, `LSTM`, `QRNN` or `QLSTM`; `KINDS` has all.

    Args:
        inputs: reals a frame.
        hidden: reals of the hidden state of each direction.
        layers: how many.
        generator: the source of all initial weights: the same seed gives the same weights in any process.
        direction: see `Direction`.
        dropout: probability of zeroing an output between layers, in training only.
        bias: whether the layers have one; it starts at zero.

    Raises:
        InputError: a size of a quaternion network is not a multiple of 4, a size is below 1, `direction` or `dropout`
            is none, or an argument not of its type.
    """

    kind: LayerKind
    """See `LAYER_KINDS`."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int,
        generator: torch.Generator,
        direction: Direction = "uni",
        dropout: float = 0.0,
        bias: bool = True,
        initialisation: Initialisation = PAPER,
    ) -> None:
        super().__init__()
        _check_sources(generator, bias, initialisation)
        typed("direction", Direction, direction)
        check_dropout(dropout)
        sizes = {"inputs": inputs, "hidden": hidden, "layers": layers}
        if min(typed(name, int, size) for name, size in sizes.items()) < 1:
            raise InputError(f"inputs, hidden and layers are {inputs}, {hidden}, {layers}; each must be at least 1")
        if self.quaternion:
            check_quaternion_size(inputs, "inputs")
            check_quaternion_size(hidden, "hidden")
        self.inputs, self.hidden, self.layers, self.direction, self.dropout = inputs, hidden, layers, direction, dropout
        self.directions = 1 if direction == "uni" else 2
        self.weight_input, self.weight_hidden = nn.ParameterList(), nn.ParameterList()
        self.bias = nn.ParameterList() if bias else None
        for layer in range(layers):
            width = inputs if layer == 0 else hidden * self.directions
            for _ in range(2 if direction == "bi" else 1):
                for weights, columns in ((self.weight_input, width), (self.weight_hidden, hidden)):
                    weights.append(self._initial(columns, generator, initialisation))
                if self.bias is not None:
                    self.bias.append(torch.zeros(self.gates * hidden))

    def _initial(self, columns: int, generator: torch.Generator, how: Initialisation) -> nn.Parameter:
        """Components [4, gates · n, columns / 4] of a quaternion layer, or a matrix [gates · hidden, columns]."""
        if self.quaternion:
            drawn = [initial_components(self.hidden // 4, columns // 4, generator, how) for _ in range(self.gates)]
            return nn.Parameter(torch.cat(drawn, dim=1))
        deviation = math.sqrt(2 / (columns + self.hidden)) if how.criterion == "glorot" else math.sqrt(2 / columns)
        return nn.Parameter(deviation * torch.randn(self.gates * self.hidden, columns, generator=generator))

    @property
    def quaternion(self) -> bool:
        """Whether products are Hamilton products."""
        return self.kind.quaternion

    @property
    def gates(self) -> int:
        """Blocks of rows in a weight."""
        return self.kind.gates

    @property
    def parts(self) -> int:
        """Tensors of the state: see `State`."""
        return self.kind.states

    def matrix(self, weight: Tensor) -> Tensor:
        """The real matrix [gates · hidden, columns] of one of this stack's weights, gate after gate."""
        return gates_matrix(weight, self.gates) if self.quaternion else weight

    def initial_state(self, batch: int, like: Tensor) -> State:
        """Zeros, on the device and of the type of `like`."""
        shape = (self.layers * self.directions, batch, self.hidden)
        return tuple(like.new_zeros(shape) for _ in range(self.parts))

    def forward(
        self, x: Tensor, state: State | None = None, lengths: Tensor | Sequence[int] | None = None
    ) -> tuple[Tensor, State]:
        """Runs [batch, frames, inputs] → [batch, frames, directions · hidden] and the state after the last frame.

        Args:
            state: what an earlier call returned, or None for zeros.
            lengths: frames of each utterance, [batch]. Outputs behind an utterance's end are zero, its state is the one
                at its end and its backward direction starts there: padding changes nothing. None: all are full.

        Raises:
            InputError: see `check_input`, `check_state`, `checked_lengths`.
        """
        check_input(x, "batch, frames", self.inputs, self.weight_input[0])
        if lengths is not None:
            lengths = checked_lengths(lengths, x)
        if state is None:
            state = self.initial_state(x.shape[0], x)
        else:
            check_state(state, self.parts, (self.layers * self.directions, x.shape[0], self.hidden), x)
        after: list[State] = []
        for layer in range(self.layers):
            if layer and self.dropout and self.training:
                x = nn.functional.dropout(x, self.dropout)
            outputs = []
            for backward in range(self.directions):
                index = layer * self.directions + backward
                y, last = self._run(x, tuple(part[index] for part in state), lengths, layer, bool(backward))
                outputs.append(y)
                after.append(last)
            x = self._join(outputs)
        return x, tuple(torch.stack(parts) for parts in zip(*after, strict=True))

    def _run(self, x: Tensor, state: State, lengths: Tensor | None, layer: int, backward: bool) -> tuple[Tensor, State]:
        index = layer * 2 + backward if self.direction == "bi" else layer
        w, r = self.matrix(self.weight_input[index]), self.matrix(self.weight_hidden[index])
        bias = w.new_zeros(len(w)) if self.bias is None else self.bias[index]
        padding = None
        if lengths is not None:
            padding = torch.arange(x.shape[1], device=x.device) >= lengths.to(x.device)[:, None]
            x = x.masked_fill(padding[..., None], 0.0)
        if backward:
            x = self._reverse(x, lengths)
        weights, cell = (w, r, bias), self.kind.cell
        if cell in FUSED:
            y, after = FUSED[cell](x, state, weights, padding, self.training)
        else:
            y, after = _by_frames(cell, x, state, weights, padding)
        ends = list(after)
        if lengths is not None and padding is not None:
            y = y.masked_fill(padding[..., None], 0.0)
            ends[0] = y[torch.arange(len(y), device=y.device), lengths.to(y.device) - 1]
        if backward:
            y = self._reverse(y, lengths)
        return y, tuple(ends)

    @staticmethod
    def _reverse(x: Tensor, lengths: Tensor | None) -> Tensor:
        """Each utterance back to front; its padding stays behind it."""
        if lengths is None:
            return x.flip(1)
        frame = torch.arange(x.shape[1], device=x.device)
        mirrored = lengths.to(x.device)[:, None] - 1 - frame
        order = torch.where(mirrored >= 0, mirrored, frame)
        return x.gather(1, order[..., None].expand_as(x))

    def _join(self, outputs: list[Tensor]) -> Tensor:
        """Both directions in one vector, planar: the real parts of both, then the parts of i, j and k."""
        if len(outputs) == 1:
            return outputs[0]
        if not self.quaternion:
            return torch.cat(outputs, dim=-1)
        return torch.cat([y.unflatten(-1, (4, -1)) for y in outputs], dim=-1).flatten(-2)


class RNN(Recurrent):
    """h = tanh(W x + R h + b)."""

    kind = LAYER_KINDS["rnn"]


class LSTM(Recurrent):
    """Without peepholes, gates in torch's order: input, forget, cell, output."""

    kind = LAYER_KINDS["lstm"]


class QRNN(Recurrent):
    """h = tanh(W ⊗ x + R ⊗ h + b), the activation on each component."""

    kind = LAYER_KINDS["qrnn"]


class QLSTM(Recurrent):
    """An LSTM whose products are Hamilton products; its gates act on each component."""

    kind = LAYER_KINDS["qlstm"]


_NAMED = {layer.__name__.lower(): layer for layer in (RNN, LSTM, QRNN, QLSTM)}
KINDS: dict[KindName, type[Recurrent]] = {
    name: _NAMED.get(name) or type(name.upper(), (Recurrent,), {"kind": kind}) for name, kind in LAYER_KINDS.items()
}
"""A class for each row of the table."""
