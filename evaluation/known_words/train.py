"""The head that aligns known words, trained on phones whose times are known."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus
from tetraphone.corpora.utterance import PhoneTimes, Utterance
from tetraphone.evaluation.utterances import process_utterances
from tetraphone.export.writer import export
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.sound.audio import Samples, joined, to_mono
from tetraphone.sound.features import FeatureOptions, log_mel, network_input
from tetraphone.train.data.noise import mixed, pink_noise
from tetraphone.train.network.aligner import SUB_FRAMES, AlignerHead
from tetraphone.train.network.model import Checkpoint, hidden

from .boundaries import BoundaryErrors
from .options import AlignerOptions

SILENCE = 0
NOISE_DECIBELS = (5.0, 40.0)
"""By how much noise lies below the speech."""
FOLDS = 10
"""At most, of speakers who are left out together."""


@dataclass(frozen=True)
class Example:
    """An utterance with times."""

    utterance: Utterance
    times: PhoneTimes
    samples: Samples
    """Mono, at the model's rate."""
    windows: Tensor
    """[2 · frames, inputs of the head], 16 bits: of the utterance as it is, then in noise."""
    classes: Tensor
    """[2 · frames, SUB_FRAMES]: silence 0, then the phones."""


def train_aligner(checkpoint: Checkpoint, corpus: Corpus, options: AlignerOptions) -> tuple[Checkpoint, dict[str, Any]]:
    """The checkpoint with a head that aligns.

    The head is a linear classifier of the thirds of a network frame; it hears each utterance as it is and in noise.
    What it is worth is measured on each speaker by a head that others trained (of more than FOLDS speakers, those of
    the other folds); the median of these errors is its shift.

    Returns:
        A changed copy, and {"utterances", "untimed", "speakers", "weights", "shift_ms", "problems"} with the figures of
        `BoundaryErrors`, where there are two speakers or more.

    Raises:
        InputError: the network cannot be exported or has other frames than three of features; the corpus has no times.
    """
    checkpoint, problems = checkpoint.to_ship(), list(corpus.problems)
    if checkpoint.features.stride != SUB_FRAMES:
        fault = f"a network frame of {checkpoint.features.stride} feature frames has no {SUB_FRAMES} equal parts of one"
        raise InputError(f"{fault}; give a checkpoint with the feature option stride {SUB_FRAMES}")
    timed = tuple(utterance for utterance in corpus.utterances if utterance.times)
    if not timed:
        raise InputError(f"{corpus.name} has no times of phones; give a corpus with alignments")
    examples = list(_examples(checkpoint, replace(corpus, utterances=timed), options, problems))
    speakers = sorted({example.utterance.speaker for example in examples})
    report: dict[str, Any] = {"utterances": len(examples), "untimed": len(corpus.utterances) - len(timed)}
    report["speakers"] = len(speakers)
    shift = 0.0
    if len(speakers) > 1:
        errors = BoundaryErrors()
        folds = [speakers[index::FOLDS] for index in range(min(FOLDS, len(speakers)))]
        for fold in Progress(folds, "leaving speakers out", unit="folds"):
            others = [example for example in examples if example.utterance.speaker not in fold]
            own = [example for example in examples if example.utterance.speaker in fold]
            _measure(replace(checkpoint, aligner=_fit(checkpoint, others, options)), own, errors, problems)
        shift = -errors.median
        report |= BoundaryErrors([error + shift for error in errors.errors]).figures()
    head = _fit(checkpoint, examples, options)
    head.shift = shift
    report |= {"weights": head.linear.weight.numel(), "shift_ms": round(1000 * shift, 2), "problems": problems}
    return replace(checkpoint, aligner=head, scorer=None), report  # which reads where the aligner finds phones


def _new_head(checkpoint: Checkpoint, options: AlignerOptions) -> AlignerHead:
    """Of zeros; it sees the energies of a frame, without their derivatives."""
    features = checkpoint.features.bands * checkpoint.features.stack
    outputs = SUB_FRAMES * (1 + len(checkpoint.phones))
    weight = torch.zeros(outputs, options.rows * checkpoint.network.hidden + features)
    return AlignerHead(
        weight, torch.zeros(outputs), rows=options.rows, features=features, delay=options.delay, shift=0.0
    )


