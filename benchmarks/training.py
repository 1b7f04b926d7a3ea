"""Training beside what a user would have picked instead: steps, memory, linear layers, features; one JSON file.

    python benchmarks/training.py --output benchmarks/results/training.json
        [--peers-python PYTHON] [--paper-code FOLDER] [--recordings CORPUS]

Adds to `tetraphone benchmark training` the quaternion LSTMs of others (training_peers.py says which) and the time that
features take. Steps of both sides take turns; ratios are medians, pair by pair. What is missing is named as skipped,
on standard error and in the file.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from tyro.conf import arg

from tetraphone.commands.benchmark import TrainingBenchmark
from tetraphone.commands.training.cost import alternate, benchmark_training, measured_step
from tetraphone.common.errors import InputError
from tetraphone.common.files import machine
from tetraphone.corpora.corpus import read_corpus
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.store import extract


@dataclass(frozen=True)
class Options:
    """What to measure, and where to write it."""

    output: Path
    """The JSON file to write."""
    training: Annotated[TrainingBenchmark, arg(name="")] = field(default_factory=TrainingBenchmark)
    peer_widths: tuple[int, ...] = (128, 256, 512)
    """Reals of a hidden state beside other quaternion LSTMs. They keep an expanded matrix a frame: 8 GB at 1,024."""
    peer_repetitions: int = 3
    """Steps of each there: theirs take long."""
    peers_python: Path | None = None
    """A Python that has SpeechBrain."""
    paper_code: Path | None = None
    """A checkout of the paper's code, see training_peers.py."""
    recordings: str = ""
    """A corpus, as `tetraphone train` takes it, whose features are computed."""
    utterances: int = 2500
    """Of it, at most."""
    workers: int = 2
    """Processes that compute features."""


class Peer:
    """One of training_peers.py, in its own process; ended by leaving the context."""

    def __init__(self, python: str, name: str, width: int, options: TrainingBenchmark, folder: str) -> None:
        sizes = (width, options.inputs, options.layers, options.frames, options.batch_size, options.threads)
        script = Path(__file__).with_name("training_peers.py")
        self._command = [python, str(script), name, *map(str, sizes), folder]
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise InputError(f"cannot run --peers-python {python}: {error.strerror}; give a Python's path") from error
        self.about = self._answer()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise InputError(f"{self._command} ended with status {self._process.wait()}; its reason is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def step(self) -> float:
        """Seconds of one training step."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._answer()["seconds"])


def skipped(what: str, why: str) -> dict[str, Any]:
    print(f"skipped: {what}, {why}", file=sys.stderr)
    return {"skipped": why}


def beside(name: str, python: str, folder: str, options: Options) -> dict[str, Any]:
    """A step of our QLSTM and of a peer's, by width."""
    result: dict[str, Any] = {}
    for width in options.peer_widths:
        with Peer(python, name, width, options.training, folder) as peer:
            if "left_out" in peer.about:
                return skipped(name, peer.about["left_out"])
            x = torch.randn(options.training.batch_size, options.training.frames, options.training.inputs)
            steps: dict[str, Callable[[], float]] = {
                "qlstm": measured_step("qlstm", width, options.training, x),
                name: peer.step,
            }
            times = alternate(steps, options.peer_repetitions, f"{name} of {width}")
            result[str(width)] = {**peer.about, **times, "times_as_fast": 1 / times["ratio"][name]}
    return result


def peers(options: Options) -> dict[str, Any]:
    python, code = options.peers_python, options.paper_code
    if code and not (code / "exp/iclr_2019/recurrent_models.py").exists():
        raise InputError(f"--paper-code {code} has no exp/iclr_2019/recurrent_models.py; give the root of a checkout")
    return {
        "speechbrain": beside("speechbrain", str(python), "", options)
        if python
        else skipped("SpeechBrain", "which needs --peers-python"),
        "paper": beside("paper", str(python or sys.executable), str(code.resolve()), options)
        if code
        else skipped("the paper's code", "which needs --paper-code"),
    }


def features(options: Options) -> dict[str, Any]:
    """Hours of speech a minute, the start of the processes and the reading of the files included."""
    if not options.recordings:
        return skipped("features", "which need --recordings")
    utterances = read_corpus(options.recordings, "train", None).utterances[: options.utterances]
    hours = sum(utterance.duration for utterance in utterances) / 3600
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        extract(utterances, FeatureOptions(), Path(folder) / "features.f32", (1.0,), options.workers)
        minutes = (time.perf_counter() - started) / 60
    return {"hours": hours, "processes": options.workers, "hours_a_minute": hours / minutes}


def main(options: Options) -> None:
    torch.set_num_threads(options.training.threads)
    result: dict[str, Any] = {"figure": "training", **machine(), "threads": options.training.threads}

    def keep(measured: dict[str, Any]) -> None:
        result.update(measured)
        options.output.write_text(json.dumps(result, indent=1) + "\n")

    keep(benchmark_training(options.training))
    keep(peers(options))
    keep({"features": features(options)})


if __name__ == "__main__":
    try:
        main(tyro.cli(Options, description=__doc__))
    except InputError as error:
        sys.exit(str(error))
