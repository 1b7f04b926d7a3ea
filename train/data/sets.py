"""What a run is trained and measured on: utterances of the corpora, and the phones that they have."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.corrections import Corrections, corrected
from tetraphone.corpora.held_out import HeldOut, table_names
from tetraphone.corpora.sources import corpus_parts
from tetraphone.corpora.transcripts import read_fold
from tetraphone.corpora.utterance import Utterance
from tetraphone.train.options import TrainOptions

HOLD_OUT_SEED = 1
"""Of the choice of speakers held out: the same for runs of every seed."""


def read_training_sets(
    corpora: Iterable[str], options: TrainOptions, say: Callable[[str], None] = lambda line: None
) -> tuple[list[Utterance], list[Utterance], list[str]]:
    """Training and development utterances, and what was left out; `say` takes the notes of the corpora."""
    corpora, fold = list(corpora), read_fold(options.fold)
    phones = ARPABET if options.phones == "arpabet" else None
    read = [read_corpus(spec, "train", phones, keep_silences=options.keep_silences, fold=fold) for spec in corpora]
    if phones is None:
        phones = phone_set(corpus.utterances for corpus in read)
    dev = read_development(corpora, options, phones, fold)
    for note in dict.fromkeys(chain.from_iterable(corpus.notes for corpus in read + dev)):
        say(note)
    train, held = list[Utterance](), [utterance for corpus in dev for utterance in corpus.utterances]
    chosen = None if options.held_out or held else _by_share(read, options.hold_out)
    table = HeldOut(Path(options.held_out)) if options.held_out else None
    corrections = [Corrections.load(Path(path)) for path in options.corrections]
    tables = [(table.path, table.speakers)] if table else []
    names = table_names(read) if tables or corrections else set()
    for path, named in tables + [(found.path, found.stretches) for found in corrections]:
        if not names & named.keys():
            raise InputError(f"{path} names none of {', '.join(sorted(names))}; name corpora as it was made for them")
    for corpus in read:
        speakers = chosen if table is None else table.of(corpus)
        out = [utterance for utterance in corpus.utterances if speakers and utterance.speaker in speakers]
        held += out  # as their transcripts stand, by whatever corrections one trains
        corpus = corrected(corpus, corrections, options.correct)
        train += [utterance for utterance in corpus.utterances if not speakers or utterance.speaker not in speakers]
    if not train or not held:
        what = "to train on; hold out fewer speakers, drop less" if held else "to choose the model by; give --dev"
        raise InputError(f"no utterance is left {what}")
    return train, held, [problem for corpus in read + dev for problem in corpus.problems]


def _by_share(corpora: Iterable[Corpus], share: float) -> set[str]:
    return held_out_speakers([utterance for corpus in corpora for utterance in corpus.utterances], share)


def held_out_speakers(utterances: Iterable[Utterance], share: float) -> set[str]:
    """Speakers of up to so large a share of the speech, at random; first those with no more than a third of it each;
    at least the one who speaks least.

    Raises:
        InputError: there is one speaker only, and none would be left to train on.
    """
    seconds: dict[str, float] = defaultdict(float)
    for utterance in utterances:
        seconds[utterance.speaker] += utterance.duration
    if len(seconds) < 2:
        raise InputError("the corpora have one speaker only: holding out one leaves none to train on; give --dev")
    wanted = share * sum(seconds.values())
    drawn = np.random.default_rng(HOLD_OUT_SEED).permutation(sorted(seconds)).tolist()
    order = sorted(drawn, key=lambda speaker: seconds[speaker] > wanted / 3)
    left, chosen = wanted * (1 + 1e-6), set()
    for speaker in order[:-1]:
        if seconds[speaker] <= left:
            chosen.add(speaker)
            left -= seconds[speaker]
    return chosen or {min(order, key=seconds.__getitem__)}


def read_development(
    corpora: Iterable[str], options: TrainOptions, phones: Collection[str], fold: dict[str, str] | None
) -> list[Corpus]:
    """The development corpora that the options name, else the training corpora's parts dev; there may be none."""
    named = options.dev or [spec for spec in corpora if "dev" in corpus_parts(Path(spec))]
    return [read_corpus(spec, "dev", phones, fold=fold) for spec in named]


def phone_set(corpora: Iterable[Iterable[Utterance]]) -> tuple[str, ...]:
    """All phones of the utterances, in order of the alphabet."""
    return tuple(sorted({phone for corpus in corpora for utterance in corpus for phone in utterance.phones}))
