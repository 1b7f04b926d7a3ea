"""The training run, downwards: options, data, model, loop, pictures."""

import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from .augment import Acoustics, Augmentation, SpecAugment
from .corpus import Corpus, Utterance, corpus_parts, read_corpus
from .data import Batch, FeatureStore, buckets, collate, extract
from .errors import InputError
from .features import FeatureOptions
from .files import new_folder, remove_partial, write_atomically
from .model import (
    BLANK,
    AcousticModel,
    Checkpoint,
    NetworkOptions,
    from_content,
    load_checkpoint,
    read_content,
    score_index,
)
from .phones import ARPABET
from .pictures import draw_confusions, draw_curves
from .scoring import Errors, best_path

MODEL, LAST, METRICS, CONFUSIONS = "model.pt", "last.pt", "metrics.jsonl", "confusions.png"
SPEEDS = (1.0, 0.9, 1.1)


@dataclass(frozen=True)
class TrainOptions:
    """How to train; with the corpora, all that decides the final weights on one machine."""

    network: NetworkOptions = field(default_factory=NetworkOptions)
    init: str = ""
    """A checkpoint to start from: its weights, network, features and normalisation; only dropout is this run's. With
    other phones the output layer is new."""
    phones: Literal["arpabet", "corpus"] = "arpabet"
    """The phone set: 39 ARPABET phones without stress, or whatever symbols the training corpora have."""
    features: FeatureOptions = field(default_factory=FeatureOptions)
    dev: tuple[str, ...] = ()
    """Corpora to choose the best epoch by; else the training corpora's parts dev, else held-out speakers."""
    hold_out: float = 0.05
    """Share of the speakers to hold out where no development corpus is given, 0 to 1."""
    epochs: int = 20
    """Passes over the training set."""
    batch_size: int = 32
    """Utterances a step."""
    optimizer: Literal["adamw", "rmsprop"] = "adamw"
    """AdamW, or the paper's RMSProp."""
    learning_rate: float = 1e-2
    """Greatest learning rate; quaternion networks under CTC want more than real ones."""
    weight_decay: float = 1e-2
    """AdamW's."""
    schedule: Literal["cosine", "halving"] = "cosine"
    """Cosine to zero, or the paper's: halved after an epoch that lowers the error by less than 0.1 points."""
    warmup_steps: int = 300
    """Steps over which the learning rate rises from zero."""
    clip: float = 5.0
    """Greatest norm of the gradient."""
    spec_augment: bool = False
    """Mask bands and stretches of time."""
    acoustics: bool = False
    """Vary level, microphone, room and noise."""
    speed_perturbation: bool = False
    """Draw each utterance at 0.9, 1 or 1.1 of its speed."""
    seed: int = 1
    """Of weights, order, dropout and augmentation."""
    rounding: Literal["none", "int8", "int4"] = "none"
    """Train weights to be quantised: they count as rounded, gradients pass straight through. Uni-directional only."""
    bfloat16: bool = False
    """Multiply in bfloat16 (autocast): twice as fast on processors with AMX; weights and loss stay float32."""
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Processor threads; the same number gives the same bits."""
    checkpoint_steps: int = 200
    """Steps from checkpoint to checkpoint: what a kill can cost."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "learning_rate", "clip", "threads", "checkpoint_steps"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("weight_decay", "warmup_steps"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 0 and finite")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed is {self.seed}; give one from 0 to {2**32 - 1}")
        if not 0 < self.hold_out < 1:
            raise InputError(f"hold_out is {self.hold_out}; give a share between 0 and 1")


