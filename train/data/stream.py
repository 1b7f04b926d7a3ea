"""Batches of corpora that outgrow memory and disk: manifests read line by line, features computed on the way.

lhotse's DynamicBucketingSampler makes the batches; it holds a buffer of utterances, whatever the corpus has.
"""

import os
import random as python_random
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lhotse.dataset.sampling.dynamic_bucketing import DynamicBucketingSampler, estimate_duration_buckets
from torch.utils.data import DataLoader, Dataset, Sampler

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.identity import digest_of, glimpse
from tetraphone.corpora.sources import Item, Member, Stream, find_source
from tetraphone.corpora.transcripts import Fold, Reading, Transcripts
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.audio import Samples, Sound, needed_mono
from tetraphone.sound.features import FeatureOptions, Frames, Normalisation, log_mel
from tetraphone.sound.stretches import bytes_of

from .augment import Augmentation
from .batches import Batch, Problems, padded
from .store import energies_at, normalisation_of

NORMALISATION_UTTERANCES = 2000
GLIMPSES = 1000
"""Recordings whose digests wait for one another."""


@dataclass(frozen=True)
class StreamedBatch(Batch):
    """A batch; `indices` count the epoch's usable manifest lines in the order of reading."""

    utterances: tuple[Utterance, ...]
    problems: tuple[str, ...]
    """Utterances of this batch that were left out, each with its fault."""


# Features.


def _energies(item: Item, options: FeatureOptions, speed: float) -> Frames | str:
    """Log-mel energies of an utterance, or its fault."""
    read = None if item.member is None else partial(_read_member, item.member)
    made = energies_at(item.utterance, options, (speed,), read)
    return made if isinstance(made, str) else made[0]


def _read_member(
    member: Member, archive: Path, rate: int, start: float, duration: float, channel: int | None = None
) -> Samples:
    """A recording in a Shar archive, as `read_needed` gives it.

    Raises:
        InputError: it is missing, damaged or too short.
    """
    try:
        with archive.open("rb") as file:
            source = bytes_of(file, member.offset, member.size)
            return needed_mono(Sound(source, f"{archive} (its recording)", channel), rate, start, duration)
    except OSError as error:
        raise InputError(f"cannot read {archive}: {error.strerror}; write the archive again") from error


@dataclass(frozen=True)
class _Task:
    """One batch to compute; without a seed, at the first speed and not augmented."""

    items: tuple[Item, ...]
    seed: tuple[int, ...] | None


@dataclass(frozen=True)
class _Features(Dataset[StreamedBatch]):
    """What a worker does."""

    options: FeatureOptions
    normalisation: Normalisation
    phone_index: dict[str, int]
    augmentation: Augmentation
    speeds: tuple[float, ...]

    def __getitem__(self, task: _Task) -> StreamedBatch:
        kept: list[tuple[Item, Frames, np.random.Generator | None]] = []
        problems = []
        for item in task.items:
            random = None if task.seed is None else np.random.default_rng([*task.seed, item.number])
            speed = self.speeds[0 if random is None else int(random.integers(len(self.speeds)))]
            mel = _energies(item, self.options, speed)
            if isinstance(mel, str):
                problems.append(mel)
            else:
                kept.append((item, mel, random))

        def other(random: np.random.Generator) -> Frames:
            return kept[int(random.integers(len(kept)))][1]

        inputs = [
            self.augmentation.network_input(mel, self.options, self.normalisation, random, other)
            for _, mel, random in kept
        ]
        utterances = tuple(item.utterance for item, _, _ in kept)
        batch = _empty(self.options)
        if kept:
            batch = padded(inputs, utterances, self.phone_index, [item.number for item, _, _ in kept])
        return StreamedBatch(**vars(batch), utterances=utterances, problems=tuple(problems))


def _empty(options: FeatureOptions) -> Batch:
    none = torch.zeros(0, dtype=torch.long)
    return Batch(torch.zeros(0, 0, options.inputs), none, torch.zeros(0, 0, dtype=torch.long), none, (), ())


def _as_it_is(batch: Any) -> Any:
    return batch


class _Tasks(Sampler[_Task]):
    """The batches that the loader asks for next: those of `coming`."""

    coming: Iterable[_Task] = ()

    def __iter__(self) -> Iterator[_Task]:
        return iter(self.coming)


# Batches.


