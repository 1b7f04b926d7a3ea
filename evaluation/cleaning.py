"""Transcripts of a corpus compared with what a model hears: wrong ones, and words that were said otherwise."""

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.files import append, claimed, write_atomically
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.corrections import Corrections, Stretch
from tetraphone.corpora.dictionary import Pronunciations, split_words
from tetraphone.corpora.held_out import corpus_name, table_names
from tetraphone.corpora.identity import file_digest
from tetraphone.corpora.options import CleanOptions, Kind
from tetraphone.corpora.pronunciations import Spoken, split_transcript
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.quant.quantize import load
from tetraphone.recognition.ctc import best_path, log_softmax, score_index
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.recognition.scoring import Errors
from tetraphone.sound.audio import Samples, read_needed

from .alignment import Way, align
from .checkpoint import energies_and_scores

SCORES, CORRECTIONS = "scores.jsonl", "corrections.tsv"
"""What was found of each utterance, and the table of what follows."""

WORST = 100
"""One utterance of so many of a corpus, those that score lowest, may be dropped; at least one."""

Scorer = Callable[[Samples], NDArray[np.float32]]
"""Samples → scores [network frames, labels]."""


@dataclass(frozen=True)
class Heard:
    """What a model makes of an utterance and its transcript: a line of SCORES."""

    corpus: str
    id: str
    score: float
    """Log probability of the likeliest way of saying the transcript over that of the likeliest phones at all, for each
    phone of the transcript: 0 at best."""
    errors: float
    """Percent: edits from the transcript, as it was said, to the likeliest phones."""
    phones: int
    seconds: float
    said: list[list[Any]]
    """Words that were said otherwise: kind, place of the first phone, phones written, phones said."""
    text: str
    transcript: str
    """Its `transcript_digest`."""


def clean(
    model: Path,
    corpora: Sequence[Corpus],
    dictionary: Pronunciations,
    options: CleanOptions,
    folder: Path,
    resume: bool,
) -> dict[str, Any]:
    """Aligns every utterance with a model; writes SCORES and CORRECTIONS into `folder`.

    An utterance is dropped where it is among the worst of its corpus and scores lower than `options.drop_below`.

    Args:
        resume: continue in a folder where the same was interrupted.

    Raises:
        InputError: the model cannot be read, the folder is used, or holds the scores of something else; or two corpora
            have one name in tables.
    """
    table_names(corpora)
    phones, rate, scorer = load_scorer(model)
    lacking = {phone for corpus in corpora for one in corpus.utterances for phone in one.phones} - set(phones)
    if lacking:
        raise InputError(f"{model} lacks the phone {min(lacking)} of the transcripts; take a model of their phones")
    identity = {"model": file_digest(model), **asdict(replace(options, drop_below=0.0))}
    identity["dictionary"] = hashlib.sha256(json.dumps(sorted(dictionary.items())).encode()).hexdigest()
    with claimed(folder, resume):
        path, problems = folder / SCORES, [problem for corpus in corpora for problem in corpus.problems]
        before = {(one.corpus, one.id): one for one in _known(path, identity)}
        if not before:
            path.unlink(missing_ok=True)
            append(path, (json.dumps(identity) + "\n").encode())
        found = list[Heard]()
        every = [(corpus_name(corpus.name), utterance) for corpus in corpora for utterance in corpus.utterances]
        for corpus, utterance in Progress(every, "aligning", unit="utterances"):
            heard = before.get((corpus, utterance.id))
            if heard is None or heard.transcript != transcript_digest(utterance):
                try:
                    samples = read_needed(utterance.audio, rate, utterance.start, utterance.duration, utterance.channel)
                except InputError as error:
                    problems.append(f"{utterance.label}: {error}")
                    continue
                scores = scorer(samples)
                if fault := too_short(utterance, len(scores)):
                    problems.append(fault)
                    continue
                heard = hear(corpus, utterance, scores, phones, dictionary, options)
                append(path, (json.dumps(asdict(heard)) + "\n").encode())
            found.append(heard)
        corrections = correct(found, options.drop_below)
        with write_atomically(folder / CORRECTIONS) as temporary:
            temporary.write_text("".join(corrections.lines()), encoding="utf-8")
    return {"corrections": str(folder / CORRECTIONS), **summary(found, options.drop_below), "problems": problems}


def _known(path: Path, identity: dict[str, Any]) -> Iterator[Heard]:
    """What was found before the interruption; a line that was being written then is passed over.

    Raises:
        InputError: it is of another model, dictionary or options.
    """
    if not path.is_file():
        return
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    os.truncate(path, len(whole))
    first, *lines = whole.decode("utf-8", "replace").split("\n")
    try:
        known = json.loads(first)
    except ValueError:
        return
    if known != identity:
        different = sorted(name for name in identity if known.get(name) != identity[name])
        raise InputError(f"{path} was made with another {' and '.join(different)}; take a new folder")
    for line in lines:
        try:
            yield Heard(**json.loads(line))
        except (TypeError, ValueError):
            continue


