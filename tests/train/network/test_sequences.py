"""Frames of recurrent layers: padding, states across chunks, directions."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from networks import both_ways, every_direction, every_kind, network, random, random_state
from torch import Tensor

from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.network import layers
from tetraphone.train.network.layers import Recurrent
from tetraphone.train.network.model import AcousticModel, Checkpoint, load_checkpoint
from tetraphone.train.network.options import Direction, NetworkOptions


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
def test_the_cell_frame_by_frame_is_torchs_fused_kernel(
    kind: str, direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind that torch has no fused kernel for is computed so."""
    of, x, lengths = network(kind, direction), random(3, 6, 8), torch.tensor([6, 2, 4])
    state = random_state(of, 3)

    def run() -> tuple[Tensor, ...]:
        y, after = of(x, state, lengths)
        loss = y.sin().sum() + sum(part.sin().sum() for part in after)
        return y, *after, *torch.autograd.grad(loss, list(of.parameters()))

    fused = run()
    monkeypatch.setattr(layers, "FUSED", {})
    torch.testing.assert_close(run(), fused, rtol=0, atol=1e-12)


@every_kind
@every_direction
def test_padding_changes_no_score(kind: str, direction: Direction) -> None:
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