class StreamedBatches:
    """The batches of each epoch, the same for the same seed and epoch, in memory that does not grow with the corpus but
    for eight bytes an utterance, by which a second one of its id is noticed.

    With several processes each batch is divided among them: all make the same number of steps, and together they see
    what one process would see. Noise from another utterance (`Acoustics`) is drawn from the process' own share.
    """

    def __init__(
        self,
        corpora: Sequence[str],
        options: FeatureOptions,
        normalisation: Normalisation,
        phone_index: dict[str, int],
        *,
        part: str = "train",
        batch_size: int | None = None,
        batch_seconds: float | None = None,
        seed: int | None = 0,
        augmentation: Augmentation = Augmentation(),  # noqa: B008
        speeds: Sequence[float] = (1.0,),
        fold: Fold | None = None,
        workers: int = 0,
        rank: int = 0,
        world_size: int = 1,
        buffer: int = 10_000,
        buckets: int = 10,
    ) -> None:
        """
        Args:
            corpora: see `find_source`.
            batch_size, batch_seconds: greatest number and padded seconds of utterances a batch, over all processes.
            seed: None: in the order of reading within a bucket, at the first speed, not augmented.
            fold: phones that stand for the transcripts' symbols.
            workers: processes that compute features; 0: this one.
            buffer: utterances among which the sampler chooses.

        Raises:
            InputError: a corpus is missing or has no usable utterance, or an option is wrong.
        """
        if batch_size is None and batch_seconds is None:
            raise InputError("a batch has no limit; give batch_size or batch_seconds")
        if batch_size is not None and batch_size < world_size:
            raise InputError(f"batch_size is {batch_size}; {world_size} processes need at least as many utterances")
        if not 0 <= rank < world_size:
            raise InputError(f"rank is {rank}; it must be from 0 to {world_size - 1}")
        log_mel(np.zeros(0, np.float32), options)
        self.stream = Stream(tuple(find_source(spec, part) for spec in corpora))
        self.transcripts = Transcripts(tuple(phone_index), fold=fold)
        self.corpora, self.seed, self.rank, self.world_size = tuple(corpora), seed, rank, world_size
        self.limits = {"max_cuts": batch_size, "max_duration": batch_seconds}
        self.buffer = buffer
        self.bins = self._estimate_bins(buckets)
        self.left_out = Problems()
        """Of the epoch begun last: manifest lines, and utterances of this process that could not be used."""
        self.normalisation = normalisation
        self.features = _Features(options, normalisation, phone_index, augmentation, tuple(speeds))
        self.workers = workers
        self._tasks = _Tasks()
        self._loader: DataLoader[StreamedBatch] | None = None

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[StreamedBatch]:
        """Batches of an epoch from number `skip` on; those before are not computed.

        A batch of which nothing is usable comes without rows, so that all processes make the same number of steps.

        Raises:
            InputError: no utterance was usable, or a worker died.
        """
        self.left_out = Problems()
        self._tasks.coming = islice(self._shares(epoch, self.left_out.add), skip, None)
        seen = False
        for batch in self._computed():
            for problem in batch.problems:
                self.left_out.add(problem)
            seen = seen or bool(batch.utterances)
            yield batch
        if not seen and not skip:
            raise InputError(
                f"no utterance of {', '.join(self.corpora)} is usable; "
                f"the first of {self.left_out.count} faults: {self.left_out.first[0]}"
            )

    def steps(self, epoch: int = 0) -> int:
        """Batches of an epoch; reads the manifests, not the audio, and leaves `notes`."""
        self.reading = Reading(self.transcripts)
        return sum(1 for _ in Progress(self._steps(epoch, _unheard, self.reading), "counting steps", unit="steps"))

    @property
    def notes(self) -> tuple[str, ...]:
        """Of the corpora, when `steps` has read them: as `Corpus.notes`."""
        return self.reading.notes(", ".join(self.corpora))

    @property
    def utterances(self) -> None:
        """They are not counted: `steps` counts batches."""

    @property
    def problems(self) -> tuple[str, ...]:
        """None: nothing is computed before the first epoch."""
        return ()

    def close(self) -> None:
        """Ends the workers; the next epoch starts new ones."""
        self._loader = None

    def _estimate_bins(self, buckets: int) -> list[float]:
        """Durations between buckets, from the first utterances."""
        problems = Problems()
        self.reading = Reading(self.transcripts)
        first = list(islice(self.stream.read(self.reading, problems.add), self.buffer))
        if len(first) < self.world_size:
            raise InputError(
                f"{', '.join(self.corpora)}: {len(first)} usable utterances for {self.world_size} processes; "
                f"{problems.first[0] if problems.first else 'give a larger corpus'}"
            )
        bins = estimate_duration_buckets(first, min(buckets, len(first))) if min(buckets, len(first)) > 1 else []
        return [float(seconds) for seconds in bins] or [first[0].duration]

    def _steps(self, epoch: int, report: Callable[[str], None], reading: Reading) -> Iterator[list[Item]]:
        """Batches of all processes together, each with an utterance for each at least."""
        order = None if self.seed is None else f"{self.seed} {epoch}"
        sampler = DynamicBucketingSampler(
            self.stream.read(reading, report, order),
            **self.limits,
            shuffle=order is not None,
            duration_bins=self.bins,
            buffer_size=self.buffer,
            seed=python_random.Random(str(order)).getrandbits(31),
            # Shares are dealt below: lhotse would give the last utterances to several processes.
            world_size=1,
            rank=0,
        )
        ready: list[Item] = []
        rest: list[Item] = []
        for cuts in sampler:
            rest += cuts
            if len(rest) >= self.world_size:
                if ready:
                    yield ready
                ready, rest = rest, []
        yield ready + rest

    def _shares(self, epoch: int, report: Callable[[str], None]) -> Iterator[_Task]:
        seed = None if self.seed is None else (self.seed, 1, epoch)
        for items in self._steps(epoch, report, Reading(self.transcripts)):
            yield _Task(tuple(items[self.rank :: self.world_size]), seed)

    def _computed(self) -> Iterator[StreamedBatch]:
        """What the loader makes of the tasks, in their order."""
        if self._loader is None:
            self._loader = DataLoader(
                self.features,
                batch_size=None,
                sampler=self._tasks,
                collate_fn=_as_it_is,
                num_workers=self.workers,
                persistent_workers=self.workers > 0,
                multiprocessing_context="spawn" if self.workers else None,
                generator=torch.Generator(),  # leaves the global one as it is
            )
        try:
            yield from _started(self._loader)
        # A batch of a worker that died may wait in the queue without the memory it lies in: then it is an OSError.
        except (RuntimeError, OSError, EOFError) as error:
            workers = getattr(getattr(self._loader, "_iterator", None), "_workers", ())
            ended = wait([worker.sentinel for worker in workers], timeout=1)
            dead = [str(worker.pid) for worker in workers if worker.sentinel in ended]
            if not dead:
                raise
            self.close()
            raise InputError(
                f"process {', '.join(dead)}, which computed features, died; is there memory left, also in /dev/shm? "
                "Go on with fewer workers"
            ) from error


