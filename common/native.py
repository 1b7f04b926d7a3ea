"""The native library: kernels, ExecuTorch operators, the recogniser, and what a model may be; a C ABI."""

import ctypes
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from .errors import InputError, typed

LIBRARY = {"win32": "tetraphone.dll", "darwin": "libtetraphone.dylib"}.get(sys.platform, "libtetraphone.so")
RUNTIME = "libexecutorch.so"
MAGIC_BYTES = 36
"""Of a file, in which its format shows; native/common/limits.h has the same."""
PACKAGE = "tetraphone"
RESULTS = {
    "tetraphone_version": ctypes.c_char_p,
    "tetraphone_instruction_set": ctypes.c_char_p,
    "tetraphone_status_text": ctypes.c_char_p,
    "tetraphone_packed_bytes": ctypes.c_size_t,
    "tetraphone_trailer": ctypes.c_size_t,
    "tetraphone_error": ctypes.c_char_p,
    "tetraphone_engine": ctypes.c_char_p,
    "tetraphone_engine_at": ctypes.c_char_p,
    "tetraphone_recognizer_load": ctypes.c_uint64,
    "tetraphone_recognizer_load_bytes": ctypes.c_uint64,
    "tetraphone_phone_symbol": ctypes.c_int64,
    "tetraphone_stream_open": ctypes.c_uint64,
    "tetraphone_stream_poll": ctypes.c_int64,
    "tetraphone_stream_provisional": ctypes.c_int64,
    "tetraphone_stream_bands": ctypes.c_int64,
    "tetraphone_stream_scores": ctypes.c_int64,
    "tetraphone_format_result": ctypes.c_int64,
    "tetraphone_settings_text": ctypes.c_int64,
    "tetraphone_alphabet_at": ctypes.c_char_p,
    "tetraphone_lexicon_load": ctypes.c_uint64,
    "tetraphone_lexicon_words": ctypes.c_int64,
    "tetraphone_lexicon_find": ctypes.c_int64,
    "tetraphone_lexicon_guess": ctypes.c_int64,
    "tetraphone_aligner_open": ctypes.c_uint64,
    "tetraphone_alignment_open": ctypes.c_uint64,
    "tetraphone_alignment_open_stretches": ctypes.c_uint64,
    **{
        f"tetraphone_alignment_{name}": ctypes.c_int64
        for name in (
            *("words", "word", "fault", "provisional", "poll", "bands", "scores"),
            *("all_words", "all_phones", "problem", "measures", "phone_scores", "word_scores"),
        )
    },
}
"""What functions of the library return that do not return an int."""


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once; loading one with ExecuTorch's engine registers the operators with ExecuTorch.

    Raises:
        InputError: it is missing, cannot be loaded, or belongs to another version of the package.
    """
    path = next((path for path in _candidates() if path.is_file()), None)
    if path is None:
        raise InputError(f"{LIBRARY} is not beside {PACKAGE}.common; install the package again (`make setup`)")
    try:
        loaded = _load(path)
        for name, result in RESULTS.items():
            getattr(loaded, name).restype = result
        built = loaded.tetraphone_version().decode()
    except (OSError, AttributeError) as error:
        lacks = RUNTIME in str(error) and find_spec("executorch") is None
        mend = "install executorch where Python finds it" if lacks else "install the package again (`make setup`)"
        raise InputError(f"cannot load {path}: {error}; {mend}") from error
    installed = _installed(path, built)
    if built != installed:
        raise InputError(f"{path} is of version {built}, the package {installed}; install it again (`make setup`)")
    return loaded


def _installed(path: Path, built: str) -> str:
    """The version of the package; that of the library where no package is installed."""
    if path.parents[2].joinpath(f"{PACKAGE}-{built}.dist-info").is_dir():
        return built  # without importlib.metadata, which takes longer than all else here
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return built


def _candidates() -> Iterator[Path]:
    """Where a regular and an editable install put the library."""
    yield Path(__file__).with_name(LIBRARY)
    import sysconfig  # which a regular install needs not

    yield Path(sysconfig.get_path("purelib")) / PACKAGE / "common" / LIBRARY


def _load(path: Path) -> ctypes.CDLL:
    """Loads the library. One with ExecuTorch's engine needs that one's library, which the loader finds by itself only
    in the folder of packages that holds ours: else it is loaded from where Python finds the package."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        spec = find_spec("executorch") if RUNTIME in str(error) else None
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if (runtime := Path(folder) / "lib" / RUNTIME).is_file():
                ctypes.CDLL(str(runtime))
                return ctypes.CDLL(str(path))
        raise


