"""Which letters of a word stand for which of its phones: each letter for none, one or several."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress

Chunk = tuple[str, ...]
"""The phones that a letter stands for."""
Costs = dict[str, dict[Chunk, float]]
"""For a letter, the bits of each chunk it was seen with."""
MOST_PHONES = 9
"""Of a letter: the F of FYI stands for three, its I for nine."""
ROUNDS = 5
UNSEEN = 14.0, 5.0
"""Bits of a chunk that a letter was not seen with, and of each of its phones."""
UNSEEN_AT_FIRST = 6.0, 4.0, 3.0
"""The same in the first rounds: of any chunk, for each phone more or less than one, and for each of several."""


def without_stress(phones: Sequence[str]) -> Chunk:
    """The phones as chunks are compared."""
    return tuple(phone.rstrip("012") for phone in phones)


def align_spellings(entries: Sequence[tuple[str, Chunk]]) -> list[list[Chunk]]:
    """Divides each word's phones among its letters, as is likeliest over all words (Viterbi training: Black, Lenzo and
    Pagel, "Issues in building general letter to sound rules", 1998).

    Args:
        entries: words and their phones, with or without stress.

    Returns:
        for each entry, a chunk for each letter, in order.

    Raises:
        InputError: a word has more phones than its letters may stand for.
    """
    costs: Costs = _costs(_alike(entries))
    divided: list[list[Chunk]] = []
    for number in range(ROUNDS):
        counts: defaultdict[str, Counter[Chunk]] = defaultdict(Counter)
        divided = []
        for word, phones in Progress(entries, f"aligning spellings, round {number + 1} of {ROUNDS}", unit="words"):
            chunks = _divide(word, without_stress(phones), costs, number < 2)
            for letter, chunk in zip(word, chunks, strict=True):
                counts[letter][chunk] += 1
            divided.append(list(_as_long_as(chunks, phones)))
        costs = _costs(counts)
    return divided


def _alike(entries: Sequence[tuple[str, Chunk]]) -> dict[str, Counter[Chunk]]:
    """Letters and phones of words that have as many of both."""
    counts: defaultdict[str, Counter[Chunk]] = defaultdict(Counter)
    for word, phones in entries:
        if len(word) == len(phones):
            for letter, phone in zip(word, without_stress(phones), strict=True):
                counts[letter][(phone,)] += 1
    return counts


def _costs(counts: dict[str, Counter[Chunk]]) -> Costs:
    return {
        letter: {chunk: -math.log2(n / total) for chunk, n in seen.items()}
        for letter, seen in counts.items()
        for total in (seen.total(),)
    }


def _unseen(phones: int, first: bool) -> float:
    if first:
        any_chunk, difference, several = UNSEEN_AT_FIRST
        return any_chunk + difference * abs(phones - 1) + (several * phones if phones > 1 else 0.0)
    return UNSEEN[0] + UNSEEN[1] * phones


def _divide(word: str, phones: Chunk, costs: Costs, first: bool) -> list[Chunk]:
    """The cheapest division (Viterbi)."""
    best = [0.0] + [math.inf] * len(phones)
    taken: list[list[int]] = []
    for letter in word:
        seen = costs.get(letter, {})
        after, counts = [math.inf] * len(best), [0] * len(best)
        for before, cost in enumerate(best):
            if cost == math.inf:
                continue
            for count in range(min(MOST_PHONES, len(phones) - before) + 1):
                chunk = phones[before : before + count]
                total = cost + (seen[chunk] if chunk in seen else _unseen(count, first))
                if total < after[before + count]:
                    after[before + count], counts[before + count] = total, count
        best = after
        taken.append(counts)
    if best[-1] == math.inf:
        mend = "spell it as it is spoken, or leave it out"
        raise InputError(f"{word} has {len(phones)} phones, more than {MOST_PHONES} a letter; {mend}")
    chunks: list[Chunk] = []
    at = len(phones)
    for counts in reversed(taken):
        chunks.append(phones[at - counts[at] : at])
        at -= counts[at]
    return chunks[::-1]


def _as_long_as(chunks: Sequence[Chunk], phones: Chunk) -> Iterator[Chunk]:
    """The phones, stress and all, in chunks of these lengths."""
    at = 0
    for chunk in chunks:
        yield phones[at : at + len(chunk)]
        at += len(chunk)
