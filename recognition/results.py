"""What was recognised in a recording, and the same for other programs, by the library's writer (native/results)."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError, typed
from tetraphone.common.files import write_atomically
from tetraphone.common.native import library
from tetraphone.common.phones import TimedPhone

from .handle import library_text
from .recognizer import StreamOptions

ARPABET = "arpabet"
ROOM = 96
"""Bytes of a file for each interval, at first; what needs more is written again."""
NO_CONFIDENCE = -1.0
"""Of an interval of which nothing is said."""

Tiers = dict[str, list[tuple[str, float, float, float]]]
"""Intervals by the names of their tiers: label, start, end (seconds), confidence or NO_CONFIDENCE."""


UNFILED = ("", "-", "microphone", "samples")
"""Names of recordings that are no files."""


@dataclass(frozen=True)
class Format:
    """A kind of file for results."""

    name: str
    suffix: str
    """Of the names of its files."""
    help: str
    joins: bool
    """Whether results of several recordings make one file, one behind another."""


class Result:
    """What was found in a recording: intervals of sound with labels, in tiers.

    Raises:
        InputError: of each method: there is no such format or alphabet, or the times are not in order.
    """

    recording: str
    duration: float
    problems: tuple[str, ...]
    failed: int = 0
    """Parts of the recording of which there is no result; `problems` say why."""

    def tiers(self) -> Tiers:
        """The intervals by the names of their tiers: label, start, end (seconds), confidence or NO_CONFIDENCE."""
        raise NotImplementedError

    def to(self, format: str, alphabet: str = ARPABET, first: bool = True) -> str:
        """The result in one of `formats()`.

        Args:
            first: whether it begins a file; a format that joins several results leaves its header out elsewhere.

        Raises:
            InputError: also if there is no such format.
        """
        tiers, count = [], 0
        for tier, items in self.tiers().items():
            intervals = (_Interval * len(items))(*(_Interval(label.encode(), *rest) for label, *rest in items))
            tiers.append(_Tier(tier.encode(), intervals, len(intervals)))
            count += len(intervals)
        problems = [problem.encode("utf-8", "surrogateescape") for problem in self.problems]
        lines = (ctypes.c_char_p * len(problems))(*problems)
        name, rows = os.fsencode(self.recording), (_Tier * len(tiers))(*tiers)
        result = _Result(ctypes.sizeof(_Result), name, self.duration, rows, len(rows), lines, len(lines))
        names = typed("format", str, format).encode(), typed("alphabet", str, alphabet).encode(), ctypes.c_int(first)
        room = 4096 + ROOM * count
        return library_text(room, library().tetraphone_format_result, ctypes.byref(result), *names)

    def to_json(self, alphabet: str = ARPABET) -> str:
        """An object: recording, duration (seconds), the intervals with label, start and end, problems."""
        return self.to("json", alphabet)

    def to_textgrid(self, alphabet: str = ARPABET) -> str:
        """For Praat: gaps are filled with empty intervals."""
        return self.to("textgrid", alphabet)

    def to_audacity(self, alphabet: str = ARPABET) -> str:
        """Labels for Audacity."""
        return self.to("audacity", alphabet)

    def to_ctm(self, alphabet: str = ARPABET) -> str:
        """Lines for sclite and Kaldi."""
        return self.to("ctm", alphabet)

    def to_srt(self, alphabet: str = ARPABET) -> str:
        """Subtitles."""
        return self.to("srt", alphabet)

    def to_csv(self, alphabet: str = ARPABET) -> str:
        """A table with a header: recording, tier, start, end, label, confidence."""
        return self.to("csv", alphabet)

    def to_eaf(self, alphabet: str = ARPABET) -> str:
        """For ELAN."""
        return self.to("eaf", alphabet)

    def save(self, path: str | PathLike[str], alphabet: str = ARPABET) -> None:
        """Writes a file of the format that its name's ending means: .TextGrid, .json, .csv, …; it appears whole or not.

        Raises:
            InputError: also if no format has this ending, or the file cannot be written.
        """
        path = Path(typed("path", Path, path))
        write_result(path, self.for_file(path, format_of(path).name, alphabet))

    def for_file(self, path: Path, format: str, alphabet: str = ARPABET) -> str:
        """As `to`, for a file of this name: ELAN finds the sound by its path from the file's folder."""
        if format != "eaf" or self.recording in UNFILED:
            return self.to(format, alphabet)
        return replace(self, recording=path_from(path.parent, self.recording)).to(format, alphabet)  # type: ignore[type-var]


