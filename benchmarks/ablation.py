"""What each part of a recipe is worth: the recipe, shorter, and the same with one thing changed, on held-out speakers.

    python benchmarks/ablation.py --corpora FOLDER --runs FOLDER [--rows ROW ...] [--output FOLDER]

A row is one training run on one processor thread, minutes long; before the first, the recipe's teachers are
trained in full, in half an hour each. Runs are kept in their folder and an interrupted one goes on, so rows can be
added one by one. Writes ablation.json and ablation.md.
"""

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from tetraphone.commands.training.recipe import Recipe, changed, read_recipe, teach
from tetraphone.common.errors import DivergedError, InputError
from tetraphone.common.files import machine, write_atomically
from tetraphone.common.phones import ARPABET
from tetraphone.common.progress import say
from tetraphone.train.loop.record import METRICS, read_metrics
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import outputs
from tetraphone.train.options import TrainOptions

ROWS: dict[str, dict[str, Any]] = {
    "as the recipe": {},
    "another seed": {"seed": 2},
    "AdamW, learning rate 5e-3": {"optimizer": "adamw", "learning_rate": 5e-3},
    "no teacher": {"teacher": ()},
    "three quarters from the teacher": {"teacher_share": 0.75},
    "LSTM of the same reals": {"kind": "lstm"},
    "LSTM of as many parameters": {"kind": "lstm", "hidden": 64},
    "LSTM, AdamW, learning rate 2e-3": {"kind": "lstm", "optimizer": "adamw", "learning_rate": 2e-3},
    "weights of the last step": {"average_steps": 0},
    "learning rate halved": {"learning_rate": 1.5e-3},
    "learning rate doubled": {"learning_rate": 6e-3},
    "one vocal tract": {"vocal_tract": False},
    "masks (SpecAugment)": {"spec_augment": True},
    "no acoustics": {"acoustics": 0.0},
    "one speed": {"speed_perturbation": False},
    "dropout of a tenth": {"dropout": 0.1},
    "products in float32": {"bfloat16": False},
    "batches of 32": {"batch_size": 32},
    "cosine": {"schedule": "cosine"},
    "imaginary unit as the paper's": {"axis": "paper"},
    "two layers of 224 reals": {"layers": 2, "hidden": 224},
}
"""What a row changes of the first one's options."""


@dataclass(frozen=True)
class Options:
    """What to run, and where."""

    corpora: Path
    """The folder of corpora."""
    runs: Path
    """The folder of the rows' runs and of the features that they share."""
    output: Path = Path("benchmarks/results")
    """The folder of the table."""
    rows: tuple[str, ...] = ()
    """Only these; all by default. The table has all that are finished."""
    recipe: str = "tiny"
    """A recipe of the package, or a .toml file."""
    epochs: int = 6
    """Of each run."""


def ablate(options: Options, recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Runs the rows that were asked for, and the first; returns them and those that were run before."""
    if unknown := sorted(set(options.rows) - set(ROWS)):
        raise InputError(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    corpora = tuple(str(options.corpora / name) for name in recipe.corpora)
    options.runs.mkdir(parents=True, exist_ok=True)
    shared, rows = options.runs / "features", dict[str, dict[str, Any]]()
    _, taught = teach(recipe, corpora, options.runs, True, say, shared)
    common = replace(taught, epochs=options.epochs)
    for row, values in ROWS.items():
        folder, left = options.runs / re.sub(r"\W+", "-", row), dict(values)
        trained = changed(common, left)
        assert not left, f"{row} changes {', '.join(left)}, which are no options"
        if rows and options.rows and row not in options.rows and not folder.is_dir():
            continue
        size = trained.network.parameters(trained.features.inputs, outputs(ARPABET, 0))
        rows[row] = {"changed": values, "parameters": size, "best": None}
        features = shared if trained.speed_perturbation else options.runs / "features at one speed"
        try:
            found = train(corpora, folder, trained, folder.is_dir(), say, features)
        except DivergedError as error:
            say(f"{row}: {error}")
            continue
        epochs = [round(line["phone_error_rate"], 2) for line in read_metrics(folder / METRICS)]
        rows[row] |= {"best": round(found["phone_error_rate"], 2), "epochs": epochs}
    return rows


def table(rows: dict[str, dict[str, Any]]) -> str:
    """As Markdown: the best epoch of each row, and how far it is from the first row's."""
    lines = ["| changed | parameters | phone error rate, % | against the recipe |", "| --- | --- | --- | --- |"]
    start = next(iter(rows.values()))["best"]
    for row, found in rows.items():
        best = found["best"]
        rate, against = ("diverged", "") if best is None else (f"{best:.2f}", f"{best - start:+.2f}")
        lines.append(f"| {row} | {found['parameters']:,} | {rate} | {against} |")
    return "\n".join(lines) + "\n"


def main(options: Options) -> None:
    recipe = read_recipe(options.recipe, TrainOptions(threads=1))
    rows = ablate(options, recipe)
    report = {
        "command": " ".join(["python", *sys.argv]),
        "recipe": options.recipe,
        **machine(),
    }
    text = json.dumps({**report, "epochs": options.epochs, "rows": rows}, indent=1) + "\n"
    for name, content in (("ablation.json", text), ("ablation.md", table(rows))):
        with write_atomically(options.output / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    try:
        main(tyro.cli(Options))
    except InputError as error:
        sys.exit(f"error: {error}")
