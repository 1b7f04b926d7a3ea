"""What runs the programs of models: the kernels called directly, or ExecuTorch (native/model/engine.h)."""

import ctypes

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
    if library().tetraphone_choose_engine(name.encode()) < 0:
        raise failure()
