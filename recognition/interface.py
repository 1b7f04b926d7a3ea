"""What `import tetraphone` gives: models that recognise files, arrays and streams of samples."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tetraphone.common.errors import InputError, typed
from tetraphone.common.models import find_model
from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.sound.audio import Samples
from tetraphone.sound.levels import level_fault

from .model import from_program, recognize_recording
from .recognizer import Recognizer, Stream, StreamOptions
from .results import Recognition

if TYPE_CHECKING:
    from .aligner import Alignment, Read
    from .pronunciation import Pronunciation

Recording = str | PathLike[str] | Samples
"""A file, or samples: floats in [−1, 1], [frames] or [frames, channels]."""
Blocks = Iterable[Samples] | AsyncIterable[Samples]


@dataclass(frozen=True)
class Update:
    """What a block of samples adds to a stream."""

    phones: tuple[TimedPhone, ...]
    """New final phones, which no later sound changes."""
    provisional: tuple[TimedPhone, ...]
    """The phones that would follow if the sound ended now."""
    endpoint: bool
    """Whether with this block a pause has lasted `StreamOptions.pause` seconds, or the sound ends: what was said since
    the last endpoint is complete."""
    seconds: float
    """Of sound so far."""


class Updates:
    """A stream of blocks of samples under recognition; iterate over it once, by `for`, `async for` or `each`."""

    def __init__(
        self,
        recognizer: Recognizer,
        blocks: Blocks,
        rate: int,
        options: StreamOptions,
    ) -> None:
        self._blocks, self._rate = blocks, rate
        self._stream = recognizer.stream(options)
        self._open = False
        """Whether phones were recognised since the last endpoint."""

    def __iter__(self) -> Iterator[Update]:
        if not isinstance(self._blocks, Iterable):
            raise InputError("the blocks of samples come asynchronously; iterate with `async for`")
        with self._stream as stream:
            for block in self._blocks:
                yield self._take(stream, block)
            yield self._take(stream, None)

    async def __aiter__(self) -> AsyncIterator[Update]:
        """Recognises in another thread, so that the event loop goes on."""
        import asyncio

        with self._stream as stream:
            async for block in _asynchronous(self._blocks):
                yield await asyncio.to_thread(self._take, stream, block)
            yield await asyncio.to_thread(self._take, stream, None)

    def each(self, callback: Callable[[Update], object]) -> None:
        """Calls back with each update, to the end of the blocks."""
        for update in self:
            callback(update)

    def _take(self, stream: Stream, block: Samples | None) -> Update:
        """The next block; None is the end."""
        if block is None:
            stream.finish()
        else:
            stream.accept(block, self._rate)
        phones = tuple(stream.poll())
        provisional = () if block is None else tuple(stream.provisional())
        self._open = self._open or bool(phones)
        endpoint = self._open and (block is None or stream.paused)
        self._open = self._open and not endpoint
        return Update(phones, provisional, endpoint, stream.seconds)


async def _asynchronous(blocks: Blocks) -> AsyncIterator[Samples]:
    if isinstance(blocks, AsyncIterable):
        async for block in blocks:
            yield block
    else:
        for block in blocks:
            yield block


def _channel(recording: Samples, channel: int) -> Samples:
    try:
        samples = np.asarray(recording)
    except ValueError as error:
        raise InputError("the samples are no array of one shape; give [frames] or [frames, channels]") from error
    if samples.ndim not in (1, 2):
        raise InputError(f"the samples have {samples.ndim} dimensions; give [frames] or [frames, channels]")
    columns = samples[:, None] if samples.ndim == 1 else samples
    if not 0 <= channel < columns.shape[1]:
        raise InputError(f"the samples have no channel {channel!r}; give one below {columns.shape[1]}, counted from 0")
    found: Samples = columns[:, channel]
    return found


def _level_problems(samples: Samples) -> tuple[str, ...]:
    """What is wrong with the levels of an array, as of a file's."""
    fault = level_fault(np.asarray(samples, np.float32))
    return (f"the array {fault}",) if fault else ()