@dataclass(frozen=True)
class Recognition(Result):
    """What was recognised in a recording. Alphabets are "arpabet", phones as the model has them, and "ipa".

    Raises:
        InputError: of each method: there is no such alphabet, or the times are not in order.
    """

    recording: str
    """Its name."""
    duration: float
    """Seconds."""
    phones: tuple[TimedPhone, ...]
    problems: tuple[str, ...] = ()
    """Why these are not the phones of the whole recording; sentences without a full stop."""

    @property
    def text(self) -> str:
        """The phones with blanks between them."""
        return " ".join(item.phone for item in self.phones)

    @property
    def ipa(self) -> str:
        """As `text`, in the International Phonetic Alphabet."""
        return self.in_alphabet("ipa").text

    def in_alphabet(self, alphabet: str) -> "Recognition":
        """The same with other symbols."""
        symbol = symbols_of(alphabet)
        return replace(self, phones=tuple(replace(item, phone=symbol(item.phone)) for item in self.phones))

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: {"recording": name, "duration": seconds, "phones": [{"phone", "start", "end", "confidence"},
        …], "problems": [why these are not the phones of the whole recording]}."""
        phones = [dict(item.__dict__) for item in self.phones]
        return {
            "recording": self.recording,
            "duration": self.duration,
            "phones": phones,
            "problems": list(self.problems),
        }

    def tiers(self) -> Tiers:
        return {"phones": [(item.phone, item.start, item.end, item.confidence) for item in self.phones]}


def symbols_of(alphabet: str) -> Callable[[str], str]:
    """What writes a phone in an alphabet.

    Raises:
        InputError: there is no such alphabet; from the function: the phone has no symbol in it.
    """
    if typed("alphabet", str, alphabet) not in alphabets():
        raise InputError(f"there is no alphabet {alphabet}; give one of {', '.join(alphabets())}")

    def symbol(phone: str) -> str:
        if alphabet == ARPABET:
            return phone
        if (found := ipa_symbols().get(phone)) is None:
            raise InputError(f"the phone {phone} has no symbol in {alphabet}; take {ARPABET}, the model's own")
        return found

    return symbol


def path_from(folder: Path, path: str | PathLike[str]) -> str:
    """A path as it is called from a folder; both may be relative to the working directory."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return Path(os.path.abspath(path)).as_posix()


def write_result(path: Path, text: str, durable: bool = True) -> None:
    """Writes what `Result.to` gave; see `write_atomically`."""
    with write_atomically(path, durable) as temporary:
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))


def find_format(name: str) -> Format:
    """The format of this name.

    Raises:
        InputError: there is none.
    """
    for format in formats():
        if format.name == name:
            return format
    raise InputError(f"there is no format {name}; give one of {', '.join(format.name for format in formats())}")


@cache
def formats() -> tuple[Format, ...]:
    """The formats of results."""
    found: list[Format] = []
    row = _Format()
    while library().tetraphone_result_format_at(ctypes.c_size_t(len(found)), ctypes.byref(row)):
        found.append(Format(row.name.decode(), row.suffix.decode(), row.help.decode(), bool(row.joins)))
    return tuple(found)


def format_of(path: Path) -> Format:
    """The format of a file by its name.

    Raises:
        InputError: no format has such an ending.
    """
    longest = sorted(formats(), key=lambda format: -len(format.suffix))
    for format in longest:
        if path.name.lower().endswith(format.suffix.lower()):
            return format
    raise InputError(f"{path} ends in no suffix of a result; give one of {', '.join(f.suffix for f in formats())}")


def settings_text(model: Path, options: StreamOptions, channel: int | None, alphabet: str) -> str:
    """What results depend on besides the recordings, on one line: digests of model and grammar, and the options.

    Raises:
        InputError: a file cannot be read, or there is no such alphabet.
    """
    how = options.native(False, False)
    how.channel = -1 if channel is None else channel
    names = os.fsencode(model), ctypes.byref(how), alphabet.encode()
    return library_text(4096, library().tetraphone_settings_text, *names)


@cache
def ipa_symbols() -> dict[str, str]:
    """The IPA symbol of each phone of the ARPABET."""
    found: dict[str, str] = {}
    arpabet, ipa = ctypes.c_char_p(), ctypes.c_char_p()
    while library().tetraphone_alphabet_phone_at(ctypes.c_size_t(len(found)), ctypes.byref(arpabet), ctypes.byref(ipa)):
        found[(arpabet.value or b"").decode()] = (ipa.value or b"").decode()
    return found


@cache
def alphabets() -> tuple[str, ...]:
    """The names of the alphabets."""
    found: list[str] = []
    while name := library().tetraphone_alphabet_at(ctypes.c_size_t(len(found))):
        found.append(name.decode())
    return tuple(found)


class _Interval(ctypes.Structure):
    _fields_ = (
        ("label", ctypes.c_char_p),
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
        ("confidence", ctypes.c_double),
    )


class _Tier(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("intervals", ctypes.POINTER(_Interval)), ("count", ctypes.c_size_t))


class _Result(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint64),
        ("recording", ctypes.c_char_p),
        ("duration", ctypes.c_double),
        ("tiers", ctypes.POINTER(_Tier)),
        ("tier_count", ctypes.c_size_t),
        ("problems", ctypes.POINTER(ctypes.c_char_p)),
        ("problem_count", ctypes.c_size_t),
    )


class _Format(ctypes.Structure):
    _fields_ = (*((name, ctypes.c_char_p) for name in ("name", "suffix", "help")), ("joins", ctypes.c_int32))
