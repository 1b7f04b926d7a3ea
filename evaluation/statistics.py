"""How good the confidences and times of recognised phones are."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