def _check_rate(recording: str | PathLike[str], rate: int | None) -> None:
    if rate is not None:
        raise InputError(f"{fspath(recording)} has a rate of its own; give none, or samples instead of the file")


def _heard(recording: Samples, rate: int | None, channel: int | None) -> tuple[Samples, int]:
    """Samples and their rate."""
    if rate is None:
        raise InputError("samples without their rate; give it in Hz, such as rate=16000")
    return recording if channel is None else _channel(recording, channel), rate


class Model:
    """A loaded model; it may be used from several threads. See `load`."""

    def __init__(self, path: Path, options: StreamOptions | None = None) -> None:
        self.path = path
        self.options = StreamOptions() if options is None else typed("options", StreamOptions, options)
        """How it decodes, where a call does not say."""
        self.recognizer = Recognizer.load(path)
        """The interface below this one, for streams that are fed by hand."""
        self._loaded = from_program(self.recognizer, str(path), self.options)

    @property
    def phones(self) -> tuple[str, ...]:
        """The phone set."""
        return self.recognizer.phones

    def recognize(
        self,
        recording: Recording,
        rate: int | None = None,
        *,
        channel: int | None = None,
        options: StreamOptions | None = None,
    ) -> Recognition:
        """The phones of a whole recording.

        Args:
            recording: a file that libsndfile reads ("-" is standard input), or samples.
            rate: of samples, in Hz; any from 1,000 to 768,000. A file knows its own.
            channel: the one to recognise, counted from 0; by default the mean of all.
            options: how to decode; by default those of the model.

        Raises:
            InputError: the recording cannot be read or lacks the channel, the samples are none, or an option is
                impossible.
        """
        how = self.options if options is None else typed("options", StreamOptions, options)
        channel = None if channel is None else int(typed("channel", int, channel))
        if isinstance(recording, str | PathLike):
            _check_rate(recording, rate)
            loaded = self._loaded if options is None else from_program(self.recognizer, str(self.path), how)
            return recognize_recording(Path(recording), loaded, channel)[0]
        samples, hertz = _heard(recording, rate, channel)
        with self.recognizer.stream(how) as stream:
            stream.accept(samples, hertz)
            stream.finish()
            problems = _level_problems(samples)
            return Recognition("samples", round(stream.seconds, TIME_DIGITS), tuple(stream.poll()), problems)

    def align(
        self,
        recording: Recording,
        rate: int | None = None,
        *,
        text: str | None = None,
        phones: str | Iterable[str] | None = None,
        dictionary: str | PathLike[str] | None = None,
        channel: int | None = None,
    ) -> "Alignment":
        """Where each word and phone of a known text is in a whole recording.

        Args:
            recording, rate, channel: as for `recognize`.
            text: what is said, in words; punctuation and capital letters do not matter.
            phones: or its phones, of the model's phone set, with or without the digits of stress, between blanks or one
                by one; "|" stands where there may be silence.
            dictionary: a file of your own pronunciations, in the form of the CMU dictionary; its words go before those
                of the dictionary that ships.

        Raises:
            InputError: as for `recognize`; the model cannot align; a word cannot be said as it is written; the sound
                has no speech, or ends before the text does.
        """
        from .aligner import AlignmentStream  # here: who recognises does not wait for it

        found: Alignment = self._known_words(
            AlignmentStream.aligned, recording, rate, text, phones, dictionary, channel
        )
        return found

    def pronounce(
        self,
        recording: Recording,
        rate: int | None = None,
        *,
        text: str | None = None,
        phones: str | Iterable[str] | None = None,
        dictionary: str | PathLike[str] | None = None,
        channel: int | None = None,
        plain: bool = False,
    ) -> "Pronunciation":
        """How well a known text was said in a whole recording: of it, its words and their phones a score of 0 to 100.

        Args:
            recording, rate, channel, text, phones, dictionary: as for `align`.
            plain: without the head that the model may have for it.

        Raises:
            InputError: as for `align`, and where the text is not what is said.
        """
        from .pronunciation import pronunciation_of  # here: who recognises does not wait for it

        given = recording, rate, text, phones, dictionary, channel
        found: Pronunciation = self._known_words(pronunciation_of, *given, pronounce=True, plain=plain)
        return found

    def _known_words(
        self,
        read: "Read",
        recording: Recording,
        rate: int | None,
        text: str | None,
        phones: str | Iterable[str] | None,
        dictionary: str | PathLike[str] | None,
        channel: int | None,
        **options: bool,
    ) -> Any:
        """What `read` finds in a whole recording; see `align`, and `Aligner.stream` for the options."""
        from .aligner import Stretch, hear_recording

        own = None if dictionary is None else Path(dictionary)
        with self.recognizer.aligner(dictionary=own) as aligner:
            if isinstance(recording, str | PathLike):
                _check_rate(recording, rate)
                stretch = [Stretch(aligner.given(text, phones))]
                how: dict[str, Any] = {"phones": text is None, "channel": channel, **options}
                return hear_recording(Path(recording), aligner, stretch, read, **how)[0]
            samples, hertz = _heard(recording, rate, channel)
            found = aligner.hear(samples, hertz, read, text, phones=phones, **options)
            return replace(found, problems=(*_level_problems(samples), *found.problems))

    def stream(
        self,
        blocks: Blocks,
        rate: int,
        *,
        options: StreamOptions | None = None,
    ) -> Updates:
        """Recognises blocks of samples, of any lengths, as they come.

        Args:
            blocks: each [frames] or [frames, channels] in [−1, 1].
            rate: in Hz.

        Raises:
            InputError: here or with a block: an option, a rate or samples that are impossible.
        """
        if isinstance(blocks, np.ndarray):
            raise InputError("the blocks are one array; give a list or an iterator of blocks, or call `recognize`")
        if not isinstance(blocks, Iterable | AsyncIterable):
            raise InputError(f"the blocks are {blocks!r}; give a list or an iterator of blocks of samples")
        how = self.options if options is None else typed("options", StreamOptions, options)
        return Updates(self.recognizer, blocks, rate, how)

    def close(self) -> None:
        """Frees the model; streams of it go on."""
        self.recognizer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"tetraphone.load({str(self.path)!r})"


