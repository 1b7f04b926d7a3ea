"""`tetraphone export`: a checkpoint as one file for ExecuTorch or LiteRT."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from tetraphone.common.errors import InputError

from .options.shared import check_suffix, keep_inputs
from .training.flags import Json, Quiet


@dataclass(frozen=True)
class Export:
    """Write a checkpoint as one file for ExecuTorch or LiteRT, if the file gives the checkpoint's scores."""

    checkpoint: Positional[Annotated[Path, arg(metavar="CHECKPOINT")]]
    """A float or quantised checkpoint of a uni-directional quaternion network."""
    output: Positional[Annotated[Path, arg(metavar="OUTPUT")]]
    """The file to write."""
    format: Annotated[Literal["pte", "tflite"] | None, arg(metavar="{pte,tflite}")] = None
    """pte: one ExecuTorch program; tflite: a float network for LiteRT, a frame at a time (extra `litert`). By default
    the suffix of OUTPUT decides."""
    heads: bool = False
    """Put only the checkpoint's heads for known words into OUTPUT, a .pte file of the same network that is there
    already; its network and its confidences stay."""
    quiet: Quiet = False
    json: Json = False

    def run(self) -> dict[str, Any]:
        from tetraphone.export.tflite import export_tflite
        from tetraphone.export.writer import export
        from tetraphone.quant.quantize import load

        if self.heads:
            from tetraphone.export.graft import put_heads

            check_suffix(self.output, ".pte")
            return put_heads(load(self.checkpoint), self.output)

        keep_inputs(self.checkpoint, output=self.output)
        writers = {".pte": export, ".tflite": export_tflite}
        suffix = self.output.suffix.lower() if self.format is None else f".{self.format}"
        if suffix not in writers:
            raise InputError(f"{self.output} ends in neither .pte nor .tflite; give such a name, or --format")
        check_suffix(self.output, suffix)
        return writers[suffix](load(self.checkpoint), self.output)
