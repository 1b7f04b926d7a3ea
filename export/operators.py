"""The operators `quaternion::hamilton_linear`, `linear` and those of the layer kinds, for torch and for the exporter.

Importing this module registers, for each, the eager implementation (the kernels of `native/kernels/`, through the
library's C ABI), the shape function, and the schema of the out form, whose implementation the same library registers
with ExecuTorch. Weights are one packed block of bytes, whose header holds the number format; see
`native/kernels/layers.h`.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.quant.formats import Format
from tetraphone.train.network.kinds import LAYER_KINDS


@dataclass(frozen=True)
class Operator:
    """What computes one layer on the device: a row of native/kernels/kinds.h."""

    name: str
    quaternion: bool
    gates: int = 1
    states: int = 0
    """State vectors that the layer carries from frame to frame; 0 for a layer that is not recurrent."""

    @property
    def number(self) -> int:
        """In the header of a packed block.

        Raises:
            InputError: the library has no such row.
        """
        for number, (operator, _) in library_kinds().items():
            if operator == self:
                return number
        raise InputError(f"the library lacks {self}; write its row in native/kernels/kinds.h and build it again")


HAMILTON_LINEAR = Operator("hamilton_linear", quaternion=True)
LINEAR = Operator("linear", quaternion=False)
OPERATORS = {operator.name: operator for operator in (HAMILTON_LINEAR, LINEAR)} | {
    kind.operator: Operator(kind.operator, kind.quaternion, kind.gates, kind.states)
    for kind in LAYER_KINDS.values()
    if kind.operator
}
"""By name; the recurrent ones follow from the table of layer kinds."""

Weight = tuple[Tensor, Tensor | None]
"""Values and scales."""
ShapeAndType = tuple[tuple[int, ...], torch.dtype]
TENSORS = ("input weights", "input scales", "hidden weights", "hidden scales", "bias")


class _Shape(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint8),
        ("format", ctypes.c_uint8),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
    )


class _Matrix(ctypes.Structure):
    _fields_ = (("values", ctypes.c_void_p), ("scales", ctypes.c_void_p))


@cache
def library_kinds() -> dict[int, tuple[Operator, str]]:
    """The rows of native/kernels/kinds.h by number: the operator, and the layer kind of training, or ""."""
    found: dict[int, tuple[Operator, str]] = {}
    name, layer = ctypes.c_char_p(), ctypes.c_char_p()
    sizes = [ctypes.c_int() for _ in range(3)]
    places = [ctypes.byref(place) for place in (name, layer, *sizes)]
    while (number := library().tetraphone_layer_kind_at(ctypes.c_size_t(len(found)), *places)) >= 0:
        quaternion, gates, states = (size.value for size in sizes)
        operator = Operator((name.value or b"").decode(), bool(quaternion), gates, states)
        found[number] = operator, (layer.value or b"").decode()
    return found


def _check(code: int) -> None:
    if code:
        raise InputError(f"packed weights: {library().tetraphone_status_text(code).decode()}")


def _pointer(tensor: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())


def _pointers(tensors: Mapping[str, Tensor]) -> tuple[Any, Any, ctypes.c_void_p]:
    """Input matrix, hidden matrix and bias of a layer, as arguments of the library."""
    values, scales, hidden_values, hidden_scales, bias = (_pointer(tensors.get(name)) for name in TENSORS)
    return ctypes.byref(_Matrix(values, scales)), ctypes.byref(_Matrix(hidden_values, hidden_scales)), bias


def _tensors(operator: Operator, number_format: Format, inputs: int, outputs: int) -> dict[str, ShapeAndType]:
    """Shape and type of each tensor of a layer, by the names in TENSORS."""
    rows = operator.gates * outputs // (4 if operator.quaternion else 1)
    found: dict[str, ShapeAndType] = {"bias": ((operator.gates * outputs,), torch.float32)}
    for name, columns in (("input", inputs), ("hidden", outputs))[: 2 if operator.states else 1]:
        values = (4, rows, columns // 4) if operator.quaternion else (rows, columns)
        found[f"{name} weights"] = values, torch.int8 if number_format.greatest else torch.float32
        if number_format.group:
            found[f"{name} scales"] = (rows, -(-columns // number_format.group)), torch.float16
        elif number_format.greatest:
            found[f"{name} scales"] = (rows,), torch.float32
    return found


def _readable(name: str, tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """The tensor in the form that the library reads: contiguous, in the processor's memory.

    Raises:
        InputError: the tensor differs in shape or type, or is not a plain, dense tensor on the processor.
    """
    if tuple(tensor.shape) != shape or tensor.dtype != dtype:
        found = f"{tuple(tensor.shape)}, {tensor.dtype}"
        raise InputError(f"{name} of shape {found}; this layer takes {shape}, {dtype}")
    plain = type(tensor) in (Tensor, nn.Parameter)  # a subclass may lack values, like the fake tensors of torch.export
    if not plain or tensor.device.type != "cpu" or tensor.layout != torch.strided:
        found = f"a {type(tensor).__name__}, {tensor.layout}, on {tensor.device}"
        raise InputError(f"{name} is {found}; give a plain, dense tensor on cpu")
    return tensor.detach().resolve_neg().contiguous()


def pack(
    operator: Operator,
    number_format: Format,
    inputs: int,
    outputs: int,
    weight_input: Weight,
    weight_hidden: Weight | None,
    bias: Tensor | None,
) -> Tensor:
    """Packs one layer into a block of bytes, uint8 [bytes].

    Args:
        inputs, outputs: sizes in reals; of a recurrent layer, outputs is the hidden size.
        weight_input, weight_hidden: values [components, rows, columns], or [rows, columns] for LINEAR, float32 or
            int8, and scales (None, float32 [rows], float16 [rows, groups]); rows are gate after gate. Only recurrent
            layers have hidden weights.
        bias: float32 [gates · outputs], gate after gate; None for none.

    Raises:
        InputError: a tensor is missing or superfluous or differs from the layer in shape, type or device; a size is
            impossible; a value is out of range.
    """
    shape = _Shape(operator.number, number_format, inputs, outputs)
    size = library().tetraphone_packed_bytes(ctypes.byref(shape))
    if not size:
        raise InputError(f"{operator.name} with {inputs} inputs and {outputs} outputs: no layer can have these sizes")
    wanted = _tensors(operator, number_format, inputs, outputs)
    ready = {}
    for name, tensor in zip(TENSORS, (*weight_input, *(weight_hidden or (None, None)), bias), strict=True):
        if tensor is None and name in wanted and name != "bias":
            raise InputError(
                f"packed weights: {number_format.name} {operator.name} without {name}; give {wanted[name]}"
            )
        if tensor is not None and name not in wanted:
            raise InputError(f"packed weights: {number_format.name} {operator.name} takes no {name}; give None")
        if tensor is not None:
            ready[name] = _readable(f"packed weights: {name}", tensor, *wanted[name])
    block = torch.zeros(size, dtype=torch.uint8)
    _check(library().tetraphone_pack(ctypes.byref(shape), *_pointers(ready), _pointer(block)))
    return block


def unpack(block: Tensor) -> tuple[Operator, Format, int, int, Weight, Weight | None, Tensor]:
    """The arguments of `pack` that give this block; a bias of None becomes zeros.

    Raises:
        InputError: the bytes are not a packed block, damaged, or of another version.
    """
    block = _readable_block(block)
    layer = packed_shape(block)
    found = {name: torch.empty(shape, dtype=dtype) for name, (shape, dtype) in _tensors(*layer).items()}
    _check(library().tetraphone_unpack(_pointer(block), ctypes.c_size_t(block.numel()), *_pointers(found)))
    hidden = (found["hidden weights"], found.get("hidden scales")) if "hidden weights" in found else None
    return *layer, (found["input weights"], found.get("input scales")), hidden, found["bias"]


def _readable_block(block: Tensor) -> Tensor:
    return _readable("packed weights: a block", block, (block.numel(),), torch.uint8)


def packed_shape(block: Tensor) -> tuple[Operator, Format, int, int]:
    """Operator, format, inputs and outputs of a packed block.

    Raises:
        InputError: the bytes are not a packed block, damaged, or of another version.
    """
    shape, block = _Shape(), _readable_block(block)
    _check(library().tetraphone_shape(_pointer(block), ctypes.c_size_t(block.numel()), ctypes.byref(shape)))
    return library_kinds()[shape.kind][0], Format(shape.format), shape.inputs, shape.outputs


def _run(operator: Operator, x: Tensor, states: list[Tensor], weights: Tensor, outputs: int) -> tuple[Tensor, ...]:
    """Runs the library's kernel; returns y and the new states.

    Raises:
        InputError: a tensor does not fit the packed layer in shape, type, layout or device.
    """
    _check_call(x, states, weights, outputs)
    x, weights = _readable("x", x, tuple(x.shape), torch.float32), _readable_block(weights)
    states = [_readable("a state", state, (outputs,), torch.float32) for state in states]
    y = x.new_empty(x.shape[0], outputs)
    after = [torch.empty_like(state) for state in states]
    before = [_pointer(state) for state in states] + [_pointer(None)] * (2 - len(states))
    behind = [_pointer(state) for state in after] + [_pointer(None)] * (2 - len(states))
    sizes = [ctypes.c_int64(size) for size in (*x.shape, outputs)]
    _check(
        library().tetraphone_run(
            *(operator.number, _pointer(weights), ctypes.c_size_t(weights.numel()), _pointer(x), sizes[0], sizes[1]),
            *(*before, sizes[2], _pointer(y), *behind),
        )
    )
    return y, *after


def _check_call(x: Tensor, states: list[Tensor], weights: Tensor, outputs: int) -> None:
    """Checks what is known without values; the packed block determines the rest, and the library checks all of it."""
    if x.dim() != 2 or weights.dim() != 1 or any(tuple(state.shape) != (outputs,) for state in states):
        shapes = ", ".join(str(tuple(tensor.shape)) for tensor in (x, *states, weights))
        raise InputError(f"x, states and weights of shape {shapes}; x is [frames, inputs], each state [{outputs}]")
    types = [tensor.dtype for tensor in (x, *states, weights)]
    if types != [*(torch.float32 for _ in (x, *states)), torch.uint8]:
        raise InputError(f"x, states and weights are {types}; x and states are float32, weights uint8")
    if len({tensor.device for tensor in (x, *states, weights)}) > 1:
        raise InputError("x, states and weights are on different devices; move them to one")


def _shapes(x: Tensor, states: list[Tensor], weights: Tensor, outputs: int) -> tuple[Tensor, ...]:
    """Tensors of the shapes and types that `_run` returns, without values."""
    _check_call(x, states, weights, outputs)
    return x.new_empty(x.shape[0], outputs), *map(torch.empty_like, states)


def _call(operator: Operator, arguments: tuple[Any, ...]) -> tuple[Tensor, list[Tensor], Tensor, int]:
    """x, states, weights and outputs of a call, from its arguments in the order of the schema."""
    x, *states, weights = arguments if operator.states else arguments[:-1]
    if not states:
        return x, [], weights, arguments[-1]
    return x, states, weights, states[0].shape[0] if states[0].dim() else 0


_out_forms = torch.library.Library("quaternion", "FRAGMENT")


def _register(operator: Operator) -> None:
    """The operator for torch: eager, its shapes, and the schema of its out form."""
    states = "".join(f"Tensor {name}, " for name in ("h", "c")[: operator.states])
    arguments = f"Tensor x, {states}Tensor weights" + ("" if states else ", int outputs")
    count = 1 + operator.states
    returned = ", ".join(["Tensor"] * count)

    def eager(*arguments: Any) -> Any:
        y, *after = _run(operator, *_call(operator, arguments))
        return (y, *after) if after else y

    def shape(*arguments: Any) -> Any:
        y, *after = _shapes(*_call(operator, arguments))
        return (y, *after) if after else y

    registered = torch.library.custom_op(
        f"quaternion::{operator.name}",
        eager,
        mutates_args=(),
        device_types="cpu",
        schema=f"({arguments}) -> " + (f"({returned})" if count > 1 else returned),
    )
    registered.register_fake(shape)
    outs = ["out"] if count == 1 else [f"out{index}" for index in range(count)]
    written = [f"Tensor({chr(ord('a') + index)}!)" for index in range(count)]
    taken = ", ".join(f"{kind} {out}" for kind, out in zip(written, outs, strict=True))
    given = f"({', '.join(written)})" if count > 1 else written[0]
    _out_forms.define(f"{operator.name}.out({arguments}, *, {taken}) -> {given}")


for _operator in OPERATORS.values():
    _register(_operator)
