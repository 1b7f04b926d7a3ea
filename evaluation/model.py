"""A model as its user sees it: samples in, phones out, from a .pte file (ExecuTorch) or a checkpoint (torch)."""

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tetraphone.common.errors import InputError
from tetraphone.common.phones import ARPABET, TIME_DIGITS, TimedPhone
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.quant.quantize import load as load_checkpoint
from tetraphone.quant.quantize import quantized_scores
from tetraphone.recognition.confidence import calibration_error, fit
from tetraphone.recognition.ctc import BLANK, best_path, greedy
from tetraphone.recognition.recognizer import Recognizer, StreamOptions
from tetraphone.recognition.scoring import Errors, matches
from tetraphone.sound.audio import Samples, joined, open_sound, to_mono
from tetraphone.sound.features import Frames, log_mel, network_input
from tetraphone.train.network.model import Checkpoint, outputs
from tetraphone.train.pictures import draw_recording

MOST_FRAMES = 2**15
"""Of a spectrogram, more than a picture has columns; 5 minutes at 10 ms."""


class Thinned:
    """Log-mel energies that come bit by bit; as many as a picture needs are kept, means of 2, 4, … frames."""

    def __init__(self, hop: float) -> None:
        self.hop = hop
        """Seconds between two frames."""
        self.energies: Frames = np.zeros((0, 0), np.float32)
        self._group = 1
        self._rest: Frames | None = None
        """Frames that do not fill a group yet."""

    def add(self, energies: Frames) -> None:
        """Takes frames [frames, bands] that follow those before."""
        rows = energies if self._rest is None else np.concatenate([self._rest, energies])
        if not rows.shape[1]:
            return
        whole = len(rows) // self._group * self._group
        means = rows[:whole].reshape(-1, self._group, rows.shape[1]).mean(1) if self._group > 1 else rows
        self._rest = rows[whole:]
        self.energies = np.concatenate([self.energies, means]) if len(self.energies) else means
        while len(self.energies) > MOST_FRAMES:
            even = self.energies[: len(self.energies) // 2 * 2]
            if len(even) < len(self.energies):  # the last goes back, as frames that give it again
                self._rest = np.concatenate([np.repeat(self.energies[-1:], self._group, 0), self._rest])
            self.energies = even.reshape(-1, 2, even.shape[1]).mean(1)
            self._group, self.hop = 2 * self._group, 2 * self.hop


@dataclass(frozen=True)
class Heard:
    """What a model made of a recording."""

    phones: list[TimedPhone]
    frames: int
    """Of the network."""
    energies: Frames
    """Log-mel energies [frames, bands], for a spectrogram, thinned to MOST_FRAMES; may be none if not wanted."""
    hop: float
    """Seconds between two of their frames."""


@dataclass(frozen=True)
class Model:
    """What recognition needs, wherever it was loaded from."""

    name: str
    phones: tuple[str, ...]
    hear: Callable[[Iterable[Samples], int, bool], Heard]
    """Takes blocks of samples [frames, channels] in [−1, 1], their rate in Hz, and whether energies are wanted.

    A .pte file takes block after block; a checkpoint holds all of them.
    """


def load_model(path: Path, options: StreamOptions | None = None) -> Model:
    """A .pte file or a checkpoint, by the name's ending.

    Args:
        options: how the recogniser of a .pte file decodes; a checkpoint's best path is all there is.

    Raises:
        InputError: the file is missing, damaged, or not a model of this version; it has no such options.
    """
    if path.suffix.lower() == ".pte":
        return _from_program(Recognizer.load(path), str(path), options)
    if options not in (None, StreamOptions()):
        raise InputError(f"{path} is a checkpoint, decoded by its best path; export it for other ways to decode")
    return _from_checkpoint(load_checkpoint(path).to_ship(), str(path))


def _from_program(recognizer: Recognizer, name: str, options: StreamOptions | None) -> Model:
    recognizer.stream(options).close()  # which reads the grammar: its faults are told before any work

    def hear(blocks: Iterable[Samples], rate: int, energies: bool) -> Heard:
        picture = Thinned(recognizer.hop)
        with recognizer.stream(options, bands=energies, scores=True) as stream:
            phones: list[TimedPhone] = []
            frames = 0
            for block in blocks:
                stream.accept(block, rate)
                phones += stream.poll()
                frames += len(stream.scores())
                picture.add(stream.bands())
            stream.finish()
            frames += len(stream.scores())
            picture.add(stream.bands())
            return Heard([*phones, *stream.poll()], frames, picture.energies, picture.hop)

    return Model(name, recognizer.phones, hear)


def _from_checkpoint(checkpoint: Checkpoint, name: str) -> Model:
    features = checkpoint.features
    checkpoint.model.eval()

    def hear(blocks: Iterable[Samples], rate: int, _: bool) -> Heard:
        samples = joined(blocks)
        energies, scores = _energies_and_scores(checkpoint, samples, rate)
        phones = greedy(scores, checkpoint.phones, features.shift, features.offset)
        end, worth = round(len(samples) / rate, TIME_DIGITS), checkpoint.confidence.apply
        timed = [replace(item, end=min(item.end, end), confidence=round(worth(item.confidence), 4)) for item in phones]
        picture = Thinned(features.hop_ms / 1000)
        picture.add(energies)
        return Heard(timed, len(scores), picture.energies, picture.hop)

    return Model(name, checkpoint.phones, hear)


def _energies_and_scores(checkpoint: Checkpoint, samples: Samples, rate: int) -> tuple[Frames, NDArray[np.float32]]:
    """Log-mel energies [frames, bands] and scores [network frames, outputs] of samples [frames, channels]."""
    energies = log_mel(to_mono(samples, rate, checkpoint.features.sample_rate), checkpoint.features)
    frames = torch.from_numpy(network_input(energies, checkpoint.features, checkpoint.normalisation))
    if not len(frames):
        return energies, np.zeros((0, outputs(checkpoint.phones, 0)), np.float32)
    return energies, quantized_scores(checkpoint.model, frames).numpy()


def recognize(path: Path, model: Model, plot: Path | None = None, channel: int | None = None) -> dict[str, Any]:
    """The phones of a recording of any rate, channel count and format that libsndfile reads.

    Args:
        path: a file or a pipe; "-" is standard input.
        plot: a PNG to draw, the spectrogram with the phones under it.
        channel: the one to hear, counted from 0; by default the mean of all.

    Returns:
        {"recording": name, "duration": seconds, "phones": [{"phone", "start", "end", "confidence"}, …],
        "problems": [why these are not the phones of the whole recording]}.

    Raises:
        InputError: the recording cannot be read, or lacks the channel.
    """
    with open_sound(path, channel) as sound:
        heard = model.hear(sound.blocks(), sound.rate, plot is not None)
    if plot is not None:
        draw_recording(heard.energies, heard.hop, heard.phones, path.name, plot)
    return {
        "recording": str(path),
        "duration": round(sound.seconds, TIME_DIGITS),
        "phones": [item.__dict__ for item in heard.phones],
        "problems": [problem for problem in (sound.fault, sound.unchecked, sound.cancelled) if problem],
    }


Result = TypeVar("Result")


def _hear_all(
    corpus: Corpus,
    problems: list[str],
    hear: Callable[[Iterator[Samples], int], Result],
    frames: Callable[[Result], int],
) -> Iterator[tuple[Utterance, Result]]:
    """Utterances with what `hear` makes of their blocks of samples at a rate; what cannot be used is a problem.

    Args:
        frames: of the network, in what `hear` made.

    Raises:
        InputError: none is usable.
    """
    readable = False
    for utterance in Progress(corpus.utterances, "reading recordings", unit="utterances"):
        try:
            with open_sound(utterance.audio, utterance.channel) as sound:
                heard = hear(sound.needed(utterance.start, utterance.duration), sound.rate)
        except InputError as error:
            problems.append(f"{utterance.label}: {error}")
            continue
        if fault := too_short(utterance, frames(heard)):
            problems.append(fault)
            continue
        readable = True
        yield utterance, heard
    if not readable:
        raise InputError(f"no utterance of {corpus.name} is usable; the first of {len(problems)} faults: {problems[0]}")


@dataclass
class _Clock:
    """Adds up the seconds of sound in blocks, and those that reading them takes."""

    sound: float = 0.0
    reading: float = 0.0

    def over(self, blocks: Iterator[Samples], rate: int) -> Iterator[Samples]:
        while True:
            started = time.perf_counter()
            block = next(blocks, None)
            self.reading += time.perf_counter() - started
            if block is None:
                return
            self.sound += len(block) / rate
            yield block


@dataclass
class Worth:
    """What confidences and times of recognised phones are worth, over utterances."""

    phones: tuple[str, ...]
    """Of the model."""
    confidences: list[float] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    start_errors: list[float] = field(default_factory=list)
    end_errors: list[float] = field(default_factory=list)

    def add(self, utterance: Utterance, phones: list[TimedPhone]) -> None:
        """Counts one utterance; its times only where the corpus has them for each of its phones."""
        pairs = matches(utterance.phones, [item.phone for item in phones])
        found = {place for _, place in pairs}
        self.confidences += [item.confidence for item in phones]
        self.right += [place in found for place in range(len(phones))]
        times = [item for item in utterance.times or () if item[0] in self.phones]
        if tuple(phone for phone, _, _ in times) == utterance.phones:
            self.start_errors += [abs(phones[right].start - times[left][1]) for left, right in pairs]
            self.end_errors += [abs(phones[right].end - times[left][2]) for left, right in pairs]

    def summary(self) -> dict[str, Any]:
        """Calibration error, 0 to 1; median and 90th percentile of the errors of times, in seconds, where known."""
        result: dict[str, Any] = {"calibration_error": round(calibration_error(self.confidences, self.right), 4)}
        for name, errors in (("start_error", self.start_errors), ("end_error", self.end_errors)):
            if errors:
                median, most = np.percentile(errors, (50, 90))
                result[name] = {"median": round(float(median), 4), "90th percentile": round(float(most), 4)}
        return result


def evaluate(model: Model, corpus: Corpus, show: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Phone error rate (percent) over a corpus, what confidences and times are worth, real-time factor of one process.

    The real-time factor counts features, network and decoding, not the reading of recordings. Recordings that cannot be
    read, and utterances shorter than CTC needs for their phones, are left out and listed under "problems".

    Args:
        show: how many utterances to show, the reference above the recognised phones.
        say: takes a line of log.

    Raises:
        InputError: no utterance is usable.
    """
    problems = list(corpus.problems)
    errors, worth, clock = Errors(), Worth(model.phones), _Clock()
    seconds = 0.0

    def hear(blocks: Iterator[Samples], rate: int) -> Heard:
        nonlocal seconds
        started, reading = time.perf_counter(), clock.reading
        heard = model.hear(clock.over(blocks, rate), rate, False)
        seconds += time.perf_counter() - started - (clock.reading - reading)
        return heard

    for utterance, heard in _hear_all(corpus, problems, hear, lambda heard: heard.frames):
        symbols = [item.phone for item in heard.phones]
        if errors.utterances < show:
            say(f"reference:  {' '.join(utterance.phones)}\nrecognised: {' '.join(symbols)}")
        errors.add(utterance.phones, symbols)
        worth.add(utterance, heard.phones)
    return {
        "model": model.name,
        "corpus": corpus.name,
        "part": corpus.part,
        "phone_error_rate": round(errors.phone_error_rate, 3),
        "substitutions": errors.substitutions,
        "deletions": errors.deletions,
        "insertions": errors.insertions,
        "reference_phones": errors.reference_phones,
        "utterances": errors.utterances,
        **worth.summary(),
        "phone_set": f"{len(model.phones)} {'ARPABET phones without stress' if model.phones == ARPABET else 'phones'}",
        "real_time_factor": round(seconds / max(clock.sound, 1e-9), 5),
        "problems": problems,
    }


BLANK_SHIFTS = sorted((np.arange(-20, 11) / 10).tolist(), key=abs)
"""Shifts of the blank's score to try: CTC leaves out more phones than it adds, though both cost one error."""


def calibrate(checkpoint: Checkpoint, corpus: Corpus) -> tuple[Checkpoint, dict[str, Any]]:
    """The checkpoint with the blank and the confidences fitted on recordings that it was not trained on.

    The blank's bias moves to where the best path has the fewest errors; a confidence becomes the chance that a phone is
    right.

    Returns:
        It, and {"blank_shift", "phone_error_rate", "phone_error_rate_before" (percent), "slope", "intercept", "phones",
        "calibration_error", "calibration_error_before", "problems"} on those recordings.

    Raises:
        InputError: no utterance is usable, or what was recognised is all right or all wrong.
    """
    checkpoint, problems = replace(checkpoint.to_ship(), model=copy.deepcopy(checkpoint.model)), list(corpus.problems)
    checkpoint.model.eval()
    phones, features = checkpoint.phones, checkpoint.features

    def hear(blocks: Iterator[Samples], rate: int) -> NDArray[np.float32]:
        return _energies_and_scores(checkpoint, joined(blocks), rate)[1]

    heard = list(_hear_all(corpus, problems, hear, len))
    tried: dict[float, Errors] = {}
    for shift in Progress(BLANK_SHIFTS, "fitting the blank", unit="shifts"):
        tried[shift] = Errors()
        for utterance, scores in heard:
            tried[shift].add(utterance.phones, best_path(_moved(scores, shift), phones))
    for shift in (*sorted(tried, key=lambda shift: tried[shift].phone_error_rate), 0.0):
        worth = Worth(phones)
        for utterance, scores in heard:
            worth.add(utterance, greedy(_moved(scores, shift), phones, features.shift, features.offset))
        if len(set(worth.right)) == 2:  # else there is nothing to fit confidences to: the next best shift
            break
    confidence = fit(worth.confidences, worth.right)
    confidences = [confidence.apply(posterior) for posterior in worth.confidences]
    checkpoint.model.state_dict()["output.bias"][BLANK] += shift
    return replace(checkpoint, confidence=confidence), {
        "blank_shift": shift,
        "phone_error_rate": round(tried[shift].phone_error_rate, 3),
        "phone_error_rate_before": round(tried[0.0].phone_error_rate, 3),
        "slope": round(confidence.slope, 4),
        "intercept": round(confidence.intercept, 4),
        "phones": len(worth.right),
        "calibration_error": round(calibration_error(confidences, worth.right), 4),
        "calibration_error_before": round(calibration_error(worth.confidences, worth.right), 4),
        "problems": problems,
    }


def _moved(scores: NDArray[np.float32], shift: float) -> NDArray[np.float32]:
    """Scores [frames, outputs] with the blank's shifted."""
    return scores + np.eye(1, scores.shape[1], BLANK, dtype=np.float32) * np.float32(shift)
