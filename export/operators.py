"""The operators `quaternion::lstm`, `rnn`, `hamilton_linear` and `linear`, for torch and for the exporter.

Importing this module registers them: the eager implementation (the kernels of `kernels/`, through the library's C ABI),
the shape function, and the schema of the out form, whose implementation the same library registers with ExecuTorch.
Weights are one packed block of bytes, whose header tells the number format; see `kernels/layers.h`.
"""

import ctypes
from enum import IntEnum
from typing import Any

import torch
from torch import Tensor

from tetraphone.train.errors import InputError

from .native import library


class Kind(IntEnum):
    """What a packed block computes (kernels/layers.h)."""

    HAMILTON_LINEAR = 1
    LINEAR = 2
    RNN = 3
    LSTM = 4


class Format(IntEnum):
    """Number format of packed weights (kernels/layers.h)."""

    FLOAT32 = 1
    INT8 = 2
    INT4 = 3


class _Shape(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint8),
        ("format", ctypes.c_uint8),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
    )


class _Matrix(ctypes.Structure):
    _fields_ = (("values", ctypes.c_void_p), ("scales", ctypes.c_void_p))


def instruction_set() -> str:
    """The instruction set that the kernels use on this processor."""
    name: bytes = library().tetraphone_instruction_set()
    return name.decode()


def instruction_sets() -> dict[str, bool]:
    """The instruction sets of this build, the best last, and whether this processor has them."""
    found: dict[str, bool] = {}
    name = ctypes.c_char_p()
    while (supported := library().tetraphone_instruction_set_at(ctypes.c_size_t(len(found)), ctypes.byref(name))) >= 0:
        assert name.value is not None
        found[name.value.decode()] = bool(supported)
    return found


def _check(code: int) -> None:
    if code:
        raise InputError(f"packed weights: {library().tetraphone_status_text(code).decode()}")


