"""By what arithmetic a run finds its weights, as far as its options leave that to the machine."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tetraphone.common.errors import InputError
from tetraphone.train.options import TrainOptions

from .parallel import Processes

ROUNDS = {"device": "device", "threads": "processor threads", "processes": "processes"}
"""What changes the order in which sums are taken, and so their last bits: a run may go on with another, but says so."""


@dataclass(frozen=True)
class Arithmetic:
    """A checkpoint keeps it as `used`."""

    bfloat16: bool
    device: str
    threads: int
    processes: int


def choose_arithmetic(
    options: TrainOptions, processes: Processes, used: Mapping[str, Any] | None, path: Path, say: Callable[[str], None]
) -> Arithmetic:
    """What the options ask for and the machine has; bfloat16 as the run did from its start.

    Args:
        used: the arithmetic of a run that goes on.
        path: of its checkpoint, for errors.

    Raises:
        InputError: it multiplied in bfloat16, and this processor cannot.
    """
    able = processes.device.type == "cuda" or multiplies_bfloat16()
    bfloat16 = options.bfloat16 and able
    if used is not None and used["bfloat16"] != bfloat16:
        if not bfloat16:
            raise InputError(
                f"{path} was trained in bfloat16, for which this processor has no instructions; "
                "go on where there are some, or train anew"
            )
        bfloat16 = False
        say("goes on without bfloat16, as it began: that processor had no instructions for it")
    elif options.bfloat16 and not able:
        say("--bfloat16 is left out: this processor has no instructions for it, and is slower so")
    return Arithmetic(bfloat16, processes.device.type, options.threads, processes.count)


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


def differences(before: Mapping[str, Any], arithmetic: Arithmetic) -> list[str]:
    """Lines that tell by what the last bits of a continued run will differ from those of an uninterrupted one."""
    now = asdict(arithmetic)
    return [
        f"goes on with {name} {now[key]} instead of {before.get(key)}: sums round differently in their last bits"
        for key, name in ROUNDS.items()
        if before.get(key) != now[key]
    ]
