"""The streaming recogniser of `native/recognizer/` (C++) for Python: samples in, phones out, from a .pte file.

    with Recognizer.load(Path("qlstm-int8.pte")) as recognizer, recognizer.stream() as stream:
        for samples in microphone:
            stream.accept(samples, rate=16000)
            for phone in stream.poll():
                print(phone.phone, phone.start, phone.end, phone.confidence)

It needs neither torch nor ExecuTorch's Python runtime. native/recognizer/recognizer.h documents it.
"""

import ctypes
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tetraphone.common.errors import check_types
from tetraphone.common.native import failure, int32, library
from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.sound.audio import Samples

from .handle import Handle, checked, library_text, path_bytes
from .lexicon import Lexicon
from .sound_stream import SoundStream

if TYPE_CHECKING:
    from .aligner import Aligner

TYPES = {
    "Whole": ctypes.c_int32,
    "Real": ctypes.c_double,
    "Switch": ctypes.c_int32,
    "File": ctypes.c_char_p,
    "Bytes": ctypes.c_uint64,
}


class Field(ctypes.Structure):
    """A row of the lists in `native/common/fields.h`: name, kind, flag and help, each as bytes; of an option also
    its default and range, and whether it needs a beam."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("name", "kind", "flag", "help")),
        *((name, ctypes.c_double) for name in ("initial", "least", "greatest")),
        ("needs_beam", ctypes.c_int32),
    )


def fields_of(name: str) -> list[Field]:
    """The library's list `name`: `model_info`, `stream_option` or `command_option`."""
    found: list[Field] = []
    while getattr(library(), f"tetraphone_{name}_at")(ctypes.c_size_t(len(found)), ctypes.byref(row := Field())):
        found.append(row)
    return found


def said(name: str) -> dict[str, tuple[str, str]]:
    """The help of each field of such a list, and what its value is called."""
    return {row.name.decode(): (row.help.decode(), row.flag.decode()) for row in fields_of(name)}


@cache
def structure(name: str) -> type[ctypes.Structure]:
    """The library's structure of that list, its own size first."""
    members = [("size", ctypes.c_uint64), *((row.name.decode(), TYPES[row.kind.decode()]) for row in fields_of(name))]
    return type(name, (ctypes.Structure,), {"_fields_": members})


def empty(name: str) -> Any:
    """Such a structure with its size, by which a library of another version refuses it."""
    kind = structure(name)
    return kind(ctypes.sizeof(kind))


class _Phone(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_int32),
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
        ("confidence", ctypes.c_double),
    )


def _defaults() -> Any:
    """The library's defaults, which stand in C++ alone (native/common/fields.h)."""
    options = empty("stream_option")
    checked(library().tetraphone_default_options(ctypes.byref(options)))
    return options


def _default(name: str) -> Any:
    return field(default_factory=lambda: getattr(_defaults(), name))


@dataclass(frozen=True)
class StreamOptions:
    """How to decode.

    Raises:
        InputError: a value has the wrong type, or the library does not accept it.
    """

    beam: int = _default("beam")
    """Number of prefixes that the beam search keeps; 0 takes the best path instead."""
    grammar: Path | None = None
    """A phone grammar in OpenFst's text form, such as `tetraphone corpus bigram` writes; needs a beam."""
    grammar_scale: float = _default("grammar_scale")
    """Weight of the grammar's costs; the full weight of a bigram, 1, deletes phones."""
    phone_bonus: float = _default("phone_bonus")
    """Added to the log score of each phone, against deletions; needs a beam."""
    context: int = _default("context")
    """Of prefixes whose last phones (this many) are the same, at the same place in the grammar, the beam search keeps
    the best alone: a narrow beam then searches as well as a much wider one; 0 keeps all."""
    blank_shift: float = _default("blank_shift")
    """Added to the blank's score in every frame before decoding: below 0 more phones are found, above 0 fewer."""
    pause: float = _default("pause")
    """Seconds without a phone after which a stream is paused."""

    @classmethod
    def flags(cls) -> dict[str, tuple[str, str]]:
        """The help and the metavar of each option, as the library lists them."""
        return said("stream_option")

    def __post_init__(self) -> None:
        check_types(self)
        checked(library().tetraphone_check_options(ctypes.byref(self._native())))

    def native(self, bands: bool, scores: bool) -> Any:
        """The options as a structure of the C library."""
        options = self._native()
        options.keep_bands, options.keep_scores = bands, scores
        return options

    def _native(self) -> Any:
        options = _defaults()
        for name, value in vars(self).items():
            if isinstance(value, str | Path):
                setattr(options, name, path_bytes(Path(value)))
            else:
                whole = isinstance(getattr(options, name), int)
                setattr(options, name, int32(name, value) if whole else value)
        return options


