"""Corpora in memory: prepared ones (lhotse manifests) and JSON-lines manifests as they stand."""

import math
from collections.abc import Collection
from dataclasses import dataclass

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET
from tetraphone.sound.opening import check_there

from .sources import Shar, find_source
from .transcripts import Fold, Reading, Transcripts
from .utterance import Utterance


@dataclass(frozen=True)
class Corpus:
    """One part of a corpus."""

    name: str
    part: str
    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """One line for each utterance or line that was left out: where it stands, its id and its fault."""
    notes: tuple[str, ...] = ()
    """What was read otherwise than it was written, or not at all, though no utterance is lost by it: a sentence for
    each kind."""


def read_corpus(
    spec: str,
    part: str,
    phones: Collection[str] | None = ARPABET,
    *,
    keep_silences: bool = False,
    fold: Fold | None = None,
) -> Corpus:
    """Reads one part of a corpus; faulty utterances are left out and named in `problems`.

    Args:
        spec, part: see `find_source`; all but Shar archives.
        phones: the phone set, outside of which a phone is a fault; None: any.
        keep_silences: takes silences of the transcripts as phones; only with phones of any kind.
        fold: phones that stand for the transcripts' symbols.

    Raises:
        InputError: the corpus is missing, has no usable utterance, or cannot be read at all.
    """
    source = find_source(spec, part, window=math.inf)
    if isinstance(source, Shar):
        raise InputError(f"{spec} holds Shar archives, which only train --stream reads; give manifests of the corpus")
    reading = Reading(Transcripts(phones, keep_silences, fold))
    utterances: dict[str, Utterance] = {}
    problems = []
    for item in source.read(reading):
        if isinstance(item, str):
            problems.append(item)
        elif first := utterances.get(item.id):
            problems.append(f"{item.utterance.label}: a second utterance of this id; the first is {first.where}")
        elif fault := _missing(item.utterance):
            problems.append(f"{item.utterance.label}: {fault}")
        else:
            utterances[item.id] = item.utterance
    if not utterances:
        raise InputError(f"{spec} has no usable utterance; {problems[0] if problems else 'it is empty'}")
    return Corpus(spec, source.part, tuple(utterances.values()), tuple(problems), reading.notes(spec))


def _missing(utterance: Utterance) -> str:
    """Why its recording cannot be opened, "" if it can."""
    try:
        check_there(utterance.audio)
    except InputError as error:
        return str(error)
    if not utterance.audio.is_file():  # a pipe would be waited for
        return f"{utterance.audio} is a pipe or a device; a corpus is made of files"
    return ""
