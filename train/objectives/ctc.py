"""Training for the phones of an utterance, whenever they are spoken (CTC)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from tetraphone.recognition.ctc import BLANK, best_path
from tetraphone.recognition.scoring import Errors
from tetraphone.train.data.batches import Batch
from tetraphone.train.data.store import FeatureStore
from tetraphone.train.network.model import Checkpoint
from tetraphone.train.pictures import draw_confusions

from .objective import enumerate_scores

Phones = Sequence[str]


@dataclass
class Ctc:
    """Connectionist temporal classification (Graves et al., 2006)."""

    phones: Phones
    errors: Errors = field(default_factory=Errors)
    states: int = 0

    def units(self, batch: Batch) -> Tensor:
        """Phones of the utterances that are not too short for them."""
        return batch.target_lengths[_fits(batch)].sum()

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, list[int]]:
        """An utterance too short for its phones adds nothing: the gradients are those of the batch without it."""
        losses = torch.nn.functional.ctc_loss(
            scores.log_softmax(-1).transpose(0, 1),
            batch.targets,
            batch.lengths,
            batch.target_lengths,
            blank=BLANK,
            reduction="none",
            zero_infinity=True,
        )
        fits = _fits(batch)
        return losses[fits.to(losses.device)].sum(), torch.nonzero(~fits).flatten().tolist()

    def error(self, model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> float:
        """Phone error rate of greedy decoding."""
        self.errors = evaluate_store(model, store, checkpoint)
        return self.errors.phone_error_rate

    def draw(self, path: Path) -> None:
        draw_confusions(self.errors.confusions, self.phones, path)


def _fits(batch: Batch) -> Tensor:
    """Whether each utterance has a frame for each of its phones, and for each blank between two of the same."""
    repeats = ((batch.targets[:, 1:] == batch.targets[:, :-1]) & (batch.targets[:, 1:] != BLANK)).sum(1)
    return batch.lengths >= batch.target_lengths + repeats.to(batch.lengths.device)


def evaluate_store(
    model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint, scored: Callable[[Phones], Phones] = tuple
) -> Errors:
    """Errors of greedy decoding over a store; `scored` gives phones as they are compared."""
    errors = Errors()
    for index, scores in enumerate_scores(model, store, checkpoint):
        hypothesis = best_path(scores, checkpoint.phones)
        errors.add(scored(store.utterances[index].phones), scored(hypothesis))
    return errors
