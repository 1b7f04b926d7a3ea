"""The scripts that measure what a recipe is made of, in small: ablation, 4 bits a matrix, another phone set."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoints import make_checkpoint

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
RECIPE = """name = "small"
corpora = ["train.jsonl"]
[options]
hidden = 8
layers = 1
bands = 12
batch_size = 3
warmup_steps = 2
[formats]
"""


def run(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def test_rows_are_added_to_an_ablation_one_by_one(tiny_corpus: Path, tmp_path: Path, recipe: Path) -> None:
    common = ("--corpora", tiny_corpus.parent, "--runs", tmp_path / "runs", "--output", tmp_path)
    common = (*common, "--recipe", recipe, "--epochs", 1, "--rows")
    wrong = run("ablation.py", *common, "cosines")
    assert (wrong.returncode, "no row cosines; there are" in wrong.stderr) == (1, True)
    for rows in (["cosine"], ["dropout of a tenth"]):
        done = run("ablation.py", *common, *rows)
        assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "ablation.json").read_text())
    assert list(report["rows"]) == ["as the recipe", "cosine", "dropout of a tenth"]
    assert all(len(row["epochs"]) == 1 for row in report["rows"].values())
    lines = (tmp_path / "ablation.md").read_text().splitlines()
    assert len(lines) == 5
    assert lines[2].endswith(f"| {report['rows']['as the recipe']['best']:.2f} |  |")


def test_every_matrix_is_rounded_alone_and_all_at_once(tiny_corpus: Path, tmp_path: Path, recipe: Path) -> None:
    checkpoint = make_checkpoint()
    checkpoint.save(tmp_path / "model.pt")
    common = ("--corpora", tiny_corpus.parent, "--features", tmp_path / "features", "--recipe", recipe)
    done = run("sensitivity.py", *common, "--model", tmp_path / "model.pt", "--output", tmp_path / "found.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    assert list(report["all"]) == ["float32", "int8", "int4"]
    matrices = {name: weight.numel() for name, weight in checkpoint.model.named_parameters() if weight.dim() > 1}
    assert {name: row["weights"] for name, row in report["matrices"].items()} == matrices


def test_a_checkpoint_is_a_start_for_the_symbols_of_timit(corpora: Path, tmp_path: Path) -> None:
    sample = corpora / "timit_sample"
    if not sample.exists():
        pytest.skip(f"{sample} is not there")
    make_checkpoint().save(tmp_path / "model.pt")
    common = ("--timit", sample, "--model", tmp_path / "model.pt", "--output", tmp_path / "found.json")
    done = run("finetune.py", *common, "--folds", 2, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    assert (report["speakers"], report["utterances"]) == (12, 96)
    starts = report["phone error rate"]
    assert list(starts) == ["random weights", str(tmp_path / "model.pt")]
    assert all(rate > 0 for rates in starts.values() for rate in rates.values())
