"""Figures that the README states, each measured beside what a user would have picked instead, in the same run."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError, check_types
from tetraphone.common.progress import Progress
from tetraphone.train.network.layers import QLSTM, QuaternionLinear
from tetraphone.train.network.quaternion import check_quaternion_size
from tetraphone.train.options import check_threads

WARM_UP = 1
"""Steps of each before those that count."""


@dataclass(frozen=True)
class TrainingBenchmark:
    """A training step (forward, backward, update) of a QLSTM and of torch.nn.LSTM of the same width: time and memory.
    And forward and backward of a QuaternionLinear and of torch.nn.Linear."""

    widths: tuple[int, ...] = (128, 256, 512, 1024)
    """Reals of a hidden state."""
    linear_widths: tuple[int, ...] = (256, 512, 1024)
    """Reals of inputs and of outputs of the linear layers."""
    linear_rows: int = 3200
    """Rows of their input."""
    layers: int = 3
    """Recurrent layers."""
    inputs: int = 480
    """Reals of a network frame."""
    frames: int = 150
    """Network frames of an utterance."""
    batch_size: int = 32
    """Utterances."""
    repetitions: int = 7
    """Steps of each, in turn."""
    memory_processes: int = 3
    """Processes in which the memory of each is measured; the median counts."""
    threads: int = 1
    """Processor threads of both. Of one thread the processor's time counts, which other programs disturb less."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("widths", "linear_widths", "inputs"):
            value = getattr(self, name)
            for size in value if isinstance(value, tuple) else (value,):
                check_quaternion_size(size, name)
        counts = ("linear_rows", "layers", "inputs", "frames", "batch_size", "repetitions")
        for name in ("memory_processes", "threads"):
            check_threads(name, getattr(self, name))
        for name in counts:
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")


def seconds_of(step: Callable[[], object], threads: int) -> float:
    """Of the processor on one thread, of the wall clock on more."""
    clock = time.process_time if threads == 1 else time.perf_counter
    started = clock()
    step()
    return clock() - started


def alternate(steps: Mapping[str, Callable[[], float]], repetitions: int, name: str) -> dict[str, Any]:
    """Steps in turn, each returning its seconds; ratios of the first to the others are medians, pair by pair."""
    seconds: dict[str, list[float]] = {key: [] for key in steps}
    for repetition in Progress(range(repetitions + WARM_UP), name, unit="repetitions"):
        for key, step in steps.items():
            taken = step()
            if repetition >= WARM_UP:
                seconds[key].append(taken)
    first, *others = steps
    pairs = {other: [a / b for a, b in zip(seconds[first], seconds[other], strict=True)] for other in others}
    return {
        "seconds": {key: statistics.median(taken) for key, taken in seconds.items()},
        "ratio": {other: statistics.median(ratios) for other, ratios in pairs.items()},
        "ratios": {other: [min(ratios), max(ratios)] for other, ratios in pairs.items()},
    }


def network(kind: str, width: int, options: TrainingBenchmark) -> nn.Module:
    """One of the two: "qlstm" or "lstm"."""
    if kind == "qlstm":
        return QLSTM(options.inputs, width, options.layers, torch.Generator().manual_seed(0))
    return nn.LSTM(options.inputs, width, options.layers, batch_first=True)


def training_step(of: nn.Module, x: Tensor) -> Callable[[], None]:
    """A step on the input x, [batch, frames, inputs], with AdamW."""
    optimizer = torch.optim.AdamW(of.parameters())

    def step() -> None:
        optimizer.zero_grad()
        of(x)[0].square().mean().backward()
        optimizer.step()

    return step


def measured_step(kind: str, width: int, options: TrainingBenchmark, x: Tensor) -> Callable[[], float]:
    step = training_step(network(kind, width, options), x)
    return lambda: seconds_of(step, options.threads)


def linear_step(layer: nn.Module, x: Tensor, gradient: Tensor, threads: int) -> Callable[[], float]:
    """Forward and backward, to the input too."""
    leaves = [x.requires_grad_(), *layer.parameters()]

    def step() -> None:
        torch.autograd.grad(layer(x), leaves, gradient)

    return lambda: seconds_of(step, threads)


def benchmark_linear(width: int, options: TrainingBenchmark) -> dict[str, Any]:
    x, gradient = (torch.randn(options.linear_rows, width) for _ in range(2))
    layers = {"quaternion": QuaternionLinear(width, width, torch.Generator()), "real": nn.Linear(width, width)}
    steps = {name: linear_step(layer, x, gradient, options.threads) for name, layer in layers.items()}
    return alternate(steps, options.repetitions, f"linear layers of {width}")


def _resident(key: str) -> int:
    """Bytes of this process: VmRSS, what is resident, or VmHWM, the most that ever was since it was reset."""
    status = Path("/proc/self/status").read_text()
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith(key))


def _peak(kind: str, width: int, options: TrainingBenchmark) -> int:
    """What building a network and its first two steps add to this process, at their peak."""
    torch.set_num_threads(options.threads)
    training_step(network(kind, 4, options), torch.randn(1, 2, options.inputs))()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    step = training_step(network(kind, width, options), torch.randn(options.batch_size, options.frames, options.inputs))
    for _ in range(2):
        step()
    return _resident("VmHWM") - before


def peak_memory(kind: str, width: int, options: TrainingBenchmark) -> float:
    """Bytes of `_peak`, the median of fresh processes: they differ by some 5 %.

    Resident memory, since oneDNN's is unknown to torch's profiler; not getrusage's, which a process inherits.
    """
    peaks = []
    for _ in range(options.memory_processes):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            peaks.append(pool.submit(_peak, kind, width, options).result())
    return statistics.median(peaks)


def benchmark_width(width: int, options: TrainingBenchmark) -> dict[str, Any]:
    """QLSTM against torch.nn.LSTM: time of a step, parameters, memory."""
    x = torch.randn(options.batch_size, options.frames, options.inputs)
    kinds = ("qlstm", "lstm")
    times = alternate(
        {kind: measured_step(kind, width, options, x) for kind in kinds},
        options.repetitions,
        f"training steps of {width}",
    )
    memory = {kind: peak_memory(kind, width, options) for kind in kinds}
    parameters = {kind: sum(part.numel() for part in network(kind, width, options).parameters()) for kind in kinds}
    return {
        "parameters": parameters,
        **times,
        "peak_memory_bytes": memory,
        "peak_memory_ratio": memory["qlstm"] / memory["lstm"],
    }


def benchmark_training(options: TrainingBenchmark) -> dict[str, Any]:
    """By width; ratios are ours to torch's. The number of torch's threads is as before afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        return {
            "recurrent": {str(width): benchmark_width(width, options) for width in options.widths},
            "linear": {str(width): benchmark_linear(width, options) for width in options.linear_widths},
        }
    finally:
        torch.set_num_threads(threads)
