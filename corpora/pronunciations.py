"""How a transcript's words may have been said: the dictionary's variants, weak forms, t and d that fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from rapidfuzz.distance import Levenshtein

from .dictionary import Pronunciations, entries

Source = Literal["transcript", "dictionary", "reduced"]
"""Where a pronunciation is from: it stands in the transcript, in the dictionary, or follows from REDUCED or a rule."""
Phones = tuple[str, ...]

MOST_VARIANTS = 24
"""Of a word: those of its parts are multiplied."""
UNLIKE = 0.5
"""A stretch that differs in a larger share of its phones from all pronunciations of a word keeps what it has."""
VOWELS = frozenset(["AA", "AE", "AH", "AO", "AW", "AY", "EH", "ER", "EY", "IH", "IY", "OW", "OY", "UH", "UW"])
REDUCED = {
    "A": "AH",
    "AN": "AH N, N",
    "AND": "AH N D, AH N, N",
    "ARE": "ER",
    "AS": "AH Z",
    "AT": "AH T",
    "BUT": "B AH",
    "CAN": "K AH N, K N",
    "COULD": "K AH D",
    "FOR": "F ER",
    "FROM": "F ER M",
    "HAD": "AH D, HH AH D, D",
    "HAS": "AH Z, HH AH Z",
    "HAVE": "AH V, HH AH V",
    "HE": "IY",
    "HER": "ER",
    "HIM": "IH M, AH M",
    "HIS": "IH Z",
    "IN": "AH N",
    "IT": "AH T",
    "JUST": "JH AH S, JH IH S T",
    "OF": "AH, AH V",
    "OR": "ER",
    "SHOULD": "SH AH D",
    "SOME": "S AH M",
    "THAN": "DH AH N",
    "THAT": "DH AH T",
    "THE": "DH AH, DH IY",
    "THEM": "DH AH M, AH M",
    "TO": "T AH, T IH",
    "WAS": "W AH Z",
    "WERE": "W ER",
    "WILL": "W AH L, AH L",
    "WITH": "W IH DH, W IH TH",
    "WOULD": "W AH D, AH D",
    "YOU": "Y AH",
    "YOUR": "Y ER",
}
"""Weak forms of function words (Wells, Longman Pronunciation Dictionary), in the 39 phones."""


@dataclass(frozen=True)
class Spoken:
    """A word in a transcript, and all ways of saying it."""

    word: str
    first: int
    """Place of its first phone in the transcript."""
    variants: tuple[tuple[Phones, Source], ...]
    """The transcript's own is the first."""

    @property
    def phones(self) -> Phones:
        """Of the transcript."""
        return self.variants[0][0]


def pronunciations(word: str, dictionary: Pronunciations, reduce: bool) -> dict[Phones, Source]:
    """All ways of saying a word; none of one that the dictionary lacks.

    Args:
        reduce: weak forms as well, and without a t or d behind a consonant at its end.
    """
    parts = [dictionary.get(entry, ()) for entry in entries(word, dictionary)]
    found: dict[Phones, Source] = {}
    for chosen in list(product(*parts))[:MOST_VARIANTS]:
        found[tuple(phone for part in chosen for phone in part)] = "dictionary"
    if reduce:
        for form in REDUCED.get(word, "").split(", "):
            if form:
                found.setdefault(tuple(form.split()), "reduced")
        for phones in list(found):
            if len(phones) > 2 and phones[-1] in ("T", "D") and phones[-2] not in VOWELS:
                found.setdefault(phones[:-1], "reduced")
    return found


def split_transcript(
    words: Sequence[str], phones: Phones, dictionary: Pronunciations, reduce: bool
) -> tuple[Spoken, ...]:
    """The words of a transcript, each with its stretch of the phones: so that all stretches together differ least from
    pronunciations of the words. What no pronunciation is like, and a word that the dictionary lacks, keep their phones.
    """
    ways = [pronunciations(word, dictionary, reduce) for word in words]
    known = [[way for way in found if found[way] == "dictionary"] for found in ways]
    longest = [2 * max(map(len, found), default=20) + 2 for found in known]
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, 0)}]
    """For each number of words, the phones that they may end behind: the least cost, and where the last one begins."""
    for found, most in zip(known, longest, strict=True):
        ends: dict[int, tuple[float, int]] = {}
        before = best[-1]
        cheapest = min((cost for cost, _ in before.values()), default=0.0)
        for first, (cost, _) in before.items():
            if cost > cheapest + MOST_COST:
                continue
            for end in range(first, min(len(phones), first + most) + 1):
                differs = _distance(phones[first:end], found)
                if end not in ends or cost + differs < ends[end][0]:
                    ends[end] = cost + differs, first
        best.append(ends)
    if len(phones) not in best[-1]:
        return (Spoken("", 0, ((phones, "transcript"),)),)
    spoken, end = list[Spoken](), len(phones)
    for number in range(len(words), 0, -1):
        first = best[number][end][1]
        stretch = phones[first:end]
        alike = _distance(stretch, known[number - 1]) <= UNLIKE * len(stretch)
        others = ways[number - 1] if alike and stretch else {}
        variants = {stretch: "transcript"} | {way: source for way, source in others.items() if way != stretch}
        spoken.append(Spoken(words[number - 1], first, tuple(variants.items())))  # type: ignore[arg-type]
        end = first
    return tuple(reversed(spoken))


MOST_COST = 12.0
"""A way of splitting that is so much worse than the best is given up."""


def _distance(stretch: Phones, pronounced: Sequence[Phones]) -> float:
    """Edits to the likeliest of the pronunciations; of an unknown word, a little for each phone that it is off five."""
    if not pronounced:
        return 0.5 + 0.2 * abs(len(stretch) - 5)
    return float(min(Levenshtein.distance(stretch, way) for way in pronounced))
