"""Known words: where each word and phone of a text is, by `native/aligner/` (C++), from a .pte file that aligns.

    with Recognizer.load(path) as recognizer, recognizer.aligner() as aligner, aligner.stream("the ship") as stream:
        for samples in microphone:
            stream.accept(samples, rate=16000)
            for phone in stream.poll():
                print(phone.phone, phone.start, phone.end)
        stream.finish()
        print(stream.aligned("microphone").to_textgrid())

native/aligner/aligner.h documents it.
"""

import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tetraphone.common.errors import InputError
from tetraphone.common.native import failure, library
from tetraphone.common.phones import TIME_DIGITS
from tetraphone.sound.audio import Samples, open_sound
from tetraphone.sound.features import Frames

from .handle import Handle, checked, library_text, path_bytes
from .lexicon import Lexicon
from .model import BoundedSpectrogram
from .recognizer import Recognizer, empty
from .results import NO_CONFIDENCE, Result, Tiers, symbols_of
from .sound_stream import SoundStream

ROOM = 4096
"""Bytes for a word or a problem, at first."""
FIT_DIGITS = 4


@dataclass(frozen=True)
class AlignedPhone:
    """A phone of a known text, of the pronunciation that was said where a word has several."""

    phone: str
    start: float
    """Seconds."""
    end: float
    """Seconds, after the start."""
    fit: float
    """The mean, over its sub-frames, of its log-likelihood less that of what is likeliest there: 0 at most."""
    word: int
    """Of the text, counted from 0."""


@dataclass(frozen=True)
class AlignedWord:
    """A word of a known text, from its first phone to its last."""

    text: str
    """In capital letters."""
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    phones: tuple[AlignedPhone, ...]
    fit: float
    """The mean over its sub-frames, see `AlignedPhone.fit`."""
    fits: bool
    """Whether it, with the words around it, is likely to have been said there."""
    guessed: bool
    """Whether its pronunciation was guessed by its spelling."""


