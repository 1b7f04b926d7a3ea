"""Initial weights: distributions (Algorithm 1, in both readings), reproducibility, nothing left uninitialised."""

import hashlib
import itertools
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Literal

import pytest
import torch
from torch import Tensor

from tetraphone.train.network.layers import KINDS, QLSTM, QRNN, QuaternionLinear, Recurrent
from tetraphone.train.network.model import AcousticModel
from tetraphone.train.network.options import Initialisation, NetworkOptions
from tetraphone.train.network.quaternion import block_matrix, initial_components, norm

ROWS, COLUMNS = 150, 250
CRITERIA: tuple[Literal["glorot", "he"], ...] = ("glorot", "he")
MODULI: tuple[Literal["chi", "uniform"], ...] = ("chi", "uniform")
AXES: tuple[Literal["paper", "centred"], ...] = ("paper", "centred")
READINGS = [Initialisation(*reading) for reading in itertools.product(CRITERIA, MODULI, AXES)]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_distributed(samples: Tensor, distribution: Callable[[Tensor], Tensor]) -> None:
    """The greatest distance of the empirical distribution from the exact one, for independent samples.

    Dvoretzky, Kiefer, Wolfowitz and Massart: it exceeds d with a probability of at most 2 exp(−2 n d²), here 1e-6.
    """
    ordered = samples.flatten().double().sort().values
    n = len(ordered)
    exact = distribution(ordered)
    step = torch.arange(n + 1, dtype=torch.float64) / n
    distance = torch.maximum((step[1:] - exact).abs().max(), (exact - step[:-1]).abs().max()).item()
    assert distance < math.sqrt(math.log(2 / 1e-6) / (2 * n))


def uniform(low: float, high: float) -> Callable[[Tensor], Tensor]:
    return lambda value: (value - low) / (high - low)


def sigma(criterion: str, columns: int, rows: int) -> float:
    """Sizes in quaternions."""
    return 1 / math.sqrt(2 * (columns + rows)) if criterion == "glorot" else 1 / math.sqrt(2 * columns)


def chi4(scale: float) -> Callable[[Tensor], Tensor]:
    """Of the length of a vector of four normal variables of that deviation: 1 − (1 + t) exp(−t), t = m²/(2 scale²)."""

    def distribution(modulus: Tensor) -> Tensor:
        t = modulus.square() / (2 * scale**2)
        return 1 - (1 + t) * torch.exp(-t)

    return distribution


def moduli(components: Tensor) -> Tensor:
    return norm(components.flatten(1).T.flatten(1))[:, 0]


@pytest.mark.parametrize("how", READINGS, ids=lambda how: f"{how.criterion}-{how.modulus}-{how.axis}")
def test_algorithm_1(how: Initialisation) -> None:
    components = initial_components(ROWS, COLUMNS, seeded(1), how)
    assert components.shape == (4, ROWS, COLUMNS)
    r, *imaginary = components.double().flatten(1)
    modulus, scale = moduli(components.double()), sigma(how.criterion, COLUMNS, ROWS)
    if how.modulus == "chi":
        assert_distributed(modulus, chi4(scale))
        # |w|² has mean 4σ² and variance 8σ⁴; five deviations of the mean over all weights.
        assert modulus.square().mean().item() == pytest.approx(
            4 * scale**2, abs=5 * scale**2 * math.sqrt(8 / len(modulus))
        )
    else:
        assert_distributed(modulus, uniform(0, scale))
        assert modulus.max() <= scale * (1 + 1e-6)
        # Twelve times less: φ² has mean σ²/3 and variance 4σ⁴/45.
        bound = 5 * scale**2 * math.sqrt(4 / 45 / len(modulus))
        assert modulus.square().mean().item() == pytest.approx(scale**2 / 3, abs=bound)

    x, y, z = imaginary
    length = torch.stack(imaginary).square().sum(0).sqrt()
    # The sign of φ turns the angle by π, which leaves it uniform.
    angle = torch.atan2(length * x.sign(), r)
    if how.axis == "paper":
        assert torch.equal(x.sign(), y.sign())
        assert torch.equal(y.sign(), z.sign())
        for a, b in ((x, y), (y, z), (z, x)):
            # The quotient of two variables from U[0, 1].
            assert_distributed(a / b, lambda quotient: torch.where(quotient < 1, quotient / 2, 1 - 0.5 / quotient))
    else:
        for part in imaginary:
            # Archimedes: each coordinate of a point on the sphere is uniform.
            assert_distributed(part / length, uniform(-1, 1))
        octants = ((x > 0) * 4 + (y > 0) * 2 + (z > 0)).bincount(minlength=8) / len(x)
        # Five deviations of a frequency of 1/8.
        assert (octants - 1 / 8).abs().max() < 5 * math.sqrt(1 / 8 * 7 / 8 / len(x))
    assert_distributed(angle, uniform(-math.pi, math.pi))
    large = modulus > modulus.median()
    assert_distributed(angle[large], uniform(-math.pi, math.pi))
    assert_distributed(angle[~large], uniform(-math.pi, math.pi))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_layers_count_sizes_in_quaternions_gate_by_gate(criterion: Literal["glorot", "he"]) -> None:
    how = Initialisation(criterion=criterion)
    network = QLSTM(160, 256, 2, seeded(2), direction="bi", initialisation=how)
    assert_distributed(
        moduli(QuaternionLinear(160, 256, seeded(3), initialisation=how).weight), chi4(sigma(criterion, 40, 64))
    )
    for weights, columns in (
        (network.weight_input[0], 40),
        (network.weight_input[2], 128),
        (network.weight_hidden[3], 64),
    ):
        assert weights.shape == (4, 4 * 64, columns)
        for gate in weights.unflatten(1, (4, 64)).unbind(1):
            assert_distributed(moduli(gate), chi4(sigma(criterion, columns, 64)))
    assert network.bias is not None
    assert all(torch.equal(bias, torch.zeros(4 * 256)) for bias in network.bias)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_real_layers(criterion: Literal["glorot", "he"]) -> None:
    network = KINDS["lstm"](160, 256, 1, seeded(4), initialisation=Initialisation(criterion=criterion))
    for weights, columns in ((network.weight_input[0], 160), (network.weight_hidden[0], 256)):
        deviation = math.sqrt(2 / (columns + 256) if criterion == "glorot" else 2 / columns)
        assert_distributed(weights, torch.distributions.Normal(0.0, deviation).cdf)