def ctc_loss(scores: Tensor, batch: Batch) -> tuple[Tensor, list[int]]:
    """CTC loss a phone over the batch, and the places in the batch that have no finite loss and were left out.

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
    fits = batch.lengths >= batch.target_lengths + repeats
    phones = batch.target_lengths[fits].sum().clamp_min(1)
    return losses[fits].sum() / phones, torch.nonzero(~fits).flatten().tolist()


def read_training_sets(
    corpora: Iterable[str], options: TrainOptions
) -> tuple[list[Utterance], list[Utterance], list[str]]:
    """Training and development utterances, and what was left out."""
    phones = ARPABET if options.phones == "arpabet" else None
    read = [read_corpus(spec, "train", phones) for spec in corpora]
    if phones is None:
        phones = phone_set(corpus.utterances for corpus in read)
    dev: list[Corpus] = [read_corpus(spec, "dev", phones) for spec in options.dev]
    if not dev:
        dev = [read_corpus(spec, "dev", phones) for spec in corpora if "dev" in corpus_parts(Path(spec))]
    train = [utterance for corpus in read for utterance in corpus.utterances]
    held = [utterance for corpus in dev for utterance in corpus.utterances]
    if not held:
        speakers = sorted({utterance.speaker for utterance in train})
        count = max(1, round(options.hold_out * len(speakers)))
        if count >= len(speakers):
            voices = "one speaker only" if len(speakers) == 1 else f"{len(speakers)} speakers"
            raise InputError(f"the corpora have {voices}: holding out {count} leaves none to train on; give --dev")
        chosen = set(np.random.default_rng(options.seed).permutation(speakers)[:count].tolist())
        held = [utterance for utterance in train if utterance.speaker in chosen]
        train = [utterance for utterance in train if utterance.speaker not in chosen]
    return train, held, [problem for corpus in read + dev for problem in corpus.problems]


def phone_set(corpora: Iterable[Iterable[Utterance]]) -> tuple[str, ...]:
    """All phones of the utterances, in order of the alphabet."""
    return tuple(sorted({phone for corpus in corpora for utterance in corpus for phone in utterance.phones}))


def leaves(options: dict[str, Any]) -> dict[str, Any]:
    """Nested options under their own names, as the command line calls them."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        flat |= leaves(value) if isinstance(value, dict) else {name: value}
    return flat


def started_from(checkpoint: Checkpoint, options: TrainOptions) -> TrainOptions:
    """The options with the network and the features of the checkpoint that the run starts from.

    Raises:
        InputError: the options ask for another network or other features.
    """
    network = replace(checkpoint.network, dropout=options.network.dropout)
    for name, asked, theirs, default in (
        ("network", options.network, network, NetworkOptions(dropout=options.network.dropout)),
        ("features", options.features, checkpoint.features, FeatureOptions()),
    ):
        if asked not in (theirs, default):
            raise InputError(f"{options.init} has the {name} {theirs}, not {asked}; leave these options out")
    return replace(options, network=network, features=checkpoint.features)


Rounded = Callable[[Tensor, Any], Tensor]
"""A weight, and the number format to round it to."""