@dataclass(frozen=True)
class Alignment(Result):
    """Where the words of a text are in a recording. Alphabets are "arpabet", phones as the model has them, and "ipa".

    Raises:
        InputError: of each method: there is no such alphabet.
    """

    recording: str
    """Its name."""
    duration: float
    """Seconds."""
    words: tuple[AlignedWord, ...]
    fit: float
    """The mean over the whole recording, see `AlignedPhone.fit`."""
    fits: bool
    """Whether the text is likely to be what was said."""
    problems: tuple[str, ...] = ()
    """What to know of it: words that were guessed or do not fit, a recording that is cut; without a full stop."""
    failed: int = 0
    """Stretches of it that could not be aligned; problems say why."""

    @property
    def phones(self) -> tuple[AlignedPhone, ...]:
        """Those of all words."""
        return tuple(phone for word in self.words for phone in word.phones)

    def in_alphabet(self, alphabet: str) -> "Alignment":
        """The same with other symbols."""
        symbol = symbols_of(alphabet)

        def written(word: AlignedWord) -> AlignedWord:
            return replace(word, phones=tuple(replace(item, phone=symbol(item.phone)) for item in word.phones))

        return replace(self, words=tuple(written(word) for word in self.words))

    def tiers(self) -> Tiers:
        words = [(word.text, word.start, word.end, NO_CONFIDENCE) for word in self.words]
        return {"words": words, "phones": [(item.phone, item.start, item.end, NO_CONFIDENCE) for item in self.phones]}

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: {"recording": name, "duration": seconds, "words": [{"text", "start", "end", "phones":
        [{"phone", "start", "end"}, …]}, …], "problems": [what to know of it]}."""

        def phone_of(item: AlignedPhone) -> dict[str, Any]:
            return {"phone": item.phone, "start": item.start, "end": item.end}

        words = [
            {"text": word.text, "start": word.start, "end": word.end, "phones": [*map(phone_of, word.phones)]}
            for word in self.words
        ]
        return {
            "recording": self.recording,
            "duration": self.duration,
            "words": words,
            "problems": list(self.problems),
        }


class _Stretch(ctypes.Structure):
    _fields_ = (
        ("text", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
    )


@dataclass(frozen=True)
class Stretch:
    """A part of a recording, and what is said there."""

    text: str
    start: float = 0.0
    """Seconds."""
    end: float = math.inf
    """Seconds; infinite: the end of the recording."""

    def native(self) -> _Stretch:
        """As the library has it."""
        content = self.text.encode("utf-8", "surrogatepass")
        return _Stretch(content, len(content), self.start, self.end)


class _Phone(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_int32),
        ("word", ctypes.c_int32),
        ("start", ctypes.c_double),
        ("end", ctypes.c_double),
        ("fit", ctypes.c_double),
    )


class _Word(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("guessed", "fits", "first", "phones")),
        *((name, ctypes.c_double) for name in ("start", "end", "fit")),
    )


class Aligner(Handle):
    """A model and dictionaries, for any number of texts in any threads. See `Recognizer.aligner`."""

    _close = "tetraphone_aligner_close"

    def __init__(self, recognizer: Recognizer, lexicon: Lexicon | None, dictionary: Path | None) -> None:
        words = ctypes.c_uint64(0) if lexicon is None else lexicon._handle
        own = None if dictionary is None else path_bytes(dictionary)
        if not (handle := library().tetraphone_aligner_open(recognizer._handle, words, own)):
            raise failure()
        super().__init__(handle)
        self.phones, self.bands, self.hop = recognizer.phones, recognizer.bands, recognizer.hop

    @staticmethod
    def given(text: Any, phones: str | Iterable[str] | None) -> str:
        """The one that is given, in one string. Raises InputError: both are, or neither."""
        if (text is None) == (phones is None):
            raise InputError("give either a text or phones")
        if text is not None and not isinstance(text, str):
            raise InputError(f"the text is of type {type(text).__name__}; give a str")
        if text is not None:
            return text
        parts = [phones] if isinstance(phones, str) else list(phones or ())
        if odd := [part for part in parts if not isinstance(part, str)]:
            raise InputError(f"a phone is {odd[0]!r}; give a str")
        return " ".join(parts)

    def stream(
        self,
        text: "str | Sequence[Stretch] | None" = None,
        *,
        phones: str | Iterable[str] | None = None,
        spoken: bool = False,
        channel: int | None = None,
        bands: bool = False,
        scores: bool = False,
        pronounce: bool = False,
        plain: bool = False,
    ) -> "AlignmentStream":
        """A new stream, for a text or for phones.

        Args:
            text: words; punctuation and capital letters do not matter. Or stretches of the sound, one behind another,
                with what is said in each; those that cannot be aligned are `AlignmentStream.faults`, unless all are.
            phones: of the model's phone set, between blanks or one by one; "|" stands where there may be silence.
            spoken: whether the texts of stretches are phones.
            channel: the one to hear, counted from 0; by default the mean of all.
            bands, scores: whether the stream keeps frames for `AlignmentStream.bands` and `scores` to return.
            pronounce: whether each phone is measured and scored, which takes some 50 kB of memory for each second.
            plain: whether scores are plain, though the model has a head that scores.

        Raises:
            InputError: a word cannot be said as it is written, or is unknown, or a phone is none of the model's; a
                stretch has no length, or begins before the end of the one before it.
        """
        if isinstance(text, Sequence) and not isinstance(text, str) and phones is None:
            if odd := [item for item in text if not isinstance(item, Stretch)]:
                raise InputError(f"a stretch of the text is {odd[0]!r}; give a str, or a list of `Stretch`")
            stretches = text
        else:
            stretches, spoken = [Stretch(self.given(text, phones))], text is None
        options = empty("alignment_option")
        checked(library().tetraphone_default_alignment_options(ctypes.byref(options)))
        options.phones, options.keep_bands, options.keep_scores = spoken, bands, scores
        options.pronounce, options.plain = pronounce, plain
        options.channel = options.channel if channel is None else channel
        rows = (_Stretch * len(stretches))(*(stretch.native() for stretch in stretches))
        size = ctypes.c_size_t(len(stretches))
        handle = library().tetraphone_alignment_open_stretches(self._handle, rows, size, ctypes.byref(options))
        if not handle:
            raise failure()
        return AlignmentStream(handle, self.phones, self.bands)

    def hear(
        self,
        samples: Samples,
        rate: int,
        read: "Read",
        text: str | None = None,
        *,
        phones: str | Iterable[str] | None = None,
        **options: Any,
    ) -> Any:
        """What `read` finds in the samples of a whole recording; see `stream`, also for options, and
        `AlignmentStream.accept`."""
        with self.stream(text, phones=phones, **options) as stream:
            stream.accept(samples, rate)
            stream.finish()
            return read(stream, "samples")

    def align(
        self, samples: Samples, rate: int, text: str | None = None, *, phones: str | Iterable[str] | None = None
    ) -> Alignment:
        """The words of a whole recording; see `stream` and `AlignmentStream.accept`."""
        found: Alignment = self.hear(samples, rate, AlignmentStream.aligned, text, phones=phones)
        return found


class AlignmentStream(SoundStream):
    """One source of sound in which a known text is said. Calls from several threads wait for one another."""

    _kind = "alignment"

    @property
    def words(self) -> tuple[str, ...]:
        """Those of the text, in capital letters."""
        size = checked(self._call("words"))
        return tuple(self._text("word", index) for index in range(size))

    def poll(self) -> list[AlignedPhone]:
        """New final phones, which no later sound can change; each is returned once."""
        return [*map(self._phone, self._handed("poll", _Phone))]

    @property
    def faults(self) -> tuple[str, ...]:
        """Which stretches cannot be aligned, and why."""
        return tuple(self._texts("fault"))

    def provisional(self) -> list[AlignedPhone]:
        """The phones that would follow if the text were said so far; they may change."""
        return [*map(self._phone, self._first("provisional", _Phone))]

    def aligned(self, recording: str) -> Alignment:
        """All of the text, once the stream is finished; `recording` is its name.

        Raises:
            InputError: the stream is not finished, or the text was not found.
        """
        phones = [*map(self._phone, self._all("all_phones", _Phone))]
        words = []
        for index, word in enumerate(self._all("all_words", _Word)):
            own = tuple(phones[word.first : word.first + word.phones])
            fit, text = round(word.fit, FIT_DIGITS), self._text("word", index)
            words.append(AlignedWord(text, own[0].start, own[-1].end, own, fit, bool(word.fits), bool(word.guessed)))
        fit, fits = ctypes.c_double(), ctypes.c_int32()
        checked(self._call("fit", ctypes.byref(fit), ctypes.byref(fits)))
        seconds, whole = round(self.seconds, TIME_DIGITS), round(fit.value, FIT_DIGITS)
        problems = *self.faults, *self._texts("problem")
        return Alignment(recording, seconds, tuple(words), whole, bool(fits.value), problems, len(self.faults))

    def measures(self) -> Frames:
        """What is measured of each phone of a finished stream that was opened with `pronounce`: [phones, measures], see
        native/pronunciation/measures.h.

        Raises:
            InputError: the stream is not finished, or was opened without `pronounce`.
        """
        count = checked(self._call("measures", None, ctypes.c_size_t(0)))
        found = np.empty(count, np.float32)
        checked(self._call("measures", found.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), ctypes.c_size_t(count)))
        return found.reshape(checked(self._call("all_phones", None, ctypes.c_size_t(0))), -1)

    def _all(self, function: str, kind: type[Any]) -> list[Any]:
        size = checked(self._call(function, None, ctypes.c_size_t(0)))
        items = (kind * size)()
        checked(self._call(function, items, ctypes.c_size_t(size)))
        return list(items)

    def _text(self, function: str, index: int) -> str:
        return library_text(ROOM, self._call, function, ctypes.c_size_t(index))

    def _texts(self, function: str) -> Iterator[str]:
        for index in count():
            if not (text := self._text(function, index)):
                return
            yield text

    def _phone(self, item: Any) -> AlignedPhone:
        start, end = round(item.start, TIME_DIGITS), round(item.end, TIME_DIGITS)
        return AlignedPhone(self._phones[item.index], start, end, round(item.fit, FIT_DIGITS), item.word)


Read = Callable[[AlignmentStream, str], Any]
"""Gives the result of a finished stream, a `Result`, for a recording of this name."""


def hear_recording(
    path: Path,
    aligner: Aligner,
    stretches: Sequence[Stretch],
    read: Read,
    *,
    phones: bool = False,
    channel: int | None = None,
    energies: bool = False,
    **options: Any,
) -> tuple[Any, BoundedSpectrogram]:
    """What `read` finds in a recording, of each of its stretches by the words of its text; and its spectrogram.

    Args:
        path: a file or a pipe; "-" is standard input.
        stretches: in order, one behind another, see `Aligner.stream`.
        phones: whether the texts are phones, see `Aligner.stream`.
        channel: the channel to hear, counted from 0; by default the mean of all.
        energies: whether the spectrogram is wanted.
        options: others of `Aligner.stream`.

    Raises:
        InputError: the recording cannot be read or lacks the channel, a text cannot be said, or no words are found.
    """
    spectrogram = BoundedSpectrogram(aligner.hop)
    with open_sound(path, channel) as sound:
        try:
            with aligner.stream(stretches, spoken=phones, bands=energies, **options) as stream:
                for block in sound.blocks():
                    stream.accept(block, sound.rate)
                    spectrogram.add(stream.bands())
                stream.finish()
                spectrogram.add(stream.bands())
                found = read(stream, str(path))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
    told = (problem for problem in (sound.fault, sound.unchecked, sound.levels) if problem)
    return replace(found, problems=(*told, *found.problems)), spectrogram


def align_recording(
    path: Path,
    aligner: Aligner,
    stretches: Sequence[Stretch],
    *,
    phones: bool = False,
    channel: int | None = None,
    energies: bool = False,
) -> tuple[Alignment, BoundedSpectrogram]:
    """The words of what is said in a recording, of each of its stretches those of its text; see `hear_recording`."""
    how: dict[str, Any] = {"phones": phones, "channel": channel, "energies": energies}
    return hear_recording(path, aligner, stretches, AlignmentStream.aligned, **how)


@cache
def shipped_lexicon() -> Lexicon:
    """The lexicon of English that ships, loaded once."""
    return Lexicon.load()
