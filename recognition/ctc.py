"""Connectionist temporal classification (Graves et al., 2006): its blank, the frames it needs, its best path."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.phones import TIME_DIGITS, TimedPhone

BLANK = 0
"""The index of the blank among the scores; phone k of the phone set has index k + 1."""


def score_index(phones: Sequence[str]) -> dict[str, int]:
    """The index of each phone among the scores."""
    return {phone: position + 1 for position, phone in enumerate(phones)}


def frames_needed(phones: Sequence[str]) -> int:
    """The least number of network frames that CTC needs: one for each phone, and a blank between two equal phones."""
    return len(phones) + sum(a == b for a, b in pairwise(phones))


def log_softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log posteriors of scores [..., outputs]."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    posteriors: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return posteriors


def greedy(scores: NDArray[np.float32], phones: Sequence[str], shift: float, offset: float = 0.0) -> list[TimedPhone]:
    """The best label of each frame, repetitions merged and blanks dropped (Graves et al., 2006, best path).

    Args:
        scores: [network frames, phones + 1], blank first.
        shift: seconds from one frame to the next.
        offset: seconds to add to a frame's index times `shift` to get the time of its sound.
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
    """(label, first frame, last frame + 1) of each run of frames whose best label is the same phone."""
    best = scores.argmax(axis=-1)
    edges = np.flatnonzero(np.diff(best, prepend=-1, append=-1)).tolist()
    return [(label, first, last) for first, last in pairwise(edges) if (label := int(best[first])) != BLANK]