def load(model: str | PathLike[str] | None = None, *, options: StreamOptions | None = None) -> Model:
    """Loads a model.

    Args:
        model: the name of one that ships ("english-int8", "english-tiny-int8") or the path of a .pte file; by default
            what the variable TETRAPHONE_MODEL says, else english-int8.
        options: how it decodes.

    Raises:
        InputError: there is no such model, or the file is damaged, foreign or of another version.
    """
    return Model(find_model(None if model is None else fspath(typed("model", Path, model))), options)


def recognize(
    recording: Recording,
    rate: int | None = None,
    *,
    model: str | PathLike[str] | None = None,
    channel: int | None = None,
    options: StreamOptions | None = None,
) -> Recognition:
    """The phones of one recording; for several, `load` the model once. See `load` and `Model.recognize`."""
    with load(model) as loaded:
        return loaded.recognize(recording, rate, channel=channel, options=options)


def align(
    recording: Recording,
    rate: int | None = None,
    *,
    text: str | None = None,
    phones: str | Iterable[str] | None = None,
    dictionary: str | PathLike[str] | None = None,
    model: str | PathLike[str] | None = None,
    channel: int | None = None,
) -> "Alignment":
    """Where each word and phone of a known text is; for several recordings, `load` the model once. See `load` and
    `Model.align`."""
    with load(model) as loaded:
        return loaded.align(recording, rate, text=text, phones=phones, dictionary=dictionary, channel=channel)


def pronounce(
    recording: Recording,
    rate: int | None = None,
    *,
    text: str | None = None,
    phones: str | Iterable[str] | None = None,
    dictionary: str | PathLike[str] | None = None,
    model: str | PathLike[str] | None = None,
    channel: int | None = None,
    plain: bool = False,
) -> "Pronunciation":
    """How well a known text was said; for several recordings, `load` the model once. See `load` and
    `Model.pronounce`."""
    given: dict[str, Any] = {"text": text, "phones": phones, "dictionary": dictionary, "channel": channel}
    with load(model) as loaded:
        return loaded.pronounce(recording, rate, **given, plain=plain)
