"""Runs a .pte file in ExecuTorch's Python runtime."""

import zlib
from pathlib import Path
from typing import Any

import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime, Verification
from torch import Tensor

from tetraphone.train.errors import InputError

from .native import library
from .program import FORMAT_VERSION, MAGIC, MAX_FRAMES, TRAILER, missing_operators


def verified(content: bytes, name: str) -> bytes:
    """`content`, if its trailer is that of an undamaged file of this format.

    Raises:
        InputError: it is too short, not a Tetraphone model, of another format, or damaged.
    """
    if len(content) <= TRAILER.size or content[-TRAILER.size :][: len(MAGIC)] != MAGIC:
        raise InputError(f"{name} is not a Tetraphone model, or cut short; `tetraphone export` writes one")
    _, version, checksum = TRAILER.unpack(content[-TRAILER.size :])
    if version != FORMAT_VERSION:
        raise InputError(f"{name} has format {version}, this version reads {FORMAT_VERSION}; export the model again")
    if zlib.crc32(content[: -TRAILER.size]) != checksum:
        raise InputError(f"{name} is damaged (its checksum is wrong); copy or export it again")
    return content


def _missing_operators(content: bytes) -> str:
    """What the runtime lacks for a program that it refused to load, if that is why."""
    try:
        missing = missing_operators(deserialize_pte_binary(content).program)
    except Exception:  # whatever a damaged program makes the reader raise, the runtime's own error tells more
        return ""
    return f"the runtime has no operator {', '.join(missing)}" if missing else ""


class Program:
    """A loaded model. The state is explicit: `run` takes it and returns the next, so streams do not share any.

    Raises:
        InputError: the file is missing, damaged, or not a model of this version.
    """

    def __init__(self, content: bytes, name: str) -> None:
        library()
        self.name = name
        try:
            # The program refers to the bytes: they live as long as it does.
            self._content = verified(content, name)
            self._program = Runtime.get().load_program(self._content, verification=Verification.InternalConsistency)
            method = self._program.load_method("forward")
            assert method is not None
            self._forward = method
            self._sizes = self._sizes_of_inputs()
            self.inputs = self._sizes[0][1]
            """Reals of a network frame."""
            self.outputs = int(method.metadata.output_tensor_meta(0).sizes()[1])
            """Scores of a network frame."""
            self.metadata: dict[str, Any] = {
                key: self._constant(key) for key in sorted(self._program.method_names - {"forward"})
            }
        except (RuntimeError, ValueError, TypeError, LookupError, AssertionError) as error:
            fault = _missing_operators(content) or error
            raise InputError(f"{name} does not load in ExecuTorch: {fault}; export the model again") from error

    @classmethod
    def load(cls, path: Path) -> "Program":
        """Reads the file."""
        try:
            return cls(path.read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}; `tetraphone export` makes models") from error

    def _sizes_of_inputs(self) -> list[tuple[int, ...]]:
        meta = self._forward.metadata
        return [tuple(meta.input_tensor_meta(index).sizes()) for index in range(meta.num_inputs())]

    def _constant(self, name: str) -> Any:
        method = self._program.load_method(name)
        assert method is not None
        values = method.execute([])
        return values[0]

    def initial_state(self) -> tuple[Tensor, ...]:
        """Zeros for every state of the network."""
        return tuple(torch.zeros(sizes) for sizes in self._sizes[1:])

    def run(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Scores of any number of frames, in chunks of at most MAX_FRAMES, and the state behind them.

        Args:
            x: float32 [frames, inputs].
            state: what an earlier call returned, or None for the start of an utterance.

        Raises:
            InputError: `x` has another shape, or the runtime refused the call.
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
