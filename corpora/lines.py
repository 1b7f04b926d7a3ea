"""Lines of manifests: a JSON object each, and values of it, or what is wrong with them in words for the user."""

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tetraphone.common.errors import InputError

from .transcripts import LineError

Made = TypeVar("Made")

LONGEST = 1e7
"""Seconds, a quarter of a year: more than a recording has."""


@dataclass(frozen=True)
class Line:
    """An object of a manifest, and where it stands."""

    name: str
    """Of the manifest's file."""
    number: int
    """From 1."""
    item: dict[str, Any]

    @property
    def where(self) -> str:
        return f"{self.name}, line {self.number}"


# Lines.


def read_lines(path: Path, make: Callable[[Line], Made]) -> Iterator[Made | str]:
    """What `make` makes of the object in each line, or the line's fault.

    Raises:
        InputError: the file is UTF-16 or UTF-32.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, content in enumerate(file, 1):
                if number == 1 and (content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:4]):
                    raise InputError(f"{path} is in UTF-16 or UTF-32; save it as UTF-8")
                if content.strip():
                    yield _made(path.name, number, content, make)
    except OSError as error:
        fault = "is no gzip file" if isinstance(error, gzip.BadGzipFile) else f"cannot be read: {error.strerror}"
        yield f"{path.name}: {fault}{f', after line {number}' if number else ''}; prepare it again"
    except (EOFError, zlib.error):
        yield f"{path.name}: is cut short or damaged after line {number}; prepare it again"


def _made(name: str, number: int, content: bytes, make: Callable[[Line], Made]) -> Made | str:
    where = f"{name}, line {number}"
    try:
        line = Line(name, number, _object(content))
    except LineError as fault:
        return f"{where}: {fault}"
    try:
        return make(line)
    except LineError as fault:
        called = line.item.get("id")
        return f"{where}: {called}: {fault}" if isinstance(called, str) else f"{where}: {fault}"


def _object(content: bytes) -> dict[str, Any]:
    """The JSON object in a line.

    Raises:
        LineError: there is none.
    """
    try:
        item = DECODER.decode(content.decode("utf-8-sig"))
        if b"\\u" in content:
            json.dumps(item, ensure_ascii=False).encode()  # Half a surrogate pair is no text.
    except UnicodeDecodeError as error:
        raise LineError(f"byte {error.start + 1} is no text in UTF-8; save the file as UTF-8") from error
    except UnicodeEncodeError as error:
        raise LineError("it holds half a character (a lone surrogate, \\ud800 to \\udfff); write it whole") from error
    except json.JSONDecodeError as error:
        raise LineError(f"no JSON object (wrong at character {error.pos + 1}); write one object a line") from error
    except LineError:
        raise
    except ValueError as error:
        raise LineError("a number of thousands of digits; write it shorter") from error
    except RecursionError as error:
        raise LineError("no JSON object (lists within lists without end); write one object a line") from error
    if not isinstance(item, dict):
        raise LineError(f'{shown(item)} is no JSON object; write one a line: {{"id": …}}')
    return item


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which each key stands once."""
    item = dict(pairs)
    if len(item) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise LineError(f"the key {twice} stands there twice; keep one")
    return item


DECODER = json.JSONDecoder(object_pairs_hook=_once)


# Values.


def shown(value: object) -> str:
    """A value as JSON has it, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def value_of(item: Mapping[str, Any], *keys: str) -> Any:
    """The value of the one of some synonymous keys that is there; None (null) where there is none.

    Raises:
        LineError: they have different values.
    """
    values = {key: item[key] for key in keys if item.get(key) is not None}
    first = next(iter(values.values()), None)
    if any(value != first for value in values.values()):
        said = " and ".join(f"{key} is {shown(value)}" for key, value in values.items())
        raise LineError(f"{said}, though they mean the same; give one of them")
    return first


def string_of(item: Mapping[str, Any], *keys: str) -> str:
    """The string under a key, or under one of some synonymous keys.

    Raises:
        LineError: there is none, it is empty, holds U+0000, or is no string.
    """
    value = item.get(keys[0]) if len(keys) == 1 else value_of(item, *keys)
    if value is None:
        raise LineError(f"no key {keys[0]}; give it a string")
    if not isinstance(value, str):
        raise LineError(f"{keys[0]} is {shown(value)}, which is not a string")
    if not value or "\0" in value:
        what = "holds the character U+0000" if value else "is empty"
        raise LineError(f"{keys[0]} {what}; give it a string of text")
    return value


def text_of(item: Mapping[str, Any], key: str) -> str:
    """The string under a key; an empty one where it is missing.

    Raises:
        LineError: it is no string.
    """
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise LineError(f"{key} is {shown(value)}, which is not a string")
    return value or ""


def number_of(value: object, name: str) -> float:
    """A finite number; `name` is for errors.

    Raises:
        LineError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LineError(f"{name} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise LineError(f"{name} is {shown(value)}, which is not a finite number")
    return number


def list_of(value: object, name: str) -> list[Any]:
    """A list; `name` is for errors.

    Raises:
        LineError: it is none.
    """
    if not isinstance(value, list):
        raise LineError(f"{name} is {shown(value)}, which is not a list")
    return value


def stretch_of(start: object, duration: object) -> tuple[float, float]:
    """Start and duration of an utterance, in seconds.

    Raises:
        LineError: the start is negative, the duration missing or not above 0, or either longer than LONGEST.
    """
    if duration is None:
        raise LineError("no key duration; give it seconds")
    first, long = number_of(start, "start"), number_of(duration, "duration")
    if first < 0:
        raise LineError(f"it starts at {first} seconds, before its recording; give a start of 0 or more")
    for name, seconds in (("start", first), ("duration", long)):
        if seconds > LONGEST:
            raise LineError(f"a {name} of {seconds:g} seconds; give one of at most {LONGEST:g}")
    if not long > 0:
        raise LineError(f"a duration of {long} seconds; give one above 0")
    return first, long


def channel_of(value: object) -> int:
    """The number of a channel, from 0.

    Raises:
        LineError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise LineError(f"channel is {shown(value)}; give the number of one, counted from 0")
    return value


def channels_of(value: object) -> list[int]:
    """Numbers of channels, of one or a list; none: all.

    Raises:
        LineError: one is no such number.
    """
    values = value if isinstance(value, list) else [] if value is None else [value]
    return sorted({channel_of(one) for one in values})


def object_of(item: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; an empty one where it is missing.

    Raises:
        LineError: it is no object.
    """
    value = item.get(key)
    if value is not None and not isinstance(value, dict):
        raise LineError(f"{key} is {shown(value)}, which is not an object")
    return value or {}


def symbols_of(value: object) -> list[str]:
    """The symbols of a transcript.

    Raises:
        LineError: it is no list of strings.
    """
    if value is None:
        raise LineError("no key phones; give a list of strings (lhotse's supervisions have it in custom)")
    if isinstance(value, str):
        raise LineError(f"phones is {shown(value)}, which is not a list of strings; write {shown(value.split())}")
    if not isinstance(value, list) or not all(isinstance(phone, str) for phone in value):
        raise LineError(f"phones is {shown(value)}, which is not a list of strings")
    return value
