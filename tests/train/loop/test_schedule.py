"""Learning rates and averages, step by step."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from interrupted import silent
from runs import OPTIONS, stop_after_an_epoch
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.train.data.batches import Batch
from tetraphone.train.loop.run import Run, train
from tetraphone.train.loop.schedule import learning_rate
from tetraphone.train.loop.state import State
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.options import TrainOptions

pytestmark = pytest.mark.usefixtures("in_process")


def rates(options: TrainOptions, steps: Iterable[int]) -> list[float]:
    """Of a run of fifty steps an epoch."""
    return [learning_rate(options, step, 50 * options.epochs, 1.0) for step in steps]


def test_the_learning_rate_warms_up_and_falls_as_a_cosine() -> None:
    options = replace(OPTIONS, learning_rate=0.2, warmup_steps=10)
    cosine = [0.1 * (1 + np.cos(np.pi * step / 100)) for step in range(101)]
    assert rates(options, range(10)) == pytest.approx([cosine[step] * (step + 1) / 10 for step in range(10)])
    assert rates(options, range(10, 101)) == pytest.approx(cosine[10:], abs=1e-12)
    assert rates(options, [100, 101]) == pytest.approx([0, 0], abs=1e-12)


def test_a_cooldown_is_constant_and_then_a_line_to_zero() -> None:
    options = replace(OPTIONS, learning_rate=0.2, warmup_steps=0, schedule="cooldown", epochs=2)
    assert rates(options, range(71)) == pytest.approx([0.2] * 71)
    assert rates(options, (85, 100)) == pytest.approx([0.1, 0.0])


def test_epochs_may_change_until_the_rate_falls(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(OPTIONS, schedule="cooldown", epochs=6)
    whole = train((str(tiny_corpus),), tmp_path / "whole", options, False, silent)
    stop_after_an_epoch(tiny_corpus, tmp_path / "part", replace(options, epochs=3), monkeypatch)
    train((str(tiny_corpus),), tmp_path / "part", options, True, silent)
    left, right = (load_checkpoint(tmp_path / name / "last.pt").model.state_dict() for name in ("whole", "part"))
    assert whole["steps"] == 6 * -(-8 // options.batch_size)
    assert all(torch.equal(left[name], right[name]) for name in left)
    with pytest.raises(InputError, match=r"other options \(epochs\)"):
        train((str(tiny_corpus),), tmp_path / "part", replace(options, epochs=9), True, silent)


def test_the_weights_that_are_kept_are_averages(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []
    train_step = Run.train_step

    def watched(run: Run, batches: Sequence[Batch]) -> float:
        loss = train_step(run, batches)
        seen.append(run.learner.model.output.weight.detach().clone())
        return loss

    monkeypatch.setattr(Run, "train_step", watched)
    train((str(tiny_corpus),), tmp_path / "run", replace(OPTIONS, epochs=1, average_steps=2), False, silent)
    mean = seen[0]
    for weight in seen[1:]:
        mean = (mean + weight) / 2
    assert len(seen) == 3
    kept, last = (load_checkpoint(tmp_path / "run" / name).model.output.weight for name in ("model.pt", "last.pt"))
    assert torch.allclose(kept, mean, atol=1e-7)
    assert torch.equal(last, seen[-1])
    assert not torch.allclose(kept, last, atol=1e-4)


def test_halving_follows_the_development_error() -> None:
    options, state = replace(OPTIONS, learning_rate=0.2, warmup_steps=4, schedule="halving", epochs=6), State()
    assert rates(options, range(4)) == pytest.approx([0.05, 0.1, 0.15, 0.2])
    found, best = [], []
    for error in (80.0, 70.0, 69.95, 60.0, 61.0, 50.0):
        best.append(state.count_epoch(error))
        found.append(learning_rate(options, 4, 300, state.scale))
    assert found == pytest.approx([0.2, 0.2, 0.1, 0.1, 0.05, 0.05])
    assert best == [True, True, True, True, False, True]
    assert (state.best, state.epoch) == (50.0, 6)
