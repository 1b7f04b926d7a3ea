"""Distillation: a network learns the posteriors of larger ones beside the phones (Hinton et al., 2015)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.recognition.ctc import score_index
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.batches import Batch, collate
from tetraphone.train.data.ragged import Ragged, open_ragged, write_ragged
from tetraphone.train.data.store import FeatureStore
from tetraphone.train.network.model import Checkpoint

from .ctc import Ctc

TEACHER_BATCH = 32
"""Utterances whose posteriors are computed at a time."""


@dataclass(frozen=True)
class TeacherPosteriors(Ragged):
    """The teachers' log posteriors of all utterances of a store, [network frames, outputs] each, in half precision; at
    each of its speeds, without changes and augmentation."""

    def of(self, batch: Batch) -> Tensor:
        """[utterances, network frames, outputs] of a batch of the store, minus infinity behind an utterance's end."""
        known = self.ends.shape[1]  # behind its speeds a store has changes of the first, of the same length
        speeds = [speed if speed < known else 0 for speed in batch.speeds]
        parts = map(self.part, batch.indices, speeds)
        rows = [torch.from_numpy(part.astype(np.float32)) for part in parts]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-torch.inf)


def check_teacher(teacher: Checkpoint, path: str, phones: tuple[str, ...], features: FeatureOptions) -> None:
    """Whether a checkpoint's scores are those that a network of these phones and features gives; `path` is for errors.

    Raises:
        InputError: its outputs or frames are others.
    """
    if teacher.states or teacher.phones != phones:
        raise InputError(f"the teacher {path} has other outputs; train one by CTC with these phones")
    if teacher.features != features:
        raise InputError(f"the teacher {path} has {teacher.features}, not {features}; train one with the same")


def checkpoints_digest(checkpoints: Sequence[Checkpoint]) -> str:
    """SHA-256 of all that decides their posteriors: network, normalisation and weights of each."""
    digest = hashlib.sha256()
    for checkpoint in checkpoints:
        digest.update(json.dumps(asdict(checkpoint.network)).encode())
        for part in (checkpoint.normalisation.mean, checkpoint.normalisation.deviation):
            digest.update(part.tobytes())
        for name, weight in checkpoint.model.state_dict().items():
            digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()


def teacher_posteriors(
    teachers: Sequence[Checkpoint], store: FeatureStore, path: Path, device: torch.device, bfloat16: bool
) -> TeacherPosteriors:
    """Computes the teachers' posteriors of a store into `path` (.f16), its index beside it, or opens what is there.

    Of several it is the mean of their log posteriors, normalised: what any of them holds very unlikely stays so.

    Raises:
        InputError: `path` cannot be written.
    """
    source = json.dumps([checkpoints_digest(teachers), store.source, bfloat16])
    width = len(teachers[0].phones) + 1
    opened = open_ragged(path, width, np.float16, source)
    if opened is None:
        _compute(teachers, store, path, device, bfloat16, source)
        opened = open_ragged(path, width, np.float16, source)
    if opened is None:
        raise InputError(f"{path} is not what was written to it; does another process write there?")
    return TeacherPosteriors(opened[0].rows, opened[0].ends)


def _compute(
    teachers: Sequence[Checkpoint], store: FeatureStore, path: Path, device: torch.device, bfloat16: bool, source: str
) -> None:
    phone_index = score_index(teachers[0].phones)
    utterances, speeds = len(store.utterances), store.speeds
    for teacher in teachers:
        teacher.model.to(device).eval()
    with (
        write_ragged(path, speeds, source) as writer,
        torch.inference_mode(),
        torch.autocast(device.type, torch.bfloat16, enabled=bfloat16),
        Progress[None](what="teachers listen", total=utterances, unit="utterances") as bar,
    ):
        for first in range(0, utterances, TEACHER_BATCH):
            indices = range(first, min(first + TEACHER_BATCH, utterances))
            by_speed = []
            for speed in range(speeds):
                posteriors = []
                for teacher in teachers:
                    batch = collate(store, indices, teacher.features, teacher.normalisation, phone_index, speed=speed)
                    scores = teacher.model.scores(batch.x.to(device), batch.lengths)  # type: ignore[operator]
                    posteriors.append(scores.float().log_softmax(-1))
                rows = torch.stack(posteriors).mean(0).log_softmax(-1).to(torch.float16).cpu().numpy()
                by_speed.append([part[:length] for part, length in zip(rows, batch.lengths, strict=True)])
            for parts in zip(*by_speed, strict=True):
                for part in parts:
                    writer.add(part)
            bar.update(len(indices))


@dataclass
class Distilled(Ctc):
    """CTC, and the divergence of each frame's posteriors from the teachers'."""

    share: float = field(kw_only=True)
    """Weight of the divergence; CTC has the rest of 1."""
    posteriors: TeacherPosteriors = field(kw_only=True)

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, list[int]]:
        """Both parts are to be divided by phones."""
        loss, left_out = super().loss(scores, batch)
        if not batch.ids:
            return loss, left_out
        teacher = self.posteriors.of(batch).to(scores.device)
        inside = torch.arange(teacher.shape[1], device=teacher.device) < batch.lengths.to(teacher.device)[:, None]
        divergence = torch.nn.functional.kl_div(
            scores.log_softmax(-1)[inside], teacher[inside], reduction="sum", log_target=True
        )
        return (1 - self.share) * loss + self.share * divergence, left_out
