"""Hidden Markov states as targets of frame-wise training: alignments from times, evenly, or by Viterbi, and priors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.corpora.utterance import PhoneTimes

Alignment = NDArray[np.int64]
"""[frames]: the state of each frame."""


@dataclass(frozen=True)
class Topology:
    """Each phone is a chain of states, left to right: a frame stays in a state or steps to the next, skipping none."""

    phones: tuple[str, ...]
    states: int = 3
    """States a phone; part k of the phone p is the state and the network's output `states` · p + k."""

    def __post_init__(self) -> None:
        if self.states < 1:
            raise InputError(f"states is {self.states}; a phone has at least one")
        if not self.phones or len(set(self.phones)) < len(self.phones):
            raise InputError(f"phones is {' '.join(self.phones) or 'empty'}; give each phone once")

    @property
    def outputs(self) -> int:
        """States of all phones: outputs of the network."""
        return self.states * len(self.phones)

    def chain(self, phones: Sequence[str]) -> Alignment:
        """The states of a phone sequence in their order, [states · phones].

        Raises:
            InputError: no phone, or an unknown one.
        """
        index = {phone: number for number, phone in enumerate(self.phones)}
        unknown = sorted(set(phones) - set(index))
        if unknown or not phones:
            wrong = f"the phones {' '.join(unknown)} are unknown" if unknown else "a transcript has no phones"
            raise InputError(f"{wrong}; the topology's are {' '.join(self.phones)}")
        first = self.states * np.array([index[phone] for phone in phones], np.int64)
        return (first[:, None] + np.arange(self.states)).reshape(-1)


def even_alignment(phones: Sequence[str], frames: int, topology: Topology) -> Alignment:
    """A flat start: the states of the phones, spread evenly over the frames.

    Raises:
        InputError: fewer frames than states, no phone, or an unknown one.
    """
    chain = _fitting_chain(phones, frames, topology)
    return chain[np.arange(frames) * len(chain) // frames]


def timed_alignment(times: PhoneTimes, frames: int, shift: float, offset: float, topology: Topology) -> Alignment:
    """The states by phone times: a phone is cut into `states` equal parts, and a frame takes the part at its centre.

    The states never run backwards. A phone with at least as many frames as states has them all; a shorter one lacks
    the states, and at worst is missing altogether, that no frame's centre falls into. A frame outside of all phones
    takes the nearest one's first or last state; where two overlap, their border is the middle of the overlap.

    Args:
        times: in order.
        shift: seconds from frame to frame.
        offset: seconds to the centre of the first frame; for `FeatureOptions`, offset + shift / 2.

    Raises:
        InputError: no phone, an unknown one, or times that are not in order.
    """
    first = topology.chain([phone for phone, _, _ in times])[:: topology.states]
    starts, ends = np.array([(start, end) for _, start, end in times], np.float64).T
    faults = (ends < starts) | (np.diff(starts, prepend=-np.inf) < 0) | (np.diff(ends, prepend=-np.inf) < 0)
    if faults.any() or not np.isfinite(ends - starts).all():
        phone, start, end = times[int(np.argmax(faults | ~np.isfinite(ends - starts)))]
        raise InputError(f"the phone {phone} from {start} to {end} s is not in order of time; mend the phone times")
    centres = np.arange(frames) * shift + offset
    phone_at = np.searchsorted((ends[:-1] + starts[1:]) / 2, centres, side="right")
    lengths = np.maximum(ends - starts, 1e-9)  # A phone without length still has a first and a last state.
    parts = np.floor((centres - starts[phone_at]) / lengths[phone_at] * topology.states)
    alignment: Alignment = first[phone_at] + np.clip(parts, 0, topology.states - 1).astype(np.int64)
    return alignment


def force(log_likelihoods: NDArray[np.floating], phones: Sequence[str], topology: Topology) -> Alignment:
    """Viterbi's forced alignment: the likeliest way through the states of the phones; every transition costs the same.

    Args:
        log_likelihoods: [frames, outputs]. −inf forbids a state.

    Raises:
        InputError: fewer frames than states, no way of finite likelihood, no phone, or an unknown one.
    """
    frames, outputs = log_likelihoods.shape
    if outputs != topology.outputs:
        raise InputError(f"the log likelihoods have {outputs} columns, the topology {topology.outputs} states")
    chain = _fitting_chain(phones, frames, topology)
    scores = np.full(len(chain), -np.inf)
    scores[0] = log_likelihoods[0, chain[0]]
    stepped = np.zeros((frames, len(chain)), bool)
    for frame in range(1, frames):
        step = np.concatenate(([-np.inf], scores[:-1]))
        stepped[frame] = step > scores
        scores = np.maximum(step, scores) + log_likelihoods[frame, chain]
    if not np.isfinite(scores[-1]):
        raise InputError(
            f"no alignment of the phones {' '.join(phones)} has a finite likelihood; give finite log likelihoods"
        )
    place = np.empty(frames, np.int64)
    place[-1] = len(chain) - 1
    for frame in range(frames - 1, 0, -1):
        place[frame - 1] = place[frame] - stepped[frame, place[frame]]
    return chain[place]


def log_priors(alignments: Iterable[Alignment], topology: Topology) -> NDArray[np.float64]:
    """The logarithm of each state's share of the frames, [outputs], each state counted once more than it occurs."""
    counts = np.ones(topology.outputs)
    for alignment in alignments:
        counts += np.bincount(alignment, minlength=topology.outputs)
    logarithms: NDArray[np.float64] = np.log(counts / counts.sum())
    return logarithms


def _fitting_chain(phones: Sequence[str], frames: int, topology: Topology) -> Alignment:
    chain = topology.chain(phones)
    if frames < len(chain):
        raise InputError(
            f"{frames} frames are too few for the {len(chain)} states of {len(phones)} phones: "
            f"each needs one; leave the utterance out or take fewer than {topology.states} states a phone"
        )
    return chain
