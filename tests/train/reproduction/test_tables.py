"""The scripts that measure what a recipe is made of, in small: ablation, 4 bits a matrix, another phone set."""

import copy
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import tyro
from checkpoints import make_checkpoint
from interrupted import InProcess
from torch import Tensor

from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import Corpus
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.evaluation.models import load_model
from tetraphone.train.data import store as data
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.options import TrainOptions

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
RECIPE = """name = "small"
corpora = ["train.jsonl"]
[options]
hidden = 8
layers = 1
bands = 12
batch_size = 3
warmup_steps = 2
[formats]
[[teacher]]
kind = "lstm"
epochs = 1
"""


Load = Callable[[str], Any]
Run = Callable[..., None]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a script."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, load: Load) -> Run:
    """Runs a script with arguments, features in this process."""
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)

    def run(script: str, *arguments: object) -> None:
        module = load(script)
        module.main(tyro.cli(module.Options, args=list(map(str, arguments))))

    return run


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def test_rows_are_added_to_an_ablation_one_by_one(run: Run, tiny_corpus: Path, tmp_path: Path, recipe: Path) -> None:
    common = ("--corpora", tiny_corpus.parent, "--runs", tmp_path / "runs", "--output", tmp_path)
    common = (*common, "--recipe", recipe, "--epochs", 1, "--rows")
    with pytest.raises(InputError, match="no row cosines; there are as the recipe, "):
        run("ablation", *common, "cosines")
    for row in ("no teacher", "cosine"):
        run("ablation", *common, row)
    report = json.loads((tmp_path / "ablation.json").read_text())
    assert list(report["rows"]) == ["as the recipe", "no teacher", "cosine"]
    assert all(len(row["epochs"]) == 1 for row in report["rows"].values())
    runs = (tmp_path / "runs" / name for name in ("as-the-recipe", "no-teacher"))
    taught = [load_checkpoint(run / "model.pt").options["teacher"] for run in runs]
    assert taught == [(str(tmp_path / "runs" / "teacher-1" / "model.pt"),), ()]
    lines = (tmp_path / "ablation.md").read_text().splitlines()
    assert len(lines) == 5
    assert lines[2].endswith(f"| {report['rows']['as the recipe']['best']:.2f} | +0.00 |")


def test_every_matrix_is_rounded_alone_and_all_at_once(
    run: Run, tiny_corpus: Path, tmp_path: Path, recipe: Path
) -> None:
    checkpoint = make_checkpoint()
    checkpoint.save(tmp_path / "model.pt")
    common = ("--corpora", tiny_corpus.parent, "--features", tmp_path / "features", "--recipe", recipe)
    run("sensitivity", *common, "--model", tmp_path / "model.pt", "--output", tmp_path / "found.json")
    report = json.loads((tmp_path / "found.json").read_text())
    assert list(report["all"]) == ["float32", "int8", "int4"]
    matrices = {name: weight.numel() for name, weight in checkpoint.model.named_parameters() if weight.dim() > 1}
    assert {name: row["weights"] for name, row in report["matrices"].items()} == matrices
    # Rounded by torch's own arithmetic instead of ours, each of them is another network on the same recordings.
    _, held, _ = read_training_sets((str(tiny_corpus),), read_recipe(str(recipe), TrainOptions()).options)
    corpus = Corpus("held out", "dev", tuple(held), ())
    weights = checkpoint.model.state_dict()
    expected = {"float32": weights}
    for number_format, greatest in (("int8", 127), ("int4", 7)):
        expected[number_format] = {name: by_hand(weights[name], greatest) for name in matrices}
    for name in matrices:
        expected[name] = {name: by_hand(weights[name], 7)}
    found = report["all"] | {name: row["phone error rate, int4"] for name, row in report["matrices"].items()}
    rates = {}
    for name, changed in expected.items():
        model = copy.deepcopy(checkpoint.model)
        model.load_state_dict(changed, strict=False)
        replace(checkpoint, model=model).save(tmp_path / "rounded.pt")
        rates[name] = evaluate(load_model(tmp_path / "rounded.pt"), corpus, 0, print)["phone_error_rate"]
    assert found == pytest.approx(rates, abs=0.006)
    assert len(set(found.values())) > 2, "rounding moved nothing"


