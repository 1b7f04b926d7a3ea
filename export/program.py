"""Writes programs as one .pte file: our operators, the metadata as constant methods, and a trailer."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.recognition.engine import engines

from .operators import OPERATORS, Operator, packed_shape

FORWARD = "forward"
"""The program of the network, which every file has."""

MAX_FRAMES = 128
"""The most frames per call, which determines the planned memory; longer recordings are run in chunks."""

Metadata = Mapping[str, int | float | str | Tensor]


@dataclass(frozen=True)
class PackedLayer:
    """One layer of a network to export."""

    operator: Operator
    outputs: int
    """Size of the output in reals."""
    block: Tensor
    """uint8 [bytes], see `operators.pack`."""


class Network(nn.Module):
    """x [frames, inputs] and the states of all layers → (scores [frames, outputs], new states), by our operators."""

    def __init__(self, layers: Sequence[PackedLayer]) -> None:
        super().__init__()
        self.layers = tuple(layers)
        for index, layer in enumerate(layers):
            self.register_buffer(f"weights{index}", layer.block)

    def initial_state(self) -> tuple[Tensor, ...]:
        """Zeros, a tensor [hidden] of its own for each state, since the exporter would merge equal ones."""
        return tuple(torch.zeros(layer.outputs) for layer in self.layers for _ in range(layer.operator.states))

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        before, after = iter(states), list[Tensor]()
        for index, layer in enumerate(self.layers):
            weights = self.get_buffer(f"weights{index}")
            operator = getattr(torch.ops.quaternion, layer.operator.name)
            if layer.operator.states:
                x, *new = operator(x, *islice(before, layer.operator.states), weights)
                after += new
            else:
                x = operator(x, weights, layer.outputs)
        return (x, *after)


Programs = Mapping[str, Sequence[PackedLayer]]
"""By name; the layers of each from its input to its scores."""


def _exported(layers: Sequence[PackedLayer]) -> ExportedProgram:
    inputs = packed_shape(layers[0].block)[2]
    network = Network(layers)
    states = network.initial_state()
    shapes: dict[str, Any] = {"x": {0: Dim("T", min=1, max=MAX_FRAMES)}}
    if states:
        shapes["states"] = tuple({} for _ in states)
    # The example's number of frames differs from every size of the network: the exporter would take equal numbers for
    # the same dimension.
    frames = next(count for count in range(2, MAX_FRAMES) if count not in (inputs, *(len(state) for state in states)))
    return torch.export.export(
        network,
        (torch.zeros(frames, inputs), *states),
        dynamic_shapes=shapes,
        strict=False,
    )


def program_bytes(programs: Programs, metadata: Metadata) -> bytes:
    """The content of a .pte file.

    Args:
        programs: `FORWARD`, and whatever else the file is to hold; no two layers may have the same weights.
        metadata: constant methods of the file; int, float, str or tensor.

    Raises:
        InputError: the runtime lacks an operator that a program needs, or a constant method changes its value.
    """
    edge = to_edge(
        {name: _exported(layers) for name, layers in programs.items()},
        constant_methods={name: value for name, value in metadata.items()},
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    program = edge.to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False),
            constant_tensor_alignment=64,  # a cache line: the kernels load whole ones
        )
    )
    missing = missing_operators(program.executorch_program)
    if missing:
        raise InputError(f"the runtime lacks the operator {', '.join(missing)}; this network cannot be exported")
    content: bytes = program.buffer
    _check_metadata(content, metadata, programs)
    return sealed(content)


def sealed(content: bytes) -> bytes:
    """The content with the trailer by which a recogniser knows files of its format (native/model/trailer.h)."""
    trailer = ctypes.create_string_buffer(64)
    sizes = [ctypes.c_size_t(len(part)) for part in (content, trailer)]
    count = library().tetraphone_trailer(content, sizes[0], trailer, sizes[1])
    return content + trailer.raw[:count]


def _check_metadata(content: bytes, metadata: Metadata, programs: Programs) -> None:
    """Runs the constant methods, since the exporter silently cuts text at a zero byte and flattens containers."""
    loaded = Runtime.get().load_program(content)
    for key, value in metadata.items():
        method = loaded.load_method(key) if key in loaded.method_names - programs.keys() else None
        found = method.execute([]) if method is not None else []
        if len(found) != 1 or not same(found[0], value):
            becomes = ", ".join(map(repr, found)) or "nothing"
            mend = "give one number or tensor, or text without zero bytes, under such a name"
            raise InputError(f"metadata {key!r}: {value!r} becomes {becomes} in a program; {mend}")


def same(found: Any, value: Any) -> bool:
    """Whether both are equal in type and value; NaN equals NaN."""
    if isinstance(found, Tensor):
        alike = isinstance(value, Tensor) and (found.dtype, found.shape) == (value.dtype, value.shape)
        return alike and torch.allclose(found, value, rtol=0, atol=0, equal_nan=True)
    return isinstance(value, type(found)) and (found == value or (found != found and value != value))


def missing_operators(program: Any) -> list[str]:
    """Operators of an ExecuTorch program that a device lacks: all except our own, which a library with ExecuTorch's
    engine registers."""
    library()
    known = {f"quaternion::{name}.out" for name in OPERATORS}
    if "executorch" in engines():
        known &= Runtime.get().operator_registry.operator_names
    needed = {f"{operator.name}.{operator.overload}" for plan in program.execution_plan for operator in plan.operators}
    return sorted(needed - known)
