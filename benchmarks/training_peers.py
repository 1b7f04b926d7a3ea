"""Other quaternion LSTMs, each in a process of its own that takes a training step for each line of standard input.

    training_peers.py speechbrain|paper HIDDEN INPUTS LAYERS FRAMES BATCH THREADS [FOLDER]

The first line of the answer is {"parameters": n}, or {"left_out": why}; the others are {"seconds": s}: of the processor
on one thread, else of the wall clock. Needs torch alone, and the peer: SpeechBrain (PyPI: speechbrain), or in FOLDER a
checkout of the paper's code (Orkis-Research/Pytorch-Quaternion-Neural-Networks on GitHub, which needs numpy and scipy).
"""

import contextlib
import json
import sys
import time
from typing import Any

import torch
from torch import Tensor, nn


class PaperStack(nn.Module):
    """Layers of the paper's model for its copy task, [frames, batch, reals], without its output layer."""

    def __init__(self, inputs: int, hidden: int, layers: int, folder: str) -> None:
        super().__init__()
        sys.path[:0] = [folder, f"{folder}/exp/iclr_2019"]
        from recurrent_models import QLSTM  # type: ignore[import-not-found]

        self.layers = nn.ModuleList(QLSTM(hidden if index else inputs, hidden, False) for index in range(layers))
        for layer in self.layers:
            layer.fco = nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor]:
        for layer in self.layers:
            x = layer(x)
        return (x,)


def build(peer: str, hidden: int, inputs: int, layers: int, x: Tensor, folder: str) -> tuple[Any, Tensor]:
    """The network, and the input as it takes it."""
    if peer == "paper":
        return PaperStack(inputs, hidden, layers, folder), x.transpose(0, 1).contiguous()
    from speechbrain.nnet.quaternion_networks.q_RNN import QLSTM  # type: ignore[import-not-found]

    return QLSTM(hidden // 4, x.shape, layers), x


def main() -> None:
    peer = sys.argv[1]
    hidden, inputs, layers, frames, batch, threads = map(int, sys.argv[2:8])
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    try:
        with contextlib.redirect_stdout(sys.stderr):
            network, x = build(peer, hidden, inputs, layers, torch.randn(batch, frames, inputs), "".join(sys.argv[8:]))
    except ImportError as error:
        print(json.dumps({"left_out": f"{error.name} is not installed for {sys.executable}"}))
        return
    optimizer = torch.optim.AdamW(network.parameters())
    print(json.dumps({"parameters": sum(part.numel() for part in network.parameters())}), flush=True)
    for _ in sys.stdin:
        started = clock()
        optimizer.zero_grad()
        network(x)[0].square().mean().backward()
        optimizer.step()
        print(json.dumps({"seconds": clock() - started}), flush=True)


if __name__ == "__main__":
    main()