def built_version() -> str:
    """The version of the library, which is that of the package."""
    version: bytes = library().tetraphone_version()
    return version.decode()


def failure() -> InputError:
    """What the library says of this thread's last call that failed."""
    message: bytes = library().tetraphone_error()
    return InputError(message.decode("utf-8", "replace"))


def int32(name: str, value: float) -> int:
    """`value`, unless the library would take it for another one.

    Raises:
        InputError: it is not a whole number of at most 31 bits.
    """
    if not -(2**31) <= typed(name, float, value) < 2**31 or value != int(value):
        raise InputError(f"{name} is {value}; give a whole number of at most 31 bits")
    return int(value)


# What a model and a recording may be: the library alone knows the limits, and its readers of files ask the same
# functions.


def check_features(values: Mapping[str, float]) -> None:
    """Refuses feature options that no exported model could have; `values` are the fields of a `FeatureOptions`.

    Raises:
        InputError: names the option, its value and the limit, or an option that the library lacks or misses; or the
            library cannot be loaded.
    """
    count = len(values)
    names = (ctypes.c_char_p * count)(*(name.encode() for name in values))
    numbers = (ctypes.c_double * count)(*(int32(name, n) if isinstance(n, int) else n for name, n in values.items()))
    if library().tetraphone_check_features(names, numbers, ctypes.c_size_t(count)) < 0:
        raise failure()


def check_phones(phones: Collection[str]) -> None:
    """Refuses a phone set that no exported model could have; for a transcript, give each phone once.

    Raises:
        InputError: names the phone and what a symbol may be, or a phone that stands twice.
    """
    try:
        symbols = [phone.encode() for phone in phones]
    except UnicodeEncodeError as error:
        raise InputError(f"the phone {error.object!r} is not text; write it in UTF-8") from error
    count = len(symbols)
    sizes = (ctypes.c_size_t * count)(*map(len, symbols))
    if library().tetraphone_check_phones((ctypes.c_char_p * count)(*symbols), sizes, ctypes.c_size_t(count)) < 0:
        raise failure()


def check_network(kind: str, direction: str, inputs: int, hidden: int, layers: int, outputs: int) -> None:
    """Refuses a network that no recogniser could run.

    Args:
        inputs, hidden, outputs: reals of an input, of a hidden state, and scores.

    Raises:
        InputError: names what is wrong and the limit.
    """
    sizes = (
        ctypes.c_int64(int32(name, value))
        for name, value in (("inputs", inputs), ("hidden", hidden), ("layers", layers), ("outputs", outputs))
    )
    if library().tetraphone_check_network(kind.encode(), direction.encode(), *sizes) < 0:
        raise failure()


def check_sound(rate: int, channels: int) -> None:
    """Refuses sound that no recogniser takes.

    Args:
        rate: samples a second.

    Raises:
        InputError: names the value and the limits.
    """
    if library().tetraphone_check_sound(ctypes.c_int64(rate), ctypes.c_int64(channels)) < 0:
        raise failure()


def check_levels(energies: Sequence[float], frames: int, mean_energy: float, peak: float) -> None:
    """Refuses sound that was heard, but not as it is.

    Args:
        energies, mean_energy: of each channel, and of the channels' mean, summed over `frames`.
        peak: greatest magnitude of a sample.

    Raises:
        InputError: the channels cancel out, or the samples have a scale of integers; follows the recording's name.
    """
    values, count = (ctypes.c_double * len(energies))(*energies), ctypes.c_size_t(len(energies))
    numbers = ctypes.c_double(mean_energy), ctypes.c_double(peak)
    if library().tetraphone_check_levels(values, count, ctypes.c_uint64(frames), *numbers) < 0:
        raise failure()


def check_decoded(begin: bytes) -> None:
    """Refuses a file by its first bytes (MAGIC_BYTES are enough), if no reader here decodes their format.

    Raises:
        InputError: names the format, and what converts it.
    """
    if library().tetraphone_check_decoded(begin, ctypes.c_size_t(len(begin))) < 0:
        raise failure()
