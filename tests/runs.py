"""Options of small training runs, and what tests ask of the runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from interrupted import silent

from tetraphone.sound.features import FeatureOptions
from tetraphone.train.loop.record import History
from tetraphone.train.loop.run import Run, train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import TrainOptions

OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=1, dropout=0.2),
    features=FeatureOptions(bands=12),
    epochs=2,
    batch_size=3,
    warmup_steps=4,
    threads=1,
    checkpoint_steps=1,
    spec_augment=True,
    acoustics=1.0,
    vocal_tract=True,
    speed_perturbation=True,
)


OTHER = replace(
    OPTIONS,
    network=NetworkOptions("qrnn", 16, 1, "bi", dropout=0.2),
    epochs=4,
    optimizer="rmsprop",
    schedule="halving",
    warmup_steps=1,
    average_steps=3,
    checkpoint_steps=2,
)
"""A checkpoint within each epoch, and steps between it and the next."""


def assert_same_run(folder: Path, other: Path) -> None:
    assert (folder / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    for name in ("model.pt", "last.pt"):
        ours, theirs = (torch.load(path / name, weights_only=True) for path in (folder, other))
        assert ours["weights"].keys() == theirs["weights"].keys()
        for key, weight in ours["weights"].items():
            assert torch.equal(weight, theirs["weights"][key]), (name, key)
        assert ours["training"].get("step") == theirs["training"].get("step")
        for key, weight in ours["training"].get("average", {}).items():
            assert torch.equal(weight, theirs["training"]["average"][key]), (name, key)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith("events.")}


def output_weight(folder: Path) -> torch.Tensor:
    return load_checkpoint(folder / "model.pt").model.state_dict()["output.weight"]


def stop_after_an_epoch(corpus: Path, folder: Path, options: TrainOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate = Run.evaluate

    def stopped(run: Run, history: History | None, end: bool) -> float:
        error = evaluate(run, history, end)
        if end:
            raise KeyboardInterrupt
        return error

    with monkeypatch.context() as patch:
        patch.setattr(Run, "evaluate", stopped)
        with pytest.raises(KeyboardInterrupt):
            train((str(corpus),), folder, options, False, silent)


def manifest(folder: Path, source: Path, **changes: dict[str, Any]) -> Path:
    """The tiny corpus with some utterances changed; recordings stay where they are unless changed."""
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    for line in lines:
        line["audio"] = str(source.parent / line["audio"])
        line.update(changes.get(line["id"], {}))
    path = folder / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path
