"""What is said in a recording, where that is known: a text, or the texts of stretches in a Praat TextGrid."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from tetraphone.common.errors import InputError
from tetraphone.common.files import check_plain
from tetraphone.common.phones import SILENCES
from tetraphone.recognition.aligner import Stretch

SUFFIXES = (".lab", ".txt", ".TextGrid")
"""Of files beside a recording that hold what is said in it, as aligners have them; the first that is there counts."""
ENCODINGS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""By the mark that such a file begins with."""
GRID = re.compile(r'\s*(File type\s*=\s*)?"ooTextFile')
TOKEN = re.compile(r'"((?:[^"]|"")*)"|(?<![\w\[.])([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?![\w\]])')
"""Of a TextGrid, long or short: a text, or a number that is no index in brackets."""


class OverlapError(ValueError):
    """Two intervals overlap."""


def text_beside(recording: Path) -> Path:
    """The file beside a recording that holds what is said in it.

    Raises:
        InputError: there is none.
    """
    for suffix in (*SUFFIXES, *(suffix.upper() for suffix in SUFFIXES)):
        if (path := recording.with_suffix(suffix)).is_file():
            return path
    names = " or ".join(recording.with_suffix(suffix).name for suffix in SUFFIXES)
    raise InputError(f"there is no {names} beside {recording}; write what is said there into one, or give --text")


def read_text(path: Path) -> str:
    """A file's text, in UTF-8, or in UTF-16 with a mark, as Praat writes it; other bytes become U+FFFD.

    Raises:
        InputError: it cannot be read.
    """
    check_plain(path, "the text")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the text {path}: {error.strerror}; give a file with what is said") from error
    for mark, encoding in ENCODINGS.items():
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    return content.decode("utf-8", "surrogateescape")


def stretches_of(content: str, name: str) -> tuple[Stretch, ...]:
    """The texts of a TextGrid's first tier of intervals that has some, silences left out, or a text as it stands.

    Args:
        name: of the file, for errors.

    Raises:
        InputError: it is a TextGrid without such a tier, or damaged.
    """
    if not GRID.match(content):
        if name.lower().endswith(".textgrid"):
            raise InputError(f"{name} is called a TextGrid and is none; save it by Praat, or call it .txt")
        return (Stretch(content),)
    try:
        tiers = [*_tiers(iter([text if number == "" else float(number) for text, number in TOKEN.findall(content)]))]
    except OverlapError as error:
        raise InputError(f"{name}: {error}; move one of them in Praat") from error
    except (StopIteration, RuntimeError, OverflowError, ValueError) as error:
        raise InputError(f"{name} is a TextGrid that is damaged; save it again by Praat") from error
    for tier in tiers:
        if said := tuple(
            stretch for stretch in tier if stretch.text.strip() and stretch.text.strip().casefold() not in SILENCES
        ):
            return said
    raise InputError(f"{name} has no interval with a text; write what is said into a tier of intervals")


def _tiers(tokens: Iterator[str | float]) -> Iterator[list[Stretch]]:
    """The intervals of each tier of intervals."""

    def number() -> float:
        if isinstance(found := next(tokens), float):
            return found
        raise ValueError(found)

    def text() -> str:
        if isinstance(found := next(tokens), str):
            return found.replace('""', '"')
        raise ValueError(found)

    text(), text(), number(), number()  # what kind of file, and its times
    for _ in range(int(number())):
        kind = text()
        text(), number(), number()  # the tier's name and times
        intervals, last = [], 0.0
        for _ in range(int(number())):
            start = number()
            if kind == "IntervalTier":
                end = number()
                if not start < end:
                    raise ValueError(start)
                if start < last:
                    raise OverlapError(
                        f"the interval from {start:.2f} to {end:.2f} s begins before the end of the last"
                    )
                intervals.append(Stretch(text(), start, last := end))
            else:
                text()
        yield intervals
