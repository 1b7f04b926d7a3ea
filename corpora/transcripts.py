"""Phone transcripts as they are read: one form of Unicode, folded by a table, without silences, of one phone set."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.native import check_phones
from tetraphone.common.phones import ARPABET, SILENCES, unknown_phones

Fold = Mapping[str, str]
"""Symbol of a transcript → phone; nothing (""): the symbol is left out."""


class LineError(ValueError):
    """What is wrong with a line of a manifest, in words for the user."""


@dataclass(frozen=True)
class Transcripts:
    """How phone transcripts are read: symbols are composed (NFC), then folded; then silences are left out.

    A silence stays where the phone set has it, and where silences are kept. A symbol that the table lacks stays as it
    is.

    Raises:
        InputError: silences are to be kept in a phone set that is given.
    """

    phones: Collection[str] | None = ARPABET
    """The phone set, outside of which a phone is a fault; None: any."""
    keep_silences: bool = False
    fold: Fold | None = None

    def __post_init__(self) -> None:
        if self.keep_silences and self.phones is not None:
            raise InputError("silences can only be kept as phones of --phones corpus; leave out --keep-silences")

    def unknown(self, phones: Iterable[str]) -> str:
        """What is wrong with phones, "" for nothing."""
        if self.phones is None or not (unknown := unknown_phones(phones, self.phones)):
            return ""
        known = f"{len(self.phones)} ARPABET phones without stress" if self.phones == ARPABET else " ".join(self.phones)
        mend = "the table does not fold them" if self.fold else "--fold takes a table of what others stand for"
        return f"unknown phones {' '.join(unknown)}; the {known} are known, and {mend}"


@dataclass
class Reading:
    """Manifests in the course of being read, and what was changed or left unread on the way: told once."""

    transcripts: Transcripts = field(default_factory=Transcripts)
    silences: Counter[str] = field(default_factory=Counter)
    composed: dict[str, str] = field(default_factory=dict)
    """Symbol as it was written → as it is read."""
    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    """(file, unknown key) → the line where it stands first."""
    disagreeing: int = 0
    """Alignments with other phones than their transcripts."""
    first_disagreeing: str = ""
    unanchored: str = ""
    """The first utterance with an alignment whose times are counted from an unknown start."""
    _phones: dict[str, str | None] = field(default_factory=dict)
    """Symbol → phone, of those that were seen."""

    def phone(self, symbol: str) -> str | None:
        """The phone that a symbol stands for: "" for none by the table, None for a silence.

        Raises:
            LineError: it cannot be a phone.
        """
        if symbol not in self._phones:
            self._phones[symbol] = self._read(symbol)
        return self._phones[symbol]

    def read(self, symbols: Iterable[str]) -> tuple[str, ...]:
        """The phones that the symbols of a transcript stand for; silences are counted.

        Raises:
            LineError: a symbol cannot be a phone, or is none of the set; none is left.
        """
        phones = []
        for symbol in symbols:
            if phone := self.phone(symbol):
                phones.append(phone)
            elif phone is None:
                self.silences[symbol] += 1
        if not phones:
            raise LineError("no phones")
        if unknown := self.transcripts.unknown(phones):
            raise LineError(unknown)
        return tuple(phones)

    def unknown_keys(self, item: Mapping[str, object], known: frozenset[str], name: str, number: int) -> None:
        """Notes the keys of a line that are not read."""
        if not known.issuperset(item):
            for key in item:
                if key not in known:
                    self.keys.setdefault((name, key), number)

    def _read(self, symbol: str) -> str | None:
        transcripts = self.transcripts
        phones = transcripts.phones or ()
        composed = symbol if symbol in phones else unicodedata.normalize("NFC", symbol)
        if composed != symbol:
            self.composed[symbol] = composed
        phone = composed if transcripts.fold is None else transcripts.fold.get(composed, composed)
        if phone or not symbol:
            try:
                check_phones((phone,))
            except InputError as error:
                raise LineError(str(error)) from error
        return None if is_silence(phone) and not transcripts.keep_silences and phone not in phones else phone

    def notes(self, corpus: str) -> tuple[str, ...]:
        """What was changed or left unread of a corpus, a sentence for each kind."""
        told = []
        if self.silences:
            counts = ", ".join(f"{symbol} {count}" for symbol, count in self.silences.most_common())
            mend = "; --keep-silences keeps them" if self.transcripts.phones is None else ""
            told.append(f"{self.silences.total()} silences are left out of the transcripts ({counts}){mend}")
        if self.composed:
            pairs = ", ".join(f"{_codes(symbol)} as {_codes(phone)}" for symbol, phone in self.composed.items())
            told.append(f"phone symbols are read in Unicode's form NFC: {pairs}")
        if self.disagreeing:
            count = f"{self.disagreeing} alignments have other phones than their transcripts"
            told.append(f"{count}, and their times are not compared; the first is {self.first_disagreeing}")
        if self.unanchored:
            why = "a Shar archive does not say where in its recording a cut began, from which they are counted"
            told.append(f"alignments are left unread, since {why}; the first is {self.unanchored}")
        unread = (
            f"{name}, line {number}: the key {key} is not known and is left unread"
            for (name, key), number in self.keys.items()
        )
        return (*unread, *(f"{corpus}: {note}" for note in told))


def is_silence(symbol: str) -> bool:
    """Whether a symbol stands for silence, noise or breath."""
    return symbol.casefold() in SILENCES


def _codes(symbol: str) -> str:
    """A symbol with its code points."""
    return f"{symbol} ({' '.join(f'U+{ord(character):04X}' for character in symbol)})"


def read_fold(path: str | Path | None) -> dict[str, str] | None:
    """Reads a table of symbols: a line each, "SYMBOL PHONE" or "SYMBOL" alone, which leaves it out; lines that start
    with # are comments. No path, no table.

    Raises:
        InputError: it cannot be read, or a line is not like this.
    """
    if path in (None, ""):
        return None
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"cannot read the table {path}: {error.strerror}; give a file of lines like: ax AH") from error
    table: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = unicodedata.normalize("NFC", line).split()
        if not words or line.startswith("#"):
            continue
        where, symbol, phone = f"{path}, line {number}", words[0], "".join(words[1:2])
        if len(words) > 2:
            raise InputError(f"{where}: {len(words)} words; write a symbol and the one phone that it stands for")
        try:
            check_phones((phone,) if phone else ())
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        if table.setdefault(symbol, phone) != phone:
            before = table[symbol] or "nothing"
            raise InputError(f"{where}: {symbol} stands for {phone or 'nothing'}, but for {before} above; keep one")
    if not table:
        raise InputError(f"{path} has no line like: ax AH; give a table of symbols and phones")
    return table
