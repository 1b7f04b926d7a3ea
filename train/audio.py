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


def read_samples(path: Path, start: float = 0.0, duration: float | None = None) -> tuple[Samples, int]:
    """Samples [frames, channels] in [−1, 1] as the recording has them, and its rate in Hz.

    Args:
        start, duration: the part to read, in seconds; all by default.

    Raises:
        InputError: no such file, not a recording, or damaged; a rate below LEAST_RATE; samples that are not finite.
    """
    try:
        with soundfile.SoundFile(os.fsencode(path)) as file:
            if file.frames == 0 and file.format.startswith("WAV") and path.stat().st_size > GREATEST_HEADER:
                raise InputError(f"{path} says that it holds no samples, but more follows; export the recording again")
            samples, native = decode(file, str(path), start, duration)
    except (OSError, RuntimeError, TypeError, MemoryError) as error:
        what = "no such file" if not path.exists() else str(error).strip().rstrip(".")
        raise InputError(f"cannot read the recording {path}: {what}; give a file that libsndfile decodes") from error
    if not np.isfinite(samples).all():
        raise InputError(f"{path} holds samples that are not finite; export the recording again")
    return samples, native


def decode(file: soundfile.SoundFile, name: str, start: float, duration: float | None) -> tuple[Samples, int]:
    """What `read_samples` gives of an open file, finite or not; `name` is for errors.

    Raises:
        InputError: a rate below LEAST_RATE.
    """
    if file.samplerate < LEAST_RATE:
        raise InputError(f"{name} has {file.samplerate} samples a second; export it with {LEAST_RATE} or more")
    file.seek(min(round(start * file.samplerate), file.frames))
    frames = -1 if duration is None else round(duration * file.samplerate)
    return file.read(frames, dtype="float32", always_2d=True), file.samplerate


def to_mono(samples: Samples, native: int, rate: int) -> Samples:
    """[frames, channels] at `native` Hz → [frames] at `rate` Hz: channels averaged, resampled within the band."""
    return np.asarray(soxr.resample(samples.mean(axis=1), native, rate, quality="HQ"), np.float32)


def read_recording(path: Path, rate: int, start: float = 0.0, duration: float | None = None) -> Samples:
    """A recording, or a part of it, as mono samples at `rate` Hz; see `read_samples` and `to_mono`."""
    return to_mono(*read_samples(path, start, duration), rate)