def test_quaternion_and_real_weights_have_one_variance() -> None:
    # The four parts of a weight share 4σ² = 2/(n_in + n_out), in reals 8/(N_in + N_out): each has Glorot's on average.
    block = block_matrix(initial_components(64, 64, seeded(5), Initialisation()))
    assert block.var().item() == pytest.approx(2 / (256 + 256), rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_weights(kind: str) -> None:
    def weights(seed: int) -> list[Tensor]:
        model = AcousticModel(NetworkOptions(kind=kind, hidden=16, layers=2), 12, 5, seeded(seed))
        return [weight for weight in model.parameters() if weight.dim() > 1]

    first = weights(6)
    torch.rand(3)
    assert all(torch.equal(one, other) for one, other in zip(first, weights(6), strict=True))
    assert not any(torch.equal(one, other) for one, other in zip(first, weights(7), strict=True))


PROGRAM = """
import hashlib, torch
from tetraphone.train.network.layers import QLSTM
network = QLSTM(40, 64, 2, torch.Generator().manual_seed(8), direction="bi")
print(hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in network.parameters())).hexdigest())
"""


def test_same_seed_same_weights_in_another_process() -> None:
    network = QLSTM(40, 64, 2, seeded(8), direction="bi")
    here = hashlib.sha256(b"".join(weight.detach().numpy().tobytes() for weight in network.parameters())).hexdigest()
    there = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == here


@pytest.mark.parametrize("kind", KINDS)
def test_layers_of_one_shape_get_different_weights(kind: str) -> None:
    network = KINDS[kind](16, 16, 3, seeded(9))
    drawn = [part for weight in (*network.weight_input, *network.weight_hidden) for part in gates(network, weight)]
    assert len(drawn) == 6 * network.gates
    for one, other in itertools.combinations(drawn, 2):
        assert (one == other).double().mean() < 0.05


def gates(network: Recurrent, weight: Tensor) -> tuple[Tensor, ...]:
    return weight.chunk(network.gates, dim=1 if network.quaternion else 0)


def test_directions_get_different_weights() -> None:
    network = QRNN(16, 16, 1, seeded(10), direction="bi")
    for weights in (network.weight_input, network.weight_hidden):
        assert (weights[0] == weights[1]).double().mean() < 0.05


@pytest.fixture
def memory_of_nan() -> Iterator[None]:
    """Memory that torch hands out uninitialised is filled with NaN, as its deterministic mode does."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("memory_of_nan")
@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_weight_is_left_uninitialised(kind: str, direction: str) -> None:
    assert torch.empty(64).isnan().all()
    options = NetworkOptions(kind=kind, hidden=8, layers=2, direction=direction)  # type: ignore[arg-type]
    model = AcousticModel(options, 8, 5, seeded(11))
    assert all(weight.isfinite().all() for weight in model.parameters())
    y, state = model(torch.ones(2, 4, 8), lengths=torch.tensor([4, 2]))
    assert y.isfinite().all()
    assert all(part.isfinite().all() for part in state)
    assert QuaternionLinear(8, 8, seeded(12))(torch.ones(8)).isfinite().all()
