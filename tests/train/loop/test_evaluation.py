"""Development scores within an epoch: when they come, what is kept by them, and that they change nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from interrupted import run_with_kills, silent
from runs import OPTIONS, OTHER, assert_same_run

from tetraphone.train.data.batches import Batch
from tetraphone.train.loop.record import read_metrics
from tetraphone.train.loop.run import Run, train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.options import TrainOptions

pytestmark = pytest.mark.usefixtures("in_process")

STEPS = [2, 3, 4, 6]
"""Every two steps, and at the ends of two epochs of three."""


@pytest.mark.parametrize("best", range(4))
def test_the_model_with_the_least_score_of_all_is_kept(
    best: int, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [53.0, 52.0, 51.0, 50.0]
    errors[best] = 40.0
    scores, weights = iter([*errors, 40.0]), list[torch.Tensor]()
    monkeypatch.setattr(Run, "error", lambda run: next(scores))
    train_step = Run.train_step

    def watched(run: Run, batches: Sequence[Batch]) -> float:
        loss = train_step(run, batches)
        weights.append(run.learner.model.output.weight.detach().clone())
        return loss

    monkeypatch.setattr(Run, "train_step", watched)
    folder = tmp_path / "run"
    result = train((str(tiny_corpus),), folder, replace(OPTIONS, evaluate_every=2), False, silent)
    metrics = read_metrics(folder / "metrics.jsonl")
    assert [line["step"] for line in metrics] == STEPS
    assert [line["epoch"] for line in metrics] == pytest.approx([2 / 3, 1, 4 / 3, 2])
    assert [line["phone_error_rate"] for line in metrics] == errors
    assert torch.equal(load_checkpoint(folder / "model.pt").model.output.weight, weights[STEPS[best] - 1])
    assert result["phone_error_rate"] == 40.0


@pytest.mark.parametrize("options", [OPTIONS, OTHER], ids=["cosine", "halving"])
def test_scores_within_an_epoch_change_no_step(options: TrainOptions, tiny_corpus: Path, tmp_path: Path) -> None:
    """The schedule `halving` goes by the ends of epochs alone."""
    for name, every in (("without", 0), ("with", 1)):
        train((str(tiny_corpus),), tmp_path / name, replace(options, evaluate_every=every), False, silent)
    ours, theirs = (load_checkpoint(tmp_path / name / "last.pt").model.state_dict() for name in ("with", "without"))
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())
    ends = [line for line in read_metrics(tmp_path / "with" / "metrics.jsonl") if line["epoch"] == int(line["epoch"])]
    assert ends == read_metrics(tmp_path / "without" / "metrics.jsonl")


def test_a_run_killed_again_and_again_has_each_score_once(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, evaluate_every=2, checkpoint_steps=3)
    assert run_with_kills(tiny_corpus, tmp_path / "whole", options, [0]) == []
    assert len(run_with_kills(tiny_corpus, tmp_path / "run", options, range(3, 80, 4))) > 4
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    assert [line["step"] for line in read_metrics(tmp_path / "run" / "metrics.jsonl")] == STEPS
