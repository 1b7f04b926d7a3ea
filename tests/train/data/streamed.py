"""Streams of the tiny corpus, and what is compared of their batches."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lhotse import Recording, SupervisionSegment

from tetraphone.common.phones import ARPABET
from tetraphone.corpora.utterance import Utterance
from tetraphone.sound.features import FeatureOptions, Normalisation
from tetraphone.train.data.augment import Acoustics, Augmentation, SpecAugment, VocalTract
from tetraphone.train.data.stream import StreamedBatch, StreamedBatches

OPTIONS = FeatureOptions(bands=12)
INDEX = {phone: position + 1 for position, phone in enumerate(ARPABET)}
NORMALISATION = Normalisation(np.linspace(-9, 1, 48, dtype=np.float32), np.full(48, 2, np.float32))
AUGMENTATION = Augmentation(VocalTract(), Acoustics(), SpecAugment())


def pair_of(utterance: Utterance) -> tuple[Recording, SupervisionSegment]:
    recording = Recording.from_file(utterance.audio, recording_id=f"r-{utterance.id}")
    phones = {"phones": list(utterance.phones)}
    supervision = SupervisionSegment(
        utterance.id, recording.id, 0.0, utterance.duration, speaker=utterance.speaker, custom=phones
    )
    return recording, supervision


def batches_of(*corpora: Path | str, **options: Any) -> StreamedBatches:
    options = {"batch_size": 4, "seed": 1, **options}
    return StreamedBatches([str(corpus) for corpus in corpora], OPTIONS, NORMALISATION, INDEX, **options)


def ids(batches: Iterator[StreamedBatch] | Sequence[StreamedBatch]) -> list[list[str]]:
    return [[utterance.id for utterance in batch.utterances] for batch in batches]


def flat(names: Sequence[Sequence[str]]) -> list[str]:
    return [name for batch in names for name in batch]


def assert_same(ours: Sequence[StreamedBatch], theirs: Sequence[StreamedBatch]) -> None:
    assert ids(ours) == ids(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.indices == other.indices
        for name in ("x", "lengths", "targets", "target_lengths"):
            assert torch.equal(getattr(one, name), getattr(other, name)), name
