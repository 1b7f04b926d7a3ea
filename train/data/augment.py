"""What training changes in an utterance's features, so that the network hears more voices, microphones and places."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from tetraphone.sound.features import (
    FeatureOptions,
    Frames,
    Normalisation,
    band_centres,
    hertz_of,
    mel_of,
    quaternion_frames,
    stack_frames,
)
from tetraphone.train.options import TrainOptions

FLOOR = float(np.log(np.finfo(np.float32).eps))
"""Least log-mel energy: Kaldi's filter bank gives no lower one."""


@dataclass(frozen=True)
class Acoustics:
    """Level, microphone, telephone band, room and noise, drawn for each utterance and applied to log-mel energies.

    The energies of a sum of signals are taken as the sum of their energies (as in lhotse's FeatureMixer), so nothing
    has to be computed from samples again.
    """

    share: float = 1.0
    """Share of utterances that are changed at all; the shares below are of these."""
    gain_db: tuple[float, float] = (-20.0, 10.0)
    """Range of a change in level, for half of the utterances."""
    tilt_db: float = 3.0
    """Deviation of each of the three cosines over the bands that make up a microphone's response, for half."""
    cut: float = 0.1
    """Share of utterances without the bands above one drawn from the upper 40 %: telephones, lossy codecs."""
    room: float = 0.25
    """Share of utterances in a room."""
    decay_seconds: tuple[float, float] = (0.15, 0.6)
    """Range of the time in which a room's sound falls by 60 dB."""
    reverberation_db: tuple[float, float] = (-15.0, 3.0)
    """Range of a room's sound over the direct sound."""
    noise: float = 0.5
    """Share of utterances with noise: half of it steady and coloured, half another utterance of the training set."""
    noise_db: tuple[float, float] = (-25.0, 0.0)
    """Range of the noise over the speech."""

    def apply(self, mel: Frames, other: Frames, options: FeatureOptions, random: np.random.Generator) -> Frames:
        """New log-mel energies [frames, bands]; `other` [frames, bands] is the utterance that may serve as noise."""
        if random.random() >= self.share:
            return mel
        energy = np.exp(mel.astype(np.float64))
        frames, bands = energy.shape
        if random.random() < self.room:
            decay = 10 ** (-6 * options.hop_ms / 1000 / random.uniform(*self.decay_seconds))
            tail = lfilter([0, 1 - decay], [1, -decay], energy, axis=0)
            energy = energy + _ratio(random.uniform(*self.reverberation_db)) * tail
        if random.random() < self.noise:
            if random.random() < 0.5:
                noise = random.gamma(4.0, 0.25, (frames, bands)) * self._response(bands, 3 * self.tilt_db, random)
            else:
                noise = np.exp(np.resize(np.roll(other, random.integers(len(other)), 0), mel.shape).astype(np.float64))
            level = _ratio(random.uniform(*self.noise_db)) * energy.sum() / noise.sum()
            energy = energy + level * noise
        if random.random() < 0.5:
            energy = energy * self._response(bands, self.tilt_db, random)
        if random.random() < self.cut:
            energy[:, random.integers(round(0.6 * bands), bands) :] *= 1e-6
        if random.random() < 0.5:
            energy = energy * _ratio(random.uniform(*self.gain_db))
        return np.maximum(np.log(energy), FLOOR).astype(np.float32)

    @staticmethod
    def _response(bands: int, deviation_db: float, random: np.random.Generator) -> NDArray[np.float64]:
        """A smooth factor for each band: [bands]."""
        waves = np.cos(np.pi * np.outer([1, 2, 3], (np.arange(bands) + 0.5) / bands))
        return 10 ** (random.normal(0, deviation_db, 3) @ waves / 10)


def _ratio(decibels: float) -> float:
    return 10 ** (decibels / 10)


@dataclass(frozen=True)
class VocalTract:
    """Vocal tract length perturbation (Jaitly and Hinton, 2013): other formants, at the same tempo."""

    factor: tuple[float, float] = (0.88, 1.14)
    """Range of the factor between a band's frequency and the one that its energy is taken from."""
    knee: float = 0.7
    """Share of the spectrum in which the factor holds; above, frequencies are warped linearly up to the end."""

    def apply(self, mel: Frames, options: FeatureOptions, random: np.random.Generator) -> Frames:
        """New log-mel energies [frames, bands], interpolated between bands."""
        factor, top, centres = random.uniform(*self.factor), options.sample_rate / 2, band_centres(options)
        knee = self.knee * top * min(1, 1 / factor)
        sources = np.interp(hertz_of(centres), [0, knee, top], [0, factor * knee, top])
        places = np.interp(mel_of(sources), centres, np.arange(options.bands))
        lower = np.minimum(places.astype(int), options.bands - 2)
        share = (places - lower).astype(np.float32)
        warped: Frames = mel[:, lower] * (1 - share) + mel[:, lower + 1] * share
        return warped


@dataclass(frozen=True)
class SpecAugment:
    """Masks on normalised features (Park et al., 2019), all four components of a band or frame together."""

    band_masks: int = 2
    band_width: int = 8
    """Greatest width of a mask, in mel bands; never more than a quarter of them."""
    time_masks: int = 2
    time_width: int = 25
    """Greatest width of a mask, in feature frames; never more than a tenth of the utterance."""

    def apply(self, frames: Frames, random: np.random.Generator) -> None:
        """Overwrites masked parts of [frames, 4 · bands] by 0, the mean."""
        planar = frames.reshape(len(frames), 4, -1)
        for _ in range(self.band_masks):
            width = int(random.integers(0, min(self.band_width, planar.shape[2] // 4) + 1))
            first = int(random.integers(0, planar.shape[2] - width + 1))
            planar[:, :, first : first + width] = 0
        for _ in range(self.time_masks):
            width = int(random.integers(0, min(self.time_width, len(frames) // 10) + 1))
            first = int(random.integers(0, len(frames) - width + 1))
            planar[first : first + width] = 0


@dataclass(frozen=True)
class Augmentation:
    """What to change, in this order."""

    vocal_tract: VocalTract | None = None
    acoustics: Acoustics | None = None
    masks: SpecAugment | None = None
    distorted: float = 0.0
    """Share of utterances that are first exchanged for one of the store's changes, if it has some."""

    @classmethod
    def asked(cls, options: TrainOptions) -> "Augmentation":
        """What the options of a run ask for."""
        return cls(
            VocalTract() if options.vocal_tract else None,
            Acoustics(options.acoustics) if options.acoustics else None,
            SpecAugment() if options.spec_augment else None,
            options.distorted,
        )

    def network_input(
        self,
        mel: Frames,
        options: FeatureOptions,
        normalisation: Normalisation,
        random: np.random.Generator | None,
        other: Callable[[np.random.Generator], Frames],
    ) -> Frames:
        """[network frames, options.inputs] of an utterance's log-mel energies, changed as `random` draws, if given.

        Args:
            other: draws the log-mel energies that may serve as noise.
        """
        if random is not None and self.vocal_tract is not None:
            mel = self.vocal_tract.apply(mel, options, random)
        if random is not None and self.acoustics is not None:
            mel = self.acoustics.apply(mel, other(random), options, random)
        frames = normalisation.apply(quaternion_frames(mel))
        if random is not None and self.masks is not None:
            self.masks.apply(frames, random)
        return stack_frames(frames, options)