class Recognizer(Handle):
    """A loaded model, for any number of streams in any threads."""

    _close = "tetraphone_recognizer_close"

    def __init__(self, handle: int) -> None:
        if not handle:
            raise failure()
        super().__init__(handle)
        told = empty("model_info")
        checked(library().tetraphone_recognizer_info(self._handle, ctypes.byref(told)))
        names = [row.name.decode() for row in fields_of("model_info")]
        self.info: dict[str, Any] = {name: getattr(told, name) for name in names}
        """What is told of the model: numbers by their names in `native/common/fields.h`, which says what they are."""
        self.phones = tuple(self._symbol(index) for index in range(self.info["phones"]))
        """The phone set, in the order of the scores; the blank's score comes before them."""

    @classmethod
    def load(cls, path: Path) -> "Recognizer":
        """Maps a file into memory; it must not change while it is in use.

        Raises:
            InputError: the file is missing, damaged, not a model, or of another version.
        """
        return cls(library().tetraphone_recognizer_load(path_bytes(path)))

    @classmethod
    def from_bytes(cls, content: bytes | bytearray | memoryview, name: str) -> "Recognizer":
        """A model from a copy of these bytes; `name` appears in errors, which are those of `load`."""
        copy = bytes(content)
        return cls(library().tetraphone_recognizer_load_bytes(copy, ctypes.c_size_t(len(copy)), path_bytes(Path(name))))

    def _symbol(self, index: int) -> str:
        return library_text(64, library().tetraphone_phone_symbol, self._handle, ctypes.c_int32(index))

    @property
    def sample_rate(self) -> int:
        """Sampling rate of the model in Hz; streams accept any rate."""
        return int(self.info["sample_rate"])

    @property
    def bands(self) -> int:
        """Number of mel bands of `Stream.bands`."""
        return int(self.info["bands"])

    @property
    def hop(self) -> float:
        """Seconds from one frame of `Stream.bands` to the next."""
        return float(self.info["hop"])

    @property
    def frame_shift(self) -> float:
        """Seconds from one frame of `Stream.scores` to the next."""
        return float(self.info["frame_shift"])

    @property
    def delay(self) -> float:
        """Seconds from a network frame's start to the last sample that its scores need."""
        return float(self.info["delay"])

    def stream(self, options: StreamOptions | None = None, bands: bool = False, scores: bool = False) -> "Stream":
        """A new stream.

        Args:
            options: how to decode.
            bands, scores: whether the stream keeps frames for `Stream.bands` and `Stream.scores` to return.

        Raises:
            InputError: an option is impossible, or the grammar cannot be read.
        """
        how = (StreamOptions() if options is None else options).native(bands, scores)
        handle = library().tetraphone_stream_open(self._handle, ctypes.byref(how))
        if not handle:
            raise failure()
        return Stream(handle, self)

    def aligner(self, lexicon: Lexicon | None = None, dictionary: Path | None = None) -> "Aligner":
        """For known words: says where they are.

        Args:
            lexicon: pronunciations, and guesses for other words; by default the lexicon of English that ships.
            dictionary: your own, in the form of the CMU dictionary; its words go before the lexicon's.

        Raises:
            InputError: the model cannot align, or the dictionary cannot be read.
        """
        from .aligner import Aligner, shipped_lexicon

        return Aligner(self, shipped_lexicon() if lexicon is None else lexicon, dictionary)

    def recognize(self, samples: Samples, rate: int, options: StreamOptions | None = None) -> list[TimedPhone]:
        """The phones of a whole recording; see `Stream.accept`."""
        with self.stream(options) as stream:
            stream.accept(samples, rate)
            stream.finish()
            return stream.poll()


class Stream(SoundStream):
    """One source of sound. Calls from several threads wait for one another."""

    _kind = "stream"

    def __init__(self, handle: int, recognizer: Recognizer) -> None:
        super().__init__(handle, recognizer.phones, recognizer.bands)

    def poll(self) -> list[TimedPhone]:
        """New final phones, which no later sound can change; each is returned once."""
        return self._timed(self._handed("poll", _Phone))

    def provisional(self) -> list[TimedPhone]:
        """The phones that would follow if the stream ended now."""
        return self._timed(self._first("provisional", _Phone))

    @property
    def paused(self) -> bool:
        """Whether the speaker pauses: phones were recognised, but none in the last `StreamOptions.pause` seconds."""
        return bool(checked(library().tetraphone_stream_paused(self._handle)))

    def _timed(self, found: list[_Phone]) -> list[TimedPhone]:
        return [
            TimedPhone(
                self._phones[item.index],
                round(item.start, TIME_DIGITS),
                round(item.end, TIME_DIGITS),
                round(item.confidence, 4),
            )
            for item in found
        ]
