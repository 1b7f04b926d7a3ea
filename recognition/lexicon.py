"""Pronunciations of words: a lexicon of `native/lexicon/` (C++), as `tetraphone corpus lexicon` writes it.

with Lexicon.load() as lexicon:
    lexicon.find("tomato")  # [("T", "AH0", "M", "EY1", "T", "OW2"), ("T", "AH0", "M", "AA1", "T", "OW2")]
    lexicon.guess("blorp")  # ("B", "L", "AO1", "R", "P")
"""

from pathlib import Path
from typing import Self

from tetraphone.common.errors import typed
from tetraphone.common.native import failure, library

from .handle import Handle, checked, library_text, path_bytes

SHIPPED = Path(__file__).parent.parent / "models" / "english.lexicon"
ROOM = 4096
"""Bytes for a word's pronunciations, at first."""

Pronunciation = tuple[str, ...]
"""Phones of ARPABET, vowels with the digit of their stress: 1 primary, 2 secondary, 0 none."""


class Lexicon(Handle):
    """A loaded lexicon, for any number of threads; close it, or use `with`."""

    _close = "tetraphone_lexicon_close"

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Self:
        """Reads a file.

        Raises:
            InputError: it cannot be read, is no lexicon, of another version, or damaged.
        """
        if not (handle := library().tetraphone_lexicon_load(path_bytes(path))):
            raise failure()
        return cls(handle)

    def find(self, word: str) -> list[Pronunciation]:
        """The pronunciations of a word, capital or small, with ' or ’, the usual one first; none where it lacks it."""
        return [tuple(line.split()) for line in self._ask("find", word).splitlines()]

    def guess(self, word: str) -> Pronunciation:
        """What the spelling of a word says; empty where it has a letter that the lexicon does not
        know, or more than 64."""
        return tuple(self._ask("guess", word).split())

    def __len__(self) -> int:
        """The number of its words."""
        return checked(library().tetraphone_lexicon_words(self._handle))

    def _ask(self, function: str, word: str) -> str:
        text = typed("the word", str, word).lower().encode("utf-8", "surrogatepass")
        if b"\0" in text:
            return ""
        return library_text(ROOM, getattr(library(), f"tetraphone_lexicon_{function}"), self._handle, text)
