"""Recurrent networks of any kind and direction in float64, and their input."""

import pytest
import torch
from torch import Tensor, nn

from tetraphone.train.network.layers import KINDS, Recurrent, State
from tetraphone.train.network.options import Direction

every_kind = pytest.mark.parametrize("kind", KINDS)
every_direction = pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
both_ways = pytest.mark.parametrize("direction", ["bi", "bi-shared"])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network(kind: str, direction: Direction = "uni", layers: int = 2, inputs: int = 8, hidden: int = 12) -> Recurrent:
    """In float64, with biases that are not zero."""
    generator = torch.Generator().manual_seed(1)
    built = KINDS[kind](inputs, hidden, layers, generator, direction=direction).double()
    assert built.bias is not None
    for bias in built.bias:
        nn.init.normal_(bias, std=0.5, generator=generator)
    return built


def random_state(of: Recurrent, batch: int) -> State:
    return tuple(random(*part.shape, seed=20 + i) for i, part in enumerate(of.initial_state(batch, random(1))))
