"""The default phone set: 39 ARPABET phones of the CMU dictionary, without stress or silence."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

ARPABET: tuple[str, ...] = (
    *(
        "AA",
        "AE",
        "AH",
        "AO",
        "AW",
        "AY",
        "B",
        "CH",
        "D",
        "DH",
        "EH",
        "ER",
        "EY",
        "F",
        "G",
        "HH",
        "IH",
        "IY",
        "JH",
        "K",
    ),
    *("L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH"),
)

SILENCES = frozenset(
    {"sil", "sp", "spn", "ssil", "nsn", "pau", "epi", "h#"}
    | {"<sil>", "<sp>", "<spn>", "<pau>", "<p:>", "<eps>", "<silence>", "<noise>"}
)
"""What aligners, dictionaries and corpora write for silence, noise and breath, in small letters. A closure is none."""


def unknown_phones(phones: Iterable[str], known: Collection[str] = ARPABET) -> list[str]:
    """Those of `phones` that are not in the set, each once, in order."""
    known = frozenset(known)
    return list(dict.fromkeys(phone for phone in phones if phone not in known))


TIME_DIGITS = 6
"""Digits behind the point of seconds: microseconds, finer than any network's grid, so that what lies on the grid stays
there, start and end alike. As in native/results/decimal.h."""


@dataclass(frozen=True)
class TimedPhone:
    """A recognised phone.

    It starts with the first network frame at which its score is the greatest and ends with the last such frame in a
    row: frames at which blank wins belong to no phone.
    """

    phone: str
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    confidence: float
    """The chance that it is right, 0 to 1: comes of its mean posterior over those frames, see `confidence.py`."""
