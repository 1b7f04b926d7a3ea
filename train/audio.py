"""Recordings: any file that soundfile reads, as mono samples at the rate that the features need."""

import os
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from .errors import InputError

Samples = NDArray[np.float32]

GREATEST_HEADER = 1024
"""Bytes that a WAV file without samples may have; one whose writer never filled in the size of its data has more."""
LEAST_RATE = 1000
"""Hz; below it lies no speech, and resampling from a damaged header's rate would fill the memory."""
BLOCK = 512
"""Samples over which `mispaired` compares bytes."""
SPAN = 512 * BLOCK
"""Samples among which it wants MISPAIRED blocks."""
MISPAIRED = 2
"""Blocks, more than chance could make."""


def read_samples(
    path: Path, start: float = 0.0, duration: float | None = None, channel: int | None = None
) -> tuple[Samples, int]:
    """Samples [frames, channels] in [−1, 1] as the recording has them, and its rate in Hz.

    Args:
        start, duration: the part to read, in seconds; all by default.
        channel: the one to read, counted from 0; all by default.

    Raises:
        InputError: no such file, not a recording, or damaged; see `decode`.
    """
    try:
        with soundfile.SoundFile(os.fsencode(path)) as file:
            if file.frames == 0 and file.format.startswith("WAV") and path.stat().st_size > GREATEST_HEADER:
                raise InputError(f"{path} says that it holds no samples, but more follows; export the recording again")
            samples, native = decode(file, str(path), start, duration, channel)
    except (OSError, RuntimeError, TypeError, MemoryError) as error:
        fault = f"cannot read the recording {path}: {_what_is_wrong(path, error)}"
        raise InputError(f"{fault}; give a file that libsndfile decodes") from error
    return samples, native


def _what_is_wrong(path: Path, error: Exception) -> str:
    """Why a recording could not be opened, in less than libsndfile's words where the file tells."""
    if not path.exists():
        return "no such file"
    if path.is_dir():
        return "it is a folder"
    if path.is_file() and path.stat().st_size == 0:
        return "it is empty"
    return str(getattr(error, "error_string", error)).strip().rstrip(".")


def decode(
    file: soundfile.SoundFile, name: str, start: float, duration: float | None, channel: int | None = None
) -> tuple[Samples, int]:
    """What `read_samples` gives of an open file; `name` is for errors.

    Raises:
        InputError: a rate below LEAST_RATE, no such channel, samples that are not finite, or bytes that are paired
            wrongly.
    """
    if channel is not None and not 0 <= channel < file.channels:
        raise InputError(f"{name} has {file.channels} channels, counted from 0: there is no channel {channel}")
    if file.samplerate < LEAST_RATE:
        raise InputError(f"{name} has {file.samplerate} samples a second; export it with {LEAST_RATE} or more")
    file.seek(min(round(start * file.samplerate), file.frames))
    frames = -1 if duration is None else round(duration * file.samplerate)
    samples = file.read(frames, dtype="float32", always_2d=True)
    check(samples, file, name, start)
    return samples if channel is None else samples[:, channel : channel + 1], file.samplerate


def check(samples: Samples, file: soundfile.SoundFile, name: str, start: float) -> None:
    """Looks at samples [frames, channels] of an open file, which begin at `start` seconds; `name` is for errors.

    Raises:
        InputError: they are not finite, or have 16 bits whose bytes are paired wrongly (in the first channel).
    """
    if not np.isfinite(samples).all():
        raise InputError(f"{name} holds samples that are not finite; export it again")
    if file.subtype == "PCM_16" and (first := mispaired(samples[:, 0])) is not None:
        fault = f"{name} is noise from second {start + first / file.samplerate:.2f} on: its bytes are paired wrongly"
        raise InputError(f"{fault}, as after a copy as text or in another byte order; copy or export it again")


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
    return np.asarray(soxr.resample(samples.mean(axis=1), native, rate, quality="HQ"), np.float32)


def read_recording(
    path: Path, rate: int, start: float = 0.0, duration: float | None = None, channel: int | None = None
) -> Samples:
    """A recording, or a part of it, as mono samples at `rate` Hz: one channel, or by default the mean of all.

    See `read_samples` and `to_mono`.
    """
    return to_mono(*read_samples(path, start, duration, channel), rate)
