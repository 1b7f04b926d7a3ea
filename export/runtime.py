"""Runs a program in ExecuTorch's Python runtime, from any state, so that the exporter can check what it writes.

Recognition goes through `recognition/recognizer.py`, which verifies a file before use.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from executorch.runtime import Runtime, Verification
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.native import library

from .program import MAX_FRAMES


class Program:
    """A loaded model. `run` takes a state and returns the next one, so streams share none.

    Raises:
        InputError: ExecuTorch cannot load it.
    """

    def __init__(self, content: bytes, name: str) -> None:
        library()
        self.name = name
        try:
            # The program refers to the bytes, which must live as long as the program.
            self._content = content
            self._program = Runtime.get().load_program(self._content, verification=Verification.InternalConsistency)
            self._forward = method = self._method("forward")
            self._sizes = self._sizes_of_inputs()
            self.inputs = self._sizes[0][1]
            """Width of a network frame in reals."""
            self.outputs = int(method.metadata.output_tensor_meta(0).sizes()[1])
            """Number of scores per network frame."""
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
        return {key: self._constant(key) for key in sorted(self._program.method_names - {"forward"})}

    def _sizes_of_inputs(self) -> list[tuple[int, ...]]:
        meta = self._forward.metadata
        return [tuple(meta.input_tensor_meta(index).sizes()) for index in range(meta.num_inputs())]

    def _constant(self, name: str) -> Any:
        return self._method(name).execute([])[0]

    def _method(self, name: str) -> Any:
        method = self._program.load_method(name)
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
                result, *after = (value.clone() for value in self._forward.execute([chunk.contiguous(), *state]))
            except RuntimeError as error:
                raise InputError(f"ExecuTorch could not run {self.name}: {error}") from error
            scores.append(result)
            state = tuple(after)
        return torch.cat(scores) if scores else x.new_zeros(0, self.outputs), state