class Run:
    """One training run in a folder: what changes from step to step, and how it is kept."""

    def __init__(
        self,
        folder: Path,
        options: TrainOptions,
        corpora: tuple[str, ...],
        features: Path | None = None,
        rounded: Rounded | None = None,
    ) -> None:
        if options.rounding != "none" and (rounded is None or options.network.direction != "uni"):
            raise InputError(f"cannot train a {options.network.direction}-directional network for {options.rounding}")
        self.start = load_checkpoint(Path(options.init)) if options.init else None
        if self.start is not None:
            options = started_from(self.start, options)
        self.folder, self.options, self.corpora, self.rounded = folder, options, corpora, rounded
        self.features, self.keeps_features = features or folder, features is not None
        self.step = self.epoch = self.batch = 0
        self.best = self.last_error = math.inf
        self.scale = 1.0
        """Of the learning rate: what the halving schedule has left of it."""
        self.loss_sum, self.loss_batches = 0.0, 0
        self.infinite: list[str] = []

    @property
    def record(self) -> dict[str, Any]:
        """All that decides the weights, for the checkpoint."""
        return {**asdict(self.options), "corpora": list(self.corpora)}

    def saved(self) -> dict[str, Any] | None:
        """The content of the last checkpoint, None before the first.

        Raises:
            InputError: the file is damaged, or was made with other options.
        """
        path = self.folder / LAST
        if not path.exists():
            return None
        content = read_content(path)
        ours, theirs = (leaves(json.loads(json.dumps(options))) for options in (self.record, content["options"]))
        different = sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))
        if different:
            raise InputError(f"{path} was made with other options ({', '.join(different)}); resume with the same ones")
        return content

    def prepare(self, say: Callable[[str], None]) -> None:
        """Reads the corpora, builds the model, computes features."""
        options = self.options
        train, dev, problems = read_training_sets(self.corpora, options)
        generator = torch.Generator().manual_seed(options.seed)
        self.phones = ARPABET if options.phones == "arpabet" else phone_set([train, dev])
        self.model = AcousticModel(options.network, options.features.inputs, len(self.phones) + 1, generator)
        if self.start is not None:
            weights = self.start.model.state_dict()
            if self.start.phones != self.phones:
                say(f"{options.init} has other phones: the output layer is new")
                weights = {name: weight for name, weight in weights.items() if not name.startswith("output.")}
            self.model.load_state_dict(weights, strict=False)
        speeds = SPEEDS if options.speed_perturbation else SPEEDS[:1]
        workers = options.threads
        self.train = extract(train, options.features, self.features / "train.f32", speeds, workers)
        self.dev = extract(dev, options.features, self.features / "dev.f32", SPEEDS[:1], workers)
        problems += [*self.train.problems, *self.dev.problems]
        say(f"{len(self.train.utterances)} training and {len(self.dev.utterances)} development utterances")
        if problems:
            say(f"left out {len(problems)} utterances, listed in {self.folder / 'problems.txt'}: first, {problems[0]}")
            with write_atomically(self.folder / "problems.txt") as temporary:
                temporary.write_text("\n".join(problems) + "\n", encoding="utf-8")
        self.phone_index = score_index(self.phones)
        self.normalisation = self.start.normalisation if self.start is not None else self.train.normalisation()
        self.steps_per_epoch = -(-len(self.train.utterances) // options.batch_size)
        if options.optimizer == "adamw":
            self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(
                self.model.parameters(), options.learning_rate, weight_decay=options.weight_decay
            )
        else:
            self.optimizer = torch.optim.RMSprop(self.model.parameters(), options.learning_rate)

    def learning_rate(self) -> float:
        """Of the step to come."""
        options, total = self.options, self.options.epochs * self.steps_per_epoch
        rate = options.learning_rate * min(1.0, (self.step + 1) / max(1, options.warmup_steps))
        if options.schedule == "cosine":
            return rate * 0.5 * (1 + math.cos(math.pi * self.step / total))
        return rate * self.scale

    def train_step(self, indices: list[int]) -> float:
        """One optimiser step; its randomness depends on seed and step alone, so a resumed run repeats it."""
        random = np.random.default_rng([self.options.seed, 1, self.step])
        torch.manual_seed(self.options.seed * 1_000_003 + self.step)
        options = self.options
        augmentation = Augmentation(
            Acoustics() if options.acoustics else None, SpecAugment() if options.spec_augment else None
        )
        batch = collate(
            self.train, indices, options.features, self.normalisation, self.phone_index, random, augmentation
        )
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bfloat16):
            scores = self.scores(batch)
        loss, infinite = ctc_loss(scores.float(), batch)
        self.infinite += [self.train.utterances[batch.indices[place]].id for place in infinite]
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.clip, error_if_nonfinite=True)
        self.optimizer.step()
        return loss.item()

    def scores(self, batch: Batch) -> Tensor:
        """Of the model, or of the model with rounded weights."""
        if self.options.rounding == "none":
            return self.model.scores(batch.x, batch.lengths)
        scores: Tensor = torch.func.functional_call(self.model, self.rounded_weights(), (batch.x,))[0]
        return scores

    def rounded_weights(self) -> dict[str, Tensor]:
        """The matrices as they will be quantised, by their names."""
        assert self.rounded is not None
        matrices = {name: weight for name, weight in self.model.named_parameters() if weight.dim() > 1}
        return {name: self.rounded(weight, self.options.rounding) for name, weight in matrices.items()}

    def evaluated(self) -> Errors:
        """Development errors, of rounded weights where training rounds them."""
        model = self.model
        if self.options.rounding != "none":
            model = copy.deepcopy(model)
            model.load_state_dict(self.rounded_weights(), strict=False)
        return evaluate_store(model, self.dev, self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """The model as it is, and what `restore` needs."""
        names = ("step", "epoch", "batch", "best", "last_error", "scale", "loss_sum", "loss_batches", "infinite")
        return Checkpoint(
            self.model,
            self.options.network,
            self.options.features,
            self.normalisation,
            self.phones,
            options=self.record,
            training={"optimizer": self.optimizer.state_dict(), **{name: getattr(self, name) for name in names}},
        )

    def restore(self, content: dict[str, Any]) -> None:
        """Continues from what `saved` gave."""
        checkpoint = from_content(content, self.folder / LAST)
        self.model.load_state_dict(checkpoint.model.state_dict())
        training = dict(checkpoint.training)
        self.optimizer.load_state_dict(training.pop("optimizer"))
        for name, value in training.items():
            setattr(self, name, value)

    def run(self, say: Callable[[str], None]) -> Errors:
        """Trains to the end; returns the development errors of the best epoch."""
        options = self.options
        self._truncate_metrics()
        writer = SummaryWriter(str(self.folder), purge_step=self.step + (self.batch == 0))  # an epoch's end is kept
        total = options.epochs * self.steps_per_epoch
        with tqdm(total=total, initial=self.step, desc="training", unit="step", dynamic_ncols=True) as bar:
            while self.epoch < options.epochs:
                order = np.random.default_rng([options.seed, 0, self.epoch])
                batches = list(buckets(self.train.lengths, options.batch_size, order))
                self.model.train()
                for indices in batches[self.batch :]:
                    loss = self.train_step(indices)
                    self.step, self.batch = self.step + 1, self.batch + 1
                    self.loss_sum, self.loss_batches = self.loss_sum + loss, self.loss_batches + 1
                    bar.update()
                    bar.set_postfix(
                        loss=f"{self.loss_sum / self.loss_batches:.3f}", phone_error=f"{self.last_error:.1f}"
                    )
                    if self.step % options.checkpoint_steps == 0:
                        self.checkpoint().save(self.folder / LAST)
                self._end_epoch(writer)
        writer.close()
        if self.infinite:
            names = ", ".join(dict.fromkeys(self.infinite))
            say(f"{len(self.infinite)} times an utterance was left out, too short for its phones: {names}")
        return self._finish(say)

    def _end_epoch(self, writer: SummaryWriter) -> None:
        error = self.evaluated().phone_error_rate
        metrics = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "loss": self.loss_sum / max(1, self.loss_batches),
            "phone_error_rate": error,
            "learning_rate": self.learning_rate(),
        }
        if error > self.last_error - 0.1:
            self.scale *= 0.5
        self.last_error = error
        self.epoch, self.batch, self.loss_sum, self.loss_batches = self.epoch + 1, 0, 0.0, 0
        if error < self.best:
            self.best = error
            replace(self.checkpoint(), training={}).save(self.folder / MODEL)
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")
        for name in ("loss", "phone_error_rate", "learning_rate"):
            writer.add_scalar(name, metrics[name], self.step)
        writer.flush()
        self.checkpoint().save(self.folder / LAST)

    def _truncate_metrics(self) -> None:
        """Drops what an interrupted run wrote after its last checkpoint."""
        path = self.folder / METRICS
        kept = [line for line in read_metrics(path) if line["step"] <= self.step and line["epoch"] <= self.epoch]
        with write_atomically(path) as temporary:
            temporary.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def remove_features(self) -> None:
        """Of a finished run, unless they lie in a folder that was given."""
        if self.keeps_features:
            return
        for name in ("train", "dev"):
            for suffix in (".npz", ".f32"):  # a kill between the two must leave no index without its features
                (self.folder / name).with_suffix(suffix).unlink(missing_ok=True)

    def _finish(self, say: Callable[[str], None]) -> Errors:
        path = self.folder / MODEL
        self.model.load_state_dict(from_content(read_content(path), path).model.state_dict())
        errors = self.evaluated()
        draw_curves(read_metrics(self.folder / METRICS), self.folder / "curves.png")
        draw_confusions(errors.confusions, self.phones, self.folder / CONFUSIONS)
        self.remove_features()
        say(f"phone error rate {errors.phone_error_rate:.2f} % on the development set; the model is {path}")
        return errors


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; a last line that a kill cut short is left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    metrics = []
    for line in lines:
        try:
            metrics.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return metrics


