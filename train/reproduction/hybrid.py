"""The paper's hybrid of networks and hidden Markov models: from a prepared corpus to targets, and to decoded phones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.manifest import write_manifest
from tetraphone.corpora.preparation.timit import TO_39, TO_48
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.ctc import log_softmax
from tetraphone.recognition.scoring import Errors
from tetraphone.train.data.sets import phone_set
from tetraphone.train.data.store import FeatureStore, extract
from tetraphone.train.loop.record import MODEL
from tetraphone.train.loop.run import train
from tetraphone.train.network.model import Checkpoint, load_checkpoint
from tetraphone.train.network.options import NetworkOptions
from tetraphone.train.objectives.framewise import Alignments
from tetraphone.train.objectives.hmm import Alignment, Topology, even_alignment, force, log_priors, timed_alignment
from tetraphone.train.objectives.objective import enumerate_scores
from tetraphone.train.options import TrainOptions, default_threads

SILENCE = "SIL"
"""The phone before and behind every utterance of words."""
SCALE = "acoustic scale"
"""Beside the error rates of a run: by what log likelihoods are multiplied in decoding."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Words:
    """What decoding into words needs, from the user."""

    lexicon: Path
    """WORD PHONE PHONE ..., a pronunciation a line."""
    arpa: Path
    """A language model in ARPA's form."""


def fold_timit(utterance: Utterance) -> Utterance:
    """With the 48 phones for training and their times; the glottal stop falls to its neighbours.

    Raises:
        InputError: the utterance has no hand-made times, or symbols that TIMIT does not have.
    """
    if utterance.times is None:
        raise InputError(f"{utterance.id} has no phone times; prepare TIMIT with `tetraphone corpus prepare timit`")
    unknown = {symbol for symbol, _, _ in utterance.times} - TO_48.keys()
    if unknown:
        raise InputError(f"{utterance.id} has the symbols {' '.join(sorted(unknown))}, which TIMIT lacks")
    times = tuple((phone, start, end) for symbol, start, end in utterance.times if (phone := TO_48[symbol]))
    return replace(utterance, phones=tuple(phone for phone, _, _ in times), times=times)


def between_silences(utterance: Utterance) -> Utterance:
    """With silence at both ends, where it may be long."""
    return replace(utterance, phones=(SILENCE, *utterance.phones, SILENCE), times=None)


def write_folded(
    source: str, parts: Sequence[str], folder: Path, fold: Callable[[Utterance], Utterance], say: Say
) -> dict[str, str]:
    """The parts of a prepared corpus with other phones, as manifests in `folder`; returns their specs by part.

    Raises:
        InputError: an utterance of another part than the first, the training part, is not usable.
    """
    specs = {}
    for part in parts:
        read = read_corpus(f"{source}:{part}", part, None, keep_silences=True)
        if read.problems and part == parts[0]:
            say(f"left out {len(read.problems)} utterances of {part}: first, {read.problems[0]}")
        elif read.problems:
            raise InputError(f"{part} is not whole: {read.problems[0]}")
        specs[part] = str(folder / f"{part}.jsonl")
        write_manifest(map(fold, read.utterances), Path(specs[part]))
    return specs


def align(
    training: str, dev: str, options: TrainOptions, folder: Path, features: Path, rounds: int, epochs: int, say: Say
) -> Path:
    """States of the frames of the training and the development corpus.

    Starts from phone times where utterances have them, else evenly; then, `rounds` times, trains a small network on
    the alignments so far and finds the likeliest ones by its posteriors over priors (Viterbi). What is done is kept.

    Args:
        options: of the networks to be trained on the alignments, for features, batches and optimiser.
        features: where those networks have theirs.
        epochs: of each round.

    Returns:
        The last round's file.

    Raises:
        InputError: an utterance is too short for its states, or see `train`.
    """
    corpora = [read_corpus(spec, "train", None, keep_silences=True) for spec in (training, dev)]
    topology = Topology(phone_set(corpus.utterances for corpus in corpora))
    stores = [
        extract(corpus.utterances, options.features, features / f"{name}.f32", (1.0,), default_threads())
        for name, corpus in zip(("train", "dev"), corpora, strict=True)
    ]
    path = folder / "start.npz"
    if not path.exists():
        states: dict[str, Alignment] = {}
        for store in stores:
            for utterance, length in zip(store.utterances, store.lengths.tolist(), strict=True):
                frames = options.features.network_frames(length)
                states[utterance.id] = _start(utterance, frames, options, topology)
        Alignments(topology, states).save(path)
    small = replace(options, network=NetworkOptions("lstm", 256, 2, dropout=0.2), epochs=epochs, seed=1, dev=(dev,))
    for number in range(1, rounds + 1):
        after = folder / f"round-{number}.npz"
        if not after.exists():
            say(f"aligning, round {number} of {rounds}")
            run = folder / f"round-{number}"
            train((training,), run, replace(small, alignments=str(path)), run.is_dir(), say, features)
            _realigned(load_checkpoint(run / MODEL), Alignments.load(path), stores).save(after)
        path = after
    return path


