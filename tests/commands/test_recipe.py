"""Recipes: what is read, what is refused, and a small one from corpora to models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from interrupted import InProcess

from tetraphone.commands.main import main
from tetraphone.commands.training.recipe import Recipe, changed, follow, read_recipe
from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.evaluation.calibrate import calibrate
from tetraphone.evaluation.evaluate import evaluate
from tetraphone.evaluation.models import load_model
from tetraphone.export.operators import packed_shape
from tetraphone.export.runtime import Program
from tetraphone.export.writer import packed_layers
from tetraphone.quant.formats import Format
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.recognition.confidence import Confidence
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data import store as data
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.options import TrainOptions

DEFAULTS = TrainOptions(threads=1)


def test_the_recipes_of_the_package_are_read() -> None:
    pretrained, tiny = (read_recipe(name, DEFAULTS) for name in ("pretrained", "tiny"))
    assert pretrained.options.network.parameters(480, 40) <= 700_000
    assert tiny.options.network.parameters(480, 40) <= 250_000
    assert tiny.options == changed(pretrained.options, {"hidden": 160})
    assert tiny.teachers == pretrained.teachers
    assert pretrained.options.threads == 1
    assert tiny.corpora == pretrained.corpora
    for recipe in (pretrained, tiny):
        assert recipe.formats["int8"] is None
        further = recipe.formats["int4"]
        assert further is not None
        assert (further.rounding, further.network) == ("int4", recipe.options.network)


WHOLE = 'name = "a"\ncorpora = ["b"]\nformats.int8 = {}\n[options]\n'


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (WHOLE + "epocs = 3", "unknown epocs"),
        (WHOLE + "epochs = 0", "epochs is 0"),
        (WHOLE + 'epochs = "many"', "epochs is 'many'; give a whole number"),
        (WHOLE + "hidden = 16.5", r"hidden is 16\.5; give a whole number"),
        (WHOLE + "seed = true", "seed is True; give a whole number"),
        (WHOLE + 'spec_augment = "false"', "spec_augment is 'false'; give true or false"),
        (WHOLE + 'optimizer = "sgd"', "optimizer is 'sgd'; give one of adamw, soap, rmsprop"),
        (WHOLE + 'phones = "ipa"', "phones is 'ipa'; give one of arpabet, corpus"),
        (WHOLE.replace('["b"]', '"b"'), "corpora is 'b'; give a list"),
        (WHOLE.replace('["b"]', "[3]"), "corpora is 3; give a string"),
        (WHOLE.replace('["b"]', "[]"), "corpora is empty"),
        (WHOLE.replace('"a"', "3"), "name is 3; give a string"),
        (WHOLE.replace('"a"', '"../a"'), r"name is '\.\./a'"),
        (WHOLE.replace('"a"', '""'), "name is ''"),
        (WHOLE.replace("corpora", "corpuses"), "corpora"),
        ("[options", "not a recipe"),
        (WHOLE.replace("{}", "{ epocs = 3 }"), "unknown epocs"),
        (WHOLE + "[[teacher]]\nepocs = 3", "unknown epocs"),
        (WHOLE + "[teacher]\nepochs = 3", r"write \[\[teacher\]\] for each"),
        ('teacher = ["a.pt"]\n' + WHOLE, r"write \[\[teacher\]\] for each"),
        ('teacher = [""]\n' + WHOLE, r"write \[\[teacher\]\] for each"),
        (WHOLE + 'teacher = ["a.pt"]', "is inside another table"),
        (WHOLE + '[[teacher]]\nteacher = ["a.pt"]', "is inside another table"),
        (WHOLE.replace("{}", '{ teacher = ["a.pt"] }'), "is inside another table"),
        (WHOLE + 'dev = "a"', "give a list"),
        (WHOLE + "epochs = [3]", r"epochs is \[3\]; give a whole number"),
        (WHOLE + '[[teacher]]\nphones = "corpus"\nstack = 4', "have the features and the phones of"),
        ('base = "nothing"\n' + WHOLE, "no recipe nothing"),
        (WHOLE.replace("{}", "3"), "not a recipe"),
        (WHOLE.replace("int8", "int7"), "int7"),
        ("more = 1\n" + WHOLE, "unknown more"),
    ],
)
def test_a_wrong_recipe_is_refused_by_name(content: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=named):
        read_recipe(str(path), DEFAULTS)


def test_a_recipe_changes_tables_of_its_base_name_by_name(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('base = "tiny"\n[[teacher]]\nhidden = 96\n')
    second.write_text(f'base = "{first}"\nname = "mine"\n[options]\nepochs = 3\n')
    tiny, mine = read_recipe("tiny", DEFAULTS), read_recipe(str(second), DEFAULTS)
    assert (mine.name, mine.corpora, mine.formats.keys()) == ("mine", tiny.corpora, tiny.formats.keys())
    assert mine.options == replace(tiny.options, epochs=3)
    assert mine.teachers == (changed(mine.options, {"hidden": 96}),)


def test_a_recipe_that_is_its_own_base_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'base = "{path}"\n')
    with pytest.raises(InputError, match="recursion"):
        read_recipe(str(path), DEFAULTS)


def test_a_missing_recipe_names_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no recipe huge; .*pretrained, tiny"):
        read_recipe("huge", DEFAULTS)


def test_a_recipe_takes_no_other_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["train", "corpora", "--recipe", "tiny", "--output", str(tmp_path / "run"), "--epochs", "3"]) == 1
    assert "no option but --threads" in capsys.readouterr().err


def test_from_corpora_to_models(tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "ProcessPoolExecutor", InProcess)
    options = replace(
        DEFAULTS,
        network=NetworkOptions(hidden=16, layers=1),
        features=FeatureOptions(bands=12),
        epochs=2,
        batch_size=3,
        warmup_steps=2,
        learning_rate=0.05,
    )
    further = replace(options, epochs=1, rounding="int4")
    teacher = replace(options, network=NetworkOptions("lstm", 16, 1))
    other = replace(teacher, seed=2)
    timed = tmp_path / "timed.jsonl"
    items = []
    for line in map(json.loads, tiny_corpus.read_text().splitlines()):
        where = {"audio": str(tiny_corpus.parent / line["audio"]), "alignment": times_of(line["phones"])}
        items.append(json.dumps({**line, **where}) + "\n")
    timed.write_text("".join(items))
    recipe = Recipe(
        "small", (tiny_corpus.name,), options, (teacher, other), str(timed), {"int8": None, "int4": further}
    )
    lines: list[str] = []
    first = follow(recipe, tiny_corpus.parent, tmp_path / "run", False, lines.append)
    again = follow(recipe, tiny_corpus.parent, tmp_path / "run", True, lines.append)
    assert [line for line in lines if "is finished" in line] == [
        f"{tmp_path / 'run' / name} is finished" for name in ("teacher-1", "teacher-2", "float32", "int4")
    ]
    for trained in ("small-float32.pt", "int4/model.pt"):
        taught = load_checkpoint(tmp_path / "run" / trained).options
        first_teacher, second = (load_checkpoint(Path(path)) for path in taught["teacher"])
        assert first_teacher.options["teacher"] == ()
        assert second.options["teacher"] == taught["teacher"][:1]
    for result in (first, again):
        for trained in ("teacher-1", "teacher-2", "float32", "int4"):
            result[trained].pop("seconds")
    assert again == first
    told = json.loads((tmp_path / "run" / "small.json").read_text(encoding="utf-8"))
    assert told == {run: {key: found[key] for key in found if key != "model"} for run, found in first.items()}
    assert told["float32"]["aligner"]["utterances"] == told["int4"]["aligner"]["utterances"] == 12
    for name in ("int8", "int4"):
        with Recognizer.load(tmp_path / "run" / f"small-{name}.pte") as recognizer:
            assert recognizer.info["aligns"] == 1
    corpus = read_corpus(str(tiny_corpus), "train")
    for name in ("small-float32.pt", "small-int8.pte", "small-int4.pte"):
        result = evaluate(load_model(tmp_path / "run" / name), corpus, 0, lines.append)
        assert result["utterances"] == len(corpus.utterances)
    _, held, _ = read_training_sets((str(tiny_corpus),), options)
    assert_files_are_what_they_claim(tmp_path / "run", first, Corpus("held out", "dev", tuple(held), ()))


def times_of(phones: list[str]) -> list[tuple[str, float, float]]:
    """Of an utterance of the tiny corpus."""
    return [(phone, round(0.15 * place, 2), round(0.15 * (place + 1), 2)) for place, phone in enumerate(phones)]


def assert_files_are_what_they_claim(folder: Path, told: dict[str, dict[str, Any]], dev: Corpus) -> None:
    """Every file of the recipe, read back: format, phones, rounding, calibration, the figures told of it."""
    float32 = load_checkpoint(folder / "small-float32.pt")
    assert float32.confidence != Confidence()
    sources = {"int8": float32, "int4": load_checkpoint(folder / "int4" / "model.pt")}
    assert sources["int4"].options["rounding"] == "int4"
    assert sources["int4"].options["init"] == str(folder / "small-float32.pt")
    assert not (folder / "int8").exists(), "its weights are those of float32"
    before = load_checkpoint(folder / "float32" / "model.pt").model.state_dict()
    assert float32.model.state_dict()["output.bias"][0] - before["output.bias"][0] == pytest.approx(
        told["float32"]["blank_shift"], abs=1e-6
    )
    for name, weight in before.items():
        assert name == "output.bias" or torch.equal(float32.model.state_dict()[name], weight), name
    for number_format, source in sources.items():
        path = folder / f"small-{number_format}.pte"
        metadata = Program.load(path).metadata
        assert (metadata["number_format"], metadata["phones"].split()) == (number_format, list(ARPABET))
        expected, fitted = calibrate(quantize(source, QuantizeOptions(number_format))[0], dev)
        assert fitted["blank_shift"] == told[number_format]["blank_shift"]
        assert expected.confidence != source.confidence
        slope, intercept = metadata["confidence_slope"], metadata["confidence_intercept"]
        assert (slope, intercept) == pytest.approx((expected.confidence.slope, expected.confidence.intercept))
        content = path.read_bytes()
        for layer in packed_layers(expected):
            assert packed_shape(layer.block)[1] == Format[number_format.upper()]
            assert layer.block.numpy().tobytes() in content, "rounded, its blank shifted"
        assert path.stat().st_size == told[number_format]["bytes"]
