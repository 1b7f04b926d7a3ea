"""Words and their phones: the CMU dictionary, or a user's own in its form."""

import importlib.util
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from .errors import InputError
from .phones import unknown_phones

Dictionary = dict[str, tuple[str, ...]]
"""Word in upper case → the phones of its first pronunciation."""
_SPOKEN = "'&%@#"
"""Punctuation that is part of a word, or is read aloud."""


def cmu_dictionary() -> Path:
    """The CMU dictionary in pocketsphinx's wheel, which is not imported. Raises InputError: it is not installed."""
    package = importlib.util.find_spec("pocketsphinx")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder, "model", "en-us", "cmudict-en-us.dict")
        if path.is_file():
            return path
    raise InputError(
        "the CMU dictionary is not installed; run pip install 'tetraphone[dictionary]' or give --dictionary FILE"
    )


def read_dictionary(path: Path | None = None) -> Dictionary:
    """A dictionary: a word and its phones a line, stress marks allowed; WORD(2) is another pronunciation.

    Args:
        path: the file; the CMU dictionary by default.

    Raises:
        InputError: the file is missing, holds no word, or a word with other phones than ARPABET's 39.
    """
    path = path or cmu_dictionary()
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the dictionary {path}: {error.strerror}; give a file") from error
    words: Dictionary = {}
    for number, line in enumerate(lines, 1):
        fields = [] if line.startswith(";;;") else line.split(" #")[0].split()
        if not fields:
            continue
        phones = tuple(phone.rstrip("012") for phone in fields[1:])
        unknown = unknown_phones(phones)
        if unknown or not phones:
            fault = f"the unknown phones {' '.join(unknown)}" if unknown else "no phones"
            raise InputError(f"{path}, line {number}: {fields[0]} has {fault}; use the 39 of ARPABET")
        words.setdefault(re.sub(r"\(\d+\)$", "", fields[0]).upper(), phones)
    if not words:
        raise InputError(f"the dictionary {path} holds no word; give one with a word and its phones a line")
    return words


def split_words(text: str) -> list[str]:
    """A sentence's words in upper case without punctuation; what is read aloud (digits, &, $) stays."""
    text = re.sub("[’‘ʼ`´]", "'", text.upper())
    kept = (c if c in _SPOKEN or unicodedata.category(c)[0] in "LMNS" else " " for c in text)
    words = "".join(kept).split()
    return [word for word in words if word.strip("'")]


def pronounce(words: Iterable[str], dictionary: Dictionary) -> tuple[tuple[str, ...], list[str]]:
    """The phones of a sentence, and the words that the dictionary does not have, each once.

    A word is looked up as it stands, then without punctuation around it, then in its parts between hyphens.
    """
    phones: list[str] = []
    missing: dict[str, None] = {}
    for word in words:
        bare = re.sub(r"^[^\w$#@]+|[^\w$#@]+$", "", word)
        whole = [dictionary.get(form) for form in (word, word.strip("'"), bare)]
        parts = [dictionary.get(part) for part in bare.split("-")]
        found = next(([item] for item in whole if item), parts)
        if all(found):
            phones.extend(phone for item in found if item for phone in item)
        else:
            missing[word] = None
    return tuple(phones), list(missing)
