"""The training run, downwards: options, data, model, loop, pictures."""

import copy
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from torch.profiler import record_function

from tetraphone.common.errors import DivergedError, InputError
from tetraphone.common.files import append, claimed, remove_partial, write_atomically
from tetraphone.common.phones import ARPABET
from tetraphone.common.progress import Progress
from tetraphone.corpora.corpus import Corpus, read_corpus
from tetraphone.corpora.identity import RECORDINGS, file_digest, utterances_digest
from tetraphone.corpora.sources import corpus_parts
from tetraphone.corpora.transcripts import read_fold
from tetraphone.corpora.utterance import Utterance
from tetraphone.recognition.ctc import score_index
from tetraphone.train.data.augment import Acoustics, Augmentation, SpecAugment, VocalTract
from tetraphone.train.data.store import Batch, FeatureStore, StoredBatches, extract, idle
from tetraphone.train.data.stream import StreamedBatches, streamed_digest, streamed_normalisation
from tetraphone.train.network.model import (
    AcousticModel,
    Checkpoint,
    from_content,
    load_checkpoint,
    outputs,
    read_content,
)
from tetraphone.train.objectives.objective import Alignments, Ctc, Frames, Objective
from tetraphone.train.objectives.teacher import Distilled, check_teacher, checkpoints_digest, listen
from tetraphone.train.options import TrainOptions
from tetraphone.train.pictures import draw_curves

from .events import Events
from .parallel import Processes
from .profile import profile_steps
from .resume import COOLDOWN, STATE, check_options, check_sources, check_state, differences, recorded

MODEL, LAST, METRICS, CONFUSIONS, CURVES = "model.pt", "last.pt", "metrics.jsonl", "confusions.png", "curves.png"
PROBLEMS = "problems.txt"
FEATURES = ("train.f32", "dev.f32", "teacher.f16")
SPEEDS = (1.0, 0.9, 1.1)
HOLD_OUT_SEED = 1
"""Of the choice of speakers held out: the same for runs of every seed."""
DIVERGED = ("non-finite", "without overflow", "linalg")
"""In the words of torch, of numbers that are not finite, or too great to be reals of 32 bits."""
LONGEST_EIGENBASIS = 1024
"""Longest side of a weight that SOAP finds an eigenbasis for; along longer ones it is Adam."""


def _silent(line: str) -> None:
    """Drops a line of log."""


def read_training_sets(
    corpora: Iterable[str], options: TrainOptions, say: Callable[[str], None] = _silent
) -> tuple[list[Utterance], list[Utterance], list[str]]:
    """Training and development utterances, and what was left out; `say` takes the notes of the corpora."""
    corpora, fold = list(corpora), read_fold(options.fold)
    phones = ARPABET if options.phones == "arpabet" else None
    read = [read_corpus(spec, "train", phones, keep_silences=options.keep_silences, fold=fold) for spec in corpora]
    if phones is None:
        phones = phone_set(corpus.utterances for corpus in read)
    dev = read_development(corpora, options, phones, fold)
    for note in dict.fromkeys(chain.from_iterable(corpus.notes for corpus in read + dev)):
        say(note)
    train = [utterance for corpus in read for utterance in corpus.utterances]
    held = [utterance for corpus in dev for utterance in corpus.utterances]
    if not held:
        chosen = held_out_speakers(train, options.hold_out)
        held = [utterance for utterance in train if utterance.speaker in chosen]
        train = [utterance for utterance in train if utterance.speaker not in chosen]
    return train, held, [problem for corpus in read + dev for problem in corpus.problems]


def held_out_speakers(utterances: Iterable[Utterance], share: float) -> set[str]:
    """Speakers of up to so large a share of the speech, at random; first those with no more than a third of it each;
    at least the one who speaks least.

    Raises:
        InputError: there is one speaker only, and none would be left to train on.
    """
    seconds: dict[str, float] = defaultdict(float)
    for utterance in utterances:
        seconds[utterance.speaker] += utterance.duration
    if len(seconds) < 2:
        raise InputError("the corpora have one speaker only: holding out one leaves none to train on; give --dev")
    wanted = share * sum(seconds.values())
    drawn = np.random.default_rng(HOLD_OUT_SEED).permutation(sorted(seconds)).tolist()
    order = sorted(drawn, key=lambda speaker: seconds[speaker] > wanted / 3)
    left, chosen = wanted * (1 + 1e-6), set()
    for speaker in order[:-1]:
        if seconds[speaker] <= left:
            chosen.add(speaker)
            left -= seconds[speaker]
    return chosen or {min(order, key=seconds.__getitem__)}


