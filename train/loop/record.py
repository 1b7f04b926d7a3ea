"""The folder of a run: its checkpoints, metrics and pictures, and what is swept away at its end."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tetraphone.common.files import append, write_atomically
from tetraphone.corpora.identity import RECORDINGS
from tetraphone.train.data.noise import BABBLE

from .events import Events

MODEL, LAST, METRICS, CONFUSIONS, CURVES = "model.pt", "last.pt", "metrics.jsonl", "confusions.png", "curves.png"
PROBLEMS = "problems.txt"
TRAINING_FEATURES, DEVELOPMENT_FEATURES, POSTERIORS = "train.f32", "dev.f32", "teacher.f16"
FEATURES = (TRAINING_FEATURES, DEVELOPMENT_FEATURES, POSTERIORS, BABBLE)


class Record:
    """Where a run keeps what."""

    def __init__(self, folder: Path, features: Path | None = None) -> None:
        """
        Args:
            features: a folder for features, which stay there; by default they lie in the run's until it ends.
        """
        self.folder, self.features, self.keeps_features = folder, features or folder, features is not None

    @property
    def model(self) -> Path:
        """The checkpoint of the best model."""
        return self.folder / MODEL

    @property
    def last(self) -> Path:
        """The checkpoint to go on from."""
        return self.folder / LAST

    def finished(self, saved: dict[str, Any], epochs: int) -> bool:
        """Whether nothing is left to do, by the content of the last checkpoint."""
        return bool(saved["training"]["epoch"] >= epochs and (self.folder / CURVES).exists())

    def list_problems(self, problems: Sequence[str], say: Callable[[str], None], write: bool) -> None:
        """Tells what was left out, if anything was, and writes the list."""
        if not problems:
            return
        path = self.folder / PROBLEMS
        say(f"left out {len(problems)} utterances, listed in {path}: first, {problems[0]}")
        if write:
            with write_atomically(path) as temporary:
                temporary.write_text("\n".join(problems) + "\n", encoding="utf-8")

    def remove_features(self) -> None:
        """Of a finished run, unless they lie in a folder that was given. Digests of its recordings stay: by them it is
        soon seen to be finished."""
        if self.keeps_features:
            return
        for name in FEATURES:
            path = self.folder / name  # a kill between the two must leave no index without its features
            path.with_suffix(".npz").unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    def forget(self, resumed: bool) -> None:
        """Takes back what was made before the run was refused."""
        if not resumed or not any((self.folder / name).exists() for name in FEATURES):
            self.remove_features()
        if not resumed:
            for name in (PROBLEMS, RECORDINGS):
                (self.folder / name).unlink(missing_ok=True)


class History:
    """The course of a run: metrics.jsonl, and curves for TensorBoard."""

    def __init__(self, record: Record, step: int, epochs: float) -> None:
        """Drops what an interrupted run wrote after its last checkpoint.

        Args:
            step: the first one behind which the model was not evaluated before.
            epochs: passes over the training set before it.

        Raises:
            InputError: a file cannot be written.
        """
        self.path = record.folder / METRICS
        kept = [line for line in read_metrics(self.path) if line["step"] < step and line["epoch"] <= epochs]
        with write_atomically(self.path) as temporary:
            temporary.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        self.events = Events(record.folder, step)

    def add(self, metrics: dict[str, Any]) -> None:
        """A line of values by their names; beside epoch and step, each is a curve.

        Raises:
            InputError: a file cannot be written.
        """
        append(self.path, (json.dumps(metrics) + "\n").encode())
        self.events.add(
            metrics["step"], {name: value for name, value in metrics.items() if name not in ("epoch", "step")}
        )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, up to one that is none: a last line that a kill cut short is left out."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    metrics = []
    for line in lines:
        try:
            read = json.loads(line)
        except json.JSONDecodeError:
            break
        if not isinstance(read, dict) or not read.keys() >= {"step", "epoch"}:
            break
        metrics.append(read)
    return metrics
