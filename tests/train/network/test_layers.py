"""What recurrent and linear layers compute: golden cells, torch's layers, numbers of parameters, dropout, products."""

import math
from collections.abc import Callable
from typing import get_args

import pytest
import torch
from hamilton import Scalars, product
from networks import every_kind, network, random, random_state
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

import tetraphone.train.network.layers
from tetraphone.train.network.kinds import LAYER_KINDS, KindName
from tetraphone.train.network.layers import (
    EIGHT_PRODUCTS_FROM,
    KINDS,
    QLSTM,
    QRNN,
    QuaternionLinear,
    Recurrent,
)
from tetraphone.train.network.model import AcousticModel
from tetraphone.train.network.options import Direction, NetworkOptions


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


PRINTED: list[tuple[KindName, int, Direction, float]] = [
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
    kind: KindName, neurons: int, direction: Direction, millions: float
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

    biases = LAYER_KINDS[kind].gates * 12
    assert count("uni", True) == count("uni", False) + biases
    assert count("bi", True) == 2 * count("uni", True)
    assert count("bi-shared", True) == count("uni", True)


@every_kind
def test_no_bias_is_a_bias_of_zero(kind: str) -> None:
    without, zero = (KINDS[kind](8, 12, 2, torch.Generator().manual_seed(2), bias=bias) for bias in (False, True))
    x = random(2, 5, 8).float()
    torch.testing.assert_close(without(x), zero(x), rtol=0, atol=1e-6)


@every_kind
def test_dropout_acts_between_layers_in_training_alone(kind: str) -> None:
    def build(layers: int, dropout: float) -> Recurrent:
        built = KINDS[kind](8, 12, layers, torch.Generator().manual_seed(5), dropout=dropout)
        with torch.no_grad():  # without a bias, a first step whose inputs are all dropped gives zeros by itself
            for weight in built.parameters():
                if weight.dim() == 1:
                    weight.fill_(0.1)
        return built

    x = random(2, 5, 8).float()
    none, some = build(2, 0.0), build(2, 0.5)
    assert not torch.equal(some(x)[0], some(x)[0])
    assert torch.equal(none(x)[0], none(x)[0])
    # Not before the first layer nor behind the last.
    torch.testing.assert_close(build(1, 0.5)(x), build(1, 0.0)(x), rtol=0, atol=0)
    assert some(x)[0].all()
    torch.testing.assert_close(some.eval()(x), none.eval()(x), rtol=0, atol=0)


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
    expected = torchs(x, state) if kind == "lstm" else (torchs(x, state[0]),)
    torch.testing.assert_close(LAYER_KINDS[kind].cell(sums, state), expected, rtol=0, atol=1e-14)


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


def test_the_table_of_kinds_is_that_of_the_classes() -> None:
    assert list(KINDS) == list(LAYER_KINDS)
    assert {name: layer.kind for name, layer in KINDS.items()} == LAYER_KINDS
    assert {name: layer.__name__ for name, layer in KINDS.items()} == {name: name.upper() for name in LAYER_KINDS}
    assert get_args(KindName) == tuple(LAYER_KINDS)
