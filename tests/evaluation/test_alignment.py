"""Alignment with ways of saying words, against all paths there are."""

from itertools import groupby, product

import numpy as np
import pytest

from tetraphone.evaluation.alignment import Way, align

WORDS: dict[str, list[list[Way]]] = {
    "one way": [[((1, 2), 0.0)]],
    "equal phones": [[((1, 1), 0.0)]],
    "equal across words": [[((1,), 0.0)], [((1, 2), 0.0), ((2,), 0.3)]],
    "ways": [[((1, 2), 0.0), ((2,), 0.5), ((1, 3), 0.2)], [((3,), 0.0), ((1, 2), 1.0)]],
    "a word left out": [[((2,), 0.0), ((), 0.7)], [((1,), 0.0), ((), 0.1)], [((3,), 0.0)]],
    "the last word left out": [[((2,), 0.0)], [((1,), 0.0), ((), 0.1)]],
}


def best_of_all(log_posteriors: np.ndarray, words: list[list[Way]]) -> float:
    """By every labelling of the frames."""
    least = {}
    for ways in product(*words):
        labels = tuple(label for way, _ in ways for label in way)
        least[labels] = min(least.get(labels, np.inf), sum(cost for _, cost in ways))
    best = -np.inf
    for path in product(range(log_posteriors.shape[1]), repeat=len(log_posteriors)):
        labels = tuple(label for label, _ in groupby(path) if label)
        if labels in least:
            best = max(best, log_posteriors[np.arange(len(path)), path].sum() - least[labels])
    return float(best)


@pytest.mark.parametrize("name", list(WORDS))
@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_the_likeliest_path_is_found(name: str, frames: int) -> None:
    words = WORDS[name]
    for seed in range(6):
        scores = np.random.default_rng([seed, frames]).normal(0, 3, (frames, 4))
        posteriors = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        found, best = align(posteriors, words), best_of_all(posteriors, words)
        assert found.score == pytest.approx(best)
        if np.isfinite(best):
            chosen = [words[number][way] for number, way in enumerate(found.chosen)]
            cost = sum(cost for _, cost in chosen)
            assert posteriors[np.arange(frames), found.labels].sum() - cost == pytest.approx(best)
            said = [label for label, _ in groupby(found.labels.tolist()) if label]
            assert said == [label for labels, _ in chosen for label in labels]


def test_nothing_to_align() -> None:
    assert align(np.zeros((0, 4)), WORDS["one way"]).score == -np.inf
