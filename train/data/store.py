"""Features of whole corpora in one memory-mapped file, and the batches drawn from it."""

import hashlib
import json
import multiprocessing
import os
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import soxr
import torch
from numpy.typing import NDArray
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.common.progress import Progress
from tetraphone.corpora.identity import RECORDINGS, utterances_digest
from tetraphone.corpora.utterance import Utterance, too_short
from tetraphone.sound.audio import Samples, read_needed
from tetraphone.sound.features import FeatureOptions, Frames, Normalisation, log_mel, quaternion_frames, stack_frames

from .augment import Augmentation


def energies_at(
    utterance: Utterance,
    options: FeatureOptions,
    speeds: Sequence[float],
    read: Callable[[Path, int, float, float, int | None], Samples] | None = None,
) -> list[Frames] | str:
    """Log-mel energies at each speed, or what is wrong with the utterance; `read` stands for `read_needed`."""
    rate, read = options.sample_rate, read or read_needed
    try:
        samples = read(utterance.audio, rate, utterance.start, utterance.duration, utterance.channel)
    except InputError as error:
        return f"{utterance.label}: {error}"
    energies = [
        log_mel(samples if speed == 1 else soxr.resample(samples, rate * speed, rate), options) for speed in speeds
    ]
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
class FeatureStore:
    """Log-mel energies of utterances, at one or more speeds, in a file that stays on disk."""

    energies: NDArray[np.float32]
    """[feature frames of all, bands], memory-mapped."""
    ends: NDArray[np.int64]
    """[utterances, speeds]: the row behind each; rows of an utterance's speeds follow one another."""
    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """What was left out, and why."""
    source: str
    """What it was made of, a digest."""

    def mel(self, index: int, speed: int = 0) -> Frames:
        """Log-mel energies [frames, bands] of one utterance."""
        position = index * self.ends.shape[1] + speed
        ends = self.ends.reshape(-1)
        return self.energies[ends[position - 1] if position else 0 : ends[position]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Feature frames of each utterance at the first speed."""
        flat = self.ends.reshape(-1)
        return np.diff(flat, prepend=0).reshape(self.ends.shape)[:, 0]

    def normalisation(self) -> Normalisation:
        """Mean and deviation of each band and component over all utterances at the first speed."""
        return normalisation_of(map(self.mel, range(len(self.utterances))), self.energies.shape[1])


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
    utterances: Sequence[Utterance], options: FeatureOptions, path: Path, speeds: Sequence[float], workers: int
) -> FeatureStore:
    """Computes the features of all utterances into `path` (.f32), its index beside it, or opens what is there.

    Args:
        speeds: factors of speed perturbation (Ko et al., 2015); the first is the one without.
        workers: processes.

    Raises:
        InputError: no utterance is usable, or a worker died.
    """
    identity = [asdict(options), list(speeds), utterances_digest(utterances, path.parent / RECORDINGS)]
    source = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    store = _opened(utterances, options, path, source)
    if store is None:
        _compute(utterances, options, path, speeds, workers, source)
        store = _opened(utterances, options, path, source)
    if store is None:
        raise InputError(f"{path} is not what was written to it; does another process write there?")
    if not store.utterances:
        raise InputError(f"no utterance is usable; the first of {len(store.problems)} faults: {store.problems[0]}")
    return store


def _opened(utterances: Sequence[Utterance], options: FeatureOptions, path: Path, source: str) -> FeatureStore | None:
    """What lies in `path`, if it is whole and of this source."""
    try:
        with np.load(path.with_suffix(".npz")) as index:
            kept, ends, problems, made_of = (index[name] for name in ("kept", "ends", "problems", "source"))
        rows = ends[-1, -1] if len(ends) else 0
        if made_of != source or path.stat().st_size != rows * options.bands * np.dtype(np.float32).itemsize:
            return None
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None
    energies = np.memmap(path, np.float32, "r") if rows else np.empty(0, np.float32)
    used = tuple(utterances[position] for position in kept)
    return FeatureStore(energies.reshape(-1, options.bands), ends, used, tuple(map(str, problems)), source)


def _compute(
    utterances: Sequence[Utterance],
    options: FeatureOptions,
    path: Path,
    speeds: Sequence[float],
    workers: int,
    source: str,
) -> None:
    index_path = path.with_suffix(".npz")
    kept, ends, problems, row = [], [], [], 0
    job = partial(energies_at, options=options, speeds=speeds)
    context = multiprocessing.get_context("spawn")
    with (
        write_atomically(path) as temporary,
        temporary.open("wb") as file,
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
                    file.write(energies.tobytes())
                    row += len(energies)
                    ends.append(row)
        except BrokenProcessPool as error:
            raise InputError("a process that computes features died; is there memory left?") from error
        file.flush()
        index_path.unlink(missing_ok=True)  # a kill between the two must not leave it beside other features
    with write_atomically(index_path) as temporary:
        columns = np.array(ends, np.int64).reshape(-1, len(speeds))
        np.savez(
            temporary, kept=np.array(kept, np.int64), ends=columns, problems=np.array(problems, np.str_), source=source
        )


@dataclass(frozen=True)
class Batch:
    x: Tensor
    """[utterances, network frames, inputs], padded with zeros."""
    lengths: Tensor
    """Network frames of each utterance."""
    targets: Tensor
    """[utterances, phones]: indices of the reference phones among the scores, padded with blanks."""
    target_lengths: Tensor
    indices: tuple[int, ...]
    """Places in the store."""
    ids: tuple[str, ...]
    """Of the utterances; none: the batch only keeps a process in step with others."""
    speeds: tuple[int, ...] = field(default=(), kw_only=True)
    """Of a store's utterances: the place of each one's speed among the store's."""

    def to(self, device: torch.device) -> "Batch":
        """The batch on a device; lengths stay where CTC wants them."""
        return replace(self, x=self.x.to(device), targets=self.targets.to(device))


def collate(
    store: FeatureStore,
    indices: Sequence[int],
    options: FeatureOptions,
    normalisation: Normalisation,
    phone_index: dict[str, int],
    seed: Sequence[int] | None = None,
    augmentation: Augmentation = Augmentation(),  # noqa: B008
    speed: int = 0,
) -> Batch:
    """One padded batch at a speed of the store; with `seed`, each utterance at a drawn one, and augmented.

    What is drawn for an utterance depends on the seed and on the utterance alone, not on the rest of the batch.
    """

    def other(random: np.random.Generator) -> Frames:
        return store.mel(int(random.integers(len(store.utterances))))

    inputs, speeds = [], []
    for index in indices:
        random = None if seed is None else np.random.default_rng([*seed, index])
        speeds.append(speed if random is None else int(random.integers(store.ends.shape[1])))
        mel = store.mel(index, speeds[-1])
        inputs.append(augmented_input(mel, options, normalisation, random, augmentation, other))
    batch = padded(inputs, [store.utterances[index] for index in indices], phone_index, indices)
    return replace(batch, speeds=tuple(speeds))


def augmented_input(
    mel: Frames,
    options: FeatureOptions,
    normalisation: Normalisation,
    random: np.random.Generator | None,
    augmentation: Augmentation,
    other: Callable[[np.random.Generator], Frames],
) -> Frames:
    """The network's input [network frames, options.inputs] of one utterance, augmented with `random`.

    Args:
        other: draws the log-mel energies that may serve as noise.
    """
    if random is not None and augmentation.vocal_tract is not None:
        mel = augmentation.vocal_tract.apply(mel, options, random)
    if random is not None and augmentation.acoustics is not None:
        mel = augmentation.acoustics.apply(mel, other(random), options, random)
    frames = normalisation.apply(quaternion_frames(mel))
    if random is not None and augmentation.masks is not None:
        augmentation.masks.apply(frames, random)
    return stack_frames(frames, options)


def padded(
    inputs: Sequence[Frames], utterances: Sequence[Utterance], phone_index: dict[str, int], indices: Sequence[int]
) -> Batch:
    """The batch of one or more utterances, with their inputs."""
    x = [torch.from_numpy(rows) for rows in inputs]
    targets = [torch.tensor([phone_index[phone] for phone in utterance.phones]) for utterance in utterances]
    return Batch(
        torch.nn.utils.rnn.pad_sequence(x, batch_first=True),
        torch.tensor([len(rows) for rows in x]),
        torch.nn.utils.rnn.pad_sequence(targets, batch_first=True),
        torch.tensor([len(y) for y in targets]),
        tuple(indices),
        tuple(utterance.id for utterance in utterances),
    )


def idle(options: FeatureOptions) -> Batch:
    """One frame of silence that belongs to no utterance."""
    one, none = torch.ones(1, dtype=torch.long), torch.zeros(1, 0, dtype=torch.long)
    return Batch(torch.zeros(1, 1, options.inputs), one, none, torch.zeros(1, dtype=torch.long), (), ())


@dataclass(frozen=True)
class StoredBatches:
    """The batches of each epoch from a store: of several processes, each takes its share of every batch."""

    store: FeatureStore
    options: FeatureOptions
    normalisation: Normalisation
    phone_index: dict[str, int]
    batch_size: int
    seed: int
    augmentation: Augmentation
    rank: int = 0
    world_size: int = 1

    @property
    def utterances(self) -> int:
        return len(self.store.utterances)

    @property
    def problems(self) -> list[str]:
        """What was left out, and why."""
        return list(self.store.problems)

    def steps(self) -> int:
        """Batches of an epoch."""
        return -(-self.utterances // self.batch_size)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """This process's share of each batch of an epoch, from number `skip` on; `idle` where it has none."""
        order = np.random.default_rng([self.seed, 0, epoch])
        for number, indices in enumerate(buckets(self.store.lengths, self.batch_size, order)):
            if number < skip:
                continue
            mine = indices[self.rank :: self.world_size]
            if not mine:
                yield idle(self.options)
                continue
            seed = [self.seed, 1, epoch * self.steps() + number]
            yield collate(self.store, mine, self.options, self.normalisation, self.phone_index, seed, self.augmentation)


def buckets(
    lengths: NDArray[np.int64], batch_size: int, random: np.random.Generator | None = None
) -> Iterator[list[int]]:
    """Batches of utterances of about the same length; in random order, shuffled within 50 batches, with `random`."""
    order = np.argsort(lengths, kind="stable")
    if random is not None:
        order = random.permutation(len(lengths))
        pool = 50 * batch_size
        order = np.concatenate(
            [part[np.argsort(lengths[part], kind="stable")] for part in np.split(order, range(pool, len(order), pool))]
        )
    batches = [order[first : first + batch_size].tolist() for first in range(0, len(order), batch_size)]
    for position in range(len(batches)) if random is None else random.permutation(len(batches)):
        yield batches[position]
