"""Writes a network as one .pte file: our operators, the metadata as constant methods, and a trailer.

The trailer is the last 16 bytes, little endian: the magic "TETRAPHN", the format version (uint32) and the CRC-32 of all
bytes before the trailer (uint32). ExecuTorch loads a program with trailing bytes as it is.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch import Tensor, nn
from torch.export import Dim

from tetraphone.common.errors import InputError
from tetraphone.common.native import library

from .operators import OPERATORS, Kind

MAGIC = b"TETRAPHN"
FORMAT_VERSION = 2
TRAILER = struct.Struct("<8sII")
MAX_FRAMES = 128
"""The most network frames of one call: the planned memory follows it; longer recordings go in chunks."""

Metadata = Mapping[str, int | float | str | Tensor]


@dataclass(frozen=True)
class PackedLayer:
    """One layer of a network that is exported."""

    kind: Kind
    outputs: int
    """Reals."""
    block: Tensor
    """uint8, see `operators.pack`."""

    @property
    def states(self) -> int:
        """State vectors that the layer carries from frame to frame."""
        return {Kind.LSTM: 2, Kind.RNN: 1}.get(self.kind, 0)


class Network(nn.Module):
    """x [frames, inputs] and the states of all layers → (scores [frames, outputs], new states), by our operators."""

    def __init__(self, layers: Sequence[PackedLayer]) -> None:
        super().__init__()
        self.layers = tuple(layers)
        for index, layer in enumerate(layers):
            self.register_buffer(f"weights{index}", layer.block)

    def initial_state(self) -> tuple[Tensor, ...]:
        """Zeros, one tensor [hidden] for each state: distinct ones, or the exporter would merge them."""
        return tuple(torch.zeros(layer.outputs) for layer in self.layers for _ in range(layer.states))

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        before, after = iter(states), []
        for index, layer in enumerate(self.layers):
            weights = self.get_buffer(f"weights{index}")
            if layer.kind == Kind.LSTM:
                x, h, c = torch.ops.quaternion.lstm(x, next(before), next(before), weights)
                after += [h, c]
            elif layer.kind == Kind.RNN:
                x, h = torch.ops.quaternion.rnn(x, next(before), weights)
                after.append(h)
            elif layer.kind == Kind.LINEAR:
                x = torch.ops.quaternion.linear(x, weights, layer.outputs)
            else:
                x = torch.ops.quaternion.hamilton_linear(x, weights, layer.outputs)
        return (x, *after)


def program_bytes(layers: Sequence[PackedLayer], inputs: int, metadata: Metadata) -> bytes:
    """The content of a .pte file.

    Args:
        layers: from the input to the scores.
        inputs: reals of a network frame.
        metadata: constant methods of the program; int, float, str or tensor.

    Raises:
        InputError: the runtime lacks an operator that the program needs, or a constant method gives another value.
    """
    network = Network(layers)
    states = network.initial_state()
    shapes: dict[str, Any] = {"x": {0: Dim("T", min=1, max=MAX_FRAMES)}}
    if states:
        shapes["states"] = tuple({} for _ in states)
    # The example has a number of frames that no size of the network equals, lest the exporter take one for the other.
    frames = next(count for count in range(2, MAX_FRAMES) if count not in (inputs, *(len(state) for state in states)))
    exported = torch.export.export(
        network,
        (torch.zeros(frames, inputs), *states),
        dynamic_shapes=shapes,
        strict=False,
    )
    edge = to_edge(
        exported,
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
        raise InputError(f"the runtime has no operator {', '.join(missing)}; this network cannot be exported")
    content: bytes = program.buffer
    _check_metadata(content, metadata)
    return content + TRAILER.pack(MAGIC, FORMAT_VERSION, zlib.crc32(content))


def _check_metadata(content: bytes, metadata: Metadata) -> None:
    """Runs the constant methods: the exporter cuts text at a zero byte and flattens containers without a word."""
    program = Runtime.get().load_program(content)
    for key, value in metadata.items():
        method = program.load_method(key) if key in program.method_names - {"forward"} else None
        found = method.execute([]) if method is not None else []
        if len(found) != 1 or not _same(found[0], value):
            becomes = ", ".join(map(repr, found)) or "nothing"
            mend = "give one number or tensor, or text without zero bytes, under such a name"
            raise InputError(f"metadata {key!r}: {value!r} becomes {becomes} in a program; {mend}")


def _same(found: Any, value: Any) -> bool:
    """Equal, NaN too."""
    if isinstance(found, Tensor):
        alike = isinstance(value, Tensor) and (found.dtype, found.shape) == (value.dtype, value.shape)
        return alike and torch.allclose(found, value, rtol=0, atol=0, equal_nan=True)
    return isinstance(value, type(found)) and (found == value or (found != found and value != value))


def missing_operators(program: Any) -> list[str]:
    """Operators of an ExecuTorch program that a device does not have: all but our own, which this library registers."""
    library()
    known = {f"quaternion::{name}.out" for name in OPERATORS} & Runtime.get().operator_registry.operator_names
    needed = {f"{operator.name}.{operator.overload}" for plan in program.execution_plan for operator in plan.operators}
    return sorted(needed - known)
