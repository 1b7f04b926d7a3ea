"""Marks that experts gave to how known words were said, in JSON lines beside a manifest.

A line is an utterance: {"id", "accuracy", "fluency", "total", "words": [{"text", "phones", "phone_accuracy",
"accuracy", "stress", "total"}]}, 0 to 10 but a phone's accuracy, 0 to 2 (speechocean762; Zhang et al., 2021); other
keys are left.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tetraphone.common.errors import InputError
from tetraphone.common.files import check_plain

from .lines import Line, read_lines
from .transcripts import LineError

HIGHEST, HIGHEST_OF_PHONE = 10.0, 2.0
OF_WORDS = ("accuracy", "stress", "total")
OF_SENTENCES = ("accuracy", "fluency", "total")


@dataclass(frozen=True)
class MarkedWord:
    """A word, and what experts said of it."""

    text: str
    phones: tuple[str, ...]
    phone_accuracy: tuple[float, ...]
    """0 wrong or missing, 1 accented, 2 right."""
    marks: tuple[float, ...]
    """0 to 10, in the order of OF_WORDS."""


@dataclass(frozen=True)
class MarkedUtterance:
    """The words of an utterance, and what experts said of it."""

    id: str
    words: tuple[MarkedWord, ...]
    marks: tuple[float, ...]
    """0 to 10, in the order of OF_SENTENCES."""

    @property
    def spoken(self) -> str:
        """Its phones between blanks, with | between words."""
        return " | ".join(" ".join(word.phones) for word in self.words)


def read_marks(path: Path) -> dict[str, MarkedUtterance]:
    """The marked utterances of a file by their ids.

    Raises:
        InputError: the file cannot be read, a line is no such object, a mark is out of its range, or two lines have one
            id.
    """
    check_plain(path, "the marks")
    found: dict[str, MarkedUtterance] = {}
    for item in read_lines(path, _of_line):
        if isinstance(item, str):
            raise InputError(f"{path.parent / item}; give marks of experts as speechocean762 has them")
        if item.id in found:
            raise InputError(f"{path} has two lines of {item.id}; leave one")
        found[item.id] = item
    if not found:
        raise InputError(f"{path} has no line; give marks of experts as speechocean762 has them")
    return found


def _of_line(line: Line) -> MarkedUtterance:
    try:
        return _marked(line.item)
    except KeyError as error:
        raise LineError(f"lacks the key {error}") from error
    except (ValueError, TypeError, OverflowError) as error:
        raise LineError(str(error)) from error


def _marked(content: dict[str, Any]) -> MarkedUtterance:
    words = tuple(
        MarkedWord(
            str(word["text"]),
            tuple(map(str, _list(word["phones"]))),
            tuple(_mark(mark, HIGHEST_OF_PHONE) for mark in word["phone_accuracy"]),
            tuple(_mark(word[name], HIGHEST) for name in OF_WORDS),
        )
        for word in content["words"]
    )
    if not words or any(not word.phones or len(word.phones) != len(word.phone_accuracy) for word in words):
        raise ValueError("a word needs phones, and each of them a phone_accuracy")
    if odd := [phone for word in words for phone in word.phones if phone == "|" or len(phone.split()) != 1]:
        raise ValueError(f"a phone is {odd[0]!r}; give each one by itself")
    return MarkedUtterance(str(content["id"]), words, tuple(_mark(content[name], HIGHEST) for name in OF_SENTENCES))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"the phones are {value!r}; give a list")
    return value


def _mark(value: Any, highest: float) -> float:
    mark = float(value)
    if not 0 <= mark <= highest:
        raise ValueError(f"a mark is {value}, from 0 to {highest:g} is right")
    return mark
