"""Sound as it comes over bad lines and in noise, for copies of the training features: unlike what is done to log-mel
energies, this takes samples."""

import io
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

from tetraphone.corpora.identity import code_digest
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import Samples
from tetraphone.train.options import Distortion

from . import noise

DISTORTIONS: tuple[Distortion, ...] = get_args(Distortion)
TALKERS, STRETCH_SECONDS = (1, 2, 3, 4, 6, 8, 12), 240.0
"""Speakers at once in the stretches of the babble, and the length of each."""
NOISE_DB = (0.0, 20.0)
"""Range of the speech over the noise."""
TELEPHONE_HZ = (200.0, 400.0), (2900.0, 3700.0)
"""Ranges of the edges of a telephone's band."""
GAIN_DB = (6.0, 26.0)
"""Range of the gain before sound is clipped at full scale."""


def as_long(samples: Samples, count: int) -> Samples:
    """So many samples: cut, or with silence behind."""
    found = np.zeros(count, np.float32)
    found[: min(count, len(samples))] = samples[:count]
    return found


def decoded(samples: Samples, rate: int, form: str, subtype: str, level: float) -> tuple[Samples, int]:
    """Samples [frames] encoded and decoded by libsndfile, and their rate; `level` runs from 0, the best, to 1."""
    memory = io.BytesIO()
    soundfile.write(memory, samples, rate, format=form, subtype=subtype, compression_level=level)
    memory.seek(0)
    found, rate = soundfile.read(memory, dtype="float32")
    return found, rate


def opus_level(kilobits: float) -> float:
    """The `level` of `decoded` for Opus at so many kbit/s: libsndfile's scale runs from 256 (0) to 6 (1)."""
    return (256 - kilobits) / 250


def drawn(key: int, utterance: Utterance) -> np.random.Generator:
    """The random numbers of an utterance for what the key stands for; they depend on nothing else."""
    return np.random.default_rng([key, *(zlib.crc32(part.encode()) for part in (utterance.speaker, utterance.id))])


def telephone(samples: Samples, rate: int, random: np.random.Generator) -> Samples:
    """A telephone's band at 8 kHz, half of the time in the eight bits of G.711's mu law."""
    band = [random.uniform(*edge) for edge in TELEPHONE_HZ]
    narrow = sosfilt(butter(4, band, "bandpass", fs=8000, output="sos"), soxr.resample(samples, rate, 8000))
    if random.random() < 0.5:
        narrow = mu_law(narrow)
    return as_long(soxr.resample(narrow.astype(np.float32), 8000, rate), len(samples))


def mu_law(samples: NDArray[np.floating]) -> NDArray[np.floating]:
    """Samples in the 256 steps of the mu law (ITU-T G.711, of which this is the smooth curve)."""
    curve = np.sign(samples) * np.log1p(255 * np.minimum(1, np.abs(samples))) / np.log(256)
    steps = np.round(127 * curve) / 127
    found: NDArray[np.floating] = np.sign(steps) * (256 ** np.abs(steps) - 1) / 255
    return found


def codec(samples: Samples, rate: int, random: np.random.Generator) -> Samples:
    """Opus at 6 to 24 kbit/s, or MP3 at its lower rates."""
    if random.random() < 0.5:
        found, new = decoded(samples, rate, "OGG", "OPUS", opus_level(random.uniform(6, 24)))
    else:
        found, new = decoded(samples, rate, "MP3", "MPEG_LAYER_III", random.uniform(0.7, 1.0))
    return as_long(soxr.resample(found, new, rate), len(samples))


def clipping(samples: Samples, rate: int, random: np.random.Generator) -> Samples:
    """Far too loud, and cut off at full scale."""
    found: Samples = np.clip(samples * np.float32(10 ** (random.uniform(*GAIN_DB) / 20)), -1, 1)
    return found


LINES = {"telephone": telephone, "codec": codec, "clipping": clipping}


@dataclass(frozen=True)
class Distorted:
    """One of some distortions for each utterance, which is drawn by the utterance and the copy's number alone."""

    kinds: tuple[Distortion, ...]
    copy: int
    track: Path
    """Of the babble: a file, once it is prepared, where the kinds have it. The copies share it."""

    def prepare(self, utterances: Sequence[Utterance], rate: int) -> None:
        """Makes the babble, of these utterances."""
        if "babble" in self.kinds and self.copy == 0:
            noise.babble(utterances, rate, TALKERS, STRETCH_SECONDS, self.track)

    def apply(self, samples: Samples, rate: int, utterance: Utterance) -> Samples:
        random = drawn(self.copy, utterance)
        kind = self.kinds[int(random.integers(len(self.kinds)))]
        if kind in LINES:
            return LINES[kind](samples, rate, random)
        count = len(samples)
        if kind == "babble":
            track = np.load(self.track, mmap_mode="r")
            first = int(random.integers(max(1, len(track) - count)))
            added = np.resize(track[first : first + count], count)
        else:
            added = noise.MADE[kind](count, rate, random)
        return noise.mixed(samples, added, random.uniform(*NOISE_DB))

    def __repr__(self) -> str:
        return f"Distorted{self.kinds, self.copy, code_digest(noise, sys.modules[__name__])}"
