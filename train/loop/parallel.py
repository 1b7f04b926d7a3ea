"""One run on many processes, started by torchrun: each takes its share of every batch, gradients are added up."""

import os
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn

from tetraphone.common.errors import InputError

TIMEOUT = timedelta(hours=12)
"""While the first process computes features or evaluates, the others wait; torchrun ends them all when one dies."""


@dataclass(frozen=True)
class Processes:
    """This process among those of the run."""

    device: torch.device
    rank: int = 0
    count: int = 1

    @classmethod
    def join(cls, device: str) -> "Processes":
        """Joins the processes that torchrun started (of all machines), or stays alone.

        Args:
            device: auto (a GPU where there is one), cpu or cuda; of several GPUs the one of torchrun's LOCAL_RANK.

        Raises:
            InputError: a GPU is asked for and there is none.
        """
        if device == "cuda" and not torch.cuda.is_available():
            raise InputError("device is cuda, but torch finds no GPU; take auto or cpu, or mend the driver")
        gpu = device != "cpu" and torch.cuda.is_available()
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if gpu else torch.device("cpu")
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(chosen)
        if gpu:
            torch.cuda.set_device(chosen)
        if not distributed.is_initialized():
            distributed.init_process_group("nccl" if gpu else "gloo", timeout=TIMEOUT)
        return cls(chosen, distributed.get_rank(), distributed.get_world_size())

    @property
    def first(self) -> bool:
        return self.rank == 0

    def parallel(self, model: nn.Module) -> nn.Module:
        """The model, in torch's DistributedDataParallel where there are several processes."""
        return model if self.count == 1 else nn.parallel.DistributedDataParallel(model)

    def total(self, value: Tensor) -> Tensor:
        """The sum over all processes, without a gradient."""
        value = value.detach().clone().to(self.device)
        if self.count > 1:
            distributed.all_reduce(value)
        return value

    def from_first(self, value: float) -> float:
        """What the first process has."""
        if self.count == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64).to(self.device)
        distributed.broadcast(shared, 0)
        return float(shared.item())

    def wait(self) -> None:
        """Until all processes are here."""
        if self.count > 1:
            distributed.barrier()

    def leave(self) -> None:
        """The end of the run."""
        if self.count > 1:
            distributed.destroy_process_group()
