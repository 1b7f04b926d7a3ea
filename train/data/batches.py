"""Batches of utterances, and those of each epoch drawn from a feature store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.features import FeatureOptions, Frames, Normalisation

from .augment import Augmentation
from .store import FeatureStore


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
    """Of a store's utterances: the place of each one's speed, or change, among the store's."""

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
    """One padded batch at a speed of the store; with `seed`, each utterance at a drawn one or changed, and augmented.

    What is drawn for an utterance depends on the seed and on the utterance alone, not on the rest of the batch.
    """

    def other(random: np.random.Generator) -> Frames:
        return store.mel(int(random.integers(len(store.utterances))))

    inputs, speeds = [], []
    for index in indices:
        random = None if seed is None else np.random.default_rng([*seed, index])
        speeds.append(speed if random is None else _drawn(store, augmentation.distorted, random))
        mel = store.mel(index, speeds[-1])
        inputs.append(augmentation.network_input(mel, options, normalisation, random, other))
    batch = padded(inputs, [store.utterances[index] for index in indices], phone_index, indices)
    return replace(batch, speeds=tuple(speeds))


def _drawn(store: FeatureStore, distorted: float, random: np.random.Generator) -> int:
    """One of the store's speeds, or, at a share, of its changes."""
    speed = int(random.integers(store.speeds))
    if not store.changes or random.random() >= distorted:
        return speed
    return store.speeds + int(random.integers(store.changes))


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


FIRST_PROBLEMS = 20
"""Faulty utterances that are named; the others are counted."""


@dataclass
class Problems:
    """What was left out."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    """The first FIRST_PROBLEMS, each with its fault."""

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, problem: str) -> None:
        self.count += 1
        if len(self.first) < FIRST_PROBLEMS:
            self.first.append(problem)


class Batches(Protocol):
    """The batches of each epoch; of several processes, each takes its share of every batch."""

    @property
    def normalisation(self) -> Normalisation:
        """Of the features."""

    @property
    def utterances(self) -> int | None:
        """How many there are; None: they are not counted beforehand."""

    @property
    def notes(self) -> Sequence[str]:
        """What was read otherwise than it was written, once `steps` is known."""

    @property
    def problems(self) -> Sequence[str]:
        """What was left out before the first epoch, and why."""

    @property
    def left_out(self) -> Problems:
        """What was left out of the epoch begun last."""

    def steps(self) -> int:
        """Batches of an epoch."""

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from number `skip` on; those before are not computed."""

    def close(self) -> None:
        """Ends what runs beside this process; the next epoch starts it again."""


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
    def notes(self) -> tuple[str, ...]:
        """None: who read the corpora told them."""
        return ()

    @property
    def problems(self) -> tuple[str, ...]:
        return self.store.problems

    @property
    def left_out(self) -> Problems:
        """None: what could be left out is among `problems`."""
        return Problems()

    def steps(self) -> int:
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

    def close(self) -> None:
        """Nothing: the file stays open."""


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
