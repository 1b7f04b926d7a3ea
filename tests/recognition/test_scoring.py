"""Decoding by hand, and error rates against an independent scorer and a table of edit distances."""

import jiwer
import numpy as np
import pytest

from tetraphone.common.phones import TimedPhone
from tetraphone.recognition.ctc import best_path, greedy, log_softmax
from tetraphone.recognition.scoring import Errors

PHONES = ("AA", "B", "CH", "D", "EH")


def pairs(seed: int, count: int) -> list[tuple[list[str], list[str]]]:
    random = np.random.default_rng(seed)
    return [
        (
            random.choice(PHONES, int(random.integers(1, 30))).tolist(),
            random.choice(PHONES, int(random.integers(0, 30))).tolist(),
        )
        for _ in range(count)
    ]


def errors_of(*items: tuple[list[str], list[str]]) -> Errors:
    errors = Errors()
    for reference, hypothesis in items:
        errors.add(reference, hypothesis)
    return errors


def distance(reference: list[str], hypothesis: list[str]) -> int:
    """Levenshtein's, by the whole table."""
    table = np.zeros((len(reference) + 1, len(hypothesis) + 1), int)
    table[:, 0] = np.arange(len(reference) + 1)
    table[0] = np.arange(len(hypothesis) + 1)
    for i, left in enumerate(reference, 1):
        for j, right in enumerate(hypothesis, 1):
            table[i, j] = min(table[i - 1, j - 1] + (left != right), table[i - 1, j] + 1, table[i, j - 1] + 1)
    return int(table[-1, -1])


@pytest.mark.parametrize("seed", range(5))
def test_the_rate_is_jiwers(seed: int) -> None:
    items = pairs(seed, 40)
    errors = errors_of(*items)
    theirs = jiwer.process_words(*([" ".join(side) for side in sides] for sides in zip(*items, strict=True)))
    assert errors.phone_error_rate == pytest.approx(100 * theirs.wer)
    ours = errors.substitutions + errors.deletions + errors.insertions
    assert ours == theirs.substitutions + theirs.deletions + theirs.insertions
    assert errors.reference_phones == theirs.hits + theirs.substitutions + theirs.deletions
    assert errors.utterances == 40


@pytest.mark.parametrize("seed", range(5))
def test_the_edits_of_an_utterance_are_a_least_number(seed: int) -> None:
    for reference, hypothesis in pairs(100 + seed, 40):
        errors = errors_of((reference, hypothesis))
        assert errors.substitutions + errors.deletions + errors.insertions == distance(reference, hypothesis)
        assert errors.deletions - errors.insertions == len(reference) - len(hypothesis)
        assert errors.reference_phones == len(reference)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "counts"),
    [
        ("AA B CH", "AA B CH", (0, 0, 0)),
        ("AA B CH", "AA CH", (0, 1, 0)),
        ("AA B CH", "AA B D CH", (0, 0, 1)),
        ("AA B CH", "AA D CH", (1, 0, 0)),
        ("AA B", "D EH CH", (2, 0, 1)),
        ("AA B", "", (0, 2, 0)),
        ("", "AA", (0, 0, 1)),
        ("", "", (0, 0, 0)),
    ],
)
def test_edits_by_hand(reference: str, hypothesis: str, counts: tuple[int, int, int]) -> None:
    errors = errors_of((reference.split(), hypothesis.split()))
    assert (errors.substitutions, errors.deletions, errors.insertions) == counts


def test_no_reference_has_no_rate() -> None:
    assert np.isnan(errors_of(([], ["AA"])).phone_error_rate)
    assert np.isnan(Errors().phone_error_rate)


def test_more_insertions_than_phones_exceed_100_percent() -> None:
    assert errors_of((["AA"], ["B", "CH", "D"])).phone_error_rate == 300


def test_confusions_say_what_became_of_each_phone() -> None:
    errors = errors_of((["AA", "B", "B"], ["AA", "D", "B"]), (["CH"], []), ([], ["EH"]))
    expected = {("AA", "AA"): 1, ("B", "D"): 1, ("B", "B"): 1, ("CH", ""): 1, ("", "EH"): 1}
    assert errors.confusions == expected


def scores_of(path: list[int], posterior: float = 0.8) -> np.ndarray:
    """Scores [frames, 6] whose greatest posterior is at the path; any constant may be added to a frame's scores."""
    posteriors = np.full((len(path), 6), (1 - posterior) / 5)
    posteriors[np.arange(len(path)), path] = posterior
    return (np.log(posteriors) + np.arange(len(path))[:, None]).astype(np.float32)


def test_greedy_merges_repetitions_and_drops_blanks() -> None:
    found = greedy(scores_of([0, 1, 1, 0, 1, 2, 2, 2, 0, 5]), PHONES, 0.03)
    assert found == [
        TimedPhone("AA", 0.03, 0.09, 0.8),
        TimedPhone("AA", 0.12, 0.15, 0.8),
        TimedPhone("B", 0.15, 0.24, 0.8),
        TimedPhone("EH", 0.27, 0.3, 0.8),
    ]


def test_confidence_is_the_mean_posterior_of_a_phones_frames() -> None:
    scores = np.concatenate([scores_of([3], 0.5), scores_of([3], 0.9), scores_of([0], 0.6)])
    assert greedy(scores, PHONES, 0.01) == [TimedPhone("CH", 0.0, 0.02, 0.7)]


@pytest.mark.parametrize("path", [[], [0], [0, 0, 0]])
def test_blanks_give_no_phone(path: list[int]) -> None:
    assert greedy(scores_of(path), PHONES, 0.03) == []


def test_the_best_path_is_greedy_without_times() -> None:
    scores = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    assert best_path(scores, PHONES) == [item.phone for item in greedy(scores, PHONES, 0.03)]
    assert len(best_path(scores, PHONES)) > 10


def test_log_softmax_of_great_scores_is_finite() -> None:
    posteriors = np.exp(log_softmax(np.array([[1e4, 0.0], [-1e4, -1e4]], np.float32)))
    np.testing.assert_allclose(posteriors, [[1, 0], [0.5, 0.5]])


def test_times_are_later_by_the_offset() -> None:
    found = greedy(scores_of([0, 1, 1, 2]), PHONES, 0.03, 0.05)
    assert [(item.phone, item.start, item.end) for item in found] == [("AA", 0.08, 0.14), ("B", 0.14, 0.17)]


@pytest.mark.parametrize("label", range(1, 4))
def test_phones_at_both_ends_are_found(label: int) -> None:
    found = greedy(scores_of([label, 0, label]), PHONES, 1.0)
    assert [(item.phone, item.start, item.end) for item in found] == [
        (PHONES[label - 1], 0.0, 1.0),
        (PHONES[label - 1], 2.0, 3.0),
    ]


def test_log_softmax_is_over_the_last_axis() -> None:
    scores = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    one_by_one = [[scores[i, j] - np.log(np.exp(scores[i, j]).sum()) for j in range(3)] for i in range(2)]
    np.testing.assert_allclose(log_softmax(scores), one_by_one, rtol=1e-5)
