"""`tetraphone quantize`: the weights of a checkpoint in 8 or 4 bits, or stored in 16."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from tetraphone.quant.options import QuantizeOptions

from .options.shared import check_suffix
from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Quantize:
    """Quantise the weights of a trained checkpoint."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """model.pt of a training run."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The quantised checkpoint to write."""
    options: Annotated[QuantizeOptions, arg(name="")] = field(default_factory=QuantizeOptions)
    half: bool = False
    """Only store the weights in 16 bits: a checkpoint of half the size, for another run to start or to learn from."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.quant.quantize import quantize
        from tetraphone.train.network.model import load_checkpoint

        check_suffix(self.output, ".pt")
        if self.half:
            load_checkpoint(self.checkpoint).save(self.output, half=True)
            return {"checkpoint": str(self.output), "bytes": self.output.stat().st_size, "number_format": "float16"}
        checkpoint, count = quantize(load_checkpoint(self.checkpoint), self.options)
        checkpoint.save(self.output)
        return {"checkpoint": str(self.output), "quantized_weights": count, "number_format": self.options.weights}
