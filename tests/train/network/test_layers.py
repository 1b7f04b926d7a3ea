"""Recurrent layers: golden cells, numbers of parameters, padding, state, directions, dropout, refused sizes."""

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hamilton import Scalars, product
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

import tetraphone.train.network.layers
from tetraphone.common.errors import InputError
from tetraphone.quant.layers import QuantizedLinear, QuantizedRecurrent
from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.network.layers import (
    EIGHT_PRODUCTS_FROM,
    KINDS,
    LSTM,
    QLSTM,
    QRNN,
    RNN,
    Direction,
    QuaternionLinear,
    Recurrent,
    State,
    cell,
)
from tetraphone.train.network.model import AcousticModel, Checkpoint, NetworkOptions, load_checkpoint

Kind = Literal["rnn", "lstm", "qrnn", "qlstm"]

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


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def column(*quaternions: Scalars) -> Tensor:
    """A weight [4, rows, 1]."""
    return torch.tensor(quaternions, dtype=torch.float64).T[:, :, None]


def test_golden_qrnn_cell() -> None:
    cell = QRNN(4, 4, 1, torch.Generator()).double()
    assert cell.bias is not None
    with torch.no_grad():
        cell.weight_input[0].copy_(column((0.1, 0.2, 0.3, 0.4)))
        cell.weight_hidden[0].copy_(column((0.0, 1.0, 0.0, 0.0)))
        cell.bias[0].copy_(torch.tensor([0.6, -0.1, 0.0, 0.1], dtype=torch.float64))
    x = torch.tensor([[[1.0, 2.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]]], dtype=torch.float64)
    y, (last,) = cell(x)

    # Frame 1, h_0 = 0. W ⊗ x with W = .1 + .2i + .3j + .4k, x = 1 + 2i − k:
    #   r: .1·1 − .2·2 − .3·0 − .4·(−1) =  .1        x: .1·2 + .2·1 + .3·(−1) − .4·0 =  .1
    #   y: .1·0 − .2·(−1) + .3·1 + .4·2 = 1.3        z: .1·(−1) + .2·0 − .3·2 + .4·1 = −.3
    # plus b = .6 − .1i + .1k: .7, 0, 1.3, −.2.
    first = [math.tanh(0.7), 0.0, math.tanh(1.3), math.tanh(-0.2)]
    # Frame 2, x = j: W ⊗ j = −.3 − .4i + .1j + .2k, plus b: .3, −.5, .1, .3.
    # R = i: i ⊗ (r + xi + yj + zk) = −x + ri − zj + yk.
    second = [
        math.tanh(0.3 - first[1]),
        math.tanh(-0.5 + first[0]),
        math.tanh(0.1 - first[3]),
        math.tanh(0.3 + first[2]),
    ]
    torch.testing.assert_close(y[0], torch.tensor([first, second], dtype=torch.float64), rtol=0, atol=1e-15)
    assert torch.equal(last[0], y[:, 1])


def test_golden_qlstm_cell() -> None:
    cell = QLSTM(4, 4, 1, torch.Generator()).double()
    assert cell.bias is not None
    # Gates in the order i, f, c, o. Of W: .5 for i, 1 for f, i for c, j for o; of R: zero but for c, which has k.
    with torch.no_grad():
        cell.weight_input[0].copy_(column((0.5, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)))
        cell.weight_hidden[0].copy_(column((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0)))
        cell.bias[0].copy_(torch.tensor([0.0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2]))
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=torch.float64)
    h0, c0 = [0.1, 0.2, 0.3, 0.4], [1.0, -1.0, 0.5, 0.0]
    state = tuple(torch.tensor([[part]], dtype=torch.float64) for part in (h0, c0))
    y, (h, c) = cell(x, state)

    # i = σ(x/2); f = σ(x + 1).
    # i ⊗ x = −2 + 1i − 4j + 3k; k ⊗ h = −.4 − .3i + .2j + .1k; so c's pre-activation is −2.4, .7, −3.8, 3.1.
    # j ⊗ x = −3 + 4i + 1j − 2k, plus 2k from the bias: o = σ(−3, 4, 1, 0).
    i = [sigmoid(value) for value in (0.5, 1.0, 1.5, 2.0)]
    f = [sigmoid(value) for value in (2.0, 3.0, 4.0, 5.0)]
    g = [math.tanh(value) for value in (-2.4, 0.7, -3.8, 3.1)]
    o = [sigmoid(value) for value in (-3.0, 4.0, 1.0, 0.0)]
    new_c = [f[part] * c0[part] + i[part] * g[part] for part in range(4)]
    new_h = [o[part] * math.tanh(new_c[part]) for part in range(4)]
    torch.testing.assert_close(c[0, 0], torch.tensor(new_c, dtype=torch.float64), rtol=0, atol=1e-15)
    torch.testing.assert_close(h[0, 0], torch.tensor(new_h, dtype=torch.float64), rtol=0, atol=1e-15)
    assert torch.equal(y[0], h[0])