def evaluate_store(model: torch.nn.Module, store: FeatureStore, checkpoint: Checkpoint) -> Errors:
    """Errors of greedy decoding over a store."""
    errors = Errors()
    phone_index = score_index(checkpoint.phones)
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for indices in buckets(store.lengths, 16):
            batch = collate(store, indices, checkpoint.features, checkpoint.normalisation, phone_index)
            scores = model.scores(batch.x, batch.lengths).numpy()  # type: ignore[operator]
            for place, index in enumerate(indices):
                hypothesis = best_path(scores[place, : batch.lengths[place]], checkpoint.phones)
                errors.add(store.utterances[index].phones, hypothesis)
    model.train(was_training)
    return errors


def train(
    corpora: tuple[str, ...],
    folder: Path,
    options: TrainOptions,
    resume: bool,
    say: Callable[[str], None],
    features: Path | None = None,
    rounded: Rounded | None = None,
) -> dict[str, Any]:
    """Trains into `folder`: model.pt (best on development data), last.pt (to resume), metrics, pictures.

    Args:
        corpora: see `read_corpus`.
        resume: continue an interrupted run of the same options; the final weights are those of an uninterrupted one.
        say: takes a line of log.
        features: a folder for the features, which stay; by default they lie in the run's until it ends.
        rounded: how quantising rounds a weight, for `TrainOptions.rounding`.

    Raises:
        InputError: the folder is used and `resume` false, a corpus or option is wrong, the loss is not finite.
    """
    if not resume:
        new_folder(folder)
    elif not folder.is_dir():
        raise InputError(f"there is no run {folder} to resume; check the name, or start it without --resume")
    torch.set_num_threads(options.threads)
    started = time.monotonic()
    run = Run(folder, options, corpora, features, rounded)
    saved = run.saved()
    if saved is not None and saved["training"]["epoch"] >= options.epochs and (folder / CONFUSIONS).exists():
        run.remove_features()
        say(f"{folder} is finished")
        return _result(folder, saved["weights"], saved["training"]["best"], saved["training"]["step"], started)
    remove_partial(folder)
    run.prepare(say)
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    say(f"{run.options.network.kind} with {parameters:,} parameters, {run.steps_per_epoch} steps an epoch")
    if saved is not None:
        run.restore(saved)
        say(f"continues after step {run.step}")
    try:
        errors = run.run(say)
    except RuntimeError as error:
        if "non-finite" not in str(error):
            raise
        raise InputError(f"the gradient is not finite at step {run.step}; lower the learning rate") from error
    return _result(folder, run.model.state_dict(), errors.phone_error_rate, run.step, started)


def _result(folder: Path, weights: dict[str, Tensor], error: float, steps: int, started: float) -> dict[str, Any]:
    return {
        "model": str(folder / MODEL),
        "phone_error_rate": error,
        "parameters": sum(weight.numel() for weight in weights.values()),
        "steps": steps,
        "seconds": round(time.monotonic() - started, 1),
    }
