"""What a shipped checkpoint is worth as a start: a network for TIMIT's 61 symbols, from minutes of speech.

    python benchmarks/finetune.py --timit FOLDER [--model CHECKPOINT] [--output FILE]

FOLDER is TIMIT or a piece of it, whose training speakers are dealt into folds; each fold is trained on the others'
speakers, one in ten of them held out to choose the epoch, and measured on its own. Nothing of it is shipped.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tyro

from tetraphone.common.errors import InputError
from tetraphone.common.files import machine, write_atomically
from tetraphone.common.progress import say
from tetraphone.corpora.manifest import write_manifest
from tetraphone.corpora.preparation.timit import TO_39, TO_48, read_timit
from tetraphone.recognition.ctc import best_path
from tetraphone.recognition.scoring import Errors
from tetraphone.train.data.store import extract
from tetraphone.train.loop.inputs import SPEEDS
from tetraphone.train.loop.record import MODEL
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.objectives.objective import enumerate_scores
from tetraphone.train.options import TrainOptions


@dataclass(frozen=True)
class Options:
    """What to measure."""

    timit: Path
    """The LDC's tree, or a piece of it."""
    model: Path = Path("models/english-float32.pt")
    """The checkpoint to start from."""
    folds: int = 4
    """Groups of speakers, each measured once."""
    epochs: int = 60
    """Of each run."""
    output: Path = Path("benchmarks/results/finetune.json")
    """The JSON file to write."""


def scored(phones: Sequence[str]) -> list[str]:
    """The 39 classes of Lee and Hon (1989), silences counted as any other."""
    return [TO_39[phone] for symbol in phones if (phone := TO_48[symbol])]


def main(options: Options) -> None:
    timit = read_timit(options.timit)[0]
    utterances = timit.utterances
    print(*timit.problems[:3], sep="\n", file=sys.stderr)
    speakers = sorted({utterance.speaker for utterance in utterances})
    start = load_checkpoint(options.model)
    common = TrainOptions(
        network=replace(start.network, dropout=0.2),
        features=start.features,
        phones="corpus",
        keep_silences=True,
        hold_out=0.1,
        epochs=options.epochs,
        batch_size=8,
        optimizer="soap",
        learning_rate=3e-3,
        warmup_steps=50,
        speed_perturbation=True,
        threads=1,
    )
    starts = {
        "random weights": common,
        str(options.model): replace(common, init=str(options.model)),
    }
    errors = {name: {"61 symbols": Errors(), "39 classes": Errors()} for name in starts}
    for fold in range(options.folds):
        own = set(speakers[fold :: options.folds])
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_manifest([u for u in utterances if u.speaker not in own], folder / "train.jsonl")
            measured = [u for u in utterances if u.speaker in own]
            without = [replace(u, phones=()) for u in measured]  # others' speakers may lack a symbol of theirs
            test = extract(without, start.features, folder / "test.f32", SPEEDS[:1], 1)
            if test.problems:
                raise InputError(f"{options.timit} is not whole: {test.problems[0]}")
            for title, trained in starts.items():
                run = folder / f"run {len(trained.init)}"
                train((str(folder / "train.jsonl"),), run, trained, False, say, folder / "features")
                checkpoint = load_checkpoint(run / MODEL)
                for index, scores in enumerate_scores(checkpoint.model, test, checkpoint):
                    reference, heard = measured[index].phones, best_path(scores, checkpoint.phones)
                    errors[title]["61 symbols"].add(reference, heard)
                    errors[title]["39 classes"].add(scored(reference), scored(heard))
    rates = {
        title: {classes: round(found.phone_error_rate, 2) for classes, found in kinds.items()}
        for title, kinds in errors.items()
    }
    report = {
        "command": " ".join(["python", *sys.argv]),
        **machine(),
        "speakers": len(speakers),
        "utterances": len(utterances),
        "folds": options.folds,
        "epochs": options.epochs,
        "phone error rate": rates,
    }
    with write_atomically(options.output) as temporary:
        temporary.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(rates, indent=1))


if __name__ == "__main__":
    try:
        main(tyro.cli(Options))
    except InputError as error:
        sys.exit(f"error: {error}")
