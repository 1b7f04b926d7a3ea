"""A model as its user sees it: samples in, phones out, from a .pte file (ExecuTorch) or a checkpoint (torch)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.quant.quantize import load as load_checkpoint
from tetraphone.quant.quantize import quantized_scores
from tetraphone.recognition.ctc import greedy
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.sound.audio import Samples, joined, to_mono
from tetraphone.sound.features import Frames, log_mel, network_input
from tetraphone.train.network.model import Checkpoint, outputs

MOST_FRAMES = 2**15
"""Frames of a spectrogram that are kept, more than a picture has columns; 5 minutes at 10 ms."""


@dataclass(frozen=True)
class Recognition:
    """What a model recognised in a recording."""

    phones: list[TimedPhone]
    frames: int
    """Network frames of the recording."""
    energies: Frames
    """Log-mel energies [frames, bands] for a spectrogram, see `BoundedSpectrogram`; may be empty if not asked for."""
    hop: float
    """Seconds from one frame of `energies` to the next."""


@dataclass(frozen=True)
class Model:
    """A loaded model, of either kind of file."""

    name: str
    phones: tuple[str, ...]
    recognize: Callable[[Iterable[Samples], int, bool], Recognition]
    """Takes blocks of samples [frames, channels] in [−1, 1], their rate in Hz, and whether energies are wanted.

    A .pte file takes block after block; a checkpoint holds all of them in memory.
    """


def load_model(path: Path, options: StreamOptions | None = None) -> Model:
    """Loads a .pte file, or a checkpoint if the name ends otherwise.

    Args:
        options: how to decode; a checkpoint takes only the defaults, since it is decoded by its best path.

    Raises:
        InputError: the file is missing, damaged, or not a model of this version; a checkpoint is given options.
    """
    if path.suffix.lower() == ".pte":
        return _from_program(Recognizer.load(path), str(path), options)
    if options not in (None, StreamOptions()):
        raise InputError(f"{path} is a checkpoint, decoded by its best path; export it for other ways to decode")
    return _from_checkpoint(load_checkpoint(path).to_ship(), str(path))


def _from_program(recognizer: Recognizer, name: str, options: StreamOptions | None) -> Model:
    recognizer.stream(options).close()  # reads the grammar, so that its faults are reported before any work

    def recognize(blocks: Iterable[Samples], rate: int, energies: bool) -> Recognition:
        spectrogram = BoundedSpectrogram(recognizer.hop)
        with recognizer.stream(options, bands=energies, scores=True) as stream:
            phones: list[TimedPhone] = []
            frames = 0
            for block in blocks:
                stream.accept(block, rate)
                phones += stream.poll()
                frames += len(stream.scores())
                spectrogram.add(stream.bands())
            stream.finish()
            frames += len(stream.scores())
            spectrogram.add(stream.bands())
            return Recognition([*phones, *stream.poll()], frames, spectrogram.energies, spectrogram.hop)

    return Model(name, recognizer.phones, recognize)


def _from_checkpoint(checkpoint: Checkpoint, name: str) -> Model:
    features = checkpoint.features
    checkpoint.model.eval()

    def recognize(blocks: Iterable[Samples], rate: int, _: bool) -> Recognition:
        samples = joined(blocks)
        energies, scores = energies_and_scores(checkpoint, samples, rate)
        phones = greedy(scores, checkpoint.phones, features.shift, features.offset)
        end, confidence = round(len(samples) / rate, TIME_DIGITS), checkpoint.confidence.apply
        timed = [
            replace(item, end=min(item.end, end), confidence=round(confidence(item.confidence), 4)) for item in phones
        ]
        spectrogram = BoundedSpectrogram(features.hop_ms / 1000)
        spectrogram.add(energies)
        return Recognition(timed, len(scores), spectrogram.energies, spectrogram.hop)

    return Model(name, checkpoint.phones, recognize)


def energies_and_scores(checkpoint: Checkpoint, samples: Samples, rate: int) -> tuple[Frames, NDArray[np.float32]]:
    """Log-mel energies [frames, bands] and scores [network frames, outputs] of samples [frames, channels]."""
    energies = log_mel(to_mono(samples, rate, checkpoint.features.sample_rate), checkpoint.features)
    frames = torch.from_numpy(network_input(energies, checkpoint.features, checkpoint.normalisation))
    if not len(frames):
        return energies, np.zeros((0, outputs(checkpoint.phones, 0)), np.float32)
    return energies, quantized_scores(checkpoint.model, frames).numpy()


class BoundedSpectrogram:
    """Log-mel energies that arrive in pieces; at most MOST_FRAMES rows are kept, as means of 2, 4, … frames."""

    def __init__(self, hop: float) -> None:
        self.hop = hop
        """Seconds from one row of `energies` to the next; it doubles whenever rows are merged in pairs."""
        self.energies: Frames = np.zeros((0, 0), np.float32)
        self._group = 1
        """Frames whose mean is a row."""
        self._rest: Frames | None = None
        """Frames that do not fill a group yet."""

    def add(self, energies: Frames) -> None:
        """Takes the next frames [frames, bands]."""
        rows = energies if self._rest is None else np.concatenate([self._rest, energies])
        if not rows.shape[1]:
            return
        whole = len(rows) // self._group * self._group
        means = rows[:whole].reshape(-1, self._group, rows.shape[1]).mean(1) if self._group > 1 else rows
        self._rest = rows[whole:]
        self.energies = np.concatenate([self.energies, means]) if len(self.energies) else means
        while len(self.energies) > MOST_FRAMES:
            even = self.energies[: len(self.energies) // 2 * 2]
            if len(even) < len(self.energies):  # the last row goes back to the rest, as frames with that mean
                self._rest = np.concatenate([np.repeat(self.energies[-1:], self._group, 0), self._rest])
            self.energies = even.reshape(-1, 2, even.shape[1]).mean(1)
            self._group, self.hop = 2 * self._group, 2 * self.hop