def _examples(
    checkpoint: Checkpoint, corpus: Corpus, options: AlignerOptions, problems: list[str]
) -> Iterator[Example]:
    features, head = checkpoint.features, _new_head(checkpoint, options)

    def windows_of(samples: Samples) -> Tensor:
        x = torch.from_numpy(network_input(log_mel(samples, features), features, checkpoint.normalisation))
        return head.windows(hidden(checkpoint, x), x).half()

    random = np.random.default_rng(options.seed)

    def heard(blocks: Iterator[Samples], rate: int) -> tuple[Samples, Tensor, Tensor]:
        samples = to_mono(joined(blocks), rate, features.sample_rate)
        return samples, windows_of(samples), windows_of(_in_noise(samples, random))

    for utterance, (samples, clean, noisy) in process_utterances(corpus, problems, heard, lambda found: len(found[1])):
        times = utterance.times or ()
        if unknown := sorted({phone for phone, _, _ in times if phone not in checkpoint.phones}):
            lacking = f"its times name {', '.join(unknown)}, which the model lacks"
            problems.append(f"{utterance.label}: left out, since {lacking}; give a --fold")
            continue
        classes = classes_of(times, checkpoint.phones, len(clean), features)
        yield Example(utterance, times, samples, torch.cat([clean, noisy]), classes.repeat(2, 1))


def _in_noise(samples: Samples, random: np.random.Generator) -> Samples:
    """White or pink noise beside it, so that noise before a word is not taken for its beginning."""
    count = len(samples)
    noise = random.standard_normal(count) if random.random() < 0.5 else pink_noise(count, random)
    return mixed(samples, noise, random.uniform(*NOISE_DECIBELS))


def classes_of(times: PhoneTimes, phones: Sequence[str], frames: int, features: FeatureOptions) -> Tensor:
    """What is said in the middle of each sub-frame: [frames, SUB_FRAMES], silence 0, phone k as k + 1."""
    middles = (torch.arange(frames * SUB_FRAMES) + 0.5) * features.shift / SUB_FRAMES + features.offset
    classes = torch.full((frames * SUB_FRAMES,), SILENCE)
    for phone, start, end in times:
        classes[(middles >= start) & (middles < end)] = phones.index(phone) + 1
    return classes.reshape(frames, SUB_FRAMES)


def _fit(checkpoint: Checkpoint, examples: Sequence[Example], options: AlignerOptions) -> AlignerHead:
    """A head of least cross-entropy over the sub-frames, less the share `prior` of their logarithmic frequencies."""
    head = _new_head(checkpoint, options)
    windows = torch.cat([example.windows for example in examples])
    classes = torch.cat([example.classes for example in examples])
    generator = torch.Generator().manual_seed(options.seed)
    steps = options.epochs * -(-len(windows) // options.batch_size)
    optimizer = torch.optim.AdamW(head.parameters(), options.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in Progress(range(options.epochs), "training the head", unit="epochs"):
        for batch in torch.randperm(len(windows), generator=generator).split(options.batch_size):
            scores = head(windows[batch].float()).unflatten(1, (SUB_FRAMES, -1))
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), classes[batch].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    counts = torch.bincount(classes.flatten(), minlength=1 + len(checkpoint.phones)) + 1.0
    with torch.no_grad():
        head.linear.bias.sub_(options.prior * (counts / counts.sum()).log().repeat(SUB_FRAMES))
    return head.eval()


def _measure(checkpoint: Checkpoint, examples: Sequence[Example], errors: BoundaryErrors, problems: list[str]) -> None:
    """Aligns the phones of each example, with silence where the aligner finds it, as the exported file does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "aligner.pte"
        export(checkpoint, path)
        with Recognizer.load(path) as recognizer, recognizer.aligner() as aligner:
            for example in Progress(examples, "aligning", unit="utterances"):
                phones = " | ".join(phone for phone, _, _ in example.times)
                try:
                    found = aligner.align(example.samples, checkpoint.features.sample_rate, phones=phones).phones
                except InputError as error:
                    problems.append(f"{example.utterance.label}: not measured, since {error}")
                    continue
                errors.add(example.times, ((phone.start, phone.end) for phone in found))