def read_development(
    corpora: Iterable[str], options: TrainOptions, phones: Collection[str], fold: dict[str, str] | None
) -> list[Corpus]:
    """The development corpora that the options name, else the training corpora's parts dev; there may be none."""
    named = options.dev or [spec for spec in corpora if "dev" in corpus_parts(Path(spec))]
    return [read_corpus(spec, "dev", phones, fold=fold) for spec in named]


def phone_set(corpora: Iterable[Iterable[Utterance]]) -> tuple[str, ...]:
    """All phones of the utterances, in order of the alphabet."""
    return tuple(sorted({phone for corpus in corpora for utterance in corpus for phone in utterance.phones}))


def started_from(checkpoint: Checkpoint, options: TrainOptions) -> TrainOptions:
    """The options with the network and the features of the checkpoint that the run starts from.

    Raises:
        InputError: the options ask for another network or other features; names those that differ.
    """
    network = replace(checkpoint.network, dropout=options.network.dropout)
    started = replace(options, network=network, features=checkpoint.features)
    defaults = recorded(asdict(TrainOptions()))
    theirs, asked = (recorded(asdict(one)) for one in (started, options))
    different = [name for name in asked if asked[name] not in (theirs[name], defaults[name])]
    if different:
        mine = " and ".join(f"{name} {theirs[name]}, not {asked[name]}" for name in different)
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in different)
        raise InputError(f"{options.init} has {mine}; leave out {flags}, or train anew without --init")
    return started


