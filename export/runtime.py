"""Runs a program in ExecuTorch's Python runtime, from any state, so that the exporter can check what it writes.

Where the library lacks ExecuTorch's engine, the runtime lacks our operators: they run the layers that the file holds.
Recognition goes through `recognition/recognizer.py`, which verifies a file before use.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime, Verification
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.native import library
from tetraphone.recognition.engine import engines

from .operators import packed_shape
from .program import FORWARD, MAX_FRAMES, Network, PackedLayer


def layers_of(content: bytes, program: str) -> list[PackedLayer]:
    """The layers of a program of a file that a recogniser accepts."""
    file = deserialize_pte_binary(content).program
    plan = next(plan for plan in file.execution_plan if plan.name == program)
    layers = []
    for instruction in plan.chains[0].instructions:
        tensors: list[Any] = [plan.values[index].val for index in instruction.instr_args.args]
        block: Tensor = next(
            torch.frombuffer(bytearray(file.constant_buffer[tensor.data_buffer_idx].storage), dtype=torch.uint8)
            for tensor in tensors
            if getattr(tensor, "data_buffer_idx", 0)
        )
        operator, _, _, outputs = packed_shape(block)
        layers.append(PackedLayer(operator, outputs, block))
    return layers


class Program:
    """A program of a loaded file. `run` takes a state and returns the next one, so streams share none.

    Args:
        content: of the file; `name` is for errors.
        program: which of its programs.

    Raises:
        InputError: ExecuTorch cannot load it.
    """

    def __init__(self, content: bytes, name: str, program: str = FORWARD) -> None:
        library()
        self.name = name
        try:
            # The program refers to the bytes, which must live as long as the program.
            self._content = content
            self._loaded = Runtime.get().load_program(self._content, verification=Verification.InternalConsistency)
            self._execute = self._method(program).execute if "executorch" in engines() else self._by_operators(program)
            self._sizes = self._sizes_of_inputs(program)
            self.inputs = self._sizes[0][1]
            """Width of a frame in reals."""
            self.outputs = int(self._loaded.metadata(program).output_tensor_meta(0).sizes()[1])
            """Number of scores per frame."""
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            raise InputError(f"{name} does not load in ExecuTorch: {error}; export the model again") from error

    @classmethod
    def load(cls, path: Path) -> "Program":
        """Reads the file."""
        try:
            return cls(path.read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; `tetraphone export` makes models") from error

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The values of the constant methods, by name."""
        names = (key for key in sorted(self._loaded.method_names) if not self._loaded.metadata(key).num_inputs())
        return {key: self._method(key).execute([])[0] for key in names}

    def _by_operators(self, name: str) -> Callable[[Sequence[Tensor]], Sequence[Tensor]]:
        """What runs a program's layers, as the file has them, one after another."""
        network = Network(layers_of(self._content, name))
        return lambda inputs: network(*inputs)

    def _sizes_of_inputs(self, program: str) -> list[tuple[int, ...]]:
        meta = self._loaded.metadata(program)
        return [tuple(meta.input_tensor_meta(index).sizes()) for index in range(meta.num_inputs())]

    def _method(self, name: str) -> Any:
        method = self._loaded.load_method(name)
        if method is None:
            raise LookupError(f"there is no method {name}")
        return method

    def initial_state(self) -> tuple[Tensor, ...]:
        """Zeros for each state of the network."""
        return tuple(torch.zeros(sizes) for sizes in self._sizes[1:])

    def run(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Scores of any number of frames, in chunks of at most MAX_FRAMES, and the state after them.

        Args:
            x: float32 [frames, inputs].
            state: what an earlier call returned, or None for the start of an utterance.

        Raises:
            InputError: `x` has the wrong shape, or the runtime refused the call.
        """
        if x.dim() != 2 or x.shape[1] != self.inputs or x.dtype != torch.float32:
            raise InputError(f"input of shape {tuple(x.shape)}, {x.dtype}; {self.name} takes [frames, {self.inputs}]")
        state = self.initial_state() if state is None else state
        scores = []
        for chunk in x.split(MAX_FRAMES) if len(x) else ():
            try:
                # The runtime reuses its outputs at the next call.
                result, *after = (value.clone() for value in self._execute([chunk.contiguous(), *state]))
            except RuntimeError as error:
                raise InputError(f"ExecuTorch could not run {self.name}: {error}") from error
            scores.append(result)
            state = tuple(after)
        return torch.cat(scores) if scores else x.new_zeros(0, self.outputs), state