def _start(utterance: Utterance, frames: int, options: TrainOptions, topology: Topology) -> Alignment:
    if utterance.times is None:
        return even_alignment(utterance.phones, frames, topology)
    features = options.features
    return timed_alignment(utterance.times, frames, features.shift, features.offset + features.shift / 2, topology)


def _realigned(checkpoint: Checkpoint, before: Alignments, stores: Sequence[FeatureStore]) -> Alignments:
    priors, states = log_priors(before.states.values(), before.topology), {}
    for store in stores:
        for index, scores in enumerate_scores(checkpoint.model, store, checkpoint):
            utterance = store.utterances[index]
            likelihoods = log_softmax(scores) - priors
            try:
                states[utterance.id] = force(likelihoods, utterance.phones, before.topology)
            except InputError:  # Fewer frames than states: hand-made times know phones of less than three.
                states[utterance.id] = before.states[utterance.id]
    return Alignments(before.topology, states)


def measure(
    run: Path, alignments: Path, features: Path, train: str, tests: dict[str, str], words: Words | None = None
) -> dict[str, float]:
    """Error rates of a run, percent: over 39 classes of phones, or of words.

    Args:
        train: the corpus whose transcripts make the phone bigram, and whose alignments the states' priors.
        tests: corpora by name; the acoustic scale is the best on "dev".
    """
    from .wfst import decode, phone_graph, scaled_likelihoods, tune_scale, word_graph

    checkpoint, aligned = load_checkpoint(run / MODEL), Alignments.load(alignments)
    topology = aligned.topology
    transcripts = read_corpus(train, "train", None, keep_silences=True)
    priors = log_priors((aligned.states[u.id] for u in transcripts.utterances if u.id in aligned.states), topology)
    if words is None:
        graph = phone_graph(topology, [utterance.phones for utterance in transcripts.utterances])
    else:
        graph = word_graph(topology, words.lexicon, words.arpa, SILENCE)
    heard = {
        name: list(
            _likelihoods(read_corpus(spec, name, None, keep_silences=True), checkpoint, features / f"{name}.f32")
        )
        for name, spec in tests.items()
    }

    def fold(symbols: Sequence[str]) -> list[str]:
        return [TO_39.get(symbol, symbol) for symbol in symbols] if words is None else list(symbols)

    def references(name: str) -> list[tuple[NDArray[np.float32], Sequence[str]]]:
        found: list[tuple[NDArray[np.float32], Sequence[str]]] = []
        for utterance, posteriors in heard[name]:
            said = utterance.phones if words is None else utterance.text.split()
            found.append((scaled_likelihoods(posteriors, priors), fold(said)))
        return found

    def edits(reference: Sequence[str], hypothesis: list[str]) -> float:
        errors = Errors()
        errors.add(reference, fold(hypothesis))
        return errors.substitutions + errors.deletions + errors.insertions

    scale = tune_scale(graph, references("dev"), edits)
    rates = {SCALE: scale}
    for name in tests:
        errors = Errors()
        for likelihoods, reference in references(name):
            errors.add(reference, fold(graph.names(decode(graph, likelihoods, scale))))
        rates[name] = errors.phone_error_rate
    return rates


def _likelihoods(corpus: Corpus, checkpoint: Checkpoint, path: Path) -> Iterator[tuple[Utterance, NDArray[np.float32]]]:
    """Log posteriors of the states of each utterance, [frames, outputs]."""
    store = extract(corpus.utterances, checkpoint.features, path, (1.0,), 1)
    if left_out := [*corpus.problems, *store.problems]:
        raise InputError(f"{corpus.name} is not whole: {left_out[0]}")
    for index, scores in enumerate_scores(checkpoint.model, store, checkpoint):
        yield store.utterances[index], log_softmax(scores)