def multiplies_bfloat16() -> bool:
    """Whether torch multiplies in bfloat16 by instructions of the processor; without, it takes many times as long.

    The libraries under torch may be held to fewer instructions than the processor has (ONEDNN_MAX_CPU_ISA): a small
    LSTM shows whether they run it.
    """
    if not (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        return False
    try:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            nn.LSTM(4, 4)(torch.zeros(1, 1, 4))
    except RuntimeError:
        return False
    return True


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
        processes: Processes = Processes(torch.device("cpu")),  # noqa: B008
    ) -> None:
        if options.rounding != "none" and (rounded is None or options.network.direction != "uni"):
            raise InputError(f"cannot train a {options.network.direction}-directional network for {options.rounding}")
        if options.rounding != "none" and processes.count > 1:
            raise InputError(f"training for {options.rounding} takes one process; start it without torchrun")
        if options.stream and options.phones == "corpus":
            raise InputError("a stream is not read beforehand for its phones; leave out --phones corpus")
        if options.alignments and (options.speed_perturbation or options.stream):
            raise InputError("alignments hold the frames of stored features; leave out speed perturbation and streams")
        if options.teacher and (options.alignments or options.stream):
            raise InputError("a teacher hears stored features, for CTC; leave out alignments and streams")
        self.start = load_checkpoint(Path(options.init)) if options.init else None
        self.teachers = [load_checkpoint(Path(path)) for path in options.teacher]
        if self.start is not None:
            options = started_from(self.start, options)
        self.folder, self.options, self.corpora, self.rounded = folder, options, corpora, rounded
        self.processes = processes
        self.fold = read_fold(options.fold) if options.stream else None  # else `read_training_sets` reads it
        self.features, self.keeps_features = features or folder, features is not None
        self.step = self.epoch = self.batch = 0
        self.best = self.last_error = math.inf
        self.scale = 1.0
        """Of the learning rate: what the halving schedule has left of it."""
        self.loss_sum, self.loss_batches = 0.0, 0
        self.infinite: list[str] = []
        self.sources: dict[str, str] = {}
        """Digests of what the options only name: it may lie elsewhere when a run goes on, but not be another."""
        if self.start is not None:
            self.sources["init"] = checkpoints_digest([self.start])
        if self.teachers:
            self.sources["teacher"] = checkpoints_digest(self.teachers)

    @property
    def record(self) -> dict[str, Any]:
        """The options, for the checkpoint."""
        return {**asdict(self.options), "corpora": list(self.corpora)}

    def saved(self) -> dict[str, Any] | None:
        """The content of the last checkpoint, None before the first.

        Raises:
            InputError: the file is damaged, or of other options.
        """
        path = self.folder / LAST
        if not path.exists():
            return None
        content = read_content(path)
        check_state(content, path)
        check_options(content, path, self.options)
        return content

    def prepare(self, say: Callable[[str], None]) -> None:
        """All that goes before the first step of a new run."""
        self.read(say, None)
        self.build(say, None)
        self.compute(say)

    def read(self, say: Callable[[str], None], saved: dict[str, Any] | None) -> None:
        """The corpora, and what the network is to learn from them.

        Args:
            saved: the content of the checkpoint that it began with, see `saved`.

        Raises:
            InputError: a corpus or option is wrong, or the run began with another.
        """
        options = self.options
        if options.stream:
            self.phones = ARPABET
            read = read_development(self.corpora, options, ARPABET, self.fold)
            if not read:
                raise InputError("a stream has no speakers to hold out; give --dev, or a corpus with a part dev")
            self.train = list[Utterance]()
            self.held = [utterance for corpus in read for utterance in corpus.utterances]
            self.problems = [problem for corpus in read for problem in corpus.problems]
        else:
            self.train, self.held, self.problems = read_training_sets(self.corpora, options, say)
            self.phones = ARPABET if options.phones == "arpabet" else phone_set([self.train, self.held])
        self.objective: Objective = Ctc(self.phones)
        for teacher, path in zip(self.teachers, options.teacher, strict=True):
            check_teacher(teacher, path, self.phones, options.features)
        if options.alignments:
            alignments = Alignments.load(Path(options.alignments))
            self.objective, self.phones = Frames(alignments), alignments.topology.phones
            if strange := sorted(set(phone_set([self.train, self.held])) - set(self.phones)):
                raise InputError(f"{options.alignments} lacks states for the phones {' '.join(strange)}; align again")
            self.sources["alignments"] = file_digest(Path(options.alignments))
        self.phone_index = score_index(self.phones)
        if self.processes.first:  # whose refusal ends the others
            known = self.features / RECORDINGS
            parts = [utterances_digest(part, known) for part in (self.train, self.held)]
            if options.stream:
                parts[0] = streamed_digest(self.corpora, self.phone_index, fold=self.fold)
            self.sources["corpora"] = " ".join(parts)
            if saved is not None:
                check_sources(saved, self.folder / LAST, self.sources)

    def compute(self, say: Callable[[str], None]) -> None:
        """Features, and what the teachers say of them."""
        options = self.options
        if not self.processes.first:
            self.processes.wait()  # The first computes the features, the others open them.
        self.dev = extract(self.held, options.features, self.features / "dev.f32", SPEEDS[:1], options.threads)
        problems = [*self.problems, *self.dev.problems]
        self.batches: StoredBatches | StreamedBatches
        if options.stream:
            self.batches = self._stream()
        else:
            self.batches = self._stored(self.train)
            problems += self.batches.problems
            if self.teachers:
                self.objective = self._taught(self.batches.store)
        if self.processes.first:
            self.processes.wait()
        self.steps_per_epoch = self.batches.steps()
        for note in self.batches.notes if isinstance(self.batches, StreamedBatches) else ():
            say(note)
        many = "streamed" if isinstance(self.batches, StreamedBatches) else self.batches.utterances
        voices, minutes = len({u.speaker for u in self.held}), sum(u.duration for u in self.held) / 60
        say(f"{many} training utterances; for development {len(self.held)} by {voices} speakers, {minutes:.1f} minutes")
        if problems:
            say(f"left out {len(problems)} utterances, listed in {self.folder / PROBLEMS}: first, {problems[0]}")
            if self.processes.first:
                with write_atomically(self.folder / PROBLEMS) as temporary:
                    temporary.write_text("\n".join(problems) + "\n", encoding="utf-8")

    @property
    def augmentation(self) -> Augmentation:
        """What the options ask for."""
        return Augmentation(
            VocalTract() if self.options.vocal_tract else None,
            Acoustics(self.options.acoustics) if self.options.acoustics else None,
            SpecAugment() if self.options.spec_augment else None,
        )

    @property
    def speeds(self) -> tuple[float, ...]:
        return SPEEDS if self.options.speed_perturbation else SPEEDS[:1]

    def _stored(self, train: list[Utterance]) -> StoredBatches:
        options = self.options
        store = extract(train, options.features, self.features / "train.f32", self.speeds, options.threads)
        self.normalisation = self.start.normalisation if self.start is not None else store.normalisation()
        return StoredBatches(
            store,
            options.features,
            self.normalisation,
            self.phone_index,
            options.batch_size,
            options.seed,
            self.augmentation,
            self.processes.rank,
            self.processes.count,
        )

    def _taught(self, store: FeatureStore) -> Distilled:
        lesson = listen(self.teachers, store, self.features / "teacher.f16", self.processes.device, self.bfloat16)
        return Distilled(self.phones, share=self.options.teacher_share, lesson=lesson)

    def _stream(self) -> StreamedBatches:
        options = self.options
        self.normalisation = (
            streamed_normalisation(self.corpora, options.features, self.phone_index, fold=self.fold)
            if self.start is None
            else self.start.normalisation
        )
        return StreamedBatches(
            self.corpora,
            options.features,
            self.normalisation,
            self.phone_index,
            batch_size=options.batch_size,
            seed=options.seed,
            augmentation=self.augmentation,
            speeds=self.speeds,
            fold=self.fold,
            workers=options.threads,
            rank=self.processes.rank,
            world_size=self.processes.count,
        )

    def build(self, say: Callable[[str], None], saved: dict[str, Any] | None) -> None:
        """The model and its optimiser, as they were saved."""
        options = self.options
        generator = torch.Generator().manual_seed(options.seed)
        scores = outputs(self.phones, self.objective.states)
        self.model = AcousticModel(options.network, options.features.inputs, scores, generator)
        if self.start is not None:
            weights = self.start.model.state_dict()
            if (self.start.phones, self.start.states) != (self.phones, self.objective.states):
                say(f"{options.init} has other phones: the output layer is new")
                weights = {name: weight for name, weight in weights.items() if not name.startswith("output.")}
            self.model.load_state_dict(weights, strict=False)
        self.model.to(self.processes.device)
        fused = options.fused and options.optimizer == "adamw" and self.processes.device.type == "cuda"
        if options.fused and not fused:
            say("--fused is left out: it takes AdamW and a GPU")
        self._choose_arithmetic(say, saved)
        self.optimizer = self._optimizer(fused)
        self.parallel = self.processes.parallel(self.model)
        self.average = AveragedModel(self.model, avg_fn=self._averaged) if options.average_steps else None
        if saved is not None:
            self.restore(saved)
            for line in differences(saved["training"]["used"], self.used):
                say(line)

    def _choose_arithmetic(self, say: Callable[[str], None], saved: dict[str, Any] | None) -> None:
        """Whether to multiply in bfloat16, as the run did from its start.

        Raises:
            InputError: it did, and this processor cannot.
        """
        able = self.processes.device.type == "cuda" or multiplies_bfloat16()
        self.bfloat16 = self.options.bfloat16 and able
        if saved is not None and saved["training"]["used"]["bfloat16"] != self.bfloat16:
            if not self.bfloat16:
                raise InputError(
                    f"{self.folder / LAST} was trained in bfloat16, for which this processor has no instructions; "
                    "go on where there are some, or train anew"
                )
            self.bfloat16 = False
            say("goes on without bfloat16, as it began: that processor had no instructions for it")
        elif self.options.bfloat16 and not able:
            say("--bfloat16 is left out: this processor has no instructions for it, and is slower so")

    @property
    def used(self) -> dict[str, Any]:
        """By what arithmetic the weights are found, which the options leave to the machine."""
        return {
            "bfloat16": self.bfloat16,
            "device": self.processes.device.type,
            "threads": self.options.threads,
            "processes": self.processes.count,
        }

    def _optimizer(self, fused: bool) -> torch.optim.Optimizer:
        options, parameters = self.options, self.model.parameters()
        rate, decay = options.learning_rate, options.weight_decay
        match options.optimizer:
            case "adamw":
                return torch.optim.AdamW(parameters, rate, weight_decay=decay, fused=fused)
            case "soap":
                from pytorch_optimizer import SOAP  # a second of importing

                return SOAP(parameters, rate, weight_decay=decay, max_precondition_dim=LONGEST_EIGENBASIS)
            case "rmsprop":
                return torch.optim.RMSprop(parameters, rate)

    def _averaged(self, average: Tensor, weight: Tensor, steps: Tensor | int) -> Tensor:
        """The average of a weight, of so many steps before, with the last step's."""
        return average + (weight - average) / min(int(steps) + 1, self.options.average_steps)

    @property
    def kept(self) -> nn.Module:
        """The model that is measured and kept."""
        return self.model if self.average is None else self.average.module

    def learning_rate(self) -> float:
        """Of the step to come."""
        options, total = self.options, self.options.epochs * self.steps_per_epoch
        rate = options.learning_rate * min(1.0, (self.step + 1) / max(1, options.warmup_steps))
        if options.schedule == "cosine":
            return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, self.step / total)))
        if options.schedule == "cooldown":
            return rate * min(1.0, max(0, total - self.step) / (COOLDOWN * total))
        return rate * self.scale

    def train_step(self, batch: Batch) -> float:
        """One optimiser step; returns the loss over the batches of all processes.

        What is drawn depends on seed, step and utterance alone, so a resumed run repeats it.
        """
        options, device = self.options, self.processes.device
        torch.manual_seed(options.seed * 1_000_003 + self.step + self.processes.rank * 10**12)  # dropout
        counts = bool(batch.ids)  # An empty share takes part in the sum of gradients, with none of its own.
        batch = (batch if counts else idle(options.features)).to(device)
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        self.optimizer.zero_grad()
        with record_function("forward"), torch.autocast(device.type, torch.bfloat16, enabled=self.bfloat16):
            scores = self.scores(batch)
        with record_function("loss"):
            loss, units, left_out = self.objective.loss(scores.float(), batch)
            self.infinite += [batch.ids[place] for place in left_out if counts]
            share = torch.stack([loss.detach(), units.to(loss)]) * counts
            total, units = self.processes.total(share)
            loss = loss * (counts * self.processes.count) / units.clamp_min(1)  # of gradients, the mean is taken
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.clip, error_if_nonfinite=True)
            self.optimizer.step()
            if self.average is not None:
                self.average.update_parameters(self.model)
        return float(total / units.clamp_min(1))

    def scores(self, batch: Batch) -> Tensor:
        """Of the model, or of the model with rounded weights."""
        inputs = (batch.x, None, self.model.lengths_needed(batch.lengths))
        if self.options.rounding == "none":
            scores: Tensor = self.parallel(*inputs)[0]
            return scores
        scores = torch.func.functional_call(self.model, self.rounded_weights(self.model), inputs)[0]
        return scores

    def rounded_weights(self, model: nn.Module) -> dict[str, Tensor]:
        """The matrices as they will be quantised, by their names."""
        assert self.rounded is not None
        matrices = {name: weight for name, weight in model.named_parameters() if weight.dim() > 1}
        return {name: self.rounded(weight, self.options.rounding) for name, weight in matrices.items()}

    def evaluated(self) -> float:
        """Development error, percent; of rounded weights where training rounds them."""
        model = self.kept
        if self.options.rounding != "none":
            model = copy.deepcopy(model)
            model.load_state_dict(self.rounded_weights(model), strict=False)
        return self.objective.error(model, self.dev, self.checkpoint())

    def checkpoint(self) -> Checkpoint:
        """The model as it is, and what `restore` needs."""
        average = {} if self.average is None else {"average": self.average.state_dict()}
        return Checkpoint(
            self.model,
            self.options.network,
            self.options.features,
            self.normalisation,
            self.phones,
            options=self.record,
            states=self.objective.states,
            training={
                "optimizer": self.optimizer.state_dict(),
                **average,
                **{name: getattr(self, name) for name in (*STATE, "sources", "used")},
            },
        )

    def restore(self, content: dict[str, Any]) -> None:
        """Continues from what `saved` gave.

        Raises:
            InputError: it is of another network or optimiser.
        """
        path, training = self.folder / LAST, content["training"]
        weights = from_content(content, path).model.state_dict()
        try:
            self.model.load_state_dict(weights)
            self.optimizer.load_state_dict(training["optimizer"])
            if self.average is not None:
                self.average.load_state_dict(training["average"])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"{path} is not of this run: {error}; put back its own, or train anew") from error
        for name in STATE:
            setattr(self, name, training[name])

    def run(self, say: Callable[[str], None]) -> float:
        """Trains to the end; returns the development error of the best epoch."""
        options = self.options
        if not self.processes.first:
            return self._follow()
        self._truncate_metrics()
        events = Events(self.folder, self.step + (self.batch == 0))  # an epoch's end is kept
        total = options.epochs * self.steps_per_epoch
        with Progress[None](what="training", total=total, unit="steps", initial=self.step, leave=True) as bar:
            while self.epoch < options.epochs:
                self.model.train()
                for batch in self.batches.epoch(self.epoch, self.batch):
                    self._step(batch)
                    bar.update(loss=f"{self.loss_sum / self.loss_batches:.3f}", dev_error=f"{self.last_error:.1f}")
                    if self.step % options.checkpoint_steps == 0:
                        self.checkpoint().save(self.folder / LAST)
                self._end_epoch(events)
        if self.infinite:
            names = ", ".join(dict.fromkeys(self.infinite))
            say(f"{len(self.infinite)} times an utterance was left out, too short for its phones: {names}")
        if isinstance(self.batches, StreamedBatches):
            self.batches.close()
            if left_out := self.batches.problems:
                say(f"left out {left_out.count} utterances in the last epoch: first, {'; '.join(left_out.first[:3])}")
        return self._finish(say)

    def _follow(self) -> float:
        """The run on another process than the first, which alone evaluates and writes."""
        while self.epoch < self.options.epochs:
            self.model.train()
            for batch in self.batches.epoch(self.epoch, self.batch):
                self._step(batch)
            self._count_epoch(self.processes.from_first(0.0))
        return self.best

    def _step(self, batch: Batch) -> None:
        loss = self.train_step(batch)
        self.step, self.batch = self.step + 1, self.batch + 1
        self.loss_sum, self.loss_batches = self.loss_sum + loss, self.loss_batches + 1

    def _end_epoch(self, events: Events) -> None:
        error = self.processes.from_first(self.evaluated())
        metrics = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "loss": self.loss_sum / max(1, self.loss_batches),
            self.options.measure: error,
            "learning_rate": self.learning_rate(),
        }
        if self._count_epoch(error):
            replace(self.checkpoint(), model=self.kept, training={}).save(self.folder / MODEL)
        append(self.folder / METRICS, (json.dumps(metrics) + "\n").encode())
        events.add(self.step, {name: metrics[name] for name in ("loss", self.options.measure, "learning_rate")})
        self.checkpoint().save(self.folder / LAST)

    def _count_epoch(self, error: float) -> bool:
        """Whether the epoch was the best."""
        if error > self.last_error - 0.1:
            self.scale *= 0.5
        self.last_error, best = error, error < self.best
        self.best = min(self.best, error)
        self.epoch, self.batch, self.loss_sum, self.loss_batches = self.epoch + 1, 0, 0.0, 0
        return best

    def _truncate_metrics(self) -> None:
        """Drops what an interrupted run wrote after its last checkpoint."""
        path = self.folder / METRICS
        kept = [line for line in read_metrics(path) if line["step"] <= self.step and line["epoch"] <= self.epoch]
        with write_atomically(path) as temporary:
            temporary.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")

    def remove_features(self) -> None:
        """Of a finished run, unless they lie in a folder that was given. Digests of its recordings stay: by them it is
        soon seen to be finished."""
        if self.keeps_features:
            return
        for name in FEATURES:
            path = self.folder / name  # a kill between the two must leave no index without its features
            path.with_suffix(".npz").unlink(missing_ok=True)
            path.unlink(missing_ok=True)

    def finished(self, saved: dict[str, Any]) -> bool:
        """Whether nothing is left to do."""
        return bool(saved["training"]["epoch"] >= self.options.epochs and (self.folder / CURVES).exists())

    def forget(self, resumed: bool) -> None:
        """Takes back what was made before the run was refused."""
        if not resumed or not any((self.folder / name).exists() for name in FEATURES):
            self.remove_features()
        if not resumed:
            for name in (PROBLEMS, RECORDINGS):
                (self.folder / name).unlink(missing_ok=True)

    def _finish(self, say: Callable[[str], None]) -> float:
        path = self.folder / MODEL
        self.kept.load_state_dict(from_content(read_content(path), path).model.state_dict())
        error, measure = self.evaluated(), self.options.measure
        self.objective.draw(self.folder / CONFUSIONS)
        draw_curves(read_metrics(self.folder / METRICS), measure, self.folder / CURVES)
        self.remove_features()
        named = measure.replace("_", " ")
        say(f"{named} {error:.2f} % on the development set; the model is {path}")
        return error


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, up to one that is none: a last line that a kill cut short is left out."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    metrics = []
    for line in lines:
        try:
            read = json.loads(line)
        except json.JSONDecodeError:
            break
        if not isinstance(read, dict) or not read.keys() >= {"step", "epoch"}:
            break
        metrics.append(read)
    return metrics


