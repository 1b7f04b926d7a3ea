"""What a network is trained for: the phones of an utterance by CTC, or the state that each frame is in."""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.recognition.ctc import BLANK, best_path, score_index
from tetraphone.recognition.scoring import Errors
from tetraphone.train.data.store import Batch, FeatureStore, buckets, collate
from tetraphone.train.network.model import Checkpoint
from tetraphone.train.pictures import draw_confusions

from .hmm import Alignment, Topology

Phones = Sequence[str]
IGNORED = -100
"""The target of a frame behind an utterance's end."""


class Objective(Protocol):
    """A loss, and the error by which the best epoch is chosen."""

    @property
    def states(self) -> int:
        """See `Checkpoint.states`."""

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor, list[int]]:
        """The loss summed over the batch, what to divide it by, and places in the batch that were left out."""

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Percent, over a store."""

    def draw(self, path: Path) -> None:
        """A picture of what the last call of `error` found."""


@dataclass
class Ctc:
    """Connectionist temporal classification (Graves et al., 2006)."""

    phones: Phones
    errors: Errors = field(default_factory=Errors)
    states: int = 0

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor, list[int]]:
        """Divided by phones, it is the loss a phone.

        An utterance too short for its phones adds nothing: the gradients are those of the batch without it.
        """
        losses = torch.nn.functional.ctc_loss(
            scores.log_softmax(-1).transpose(0, 1),
            batch.targets,
            batch.lengths,
            batch.target_lengths,
            blank=BLANK,
            reduction="none",
            zero_infinity=True,
        )
        repeats = ((batch.targets[:, 1:] == batch.targets[:, :-1]) & (batch.targets[:, 1:] != BLANK)).sum(1)
        fits = batch.lengths >= batch.target_lengths + repeats.to(batch.lengths.device)
        return (
            losses[fits.to(losses.device)].sum(),
            batch.target_lengths[fits].sum(),
            torch.nonzero(~fits).flatten().tolist(),
        )

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Phone error rate of greedy decoding."""
        self.errors = evaluate_store(model, store, checkpoint)
        return self.errors.phone_error_rate

    def draw(self, path: Path) -> None:
        draw_confusions(self.errors.confusions, self.phones, path)


@dataclass(frozen=True)
class Alignments:
    """The state of each network frame of utterances, by their ids."""

    topology: Topology
    states: dict[str, Alignment]

    def save(self, path: Path) -> None:
        """Writes an .npz file, whole or not at all."""
        ends = np.cumsum([len(states) for states in self.states.values()])
        with write_atomically(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                phones=np.array(self.topology.phones, np.str_),
                states=self.topology.states,
                ids=np.array(list(self.states), np.str_),
                ends=ends,
                frames=np.concatenate([*self.states.values(), np.empty(0, np.int64)]).astype(np.int32),
            )

    @classmethod
    def load(cls, path: Path) -> "Alignments":
        """Reads what `save` wrote.

        Raises:
            InputError: the file is missing, or something else.
        """
        try:
            with np.load(path) as file:
                topology = Topology(tuple(map(str, file["phones"])), int(file["states"]))
                frames = file["frames"].astype(np.int64)
                if ((frames < 0) | (frames >= topology.outputs)).any():
                    raise ValueError(f"states outside of the {topology.outputs} that there are")
                parts = np.split(frames, file["ends"][:-1])
                return cls(topology, dict(zip(map(str, file["ids"]), parts, strict=True)))
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} holds no alignments: {error}; `tetraphone reproduce` writes them") from error


@dataclass(frozen=True)
class Frames:
    """Negative log-likelihood of each frame's state: the hybrid of networks and hidden Markov models."""

    alignments: Alignments

    @property
    def states(self) -> int:
        return self.alignments.topology.states

    def targets(self, lengths: Tensor, ids: Sequence[str]) -> Tensor:
        """[utterances, frames], IGNORED behind an utterance's end.

        Raises:
            InputError: an utterance has no alignment, or one of another length.
        """
        if not ids:
            return torch.full((len(lengths), int(lengths.max())), IGNORED)
        found = []
        for name, length in zip(ids, lengths.tolist(), strict=True):
            alignment = self.alignments.states.get(name, np.empty(0, np.int64))
            if len(alignment) != length:
                raise InputError(f"{name} has {length} frames, its alignment {len(alignment)}; align it again")
            found.append(torch.from_numpy(alignment))
        return torch.nn.utils.rnn.pad_sequence(found, batch_first=True, padding_value=IGNORED)

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor, list[int]]:
        """Divided by frames, it is the loss a frame."""
        targets = self.targets(batch.lengths, batch.ids).to(scores.device)
        loss = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        return loss, batch.lengths.sum(), []

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Share of the frames whose best state is another one than aligned."""
        wrong = frames = 0
        for index, scores in enumerate_scores(model, store, checkpoint):
            aligned = self.targets(torch.tensor([len(scores)]), [store.utterances[index].id])[0].numpy()
            wrong, frames = wrong + int((scores.argmax(-1) != aligned).sum()), frames + len(scores)
        return 100 * wrong / frames

    def draw(self, path: Path) -> None:
        """Nothing: states are too many to look at."""


def enumerate_scores(
    model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """(index, scores [network frames, outputs]) of each utterance of a store, in no order."""
    phone_index = score_index(checkpoint.phones)
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for indices in buckets(store.lengths, 16):
            batch = collate(store, indices, checkpoint.features, checkpoint.normalisation, phone_index)
            scores = model.scores(batch.x.to(device), batch.lengths).cpu().numpy()  # type: ignore[operator]
            for place, index in enumerate(indices):
                yield index, scores[place, : batch.lengths[place]]
    model.train(was_training)


def evaluate_store(
    model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint, scored: Callable[[Phones], Phones] = tuple
) -> Errors:
    """Errors of greedy decoding over a store; `scored` gives phones as they are compared."""
    errors = Errors()
    for index, scores in enumerate_scores(model, store, checkpoint):
        hypothesis = best_path(scores, checkpoint.phones)
        errors.add(scored(store.utterances[index].phones), scored(hypothesis))
    return errors
