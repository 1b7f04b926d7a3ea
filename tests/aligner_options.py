"""Rows for the options of `tetraphone train-aligner`, and of `tetraphone export` that are for aligners."""

from dataclasses import replace
from typing import Any

from checkpoints import make_checkpoint
from options import FEATURES, World, row

from tetraphone.evaluation.known_words import train
from tetraphone.evaluation.known_words.options import AlignerOptions
from tetraphone.export.writer import export
from tetraphone.recognition.recognizer import Recognizer


@row("train-aligner", "--rows", "--delay", "--prior", "--epochs", "--batch-size", "--learning-rate", "--seed", "--fold")
def aligner_training(world: World) -> None:
    """What each of them does is seen in tests/evaluation/test_known_words.py."""
    given: list[Any] = []

    def train_aligner(checkpoint: Any, corpus: Any, options: AlignerOptions) -> Any:
        given.append((options, {phone for utterance in corpus.utterances for phone in utterance.phones}))
        return checkpoint, {}

    world.patch.setattr(train, "train_aligner", train_aligner)
    make_checkpoint(features=FEATURES).save(world.folder / "model.pt")
    table = world.folder / "table.txt"
    table.write_text("AH OW\n")
    asked = {"rows": 3, "delay": 4, "prior": 0.5, "epochs": 2, "batch-size": 64, "learning-rate": 0.01, "seed": 7}
    flags = [part for name, value in asked.items() for part in (f"--{name}", value)]
    files = (world.folder / "model.pt", world.corpus, world.folder / "out.pt")
    world.json("train-aligner", *files)
    world.json("train-aligner", *files, *flags, "--fold", table)
    assert [options for options, _ in given] == [AlignerOptions(), AlignerOptions(3, 4, 0.5, 2, 64, 0.01, 7)]
    assert ["AH" in phones for _, phones in given] == [True, False]


@row("export", "--aligner")
def export_aligner(world: World) -> None:
    checkpoint, path = make_checkpoint(features=FEATURES, aligner=True), world.folder / "model.pte"
    checkpoint.save(world.folder / "model.pt")
    export(replace(checkpoint, aligner=None), path)
    found = world.json("export", world.folder / "model.pt", path, "--aligner")
    assert found["programs"] == ["forward", "align"]
    with Recognizer.load(path) as recognizer:
        assert recognizer.info["aligns"] == 1
