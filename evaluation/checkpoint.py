"""A checkpoint as a model: samples in, phones out, in torch."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tetraphone.common.phones import TIME_DIGITS
from tetraphone.quant.quantize import load as load_checkpoint
from tetraphone.quant.quantize import quantized_scores
from tetraphone.recognition.ctc import greedy
from tetraphone.recognition.model import BoundedSpectrogram, LoadedModel, ModelOutput
from tetraphone.sound.audio import Samples, joined, to_mono
from tetraphone.sound.features import Frames, log_mel, network_input
from tetraphone.train.network.model import Checkpoint, outputs


def from_checkpoint(path: Path) -> LoadedModel:
    """The model of a checkpoint's file, as it would be exported.

    Raises:
        InputError: the file is missing, damaged, or not a checkpoint of this version.
    """
    checkpoint = load_checkpoint(path).to_ship()
    features = checkpoint.features
    checkpoint.model.eval()

    def recognize(blocks: Iterable[Samples], rate: int, _: bool) -> ModelOutput:
        samples = joined(blocks)
        energies, scores = energies_and_scores(checkpoint, samples, rate)
        phones = greedy(scores, checkpoint.phones, features.shift, features.offset)
        end, confidence = round(len(samples) / rate, TIME_DIGITS), checkpoint.confidence.apply
        timed = [
            replace(item, end=min(item.end, end), confidence=round(confidence(item.confidence), 4)) for item in phones
        ]
        spectrogram = BoundedSpectrogram(features.hop_ms / 1000)
        spectrogram.add(energies)
        return ModelOutput(timed, len(scores), spectrogram.energies, spectrogram.hop)

    return LoadedModel(str(path), checkpoint.phones, recognize)


def energies_and_scores(checkpoint: Checkpoint, samples: Samples, rate: int) -> tuple[Frames, NDArray[np.float32]]:
    """Log-mel energies [frames, bands] and scores [network frames, outputs] of samples [frames, channels]."""
    energies = log_mel(to_mono(samples, rate, checkpoint.features.sample_rate), checkpoint.features)
    frames = torch.from_numpy(network_input(energies, checkpoint.features, checkpoint.normalisation))
    if not len(frames):
        return energies, np.zeros((0, outputs(checkpoint.phones, 0)), np.float32)
    return energies, quantized_scores(checkpoint.model, frames).numpy()
