"""From a checkpoint to a .pte file, which must give the checkpoint's scores before it is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError
from tetraphone.common.files import revision, write_atomically
from tetraphone.common.native import PACKAGE, check_network
from tetraphone.quant.formats import HEAD_FORMAT, Format
from tetraphone.quant.layers import QuantizedLinear, QuantizedRecurrent
from tetraphone.quant.weights import QuantizedWeight
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.network.kinds import LAYER_KINDS
from tetraphone.train.network.layers import Recurrent
from tetraphone.train.network.model import Checkpoint
from tetraphone.train.network.scorer import KIND as SCORER_KIND
from tetraphone.train.network.scorer import OUTPUTS as SCORER_OUTPUTS

from .operators import LINEAR, OPERATORS, pack
from .program import FORWARD, MAX_FRAMES, Network, PackedLayer, program_bytes
from .runtime import Program

FLOAT_TOLERANCE = 1e-3
"""Greatest allowed difference of a score between a float checkpoint and its file: rounding, summed over many frames."""
QUANTIZED_TOLERANCE = 0.05
"""Greatest allowed mean difference of a score between a quantised checkpoint in torch and its file, over the standard
deviation of the scores; their hidden states sometimes round differently."""
CHECK_FRAMES = 300


def _weight(module: nn.Module | Tensor) -> tuple[Tensor, Tensor | None]:
    if isinstance(module, QuantizedWeight):
        return module.values, module.scales
    if not isinstance(module, Tensor):
        raise InputError(f"a weight is a {type(module).__name__}, not a tensor; this network cannot be exported")
    return module.detach().float(), None


def packed_layers(checkpoint: Checkpoint) -> list[PackedLayer]:
    """The network's layers as packed blocks.

    Raises:
        InputError: the recogniser cannot run this network, or it has weights outside its layers.
    """
    model, network, outputs = checkpoint.to_ship().model, checkpoint.network, len(checkpoint.phones) + 1
    check_network(network.kind, network.direction, checkpoint.features.inputs, network.hidden, network.layers, outputs)
    recurrent, output = model.recurrent, model.output
    if not isinstance(recurrent, Recurrent | QuantizedRecurrent) or not isinstance(output, nn.Linear | QuantizedLinear):
        found = f"{type(recurrent).__name__} and {type(output).__name__}"
        raise InputError(f"the network consists of {found}; only recurrent layers and a linear one can be exported")
    number_format = Format.named(checkpoint.number_format)
    inputs, hidden = checkpoint.features.inputs, network.hidden
    layers = [*_packed_recurrent(network.kind, number_format, recurrent, inputs, hidden)]
    layers.append(_packed_linear(number_format, output, hidden, outputs))
    matrices = len(_matrices(checkpoint.model))
    if matrices != 2 * network.layers + 1:
        fault = f"the network has {matrices} weight matrices, {2 * network.layers + 1} of them in its layers"
        raise InputError(f"{fault}; the others would be lost: it cannot be exported")
    return layers


def _packed_recurrent(kind: str, number_format: Format, layers: Any, inputs: int, hidden: int) -> Iterator[PackedLayer]:
    """The layers of a `Recurrent` or a `QuantizedRecurrent`, if its weights are of these sizes."""
    operator = OPERATORS[LAYER_KINDS[kind].operator]
    for index in range(layers.layers):
        weights = _weight(layers.weight_input[index]), _weight(layers.weight_hidden[index])
        bias = None if layers.bias is None else layers.bias[index]
        yield PackedLayer(operator, hidden, pack(operator, number_format, inputs, hidden, *weights, bias))
        inputs = hidden


def _packed_linear(number_format: Format, layer: Any, inputs: int, outputs: int) -> PackedLayer:
    """A linear or a quantised linear layer, if its weights are of these sizes."""
    block = pack(LINEAR, number_format, inputs, outputs, _weight(layer.weight), None, layer.bias)
    return PackedLayer(LINEAR, outputs, block)


def _head_format(checkpoint: Checkpoint) -> Format:
    return Format.named(HEAD_FORMAT if checkpoint.quantization else checkpoint.number_format)


def _packed_aligner(checkpoint: Checkpoint) -> list[PackedLayer]:
    head: Any = checkpoint.aligner
    return [_packed_linear(_head_format(checkpoint), head.linear, head.inputs, head.outputs)]


def _packed_scorer(part: str) -> Callable[[Checkpoint], list[PackedLayer]]:
    """One of the scorer's recurrent layers."""

    def packed(checkpoint: Checkpoint) -> list[PackedLayer]:
        head: Any = checkpoint.scorer
        layer, number_format = getattr(head, part), _head_format(checkpoint)
        return [*_packed_recurrent(SCORER_KIND, number_format, layer, head.inputs, head.hidden)]

    return packed


def _packed_scores(checkpoint: Checkpoint) -> list[PackedLayer]:
    head: Any = checkpoint.scorer
    return [_packed_linear(_head_format(checkpoint), head.output, 2 * head.hidden, len(SCORER_OUTPUTS))]


