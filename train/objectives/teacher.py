"""Distillation: a network learns what larger ones say of each frame, beside the phones (Hinton et al., 2015)."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.common.files import write_atomically
from tetraphone.common.progress import Progress
from tetraphone.recognition.ctc import score_index
from tetraphone.sound.features import FeatureOptions
from tetraphone.train.data.store import Batch, FeatureStore, collate
from tetraphone.train.network.model import Checkpoint

from .objective import Ctc

LISTENED = 32
"""Utterances that teachers hear at a time."""


@dataclass(frozen=True)
class Lesson:
    """The teachers' log posteriors of all utterances of a store, at each of its speeds and without augmentation."""

    log_posteriors: NDArray[np.float16]
    """[network frames of all, outputs], memory-mapped."""
    ends: NDArray[np.int64]
    """[utterances, speeds]: the row behind each; rows of an utterance's speeds follow one another."""

    def rows(self, index: int, speed: int) -> Tensor:
        """[network frames, outputs] of one utterance."""
        position = index * self.ends.shape[1] + speed
        ends = self.ends.reshape(-1)
        rows = self.log_posteriors[ends[position - 1] if position else 0 : ends[position]]
        return torch.from_numpy(rows.astype(np.float32))

    def of(self, batch: Batch) -> Tensor:
        """[utterances, network frames, outputs] of a batch of the store, minus infinity behind an utterance's end."""
        rows = list(map(self.rows, batch.indices, batch.speeds))
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
    """SHA-256 of all that decides what they say: network, normalisation and weights of each."""
    digest = hashlib.sha256()
    for checkpoint in checkpoints:
        digest.update(json.dumps(asdict(checkpoint.network)).encode())
        for part in (checkpoint.normalisation.mean, checkpoint.normalisation.deviation):
            digest.update(part.tobytes())
        for name, weight in checkpoint.model.state_dict().items():
            digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()


def listen(
    teachers: Sequence[Checkpoint], store: FeatureStore, path: Path, device: torch.device, bfloat16: bool
) -> Lesson:
    """Computes what the teachers say of a store into `path` (.f16), its index beside it, or opens what is there.

    With several it is the mean of their log posteriors, normalised: what any of them holds very unlikely stays so.
    """
    index_path = path.with_suffix(".npz")
    source = json.dumps([checkpoints_digest(teachers), store.source, bfloat16])
    width = len(teachers[0].phones) + 1
    ends = _ends(path, source, width)
    if ends is None:
        ends = _listen(teachers, store, path, device, bfloat16)
        with write_atomically(index_path) as temporary:
            np.savez(temporary, ends=ends, source=source)
    return Lesson(np.memmap(path, np.float16, "r").reshape(-1, width), ends)


def _ends(path: Path, source: str, width: int) -> NDArray[np.int64] | None:
    """Where each utterance ends in `path`, if it is whole and of this source."""
    try:
        with np.load(path.with_suffix(".npz")) as index:
            ends: NDArray[np.int64] = index["ends"]
            whole = path.stat().st_size == ends[-1, -1] * width * np.dtype(np.float16).itemsize
            return ends if whole and index["source"] == source else None
    except (OSError, EOFError, KeyError, ValueError, IndexError, zipfile.BadZipFile):
        return None


def _listen(
    teachers: Sequence[Checkpoint], store: FeatureStore, path: Path, device: torch.device, bfloat16: bool
) -> NDArray[np.int64]:
    """Writes the file; returns where each utterance ends in it."""
    phone_index, ends, row = score_index(teachers[0].phones), np.zeros_like(store.ends), 0
    for teacher in teachers:
        teacher.model.to(device).eval()
    with (
        write_atomically(path) as temporary,
        temporary.open("wb") as file,
        torch.inference_mode(),
        torch.autocast(device.type, torch.bfloat16, enabled=bfloat16),
        Progress[None](what="teachers listen", total=len(ends), unit="utterances") as bar,
    ):
        for first in range(0, len(ends), LISTENED):
            indices = range(first, min(first + LISTENED, len(ends)))
            said = []
            for speed in range(ends.shape[1]):
                heard = []
                for teacher in teachers:
                    batch = collate(store, indices, teacher.features, teacher.normalisation, phone_index, speed=speed)
                    scores = teacher.model.scores(batch.x.to(device), batch.lengths)  # type: ignore[operator]
                    heard.append(scores.float().log_softmax(-1))
                rows = torch.stack(heard).mean(0).log_softmax(-1).to(torch.float16).cpu().numpy()
                said.append([part[:length] for part, length in zip(rows, batch.lengths, strict=True)])
            for index, parts in zip(indices, zip(*said, strict=True), strict=True):
                for speed, part in enumerate(parts):
                    file.write(part.tobytes())
                    row += len(part)
                    ends[index, speed] = row
            bar.update(len(indices))
        file.flush()
        path.with_suffix(".npz").unlink(missing_ok=True)  # a kill must not leave it beside another's posteriors
    return ends


@dataclass
class Distilled(Ctc):
    """CTC, and the divergence of each frame's posteriors from the teachers'."""

    share: float = field(kw_only=True)
    """Weight of the divergence; CTC has the rest of 1."""
    lesson: Lesson = field(kw_only=True)

    def loss(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor, list[int]]:
        """Both parts are divided by phones."""
        loss, phones, left_out = super().loss(scores, batch)
        if not batch.ids:
            return loss, phones, left_out
        said = self.lesson.of(batch).to(scores.device)
        inside = torch.arange(said.shape[1], device=said.device) < batch.lengths.to(said.device)[:, None]
        divergence = torch.nn.functional.kl_div(
            scores.log_softmax(-1)[inside], said[inside], reduction="sum", log_target=True
        )
        return (1 - self.share) * loss + self.share * divergence, phones, left_out
