"""What the weights of each layer lose by 4 bits, one matrix at a time, and all together; on held-out speakers.

    python benchmarks/sensitivity.py --corpora FOLDER --features FOLDER [--model CHECKPOINT] [--output FILE]

The rest of the network stays float, activations too.
"""

import copy
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.errors import InputError
from tetraphone.common.files import machine, write_atomically
from tetraphone.common.progress import Progress
from tetraphone.quant.aware import rounded
from tetraphone.quant.formats import WEIGHT_FORMATS, WeightFormat
from tetraphone.train.data.sets import read_training_sets
from tetraphone.train.data.store import extract
from tetraphone.train.loop.inputs import SPEEDS
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.objectives.ctc import evaluate_store
from tetraphone.train.options import TrainOptions


@dataclass(frozen=True)
class Options:
    """What to measure."""

    corpora: Path
    """The folder of corpora."""
    features: Path
    """A folder for the features, which stay."""
    model: Path = Path("models/english-float32.pt")
    """A float checkpoint."""
    recipe: str = "pretrained"
    """The recipe that trained it, whose held-out speakers are listened to."""
    output: Path = Path("benchmarks/results/sensitivity.json")
    """The JSON file to write."""


def main(options: Options) -> None:
    recipe = read_recipe(options.recipe, TrainOptions())
    _, held, _ = read_training_sets((str(options.corpora / name) for name in recipe.corpora), recipe.options)
    options.features.mkdir(parents=True, exist_ok=True)
    checkpoint = load_checkpoint(options.model)
    store = extract(held, checkpoint.features, options.features / "dev.f32", SPEEDS[:1], recipe.options.threads)
    matrices = {name: weight for name, weight in checkpoint.model.named_parameters() if weight.dim() > 1}

    def error(names: list[str], number_format: WeightFormat) -> float:
        model = copy.deepcopy(checkpoint.model)
        model.load_state_dict({name: rounded(matrices[name], number_format) for name in names}, strict=False)
        return round(evaluate_store(model, store, checkpoint).phone_error_rate, 2)

    report = {"command": " ".join(["python", *sys.argv]), **machine()}
    rates = {"float32": error([], "int4")}
    for number_format in WEIGHT_FORMATS:
        rates[number_format] = error(list(matrices), number_format)
    layers = {
        name: {"weights": matrices[name].numel(), "phone error rate, int4": error([name], "int4")}
        for name in Progress(matrices, "rounding one matrix", unit="matrices")
    }
    with write_atomically(options.output) as temporary:
        temporary.write_text(
            json.dumps({**report, "all": rates, "matrices": layers}, indent=1) + "\n", encoding="utf-8"
        )
    print(json.dumps({"all": rates, "matrices": layers}, indent=1))


if __name__ == "__main__":
    try:
        main(tyro.cli(Options))
    except InputError as error:
        sys.exit(f"error: {error}")
