"""A checkpoint's blank and confidences, fitted on held-out recordings."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.recognition.confidence import calibration_error, fit
from tetraphone.recognition.ctc import BLANK, best_path, greedy
from tetraphone.recognition.scoring import Errors
from tetraphone.sound.audio import Samples, joined
from tetraphone.train.network.model import Checkpoint

from .checkpoint import energies_and_scores
from .statistics import EvaluationStatistics
from .utterances import process_utterances

BLANK_SHIFTS = sorted((np.arange(-20, 11) / 10).tolist(), key=abs)
"""Shifts of the blank's score to try. Most are negative: a network trained with CTC deletes more phones than it
inserts, though an error is an error in the phone error rate."""


def calibrate(checkpoint: Checkpoint, corpus: Corpus) -> tuple[Checkpoint, dict[str, Any]]:
    """The checkpoint with the blank and the confidences fitted on recordings that it was not trained on.

    The blank's bias is shifted to where the best path has the fewest errors; a confidence becomes the probability that
    a phone is right.

    Returns:
        A changed copy, without a head that scores if the blank was shifted, and {"blank_shift", "phone_error_rate",
        "phone_error_rate_before" (percent), "slope", "intercept", "phones", "calibration_error",
        "calibration_error_before", "problems"} on those recordings.

    Raises:
        InputError: no utterance is usable, or the recognised phones are all right or all wrong.
    """
    checkpoint, problems = replace(checkpoint.to_ship(), model=copy.deepcopy(checkpoint.model)), list(corpus.problems)
    checkpoint.model.eval()
    phones, features = checkpoint.phones, checkpoint.features

    def scores_of(blocks: Iterator[Samples], rate: int) -> NDArray[np.float32]:
        return energies_and_scores(checkpoint, joined(blocks), rate)[1]

    scored = list(process_utterances(corpus, problems, scores_of, len))
    errors: dict[float, Errors] = {}
    for shift in Progress(BLANK_SHIFTS, "fitting the blank", unit="shifts"):
        errors[shift] = Errors()
        for utterance, scores in scored:
            errors[shift].add(utterance.phones, best_path(_shifted(scores, shift), phones))
    for shift in (*sorted(errors, key=lambda shift: errors[shift].phone_error_rate), 0.0):
        statistics = EvaluationStatistics(phones)
        for utterance, scores in scored:
            statistics.add(utterance, greedy(_shifted(scores, shift), phones, features.shift, features.offset))
        if len(set(statistics.right)) == 2:  # right and wrong phones; confidences cannot be fitted to one kind alone
            break
    posteriors, right = statistics.confidences, statistics.right
    confidence = fit(posteriors, right)
    confidences = [confidence.apply(posterior) for posterior in posteriors]
    checkpoint.model.state_dict()["output.bias"][BLANK] += shift
    scorer = checkpoint.scorer if shift == 0 else None  # it was trained on what these scores measure
    return replace(checkpoint, confidence=confidence, scorer=scorer), {
        "blank_shift": shift,
        "phone_error_rate": round(errors[shift].phone_error_rate, 3),
        "phone_error_rate_before": round(errors[0.0].phone_error_rate, 3),
        "slope": round(confidence.slope, 4),
        "intercept": round(confidence.intercept, 4),
        "phones": len(right),
        "calibration_error": round(calibration_error(confidences, right), 4),
        "calibration_error_before": round(calibration_error(posteriors, right), 4),
        "problems": problems,
    }


def _shifted(scores: NDArray[np.float32], shift: float) -> NDArray[np.float32]:
    """Scores [frames, outputs] with `shift` added to the blank's."""
    return scores + np.eye(1, scores.shape[1], BLANK, dtype=np.float32) * np.float32(shift)
