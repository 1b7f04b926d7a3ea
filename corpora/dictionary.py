"""Words and their phones: the CMU dictionary, or a user's own in its form."""

import importlib.util
import re
import unicodedata
from collections.abc import Callable, Collection, Container, Iterable
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.extras import missing
from tetraphone.common.files import check_plain
from tetraphone.common.native import check_phones
from tetraphone.common.phones import ARPABET, unknown_phones

Dictionary = dict[str, tuple[str, ...]]
"""Word in upper case → the phones of its first pronunciation."""
Pronunciations = dict[str, tuple[tuple[str, ...], ...]]
"""Word in upper case → its pronunciations, each once."""
Words = Callable[[], Dictionary]
"""Reads a dictionary when it is needed, see `read_dictionary`."""
_SPOKEN = "'&%@#"
"""Punctuation that is part of a word, or is read aloud."""


def cmu_dictionary() -> Path:
    """The CMU dictionary in pocketsphinx's wheel, which is not imported. Raises InputError: it is not installed."""
    package = importlib.util.find_spec("pocketsphinx")
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder, "model", "en-us", "cmudict-en-us.dict")
        if path.is_file():
            return path
    raise InputError(f"there is no CMU dictionary: {missing('pocketsphinx')}, or give --dictionary FILE")


def read_dictionary(path: Path | None = None, phones: Collection[str] | None = ARPABET) -> Dictionary:
    """The first pronunciation of each word of a dictionary; see `read_pronunciations`."""
    return {word: variants[0] for word, variants in read_pronunciations(path, phones).items()}


def read_pronunciations(
    path: Path | None = None, phones: Collection[str] | None = ARPABET, stress: bool = False
) -> Pronunciations:
    """A dictionary: a word and its phones a line, ARPABET's with or without stress; WORD(2) is another pronunciation.

    Args:
        path: the file; the CMU dictionary by default.
        phones: the phone set; None: any, as they stand but for Unicode's form (NFC).
        stress: keep the digits of stress.

    Raises:
        InputError: the file is missing, holds no word, or a word with phones that are none of the set.
    """
    path = path or cmu_dictionary()
    check_plain(path, "the dictionary")
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"cannot read the dictionary {path}: {error.strerror}; give a file") from error
    words: dict[str, dict[tuple[str, ...], None]] = {}
    checked = set(phones or ())
    for number, line in enumerate(lines, 1):
        fields = [] if line.startswith(";;;") else line.split(" #")[0].split()
        if not fields:
            continue
        where = f"{path}, line {number}: {fields[0]}"
        spoken = fields[1:] if phones is None else [phone.rstrip("012") for phone in fields[1:]]
        spoken = [unicodedata.normalize("NFC", phone) for phone in spoken]
        if not spoken:
            raise InputError(f"{where} has no phones; give it some")
        if unknown := unknown_phones(spoken, spoken if phones is None else phones):
            fault = f"has the unknown phones {' '.join(unknown)}"
            raise InputError(f"{where} {fault}; use the 39 of ARPABET, or --phones corpus")
        if stress and (wrong := [phone for phone in fields[1:] if phone[:-1].endswith(("0", "1", "2"))]):
            raise InputError(f"{where} has {wrong[0]}; give a vowel one digit of stress")
        try:
            check_phones(set(spoken) - checked)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        checked.update(spoken)
        spoken = fields[1:] if stress else spoken
        words.setdefault(re.sub(r"\(\d+\)$", "", fields[0]).upper(), {})[tuple(spoken)] = None
    if not words:
        raise InputError(f"the dictionary {path} holds no word; give one with a word and its phones a line")
    return {word: tuple(variants) for word, variants in words.items()}


def split_words(text: str) -> list[str]:
    """A sentence's words in upper case without punctuation; what is read aloud (digits, &, $) stays."""
    text = re.sub("[’‘ʼ`´]", "'", text.upper())
    kept = (c if c in _SPOKEN or unicodedata.category(c)[0] in "LMNS" else " " for c in text)
    words = "".join(kept).split()
    return [word for word in words if word.strip("'")]


def spoken_phones(words: Iterable[str], dictionary: Dictionary) -> tuple[str, ...] | str:
    """The phones of a sentence, or why it has none."""
    phones, missing = pronounce(words, dictionary)
    if missing:
        return f"the dictionary lacks {' '.join(missing)}"
    return phones or "no words"


def pronounce(words: Iterable[str], dictionary: Dictionary) -> tuple[tuple[str, ...], list[str]]:
    """The phones of a sentence, and the words that the dictionary lacks, each once.

    A word is looked up as it stands, then without punctuation around it, then in its parts between hyphens.
    """
    phones: list[str] = []
    missing: dict[str, None] = {}
    for word in words:
        found = [dictionary.get(entry) for entry in entries(word, dictionary)]
        if all(found):
            phones.extend(phone for item in found if item for phone in item)
        else:
            missing[word] = None
    return tuple(phones), list(missing)


def entries(word: str, dictionary: Container[str]) -> list[str]:
    """The words of a dictionary that a word is: itself, or its parts between hyphens, which the dictionary may lack."""
    bare = re.sub(r"^[^\w$#@]+|[^\w$#@]+$", "", word)
    whole = next((form for form in (word, word.strip("'"), bare) if form in dictionary), None)
    return bare.split("-") if whole is None else [whole]
