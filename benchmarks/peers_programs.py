"""The networks that kernels.py compares, with the same weights: ours and, block matrices expanded, the peers'."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from tetraphone.export.program import FORWARD, program_bytes
from tetraphone.export.tflite import Expanded
from tetraphone.export.writer import packed_layers
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.network.model import AcousticModel, Checkpoint
from tetraphone.train.network.options import NetworkOptions


@dataclass(frozen=True)
class Case:
    """A stack of LSTM layers."""

    layers: int
    quaternions: int
    """Of a hidden state; four times as many reals."""
    input_quaternions: int
    frames: int
    """In one call."""


def checkpoint(case: Case) -> Checkpoint:
    """Random weights and biases, the same for the same case."""
    network = NetworkOptions("qlstm", 4 * case.quaternions, case.layers)
    features = FeatureOptions(bands=case.input_quaternions, stack=1, stride=1)
    generator = torch.Generator().manual_seed(0)
    model = AcousticModel(network, features.inputs, 1, generator).eval()
    with torch.no_grad():
        for bias in model.recurrent.bias or ():
            bias.normal_(0.0, 0.1, generator=generator)
    return Checkpoint(model, network, features, Normalisation(np.zeros(1), np.ones(1)), phones=())


def expanded(case: Case) -> Expanded:
    """The same network as LSTM cells of real matrices, written by hand."""
    return Expanded(checkpoint(case).model.recurrent, nn.Identity()).eval()  # type: ignore[arg-type]


def input_frames(case: Case) -> Tensor:
    """x [frames, reals]."""
    return torch.randn(case.frames, 4 * case.input_quaternions, generator=torch.Generator().manual_seed(1))


def write_ours(case: Case, number_format: str, path: Path) -> int:
    """Writes our program without an output layer; returns the bytes of its weights."""
    made = checkpoint(case)
    if number_format != "float32":
        made, _ = quantize(made, QuantizeOptions(number_format))  # type: ignore[arg-type]
    layers = packed_layers(made)[:-1]
    path.write_bytes(program_bytes({FORWARD: layers}, {}))
    return sum(layer.block.numel() for layer in layers)


def write_xnnpack(case: Case, number_format: str, path: Path) -> None:
    """Writes the cells by hand, lowered to XNNPACK; int8 by PT2E's dynamic quantisation, a scale for each channel."""
    cells = expanded(case)
    example = (input_frames(case), *cells.initial_state())
    partitioners = [XnnpackPartitioner()]
    program = torch.export.export(cells, example, strict=False)
    if number_format == "int8":
        quantizer = XNNPACKQuantizer()
        quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
        prepared = prepare_pt2e(program.module(), quantizer)
        prepared(*example)
        program = torch.export.export(convert_pt2e(prepared), example, strict=False)
        partitioners = [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lowered = to_edge_transform_and_lower(program, partitioner=partitioners)
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    path.write_bytes(lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning)).buffer)