def train(
    corpora: tuple[str, ...],
    folder: Path,
    options: TrainOptions,
    resume: bool,
    say: Callable[[str], None],
    features: Path | None = None,
    rounded: Rounded | None = None,
    profile: bool = False,
) -> dict[str, Any]:
    """Trains into `folder`: model.pt (best on development data), last.pt (to resume), metrics, pictures.

    Args:
        corpora: see `read_corpus`.
        resume: continue an interrupted run of the same options; the final weights are those of an uninterrupted one.
        say: takes a line of log.
        features: a folder for the features, which stay; by default they lie in the run's until it ends.
        rounded: how quantising rounds a weight, for `TrainOptions.rounding`.
        profile: only measure a few steps: see `profile_steps`.

    Raises:
        InputError: the folder is used and `resume` false, a corpus or option is wrong, the loss is not finite.
    """
    started = time.monotonic()
    processes = Processes.join(options.device)
    try:
        with claimed(folder, resume) if processes.first else nullcontext():
            if not processes.first:
                say = _silent
            torch.set_num_threads(options.threads)
            # Gradients that vanish over hundreds of frames end as denormal numbers, which halve the speed: now zeros.
            torch.set_flush_denormal(True)
            run = Run(folder, options, corpora, features, rounded, processes)
            saved = None if profile else run.saved()
            try:
                run.read(say, saved)
                if saved is not None and run.finished(saved):
                    run.remove_features()
                    say(f"{folder} is finished")
                    return _result(run, saved["weights"], saved["training"]["best"], saved["training"]["step"], started)
                if processes.first:
                    remove_partial(folder)
                run.build(say, saved)
                run.compute(say)
            except InputError:
                if processes.first:
                    run.forget(resume)
                raise
            return profiled(run, say) if profile else _run(run, say, saved, started)
    finally:
        torch.set_flush_denormal(False)
        processes.leave()


def profiled(run: Run, say: Callable[[str], None]) -> dict[str, Any]:
    """See `profile_steps`; only its trace stays."""
    found = profile_steps(run, say)
    run.forget(resumed=False)
    return found


def _run(run: Run, say: Callable[[str], None], saved: dict[str, Any] | None, started: float) -> dict[str, Any]:
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    say(f"{run.options.network.kind} with {parameters:,} parameters, {run.steps_per_epoch} steps an epoch")
    if saved is not None:
        say(f"continues after step {run.step}")
    try:
        error = run.run(say)
    except RuntimeError as failure:
        if not any(words in str(failure) for words in DIVERGED):
            raise
        raise DivergedError(
            f"the gradient is not finite at step {run.step}; lower the learning rate or the weight decay"
        ) from failure
    return _result(run, run.model.state_dict(), error, run.step, started)


def _result(run: Run, weights: dict[str, Tensor], error: float, steps: int, started: float) -> dict[str, Any]:
    return {
        "model": str(run.folder / MODEL),
        run.options.measure: error,
        "parameters": sum(weight.numel() for weight in weights.values()),
        "steps": steps,
        "seconds": round(time.monotonic() - started, 1),
    }
