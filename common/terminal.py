"""What a command takes from a terminal and prints to it: refusals of wrong usage, and results."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from .errors import InputError
from .files import MENDS


def check_arguments(arguments: list[str]) -> None:
    """Refuses empty arguments: an empty path would mean the working directory, or no file at all."""
    for place, word in enumerate(arguments):
        if word and not (word.startswith("--") and word.endswith("=")):
            continue
        where = f'"{word}"' if word else f'the argument after "{" ".join(["tetraphone", *arguments[:place]][-2:])}"'
        wrong_usage("", f"{where} is empty; give a name or a value")


def wrong_usage(command: str, what: str) -> NoReturn:
    """Ends the process with status 2, as tyro does for arguments that it cannot parse."""
    print(f"{f'tetraphone {command}'.strip()}: {what}; --help shows the usage", file=sys.stderr)
    sys.exit(2)


PROBLEMS = ("problems", "notes")
"""Keys of a result that hold lines for standard error."""
SHOWN_PROBLEMS = 5


def print_result(result: dict[str, Any]) -> None:
    """Prints a result as text: phones, words as a table, other values one a line, no problems (see `problem_lines`)."""
    for key, value in result.items():
        if key in PROBLEMS:
            continue
        if key == "phones" and isinstance(value, list):
            for item in value:
                print(f"{item['start']:8.2f} {item['end']:8.2f}  {item['phone']:<3} {item['confidence']:.2f}")
        elif key == "words" and isinstance(value, list):
            for word in value:
                print(f"{word['start']:8.2f} {word['end']:8.2f}  {word['text']}")
                for item in word["phones"]:
                    print(f"{item['start']:8.2f} {item['end']:8.2f}    {item['phone']}")
        elif isinstance(value, dict):
            print(f"{key.replace('_', ' ')}: " + ", ".join(f"{name} {part}" for name, part in value.items()))
        elif isinstance(value, str) and "\n" in value:
            print(value, end="")
        else:
            print(f"{key.replace('_', ' ')}: {value}")


def problem_lines(result: dict[str, Any]) -> Iterator[str]:
    """The first SHOWN_PROBLEMS problems and notes of a result, and how many more there are."""
    for key in PROBLEMS:
        problems = result.get(key, ())
        yield from (f"{key[:-1]}: {problem}" for problem in problems[:SHOWN_PROBLEMS])
        if len(problems) > SHOWN_PROBLEMS:
            yield f"and {len(problems) - SHOWN_PROBLEMS} more, all in --json"


class ReaderLeftError(Exception):
    """The reader of standard output closed it (as `head` does): not a fault, but nobody reads the rest."""


def write_text(text: str) -> None:
    """Writes to standard output in UTF-8, with line ends as they are, whatever the locale and the system."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


@contextlib.contextmanager
def flushed_output() -> Iterator[None]:
    """Flushes standard output at the end of the block.

    Raises:
        InputError: the output cannot be written.
        ReaderLeftError: its reader closed it.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # None where the shell closed it (>&-)
                sys.stdout.flush()
    except BrokenPipeError as error:
        raise ReaderLeftError from error
    except OSError as error:
        if sys.platform == "win32" and error.errno == errno.EINVAL:  # which Windows says of a pipe without a reader
            raise ReaderLeftError from error
        mend = MENDS.get(error.errno or 0, "redirect it to another place")
        raise InputError(f"cannot write the result: {error.strerror}; {mend}") from error


def discard_output() -> None:
    """Drops output that could not be written; else the interpreter would try again when it exits, and fail."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
