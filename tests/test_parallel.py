"""One run on two processes, as torchrun starts them, against the same run on one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tetraphone.train.errors import InputError
from tetraphone.train.model import load_checkpoint
from tetraphone.train.parallel import Processes, is_first
from tetraphone.train.training import METRICS, MODEL, read_metrics

OPTIONS = (
    "--hidden 16 --layers 2 --dropout 0 --epochs 3 --batch-size 7 --warmup-steps 5 --bands 20 --threads 1 --device cpu "
    "--spec-augment --acoustics 1 --average-steps 2 --json"
)


def tetraphone(processes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    command = [sys.executable, "-m", *(start if processes > 1 else []), "tetraphone.export.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(("optimizer", "taught"), [("adamw", False), ("soap", True)])
def test_two_processes_give_the_losses_of_one(optimizer: str, taught: bool, tiny_corpus: Path, tmp_path: Path) -> None:
    """Eight utterances in batches of seven: of the last one's, the second process has no share."""
    options = [*OPTIONS.split(), "--optimizer", optimizer, "--learning-rate", "3e-3"]
    if taught:
        folder = tmp_path / "teacher"
        done = tetraphone(1, "train", str(tiny_corpus), "--output", str(folder), *options, "--kind", "lstm")
        assert done.returncode == 0, done.stderr[-3000:]
        options += ["--teacher", str(folder / MODEL)]
    for processes in (1, 2):
        folder = str(tmp_path / str(processes))
        done = tetraphone(processes, "train", str(tiny_corpus), "--output", folder, *options)
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads(done.stdout)["steps"] == 6, "only the first process prints"
    one, two = (read_metrics(tmp_path / name / METRICS) for name in ("1", "2"))
    for left, right in zip(one, two, strict=True):
        assert right["loss"] == pytest.approx(left["loss"], rel=1e-4)
        assert right["phone_error_rate"] == pytest.approx(left["phone_error_rate"], abs=2)
    alone, together = (load_checkpoint(tmp_path / name / MODEL).model.state_dict() for name in ("1", "2"))
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=1e-2, atol=1e-3)


def test_an_error_ends_all_processes(tiny_corpus: Path, tmp_path: Path) -> None:
    done = tetraphone(2, "train", str(tiny_corpus), "--output", str(tmp_path / "run"), "--resume")
    assert done.returncode != 0
    assert "there is no run" in done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_is_named() -> None:
    with pytest.raises(InputError, match="device is cuda, but torch finds no GPU"):
        Processes.join("cuda")
    assert Processes.join("auto").device.type == "cpu"


def test_one_process_is_the_first_whatever_its_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert is_first()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert not is_first()
