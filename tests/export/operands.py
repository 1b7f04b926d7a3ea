"""Layers, states and input of the operators' tests."""

from typing import Any

import torch
from checkpoints import pack_weight
from torch import Tensor

from tetraphone.export.operators import Operator
from tetraphone.quant.formats import Format
from tetraphone.train.network.layers import KINDS, QLSTM, QRNN

ops = torch.ops.quaternion
SIZES = [(4, 4), (12, 20), (100, 36), (160, 64)]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def make_stack(kind: str, inputs: int, hidden: int) -> QLSTM | QRNN:
    stack = KINDS[kind](inputs, hidden, 1, generator())
    with torch.no_grad():
        stack.bias[0].normal_(0.0, 0.5, generator=generator())
    return stack.requires_grad_(False)


def make_state(stack: QLSTM | QRNN) -> tuple[Tensor, ...]:
    return tuple(torch.rand(stack.parts, stack.hidden, generator=generator()).mul(1.6).sub(0.8).unbind())


def layer_arguments(operator: Operator, number_format: str, inputs: int = 36, outputs: int = 44) -> tuple[Any, ...]:
    """What `pack` takes, of random weights."""
    rows, components = operator.gates * outputs, 4 if operator.quaternion else 1
    weights: list[Any] = []
    for columns in (inputs, outputs) if operator.states else (inputs,):
        shape = (rows // components, columns // components)
        weights.append(pack_weight(random(*(4, *shape) if operator.quaternion else shape), number_format)[0])
    hidden = weights[1] if operator.states else None
    return operator, Format[number_format.upper()], inputs, outputs, weights[0], hidden, random(rows)
