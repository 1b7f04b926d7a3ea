"""Commands that argparse reads: those of recognition, which do not wait for tyro.

As everywhere, the options of a command are the fields of a dataclass; here the metadata hold what the help says.
"""

import argparse
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, make_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tetraphone.common.errors import InputError
from tetraphone.common.terminal import wrong_usage

LETTERS = {"model": "m", "output": "o", "format": "f", "quiet": "q"}
"""Short names of options, those of `tetraphone-recognize`."""
JSON = "Print exactly one JSON object on standard output."
QUIET = "Print no progress and no log; errors are still printed."


@dataclass(frozen=True)
class Flag:
    """What a help page says of an option."""

    help: str
    metavar: str = ""
    """What its value is called."""
    positional: bool = False


def flag(help: str, metavar: str = "", positional: bool = False) -> dict[str, Flag]:
    """The metadata of a field of a command's dataclass."""
    return {"flag": Flag(help, metavar, positional)}


def flags_of(kind: Any) -> Iterator[tuple[Field[Any], Any, Flag]]:
    """The fields of a dataclass of options with their types, and what is said of them; nested options one by one.

    A class whose help stands elsewhere has a method `flags`: the help and metavar of each field, by its name. What the
    field's own metadata say is added to it.
    """
    hints = get_type_hints(kind)
    said = kind.flags() if hasattr(kind, "flags") else {}
    for item in fields(kind):
        own = item.metadata.get("flag") or Flag("")
        help, metavar = said.get(item.name, ("", ""))
        yield item, hints[item.name], Flag(f"{help} {own.help}".strip(), own.metavar or metavar, own.positional)


def parse(kind: Any, name: str, arguments: list[str]) -> Any:
    """The options that the arguments give; ends the process with status 0 after --help, with 2 where they are wrong."""
    usage = " ".join(
        [f"{name} [-h] [OPTIONS]", *(f"[{flag.metavar}]" for *_, flag in flags_of(kind) if flag.positional)]
    )
    epilog = kind.epilog() if hasattr(kind, "epilog") else None
    form: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "epilog": epilog}
    parser = argparse.ArgumentParser(
        name, usage, textwrap.fill(kind.__doc__, 80), allow_abbrev=False, add_help=False, **form
    )
    places = parser.add_argument_group("positional arguments"), parser.add_argument_group("options")
    places[1].add_argument("-h", "--help", action="help", help="Show this help and exit.")
    _add(kind, *places)
    values = vars(parser.parse_args(arguments))
    try:
        return _made(kind, values)
    except InputError as error:
        wrong_usage(name.split()[-1], str(error))


def _add(kind: Any, positional: Any, options: Any) -> None:
    for item, hint, flag in flags_of(kind):
        if is_dataclass(hint):
            _add(hint, positional, options)
            continue
        default = item.default if item.default_factory is MISSING else item.default_factory()
        shown = f"{flag.help} (default: {None if default == () else default})".replace("%", "%%")
        members = get_args(hint)
        only = members[0] if NoneType in members or get_origin(hint) is tuple else hint
        how: dict[str, Any] = {"help": shown, "default": default}
        if only is bool:
            how |= {"action": "store_true"}
        elif get_origin(only) is Literal:
            how |= {"choices": get_args(only)}
        else:
            how |= {"type": only, "metavar": flag.metavar}
        if flag.positional:
            positional.add_argument(item.name, nargs="*" if get_origin(hint) is tuple else "?", **how)
        else:
            short = [f"-{LETTERS[item.name]}"] if item.name in LETTERS else []
            options.add_argument(*short, f"--{item.name.replace('_', '-')}", **how)


def _made(kind: Any, values: dict[str, Any]) -> Any:
    given = {}
    for item, hint, _ in flags_of(kind):
        value = _made(hint, values) if is_dataclass(hint) else values[item.name]
        given[item.name] = tuple(value) if isinstance(value, list) else value
    return kind(**given)


def for_tyro(kind: Any) -> Any:
    """The same options as tyro takes them: within a command of training's, and for the completion of a shell."""
    from typing import Annotated

    from tyro.conf import Positional, arg

    made = []
    as_type: Any = lambda form: form  # noqa: E731  # types that are not known before
    for item, hint, flag in flags_of(kind):
        how: dict[str, Any] = {"help": flag.help} if flag.help else {}
        if is_dataclass(hint):
            how = {"name": "", "constructor": for_tyro(hint)}
        elif flag.metavar:
            how["metavar"] = flag.metavar
        told: Any = as_type(Annotated)[hint, arg(**how)]
        default: Any = field(default=item.default, default_factory=item.default_factory)
        made.append((item.name, as_type(Positional)[told] if flag.positional else told, default))
    about = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    return make_dataclass(kind.__name__, made, bases=(kind,), namespace=about, frozen=True)
