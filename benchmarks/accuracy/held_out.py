"""Phone error rates on the speakers that a recipe holds out, clean and in noise, with intervals over speakers.

    python benchmarks/accuracy/held_out.py measure MODEL [MODEL ...] --corpora FOLDER --features FOLDER
    python benchmarks/accuracy/held_out.py choose --corpora FOLDER --output TABLE

`measure` prints a table: rates with the middle 95 % of the bootstrap over speakers; of all models but the first, their
differences to it on the same draws of speakers (paired), which are real where the interval holds no zero. What a model
(.pt) did is kept in MODEL.held-out.json and read from there the next time. `choose` drew the speakers, once.
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from numpy.typing import NDArray

from tetraphone.commands.training.recipe import read_recipe
from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.common.progress import say
from tetraphone.corpora.corpus import read_corpus
from tetraphone.corpora.held_out import HeldOut, choose_held_out, corpus_name
from tetraphone.corpora.identity import file_digest
from tetraphone.corpora.utterance import Utterance
from tetraphone.evaluation.conditions import Babble, Condition
from tetraphone.evaluation.statistics import interval, resampled_rates
from tetraphone.recognition.ctc import best_path
from tetraphone.recognition.scoring import Errors
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.store import Change, FeatureStore, extract
from tetraphone.train.network.model import load_checkpoint
from tetraphone.train.objectives.objective import enumerate_scores
from tetraphone.train.options import TrainOptions

SpeakerErrors = dict[str, list[int]]
"""Corpus and speaker → errors and reference phones."""
Result = dict[str, SpeakerErrors]
"""Of each condition."""

CLEAN = "clean"
NOISY = ("pink noise, 10 dB", "pink noise, 5 dB", "telephone band, 8 kHz", "gain 10, clipped")
BABBLE = "babble, 10 dB"
SHARE, LONGEST = 0.1, 400.0
"""Of the voices of each corpus that are held out, and seconds of speech above which a voice is rather trained on."""
WHOLE = ("librispeech/dev_clean", "librispeech_mini/dev")
"""Corpora that are for choices alone."""
HEADER = """\
# The speakers that are never trained on: CORPUS SPEAKER. Drawn once, for good, by benchmarks/accuracy/held_out.py: a
# tenth of the voices of each corpus that has at least ten, by a digest of their names. LibriSpeech's readers have a
# number in librispeech_mini, and "ls-" before it in librispeech: who is drawn in one is held out of both. The
# corpora's own development sets are held out as a whole.
"""


@dataclass(frozen=True)
class Options:
    """Measure models."""

    models: tyro.conf.Positional[tuple[Path, ...]]
    """Checkpoints; the others are compared with the first."""
    corpora: Path
    """The folder of corpora."""
    features: Path
    """A folder for the features, which stay: half a gigabyte."""
    recipe: str = "accurate"
    """Whose corpora, and whose speakers held out."""


@dataclass(frozen=True)
class Choose:
    """Draw the speakers to hold out."""

    corpora: Path
    """The folder of corpora."""
    output: Path
    """The table to write."""
    recipe: str = "accurate"
    """Whose corpora."""


def voice(corpus: str, speaker: str) -> str:
    """LibriSpeech's readers have two names."""
    return f"ls-{speaker}" if corpus.startswith("librispeech_mini/") else speaker


