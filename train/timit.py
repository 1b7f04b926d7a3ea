"""TIMIT's phones: its 61 symbols as phones of this package's set, and the hand-made transcripts of an utterance."""

from pathlib import Path

from .errors import InputError
from .phones import ARPABET

_OTHER = {
    "ax": "AH",
    "ax-h": "AH",
    "axr": "ER",
    "dx": "T",
    "el": "L",
    "em": "M",
    "en": "N",
    "eng": "NG",
    "hv": "HH",
    "ix": "IH",
    "nx": "N",
    "ux": "UW",
}
SILENT = ("bcl", "dcl", "gcl", "kcl", "pcl", "tcl", "epi", "h#", "pau", "q")
"""Closures, pauses and the glottal stop, which have no phone."""
FOLD = {phone.lower(): phone for phone in ARPABET} | _OTHER
"""TIMIT's symbol → phone, without the silent ones: Lee and Hon (1989), but the flap `dx` is T."""
SCORED = {"AO": "AA", "ZH": "SH"}
"""Phones that Lee and Hon's 39 classes do not tell apart, and what they count as."""


def read_phones(path: Path) -> tuple[str, ...]:
    """The phones of a .PHN file (a line each: first sample, last sample, symbol).

    Raises:
        InputError: the file cannot be read, or holds a line or symbol that TIMIT does not have.
    """
    try:
        symbols = [line.split()[2].lower() for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a phone transcript of TIMIT: {error}; copy the corpus again") from error
    unknown = [symbol for symbol in symbols if symbol not in FOLD and symbol not in SILENT]
    if unknown:
        raise InputError(f"{path} has the symbols {', '.join(unknown)}, which TIMIT has not; copy the corpus again")
    return tuple(FOLD[symbol] for symbol in symbols if symbol in FOLD)


def scored(phones: tuple[str, ...] | list[str]) -> list[str]:
    """Phones as they are compared: 37 classes."""
    return [SCORED.get(phone, phone) for phone in phones]
