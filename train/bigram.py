"""A phone bigram from transcripts, for the recogniser's beam search."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from .errors import InputError
from .files import write_atomically


def write_bigram(phone_sequences: Iterable[Sequence[str]], phones: Sequence[str], path: Path) -> dict[str, int]:
    """Writes a bigram as a finite-state acceptor in OpenFst's text form: "source target phone cost", "state cost".

    State 0 is the start, state 1 + i follows the phone i; every state is final; costs are -ln p. Each phone, and the
    end, may follow each state by the smoothing of Witten and Bell (1991, method C): p(y | x) =
    (count(x, y) + types(x) p(y)) / (count(x) + types(x)), where types(x) is the number of different successors; p(y) by
    the same from 1 / (phones + 1).

    Args:
        phone_sequences: one an utterance.
        phones: the model's, in the order of its outputs.

    Returns:
        {"utterances", "phones"} that were counted.

    Raises:
        InputError: an unknown phone, no utterance, or `path` cannot be written.
    """
    index = {phone: number for number, phone in enumerate(phones, 1)}
    start = end = 0
    successors = [Counter[int]() for _ in range(len(phones) + 1)]
    utterances = 0
    for utterances, sequence in enumerate(phone_sequences, 1):
        for phone in sequence:
            if phone not in index:
                raise InputError(f"utterance {utterances} has the phone {phone!r}; the model's are {' '.join(phones)}")
        for left, right in pairwise([start, *(index[phone] for phone in sequence), end]):
            successors[left][right] += 1
    if not utterances:
        raise InputError(f"no utterance to count for {path}; give a corpus with transcripts")

    symbols = range(len(phones) + 1)
    uniform = [1 / len(symbols)] * len(symbols)
    single = _smoothed(sum(successors, Counter[int]()), uniform)
    lines = []
    for source in symbols:
        costs = [-math.log(chance) for chance in _smoothed(successors[source], single)]
        lines += [f"{source} {target} {phone} {costs[target]:.6f}\n" for phone, target in index.items()]
        lines.append(f"{source} {costs[end]:.6f}\n")
    with write_atomically(path) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")
    return {"utterances": utterances, "phones": sum(counts.total() for counts in successors) - utterances}


def _smoothed(counts: Counter[int], fallback: list[float]) -> list[float]:
    """Witten-Bell: counts mixed with `fallback`, which takes as much as there are different things counted."""
    total, types = counts.total(), len(counts)
    if not total:
        return fallback
    return [(counts[symbol] + types * chance) / (total + types) for symbol, chance in enumerate(fallback)]
