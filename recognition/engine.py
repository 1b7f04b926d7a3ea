"""What runs the programs of models: the kernels called directly, or ExecuTorch (native/model/engine.h); the kernels'
instruction set."""

import ctypes

from tetraphone.common.errors import typed
from tetraphone.common.native import failure, library


def engine() -> str:
    """The engine that models are loaded into: TETRAPHONE_ENGINE's, or the first of `engines()`.

    Raises:
        InputError: TETRAPHONE_ENGINE names none of this build.
    """
    name: bytes | None = library().tetraphone_engine()
    if name is None:
        raise failure()
    return name.decode()


def engines() -> list[str]:
    """Those of this build."""
    found: list[str] = []
    while name := library().tetraphone_engine_at(ctypes.c_size_t(len(found))):
        found.append(name.decode())
    return found


def choose_engine(name: str) -> None:
    """Takes another engine for the models that are loaded from now on; all give the same bits.

    Raises:
        InputError: this build lacks it.
    """
    if library().tetraphone_choose_engine(typed("the engine", str, name).encode()) < 0:
        raise failure()


def instruction_set() -> str:
    """The instruction set that the kernels use on this processor."""
    name: bytes = library().tetraphone_instruction_set()
    return name.decode()


def instruction_sets() -> dict[str, bool]:
    """The instruction sets of this build, the best last, and whether this processor supports each."""
    found: dict[str, bool] = {}
    name = ctypes.c_char_p()
    while (supported := library().tetraphone_instruction_set_at(ctypes.c_size_t(len(found)), ctypes.byref(name))) >= 0:
        found[(name.value or b"").decode()] = bool(supported)
    return found
