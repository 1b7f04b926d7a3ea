"""Greedy decoding of CTC scores, and phone error rates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.train.network.model import BLANK


def log_softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log posteriors of scores [..., outputs]."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    posteriors: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return posteriors


def greedy(scores: NDArray[np.float32], phones: Sequence[str], shift: float, offset: float = 0.0) -> list[TimedPhone]:
    """The best label of each frame, repetitions merged and blanks dropped (Graves et al., 2006, best path).

    Args:
        scores: [network frames, phones + 1], blank first.
        shift: seconds from frame to frame.
        offset: seconds from a frame's index times `shift` to the sound that it stands for.
    """
    posteriors = np.exp(log_softmax(scores))
    return [
        TimedPhone(
            phones[label - 1],
            round(float(first * shift + offset), TIME_DIGITS),
            round(float(last * shift + offset), TIME_DIGITS),
            round(float(posteriors[first:last, label].mean()), 4),
        )
        for label, first, last in _labelled(scores)
    ]


def best_path(scores: NDArray[np.float32], phones: Sequence[str]) -> list[str]:
    """The phones that `greedy` gives, without times."""
    return [phones[label - 1] for label, _, _ in _labelled(scores)]


def _labelled(scores: NDArray[np.float32]) -> list[tuple[int, int, int]]:
    """(label, first frame, frame behind the last) wherever the best label is no blank."""
    best = scores.argmax(axis=-1)
    edges = np.flatnonzero(np.diff(best, prepend=-1, append=-1)).tolist()
    return [(label, first, last) for first, last in pairwise(edges) if (label := int(best[first])) != BLANK]


def matches(reference: Sequence[str], hypothesis: Sequence[str]) -> list[tuple[int, int]]:
    """Places (in the reference, in the hypothesis) of the phones that are right, by a minimal alignment."""
    return [
        pair
        for edit in Levenshtein.opcodes(reference, hypothesis)
        if edit.tag == "equal"
        for pair in zip(range(edit.src_start, edit.src_end), range(edit.dest_start, edit.dest_end), strict=True)
    ]


@dataclass
class Errors:
    """Edits that turn references into hypotheses, summed over utterances."""

    utterances: int = 0
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(reference, hypothesis), equal pairs too; the missing side of a deletion or insertion is empty."""

    def add(self, reference: Sequence[str], hypothesis: Sequence[str]) -> None:
        """Counts one utterance by a minimal alignment."""
        self.utterances += 1
        for edit in Levenshtein.opcodes(reference, hypothesis):
            left = reference[edit.src_start : edit.src_end]
            right = hypothesis[edit.dest_start : edit.dest_end]
            self.confusions.update(zip_longest(left, right, fillvalue=""))

    @property
    def reference_phones(self) -> int:
        return sum(count for (left, _), count in self.confusions.items() if left)

    @property
    def substitutions(self) -> int:
        return sum(count for (left, right), count in self.confusions.items() if left and right and left != right)

    @property
    def deletions(self) -> int:
        return sum(count for (_, right), count in self.confusions.items() if not right)

    @property
    def insertions(self) -> int:
        return sum(count for (left, _), count in self.confusions.items() if not left)

    @property
    def phone_error_rate(self) -> float:
        """Percent: edits over reference phones; nan without a reference."""
        edits = self.substitutions + self.deletions + self.insertions
        return 100 * edits / self.reference_phones if self.reference_phones else float("nan")