def by_hand(weight: Tensor, greatest: int) -> Tensor:
    """A matrix in steps of its scales: one a row of quaternions or reals, or in int4 one for each 32 weights."""
    flat = weight if weight.dim() == 3 else weight[None]
    width = flat.shape[2] if greatest == 127 else 8 if weight.dim() == 3 else 32
    parts = []
    for part in flat.split(width, dim=2):
        scale = part.abs().amax((0, 2), keepdim=True) / greatest
        scale = scale if greatest == 127 else scale.half().float()
        parts.append((part / scale).round().clamp(-greatest, greatest) * scale)
    return torch.cat(parts, dim=2).view_as(weight)


def test_a_checkpoint_is_a_start_for_the_symbols_of_timit(run: Run, corpora: Path, tmp_path: Path) -> None:
    sample = corpora / "timit_sample"
    if not sample.exists():
        pytest.skip(f"{sample} is not there")
    make_checkpoint().save(tmp_path / "model.pt")
    common = ("--timit", sample, "--model", tmp_path / "model.pt", "--output", tmp_path / "found.json")
    run("finetune", *common, "--folds", 2, "--epochs", 1)
    report = json.loads((tmp_path / "found.json").read_text())
    assert (report["speakers"], report["utterances"]) == (12, 96)
    starts = report["phone error rate"]
    assert list(starts) == ["random weights", str(tmp_path / "model.pt")]
    for rates in starts.values():
        assert 0 < rates["39 classes"] < rates["61 symbols"], "folding forgives"
    assert starts["random weights"] != starts[str(tmp_path / "model.pt")]


def test_a_card_says_what_training_varied_and_refuses_other_recipes(load: Load) -> None:
    models = load("models")
    options = asdict(read_recipe("pretrained", TrainOptions()).options)
    with pytest.raises(SystemExit, match=r"recipe pretrained \(teacher\)"):
        models.recipe_of("english", options)
    options |= {"teacher": ["model.pt"] * len(read_recipe("pretrained", TrainOptions()).teachers)}
    assert models.recipe_of("english", options) == "pretrained"
    with pytest.raises(SystemExit, match=r"english-float32\.pt was not trained by the recipe pretrained \(epochs\)"):
        models.recipe_of("english", options | {"epochs": 1})
    varied = models.augmentation(options | {"spec_augment": False, "vocal_tract": True, "acoustics": 0.15})
    rooms = "level, microphone, room and noise of 15 % of the utterances varied"
    assert varied == f"three speeds, vocal tracts of other lengths, {rooms}"


def test_a_card_tells_of_the_speakers_held_out(load: Load) -> None:
    told: dict[str, Any] = {
        name: {"phone_error_rate": 12.34, "calibrated_phone_error_rate": 11.11} for name in ("float32", "int8", "int4")
    }
    said = "float32 11.1 %, int8 11.1 %, int4 11.1 %; before the blank was fitted 12.3 %"
    held_out = load("models").held_out
    assert held_out(told) == said
    taught = {f"teacher-{number}": {"phone_error_rate": 10.0 + number} for number in (1, 2)}
    assert held_out(taught | told) == f"{said}, its teachers 11.0 % and 12.0 %"


def test_a_card_tells_of_every_teacher(load: Load, tmp_path: Path) -> None:
    models, path = load("models"), tmp_path / "mine.toml"
    begin = "; beside CTC (weight 0.5) it learned the posteriors (0.5) of"
    for tables, said in (
        ("teacher = []", ""),
        ('[[teacher]]\nkind = "lstm"', f"{begin} a larger network (LSTM, 3 layers of 320 reals)"),
        (
            '[[teacher]]\nkind = "lstm"\n[[teacher]]\nhidden = 640',
            f"{begin} larger networks (LSTM, 3 layers of 320 reals, then QLSTM, 3 layers of 640 reals; "
            "each trained with those before it)",
        ),
    ):
        path.write_text(f'base = "pretrained"\n{tables}\n')
        assert models.teachers(str(path)) == said
