"""Figures that the README states, each measured beside what a user would have picked instead, in the same run."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from tetraphone.train.layers import QLSTM


@dataclass(frozen=True)
class TrainingBenchmark:
    """Time of a training step (forward, backward, update) of a QLSTM and of torch.nn.LSTM of the same width."""

    hidden: int = 256
    """Reals of a hidden state."""
    layers: int = 3
    """Recurrent layers."""
    inputs: int = 480
    """Reals of a network frame."""
    frames: int = 150
    """Network frames of an utterance."""
    batch_size: int = 32
    """Utterances."""
    repetitions: int = 15
    """Steps of each, in turn."""
    threads: int = 2
    """Processor threads of both."""


def benchmark_training(options: TrainingBenchmark) -> dict[str, Any]:
    """Alternates steps of both networks; the ratio is the median of the ratios pair by pair."""
    torch.set_num_threads(options.threads)
    generator = torch.Generator().manual_seed(0)
    networks: dict[str, nn.Module] = {
        "qlstm": QLSTM(options.inputs, options.hidden, options.layers, generator),
        "lstm": nn.LSTM(options.inputs, options.hidden, options.layers, batch_first=True),
    }
    x = torch.randn(options.batch_size, options.frames, options.inputs, generator=generator)
    optimizers = {name: torch.optim.AdamW(network.parameters()) for name, network in networks.items()}
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    for repetition in tqdm(range(options.repetitions + 2), "training steps", leave=False):
        for name, network in networks.items():
            started = time.perf_counter()
            optimizers[name].zero_grad()
            network(x)[0].square().mean().backward()
            optimizers[name].step()
            if repetition >= 2:
                seconds[name].append(time.perf_counter() - started)
    return {
        "parameters": {name: sum(p.numel() for p in network.parameters()) for name, network in networks.items()},
        "seconds_per_step": {name: statistics.median(times) for name, times in seconds.items()},
        "ratio": statistics.median(a / b for a, b in zip(seconds["qlstm"], seconds["lstm"], strict=True)),
    }