ALIGN, SCORE = "align", "score"
"""The program that aligns, and the last of those that score; and the beginnings of the names of their metadata (kAlign,
kScore of native/model/model.h)."""
SCORE_PARTS = {"score_forward": "ahead", "score_backward": "back"}
"""The programs of a scorer's recurrent layers (kScoreForward, kScoreBackward)."""
State = tuple[Tensor, ...]


def _network_scores(checkpoint: Checkpoint, x: Tensor, state: State) -> Tensor:
    """The checkpoint's scores in torch, from the same state."""
    parts = LAYER_KINDS[checkpoint.network.kind].states
    stacked = tuple(torch.stack(state[part::parts])[:, None] for part in range(parts))
    scores: Tensor = checkpoint.model.eval()(x[None], stacked)[0][0]
    return scores


def _aligner_scores(checkpoint: Checkpoint, x: Tensor, _: State) -> Tensor:
    head: Any = checkpoint.aligner
    scores: Tensor = head(x)
    return scores


def _scorer_rows(part: str) -> Callable[[Checkpoint, Tensor, State], Tensor]:
    def rows(checkpoint: Checkpoint, x: Tensor, state: State) -> Tensor:
        head: Any = checkpoint.scorer
        found: Tensor = head.eval().rows(part, x, tuple(each[None, None] for each in state))
        return found

    return rows


def _scorer_scores(checkpoint: Checkpoint, x: Tensor, _: State) -> Tensor:
    head: Any = checkpoint.scorer
    scores: Tensor = head.output(x)
    return scores


@dataclass(frozen=True)
class Source:
    """What a program is made from, and what it must compute."""

    model: Callable[[Checkpoint], nn.Module | None]
    """None: the checkpoint has none, and its file no such program."""
    layers: Callable[[Checkpoint], list[PackedLayer]]
    scores: Callable[[Checkpoint, Tensor, State], Tensor]
    """In torch: frames [frames, inputs] and the states before them → [frames, outputs]."""


def _scorer_part(part: str) -> Callable[[Checkpoint], nn.Module | None]:
    return lambda checkpoint: checkpoint.scorer and getattr(checkpoint.scorer, part)


PROGRAMS = {
    FORWARD: Source(lambda checkpoint: checkpoint.model, packed_layers, _network_scores),
    ALIGN: Source(lambda checkpoint: checkpoint.aligner, _packed_aligner, _aligner_scores),
    **{
        name: Source(_scorer_part(part), _packed_scorer(part), _scorer_rows(part)) for name, part in SCORE_PARTS.items()
    },
    SCORE: Source(_scorer_part("output"), _packed_scores, _scorer_scores),
}
"""The programs of a file, by the names that recognisers know (native/model/model.h)."""


def packed_programs(checkpoint: Checkpoint) -> dict[str, list[PackedLayer]]:
    """The layers of each program that the checkpoint's file has."""
    return {
        name: source.layers(checkpoint) for name, source in PROGRAMS.items() if source.model(checkpoint) is not None
    }


@dataclass(frozen=True)
class Value:
    """One row of the metadata."""

    kind: type
    """int, float, str or Tensor (float32)."""
    of: Callable[[Checkpoint], Any]
    """None: the checkpoint has no such value."""
    read: bool = True
    """Whether recognisers read it (native/model/model.h, and features.h); else it is for people."""


def _feature(option: str) -> Callable[[Checkpoint], Any]:
    return lambda checkpoint: getattr(checkpoint.features, option)


def _of_aligner(number: str) -> Callable[[Checkpoint], Any]:
    return lambda checkpoint: getattr(checkpoint.aligner, number, None)


METADATA = {
    "phones": Value(str, lambda checkpoint: " ".join(checkpoint.phones)),
    **{option.name: Value(option.type, _feature(option.name)) for option in fields(FeatureOptions)},  # type: ignore[arg-type]
    "normalisation_mean": Value(Tensor, lambda checkpoint: torch.from_numpy(checkpoint.normalisation.mean)),
    "normalisation_deviation": Value(Tensor, lambda checkpoint: torch.from_numpy(checkpoint.normalisation.deviation)),
    "frame_shift": Value(float, lambda checkpoint: checkpoint.features.shift),
    "frame_offset": Value(float, lambda checkpoint: checkpoint.features.offset),
    "delay": Value(float, lambda checkpoint: checkpoint.features.delay),
    "confidence_slope": Value(float, lambda checkpoint: checkpoint.confidence.slope),
    "confidence_intercept": Value(float, lambda checkpoint: checkpoint.confidence.intercept),
    "align_rows": Value(int, _of_aligner("rows")),
    "align_delay": Value(int, _of_aligner("delay")),
    "align_shift": Value(float, _of_aligner("shift")),
    "score_mean": Value(Tensor, lambda checkpoint: checkpoint.scorer and checkpoint.scorer.mean),
    "score_deviation": Value(Tensor, lambda checkpoint: checkpoint.scorer and checkpoint.scorer.deviation),
    "kind": Value(str, lambda checkpoint: checkpoint.network.kind, read=False),
    "direction": Value(str, lambda checkpoint: checkpoint.network.direction, read=False),
    "layers": Value(int, lambda checkpoint: checkpoint.network.layers, read=False),
    "hidden": Value(int, lambda checkpoint: checkpoint.network.hidden, read=False),
    "number_format": Value(str, lambda checkpoint: checkpoint.number_format, read=False),
    "max_frames": Value(int, lambda _: MAX_FRAMES, read=False),
    "package_version": Value(str, lambda _: version(PACKAGE), read=False),
    "revision": Value(str, lambda _: revision(), read=False),
}
"""The constant methods of a program: all that a recogniser needs besides the network, times in seconds."""


