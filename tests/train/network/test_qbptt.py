"""Gradients of the recurrent layers: against the paper's equations in float64, and against finite differences.

The paper prints back-propagation through quaternion time with slips (β' missing from Δ_hy, α' at the wrong place, a
product of δ where each δ already holds the chain). The equations here are the corrected ones:

    e_t = (p_t − y_t) × β'(p_t^pre)
    δ_n = (W_hy* ⊗ e_n + W_hh* ⊗ δ_{n+1}) × α'(h_n^pre)
    Δ_hy = Σ e_m ⊗ h_m*    Δ_hh = Σ δ_m ⊗ h_{m−1}*    Δ_hx = Σ δ_m ⊗ x_m*    Δ_b = Σ δ_m
"""

import pytest
import torch
from torch import Tensor

from tetraphone.train.network.layers import KINDS, QRNN, QuaternionLinear
from tetraphone.train.network.options import Direction

FRAMES, INPUTS, HIDDEN, OUTPUTS = 6, 2, 3, 2
"""Sizes in quaternions. A matrix of quaternions is [4, rows, columns] here, a vector [4, rows, 1]."""


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def product(a: Tensor, b: Tensor) -> Tensor:
    """Hamilton products of a and b, which broadcast behind their components."""
    (r1, x1, y1, z1), (r2, x2, y2, z2) = a, b
    return torch.stack(
        [
            r1 * r2 - x1 * x2 - y1 * y2 - z1 * z2,
            r1 * x2 + x1 * r2 + y1 * z2 - z1 * y2,
            r1 * y2 - x1 * z2 + y1 * r2 + z1 * x2,
            r1 * z2 + x1 * y2 - y1 * x2 + z1 * r2,
        ]
    )


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """matrix ⊗ vector: row by row, the sum of the products."""
    return product(matrix, vector.mT).sum(-1, keepdim=True)


def star(matrix: Tensor) -> Tensor:
    """The conjugate transpose; of a vector, a row."""
    return torch.cat([matrix[:1], -matrix[1:]]).mT


@pytest.mark.parametrize("targets", [{FRAMES - 1}, set(range(FRAMES))], ids=["error-at-the-end", "error-everywhere"])
def test_gradients_follow_the_corrected_equations(targets: set[int]) -> None:
    generator = torch.Generator().manual_seed(3)
    layer = QRNN(4 * INPUTS, 4 * HIDDEN, 1, generator).double()
    output = QuaternionLinear(4 * HIDDEN, 4 * OUTPUTS, generator, bias=False).double()
    assert layer.bias is not None
    torch.nn.init.normal_(layer.bias[0], std=0.3, generator=generator)
    w_hx, w_hh, w_hy = layer.weight_input[0], layer.weight_hidden[0], output.weight
    x, y, initial = random(FRAMES, 4 * INPUTS, seed=4), random(FRAMES, 4 * OUTPUTS, seed=5), random(4 * HIDDEN, seed=6)
    x.requires_grad_()
    initial.requires_grad_()

    hidden, _ = layer(x[None], (initial[None, None],))
    p = torch.tanh(output(hidden[0]))
    error = torch.stack([(p[t] - y[t]).square().sum() / 2 for t in sorted(targets)]).sum()
    measured = torch.autograd.grad(error, [w_hy, w_hh, w_hx, layer.bias[0], x, initial])

    with torch.no_grad():
        xs = [frame.reshape(4, INPUTS, 1) for frame in x]
        ys = [frame.reshape(4, OUTPUTS, 1) for frame in y]
        bias = layer.bias[0].reshape(4, HIDDEN, 1)
        before = [initial.reshape(4, HIDDEN, 1)]
        for t in range(FRAMES):
            before.append(torch.tanh(times(w_hh, before[t]) + times(w_hx, xs[t]) + bias))
        hs = before[1:]
        torch.testing.assert_close(torch.stack(hs).reshape(FRAMES, -1), hidden[0], rtol=0, atol=1e-13)

        delta_hy, delta_hh, delta_hx = torch.zeros_like(w_hy), torch.zeros_like(w_hh), torch.zeros_like(w_hx)
        delta_b, delta_x = torch.zeros_like(bias), [torch.zeros_like(frame) for frame in xs]
        carried = torch.zeros_like(bias)
        for n in reversed(range(FRAMES)):
            p_n = torch.tanh(times(w_hy, hs[n]))
            e = (p_n - ys[n]) * (1 - p_n.square()) * (n in targets)
            delta = (times(star(w_hy), e) + carried) * (1 - hs[n].square())
            delta_hy += product(e, star(hs[n]))
            delta_hh += product(delta, star(before[n]))
            delta_hx += product(delta, star(xs[n]))
            delta_b += delta
            delta_x[n] = times(star(w_hx), delta)
            carried = times(star(w_hh), delta)
    derived = [delta_hy, delta_hh, delta_hx, delta_b.flatten(), torch.stack(delta_x).flatten(1), carried.flatten()]
    for autograd, equations in zip(measured, derived, strict=True):
        assert autograd.abs().max() > 1e-3
        torch.testing.assert_close(autograd, equations, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["qrnn", "qlstm"])
@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
def test_gradients_agree_with_finite_differences(kind: str, direction: Direction) -> None:
    layer = KINDS[kind](4, 4, 2, torch.Generator().manual_seed(7), direction=direction).double()
    names, values = zip(*layer.named_parameters(), strict=True)
    x = random(2, 3, 4, seed=8).requires_grad_()
    state = tuple(
        random(*part.shape, seed=9 + index).requires_grad_() for index, part in enumerate(layer.initial_state(2, x))
    )
    lengths = torch.tensor([3, 2])

    def run(x: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
        parameters = dict(zip(names, others[len(state) :], strict=True))
        y, after = torch.func.functional_call(layer, parameters, (x, others[: len(state)], lengths))
        return y, *after

    assert torch.autograd.gradcheck(run, (x, *state, *values), fast_mode=True)
