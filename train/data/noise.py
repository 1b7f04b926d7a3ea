"""Noise to put under speech: pink, babble of other speakers, hum, clicks, something like music."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import Samples, read_needed

Noise = NDArray[np.floating]
"""[samples], of any level."""


def mixed(samples: Samples, noise: Noise, decibels: float) -> Samples:
    """Samples and as long a noise, so many decibels below them; of silence, the silence."""
    power = np.mean(np.square(noise))
    if not power > 0:
        return samples
    level = np.sqrt(np.mean(np.square(samples)) / power * 10 ** (-decibels / 10))
    found: Samples = (samples + level * noise).astype(np.float32)
    return found


def pink_noise(count: int, random: np.random.Generator) -> Noise:
    """As much power in each octave."""
    spectrum = np.fft.rfft(random.standard_normal(count))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    return np.fft.irfft(spectrum, count)


def hum(count: int, rate: int, random: np.random.Generator) -> Noise:
    """The mains, 50 or 60 Hz, and its harmonics up to 2 kHz, which fall by 0 to 12 dB an octave."""
    base = float(random.choice([50.0, 60.0])) * random.uniform(0.998, 1.002)
    harmonics = np.arange(1, int(min(2000, rate / 2) / base) + 1)
    levels = harmonics ** -random.uniform(0, 2) * random.gamma(1.0, 1.0, len(harmonics))
    phases = random.uniform(0, 2 * np.pi, len(harmonics))
    time = np.arange(count) / rate
    found = np.zeros(count)
    for harmonic, level, phase in zip(harmonics, levels, phases, strict=True):
        found += level * np.sin(2 * np.pi * base * harmonic * time + phase)
    return found


def clicks(count: int, rate: int, random: np.random.Generator) -> Noise:
    """One to thirty impulses a second, each a resonance of 0.3 to 7 kHz that dies in a few milliseconds."""
    found = np.zeros(count)
    for _ in range(max(1, random.poisson(random.uniform(1, 30) * count / rate))):
        length, start = int(rate * random.uniform(0.002, 0.02)), int(random.integers(count))
        length = min(length, count - start)
        time = np.arange(length) / rate
        wave = np.sin(2 * np.pi * random.uniform(300, min(7000, 0.45 * rate)) * time) + random.standard_normal(length)
        found[start : start + length] += random.gamma(2.0, 0.5) * wave * np.exp(-time * random.uniform(200, 2000))
    return found


def music(count: int, rate: int, random: np.random.Generator) -> Noise:
    """Chords of one to four notes with eight harmonics each, plucked or held, over a beat of noise."""
    found, time = np.zeros(count), np.arange(count) / rate
    beat, start = int(rate * random.uniform(0.15, 0.6)), 0
    root, harmonics = random.uniform(80, 240), np.arange(1, 9)
    while start < count:
        end = min(count, start + beat * int(random.integers(1, 5)))
        notes = root * 2 ** (random.choice([0, 2, 4, 5, 7, 9, 12, 16, 19, 24], int(random.integers(1, 5))) / 12)
        levels = harmonics ** -random.uniform(0.5, 2)
        for note in notes:
            audible = harmonics * note < rate / 2
            angles = 2 * np.pi * note * np.outer(harmonics[audible], time[start:end])
            decay = np.exp(-(time[start:end] - time[start]) * random.choice([0.0, 3.0, 8.0]))
            found[start:end] += levels[audible] @ np.sin(angles) * decay
        start = end
    drums = np.zeros(count)
    drums[::beat] = random.uniform(0, 3)
    tail = lfilter([1], [1, -np.exp(-1 / (0.03 * rate))], drums)
    found += tail * random.standard_normal(count)
    return found


BABBLE = "babble.npy"
"""Beside features: the track of `babble`."""
MADE: dict[str, Callable[[int, int, np.random.Generator], Noise]] = {"hum": hum, "clicks": clicks, "music": music}
"""Noises made of nothing: samples, rate in Hz, random numbers → the noise."""


def babble(utterances: Sequence[Utterance], rate: int, talkers: Sequence[int], seconds: float, path: Path) -> None:
    """Writes [samples] of so many speakers at once, in one stretch for each number of them, to a .npy file.

    Every speaker is as loud as every other. Recordings that cannot be read are passed over.

    Args:
        seconds: of each stretch.

    Raises:
        InputError: no recording can be read, or the file cannot be written.
    """
    random, stretches = np.random.default_rng(1), list[NDArray[np.float32]]()
    order, place = random.permutation(len(utterances)), 0
    for count in talkers:
        lanes = []
        for _ in range(count):
            lane, length, missed = [], 0, 0
            while length < seconds * rate:
                utterance = utterances[order[place % len(order)]]
                place += 1
                try:
                    samples = read_needed(utterance.audio, rate, utterance.start, utterance.duration, utterance.channel)
                except InputError:
                    missed += 1
                    if missed > len(utterances):
                        raise
                    continue
                loudness = np.sqrt(np.mean(np.square(samples))) if len(samples) else 0
                if loudness > 0:
                    lane.append(samples / loudness)
                    length += len(samples)
                else:
                    missed += 1
                    if missed > len(utterances):
                        raise InputError(f"no recording of {len(utterances)} has sound to make babble of")
            lanes.append(np.concatenate(lane)[: round(seconds * rate)])
        stretches.append(np.sum(lanes, 0).astype(np.float32))
    track = np.concatenate(stretches)
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        np.save(file, track)