def by_scalars(cell: Recurrent, x: Tensor, state: list[list[Scalars]]) -> list[Scalars]:
    """The last hidden state of a single layer after x [frames, inputs], quaternion by quaternion: h = … ⊗ … + b."""
    w, r, (n, columns) = cell.weight_input[0], cell.weight_hidden[0], (cell.hidden // 4, cell.inputs // 4)
    assert cell.bias is not None
    bias = cell.bias[0].reshape(cell.gates, 4, n)

    def pre_activation(gate: int, row: int, frame: list[Scalars], h: list[Scalars]) -> Scalars:
        terms = [product(tuple(w[:, gate * n + row, k].tolist()), frame[k]) for k in range(columns)]
        terms += [product(tuple(r[:, gate * n + row, k].tolist()), h[k]) for k in range(n)]
        return tuple(sum(term[part] for term in terms) + bias[gate, part, row].item() for part in range(4))

    def split(function: Callable[[float], float], q: Scalars) -> list[float]:
        return [function(part) for part in q]

    h, *rest = state
    for values in x:
        frame = quaternions(values)
        gates = [[pre_activation(gate, row, frame, h) for row in range(n)] for gate in range(cell.gates)]
        if cell.gates == 1:
            h = [tuple(split(math.tanh, gates[0][row])) for row in range(n)]
            continue
        c = rest[0]
        i, f, o = ([split(sigmoid, gates[gate][row]) for row in range(n)] for gate in (0, 1, 3))
        g = [split(math.tanh, gates[2][row]) for row in range(n)]
        rest[0] = [tuple(f[q][p] * c[q][p] + i[q][p] * g[q][p] for p in range(4)) for q in range(n)]
        h = [tuple(o[q][p] * math.tanh(rest[0][q][p]) for p in range(4)) for q in range(n)]
    return h


def quaternions(planar: Tensor) -> list[Scalars]:
    return [tuple(q) for q in planar.reshape(4, -1).T.tolist()]


@pytest.mark.parametrize("kind", ["qrnn", "qlstm"])
def test_several_quaternions_are_planar(kind: str) -> None:
    cell = network(kind, layers=1)
    x, state = random(1, 4, 8), random_state(cell, 1)
    expected = by_scalars(cell, x[0], [quaternions(part[0, 0]) for part in state])
    y, _ = cell(x, state)
    torch.testing.assert_close(y[0, -1], torch.tensor(expected, dtype=torch.float64).T.flatten(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("kind", "oracle"), [("rnn", nn.RNN), ("lstm", nn.LSTM)])
@pytest.mark.parametrize("direction", ["uni", "bi"])
def test_real_layers_are_torchs(kind: str, oracle: type[nn.RNN | nn.LSTM], direction: Direction) -> None:
    ours = network(kind, direction)
    torchs = oracle(8, 12, 2, batch_first=True, bidirectional=direction == "bi").double()
    assert ours.bias is not None
    with torch.no_grad():
        for i in range(len(ours.bias)):
            suffix = f"l{i // ours.directions}" + ("_reverse" if i % ours.directions else "")
            getattr(torchs, f"weight_ih_{suffix}").copy_(ours.weight_input[i])
            getattr(torchs, f"weight_hh_{suffix}").copy_(ours.weight_hidden[i])
            getattr(torchs, f"bias_ih_{suffix}").copy_(ours.bias[i])
            getattr(torchs, f"bias_hh_{suffix}").zero_()
    x, state = random(3, 5, 8), random_state(ours, 3)
    y, after = ours(x, state)
    expected, expected_after = torchs(x, state if kind == "lstm" else state[0])
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(after, expected_after if kind == "lstm" else (expected_after,), rtol=0, atol=1e-14)


PRINTED: list[tuple[Kind, int, Direction, float]] = [
    ("rnn", 256, "uni", 1.0),
    ("rnn", 512, "uni", 2.8),
    ("rnn", 1024, "uni", 9.4),
    ("rnn", 2048, "uni", 33.4),
    ("qrnn", 64, "uni", 0.6),
    ("qrnn", 128, "uni", 1.4),
    ("qrnn", 256, "uni", 3.8),
    ("qrnn", 512, "uni", 11.2),
    ("lstm", 256, "bi-shared", 3.6),
    ("lstm", 512, "bi-shared", 12.6),
    ("lstm", 1024, "bi-shared", 46.2),
    ("lstm", 2048, "bi-shared", 176.3),
    ("qlstm", 64, "bi-shared", 1.6),
    ("qlstm", 128, "bi-shared", 4.6),
    ("qlstm", 256, "bi-shared", 14.4),
    ("qlstm", 512, "bi-shared", 49.9),
]
"""The paper's table: neurons (quaternions in the Q-models) and millions of parameters."""


@pytest.mark.parametrize(("kind", "neurons", "direction", "millions"), PRINTED)
def test_numbers_of_parameters_of_the_papers_tables(
    kind: Kind, neurons: int, direction: Direction, millions: float
) -> None:
    n = 4 * neurons if kind.startswith("q") else neurons
    with torch.device("meta"):
        model = AcousticModel(NetworkOptions(kind, n, 4, direction), 160, 1757, torch.Generator())
    count = sum(parameter.numel() for parameter in model.parameters())
    gates, share = (4 if kind.endswith("lstm") else 1), (4 if kind.startswith("q") else 1)
    outputs_of_layer = n if direction == "uni" else 2 * n
    # A layer of N reals: gates · N · (inputs + N) weights, a quarter of them in a Q-model, and a bias for each real.
    recurrent = sum(gates * (n * (inputs + n) // share + n) for inputs in (160, *3 * [outputs_of_layer]))
    assert count == recurrent + 1757 * (outputs_of_layer + 1)
    assert count / 1e6 == pytest.approx(millions, rel=0.05)


@every_kind
def test_numbers_of_parameters_of_directions_and_biases(kind: str) -> None:
    def count(direction: Direction, bias: bool) -> int:
        built = KINDS[kind](8, 12, 1, torch.Generator(), direction=direction, bias=bias)
        return sum(parameter.numel() for parameter in built.parameters())

    biases = KINDS[kind].gates * 12
    assert count("uni", True) == count("uni", False) + biases
    assert count("bi", True) == 2 * count("uni", True)
    assert count("bi-shared", True) == count("uni", True)


@every_kind
def test_no_bias_is_a_bias_of_zero(kind: str) -> None:
    without, zero = (KINDS[kind](8, 12, 2, torch.Generator().manual_seed(2), bias=bias) for bias in (False, True))
    x = random(2, 5, 8).float()
    torch.testing.assert_close(without(x), zero(x), rtol=0, atol=1e-6)


def pad(x: Tensor, lengths: list[int], filler: float) -> Tensor:
    """Everything behind each utterance's end is `filler`."""
    behind = torch.arange(x.shape[1]) >= torch.tensor(lengths)[:, None]
    return x.masked_fill(behind[..., None], filler)


@every_kind
@every_direction
@pytest.mark.parametrize("filler", [0.0, 3.0, -1e6, math.inf, math.nan])
def test_padding_changes_nothing(kind: str, direction: Direction, filler: float) -> None:
    of, lengths = network(kind, direction), [7, 3, 1, 6]
    x, state = pad(random(4, 9, 8), lengths, filler), random_state(of, 4)
    y, after = of(x, state, torch.tensor(lengths))
    for i, length in enumerate(lengths):
        alone, alone_after = of(x[i : i + 1, :length], tuple(part[:, i : i + 1] for part in state))
        torch.testing.assert_close(y[i : i + 1, :length], alone, rtol=0, atol=1e-14)
        torch.testing.assert_close(tuple(part[:, i : i + 1] for part in after), alone_after, rtol=0, atol=1e-14)
        assert not y[i, length:].any()


@every_kind
@every_direction
@pytest.mark.parametrize("filler", [3.0, math.nan])
def test_padding_changes_no_gradient(kind: str, direction: Direction, filler: float) -> None:
    of, lengths = network(kind, direction), [5, 2]
    x = pad(random(2, 7, 8), lengths, filler)
    y, after = of(x, lengths=torch.tensor(lengths))
    padded = torch.autograd.grad(y.sin().sum() + sum(part.sin().sum() for part in after), list(of.parameters()))
    total = torch.zeros((), dtype=torch.float64)
    for i, length in enumerate(lengths):
        y, after = of(x[i : i + 1, :length])
        total = total + y.sin().sum() + sum(part.sin().sum() for part in after)
    torch.testing.assert_close(padded, torch.autograd.grad(total, list(of.parameters())), rtol=0, atol=1e-12)


@every_kind
@every_direction
def test_padding_changes_no_score(kind: Kind, direction: Direction) -> None:
    model = AcousticModel(NetworkOptions(kind, 12, 2, direction), 8, 5, torch.Generator().manual_seed(3)).eval()
    x, lengths = random(3, 6, 8).float(), [6, 2, 4]
    scores = model.scores(x, torch.tensor(lengths))
    for i, length in enumerate(lengths):
        alone = model.scores(x[i : i + 1, :length], torch.tensor([length]))
        torch.testing.assert_close(scores[i : i + 1, :length], alone, rtol=0, atol=1e-6)


@every_kind
def test_state_carried_across_chunks_is_the_whole(kind: str) -> None:
    of, x = network(kind), random(2, 12, 8)
    state = random_state(of, 2)
    whole, after = of(x, state)
    chunks = []
    for chunk in x.split([1, 4, 2, 5], dim=1):
        y, state = of(chunk, state)
        chunks.append(y)
    torch.testing.assert_close(torch.cat(chunks, dim=1), whole, rtol=0, atol=1e-14)
    torch.testing.assert_close(state, after, rtol=0, atol=1e-14)


@every_kind
def test_state_starts_at_zero_and_is_not_kept(kind: str) -> None:
    of, x = network(kind), random(2, 5, 8)
    first, _ = of(x)
    again, _ = of(x, tuple(torch.zeros_like(part) for part in of.initial_state(2, x)))
    assert torch.equal(first, again)
    assert len(of.initial_state(2, x)) == (2 if "lstm" in kind else 1)
    assert all(part.shape == (2, 2, 12) for part in of.initial_state(2, x))


def halves(of: Recurrent, y: Tensor) -> tuple[Tensor, Tensor]:
    """The forward and backward direction of outputs: of each component in a quaternion network, else of the vector."""
    by_direction = y.unflatten(-1, (4 if of.quaternion else 1, 2, -1))
    return by_direction[..., 0, :].flatten(-2), by_direction[..., 1, :].flatten(-2)


@every_kind
@both_ways
def test_backward_direction_reads_the_future(kind: str, direction: Direction) -> None:
    of, x = network(kind, direction, layers=1), random(1, 6, 8)
    changed = x.clone()
    changed[0, 4] += 1
    (forward, backward), (forward_changed, backward_changed) = halves(of, of(x)[0]), halves(of, of(changed)[0])
    assert torch.equal(forward[0, :4], forward_changed[0, :4])
    assert (forward[0, 4:] != forward_changed[0, 4:]).all()
    assert (backward[0, :5] != backward_changed[0, :5]).all()
    assert torch.equal(backward[0, 5], backward_changed[0, 5])


@every_kind
def test_uni_reads_no_future(kind: str) -> None:
    of, x = network(kind), random(1, 6, 8)
    changed = x.clone()
    changed[0, 4] += 1
    y, y_changed = of(x)[0], of(changed)[0]
    assert torch.equal(y[0, :4], y_changed[0, :4])
    assert (y[0, 4:] != y_changed[0, 4:]).any(dim=-1).all()


@every_kind
@both_ways
def test_bi_is_two_networks_planar_side_by_side(kind: str, direction: Direction) -> None:
    of, x = network(kind, direction, layers=1), random(2, 6, 8)
    state = random_state(of, 2)
    y, after = of(x, state)
    assert y.shape == (2, 6, 24)
    assert of.bias is not None
    for backward, half in enumerate(halves(of, y)):
        alone, index = network(kind, layers=1), backward if direction == "bi" else 0
        assert alone.bias is not None
        with torch.no_grad():
            alone.weight_input[0].copy_(of.weight_input[index])
            alone.weight_hidden[0].copy_(of.weight_hidden[index])
            alone.bias[0].copy_(of.bias[index])
        expected, expected_after = alone(x.flip(1) if backward else x, tuple(part[backward, None] for part in state))
        torch.testing.assert_close(half, expected.flip(1) if backward else expected, rtol=0, atol=1e-14)
        torch.testing.assert_close(tuple(part[backward, None] for part in after), expected_after, rtol=0, atol=1e-14)


@every_direction
def test_direction_is_saved_with_the_model(direction: Direction, tmp_path: Path) -> None:
    features = FeatureOptions(bands=3, stack=1, stride=1)
    options, statistics = NetworkOptions("qlstm", 8, 2, direction), np.ones(12, np.float32)
    model = AcousticModel(options, 12, 40, torch.Generator().manual_seed(4)).eval()
    Checkpoint(model, options, features, Normalisation(statistics, statistics)).save(tmp_path / "model.pt")
    loaded = load_checkpoint(tmp_path / "model.pt")
    assert loaded.network.direction == direction
    assert isinstance(loaded.model, AcousticModel)
    assert loaded.model.recurrent.direction == direction
    x, lengths = random(1, 5, 12).float(), torch.tensor([5])
    assert torch.equal(loaded.model.eval().scores(x, lengths), model.scores(x, lengths))


@every_kind
def test_dropout_acts_between_layers_in_training_alone(kind: str) -> None:
    def build(layers: int, dropout: float) -> Recurrent:
        return KINDS[kind](8, 12, layers, torch.Generator().manual_seed(5), dropout=dropout)

    x = random(2, 5, 8).float()
    none, some = build(2, 0.0), build(2, 0.5)
    assert not torch.equal(some(x)[0], some(x)[0])
    assert torch.equal(none(x)[0], none(x)[0])
    # Not before the first layer nor behind the last.
    torch.testing.assert_close(build(1, 0.5)(x), build(1, 0.0)(x), rtol=0, atol=0)
    assert some(x)[0].all()
    torch.testing.assert_close(some.eval()(x), none.eval()(x), rtol=0, atol=0)


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


def test_compiled_layers_learn_and_infer_as_they_are() -> None:
    """By the tracing that every backend of torch.compile begins with; it needs no compiler on the machine. In
    float32, where torch has oneDNN's kernels."""
    torch.compiler.reset()
    layer, x = network("qlstm", layers=1).float(), random(2, 3, 8).float()
    compiled = torch.compile(layer, backend="aot_eager")
    weights = list(layer.parameters())
    found, expected = (torch.autograd.grad(run(x)[0].sin().sum(), weights) for run in (compiled, layer))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), layer(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["lstm", "rnn"])
def test_the_cell_in_plain_operators_is_torchs(kind: str) -> None:
    """What the quantised layers and the LiteRT file compute, against torch's own cells."""
    torchs = {"lstm": nn.LSTMCell, "rnn": nn.RNNCell}[kind](8, 12).double()
    x, state = random(3, 8), tuple(random(3, 12, seed=seed) for seed in range(1, 3 if kind == "lstm" else 2))
    sums = x @ torchs.weight_ih.T + torchs.bias_ih + state[0] @ torchs.weight_hh.T + torchs.bias_hh
    expected = torchs(x, state if kind == "lstm" else state[0])
    torch.testing.assert_close(cell(sums, state), expected if kind == "lstm" else (expected,), rtol=0, atol=1e-14)


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one at each call of the eight products."""
    calls: list[int] = []

    def counted(*arguments: Tensor) -> Tensor:
        calls.append(1)
        return original(*arguments)

    original = tetraphone.train.network.layers.eight_products
    monkeypatch.setattr(tetraphone.train.network.layers, "eight_products", counted)
    return calls


def wide(inputs: int = 512, outputs: int = 512) -> QuaternionLinear:
    layer = QuaternionLinear(inputs, outputs, torch.Generator().manual_seed(0))
    assert layer.bias is not None
    nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(1))
    return layer


def test_wide_linear_layers_train_in_eight_products(products: list[int]) -> None:
    x = random(2, 3, 512).float()
    trained = wide()(x)
    assert len(products) == 1
    assert EIGHT_PRODUCTS_FROM == 512 * 512
    for narrow in (wide(512, 508), wide(508, 512), wide(256, 256)):
        narrow(x[..., : narrow.weight.shape[2] * 4])
    torch.testing.assert_close(wide().eval()(x), trained, rtol=0, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(wide()(x), trained, rtol=0, atol=1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        assert wide()(x).dtype == torch.bfloat16
    assert len(products) == 1


def test_wide_linear_layers_train_to_the_same_gradients(products: list[int]) -> None:
    layer, x = wide().double(), random(5, 512)
    ours = torch.autograd.grad(layer(x).sin().sum(), list(layer.parameters()))
    theirs = torch.autograd.grad(layer.eval()(x).sin().sum(), list(layer.parameters()))
    assert len(products) == 1
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_wide_linear_layers_export_as_one_product(training: bool, products: list[int]) -> None:
    program = torch.export.export(wide().train(training), (random(3, 512).float(),))
    calls = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert calls.count("aten.linear.default") == 1
    assert not any("bmm" in call for call in calls)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert wide().train(training)(mode.from_tensor(random(3, 512).float())).shape == (3, 512)
    assert not products
