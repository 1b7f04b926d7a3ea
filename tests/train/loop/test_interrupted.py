"""Runs that were killed or stopped go on to the same bits."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from interrupted import run_with_kills, silent
from runs import OPTIONS, OTHER, assert_same_run, files, stop_after_an_epoch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tetraphone.train.loop.record import read_metrics
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import load_checkpoint

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.mark.parametrize("lives", [range(2, 80, 3), range(1, 80, 4)], ids=["2, 5, 8 …", "1, 5, 9 …"])
def test_a_run_killed_again_and_again_ends_with_the_same_bits(
    tiny_corpus: Path, tmp_path: Path, whole: Path, lives: range
) -> None:
    kills = run_with_kills(tiny_corpus, tmp_path / "run", OPTIONS, lives)
    assert len(kills) > 5
    assert_same_run(tmp_path / "run", whole)
    assert files(tmp_path / "run") == files(whole), "what killed writers left is swept away"


def test_a_run_killed_between_checkpoints_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path) -> None:
    assert run_with_kills(tiny_corpus, tmp_path / "whole", OTHER, [0]) == []
    rates = [line["learning_rate"] for line in read_metrics(tmp_path / "whole" / "metrics.jsonl")]
    assert rates[-1] < rates[0], "nothing was halved"
    kills = run_with_kills(tiny_corpus, tmp_path / "run", OTHER, range(11, 80, 7))
    assert len(kills) > 3
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_a_run_by_soap_killed_again_and_again_ends_with_the_same_bits(tiny_corpus: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, optimizer="soap", epochs=5)  # its eigenbases are new every tenth step
    assert run_with_kills(tiny_corpus, tmp_path / "whole", options, [0]) == []
    losses = [line["loss"] for line in read_metrics(tmp_path / "whole" / "metrics.jsonl")]
    assert losses[-1] < losses[0]
    assert len(run_with_kills(tiny_corpus, tmp_path / "run", options, range(5, 80, 6))) > 3
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_a_resumed_run_keeps_the_events_of_the_epochs_before(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_after_an_epoch(tiny_corpus, tmp_path / "run", OPTIONS, monkeypatch)
    (first,) = (tmp_path / "run").glob("events.*")
    first.rename(first.with_name("events.out.tfevents.0"))  # files of one second are in no certain order
    train((str(tiny_corpus),), tmp_path / "run", OPTIONS, True, silent)
    events = EventAccumulator(str(tmp_path / "run"))
    events.Reload()
    assert [point.step for point in events.Scalars("loss")] == [3, 6]


def test_the_command_killed_in_its_features_resumes(tiny_corpus: Path, tmp_path: Path, whole: Path) -> None:
    arguments = f"train {tiny_corpus} --output {tmp_path / 'run'} --hidden 16 --layers 1 --dropout 0.2 --bands 12"
    arguments += " --epochs 2 --batch-size 3 --warmup-steps 4 --threads 1 --checkpoint-steps 1"
    arguments += " --spec-augment --acoustics 1 --vocal-tract --speed-perturbation"
    command = [sys.executable, "-m", "tetraphone", *arguments.split()]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "run").glob(".train.f32*")):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    subprocess.run([*command, "--resume"], check=True, capture_output=True)
    assert_same_run(tmp_path / "run", whole)


def test_a_run_stopped_while_it_tidies_up_resumes(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, options = tmp_path / "run", replace(OPTIONS, epochs=1)
    unlink = Path.unlink

    def stopped(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.stem == "train" and (folder / "curves.png").exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "unlink", stopped)
    with pytest.raises(KeyboardInterrupt):
        train((str(tiny_corpus),), folder, options, False, silent)
    monkeypatch.setattr(Path, "unlink", unlink)
    weights = load_checkpoint(folder / "model.pt").model.state_dict()
    train((str(tiny_corpus),), folder, options, True, silent)
    again = load_checkpoint(folder / "model.pt").model.state_dict()
    assert all(torch.equal(again[name], weight) for name, weight in weights.items())
    assert not [path.name for path in folder.iterdir() if path.suffix in (".f32", ".npz")]


@pytest.mark.parametrize("line", ["[]", "3", "{}", '{"step": 1}', "{", "\ufffd"])
def test_metrics_end_where_a_line_is_none(line: str, tmp_path: Path) -> None:
    good = {"step": 1, "epoch": 1}
    path = tmp_path / "metrics.jsonl"
    path.write_text(f"{json.dumps(good)}\n{line}\n{json.dumps(good)}\n", encoding="utf-8")
    assert read_metrics(path) == [good]
