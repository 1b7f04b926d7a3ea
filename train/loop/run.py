"""The training run, downwards: one process's way from options to a trained model."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tetraphone.common.errors import DivergedError, InputError
from tetraphone.common.files import claimed, remove_partial
from tetraphone.common.progress import Progress
from tetraphone.train.data.batches import Batch
from tetraphone.train.network.model import Checkpoint, from_content, read_content
from tetraphone.train.options import TrainOptions
from tetraphone.train.pictures import draw_curves

from .arithmetic import Arithmetic, choose_arithmetic, differences
from .inputs import Inputs, compute_inputs
from .learner import Learner, Rounded, check_rounding, initial_model, updates_fused
from .parallel import Processes
from .profile import profile_steps
from .record import CONFUSIONS, CURVES, METRICS, History, Record, read_metrics
from .resume import check_sources, saved_content
from .schedule import learning_rate
from .sources import Sources, load_start, read_sources
from .state import State

DIVERGED = ("non-finite", "without overflow", "linalg")
"""In the words of torch, of numbers that are not finite, or too great to be reals of 32 bits."""


@dataclass
class Run:
    """One training run, ready for its next step."""

    options: TrainOptions
    processes: Processes
    record: Record
    sources: Sources
    inputs: Inputs
    learner: Learner
    arithmetic: Arithmetic
    state: State

    def train(self, say: Callable[[str], None]) -> float:
        """Trains to the end; returns the development error of the best model."""
        options, state = self.options, self.state
        error, history, bar = state.last_error, None, None
        if self.processes.first:  # which alone evaluates, writes and tells
            evaluated = state.batch == 0 or self.evaluates()
            history = History(self.record, state.step + evaluated, self.epochs)
            bar = Progress[None](what="training", total=self.total, unit="steps", initial=state.step, leave=True)
        with bar or nullcontext():
            while state.epoch < options.epochs:
                self.learner.model.train()
                for batches in self.steps(state.epoch, state.batch):
                    state.count_step(self.train_step(batches), len(batches))
                    if self.evaluates():
                        error = self.evaluate(history, end=False)
                    elif history is not None and state.step % options.checkpoint_steps == 0:
                        self.checkpoint().save(self.record.last)
                    if bar is not None:
                        bar.update(loss=f"{state.loss:.3f}", dev_error=f"{error:.1f}")
                error = self.evaluate(history, end=True)
        self.inputs.batches.close()
        return state.best if history is None else self.finish(say)

    def steps(self, epoch: int, skip: int = 0) -> Iterator[list[Batch]]:
        """The batches of each step of an epoch, but for so many batches that were learnt from."""
        batches = self.inputs.batches.epoch(epoch, skip)
        return iter(lambda: list(islice(batches, self.options.accumulate)), [])

    def train_step(self, batches: Sequence[Batch]) -> float:
        """One optimiser step; the loss over the batches of all processes."""
        loss, left_out = self.learner.step(batches, self.inputs.objective, self.state.step, self.learning_rate())
        self.state.infinite += left_out
        return loss

    @property
    def epochs(self) -> float:
        """How often the training set was passed over, parts of an epoch counted by their steps."""
        return self.state.epoch + self.state.loss_batches / self.inputs.steps_per_epoch

    def evaluates(self) -> bool:
        """Whether the model is evaluated at this step within an epoch; at the epoch's last it is in any case."""
        every, steps = self.options.evaluate_every, self.state.loss_batches
        return every > 0 and self.state.step % every == 0 and 0 < steps < self.inputs.steps_per_epoch

    def evaluate(self, history: History | None, end: bool) -> float:
        """Keeps the model if it is the best, and what the next step, or a resumed run, begins with.

        Args:
            end: whether the epoch is complete.

        Returns:
            Its development error, percent.
        """
        error, state = self.processes.from_first(0.0 if history is None else self.error()), self.state
        metrics = {
            "epoch": state.epoch + 1 if end else self.epochs,
            "step": state.step,
            "loss": state.loss,
            self.options.measure: error,
            "learning_rate": self.learning_rate(),
        }
        best = state.count_epoch(error) if end else state.count_evaluation(error)
        if history is not None:
            if best:
                replace(self.checkpoint(), model=self.learner.kept, training={}).save(self.record.model)
            history.add(metrics)
            self.checkpoint().save(self.record.last)
        return error

    def finish(self, say: Callable[[str], None]) -> float:
        """Draws and tells how the best model does; returns its development error."""
        state, measure = self.state, self.options.measure
        if state.infinite:
            names = ", ".join(dict.fromkeys(state.infinite))
            say(f"{len(state.infinite)} times an utterance was left out, too short for its phones: {names}")
        if left_out := self.inputs.batches.left_out:
            say(f"left out {left_out.count} utterances in the last epoch: first, {'; '.join(left_out.first[:3])}")
        path, folder = self.record.model, self.record.folder
        self.learner.kept.load_state_dict(from_content(read_content(path), path).model.state_dict())
        error = self.error()
        self.inputs.objective.draw(folder / CONFUSIONS)
        draw_curves(read_metrics(folder / METRICS), measure, folder / CURVES)
        self.record.remove_features()
        say(f"{measure.replace('_', ' ')} {error:.2f} % on the development set; the model is {path}")
        return error

    def error(self) -> float:
        """Development error, percent; of rounded weights where training rounds them."""
        return self.inputs.objective.error(self.learner.measured(), self.inputs.dev, self.checkpoint())

    @property
    def total(self) -> int:
        """Steps from the first to the last."""
        return self.options.epochs * self.inputs.steps_per_epoch

    def learning_rate(self) -> float:
        """Of the step to come."""
        return learning_rate(self.options, self.state.step, self.total, self.state.scale)

    def checkpoint(self) -> Checkpoint:
        """The model as it is, and what `build` needs to go on from it."""
        digests, used = self.sources.digests, asdict(self.arithmetic)
        return Checkpoint(
            self.learner.model,
            self.options.network,
            self.options.features,
            self.inputs.batches.normalisation,
            self.sources.phones,
            options={**asdict(self.options), "corpora": list(self.sources.corpora)},
            states=self.inputs.objective.states,
            training={**self.learner.state(), **asdict(self.state), "sources": digests, "used": used},
        )


