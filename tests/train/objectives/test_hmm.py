"""HMM alignments: order and shares of the states, phone times, and Viterbi against every alignment there is."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from tetraphone.common.errors import InputError
from tetraphone.corpora.utterance import PhoneTimes
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.objectives.hmm import Topology, even_alignment, force, log_priors, timed_alignment

PHONES = ("AA", "B", "CH")


def every_alignment(chain: np.ndarray, frames: int) -> Iterator[np.ndarray]:
    """All ways to give each state of the chain at least one of the frames."""
    for borders in combinations(range(1, frames), len(chain) - 1):
        yield np.repeat(chain, np.diff((0, *borders, frames)))


def collapsed(alignment: np.ndarray) -> list[int]:
    """States without repetition."""
    return alignment[np.flatnonzero(np.diff(alignment, prepend=-1))].tolist()


def test_states_are_numbered_by_phone_and_part() -> None:
    topology = Topology(PHONES, 3)
    assert topology.outputs == 9
    assert topology.chain(["CH", "AA", "AA"]).tolist() == [6, 7, 8, 0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("phones", "states", "message"),
    [(PHONES, 0, "states is 0; a phone has at least one"), ((), 3, "empty"), (("B", "B"), 3, "B B; give each")],
)
def test_a_topology_needs_phones_and_states(phones: tuple[str, ...], states: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Topology(phones, states)


@pytest.mark.parametrize("states", [1, 2, 3])
@pytest.mark.parametrize("surplus", [0, 1, 2, 7, 8, 9, 50])
def test_a_flat_start_gives_each_state_its_share(states: int, surplus: int) -> None:
    topology = Topology(PHONES, states)
    phones = ["B", "AA", "CH"]
    frames = 3 * states + surplus
    alignment = even_alignment(phones, frames, topology)
    assert alignment.shape == (frames,)
    assert alignment.dtype == np.int64
    assert collapsed(alignment) == topology.chain(phones).tolist()
    lengths = np.unique(alignment, return_counts=True)[1]
    assert len(lengths) == 3 * states
    assert lengths.max() - lengths.min() <= 1


@pytest.mark.parametrize("states", [1, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_viterbi_finds_the_best_of_all_alignments(states: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    topology = Topology(PHONES, states)
    phones = random.choice(PHONES, int(random.integers(1, 4))).tolist()
    chain = topology.chain(phones)
    frames = len(chain) + int(random.integers(0, 5))
    scores = random.normal(size=(frames, topology.outputs))
    alignments = {tuple(way.tolist()): scores[np.arange(frames), way].sum() for way in every_alignment(chain, frames)}
    found = tuple(force(scores, phones, topology).tolist())
    assert alignments[found] == pytest.approx(max(alignments.values()), abs=1e-9)


def test_viterbi_goes_round_what_is_forbidden() -> None:
    topology = Topology(PHONES, 1)
    scores = np.zeros((5, 3))
    scores[:2, 1] = scores[3:, 0] = -np.inf
    scores[2, 0] = -1
    assert force(scores, ["AA", "B"], topology).tolist() == [0, 0, 1, 1, 1]
    scores[1] = -np.inf
    with pytest.raises(InputError, match=r"AA B has a finite likelihood; give finite"):
        force(scores, ["AA", "B"], topology)
    with pytest.raises(InputError, match="finite likelihood"):
        force(np.full((5, 3), np.nan), ["AA"], topology)


def test_what_does_not_fit_is_refused() -> None:
    topology = Topology(PHONES)
    for align in (
        lambda: force(np.zeros((5, 9)), ["AA", "B"], topology),
        lambda: even_alignment(["AA", "B"], 5, topology),
    ):
        with pytest.raises(InputError, match=r"5 frames are too few for the 6 states of 2 phones.*leave"):
            align()
    with pytest.raises(InputError, match="8 columns, the topology 9 states"):
        force(np.zeros((9, 8)), ["AA"], topology)
    with pytest.raises(InputError, match=r"the phones X Z are unknown; the topology's are AA B CH"):
        even_alignment(["Z", "AA", "X"], 9, topology)
    with pytest.raises(InputError, match="a transcript has no phones"):
        even_alignment([], 9, topology)


def test_phone_times_by_hand() -> None:
    times = (("B", 0.1, 0.16), ("AA", 0.16, 0.18), ("CH", 0.18, 0.24))
    # Centres at 0.095, 0.105, ...: before B, two frames a state of B, two of AA's three parts, CH, and behind it.
    expected = [3, 3, 3, 4, 4, 5, 5, 0, 2, 6, 6, 7, 7, 8, 8, 8, 8]
    assert timed_alignment(times, 17, 0.01, 0.095, Topology(PHONES)).tolist() == expected


def test_gaps_go_to_the_nearest_phone_and_overlaps_are_halved() -> None:
    topology = Topology(PHONES, 2)
    gap = timed_alignment((("AA", 0.0, 2.0), ("B", 6.0, 8.0)), 8, 1.0, 0.5, topology)
    assert gap.tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    overlap = timed_alignment((("AA", 0.0, 6.0), ("B", 2.0, 8.0)), 8, 1.0, 0.5, topology)
    assert overlap.tolist() == [0, 0, 0, 1, 2, 3, 3, 3]
    no_length = timed_alignment((("AA", 0.0, 2.0), ("CH", 4.0, 4.0), ("B", 6.0, 8.0)), 8, 1.0, 0.5, topology)
    assert no_length.tolist() == [0, 1, 1, 4, 5, 2, 2, 3]


@pytest.mark.parametrize("seed", range(50))
def test_a_phone_with_enough_frames_has_all_its_states_and_no_state_runs_backwards(seed: int) -> None:
    random = np.random.default_rng(seed)
    topology = Topology(tuple(f"p{number}" for number in range(12)), int(random.integers(1, 5)))
    borders = np.concatenate(([0], random.uniform(0.2, 8, 12).cumsum()))
    times: PhoneTimes = tuple(
        (phone, *map(float, pair)) for phone, pair in zip(topology.phones, pairwise(borders), strict=True)
    )
    shift = float(random.uniform(0.3, 2))
    centres = np.arange(int(borders[-1] / shift) + 2) * shift + shift / 3  # Behind the last phone, too.
    alignment = timed_alignment(times, len(centres), shift, shift / 3, topology)
    assert (np.diff(alignment) >= 0).all()
    for number, (start, end) in enumerate(pairwise(borders)):
        inside = alignment[(centres >= start) & (centres < end)]
        assert (inside // topology.states == number).all()
        if len(inside) >= topology.states:
            assert set(inside % topology.states) == set(range(topology.states))


@pytest.mark.parametrize(
    "times", [((0.0, 2.0), (3.0, 1.0)), ((2.0, 3.0), (1.0, 4.0)), ((0.0, 2.0), (1.0, float("nan")))]
)
def test_times_out_of_order_are_refused(times: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(InputError, match=r"the phone B from .* is not in order of time; mend"):
        timed_alignment(tuple(zip(("AA", "B"), *zip(*times, strict=True), strict=True)), 3, 1, 0, Topology(PHONES))


def test_a_recording_follows_its_hand_made_times(corpora: Path) -> None:
    paths = sorted((corpora / "timit_sample").rglob("*.PHN"))
    if not paths:
        pytest.skip(f"{corpora / 'timit_sample'} is not there")
    options = FeatureOptions(stack=1, stride=1)
    hop, centre = 160, 200  # Samples: the middle of a window of 400.
    for path in paths[::10]:
        lines = [(int(start), int(end), symbol) for start, end, symbol in map(str.split, path.read_text().splitlines())]
        topology = Topology(tuple(sorted({symbol for _, _, symbol in lines})))
        times = tuple((symbol, start / 16000, end / 16000) for start, end, symbol in lines)
        frames = lines[-1][1] // hop - 2
        alignment = timed_alignment(times, frames, options.shift, options.offset + options.shift / 2, topology)
        compared = 0
        for frame, state in enumerate(alignment.tolist()):
            sample = frame * hop + centre
            here = [symbol for start, end, symbol in lines if start < sample < end]
            if here:  # Not on a border, where rounding decides.
                assert topology.phones[state // 3] == here[0], f"{path}, frame {frame}"
                compared += 1
        assert compared > 0.95 * frames


def test_priors_are_shares_that_count_each_state_once_more() -> None:
    topology = Topology(PHONES[:2], 2)
    priors = log_priors([np.array([0, 0, 1]), np.array([2, 2, 2])], topology)
    assert np.exp(priors) == pytest.approx([0.3, 0.2, 0.4, 0.1])
