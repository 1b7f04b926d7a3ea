"""Gradients of several batches in one step: those of one batch so many times as large."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from interrupted import run_with_kills, silent
from runs import OPTIONS, assert_same_run, manifest

from tetraphone.train.loop.parallel import Processes
from tetraphone.train.loop.record import Record, read_metrics
from tetraphone.train.loop.run import Run, prepare
from tetraphone.train.network.options import NetworkOptions

pytestmark = pytest.mark.usefixtures("in_process")

PLAIN = replace(
    OPTIONS,
    network=NetworkOptions(hidden=16, layers=2, direction="bi", dropout=0.0),
    spec_augment=False,
    acoustics=0.0,
    vocal_tract=False,
    speed_perturbation=False,
    clip=1e6,
)


def run_of(corpus: Path, dev: Path, folder: Path, batch_size: int, accumulate: int) -> Run:
    options = replace(PLAIN, dev=(str(dev),), batch_size=batch_size, accumulate=accumulate)
    return prepare(options, (str(corpus),), Record(folder), Processes.join("cpu"), silent)


@pytest.mark.parametrize(("batch_size", "accumulate"), [(3, 4), (5, 3), (1, 12)])
def test_the_gradient_is_that_of_one_large_batch(
    batch_size: int, accumulate: int, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all twelve utterances, one too short for its phones: batches weigh by what their loss is a sum over."""
    monkeypatch.setattr("tetraphone.corpora.utterance.frames_needed", lambda phones: 0)
    corpus = manifest(tmp_path, tiny_corpus, u0={"phones": ["AH"] * 100})
    gradients, losses = [], []
    for name, sizes in (("one", (12, 1)), ("many", (batch_size, accumulate))):
        run = run_of(corpus, tiny_corpus, tmp_path / name, *sizes)
        (batches,) = run.steps(0)
        assert len(batches) == sizes[1]
        losses.append(run.train_step(batches))
        assert run.state.infinite == ["u0"]
        gradients.append([parameter.grad.clone() for parameter in run.learner.model.parameters()])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_run_killed_again_and_again_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path) -> None:
    """Three batches an epoch, of which the last makes a step of its own."""
    options = replace(OPTIONS, accumulate=2)
    assert run_with_kills(tiny_corpus, tmp_path / "whole", options, [0]) == []
    assert [line["step"] for line in read_metrics(tmp_path / "whole" / "metrics.jsonl")] == [2, 4]
    assert len(run_with_kills(tiny_corpus, tmp_path / "run", options, range(3, 80, 5))) > 3
    assert_same_run(tmp_path / "run", tmp_path / "whole")
