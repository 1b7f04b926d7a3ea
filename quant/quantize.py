"""Quantising a trained model: torchao finds the layers, our quantiser replaces them."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torchao.core.config import AOBaseConfig
from torchao.quantization import quantize_
from torchao.quantization.transform_module import register_quantize_module_handler

from tetraphone.common.errors import InputError
from tetraphone.train.network.layers import Recurrent
from tetraphone.train.network.model import HEADS, Checkpoint, from_content, read_content

from .formats import HEAD_FORMAT, WEIGHT_FORMATS, WeightFormat
from .layers import QuantizedLinear, QuantizedRecurrent
from .options import QuantizeOptions
from .weights import QuantizedWeight

REPLACEMENTS: dict[type[nn.Module], Callable[[Any, WeightFormat], nn.Module]] = {
    Recurrent: QuantizedRecurrent,
    nn.Linear: QuantizedLinear,
}


@dataclass
class QuaternionWeightConfig(AOBaseConfig):  # type: ignore[misc]
    """torchao's name for a way to quantise: our layers, weights in this format."""

    weights: WeightFormat


@register_quantize_module_handler(QuaternionWeightConfig)  # type: ignore[untyped-decorator]
def _replace_module(module: nn.Module, config: QuaternionWeightConfig) -> nn.Module:
    make = next(make for kind, make in REPLACEMENTS.items() if isinstance(module, kind))
    return make(module, config.weights)


def quantize(checkpoint: Checkpoint, options: QuantizeOptions) -> tuple[Checkpoint, int]:
    """The checkpoint with quantised weights, and how many weights were replaced; the model given is changed.

    Weights of the heads for known words are of HEAD_FORMAT.

    Raises:
        InputError: the network is real or bi-directional, or a weight is not finite.
        RuntimeError: a weight matrix was left float, by a fault of this module.
    """
    model, heads = checkpoint.to_ship().model.eval(), copy.deepcopy(checkpoint.heads)
    count = _quantize_weights(model, options.weights)
    count += sum(_quantize_weights(head, HEAD_FORMAT) for head in heads.values())
    return replace(checkpoint, model=model, quantization=options.weights, **heads), count  # type: ignore[arg-type]


def _quantize_weights(model: nn.Module, weights: WeightFormat) -> int:
    """Replaces the layers of a model; returns the number of weights."""
    matrices = sum(parameter.dim() > 1 for parameter in model.parameters())
    quantize_(
        model,
        QuaternionWeightConfig(weights),
        filter_fn=lambda module, name: isinstance(module, tuple(REPLACEMENTS)),
    )
    replaced = [module for module in model.modules() if isinstance(module, QuantizedWeight)]
    left = [name for name, parameter in model.named_parameters() if parameter.dim() > 1]
    if left or len(replaced) != matrices:
        raise RuntimeError(f"{len(replaced)} of {matrices} matrices were quantised, these left float: {left}")
    return sum(weight.values.numel() for weight in replaced)


def load(path: Path) -> Checkpoint:
    """A float or quantised checkpoint.

    Raises:
        InputError: the file is missing, damaged, or does not hold a whole model.
    """
    content = read_content(path)
    weight_format = content.get("quantization")
    if not weight_format:
        return from_content(content, path)
    if weight_format not in WEIGHT_FORMATS:
        raise InputError(f"{path} is quantised to {weight_format}; this version reads {', '.join(WEIGHT_FORMATS)}")
    weights = content["weights"]
    heads = {name: content[name] for name in HEADS if content.get(name)}
    without = {"weights": None, **{name: {**head, "weights": None} for name, head in heads.items()}}
    checkpoint, _ = quantize(from_content({**content, **without}, path), QuantizeOptions(weight_format))
    try:
        checkpoint.model.load_state_dict(weights, strict=True)
        for name, head in checkpoint.heads.items():
            head.load_state_dict(heads[name]["weights"], strict=True)
    except (RuntimeError, TypeError, KeyError) as error:
        raise InputError(f"{path} does not hold a whole model: {error}; quantise the checkpoint again") from error
    return checkpoint


def quantized_scores(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Scores [frames, outputs] of one utterance [frames, inputs]."""
    with torch.inference_mode():
        scores: torch.Tensor = model(x[None])[0][0]
    return scores
