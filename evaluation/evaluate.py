"""The phone error rate of a model on a corpus, and how good its confidences and times are."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tetraphone.common.phones import ARPABET
from tetraphone.corpora.corpus import Corpus
from tetraphone.recognition.model import LoadedModel, ModelOutput
from tetraphone.recognition.scoring import Errors
from tetraphone.sound.audio import Samples

from .statistics import EvaluationStatistics
from .utterances import process_utterances


@dataclass
class _ReadingTime:
    """Adds up the seconds of sound in blocks, and the seconds that reading them takes."""

    sound: float = 0.0
    reading: float = 0.0

    def measured(self, blocks: Iterator[Samples], rate: int) -> Iterator[Samples]:
        """The same blocks."""
        while True:
            started = time.perf_counter()
            block = next(blocks, None)
            self.reading += time.perf_counter() - started
            if block is None:
                return
            self.sound += len(block) / rate
            yield block


def evaluate(model: LoadedModel, corpus: Corpus, show: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Phone error rate (percent) over a corpus, errors of confidences and times, real-time factor of one process.

    The real-time factor counts features, network and decoding, not the reading of recordings. Recordings that cannot be
    read, and utterances shorter than CTC needs for their phones, are left out and listed under "problems".

    Args:
        show: how many utterances to show, the reference above the recognised phones.
        say: takes a line of log.

    Raises:
        InputError: no utterance is usable.
    """
    problems = list(corpus.problems)
    errors, statistics, reading_time = Errors(), EvaluationStatistics(model.phones), _ReadingTime()
    seconds = 0.0

    def recognize(blocks: Iterator[Samples], rate: int) -> ModelOutput:
        nonlocal seconds
        started, reading = time.perf_counter(), reading_time.reading
        recognition = model.recognize(reading_time.measured(blocks, rate), rate, False)
        seconds += time.perf_counter() - started - (reading_time.reading - reading)
        return recognition

    for utterance, recognition in process_utterances(corpus, problems, recognize, lambda found: found.frames):
        symbols = [item.phone for item in recognition.phones]
        if errors.utterances < show:
            say(f"reference:  {' '.join(utterance.phones)}\nrecognised: {' '.join(symbols)}")
        errors.add(utterance.phones, symbols)
        statistics.add(utterance, recognition.phones)
    return {
        "model": model.name,
        "corpus": corpus.name,
        "part": corpus.part,
        "phone_error_rate": round(errors.phone_error_rate, 3),
        "substitutions": errors.substitutions,
        "deletions": errors.deletions,
        "insertions": errors.insertions,
        "reference_phones": errors.reference_phones,
        "utterances": errors.utterances,
        **statistics.summary(),
        "phone_set": f"{len(model.phones)} {'ARPABET phones without stress' if model.phones == ARPABET else 'phones'}",
        "real_time_factor": round(seconds / max(reading_time.sound, 1e-9), 5),
        "problems": problems,
    }
