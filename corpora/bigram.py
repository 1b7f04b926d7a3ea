"""A phone bigram from transcripts, for the recogniser's beam search."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically


def write_bigram(phone_sequences: Iterable[Sequence[str]], phones: Sequence[str], path: Path) -> dict[str, int]:
    """Writes a bigram as a finite-state acceptor in OpenFst's text form: "source target phone cost", "state cost".

    State 0 is the start, state 1 + i follows the phone i; every state is final; costs are those of `bigram_costs`.

    Args:
        phone_sequences: one an utterance.
        phones: the model's, in the order of its outputs.

    Returns:
        {"utterances", "phones"} that were counted.

    Raises:
        InputError: an unknown phone, no utterance, or `path` cannot be written.
    """
    successors = count_successors(phone_sequences, phones)
    lines = []
    for source, (end, *costs) in enumerate(bigram_costs(successors)):
        lines += [f"{source} {target} {phones[target - 1]} {cost:.6f}\n" for target, cost in enumerate(costs, 1)]
        lines.append(f"{source} {end:.6f}\n")
    with write_atomically(path) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")
    utterances = successors[0].total()
    return {"utterances": utterances, "phones": sum(counts.total() for counts in successors) - utterances}


def count_successors(phone_sequences: Iterable[Sequence[str]], phones: Sequence[str]) -> list[Counter[int]]:
    """What follows the start (0) and each phone (1 + i), how often: phones by the same numbers, the end as 0.

    Raises:
        InputError: an unknown phone, or no utterance.
    """
    index = {phone: number for number, phone in enumerate(phones, 1)}
    successors = [Counter[int]() for _ in range(len(phones) + 1)]
    for utterance, sequence in enumerate(phone_sequences, 1):
        for phone in sequence:
            if phone not in index:
                raise InputError(f"utterance {utterance} has the phone {phone!r}; the model's are {' '.join(phones)}")
        for left, right in pairwise([0, *(index[phone] for phone in sequence), 0]):
            successors[left][right] += 1
    if not successors[0]:
        raise InputError("no utterance to count phones in; give a corpus with transcripts")
    return successors


def bigram_costs(successors: list[Counter[int]]) -> list[list[float]]:
    """The cost −ln p(y | x) of each y (column) after each x (row), numbered as by `count_successors`.

    Each phone, and the end, may follow each x by the smoothing of Witten and Bell (1991, method C): p(y | x) =
    (count(x, y) + types(x) p(y)) / (count(x) + types(x)), where types(x) is the number of different successors; p(y) by
    the same from 1 / (phones + 1).
    """
    uniform = [1 / len(successors)] * len(successors)
    single = _smoothed(sum(successors, Counter[int]()), uniform)
    return [[-math.log(chance) for chance in _smoothed(counts, single)] for counts in successors]


def _smoothed(counts: Counter[int], fallback: list[float]) -> list[float]:
    """Witten-Bell: counts mixed with `fallback`, which takes as much as there are different things counted."""
    total, types = counts.total(), len(counts)
    if not total:
        return fallback
    return [(counts[symbol] + types * chance) / (total + types) for symbol, chance in enumerate(fallback)]