def _started(loader: DataLoader[StreamedBatch]) -> Iterator[StreamedBatch]:
    """The loader's iterator; a worker's death is raised by it, and not wherever this process happens to be."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return iter(loader)
    before = signal.getsignal(signal.SIGCHLD)
    iterator = iter(loader)
    signal.signal(signal.SIGCHLD, before or signal.SIG_DFL)
    return iterator


def _unheard(_: str) -> None: ...


def streamed_normalisation(
    corpora: Sequence[str],
    options: FeatureOptions,
    phone_index: dict[str, int],
    *,
    part: str = "train",
    fold: Fold | None = None,
    utterances: int = NORMALISATION_UTTERANCES,
) -> Normalisation:
    """Mean and deviation over the first usable utterances of the corpora, mixed.

    Raises:
        InputError: a corpus is missing or has no usable utterance.
    """
    problems = Problems()

    def mels() -> Iterator[Frames]:
        stream = Stream(tuple(find_source(spec, part) for spec in corpora))
        for item in stream.read(Reading(Transcripts(tuple(phone_index), fold=fold)), problems.add):
            mel = _energies(item, options, 1.0)
            if isinstance(mel, str):
                problems.add(mel)
            else:
                yield mel

    first = iter(Progress(islice(mels(), utterances), "measuring features", unit="utterances"))
    one = next(first, None)
    if one is None:
        fault = problems.first[0] if problems.first else "it is empty"
        raise InputError(f"no utterance of {', '.join(corpora)} is usable: {fault}")
    return normalisation_of((mel for part in ([one], first) for mel in part), options.bands)


def streamed_digest(
    corpora: Sequence[str], phone_index: dict[str, int], *, part: str = "train", fold: Fold | None = None
) -> str:
    """See `digest_of`, over all utterances of the corpora, whose recordings are glimpsed at.

    Raises:
        InputError: a corpus is missing.
    """
    stream = Stream(tuple(find_source(spec, part) for spec in corpora))
    items = stream.read(Reading(Transcripts(tuple(phone_index), fold=fold)), _unheard)

    def seen(item: Item) -> tuple[Utterance, str]:
        place = () if item.member is None else (item.member.offset, item.member.size)
        return item.utterance, glimpse(item.utterance.audio, *place)

    groups = iter(lambda: list(islice(items, GLIMPSES)), [])
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        looked = chain.from_iterable(pool.map(seen, group) for group in groups)
        return digest_of(Progress(looked, "comparing recordings", unit="recordings"))
