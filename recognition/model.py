"""A model as its user sees it: blocks of samples in, phones out; from a .pte file."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tetraphone.common.phones import TIME_DIGITS, TimedPhone
from tetraphone.sound.audio import Samples, open_sound

from .recognizer import Recognizer, StreamOptions
from .results import Recognition

if TYPE_CHECKING:
    from tetraphone.sound.features import Frames

MOST_FRAMES = 2**15
"""Frames of a spectrogram that are kept, more than a picture has columns; 5 minutes at 10 ms."""


@dataclass(frozen=True)
class ModelOutput:
    """What a model recognised in a recording."""

    phones: list[TimedPhone]
    frames: int
    """Network frames of the recording."""
    energies: "Frames"
    """Log-mel energies [frames, bands] for a spectrogram, see `BoundedSpectrogram`; may be empty if not asked for."""
    hop: float
    """Seconds from one frame of `energies` to the next."""


@dataclass(frozen=True)
class LoadedModel:
    """A loaded model, of either kind of file."""

    name: str
    phones: tuple[str, ...]
    recognize: Callable[[Iterable[Samples], int, bool], ModelOutput]
    """Takes blocks of samples [frames, channels] in [−1, 1], their rate in Hz, and whether energies are wanted.

    A .pte file takes block after block; a checkpoint holds all of them in memory.
    """


def recognize_recording(
    path: Path, model: LoadedModel, channel: int | None = None, energies: bool = False
) -> tuple[Recognition, ModelOutput]:
    """The phones of a recording of any rate, channel count and format that libsndfile reads.

    Args:
        path: a file or a pipe; "-" is standard input.
        channel: the channel to recognise, counted from 0; by default the mean of all.
        energies: whether they are wanted.

    Raises:
        InputError: the recording cannot be read, or lacks the channel.
    """
    with open_sound(path, channel) as sound:
        found = model.recognize(sound.blocks(), sound.rate, energies)
    problems = tuple(problem for problem in (sound.fault, sound.unchecked, sound.levels) if problem)
    return Recognition(str(path), round(sound.seconds, TIME_DIGITS), tuple(found.phones), problems), found


def from_program(recognizer: Recognizer, name: str, options: StreamOptions | None) -> LoadedModel:
    """The model of a loaded .pte file.

    Args:
        name: for errors.
        options: how to decode.

    Raises:
        InputError: the grammar cannot be read.
    """
    recognizer.stream(options).close()  # reads the grammar, so that its faults are reported before any work

    def recognize(blocks: Iterable[Samples], rate: int, energies: bool) -> ModelOutput:
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
            return ModelOutput([*phones, *stream.poll()], frames, spectrogram.energies, spectrogram.hop)

    return LoadedModel(name, recognizer.phones, recognize)


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

    def add(self, energies: "Frames") -> None:
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
