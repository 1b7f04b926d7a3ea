"""What layers refuse: sizes, arguments, input, states, lengths."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from networks import every_direction, every_kind, network, random
from torch import nn

from tetraphone.common.errors import InputError
from tetraphone.quant.layers import QuantizedLinear, QuantizedRecurrent
from tetraphone.train.network.layers import KINDS, LSTM, QLSTM, QRNN, RNN, QuaternionLinear
from tetraphone.train.network.model import AcousticModel
from tetraphone.train.network.options import Direction, NetworkOptions


def test_sizes_that_are_not_whole_quaternions_are_refused() -> None:
    for kind in (QRNN, QLSTM):
        with pytest.raises(InputError, match=r"inputs is 262 reals.* multiple of 4"):
            kind(262, 8, 1, torch.Generator())
        with pytest.raises(InputError, match=r"hidden is 262 reals.* multiple of 4"):
            kind(8, 262, 1, torch.Generator())
    for real in (RNN, LSTM):
        assert real(262, 6, 1, torch.Generator())(torch.ones(1, 2, 262))[0].shape == (1, 2, 6)


@every_kind
def test_sizes_below_one_are_refused(kind: str) -> None:
    for inputs, hidden, layers in ((0, 4, 1), (4, 0, 1), (4, 4, 0), (4, -4, 1)):
        with pytest.raises(InputError, match=f"{inputs}, {hidden}, {layers}"):
            KINDS[kind](inputs, hidden, layers, torch.Generator())


RECURRENT: dict[str, Any] = {"inputs": 8, "hidden": 8, "layers": 1, "generator": torch.Generator()}
LINEAR: dict[str, Any] = {"inputs": 8, "outputs": 8, "generator": torch.Generator()}
MODEL: dict[str, Any] = {
    "options": NetworkOptions("lstm", 8, 1),
    "inputs": 8,
    "outputs": 3,
    "generator": torch.Generator(),
}
SOURCES = {"generator": (None, 3), "bias": (None, 1), "initialisation": (None, "glorot")}
ARGUMENTS: list[tuple[Callable[..., object], dict[str, Any], dict[str, tuple[Any, ...]]]] = [
    *(
        (
            kind,
            RECURRENT,
            {
                **dict.fromkeys(("inputs", "hidden", "layers"), ("8", 8.0, True, None)),
                "direction": ("both", None, 1),
                "dropout": (2.0, 1.0, -0.1, math.nan, "0.1", None),
                **SOURCES,
            },
        )
        for kind in KINDS.values()
    ),
    (QuaternionLinear, LINEAR, {**dict.fromkeys(("inputs", "outputs"), ("8", 8.0, None, 6, 0)), **SOURCES}),
    (AcousticModel, MODEL, {"options": (None, "lstm"), "inputs": ("8", 0), "outputs": ("3", 0), "generator": (None,)}),
    (QuantizedRecurrent, {"layers": QRNN(8, 8, 1, torch.Generator()), "weight_format": "int8"}, {"layers": (None,)}),
    (
        QuantizedLinear,
        {"layer": nn.Linear(8, 8), "weight_format": "int8"},
        {"layer": (None,), "weight_format": ("int3",)},
    ),
]


@pytest.mark.parametrize(("make", "right", "wrong"), ARGUMENTS, ids=lambda value: getattr(value, "__name__", ""))
def test_arguments_of_layers_are_checked_where_they_are_made(
    make: Callable[..., object], right: dict[str, Any], wrong: dict[str, tuple[Any, ...]]
) -> None:
    make(**right)
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(InputError, match=rf"{name}\b.* (is|are) .*{re.escape(repr(value))}"):
                make(**{**right, name: value})


@every_kind
def test_input_without_frames_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match=re.escape("(2, 0, 8) has no frame")):
        network(kind)(random(2, 0, 8))


@every_kind
def test_input_of_another_width_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match=r"the input is of type ndarray; give a torch\.Tensor"):
        network(kind)(np.zeros((2, 5, 8)))
    for shape in ((2, 5, 12), (5, 8)):
        with pytest.raises(InputError, match=re.escape(f"{shape}; the layer takes [batch, frames, 8]")):
            network(kind)(torch.zeros(shape, dtype=torch.float64))


def quantized(kind: str) -> QuantizedRecurrent:
    return QuantizedRecurrent(KINDS[kind](8, 12, 2, torch.Generator()), "int8")


STACKS: dict[str, Callable[[], nn.Module]] = {
    **{f"{kind} {way}": partial(network, kind, way) for kind in KINDS for way in ("uni", "bi", "bi-shared")},
    "wide qlstm": partial(network, "qlstm", layers=1, hidden=516),
    **{f"quantised {kind}": partial(quantized, kind) for kind in ("qlstm", "qrnn")},
    "acoustic model": lambda: AcousticModel(NetworkOptions("qlstm", 12, 2), 8, 5, torch.Generator()),
}
every_stack = pytest.mark.parametrize("stack", STACKS)


@every_stack
def test_states_that_do_not_belong_to_the_layer_or_the_batch_are_refused(stack: str) -> None:
    built = STACKS[stack]()
    like = next(built.parameters())
    _, right = built(like.new_zeros(3, 2, 8))
    x = like.new_zeros(5, 2, 8)
    shape = tuple(right[0].shape)
    for wrong in (
        right,
        tuple(part[:1] for part in right),
        tuple(part.new_zeros(shape[0], 5, shape[2] + 4) for part in right),
        tuple(part[:, 0] for part in right),
        (*right, right[0]),
        right[:-1],
    ):
        takes = re.escape(str((shape[0], 5, shape[2])))
        found = re.escape(", ".join(str(tuple(part.shape)) for part in wrong))
        with pytest.raises(InputError, match=rf"state of shape {found} for input of shape \(5, 2, 8\).*{takes}"):
            built(x, wrong)
    for wrong, kinds in (
        ((None, *right[1:]), "NoneType"),
        (tuple(part.detach().numpy() for part in right), "ndarray"),
        (right[0], "a Tensor"),
        ("h", "a str"),
    ):
        with pytest.raises(InputError, match=f"state of {kinds}.*; the layer takes a tuple of {len(right)} tensors"):
            built(x, wrong)
    fitting = tuple(part.new_zeros(shape[0], 5, shape[2]) for part in right)
    other = torch.float32 if like.dtype == torch.float64 else torch.float64
    for wrong, says in (
        ((fitting[0].to(other), *fitting[1:]), f"the state is {other} on cpu, the input {like.dtype} on cpu"),
        ((*fitting[:-1], fitting[-1].to("meta")), f"the state is {like.dtype} on meta, the input {like.dtype} on cpu"),
    ):
        with pytest.raises(InputError, match=says):
            built(x, wrong)
    built(x, fitting)


@every_stack
def test_input_of_another_type_or_device_is_refused(stack: str) -> None:
    built = STACKS[stack]()
    like = next(built.parameters())
    for x in (torch.zeros(3, 2, 8, dtype=torch.float16), like.new_zeros(3, 2, 8).to("meta")):
        with pytest.raises(InputError, match=f"the input is {x.dtype} on {x.device}, the layer {like.dtype} on cpu"):
            built(x)


@every_kind
@every_direction
@pytest.mark.parametrize("lengths", [[2, 0], [2, 4], [2], [2, 2, 2], [2.0, 1.0], [[2, 2]]])
def test_lengths_that_the_batch_does_not_have_are_refused(kind: str, direction: Direction, lengths: list[Any]) -> None:
    for given in (lengths, torch.tensor(lengths)):
        with pytest.raises(InputError, match="lengths"):
            network(kind, direction)(random(2, 3, 8), lengths=given)


@pytest.mark.parametrize("lengths", [[2, None], "23", 3, ["2", "3"], [[2], [3, 1]]])
def test_lengths_that_are_no_numbers_are_refused(lengths: Any) -> None:
    with pytest.raises(InputError, match=r"lengths are .*; give 2 whole numbers"):
        network("qlstm")(random(2, 3, 8), lengths=lengths)


@pytest.mark.parametrize("kind", ["qlstm", "qrnn", "lstm", "rnn"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_lengths_of_any_whole_type_are_places(kind: str, dtype: torch.dtype) -> None:
    layer, x, lengths = network(kind, "uni"), random(5, 5, 8), torch.tensor([2, 3, 4, 5, 2])
    _, expected = layer(x, lengths=lengths)
    for given in (lengths.to(dtype), lengths.tolist(), lengths.numpy()):
        _, state = layer(x, lengths=given)
        for ours, theirs in zip(state, expected, strict=True):
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("inputs", [8, 512, 1024])
@pytest.mark.parametrize("training", [True, False])
def test_linear_input_of_another_width_type_or_device_is_refused(inputs: int, training: bool) -> None:
    layer = QuaternionLinear(inputs, inputs, torch.Generator()).train(training)
    for width in (inputs - 4, inputs + 4, inputs // 2, 2 * inputs, 1):
        with pytest.raises(InputError, match=re.escape(f"(2, {width}); the layer takes […, {inputs}]")):
            layer(torch.zeros(2, width))
    with pytest.raises(InputError, match=r"\(\); the layer takes"):
        layer(torch.zeros(()))
    with pytest.raises(InputError, match=r"float64 on cpu, the layer torch\.float32 on cpu"):
        layer(torch.zeros(2, inputs, dtype=torch.float64))
    with pytest.raises(InputError, match="meta, the layer"):
        layer(torch.zeros(2, inputs, device="meta"))