def load_scorer(path: Path) -> tuple[tuple[str, ...], int, Scorer]:
    """The phones of a model, .pte or checkpoint, the rate of the samples that it takes, and its scores of them.

    Raises:
        InputError: it cannot be read.
    """
    if path.suffix.lower() != ".pte":
        checkpoint = load(path).to_ship()
        checkpoint.model.eval()
        rate = checkpoint.features.sample_rate
        return checkpoint.phones, rate, lambda samples: energies_and_scores(checkpoint, samples[:, None], rate)[1]
    recognizer = Recognizer.load(path)

    def scores(samples: Samples) -> NDArray[np.float32]:
        with recognizer.stream(scores=True) as stream:
            stream.accept(samples, recognizer.sample_rate)
            stream.finish()
            return stream.scores()

    return recognizer.phones, recognizer.sample_rate, scores


def hear(
    corpus: str,
    utterance: Utterance,
    scores: NDArray[np.float32],
    phones: Sequence[str],
    dictionary: Pronunciations,
    options: CleanOptions,
) -> Heard:
    """Aligns one utterance by a model's scores [network frames, labels]."""
    index, posteriors = score_index(phones), log_softmax(scores)
    every = split_transcript(split_words(utterance.text), utterance.phones, dictionary, not options.dictionary_only)
    spoken = [
        replace(word, variants=tuple(way for way in word.variants if index.keys() >= set(way[0]))) for word in every
    ]
    ways = [[_way(word, way, index, options) for way in range(len(word.variants))] for word in spoken]
    aligned = align(posteriors, ways)
    said, spelled, score = list[list[Any]](), list[str](), aligned.score
    for word, costs, way in zip(spoken, ways, aligned.chosen, strict=True):
        variant, source = word.variants[way]
        spelled += variant
        score += costs[way][1]  # which decides between ways and is no part of the path
        if way:
            said.append([source, word.first, " ".join(word.phones), " ".join(variant)])
    errors = Errors()
    errors.add(spelled, best_path(scores, phones))
    likeliest = float(posteriors.max(1).sum())
    return Heard(
        corpus,
        utterance.id,
        round((score - likeliest) / len(utterance.phones), 4),
        round(errors.phone_error_rate, 1),
        len(utterance.phones),
        utterance.duration,
        said,
        utterance.text,
        transcript_digest(utterance),
    )


def transcript_digest(utterance: Utterance) -> str:
    """Of all that a score depends on besides the model and the dictionary: what is said, and where."""
    said = [utterance.text, utterance.phones, str(utterance.audio), utterance.start, utterance.duration]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _way(word: Spoken, way: int, index: dict[str, int], options: CleanOptions) -> Way:
    """A pronunciation as it is aligned: another than the transcript's costs the margin of its kind."""
    variant, source = word.variants[way]
    margin = {"transcript": 0.0, "dictionary": options.margin, "reduced": options.reduced_margin}[source]
    return tuple(index[phone] for phone in variant), margin


def correct(found: Sequence[Heard], drop_below: float) -> Corrections:
    """What follows from the scores."""
    corrections, dropped = Corrections(), {(one.corpus, one.id) for one in dropped_of(found, drop_below)}
    for heard in found:
        if (heard.corpus, heard.id) in dropped:
            corrections.stretches[heard.corpus][heard.id]["dropped"] = ()
            continue
        stretches = defaultdict[Kind, list[Stretch]](list)
        for kind, first, written, said in heard.said:
            stretches[cast(Kind, kind)].append(Stretch(first, tuple(written.split()), tuple(said.split())))
        for kind, some in sorted(stretches.items()):
            corrections.stretches[heard.corpus][heard.id][kind] = tuple(some)
    return corrections


def worst(found: Sequence[Heard]) -> dict[str, list[Heard]]:
    """The worst of each corpus, worst first."""
    groups = defaultdict[str, list[Heard]](list)
    for heard in found:
        groups[heard.corpus].append(heard)
    return {name: sorted(some, key=lambda one: one.score)[: -(-len(some) // WORST)] for name, some in groups.items()}


def dropped_of(found: Sequence[Heard], drop_below: float) -> list[Heard]:
    """The utterances to drop."""
    return [one for some in worst(found).values() for one in some if one.score < drop_below]


def summary(found: Sequence[Heard], drop_below: float) -> dict[str, Any]:
    """Of each corpus: utterances, those dropped, words said otherwise, quantiles of the scores; the most frequent
    changes; and the worst hundredth of each corpus."""
    groups, dropped = defaultdict[str, list[Heard]](list), dropped_of(found, drop_below)
    for heard in found:
        groups[heard.corpus].append(heard)
    told = dict[str, Any]()
    for corpus, some in groups.items():
        out = [one.seconds for one in dropped if one.corpus == corpus]
        kinds = Counter(said[0] for heard in some for said in heard.said)
        low = ", ".join(f"{np.percentile([one.score for one in some], share):.2f}" for share in (1, 5, 50))
        told[corpus] = f"{len(some)} utterances, {len(out)} dropped ({sum(out):.0f} s); words said otherwise: "
        told[corpus] += f"dictionary {kinds['dictionary']}, reduced {kinds['reduced']}; scores at 1, 5, 50 %: {low}"
    changes = Counter(f"{written} > {said}" for heard in found for _, _, written, said in heard.said)
    listed = [
        f"{one.corpus} {one.id}: {one.score:.2f}, {one.errors:.0f} % errors: {one.text}"
        for some in worst(found).values()
        for one in some
    ]
    return {"corpora": told, "changes": dict(changes.most_common(30)), "notes": listed}
