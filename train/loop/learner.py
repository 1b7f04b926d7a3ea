"""What learns: the model, its optimiser, the average of its weights, and what one step makes of them."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from torch.profiler import record_function

from tetraphone.common.errors import InputError
from tetraphone.train.data.batches import Batch, idle
from tetraphone.train.network.model import AcousticModel, outputs
from tetraphone.train.objectives.objective import Objective
from tetraphone.train.options import TrainOptions

from .parallel import Processes
from .schedule import averaged
from .sources import Sources

LONGEST_EIGENBASIS = 1024
"""Longest side of a weight that SOAP finds an eigenbasis for; along longer ones it is Adam."""

Rounded = Callable[[Tensor, Any], Tensor]
"""A weight, and the number format to round it to."""


def initial_model(options: TrainOptions, sources: Sources, say: Callable[[str], None]) -> AcousticModel:
    """A new model, or one with the weights of the checkpoint that the run starts from."""
    generator = torch.Generator().manual_seed(options.seed)
    scores = outputs(sources.phones, sources.objective.states)
    model, start = AcousticModel(options.network, options.features.inputs, scores, generator), sources.start
    if start is not None:
        weights = start.model.state_dict()
        if (start.phones, start.states) != (sources.phones, sources.objective.states):
            say(f"{options.init} has other phones: the output layer is new")
            weights = {name: weight for name, weight in weights.items() if not name.startswith("output.")}
        model.load_state_dict(weights, strict=False)
    return model


class Learner:
    """One process's copy of the model; all of them make the same steps."""

    def __init__(
        self,
        model: AcousticModel,
        options: TrainOptions,
        processes: Processes,
        bfloat16: bool,
        fused: bool,
        rounded: Rounded | None,
    ) -> None:
        """
        Args:
            bfloat16: whether to multiply in it.
            fused: whether to update in one kernel.
            rounded: how quantising rounds a weight, for `TrainOptions.rounding`.
        """
        self.options, self.processes, self.bfloat16, self.rounded = options, processes, bfloat16, rounded
        self.model = model.to(processes.device)
        self.optimizer = make_optimizer(self.model, options, fused)
        self.parallel = processes.parallel(self.model)
        self.average = AveragedModel(self.model, avg_fn=self._averaged) if options.average_steps else None

    def _averaged(self, average: Tensor, weight: Tensor, steps: Tensor | int) -> Tensor:
        return averaged(average, weight, int(steps), self.options.average_steps)

    @property
    def kept(self) -> nn.Module:
        """The model that is measured and kept."""
        return self.model if self.average is None else self.average.module

    def step(self, batches: Sequence[Batch], objective: Objective, step: int, rate: float) -> tuple[float, list[str]]:
        """One optimiser step, by the gradients of the batches together: those of one batch with all their utterances.

        What is drawn depends on seed, step and utterance alone, so a resumed run repeats it.

        Args:
            batches: as many on every process.
            step: its number.
            rate: its learning rate.

        Returns:
            The loss over the batches of all processes, and the ids of utterances of this one that it leaves out.
        """
        options, processes = self.options, self.processes
        torch.manual_seed(options.seed * 1_000_003 + step + processes.rank * 10**12)  # dropout
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        # An empty share takes part in the sum of gradients, with none of its own.
        shares = [(batch if batch.ids else idle(options.features), bool(batch.ids)) for batch in batches]
        counted = [objective.units(batch) * counts for batch, counts in shares]
        units = processes.total(torch.stack(counted).sum().float())
        losses, left_out = [], list[str]()
        for number, (batch, counts) in enumerate(shares, 1):
            with self._gathering(last=number == len(shares)):
                loss, places = self._backward(batch.to(processes.device), objective, counts, units)
            losses.append(loss)
            left_out += [batch.ids[place] for place in places if counts]
        with record_function("update"):
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), options.clip, error_if_nonfinite=True)
            self.optimizer.step()
            if self.average is not None:
                self.average.update_parameters(self.model)
        return float(processes.total(torch.stack(losses).sum()) / units.clamp_min(1)), left_out

    def _backward(self, batch: Batch, objective: Objective, counts: bool, units: Tensor) -> tuple[Tensor, list[int]]:
        """Adds the gradients of one batch to what there are; see `Objective.loss`."""
        device = self.processes.device.type
        with record_function("forward"), torch.autocast(device, torch.bfloat16, enabled=self.bfloat16):
            scores = self.scores(batch)
        with record_function("loss"):
            loss, left_out = objective.loss(scores.float(), batch)
            share = loss * (counts * self.processes.count) / units.clamp_min(1)  # of gradients, the mean is taken
        with record_function("backward"):
            share.backward()
        return loss.detach() * counts, left_out

    def _gathering(self, last: bool) -> AbstractContextManager[None]:
        """For a backward pass: processes add up their gradients at the step's last one."""
        return nullcontext() if last or self.processes.count == 1 else self.parallel.no_sync()  # type: ignore[operator]

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

    def measured(self) -> nn.Module:
        """The model that is kept, with rounded weights where training rounds them."""
        if self.options.rounding == "none":
            return self.kept
        model = copy.deepcopy(self.kept)
        model.load_state_dict(self.rounded_weights(model), strict=False)
        return model

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the weights."""
        average = {} if self.average is None else {"average": self.average.state_dict()}
        return {"optimizer": self.optimizer.state_dict(), **average}

    def restore(self, weights: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """As a checkpoint kept it.

        Raises:
            KeyError, RuntimeError, TypeError, ValueError: it is of another network or optimiser.
        """
        self.model.load_state_dict(weights)
        self.optimizer.load_state_dict(state["optimizer"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])


def make_optimizer(model: nn.Module, options: TrainOptions, fused: bool) -> torch.optim.Optimizer:
    """The one that the options name."""
    parameters, rate, decay = model.parameters(), options.learning_rate, options.weight_decay
    match options.optimizer:
        case "adamw":
            return torch.optim.AdamW(parameters, rate, weight_decay=decay, fused=fused)
        case "soap":
            from pytorch_optimizer import SOAP  # a second of importing

            return SOAP(parameters, rate, weight_decay=decay, max_precondition_dim=LONGEST_EIGENBASIS)
        case "rmsprop":
            return torch.optim.RMSprop(parameters, rate)


def updates_fused(options: TrainOptions, device: torch.device, say: Callable[[str], None]) -> bool:
    """Whether to update in one kernel, as the options may ask."""
    fused = options.fused and options.optimizer == "adamw" and device.type == "cuda"
    if options.fused and not fused:
        say("--fused is left out: it takes AdamW and a GPU")
    return fused


def check_rounding(options: TrainOptions, processes: Processes, rounded: Rounded | None) -> None:
    """Whether this process can train for the rounding that the options name.

    Raises:
        InputError: it is one of several, or nothing rounds.
    """
    if options.rounding == "none":
        return
    if rounded is None:
        raise InputError(f"training for {options.rounding} needs a function that rounds weights; give `rounded`")
    if processes.count > 1:
        raise InputError(f"training for {options.rounding} takes one process; start it without torchrun")
