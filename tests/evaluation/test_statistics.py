"""Intervals over speakers."""

import numpy as np
import pytest

from tetraphone.evaluation.statistics import interval, resampled_rates


def test_intervals_are_as_wide_as_theory_says() -> None:
    """Rates of 400 speakers with a deviation of 5 points: the mean's interval is ±1.96 · 5 / √400."""
    errors = np.random.default_rng(0).normal(300, 50, 400).round().astype(int)
    drawn = resampled_rates(np.stack([errors, np.full(400, 1000)], 1), 400 * ["a"])
    low, high = interval(drawn)
    assert high - low == pytest.approx(2 * 1.96 * errors.std() / 10 / 20, rel=0.1)
    assert drawn.mean() == pytest.approx(errors.mean() / 10, abs=0.05)


def test_speakers_are_drawn_within_their_group() -> None:
    """Corpora of one rate each: no draw changes the rate of both together."""
    counts = np.array(5 * [[10, 100]] + 9 * [[50, 100]])
    drawn = resampled_rates(counts, 5 * ["easy"] + 9 * ["hard"])
    np.testing.assert_allclose(drawn, 100 * 500 / 1400)


def test_every_speaker_is_drawn() -> None:
    drawn = resampled_rates(np.array([[0, 100], [100, 100]]), ["a", "a"])
    assert np.unique(drawn).tolist() == [0, 50, 100]


def test_two_models_are_compared_on_the_same_draws() -> None:
    errors = np.random.default_rng(0).integers(10, 60, 50)
    first, second = (resampled_rates(np.stack([e, np.full(50, 100)], 1), 50 * ["a"]) for e in (errors, errors + 1))
    np.testing.assert_allclose(second - first, 1.0)
