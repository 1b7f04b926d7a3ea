"""A corpus's utterances, processed one after another; those that cannot be used are listed as problems."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.sound.audio import Samples, open_sound

Result = TypeVar("Result")


def process_utterances(
    corpus: Corpus,
    problems: list[str],
    process: Callable[[Iterator[Samples], int], Result],
    frames: Callable[[Result], int],
) -> Iterator[tuple[Utterance, Result]]:
    """Usable utterances, each with the result of `process`.

    Args:
        problems: gets a line for each unreadable recording and each utterance shorter than CTC needs for its phones.
        process: takes an utterance's blocks of samples [frames, channels] and their rate in Hz.
        frames: the number of network frames, from the result of `process`.

    Raises:
        InputError: no utterance is usable.
    """
    usable = False
    for utterance in Progress(corpus.utterances, "reading recordings", unit="utterances"):
        try:
            with open_sound(utterance.audio, utterance.channel) as sound:
                result = process(sound.needed(utterance.start, utterance.duration), sound.rate)
        except InputError as error:
            problems.append(f"{utterance.label}: {error}")
            continue
        if fault := too_short(utterance, frames(result)):
            problems.append(fault)
            continue
        usable = True
        yield utterance, result
    if not usable:
        raise InputError(f"no utterance of {corpus.name} is usable; the first of {len(problems)} faults: {problems[0]}")
