"""Features of whole corpora in one memory-mapped file."""

import hashlib
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import soxr

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.identity import RECORDINGS, utterances_digest
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.sound.audio import Samples, read_needed
from tetraphone.sound.features import FeatureOptions, Frames, Normalisation, log_mel, quaternion_frames

from .ragged import Ragged, open_ragged, write_ragged


class Change(Protocol):
    """What happens to an utterance's sound before its features are computed; its repr says all that decides it besides
    the utterances."""

    def prepare(self, utterances: Sequence[Utterance], rate: int) -> None:
        """Called once before any of the utterances is changed, where features are computed and not merely opened."""

    def apply(self, samples: Samples, rate: int, utterance: Utterance) -> Samples:
        """Mono samples [frames] at a rate in Hz, changed; as many."""


def energies_at(
    utterance: Utterance,
    options: FeatureOptions,
    speeds: Sequence[float],
    read: Callable[[Path, int, float, float, int | None], Samples] | None = None,
    changes: Sequence[Change] = (),
) -> list[Frames] | str:
    """Log-mel energies at each speed, then of each change at speed 1, or what is wrong with the utterance.

    `read` stands for `read_needed`.
    """
    rate, read = options.sample_rate, read or read_needed
    try:
        samples = read(utterance.audio, rate, utterance.start, utterance.duration, utterance.channel)
    except InputError as error:
        return f"{utterance.label}: {error}"
    energies = [
        log_mel(samples if speed == 1 else soxr.resample(samples, rate * speed, rate), options) for speed in speeds
    ]
    energies += [log_mel(change.apply(samples, rate, utterance), options) for change in changes]
    return too_short(utterance, min(map(options.network_frames, map(len, energies)))) or energies


def end_with_parent() -> None:
    """In a worker: ends it when the process that started it is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class FeatureStore(Ragged):
    """Log-mel energies of utterances, [feature frames, bands] each, in a file that stays: at one or more speeds, and
    behind these, counted on, of changes."""

    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """What was left out, and why."""
    source: str
    """What it was made of, a digest."""
    changes: int = 0
    """How many of what each utterance is given at are changes, see `extract`; the others are speeds."""

    @property
    def speeds(self) -> int:
        """Speeds that each utterance is given at."""
        return int(self.ends.shape[1]) - self.changes

    def mel(self, index: int, speed: int = 0) -> Frames:
        """Log-mel energies [frames, bands] of one utterance."""
        return self.part(index, speed)

    def normalisation(self) -> Normalisation:
        """Mean and deviation of each band and component over all utterances at the first speed."""
        return normalisation_of(map(self.mel, range(len(self.utterances))), self.rows.shape[1])


def normalisation_of(mels: Iterable[Frames], bands: int) -> Normalisation:
    """Mean and deviation of each band and component over utterances' log-mel energies."""
    total = np.zeros(4 * bands)
    squares, frames = np.zeros_like(total), 0
    for mel in mels:
        rows = quaternion_frames(mel).astype(np.float64)
        total += rows.sum(0)
        squares += np.square(rows).sum(0)
        frames += len(rows)
    mean = total / frames
    deviation = np.sqrt(np.maximum(squares / frames - np.square(mean), 1e-8))
    return Normalisation(mean.astype(np.float32), deviation.astype(np.float32))


def extract(
    utterances: Sequence[Utterance],
    options: FeatureOptions,
    path: Path,
    speeds: Sequence[float],
    workers: int,
    changes: Sequence[Change] = (),
) -> FeatureStore:
    """Computes the features of all utterances into `path` (.f32), its index beside it, or opens what is there.

    Args:
        speeds: factors of speed perturbation (Ko et al., 2015); the first is the one without.
        workers: processes.
        changes: of the sound at speed 1.

    Raises:
        InputError: no utterance is usable, or a worker died.
    """
    voices = ("speaker",) if changes else ()  # by which changes are drawn
    identity = [asdict(options), list(speeds), utterances_digest(utterances, path.parent / RECORDINGS, voices)]
    identity += map(repr, changes)
    source = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    store = _opened(utterances, options, path, source, len(changes))
    if store is None:
        _compute(utterances, options, path, speeds, workers, source, changes)
        store = _opened(utterances, options, path, source, len(changes))
    if store is None:
        raise InputError(f"{path} is not what was written to it; does another process write there?")
    if not store.utterances:
        raise InputError(f"no utterance is usable; the first of {len(store.problems)} faults: {store.problems[0]}")
    return store


def _opened(
    utterances: Sequence[Utterance], options: FeatureOptions, path: Path, source: str, changes: int
) -> FeatureStore | None:
    """What lies in `path`, if it is whole and of this source."""
    opened = open_ragged(path, options.bands, np.float32, source)
    if opened is None:
        return None
    stored, index = opened
    used = tuple(utterances[position] for position in index["kept"])
    return FeatureStore(stored.rows, stored.ends, used, tuple(map(str, index["problems"])), source, changes)


def _compute(
    utterances: Sequence[Utterance],
    options: FeatureOptions,
    path: Path,
    speeds: Sequence[float],
    workers: int,
    source: str,
    changes: Sequence[Change],
) -> None:
    kept, problems = [], []
    for change in changes:
        change.prepare(utterances, options.sample_rate)
    job = partial(energies_at, options=options, speeds=speeds, changes=changes)
    context = multiprocessing.get_context("spawn")
    with (
        write_ragged(path, len(speeds) + len(changes), source) as writer,
        ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent) as pool,
    ):
        try:
            results = pool.map(job, utterances, chunksize=8)
            for position, result in enumerate(Progress(results, "features", len(utterances), "utterances")):
                if isinstance(result, str):
                    problems.append(result)
                    continue
                kept.append(position)
                for energies in result:
                    writer.add(energies)
        except BrokenProcessPool as error:
            raise InputError("a process that computes features died; is there memory left?") from error
        writer.index |= {"kept": np.array(kept, np.int64), "problems": np.array(problems, np.str_)}
