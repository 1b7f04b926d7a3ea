"""Prepares what the app's tests and its APK need: models, and the phones that `tetraphone recognize` gives.

    python prepare.py OUTPUT [--models FOLDER] [--corpora FOLDER]

OUTPUT/assets: what the app has of the repository. models: the .pte files that ship, or untrained ones of their sizes.
licences: ours.
OUTPUT/expected: the app's recording and one of each corpus, as 16 kHz WAV, with the JSON of `tetraphone recognize`.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import soundfile
import torch

from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.phones import ARPABET
from tetraphone.export.writer import export
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.sound.audio import read_recording
from tetraphone.sound.features import Normalisation
from tetraphone.train.network.model import AcousticModel, Checkpoint
from tetraphone.train.options import TrainOptions

HERE = Path(__file__).parent
UNTRAINED = {
    "english-int8": ("pretrained", "int8"),
    "english-int4": ("pretrained", "int4"),
    "english-tiny-int8": ("tiny", "int8"),
}
"""Recipe and number format."""
RECORDINGS = ("speechocean762/WAVE/**/*.*", "librispeech/audio/**/*.*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--models", type=Path, default=HERE.parent / "models")
    parser.add_argument("--corpora", type=Path, default=HERE.parents[1] / "shared" / "corpora")
    arguments = parser.parse_args()
    models = take_models(arguments.models, arguments.output / "assets" / "models")
    licences = arguments.output / "assets" / "licences"
    licences.mkdir(exist_ok=True)
    shutil.copyfile(HERE.parent / "LICENSE", licences / "Apache-2.0.txt")
    expect(models, arguments.corpora, arguments.output / "expected")


def take_models(source: Path, folder: Path) -> list[Path]:
    """int8, int4 and the tiny one in int8: a tiny int4 gains less than anyone would notice."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(source.glob("*-int[48].pte")):
        if not path.stem.endswith("tiny-int4"):
            shutil.copyfile(path, folder / path.name)
    if not any(folder.iterdir()):
        print(f"no *-int8.pte in {source}: untrained models take their place", file=sys.stderr)
        for name, (recipe, weights) in UNTRAINED.items():
            export(untrained(recipe, weights), folder / f"{name}.pte")
    models = sorted(folder.iterdir(), key=lambda path: ("int8" not in path.name, "tiny" in path.name))
    print(*(f"{path.name}: {path.stat().st_size:,} bytes" for path in models), sep="\n")
    return models


def untrained(recipe: str, weights: str) -> Checkpoint:
    generator, options = torch.Generator().manual_seed(1), read_recipe(recipe, TrainOptions()).options
    network, features = options.network, options.features
    model = AcousticModel(network, features.inputs, len(ARPABET) + 1, generator)
    ones = torch.ones(4 * features.bands).numpy()
    checkpoint = Checkpoint(model.eval(), network, features, Normalisation(0 * ones, ones))
    return quantize(checkpoint, QuantizeOptions(weights))[0]  # type: ignore[arg-type]


def expect(models: list[Path], corpora: Path, folder: Path) -> None:
    """By the first model, which the app starts with."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chosen = [HERE / "app/src/main/assets/measure.wav"]
    chosen += [path for pattern in RECORDINGS if (path := next(iter(sorted(corpora.glob(pattern))), None))]
    print("recordings:", *(path.name for path in chosen))
    for path in chosen:
        wav = folder / f"{path.stem}.wav"
        if path.suffix == ".wav":
            shutil.copyfile(path, wav)
        else:
            soundfile.write(wav, read_recording(path, 16000), 16000, subtype="PCM_16")
        command = [Path(sys.executable).with_name("tetraphone"), "recognize", wav, "--model", models[0], "--json"]
        wav.with_suffix(".json").write_bytes(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    main()
