"""`tetraphone train --recipe`: trains, calibrates, quantises and exports models as a file of options says."""

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

from tetraphone.common.errors import InputError, typed
from tetraphone.common.files import claimed, write_atomically
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.evaluation.calibrate import calibrate
from tetraphone.evaluation.known_words.options import AlignerOptions
from tetraphone.evaluation.known_words.train import train_aligner
from tetraphone.export.writer import export
from tetraphone.quant.aware import rounded
from tetraphone.quant.formats import WEIGHT_FORMATS, WeightFormat
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.loop.record import MODEL
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import Checkpoint, load_checkpoint
from tetraphone.train.options import TrainOptions

RECIPES = resources.files("tetraphone.train") / "recipes"
SHARED = (
    "features",
    "phones",
    "keep_silences",
    "fold",
    "dev",
    "hold_out",
    "held_out",
    "corrections",
    "correct",
    "alignments",
    "stream",
)
"""Options that teachers must share with the model that learns from them."""
BESIDE = {"held_out", "corrections"}
"""Options whose path is relative to the recipe's file."""


@dataclass(frozen=True)
class Recipe:
    """The content of a recipe's file."""

    name: str
    """Beginning of the names of its models' files."""
    corpora: tuple[str, ...]
    """Corpora to train on, relative to the folder of corpora."""
    options: TrainOptions
    teachers: tuple[TrainOptions, ...]
    """Options of the networks that the model learns from; each also learns from those before it."""
    aligner: str
    """The corpus with times of phones that trains the head by which the models align, relative as well; "": none."""
    formats: dict[WeightFormat, TrainOptions | None]
    """Number formats of the files to export, with the options of further training for each, or None for no training."""


def changed(options: Any, values: dict[str, Any]) -> Any:
    """A copy of nested options with the values that `values` gives; those that are used are removed from `values`.

    Raises:
        InputError: a value is not one that its option takes.
    """
    new: dict[str, Any] = {}
    hints = get_type_hints(type(options))
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            new[field.name] = changed(value, values)
        elif field.name in values:
            new[field.name] = typed(field.name, hints[field.name], values.pop(field.name))
    return replace(options, **new)


def recipe_path(recipe: str) -> Path | Traversable:
    """The file of a recipe of the package, given its name, or the given .toml file.

    Raises:
        InputError: there is no such file.
    """
    path = Path(recipe) if recipe.endswith(".toml") else RECIPES / f"{recipe}.toml"
    if not (os.path.isfile(path) if isinstance(path, Path) else path.is_file()):
        names = sorted(found.name.removesuffix(".toml") for found in RECIPES.iterdir())
        raise InputError(f"there is no recipe {recipe}; give a .toml file or one of {', '.join(names)}")
    return path


def content_of(path: Path | Traversable) -> dict[str, Any]:
    """The tables of a recipe's file, laid over those of its base: [options] option by option, the rest as a whole."""
    content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    base = content_of(recipe_path(content.pop("base"))) if "base" in content else {}
    options = content.get("options", {})
    if isinstance(options, dict):
        beside = Path(str(path)).parent
        for name in BESIDE & options.keys():
            match options[name]:
                case str(named) if named:  # empty: none
                    options[name] = str(beside / named)
                case [*several] if all(isinstance(named, str) for named in several):
                    options[name] = [str(beside / named) for named in several]
    return {**base, **content, "options": base.get("options", {}) | options}


def read_recipe(recipe: str, options: TrainOptions) -> Recipe:
    """Reads a recipe.

    Args:
        recipe: the name of a recipe of the package, or a .toml file.
        options: defaults and the number of threads, over which the recipe's options are laid.

    Raises:
        InputError: there is no such recipe, or it lacks a key or has a wrong value.
    """
    path = recipe_path(recipe)
    try:
        content = content_of(path)
        values, taught = content.pop("options"), content.pop("teacher", [])
        name, rest = typed("name", str, content.pop("name")), content.pop("formats")
        if name != Path(name).name or name in ("", ".", ".."):
            raise ValueError(f"name is {name!r}; give the beginning of a file's name, without folders")
        corpora = typed("corpora", tuple[str, ...], content.pop("corpora"))
        if not corpora:
            raise ValueError("corpora is empty; name one or more")
        if not isinstance(taught, list) or not all(isinstance(table, dict) for table in taught):
            raise ValueError("teacher is not a list of tables; write [[teacher]] for each")
        if any("teacher" in table for table in (values, *taught, *rest.values())):
            raise ValueError("teacher is inside another table; write [[teacher]] for each")
        aligner = typed("aligner", str, content.pop("aligner", ""))
        options = changed(options, values)
        teachers = tuple(changed(options, further) for further in taught)
        for teacher in teachers:
            if other := [name for name in SHARED if getattr(teacher, name) != getattr(options, name)]:
                raise ValueError(f"a teacher must have the {' and the '.join(other)} of [options]")
        formats = {}
        for number_format, further in rest.items():
            if number_format not in WEIGHT_FORMATS:
                raise ValueError(f"unknown number format {number_format}; give {' or '.join(WEIGHT_FORMATS)}")
            formats[number_format] = changed(replace(options, rounding=number_format), further) if further else None
            values |= further
        read = Recipe(name, corpora, options, teachers, aligner, formats)
    except (AttributeError, InputError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"{path} is not a recipe: {error}; compare it with {RECIPES / 'pretrained.toml'}") from error
    if unknown := [*content, *values, *chain.from_iterable(taught)]:
        raise InputError(f"{path}: unknown {', '.join(unknown)}; `tetraphone train --help` lists the options")
    return read


