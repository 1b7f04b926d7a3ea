"""`tetraphone benchmark`: figures that the README states, measured on this machine."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from tetraphone.common.errors import check_least, check_types
from tetraphone.common.files import machine
from tetraphone.train.network.options import check_quaternion_size
from tetraphone.train.options import check_threads

from .training.flags import Json, Quiet


@dataclass(frozen=True)
class TrainingBenchmark:
    """Sizes for measuring a training step (forward, backward, update) of a QLSTM and of a torch.nn.LSTM as wide, and
    forward and backward of a QuaternionLinear and of torch.nn.Linear."""

    widths: tuple[int, ...] = (128, 256, 512, 1024)
    """Widths of the hidden state to measure, in reals."""
    linear_widths: tuple[int, ...] = (256, 512, 1024)
    """Widths of input and output of the linear layers to measure, in reals."""
    linear_rows: int = 3200
    """Rows of the linear layers' input."""
    layers: int = 3
    """Number of recurrent layers."""
    inputs: int = 480
    """Width of a network frame, in reals."""
    frames: int = 150
    """Network frames per utterance."""
    batch_size: int = 32
    """Utterances per batch."""
    repetitions: int = 7
    """Steps of each network, taken in turn."""
    memory_processes: int = 3
    """Processes in which the memory of each network is measured; the median counts."""
    threads: int = 1
    """Processor threads. One thread is measured in processor time, which other programs disturb less than wall time."""

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
            check_least(name, getattr(self, name), 1)


@dataclass(frozen=True)
class Benchmark:
    """Measure a figure that the README states, together with what a user would have picked instead."""

    figure: Positional[Literal["training"]]
    """training: time and memory of a step of a QLSTM against torch.nn.LSTM, and time of a QuaternionLinear against
    torch.nn.Linear, by width. benchmarks/training.py adds peers that this package does not depend on."""
    options: Annotated[TrainingBenchmark, arg(name="")] = field(default_factory=TrainingBenchmark)
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from .training.cost import benchmark_training

        return {"figure": self.figure, **machine(), **benchmark_training(self.options)}
