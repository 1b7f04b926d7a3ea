"""The library libtetraphone.so: kernels, ExecuTorch operators and the recogniser, behind a C ABI."""

import ctypes
import sysconfig
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from tetraphone.train.errors import InputError

LIBRARY = "libtetraphone.so"
PACKAGE = "tetraphone"
RESULTS = {
    "tetraphone_version": ctypes.c_char_p,
    "tetraphone_instruction_set": ctypes.c_char_p,
    "tetraphone_status_text": ctypes.c_char_p,
    "tetraphone_packed_bytes": ctypes.c_size_t,
    "tetraphone_error": ctypes.c_char_p,
    "tetraphone_recognizer_load": ctypes.c_uint64,
    "tetraphone_recognizer_load_bytes": ctypes.c_uint64,
    "tetraphone_default_options": None,
    "tetraphone_stream_open": ctypes.c_uint64,
    "tetraphone_stream_poll": ctypes.c_int64,
    "tetraphone_stream_provisional": ctypes.c_int64,
    "tetraphone_stream_bands": ctypes.c_int64,
    "tetraphone_stream_scores": ctypes.c_int64,
}
"""What functions of the library return that do not return an int."""


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once; loading it registers the operators with ExecuTorch.

    Raises:
        InputError: it is missing, cannot be loaded, or belongs to another version of the package.
    """
    found = [path for path in _candidates() if path.is_file()]
    if not found:
        raise InputError(f"{LIBRARY} is not beside {PACKAGE}.export; install the package again (`make setup`)")
    try:
        loaded = ctypes.CDLL(str(found[0]))
        for name, result in RESULTS.items():
            getattr(loaded, name).restype = result
        built = loaded.tetraphone_version().decode()
    except (OSError, AttributeError) as error:
        raise InputError(f"cannot load {found[0]}: {error}; install the package again (`make setup`)") from error
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        installed = built
    if built != installed:
        raise InputError(f"{found[0]} is of version {built}, the package {installed}; install it again (`make setup`)")
    return loaded


def _candidates() -> list[Path]:
    """Where a regular and an editable install put the library."""
    beside = files("tetraphone.export").joinpath(LIBRARY)
    return [Path(str(beside)), Path(sysconfig.get_path("purelib")) / PACKAGE / "export" / LIBRARY]
