"""Sound for the recogniser, and what a stream hears in it."""

import itertools

import numpy as np

from tetraphone.common.phones import TimedPhone
from tetraphone.recognition.recognizer import Stream
from tetraphone.sound.audio import Samples
from tetraphone.sound.features import FeatureOptions, Frames

RATE = 16000
FEATURES = FeatureOptions()


def speech_like(seconds: float, seed: int = 0, rate: int = RATE) -> Samples:
    """Noise and tones that come and go, with silence in between."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    tone = np.sin(2 * np.pi * (200 + 150 * np.sin(3 * time)) * time) + 0.3 * np.sin(2 * np.pi * 2300 * time)
    loudness = np.clip(np.sin(2 * np.pi * 1.7 * time), 0, None)
    return (0.3 * loudness * tone + 0.01 * random.standard_normal(len(time))).astype(np.float32)


def heard(
    stream: Stream, samples: Samples, sizes: itertools.cycle, rate: int = RATE
) -> tuple[list[TimedPhone], Frames]:
    """Phones and scores of samples cut into pieces."""
    position, phones = 0, []
    while position < len(samples):
        size = next(sizes)
        stream.accept(samples[position : position + size], rate)
        phones += stream.poll()
        position += size
    stream.finish()
    return phones + stream.poll(), stream.scores()
