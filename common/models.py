"""Where models are: those that ship with the package, by name; others by path."""

import os
from pathlib import Path

from .errors import InputError

SHIPPED = Path(__file__).parent.parent / "models"
"""english-int8.pte and the like, with a card for each network, and figures.json."""
FIGURES = SHIPPED / "figures.json"
DEMO = Path("demo")
DEFAULT = "english-int8"
VARIABLE = "TETRAPHONE_MODEL"
SUFFIX = ".pte"


def shipped_models() -> dict[str, Path]:
    """The models of this installation by name, the default first."""
    found = sorted(SHIPPED.glob(f"*{SUFFIX}"), key=lambda path: (path.stem != DEFAULT, path.stem))
    return {path.stem: path for path in found}


def find_model(model: str | Path | None = None) -> Path:
    """The file of a model.

    Args:
        model: the name of one that ships, such as english-tiny-int8, or a path; by default what the environment's
            TETRAPHONE_MODEL says, else DEFAULT, else the one that `make demo` trained in the working folder.

    Raises:
        InputError: no model has this name and no file has this path, or there is no default.
    """
    shipped = shipped_models()
    if model is None and not (model := os.environ.get(VARIABLE) or None):
        found = [*shipped.values(), *sorted(DEMO.glob(f"*-int8{SUFFIX}"))]
        if not found:
            raise InputError(f"no model ships with this version and {DEMO} holds none; run `make demo` or give --model")
        return found[0]
    path = shipped.get(str(model), Path(model))
    if not path.suffix and not os.path.exists(path):
        names = f"one of {', '.join(shipped)}, or " if shipped else ""
        raise InputError(f"there is no model {model}; give {names}the path of a file")
    return path