def build(
    options: TrainOptions,
    sources: Sources,
    record: Record,
    processes: Processes,
    rounded: Rounded | None,
    saved: dict[str, Any] | None,
    say: Callable[[str], None],
) -> Run:
    """The run before its first step, or where it was saved: first the model, which may be refused, then the features.

    Args:
        saved: the content of its last checkpoint, see `saved_content`.

    Raises:
        InputError: what was saved is of another network or optimiser, or see `compute_inputs`.
    """
    model = initial_model(options, sources, say)
    fused = updates_fused(options, processes.device, say)
    used = None if saved is None else saved["training"]["used"]
    arithmetic = choose_arithmetic(options, processes, used, record.last, say)
    learner, state = Learner(model, options, processes, arithmetic.bfloat16, fused, rounded), State()
    if saved is not None:
        weights = from_content(saved, record.last).model.state_dict()
        try:
            learner.restore(weights, saved["training"])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            mend = "put back its own, or train anew"
            raise InputError(f"{record.last} is not of this run: {error}; {mend}") from error
        state = State.restored(saved["training"])
        for line in differences(saved["training"]["used"], arithmetic):
            say(line)
    inputs = compute_inputs(options, sources, record, processes, arithmetic.bfloat16, say)
    return Run(options, processes, record, sources, inputs, learner, arithmetic, state)


def prepare(
    options: TrainOptions,
    corpora: tuple[str, ...],
    record: Record,
    processes: Processes,
    say: Callable[[str], None],
    rounded: Rounded | None = None,
) -> Run:
    """A new run before its first step."""
    check_rounding(options, processes, rounded)
    start, options = load_start(options)
    sources = read_sources(options, start, corpora, record.features, processes, say)
    return build(options, sources, record, processes, rounded, None, say)


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
    processes, record = Processes.join(options.device), Record(folder, features)
    try:
        with claimed(folder, resume) if processes.first else nullcontext():
            if not processes.first:
                say = _silent
            torch.set_num_threads(options.threads)
            # Gradients that vanish over hundreds of frames end as denormal numbers, which halve the speed: now zeros.
            torch.set_flush_denormal(True)
            check_rounding(options, processes, rounded)
            start, options = load_start(options)
            saved = None if profile else saved_content(record.last, options)
            try:
                sources = read_sources(options, start, corpora, record.features, processes, say)
                if saved is not None and processes.first:  # whose refusal ends the others
                    check_sources(saved, record.last, sources.digests)
                if saved is not None and record.finished(saved, options.epochs):
                    record.remove_features()
                    say(f"{folder} is finished")
                    state = State.restored(saved["training"])
                    return _result(record, options, saved["weights"], state.best, state.step, started)
                if processes.first:
                    remove_partial(folder)
                run = build(options, sources, record, processes, rounded, saved, say)
            except InputError:
                if processes.first:
                    record.forget(resume)
                raise
            if profile:
                measured = profile_steps(run, say)
                record.forget(resumed=False)  # only the trace stays
                return measured
            error = _trained(run, say)
            return _result(record, options, run.learner.model.state_dict(), error, run.state.step, started)
    finally:
        torch.set_flush_denormal(False)
        processes.leave()


def _silent(line: str) -> None:
    """Drops a line of log."""


def _trained(run: Run, say: Callable[[str], None]) -> float:
    parameters = sum(parameter.numel() for parameter in run.learner.model.parameters())
    say(f"{run.options.network.kind} with {parameters:,} parameters, {run.inputs.steps_per_epoch} steps an epoch")
    if run.state.step:
        say(f"continues after step {run.state.step}")
    try:
        return run.train(say)
    except RuntimeError as failure:
        if not any(words in str(failure) for words in DIVERGED):
            raise
        raise DivergedError(
            f"the gradient is not finite at step {run.state.step}; lower the learning rate or the weight decay"
        ) from failure


def _result(
    record: Record, options: TrainOptions, weights: dict[str, Tensor], error: float, steps: int, started: float
) -> dict[str, Any]:
    return {
        "model": str(record.model),
        options.measure: error,
        "parameters": sum(weight.numel() for weight in weights.values()),
        "steps": steps,
        "seconds": round(time.monotonic() - started, 1),
    }
