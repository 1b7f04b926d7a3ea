"""Time and memory of a training step, measured in turn with what a user would have picked instead."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.commands.benchmark import TrainingBenchmark
from tetraphone.common.progress import Progress
from tetraphone.train.network.layers import QLSTM, QuaternionLinear

WARM_UP = 1
"""Steps of each that do not count, before those that do."""


def seconds_of(step: Callable[[], object], threads: int) -> float:
    """Duration of a step: processor time on one thread, wall-clock time on more."""
    clock = time.process_time if threads == 1 else time.perf_counter
    started = clock()
    step()
    return clock() - started


def alternate(steps: Mapping[str, Callable[[], float]], repetitions: int, name: str) -> dict[str, Any]:
    """Runs the steps in turn; each returns its seconds.

    Returns:
        Medians of "seconds"; "ratio", the median over repetitions of the first step's seconds over each other's; and
        "ratios", the least and the greatest of them.
    """
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
    """An untrained network of kind "qlstm" or "lstm"."""
    if kind == "qlstm":
        return QLSTM(options.inputs, width, options.layers, torch.Generator().manual_seed(0))
    return nn.LSTM(options.inputs, width, options.layers, batch_first=True)


def training_step(of: nn.Module, x: Tensor) -> Callable[[], None]:
    """A training step with AdamW on the input x [batch, frames, inputs]."""
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
    """Forward and backward, with the gradient of the input."""
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
    """Bytes of this process: VmRSS (resident now) or VmHWM (the peak since it was reset)."""
    status = Path("/proc/self/status").read_text()
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith(key))


def _peak(kind: str, width: int, options: TrainingBenchmark) -> int:
    """Bytes that building a network and taking its first two steps add to this process, at their peak."""
    torch.set_num_threads(options.threads)
    training_step(network(kind, 4, options), torch.randn(1, 2, options.inputs))()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    step = training_step(network(kind, width, options), torch.randn(options.batch_size, options.frames, options.inputs))
    for _ in range(2):
        step()
    return _resident("VmHWM") - before


def peak_memory(kind: str, width: int, options: TrainingBenchmark) -> float:
    """The median of `_peak` over fresh processes, which differ by about 5 %.

    Resident memory is measured since torch's profiler does not see oneDNN's memory, and getrusage reports a peak that
    a process inherits from its parent.
    """
    peaks = []
    for _ in range(options.memory_processes):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            peaks.append(pool.submit(_peak, kind, width, options).result())
    return statistics.median(peaks)


def benchmark_width(width: int, options: TrainingBenchmark) -> dict[str, Any]:
    """QLSTM against torch.nn.LSTM of this width: time of a step, parameters, memory."""
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
    """Results by width; ratios are ours over torch's. Restores torch's number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        return {
            "recurrent": {str(width): benchmark_width(width, options) for width in options.widths},
            "linear": {str(width): benchmark_linear(width, options) for width in options.linear_widths},
        }
    finally:
        torch.set_num_threads(threads)
