"""Untrained models for tests of quantisation and export, and layers packed by hand."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tetraphone.common.phones import ARPABET
from tetraphone.export.operators import LINEAR, OPERATORS, pack
from tetraphone.export.program import FORWARD, Metadata, PackedLayer, program_bytes
from tetraphone.export.writer import metadata, packed_layers, packed_programs
from tetraphone.quant.formats import Format
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.quant.weights import QuantizedWeight
from tetraphone.recognition.confidence import Confidence
from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.network.aligner import SUB_FRAMES, AlignerHead
from tetraphone.train.network.layers import Recurrent
from tetraphone.train.network.model import AcousticModel, Checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.network.scorer import ScorerHead

FORMATS = tuple(number_format.name.lower() for number_format in Format)


def make_checkpoint(
    number_format: str = "float32",
    kind: str = "qlstm",
    hidden: int = 32,
    layers: int = 2,
    direction: str = "uni",
    features: FeatureOptions | None = None,
    aligner: bool = False,
    scorer: bool = False,
) -> Checkpoint:
    """The same weights for the same options, biases too; if it is to align, with a head over rows and two features; one
    that scores does so by chance."""
    features = features or FeatureOptions(bands=8, stack=1, stride=1)
    network = NetworkOptions(kind, hidden, layers, direction)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(3)
    model = AcousticModel(network, features.inputs, len(ARPABET) + 1, generator)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_(0.0, 0.3, generator=generator)
    random = np.random.default_rng(3)
    statistics = random.uniform(0.5, 2.0, (2, 4 * features.bands)).astype(np.float32)
    checkpoint = Checkpoint(model.eval(), network, features, Normalisation(statistics[0], statistics[1]))
    if aligner:
        rows = SUB_FRAMES * (len(ARPABET) + 1)
        weight = 0.1 * torch.randn(rows, 3 * hidden + 2, generator=generator)  # no phone so unlikely as to be dropped
        bias = torch.randn(rows, generator=generator)
        head = AlignerHead(weight, bias, rows=3, features=2, delay=1, shift=0.0125)
        checkpoint = replace(checkpoint, aligner=head)
    if scorer:
        checkpoint = replace(checkpoint, scorer=scorer_head(generator))
    if number_format == "float32":
        return checkpoint
    return quantize(checkpoint, QuantizeOptions(number_format))[0]  # type: ignore[arg-type]


def scorer_head(generator: torch.Generator) -> ScorerHead:
    """One by chance, whose scores are about 1."""
    head = ScorerHead(len(ARPABET), 8, generator)
    with torch.no_grad():
        for layer in (head.ahead, head.back):
            layer.bias[0].normal_(0.0, 0.3, generator=generator)
        head.output.bias.normal_(1.0, 0.1, generator=generator)
        head.mean.normal_(0.0, 0.3, generator=generator)
        head.deviation.uniform_(0.5, 2.0, generator=generator)
    return head.eval()


def pack_weight(weight: Tensor, number_format: str) -> tuple[tuple[Tensor, Tensor | None], Tensor]:
    """Values and scales as `pack` takes them, and the matrix that they stand for, float64."""
    if number_format == "float32":
        return (weight.detach(), None), weight.detach().double()
    quantized = QuantizedWeight(weight, number_format)  # type: ignore[arg-type]
    return (quantized.values, quantized.scales), quantized.dequantized()


def pack_recurrent(stack: Recurrent, number_format: str = "float32") -> Tensor:
    """The first layer of a float stack as a packed block."""
    assert stack.bias is not None
    operator = OPERATORS[stack.kind.operator]
    weights = [pack_weight(weight[0], number_format)[0] for weight in (stack.weight_input, stack.weight_hidden)]
    return pack(operator, Format[number_format.upper()], stack.inputs, stack.hidden, *weights, stack.bias[0])


def hand_made(
    weight: np.ndarray,
    bias: np.ndarray,
    features: FeatureOptions,
    normalisation: Normalisation,
    confidence: Confidence | None = None,
) -> bytes:
    """A .pte file of one real layer: scores = weight · input + bias, [phones + 1, inputs], blank first."""
    outputs = len(weight)
    phones = tuple(f"P{index}" for index in range(outputs - 1))
    checkpoint = make_checkpoint(hidden=4, layers=1)
    whole = Checkpoint(
        checkpoint.model, checkpoint.network, features, normalisation, phones, confidence=confidence or Confidence()
    )
    values = torch.from_numpy(weight.astype(np.float32))
    block = pack(
        LINEAR,
        Format.FLOAT32,
        features.inputs,
        outputs,
        (values, None),
        None,
        torch.from_numpy(bias.astype(np.float32)),
    )
    return program_bytes({FORWARD: [PackedLayer(LINEAR, outputs, block)]}, metadata(whole))


def random_layer(inputs: int, outputs: int, number_format: str = "float32") -> PackedLayer:
    """A real layer."""
    generator = torch.Generator().manual_seed(inputs + outputs)
    weight, _ = pack_weight(torch.randn(outputs, inputs, generator=generator), number_format)
    bias = torch.randn(outputs, generator=generator)
    block = pack(LINEAR, Format[number_format.upper()], inputs, outputs, weight, None, bias)
    return PackedLayer(LINEAR, outputs, block)


def several_programs() -> tuple[dict[str, list[PackedLayer]], Metadata]:
    """Programs and metadata of a small file: of a network, of heads that align and score, and of another network."""
    features = FeatureOptions(bands=4, stack=1, stride=1)
    checkpoint = make_checkpoint("int8", hidden=4, layers=1, features=features, aligner=True, scorer=True)
    other = packed_layers(make_checkpoint(kind="qrnn", hidden=8, features=features))
    return {**packed_programs(checkpoint), "other": other}, metadata(checkpoint)


def plain(bands: int, deviation: float = 1.0) -> Normalisation:
    return Normalisation(np.zeros(4 * bands, np.float32), np.full(4 * bands, deviation, np.float32))


def energy_program() -> bytes:
    """A .pte file that hears one phone, P0, wherever there is more than silence, every 10 ms."""
    features = FeatureOptions(stack=1, stride=1)
    weight = np.zeros((2, features.inputs))
    weight[1, : features.bands] = 1 / features.bands
    return hand_made(weight, np.array([0.0, 12.0]), features, plain(features.bands))
