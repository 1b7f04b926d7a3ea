"""Recordings: any file that libsndfile decodes, block by block to its last sample, whatever its headers say of it."""

import contextlib
import functools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.native import MAGIC_BYTES, check_sound

from .containers import Layout, find_sound
from .levels import Part
from .opening import PIPE, open_bytes, undecoded, unopened, unreadable, words
from .stretches import Bytes, Pieces, Stretch, bytes_of

Samples = NDArray[np.float32]

ROUNDING = 0.1
"""Seconds by which a recording may be shorter than its manifest says: rounding, and the padding of lossy formats."""
BLOCK = 512
"""Samples over which `mispaired` compares bytes."""
SPAN = 512 * BLOCK
"""Samples among which it wants MISPAIRED blocks, and which are read at a time."""
MISPAIRED = 2
"""Blocks, more than chance could make."""
GREATEST_BLOCK = 1 << 22
"""Samples of all channels that are read at a time at most."""
DENSEST = 8192
"""Samples of each channel that a byte can hold: FLAC has blocks of 65,535 equal samples in 10 bytes."""
COMMON_RATE = 16000
"""Hz, with which a number of channels alone is checked."""
UNCOUNTED = 1 << 62
"""Samples from which on libsndfile's count means that it knows none."""


class _Decoder(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no types
    """Does not move to where it is after each read, which costs time and changes what lossy formats give."""

    def seekable(self) -> bool:
        return False


class Sound:
    """An open recording, to be read once: all the sound that is there, whatever its headers say.

    Raises:
        InputError: no recording, a rate or a number of channels that no recogniser takes, or no such channel.
    """

    def __init__(self, source: Bytes, name: str, channel: int | None = None, layout: Layout | None = None) -> None:
        """`name` is for errors; `channel` is the one to read, counted from 0: all by default."""
        self.name, self._source, self._channel = name, source, channel
        self._layout = find_sound(source) if layout is None else layout
        if not self._layout.stretches:
            raise InputError(f"cannot read the recording {name}: {self._layout.rest}")
        self._bytes, self._decoder = self._open(self._layout.stretches[0])
        self.rate: int = self._decoder.samplerate
        self.channels: int = self._decoder.channels
        self.frames = 0
        """Samples of each channel given so far."""
        self.fault = ""
        """After the last block: why it is not the recording's last, a sentence without a full stop; or nothing."""
        self._passed = 0
        self._error = ""
        self._joined: list[str] = []
        self._unmarked: list[str] = []
        """Seconds at which a joined stretch began and an unmarked one ended."""
        self._all = Part(0, sys.maxsize)
        self._parts: dict[tuple[float, float], Part] = {}
        self._check(self.rate, self.channels)
        if channel is not None and not 0 <= channel < self.channels:
            numbers = "channel 0 alone" if self.channels == 1 else f"channels 0 to {self.channels - 1}"
            raise InputError(f"{name} has no channel {channel}; it has {numbers}")

    @property
    def seconds(self) -> float:
        """Given so far."""
        return self.frames / self.rate

    @property
    def levels(self) -> str:
        """After the last block: what `check_levels` says of what was read, a sentence without a full stop; or ""."""
        return f"{self.name} {fault}" if (fault := self._all.fault) else ""

    @property
    def unchecked(self) -> str:
        """After the last block: that more may be missing than could be found, a sentence without a full stop; or "".

        A transcript whose duration is known needs no more than that its sound is there; see `require`.
        """
        doubts = [
            f"{where} second {', '.join(seconds)}: the page of Ogg that {what}"
            for where, seconds, what in (
                ("before", self._joined, "begins there is not the first, as in a live capture"),
                ("at", self._unmarked, "ends there is not marked as the last, as in a cut file and a live capture"),
            )
            if seconds
        ]
        if doubts and not self.fault:
            return f"{self.name} may lack sound {', and '.join(doubts)}; compare it with its source"
        if self._layout.checked or self.fault:
            return ""
        fault = f"{self.name} may be longer than {self.seconds:.2f} seconds: a cut is not found in a file of this kind"
        return f"{fault} ({self._decoder.format}); export it as WAV or FLAC to be sure"

    def watch(self, start: float, duration: float) -> None:
        """Before the whole recording is read: `require` is going to be asked for this part of it."""
        self._parts[start, duration] = Part(*self._range(start, duration + ROUNDING if duration else None))

    def blocks(self, start: float = 0.0, duration: float | None = None) -> Iterator[Samples]:
        """Samples [frames, channels] in [−1, 1], at most SPAN at a time; one channel where one is read.

        Args:
            start, duration: the part to read, in seconds; all by default.

        Raises:
            InputError: samples that are not finite, or bytes that are paired wrongly.
        """
        first, end = self._range(start, duration)
        size = max(BLOCK, min(SPAN, GREATEST_BLOCK // self.channels // BLOCK * BLOCK))
        stretches = self._layout.stretches
        for stretch in stretches:
            if stretch is not stretches[0] and not self._follows(stretch):
                return
            begin = self._passed
            if stretch.joined:
                self._joined.append(f"{begin / self.rate:.2f}")
            self._seek(first - begin if stretch is stretches[-1] else 0, stretch)
            while self._passed < end:
                left = self._decoder.frames - (self._passed - begin)
                block = self._next(min(size, end - self._passed), left)
                at, self._passed = self._passed, self._passed + len(block)
                if self._passed > max(first, at):
                    yield self._taken(block[max(0, first - at) :], max(first, at))
                if self._error or not len(block) or self._passed - begin > DENSEST * len(self._bytes):
                    break
            else:
                return
            self._end(stretch, self._passed - begin)
            if self.fault:
                return
        if self._layout.rest:
            self._unreadable(self._layout.rest)

    def needed(self, start: float, duration: float) -> Iterator[Samples]:
        """As `blocks`, for what depends on the whole part, such as a transcript.

        Raises:
            InputError: also, behind the last block, if the part is not whole; see `require`.
        """
        left = round(duration * self.rate)
        for block in self.blocks(start, duration + ROUNDING):
            if left > 0:
                yield block[:left]
            left -= len(block)
        self.require(start, duration)

    def require(self, start: float, duration: float) -> None:
        """Looks, behind the last block, at whether a part is there on which something depends; a duration of 0: all.

        Raises:
            InputError: it is shorter by more than ROUNDING, cut off at its very end, or `check_levels` refuses it.
        """
        found = max(0.0, self._passed / self.rate - start)
        if self.fault and (not duration or found < duration + ROUNDING):
            of = f"its transcript takes {duration:.2f} seconds, " if duration else ""
            raise InputError(f"{self.fault}; {of}copy or export it again")
        if found < duration - ROUNDING:
            of = f"{self.name} has only {found:.2f} of its {duration:.2f} seconds"
            raise InputError(f"{of}; copy the recording again, or correct the manifest")
        if fault := self._parts.get((start, duration), self._all).fault:
            raise InputError(f"{self.name} {fault}")

    def _range(self, start: float, duration: float | None) -> tuple[int, int]:
        """The first sample of a part in seconds, and the one behind its last."""
        first = round(start * self.rate)
        return first, sys.maxsize if duration is None else first + round(duration * self.rate)

    def _check(self, rate: int, channels: int) -> None:
        try:
            check_sound(rate, channels)
        except InputError as error:
            raise InputError(f"cannot read the recording {self.name}: {error}") from error

    def _open(self, stretch: Stretch) -> tuple[Pieces, _Decoder]:
        try:
            pieces = Pieces(self._source, stretch.pieces)
            decoder = _Decoder(pieces)
            if stretch.counted and stretch.frames is not None and decoder.frames < stretch.frames:
                pieces = Pieces(self._source, stretch.counted)
                decoder = _Decoder(pieces)
        except (OSError, RuntimeError, TypeError) as error:
            if stretch.channels is not None:
                self._check(COMMON_RATE, stretch.channels)
            begin = self._source.read(self._source.skip_tags(0), MAGIC_BYTES)
            raise undecoded(self.name, begin, words(error)) from error
        return pieces, decoder

    def _follows(self, stretch: Stretch) -> bool:
        """Goes on with the next stretch, if it is of the same form."""
        try:
            self._bytes, self._decoder = self._open(stretch)
        except InputError:
            self._unreadable("another recording follows, which libsndfile does not decode")
            return False
        if (self._decoder.samplerate, self._decoder.channels) == (self.rate, self.channels):
            return True
        form = f"{self._decoder.samplerate} samples a second and {self._decoder.channels} channels"
        self._unreadable(f"another recording follows, of {form}, not {self.rate} and {self.channels}")
        return False

    def _seek(self, frames: int, stretch: Stretch) -> None:
        """Moves on within a new stretch, as far as the decoder can; what it cannot pass is to be decoded."""
        count = self._decoder.frames if self._decoder.frames < UNCOUNTED else stretch.frames
        try:
            self._passed += self._decoder.seek(min(max(0, frames), frames if count is None else count))
        except (OSError, RuntimeError):
            self._bytes, self._decoder = self._open(stretch)

    def _next(self, frames: int, left: int) -> Samples:
        """As `_read`, with room for no more than libsndfile counts, and for a few where it counts none."""
        if left > 0:
            return self._read(min(frames, left))
        beyond = self._read(min(frames, BLOCK))
        if len(beyond) < BLOCK or frames == BLOCK or self._error:
            return beyond
        return np.concatenate([beyond, self._read(frames - BLOCK)])

    def _read(self, frames: int) -> Samples:
        """Up to so many samples; fewer at the end, or where decoding fails."""
        block = np.full((frames, self.channels), np.nan, np.float32)
        try:
            return np.asarray(self._decoder.read(out=block), np.float32)
        except (OSError, RuntimeError) as error:
            self._error = words(error)
            empty = np.isnan(block[:, 0])
            return block[: int(empty.argmax())] if empty.any() else block

    def _taken(self, block: Samples, at: int) -> Samples:
        """A block that begins at sample `at`, checked."""
        if not np.isfinite(block).all():
            raise InputError(f"{self.name} holds samples that are not finite; export it again")
        if self._decoder.subtype == "PCM_16" and (first := mispaired(block[:, 0])) is not None:
            fault = f"{self.name} is noise from second {(at + first) / self.rate:.2f} on: its bytes are paired wrongly"
            raise InputError(f"{fault}, as after a copy as text or in another byte order; copy or export it again")
        self.frames += len(block)
        if self._channel is not None:
            block = block[:, self._channel : self._channel + 1]
        for part in (self._all, *self._parts.values()):
            if part.begin < at + len(block) and at < part.end:
                part.add(block, at)
        return block

    def _end(self, stretch: Stretch, frames: int) -> None:
        """Compares the `frames` of a stretch with what its header tells."""
        counted = stretch.frames
        if counted is None and self._decoder.frames < UNCOUNTED and "MPEG" not in self._decoder.subtype:
            counted = self._decoder.frames
        error = self._error if self._bytes.error is None else words(self._bytes.error)
        if error and not self._passed:
            raise unreadable(self.name, error)
        if error and frames != stretch.frames:  # else it is something behind the sound
            self._unreadable(error)
        elif stretch.lost:
            self._cut(stretch.lost)
        elif counted is not None and frames < counted - stretch.slack:
            self._cut(f"its header says {counted} samples, {frames} are there")
        elif stretch.unmarked:
            self._unmarked.append(f"{self._passed / self.rate:.2f}")

    def _cut(self, how: str) -> None:
        self.fault = f"{self.name} is cut short at second {self._passed / self.rate:.2f}: {how}"

    def _unreadable(self, why: str) -> None:
        self.fault = f"{self.name} cannot be read from second {self._passed / self.rate:.2f} on: {why}"


@contextlib.contextmanager
def open_sound(path: Path, channel: int | None = None) -> Iterator[Sound]:
    """A recording: a file, a pipe, or standard input for PIPE; a pipe is kept in a temporary file meanwhile.

    Args:
        channel: the one to read, counted from 0; all by default.

    Raises:
        InputError: no such file, or not a recording; see `Sound`.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open_bytes(path))
            status = os.fstat(file.fileno())
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            source = bytes_of(file)
            layout = _layout(path, stamp) if status.st_nlink and path != PIPE else find_sound(source)
        except OSError as error:
            raise unopened(path, error) from error
        yield Sound(source, str(path), channel, layout)


@functools.lru_cache(maxsize=64)
def _layout(path: Path, _: tuple[int, ...]) -> Layout:
    """`find_sound` of a file, once for all that is read of it; the stamp tells whether it is still the same file."""
    with path.open("rb") as file:
        return find_sound(bytes_of(file))


def mispaired(samples: Samples) -> int | None:
    """The first of 16-bit samples [frames] that are made of the low byte of one and the high byte of the next.

    A program that copies as text makes one byte of a carriage return before a line feed, and all that follows is paired
    wrongly: high bytes are what chance makes them (221 values in a block, 85 apart from sample to sample), low ones are
    smooth. No speech is like this; clipped speech has smooth low bytes, but few high ones. It takes MISPAIRED blocks of
    loud sound: what is lost in the last sixteenth of a second, or in a very quiet recording, stays unseen.
    """
    for first in range(0, len(samples), SPAN):
        part = samples[first : first + SPAN]
        pairs = (part[: len(part) // BLOCK * BLOCK] * 32768).astype(np.int16).reshape(-1, BLOCK)
        high, low = (bytes_.astype(np.int8).astype(np.int16) for bytes_ in (pairs >> 8, pairs))
        rough, smooth = (np.abs(np.diff(bytes_, axis=1)).mean(1) for bytes_ in (high, low))
        values = 1 + (np.diff(np.sort(high, axis=1), axis=1) > 0).sum(1)
        wrong = (rough > 70) & (rough < 100) & (smooth > 0) & (smooth < 20) & (values >= 160)
        if wrong.sum() >= MISPAIRED:
            return first + int(wrong.argmax()) * BLOCK
    return None


def to_mono(samples: Samples, native: int, rate: int) -> Samples:
    """[frames, channels] at `native` Hz → [frames] at `rate` Hz: channels averaged, resampled within the band."""
    import soxr  # here: the recogniser resamples by itself

    return np.asarray(soxr.resample(samples.mean(axis=1), native, rate, quality="HQ"), np.float32)


def joined(blocks: Iterable[Samples]) -> Samples:
    """Blocks [frames, channels] as one array; [0, 1] where there are none."""
    found = list(blocks)
    return np.concatenate(found) if found else np.empty((0, 1), np.float32)


def read_samples(
    path: Path, start: float = 0.0, duration: float | None = None, channel: int | None = None
) -> tuple[Samples, int]:
    """Samples [frames, channels] in [−1, 1] as the recording has them, as many as can be decoded, and its rate in Hz.

    Args:
        start, duration: the part to read, in seconds; all by default.
        channel: the one to read, counted from 0; all by default.

    Raises:
        InputError: see `open_sound` and `Sound.blocks`.
    """
    with open_sound(path, channel) as sound:
        return joined(sound.blocks(start, duration)), sound.rate


def read_recording(
    path: Path, rate: int, start: float = 0.0, duration: float | None = None, channel: int | None = None
) -> Samples:
    """A recording, or a part of it, as mono samples at `rate` Hz: one channel, or by default the mean of all.

    See `read_samples` and `to_mono`.
    """
    return to_mono(*read_samples(path, start, duration, channel), rate)


def read_needed(path: Path, rate: int, start: float, duration: float, channel: int | None = None) -> Samples:
    """As `read_recording`, for what depends on the whole part; see `Sound.needed`."""
    with open_sound(path, channel) as sound:
        return needed_mono(sound, rate, start, duration)


def check_whole(path: Path) -> None:
    """Decodes a recording to its end. Raises InputError: it is damaged or cut; see `Sound.require`."""
    with open_sound(path) as sound:
        for _ in sound.blocks():
            pass
        sound.require(0.0, 0.0)


def needed_mono(sound: Sound, rate: int, start: float, duration: float) -> Samples:
    """`read_needed` of an open recording."""
    return to_mono(joined(sound.needed(start, duration)), sound.rate, rate)
