"""The likeliest path of a network's scores through a transcript whose words may be said in several ways (CTC)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraphone.recognition.ctc import BLANK

Way = tuple[tuple[int, ...], float]
"""Labels of a pronunciation, and what choosing it costs, in nats; without labels, the word is left out."""


@dataclass(frozen=True)
class Alignment:
    """The likeliest way."""

    score: float
    """Its log probability, less the costs of what it chose; −inf if there is none."""
    chosen: tuple[int, ...]
    """Of each word, the place of the pronunciation."""
    labels: NDArray[np.int64]
    """[frames]: the label of each, BLANK between phones."""
    words: NDArray[np.int64]
    """[frames]: the word of each frame with a phone, −1 of a blank."""


def align(log_posteriors: NDArray[np.floating], words: Sequence[Sequence[Way]]) -> Alignment:
    """Aligns a sequence of words, each said in one of some ways, with log posteriors [frames, labels].

    Between two equal phones there is a blank, between others there may be one (Graves et al., 2006).
    """
    graph = _Graph(words)
    frames = len(log_posteriors)
    if not frames:
        return Alignment(-np.inf, (), np.zeros(0, np.int64), np.zeros(0, np.int64))
    emitted = log_posteriors[:, graph.labels].astype(np.float64)
    scores = np.where(graph.begins < np.inf, -graph.begins, -np.inf) + emitted[0]
    came = np.zeros((frames, len(graph.labels)), np.int8 if graph.before.shape[1] < 128 else np.int32)
    rows = np.arange(len(graph.labels))
    for frame in range(1, frames):
        candidates = scores[graph.before] - graph.costs
        came[frame] = best = candidates.argmax(1)
        scores = candidates[rows, best] + emitted[frame]
    final = scores - graph.ends
    state = int(final.argmax())
    states = np.empty(frames, np.int64)
    for frame in range(frames - 1, -1, -1):
        states[frame] = state
        state = graph.before[state, came[frame, state]]
    score, visited = float(final.max()), graph.words[states]
    chosen = list(graph.empty)
    for word, way in zip(visited, graph.ways[states], strict=True):
        if word >= 0:
            chosen[word] = int(way)
    return Alignment(score, tuple(chosen), graph.labels[states], visited)


class _Graph:
    """States of all ways of saying all words, and for each the states that it may be reached from."""

    def __init__(self, words: Sequence[Sequence[Way]]) -> None:
        self._labels: list[int] = []
        self._words: list[int] = []
        self._ways: list[int] = []
        self._before: list[list[tuple[int, float]]] = []
        """(state, cost)."""
        begins: dict[int, float] = {}
        self.empty = [next((n for n, (labels, _) in enumerate(ways) if not labels), 0) for ways in words]
        """Of each word, the way that leaves no state."""
        heads: list[tuple[int, float]] = []
        """The states that the word before may end in, and the costs of leaving out words since."""
        blank = self._state(BLANK, -1, 0, [])
        begins[blank] = 0.0
        started = 0.0
        """The cost of leaving out all words so far; infinite if one is never left out."""
        heads = [(blank, 0.0)]
        for number, ways in enumerate(words):
            tails: list[tuple[int, float]] = []
            for way, (labels, cost) in enumerate(ways):
                if not labels:
                    tails += [(state, before + cost) for state, before in heads]
                    continue
                entry = [(state, before + cost) for state, before in heads if self._labels[state] != labels[0]]
                state = self._state(labels[0], number, way, entry)
                if started < np.inf:
                    begins[state] = started + cost
                for label in labels[1:]:
                    pause = self._state(BLANK, -1, 0, [(state, 0.0)])
                    direct = [(state, 0.0)] if label != self._labels[state] else []
                    state = self._state(label, number, way, [(pause, 0.0), *direct])
                tails.append((state, 0.0))
            started += min((cost for labels, cost in ways if not labels), default=np.inf)
            # The blank behind a word is reached from its ends, and from the blank before it where it may be left out.
            heads = [*tails, (self._state(BLANK, -1, 0, tails), 0.0)]
        self.ends = np.full(len(self._labels), np.inf)
        self.ends[[state for state, _ in heads]] = [cost for _, cost in heads]
        self.labels, self.words, self.ways = map(np.array, (self._labels, self._words, self._ways))
        self.begins = np.full(len(self._labels), np.inf)
        self.begins[list(begins)] = list(begins.values())
        widest = max(map(len, self._before))
        self.before = np.zeros((len(self._labels), widest), np.int64)
        self.costs = np.full((len(self._labels), widest), np.inf)
        for state, before in enumerate(self._before):
            for place, (other, cost) in enumerate(before):
                self.before[state, place], self.costs[state, place] = other, cost

    def _state(self, label: int, word: int, way: int, before: list[tuple[int, float]]) -> int:
        number = len(self._labels)
        self._labels.append(label)
        self._words.append(word)
        self._ways.append(way)
        self._before.append([(number, 0.0), *before])
        return number
