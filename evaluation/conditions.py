"""Bad lines and noise that a model is measured in."""

import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from scipy.signal import butter, sosfilt

from tetraphone.common.errors import InputError
from tetraphone.corpora.identity import code_digest
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import Samples
from tetraphone.train.data import distortion, noise
from tetraphone.train.data.distortion import as_long, decoded, drawn, opus_level
from tetraphone.train.data.noise import babble, mixed, pink_noise

RATE = 16000
"""Hz, of the samples that conditions take."""
TALKERS, BABBLE_DB = 6, 10.0
"""Voices at once in the babble, and decibels of the speech over it."""

Changed = Callable[[Samples, np.random.Generator], tuple[Samples, int]]
"""Samples at RATE → samples and their rate in Hz."""


def noisy(decibels: float) -> Changed:
    """Pink noise, so many decibels below the recording."""

    def change(samples: Samples, random: np.random.Generator) -> tuple[Samples, int]:
        return mixed(samples, pink_noise(len(samples), random), decibels), RATE

    return change


def telephone(samples: Samples, random: np.random.Generator) -> tuple[Samples, int]:
    """300 to 3400 Hz at 8 kHz."""
    band = butter(6, (300, 3400), "bandpass", fs=8000, output="sos")
    return sosfilt(band, soxr.resample(samples, RATE, 8000)).astype(np.float32), 8000


CONDITIONS: dict[str, Changed] = {
    "pink noise, 20 dB": noisy(20),
    "pink noise, 10 dB": noisy(10),
    "pink noise, 5 dB": noisy(5),
    "telephone band, 8 kHz": telephone,
    "gain 0.1": lambda samples, _: (samples * np.float32(0.1), RATE),
    "gain 10, clipped": lambda samples, _: (np.clip(samples * np.float32(10), -1, 1), RATE),
    "44.1 kHz": lambda samples, _: (soxr.resample(samples, RATE, 44100), 44100),
    "Opus, 16 kbit/s": lambda samples, _: decoded(samples, RATE, "OGG", "OPUS", opus_level(16)),
}


@dataclass(frozen=True)
class Condition:
    """A condition by its name; what is drawn for an utterance depends on the two names alone."""

    name: str

    def prepare(self, utterances: Sequence[Utterance], rate: int) -> None:
        """Nothing is to be made before."""

    def apply(self, samples: Samples, rate: int, utterance: Utterance) -> Samples:
        return changed(CONDITIONS[self.name], samples, rate, drawn(zlib.crc32(self.name.encode()), utterance))

    def __repr__(self) -> str:
        return f"Condition{self.name, _code()}"


def _code() -> str:
    return code_digest(noise, distortion, sys.modules[__name__])


def changed(change: Changed, samples: Samples, rate: int, random: np.random.Generator) -> Samples:
    """What a change that takes samples at RATE makes of samples at another rate: as many, at theirs."""
    found, new = change(resampled(samples, rate, RATE), random)
    return as_long(resampled(found, new, rate), len(samples))


def resampled(samples: Samples, rate: int, new: int) -> Samples:
    return samples if rate == new else soxr.resample(samples, rate, new)


@dataclass(frozen=True)
class Babble:
    """Other speakers at once, BABBLE_DB below the speech: of two halves of the speakers, the one that is not heard."""

    tracks: tuple[Path, Path]
    """Files, once they are prepared: a minute of TALKERS at once, of each half of the speakers."""
    first: frozenset[str]
    """Speakers of the first track."""

    @classmethod
    def of(cls, utterances: Sequence[Utterance], folder: Path) -> "Babble":
        """Babble of these utterances, with its tracks in `folder`.

        Raises:
            InputError: there are fewer than two speakers.
        """
        speakers = sorted({utterance.speaker for utterance in utterances})
        if len(speakers) < 2:
            raise InputError(f"{len(speakers)} speakers held out; babble needs two, of whom one is not heard")
        return cls((folder / "babble-1.npy", folder / "babble-2.npy"), frozenset(speakers[::2]))

    def prepare(self, utterances: Sequence[Utterance], rate: int) -> None:
        for path, mine in zip(self.tracks, (True, False), strict=True):
            half = [utterance for utterance in utterances if (utterance.speaker in self.first) == mine]
            babble(half, RATE, (TALKERS,), 60.0, path)

    def apply(self, samples: Samples, rate: int, utterance: Utterance) -> Samples:
        track = np.load(self.tracks[utterance.speaker in self.first], mmap_mode="r")

        def change(speech: Samples, random: np.random.Generator) -> tuple[Samples, int]:
            start = int(random.integers(len(track)))
            return mixed(speech, np.resize(np.roll(track, -start), len(speech)), BABBLE_DB), RATE

        return changed(change, samples, rate, drawn(zlib.crc32(b"babble"), utterance))

    def __repr__(self) -> str:
        return f"Babble{sorted(self.first), _code()}"