def _pointer(tensor: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def _matrix(values: Tensor | None, scales: Tensor | None) -> _Matrix:
    return _Matrix(_pointer(values), _pointer(scales))


def pack(
    kind: Kind,
    number_format: Format,
    inputs: int,
    outputs: int,
    weight_input: tuple[Tensor, Tensor | None],
    weight_hidden: tuple[Tensor, Tensor | None] | None,
    bias: Tensor | None,
) -> Tensor:
    """Packs one layer into a block of bytes, uint8 [bytes].

    Args:
        inputs, outputs: reals; outputs is the hidden size of a recurrent layer.
        weight_input, weight_hidden: values [components, rows, columns], or [rows, columns] for LINEAR, float32 or
            int8, and scales (None, float32 [rows], float16 [rows, groups]); rows are gate after gate.
        bias: float32 [outputs], or [4 · outputs] for LSTM, gate after gate; None for none.

    Raises:
        InputError: a tensor's shape or type is not the layer's, a size is impossible, a value out of range.
    """
    components = 1 if kind == Kind.LINEAR else 4
    gates = 4 if kind == Kind.LSTM else 1
    rows = gates * outputs // components
    value_type = torch.float32 if number_format == Format.FLOAT32 else torch.int8
    shape = _Shape(kind, number_format, inputs, outputs)
    size = library().tetraphone_packed_bytes(ctypes.byref(shape))
    if not size:
        raise InputError(f"{kind.name} with {inputs} inputs and {outputs} outputs: not sizes that a layer can have")
    matrices, kept = [], []
    for weight, columns in ((weight_input, inputs), (weight_hidden, outputs)):
        if weight is None:
            matrices.append(_matrix(None, None))
            continue
        values, scales = weight
        plain = (rows, columns // components) if kind == Kind.LINEAR else (components, rows, columns // components)
        _expect(values, plain, value_type)
        if number_format == Format.INT8:
            assert scales is not None
            _expect(scales, (rows,), torch.float32)
        elif number_format == Format.INT4:
            assert scales is not None
            _expect(scales, (rows, -(-columns // 32)), torch.float16)
        held = values.contiguous(), None if scales is None else scales.contiguous()
        kept.append(held)
        matrices.append(_matrix(*held))
    if bias is not None:
        _expect(bias, (gates * outputs,), torch.float32)
        bias = bias.detach().contiguous()
    block = torch.zeros(size, dtype=torch.uint8)
    first, second = map(ctypes.byref, matrices)
    _check(library().tetraphone_pack(ctypes.byref(shape), first, second, _pointer(bias), _pointer(block)))
    return block


def _expect(tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    if tuple(tensor.shape) != shape or tensor.dtype != dtype:
        raise InputError(f"weights of shape {tuple(tensor.shape)}, {tensor.dtype}; this layer takes {shape}, {dtype}")


def packed_shape(block: Tensor) -> tuple[Kind, Format, int, int]:
    """Kind, format, inputs and outputs of a packed block.

    Raises:
        InputError: it is not a packed block, damaged, or of another version.
    """
    shape = _Shape()
    _check(library().tetraphone_shape(_pointer(block), ctypes.c_size_t(block.numel()), ctypes.byref(shape)))
    return Kind(shape.kind), Format(shape.format), shape.inputs, shape.outputs


def _run(kind: Kind, x: Tensor, states: list[Tensor], weights: Tensor, outputs: int) -> list[Tensor]:
    """y and the new states; the checks are those of the runtime's kernels."""
    if x.dim() != 2 or any(state.dim() != 1 or len(state) != outputs for state in states) or weights.dim() != 1:
        raise InputError("x is [frames, inputs], a state [hidden], weights one packed block")
    if any(tensor.dtype != torch.float32 for tensor in (x, *states)) or weights.dtype != torch.uint8:
        raise InputError("x and states are float32, weights uint8")
    x, weights = x.detach().contiguous(), weights.contiguous()
    states = [state.detach().contiguous() for state in states]
    y = x.new_empty(x.shape[0], outputs)
    after = [torch.empty_like(state) for state in states]
    before = [_pointer(state) for state in states] + [_pointer(None)] * (2 - len(states))
    behind = [_pointer(state) for state in after] + [_pointer(None)] * (2 - len(states))
    sizes = [ctypes.c_int64(size) for size in (*x.shape, outputs)]
    _check(
        library().tetraphone_run(
            *(int(kind), _pointer(weights), ctypes.c_size_t(weights.numel()), _pointer(x), sizes[0], sizes[1]),
            *(*before, sizes[2], _pointer(y), *behind),
        )
    )
    return [y, *after]


def _lstm(x: Tensor, h: Tensor, c: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y, new_h, new_c = _run(Kind.LSTM, x, [h, c], weights, h.shape[0])
    return y, new_h, new_c


def _rnn(x: Tensor, h: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    y, new_h = _run(Kind.RNN, x, [h], weights, h.shape[0])
    return y, new_h


def _hamilton_linear(x: Tensor, weights: Tensor, outputs: int) -> Tensor:
    return _run(Kind.HAMILTON_LINEAR, x, [], weights, outputs)[0]


def _linear(x: Tensor, weights: Tensor, outputs: int) -> Tensor:
    return _run(Kind.LINEAR, x, [], weights, outputs)[0]


def _lstm_shape(x: Tensor, h: Tensor, c: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape[0], h.shape[0]), torch.empty_like(h), torch.empty_like(c)


def _rnn_shape(x: Tensor, h: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape[0], h.shape[0]), torch.empty_like(h)


def _linear_shape(x: Tensor, weights: Tensor, outputs: int) -> Tensor:
    return x.new_empty(x.shape[0], outputs)


OPERATORS: dict[str, tuple[str, int, Any, Any]] = {
    "lstm": ("Tensor x, Tensor h, Tensor c, Tensor weights", 3, _lstm, _lstm_shape),
    "rnn": ("Tensor x, Tensor h, Tensor weights", 2, _rnn, _rnn_shape),
    "hamilton_linear": ("Tensor x, Tensor weights, int outputs", 1, _hamilton_linear, _linear_shape),
    "linear": ("Tensor x, Tensor weights, int outputs", 1, _linear, _linear_shape),
}
"""Name: the arguments of its schema, how many tensors it returns, its eager implementation, its shape function."""

_out_forms = torch.library.Library("quaternion", "FRAGMENT")


def _register() -> None:
    for name, (arguments, count, eager, shape) in OPERATORS.items():
        returned = ", ".join(["Tensor"] * count)
        schema = f"({arguments}) -> " + (f"({returned})" if count > 1 else returned)
        operator = torch.library.custom_op(f"quaternion::{name}", mutates_args=(), schema=schema)(eager)
        operator.register_fake(shape)
        outs = ["out"] if count == 1 else [f"out{index}" for index in range(count)]
        written = [f"Tensor({chr(ord('a') + index)}!)" for index in range(count)]
        taken = ", ".join(f"{kind} {out}" for kind, out in zip(written, outs, strict=True))
        given = f"({', '.join(written)})" if count > 1 else written[0]
        _out_forms.define(f"{name}.out({arguments}, *, {taken}) -> {given}")


_register()
