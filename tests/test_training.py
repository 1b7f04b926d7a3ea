"""The training run: resumed after kills, refused, masked, scheduled; what it leaves out and what it writes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
import soundfile
import torch
from interrupted import InProcess, run_with_kills, silent
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tetraphone.export.cli import main
from tetraphone.train import data
from tetraphone.train.data import Batch, FeatureStore, SpecAugment
from tetraphone.train.errors import InputError
from tetraphone.train.features import FeatureOptions, Normalisation
from tetraphone.train.model import AcousticModel, NetworkOptions, load_checkpoint
from tetraphone.train.scoring import Errors
from tetraphone.train.training import SPEEDS, Run, TrainOptions, ctc_loss, read_metrics, train

OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=1, dropout=0.2),
    features=FeatureOptions(bands=12),
    epochs=2,
    batch_size=3,
    warmup_steps=4,
    threads=1,
    checkpoint_steps=1,
    spec_augment=True,
    speed_perturbation=True,
)


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def whole(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert run_with_kills(tiny_corpus, folder, OPTIONS, [0]) == []
    return folder


def assert_same_run(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    for name in ("model.pt", "last.pt"):
        ours, theirs = (torch.load(path / name, weights_only=True) for path in (folder, other))
        assert ours["weights"].keys() == theirs["weights"].keys()
        for key, weight in ours["weights"].items():
            assert torch.equal(weight, theirs["weights"][key]), (name, key)
        assert ours["training"].get("step") == theirs["training"].get("step")


def test_a_run_killed_again_and_again_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    kills = run_with_kills(tiny_corpus, tmp_path / "run", OPTIONS, range(1, 60, 4))
    print(kills)
    assert len(kills) > 5
    assert_same_run(tmp_path / "run", whole)