def choose(options: Choose) -> None:
    recipe, seconds = read_recipe(options.recipe, TrainOptions()), defaultdict[tuple[str, str], float](float)
    for spec in recipe.corpora:
        for utterance in read_corpus(str(options.corpora / spec), "train").utterances:
            seconds[corpus_name(spec), utterance.speaker] += utterance.duration
    drawn = choose_held_out(seconds, SHARE, voice, LONGEST, WHOLE)
    lines = [("\t" if " " in "".join(names) else " ").join(names) + "\n" for names in drawn]
    with write_atomically(options.output) as temporary:
        temporary.write_text(HEADER + "".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class Sets:
    """What is held out."""

    features: FeatureOptions
    """Of all models that are measured."""
    corpora: dict[Path, str]
    """Of each recording."""
    stores: dict[str, FeatureStore]
    """The utterances in each condition."""

    @classmethod
    def of(cls, options: Options, features: FeatureOptions) -> "Sets":
        recipe, corpora = read_recipe(options.recipe, TrainOptions()), dict[Path, str]()
        utterances: list[Utterance] = []
        table = HeldOut(Path(recipe.options.held_out))
        for spec in recipe.corpora:
            corpus = read_corpus(str(options.corpora / spec), "train")
            speakers = table.of(corpus)
            held = [utterance for utterance in corpus.utterances if utterance.speaker in speakers]
            corpora |= {utterance.audio: corpus_name(spec) for utterance in held}
            utterances += held
        options.features.mkdir(parents=True, exist_ok=True)
        changes: dict[str, Change] = {name: Condition(name) for name in NOISY}
        changes[BABBLE] = Babble.of(utterances, options.features)
        stores = {CLEAN: extract(utterances, features, options.features / "clean.f32", [1.0], 1)}
        for number, (name, change) in enumerate(changes.items(), 1):
            stores[name] = extract(utterances, features, options.features / f"noisy-{number}.f32", [], 1, [change])
        return cls(features, corpora, stores)

    def errors(self, path: Path) -> Result:
        """Of a model: those of its last call, or measured now."""
        checkpoint, known = load_checkpoint(path).to_ship(), path.with_suffix(".held-out.json")
        if checkpoint.features != self.features:
            raise InputError(f"{path} takes other features than the first model; measure it by itself")
        source = [file_digest(path), *(store.source for store in self.stores.values())]
        if known.is_file():
            before: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
            if before["source"] == source:
                found: Result = before["errors"]
                return found
        result = dict[str, SpeakerErrors]()
        for name, store in self.stores.items():
            errors = defaultdict[str, Errors](Errors)
            for index, scores in enumerate_scores(checkpoint.model, store, checkpoint):
                utterance = store.utterances[index]
                speaker = f"{self.corpora[utterance.audio]} {utterance.speaker}"
                errors[speaker].add(utterance.phones, best_path(scores, checkpoint.phones))
            result[name] = {key: [one.edits, one.reference_phones] for key, one in sorted(errors.items())}
            say(f"{path}: {name} {rates(result[name])[0]:.2f} %")
        with write_atomically(known) as temporary:
            temporary.write_text(json.dumps({"source": source, "errors": result}) + "\n", encoding="utf-8")
        return result


def rates(errors: SpeakerErrors) -> tuple[float, NDArray[np.float64]]:
    """The phone error rate, percent, and its resamples."""
    counts = np.array(list(errors.values()))
    return 100 * counts[:, 0].sum() / counts[:, 1].sum(), resampled_rates(counts, [key.split()[0] for key in errors])


def table(results: dict[str, Result]) -> str:
    """In Markdown: a row a condition or, of clean speech, a corpus; a column a model."""
    first, *others = results.values()
    rows: dict[str, list[SpeakerErrors]] = {name: [result[name] for result in results.values()] for name in first}
    for corpus in sorted({key.split()[0] for key in first[CLEAN]}):
        rows[f"{CLEAN}, {corpus}"] = [
            {key: counts for key, counts in result[CLEAN].items() if key.split()[0] == corpus}
            for result in results.values()
        ]
    lines = [f"| held out | speakers | {' | '.join(results)} |", "|" + " --- |" * (3 + len(others))]
    for name, errors in rows.items():
        (rate, drawn), *compared = map(rates, errors)
        cells = [f"{rate:.2f} ({span(drawn, '.2f')})"]
        cells += [f"{other:.2f}: {other - rate:+.2f} ({span(theirs - drawn, '+.2f')})" for other, theirs in compared]
        lines.append(f"| {name} | {len(errors[0])} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def span(resampled: NDArray[np.float64], form: str) -> str:
    return " to ".join(format(bound, form) for bound in interval(resampled))


def measure(options: Options) -> None:
    if not options.models:
        raise InputError("no model to measure; name one or more checkpoints (.pt)")
    torch.set_num_threads(1)
    sets = Sets.of(options, load_checkpoint(options.models[0]).features)
    print(table({str(path): sets.errors(path) for path in options.models}))


Action = Annotated[Options, tyro.conf.subcommand("measure")] | Annotated[Choose, tyro.conf.subcommand("choose")]

if __name__ == "__main__":
    try:
        action: Any = tyro.cli(Action)
        choose(action) if isinstance(action, Choose) else measure(action)
    except InputError as error:
        sys.exit(f"error: {error}")