def follow(recipe: Recipe, corpora: Path, folder: Path, resume: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Trains, calibrates, quantises and exports into `folder`; with `resume`, finished steps are kept.

    Returns:
        For each teacher, the float32 run and each number format: errors on the held-out speakers (percent), what was
        fitted on them, bytes, paths and times. `folder`/NAME.json holds the same without paths and times.

    Raises:
        InputError: as `claimed`, `train`, `calibrate`, `quantize` and `export` raise it, or torchrun started this.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("a recipe runs in one process; start it without torchrun")
    with claimed(folder, resume):
        return _follow(recipe, corpora, folder, resume, say)


def _follow(recipe: Recipe, corpora: Path, folder: Path, resume: bool, say: Callable[[str], None]) -> dict[str, Any]:
    specs, features = tuple(str(corpora / name) for name in recipe.corpora), folder / "features"
    run = folder / "float32"
    result, options = teach(recipe, specs, folder, resume, say, features)
    result["float32"] = train(specs, run, options, resume and run.is_dir(), say, features)
    _, held, problems = read_training_sets(specs, options)
    dev = Corpus("held-out speakers", "dev", tuple(held), tuple(problems))
    start = folder / f"{recipe.name}-float32.pt"
    checkpoint, confidence = calibrate(load_checkpoint(run / MODEL), dev)
    checkpoint = _with_aligner(recipe, checkpoint, corpora, result["float32"], say)
    checkpoint.save(start)
    result["float32"] |= {"model": str(start), **fitted(confidence)}
    for number_format, further in recipe.formats.items():
        weights, result[number_format] = start, {}
        if further is not None:
            run, further = folder / number_format, replace(further, init=str(start), teacher=options.teacher)
            result[number_format] = train(specs, run, further, resume and run.is_dir(), say, features, rounded)
            weights = run / MODEL
        trained = load_checkpoint(weights)
        if further is not None:
            trained = _with_aligner(recipe, trained, corpora, result[number_format], say)
        quantized, _ = quantize(trained, QuantizeOptions(number_format))
        say(f"calibrating {number_format}")
        quantized, confidence = calibrate(quantized, dev)
        result[number_format] |= export(quantized, folder / f"{recipe.name}-{number_format}.pte")
        result[number_format] |= fitted(confidence)
    shutil.rmtree(features, ignore_errors=True)
    lasting = {
        run: {name: value for name, value in values.items() if name not in ("model", "seconds")}
        for run, values in result.items()
    }
    with write_atomically(folder / f"{recipe.name}.json") as temporary:
        temporary.write_text(json.dumps(lasting, indent=1) + "\n", encoding="utf-8")
    return result


def teach(
    recipe: Recipe, specs: tuple[str, ...], folder: Path, resume: bool, say: Callable[[str], None], features: Path
) -> tuple[dict[str, dict[str, Any]], TrainOptions]:
    """Trains a recipe's teachers one after another, each with those before it as its own teachers.

    Returns:
        The results of `train` for each, and the recipe's options with all of them as teachers.

    Raises:
        InputError: as `train` raises it.
    """
    results, trained = dict[str, dict[str, Any]](), tuple[str, ...]()
    for number, options in enumerate(recipe.teachers, 1):
        run = folder / f"teacher-{number}"
        result = train(specs, run, replace(options, teacher=trained), resume and run.is_dir(), say, features)
        results[run.name], trained = result, (*trained, result["model"])
    return results, replace(recipe.options, teacher=trained)


def fitted(calibration: dict[str, Any]) -> dict[str, Any]:
    """The entries of a calibration's result that a recipe adds to the result of training."""
    return {
        "calibrated_phone_error_rate": calibration["phone_error_rate"],
        **{name: calibration[name] for name in ("blank_shift", "calibration_error")},
    }


def _with_aligner(
    recipe: Recipe, checkpoint: Checkpoint, corpora: Path, result: dict[str, Any], say: Callable[[str], None]
) -> Checkpoint:
    """The checkpoint with the head that the recipe wants; `result` gets what it is worth."""
    if not recipe.aligner:
        return checkpoint
    say("training the aligner")
    corpus = read_corpus(str(corpora / recipe.aligner), "train", checkpoint.phones)
    checkpoint, report = train_aligner(checkpoint, corpus, AlignerOptions())
    result["aligner"] = {name: value for name, value in report.items() if name != "problems"}
    return checkpoint
