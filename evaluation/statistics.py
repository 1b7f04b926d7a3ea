"""How good the confidences and times of recognised phones are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.phones import TimedPhone
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.confidence import calibration_error
from tetraphone.recognition.scoring import matches


@dataclass
class EvaluationStatistics:
    """Confidences of recognised phones, whether each phone is right, and errors of times, over utterances."""

    phones: tuple[str, ...]
    """The model's phone set."""
    confidences: list[float] = field(default_factory=list)
    """Of each recognised phone."""
    right: list[bool] = field(default_factory=list)
    """Whether that phone matches the reference in a minimal alignment."""
    start_errors: list[float] = field(default_factory=list)
    """Seconds, of the right phones of utterances with times."""
    end_errors: list[float] = field(default_factory=list)

    def add(self, utterance: Utterance, phones: list[TimedPhone]) -> None:
        """Counts one utterance; its times only where the corpus has a time for each of its phones."""
        pairs = matches(utterance.phones, [item.phone for item in phones])
        matched = {place for _, place in pairs}
        self.confidences += [item.confidence for item in phones]
        self.right += [place in matched for place in range(len(phones))]
        times = [item for item in utterance.times or () if item[0] in self.phones]
        if tuple(phone for phone, _, _ in times) == utterance.phones:
            self.start_errors += [abs(phones[right].start - times[left][1]) for left, right in pairs]
            self.end_errors += [abs(phones[right].end - times[left][2]) for left, right in pairs]

    def summary(self) -> dict[str, Any]:
        """Calibration error, 0 to 1; median and 90th percentile of the errors of times, in seconds, where known."""
        result: dict[str, Any] = {"calibration_error": round(calibration_error(self.confidences, self.right), 4)}
        for name, errors in (("start_error", self.start_errors), ("end_error", self.end_errors)):
            if errors:
                median, most = np.percentile(errors, (50, 90))
                result[name] = {"median": round(float(median), 4), "90th percentile": round(float(most), 4)}
        return result


RESAMPLES = 5000
"""Of the speakers, for an interval."""


def resampled_rates(counts: NDArray[np.int64], groups: Sequence[str]) -> NDArray[np.float64]:
    """Error rates, percent, of as many speakers drawn with replacement from each group (Bisani and Ney, 2004).

    The draws follow from the groups alone, so that the difference of two models' rates is that on the same speakers.

    Args:
        counts: [speakers, 2]: errors and reference phones of each.
        groups: of each speaker, such as the corpus, of which none gets more or fewer speakers than it has.

    Returns:
        [RESAMPLES].
    """
    random, sums, names = np.random.default_rng(1), np.zeros((RESAMPLES, 2)), np.array(groups)
    for group in sorted(set(groups)):
        members = np.flatnonzero(names == group)
        sums += counts[members][random.integers(len(members), size=(RESAMPLES, len(members)))].sum(1)
    rates: NDArray[np.float64] = 100 * sums[:, 0] / sums[:, 1]
    return rates


def interval(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """The middle 95 % of a figure's resamples."""
    low, high = np.percentile(resampled, (2.5, 97.5))
    return float(low), float(high)
