"""Prints what `pip install tetraphone[EXTRA,…]` would bring, a requirement a line: `python requirements.py EXTRA,…`."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(extras: list[str]) -> list[str]:
    """Those of recognition, and of the extras with the extras that they name."""
    found = dict.fromkeys(PROJECT["dependencies"])
    for extra in filter(None, extras):
        if extra not in PROJECT["optional-dependencies"]:
            sys.exit(f"there is no extra {extra!r}; take some of {', '.join(PROJECT['optional-dependencies'])}")
        for item in PROJECT["optional-dependencies"][extra]:
            own = re.fullmatch(r"tetraphone\[(.+)\]", item)
            found |= dict.fromkeys(requirements(own[1].split(",")) if own else [item])
    return list(found)


print(*requirements(sys.argv[1].split(",")), sep="\n")
