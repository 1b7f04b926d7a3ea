"""The phone bigram: probabilities by hand, smoothing, the file's form."""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.bigram import count_successors, write_bigram

PHONES = ("AA", "B", "CH")
END = ""


def read(path: Path) -> dict[int, dict[str, float]]:
    """The probability of each phone and of the end after each state."""
    chances: dict[int, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        source, *rest = line.split(" ")
        if len(rest) == 1:
            symbol, cost = END, rest[0]
        else:
            target, symbol, cost = rest
            assert int(target) == PHONES.index(symbol) + 1
        assert symbol not in chances[int(source)]
        chances[int(source)][symbol] = math.exp(-float(cost))
    return chances


def bigram(path: Path, *sequences: Sequence[str]) -> dict[int, dict[str, float]]:
    write_bigram(sequences, PHONES, path)
    return read(path)


def test_the_chances_are_those_by_hand(tmp_path: Path) -> None:
    chances = bigram(tmp_path / "b.txt", ["AA", "B"], ["AA"])
    # Counted: AA 2, B 1, end 2: 5 of 3 types; each falls back to 1/4.
    single = {"AA": 2.75 / 8, "B": 1.75 / 8, "CH": 0.75 / 8, END: 2.75 / 8}
    start = {phone: ((phone == "AA") * 2 + 1 * single[phone]) / 3 for phone in single}
    after_aa = {phone: ((phone in ("B", END)) * 1 + 2 * single[phone]) / 4 for phone in single}
    after_b = {phone: ((phone == END) * 1 + 1 * single[phone]) / 2 for phone in single}
    for state, expected in enumerate((start, after_aa, after_b, single)):
        assert chances[state] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_each_state_is_a_distribution_without_zeros(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    sequences = [random.choice(PHONES[: 1 + seed], int(random.integers(0, 9))).tolist() for _ in range(50)]
    chances = bigram(tmp_path / "b.txt", *sequences)
    assert sorted(chances) == [0, 1, 2, 3]
    for state in chances.values():
        assert set(state) == {*PHONES, END}
        assert min(state.values()) > 1e-6
        assert sum(state.values()) == pytest.approx(1, abs=1e-5)


def test_it_predicts_sequences_of_the_same_kind(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def draw() -> list[str]:  # B follows AA four times of five
        return [str(phone) for _ in range(10) for phone in random.choice([("AA", "B"), ("AA", "CH")], p=[0.8, 0.2])]

    chances = bigram(tmp_path / "b.txt", *(draw() for _ in range(200)))
    assert chances[1]["B"] == pytest.approx(0.8, abs=0.03)
    assert chances[1]["CH"] == pytest.approx(0.2, abs=0.03)
    assert chances[0]["AA"] > 0.98


def test_the_start_comes_first_and_counts_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "b.txt"
    assert write_bigram([["B"], [], ["AA", "AA"]], PHONES, path) == {"utterances": 3, "phones": 3}
    assert path.read_text().startswith("0 1 AA ")
    assert len(path.read_text().splitlines()) == 4 * (3 + 1)


def test_an_unknown_phone_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("before")
    with pytest.raises(InputError, match=r"utterance 2 has the phone 'ZZ'; the model's are AA B CH"):
        write_bigram([["AA"], ["B", "ZZ"]], PHONES, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_to_count_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no utterance to count .*; give a corpus"):
        write_bigram([], PHONES, tmp_path / "b.txt")
    with pytest.raises(InputError, match="it is a folder"):
        write_bigram([["AA"]], PHONES, tmp_path)


def test_the_models_first_phone_need_not_occur() -> None:
    successors = count_successors([["B"], []], ["A", "B"])
    assert [dict(counts) for counts in successors] == [{2: 1, 0: 1}, {}, {0: 1}]
