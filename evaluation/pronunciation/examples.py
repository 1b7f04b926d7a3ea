"""Marked utterances with what is measured of their phones, as the head that scores reads it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.marks import HIGHEST, HIGHEST_OF_PHONE, MarkedUtterance
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.aligner import Aligner
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.audio import open_sound

UNIT = HIGHEST / HIGHEST_OF_PHONE
"""By which marks of words and sentences are divided: all scores of the head are from 0 to HIGHEST_OF_PHONE."""


@dataclass(frozen=True)
class Example:
    """A marked utterance."""

    utterance: Utterance
    measures: Tensor
    """[phones, measures], see native/pronunciation/measures.h."""
    words: Tensor
    """[phones]: the word of each, counted from 0."""
    phone_marks: Tensor
    """[phones], 0 to 2, as all that follow."""
    word_marks: Tensor
    """[words, OF_WORDS]."""
    sentence_marks: Tensor
    """[OF_SENTENCES]."""


def measured(
    recognizer: Recognizer, corpus: Corpus, marks: Mapping[str, MarkedUtterance], problems: list[str]
) -> Iterator[Example]:
    """The utterances of a corpus that have marks, measured by a model that aligns; those that fail are problems."""
    marked = tuple(utterance for utterance in corpus.utterances if utterance.id in marks)
    if not marked:
        raise InputError(f"no utterance of {corpus.name} has marks; give the marks of this corpus")
    usable = False
    with recognizer.aligner() as aligner:
        for utterance in Progress(marked, "measuring", unit="utterances"):
            given = marks[utterance.id]
            try:
                measures, words = _measured(aligner, utterance, given)
                if words.bincount().tolist() != [len(word.phones) for word in given.words]:
                    raise InputError("its phones are not those of the marks; give phones of the model between blanks")
            except InputError as error:
                problems.append(f"{utterance.label}: left out, since {error}")
                continue
            usable = True
            phones = torch.tensor([mark for word in given.words for mark in word.phone_accuracy])
            of_words = torch.tensor([word.marks for word in given.words]) / UNIT
            yield Example(utterance, measures, words, phones, of_words, torch.tensor(given.marks) / UNIT)
    if not usable:
        raise InputError(f"no utterance of {corpus.name} is usable; the last of {len(problems)} faults: {problems[-1]}")


def _measured(aligner: Aligner, utterance: Utterance, given: MarkedUtterance) -> tuple[Tensor, Tensor]:
    """What is measured of an utterance's phones, and the word of each."""
    with (
        open_sound(utterance.audio, utterance.channel) as sound,
        aligner.stream(phones=given.spoken, pronounce=True) as stream,
    ):
        for block in sound.needed(utterance.start, utterance.duration):
            stream.accept(block, sound.rate)
        stream.finish()
        words = [phone.word for phone in stream.aligned(utterance.id).phones]
        return torch.from_numpy(stream.measures()), torch.tensor(words)
