"""Training for the hidden Markov state that each frame is in, by alignments."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.train.data.batches import Batch
from tetraphone.train.data.store import FeatureStore
from tetraphone.train.network.model import Checkpoint

from .hmm import Alignment, Topology
from .objective import enumerate_scores

IGNORED = -100
"""The target of a frame behind an utterance's end."""


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
class Framewise:
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

    def units(self, batch: Batch) -> Tensor:
        """Frames."""
        return batch.lengths.sum()

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, list[int]]:
        """None is left out."""
        targets = self.targets(batch.lengths, batch.ids).to(scores.device)
        loss = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        return loss, []

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Share of the frames whose best state is another one than aligned."""
        wrong = frames = 0
        for index, scores in enumerate_scores(model, store, checkpoint):
            aligned = self.targets(torch.tensor([len(scores)]), [store.utterances[index].id])[0].numpy()
            wrong, frames = wrong + int((scores.argmax(-1) != aligned).sum()), frames + len(scores)
        return 100 * wrong / frames

    def draw(self, path: Path) -> None:
        """Nothing: states are too many to look at."""