def metadata(checkpoint: Checkpoint) -> dict[str, Any]:
    """The constant methods of the checkpoint's program, see `METADATA`."""
    values = {name: value.of(checkpoint) for name, value in METADATA.items()}
    return {name: value for name, value in values.items() if value is not None}


def export(checkpoint: Checkpoint, path: Path) -> dict[str, Any]:
    """Writes the model as a .pte file, if it gives the checkpoint's scores, for the whole input and in chunks.

    Raises:
        InputError: the network cannot be exported, or its scores differ from the checkpoint's; then no file is left.
    """
    programs = packed_programs(checkpoint)
    size, difference = write_programs(path, programs, metadata(checkpoint), checkpoint, programs)
    matrices = [matrix for name in programs for matrix in _matrices(PROGRAMS[name].model(checkpoint))]
    return {
        "model": str(path),
        "bytes": size,
        "weight_bytes": sum(layer.block.numel() for layers in programs.values() for layer in layers),
        "number_format": checkpoint.number_format,
        "weights": sum(matrix.numel() for matrix in matrices),
        "programs": list(programs),
        "difference": difference,
    }


def write_programs(
    path: Path,
    programs: Mapping[str, list[PackedLayer]],
    values: Mapping[str, Any],
    checkpoint: Checkpoint,
    own: Iterable[str],
) -> tuple[int, float]:
    """Writes a .pte file, if a recogniser takes it and `own` of its programs give the checkpoint's scores.

    Returns:
        Its bytes, and the greatest difference from the checkpoint's scores, see `check`.

    Raises:
        InputError: as `check`, and as `program_bytes`; the file is as it was.
    """
    content = program_bytes(programs, values)
    differences = [
        check(Program(content, str(path), name), checkpoint, programs[name], PROGRAMS[name].scores) for name in own
    ]
    Recognizer.from_bytes(content, str(path)).close()
    with write_atomically(path) as temporary:
        temporary.write_bytes(content)
    return len(content), max(differences)


def _matrices(model: nn.Module | None) -> list[Tensor]:
    """Every weight matrix, quantised or not."""
    if model is None:
        return []
    quantized = [module.values for module in model.modules() if isinstance(module, QuantizedWeight)]
    return [*quantized, *(parameter for parameter in model.parameters() if parameter.dim() > 1)]


def check(
    program: Program,
    checkpoint: Checkpoint,
    layers: list[PackedLayer],
    scores: Callable[[Checkpoint, Tensor, State], Tensor],
) -> float:
    """Compares the program's scores with those of the eager operators (equal bits) and of the checkpoint (close).

    Args:
        scores: the checkpoint's, see `Source`.

    Returns:
        The difference from the checkpoint's scores: of a float model the greatest one, of a quantised one the mean over
        the scores' standard deviation.

    Raises:
        InputError: the scores differ by more than is allowed.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(CHECK_FRAMES, program.inputs, generator=generator)
    network = Network(layers)
    state = tuple(torch.rand(part.shape, generator=generator) - 0.5 for part in network.initial_state())
    whole, after = program.run(x, state)
    expected, *expected_after = network(x, *state)
    chunks, position, carried = [], 0, state
    while position < len(x):
        size = int(torch.randint(1, 50, (1,), generator=generator))
        chunk, carried = program.run(x[position : position + size], carried)
        chunks.append(chunk)
        position += size
    same = [(whole, expected), (torch.cat(chunks), expected), *zip(after, expected_after, strict=True)]
    same += zip(carried, expected_after, strict=True)
    if not all(torch.equal(left, right) for left, right in same):
        raise InputError(f"{program.name} does not give the scores of its operators; it was not written")
    with torch.inference_mode():
        reference = scores(checkpoint, x, state)
    if checkpoint.quantization:
        difference = float((whole - reference).abs().mean() / reference.std())
        close = difference <= QUANTIZED_TOLERANCE
    else:
        difference = float((whole - reference).abs().max())
        close = difference <= FLOAT_TOLERANCE
    if not close:
        raise InputError(f"{program.name} differs from the checkpoint by {difference:.2g}; it was not written")
    return difference
