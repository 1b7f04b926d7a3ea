"""What a network is trained for: a loss, and an error over a feature store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tetraphone.recognition.ctc import score_index
from tetraphone.train.data.batches import Batch, buckets, collate
from tetraphone.train.data.store import FeatureStore
from tetraphone.train.network.model import Checkpoint


class Objective(Protocol):
    """A loss, and the error by which the best model is chosen."""

    @property
    def states(self) -> int:
        """See `Checkpoint.states`."""

    def units(self, batch: Batch) -> Tensor:
        """What to divide the loss by: how many things it is a sum over."""

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, list[int]]:
        """The loss summed over the batch, and places in the batch that were left out."""

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Percent, over a store."""

    def draw(self, path: Path) -> None:
        """A picture of what the last call of `error` found."""


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
