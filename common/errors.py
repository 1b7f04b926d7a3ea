"""The one error that is the user's to mend, and the check of the types that options are given in."""

from contextlib import suppress
from dataclasses import fields
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


class InputError(Exception):
    """One sentence: what is wrong, in which file or value, and how to mend it. The command line exits with 1."""


class DivergedError(InputError):
    """Training left the finite numbers."""


ACCEPTED: dict[Any, Any] = {int: Integral, float: Real, Path: str | PathLike}
"""What is taken for a value of a type, if not the type alone."""
WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    Path: "the path of a file",
}


def check_types(options: Any) -> None:
    """Checks what the fields of a dataclass were given; NumPy's numbers become Python's, and lists tuples.

    Raises:
        InputError: a value is not of its field's type; nothing is guessed: "8" is no number, and True is none.
    """
    hints = get_type_hints(type(options), include_extras=True)
    for name in (field.name for field in fields(options)):
        object.__setattr__(options, name, typed(name, hints[name], getattr(options, name)))


def check_least(name: str, value: int | None, least: int) -> None:
    """Refuses a value of an option below its minimum.

    Raises:
        InputError: it is.
    """
    if value is not None and value < least:
        raise InputError(f"{name} is {value}; it must be at least {least}")


def typed(name: str, hint: Any, value: Any) -> Any:
    """A value of a type: a class, a Literal of strings, a tuple of any length, or one of these or None.

    Raises:
        InputError: it is of another type; named, with what to give.
    """
    kind, members = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return typed(name, members[0], value)
    if NoneType in members:
        return None if value is None else typed(name, members[0], value)
    if kind is tuple and isinstance(value, list | tuple):
        return tuple(typed(name, members[0], item) for item in value)
    if kind is Literal and isinstance(value, str) and value in members:
        return value
    if kind is None and isinstance(value, ACCEPTED.get(hint, hint)) and (hint is bool or not isinstance(value, bool)):
        if isinstance(value, hint) or hint not in (int, float):
            return value
        with suppress(OverflowError):
            return value if type(value) is int and float(value) else hint(value)
    wanted = f"one of {', '.join(members)}" if kind is Literal else WORDS.get(hint, "a list")
    if kind is None and hint not in WORDS:
        wanted = f"a value of {hint.__name__}"
    raise InputError(f"{name} is {value!r}; give {wanted}")
