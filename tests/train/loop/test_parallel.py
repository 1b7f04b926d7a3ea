"""One run on two processes, as torchrun starts them, against the same run on one."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from checkpoints import make_checkpoint
from interrupted import InProcess, silent, warm

from tetraphone.common.errors import InputError
from tetraphone.common.progress import is_first
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data import store as data
from tetraphone.train.loop.parallel import Processes
from tetraphone.train.loop.record import METRICS, MODEL, read_metrics
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import TrainOptions

OPTIONS = TrainOptions(
    network=NetworkOptions(hidden=16, layers=2, dropout=0),
    features=FeatureOptions(bands=20),
    epochs=3,
    batch_size=7,
    learning_rate=3e-3,
    warmup_steps=5,
    average_steps=2,
    evaluate_every=1,
    spec_augment=True,
    acoustics=1,
    threads=1,
    device="cpu",
)
FLAGS = "--hidden 16 --layers 2 --dropout 0 --bands 20 --epochs 3 --batch-size 7 --learning-rate 3e-3 --warmup-steps 5 "
FLAGS += "--average-steps 2 --evaluate-every 1 --spec-augment --acoustics 1 --threads 1 --device cpu --json"


def torchrun(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command on two processes."""
    start = ("torch.distributed.run", "--standalone", "--nproc-per-node", 2, "-m", "tetraphone")
    command = [sys.executable, "-m", *map(str, (*start, *arguments))]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def take_part(rank: int, port: int, corpus: Path, folder: Path, options: TrainOptions) -> None:
    """One of two processes, in the environment that torchrun gives it."""
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", **where}
    data.ProcessPoolExecutor = InProcess  # type: ignore[assignment,misc]
    train((str(corpus),), folder, options, False, silent)


def on_two_processes(corpus: Path, folder: Path, options: TrainOptions) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = [warm().Process(target=take_part, args=(rank, port, corpus, folder, options)) for rank in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(300)
    assert [process.exitcode for process in both] == [0, 0]


def assert_same_run(one: Path, two: Path) -> None:
    for left, right in zip(read_metrics(one / METRICS), read_metrics(two / METRICS), strict=True):
        assert right["loss"] == pytest.approx(left["loss"], rel=1e-4)
        assert right["phone_error_rate"] == pytest.approx(left["phone_error_rate"], abs=2)
    alone, together = (load_checkpoint(folder / MODEL).model.state_dict() for folder in (one, two))
    for name, weight in alone.items():
        torch.testing.assert_close(together[name], weight, rtol=1e-2, atol=1e-3)


def test_two_processes_give_the_losses_of_one(in_process: None, tiny_corpus: Path, tmp_path: Path) -> None:
    """Eight utterances in batches of seven: of the last one's, the second process has no share."""
    train((str(tiny_corpus),), tmp_path / "1", OPTIONS, False, silent)
    done = torchrun("train", tiny_corpus, "--output", tmp_path / "2", *FLAGS.split())
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout)["steps"] == 6, "only the first process prints"
    assert [line["step"] for line in read_metrics(tmp_path / "2" / METRICS)] == [1, 2, 3, 4, 5, 6]
    assert_same_run(tmp_path / "1", tmp_path / "2")


def test_two_processes_learn_from_a_teacher_by_soap_as_one(in_process: None, tiny_corpus: Path, tmp_path: Path) -> None:
    teacher = make_checkpoint(kind="lstm", hidden=16, layers=1, features=OPTIONS.features)
    teacher.save(tmp_path / "teacher.pt")
    options = replace(OPTIONS, optimizer="soap", teacher=(str(tmp_path / "teacher.pt"),), evaluate_every=0)
    train((str(tiny_corpus),), tmp_path / "1", options, False, silent)
    on_two_processes(tiny_corpus, tmp_path / "2", options)
    assert_same_run(tmp_path / "1", tmp_path / "2")


def test_two_processes_accumulate_the_gradients_of_one(in_process: None, tiny_corpus: Path, tmp_path: Path) -> None:
    """Both batches of an epoch in one step: the second process has a share of the first alone."""
    options = replace(OPTIONS, accumulate=2)
    assert train((str(tiny_corpus),), tmp_path / "1", options, False, silent)["steps"] == 3
    on_two_processes(tiny_corpus, tmp_path / "2", options)
    assert_same_run(tmp_path / "1", tmp_path / "2")


def test_an_error_ends_all_processes(tiny_corpus: Path, tmp_path: Path) -> None:
    done = torchrun("train", tiny_corpus, "--output", tmp_path / "run", "--resume")
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
