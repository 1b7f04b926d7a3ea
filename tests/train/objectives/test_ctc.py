"""The loss of CTC: of the utterances alone, without their padding, and without those too short for their phones."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from runs import OPTIONS, manifest
from torch import Tensor

from tetraphone.train.data.batches import Batch
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import AcousticModel
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.objectives.ctc import Ctc

pytestmark = pytest.mark.usefixtures("in_process")


def batch_of(lengths: list[int], targets: list[list[int]]) -> Batch:
    width = max(map(len, targets))
    return Batch(
        torch.zeros(len(lengths), max(lengths), 4),
        torch.tensor(lengths),
        torch.tensor([target + [0] * (width - len(target)) for target in targets]),
        torch.tensor([len(target) for target in targets]),
        tuple(range(len(lengths))),
        tuple(map(str, range(len(lengths)))),
    )


def gradient(scores: Tensor, batch: Batch) -> tuple[float, Tensor, list[int]]:
    scores = scores.clone().requires_grad_()
    total, left_out = Ctc(()).loss(scores, batch)
    loss = total / Ctc(()).units(batch).clamp_min(1)
    loss.backward()
    assert scores.grad is not None
    return loss.item(), scores.grad, left_out


def test_the_loss_is_that_of_the_utterances_alone() -> None:
    """By hand: one frame, one phone: −log p; two frames: all paths that collapse to the phone."""
    scores = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0))
    p = scores.softmax(-1)
    loss, _, left_out = gradient(scores, batch_of([1, 2], [[2], [1]]))
    alone = (
        -torch.log(p[0, 0, 2]),
        -torch.log(p[1, 0, 1] * p[1, 1, 1] + p[1, 0, 0] * p[1, 1, 1] + p[1, 0, 1] * p[1, 1, 0]),
    )
    assert loss == pytest.approx((sum(alone) / 2).item(), rel=1e-6)
    assert left_out == []


def test_frames_behind_an_utterance_change_nothing() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(3, 9, 5, generator=generator)
    batch = batch_of([9, 6, 4], [[1, 2, 3], [4, 4], [1]])
    loss, gradients, _ = gradient(scores, batch)
    changed = scores.clone()
    changed[1, 6:] = 1e3 * torch.randn(3, 5, generator=generator)
    changed[2, 4:] = -50.0
    other_loss, other_gradients, _ = gradient(changed, batch)
    assert loss == other_loss
    assert torch.equal(gradients, other_gradients)
    assert not gradients[1, 6:].any()
    assert not gradients[2, 4:].any()


@pytest.mark.parametrize("target", [[1, 2, 3, 4], [2, 2, 1]], ids=["more phones than frames", "no frame for a blank"])
def test_an_impossible_utterance_is_named_and_the_others_gradients_stay(target: list[int]) -> None:
    scores = torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(2))
    loss, gradients, left_out = gradient(scores, batch_of([8, 3, 6], [[1, 2], target, [3, 3]]))
    assert left_out == [1]
    keep = [0, 2]
    other_loss, other_gradients, none = gradient(scores[keep], batch_of([8, 6], [[1, 2], [3, 3]]))
    assert none == []
    assert loss == other_loss
    assert torch.equal(gradients[keep], other_gradients)
    assert not gradients[1].any()


def test_a_batch_of_impossible_utterances_has_no_gradient() -> None:
    loss, gradients, left_out = gradient(torch.randn(2, 2, 5), batch_of([2, 2], [[1, 2, 3], [1, 1]]))
    assert (loss, left_out) == (0.0, [0, 1])
    assert not gradients.any()


def test_an_impossible_utterance_in_training_is_counted_and_named(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extraction finds such an utterance first, unless it believes that none needs a frame."""
    monkeypatch.setattr("tetraphone.corpora.utterance.frames_needed", lambda phones: 0)
    corpus = manifest(tmp_path, tiny_corpus, u0={"phones": ["AH"] * 100})
    options = replace(OPTIONS, dev=(str(tiny_corpus),))
    log: list[str] = []
    train((str(corpus),), tmp_path / "run", options, False, log.append)
    assert any("2 times an utterance was left out, too short for its phones: u0" in line for line in log)


@pytest.mark.parametrize("direction", ["uni", "bi", "bi-shared"])
def test_an_utterance_scores_the_same_alone_and_padded(direction: str) -> None:
    network = NetworkOptions(hidden=8, layers=2, direction=direction)  # type: ignore[arg-type]
    model = AcousticModel(network, 8, 5, torch.Generator().manual_seed(0)).eval()
    x = torch.randn(2, 7, 8, generator=torch.Generator().manual_seed(1))
    together = model.scores(x, torch.tensor([7, 4]))
    alone = model.scores(x[1:, :4], torch.tensor([4]))
    torch.testing.assert_close(together[1:, :4], alone, rtol=1e-5, atol=1e-6)
