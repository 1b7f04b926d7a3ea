"""Puts heads for known words into a .pte file that lacks them, or has others: its network and its confidences stay as
they are."""

from pathlib import Path
from typing import Any

import torch

from tetraphone.common.errors import InputError
from tetraphone.quant.formats import Format
from tetraphone.quant.options import QuantizeOptions
from tetraphone.quant.quantize import quantize
from tetraphone.recognition.recognizer import Recognizer
from tetraphone.train.network.model import Checkpoint

from .operators import packed_shape
from .program import FORWARD, same
from .runtime import Program, layers_of
from .writer import ALIGN, CHECK_FRAMES, SCORE, metadata, packed_programs, write_programs

OF_A_FILE = ("confidence", "number_format", "revision")
"""Beginnings of the names of metadata in which files of one network differ."""
OF_HEADS = (ALIGN, SCORE)
"""Likewise, of metadata and programs of the heads."""
SAME_NETWORK = 0.5
"""Greatest mean difference of a score, over the standard deviation of the scores: weights may have been trained on to
fit 4 bits, other networks are some 1.1 apart."""


def _check_same(checkpoint: Checkpoint, program: Program) -> None:
    """Raises InputError: the program is not of the checkpoint's network, whatever its number format."""
    found = program.metadata
    own = {name: value for name, value in metadata(checkpoint).items() if not name.startswith((*OF_HEADS, *OF_A_FILE))}
    differing = [name for name, value in own.items() if name not in found or not same(found[name], value)]
    x = torch.randn(CHECK_FRAMES, program.inputs, generator=torch.Generator().manual_seed(0))
    if not differing:
        with torch.inference_mode():
            scores = checkpoint.model.eval()(x[None])[0][0]
        apart = float((scores - program.run(x)[0]).abs().mean() / scores.std())
        if apart > SAME_NETWORK:
            differing = ["scores"]
    if differing:
        mend = "give the checkpoint that the file was made from, or export it anew"
        raise InputError(f"{program.name} is a file of another network: other {', '.join(differing)}; {mend}")


def put_heads(checkpoint: Checkpoint, path: Path) -> dict[str, Any]:
    """Writes the file again with the checkpoint's heads in place of its own, if their programs give their scores.

    Raises:
        InputError: the checkpoint has no head, or the file is no model that it fits.
    """
    if not checkpoint.heads:
        raise InputError("the checkpoint has no head for known words; `tetraphone train-aligner` makes the first")
    Recognizer.load(path).close()
    content = path.read_bytes()
    program, network = Program(content, str(path)), layers_of(content, FORWARD)
    number_format = packed_shape(network[-1].block)[1]
    if number_format is not Format.FLOAT32 and not checkpoint.quantization:
        checkpoint, _ = quantize(checkpoint, QuantizeOptions("int8"))
    heads = {name: layers for name, layers in packed_programs(checkpoint).items() if name != FORWARD}
    _check_same(checkpoint, program)
    kept = {name: value for name, value in program.metadata.items() if not name.startswith(OF_HEADS)}
    new = {name: value for name, value in metadata(checkpoint).items() if name.startswith(OF_HEADS)}
    programs = {FORWARD: network, **heads}
    size, difference = write_programs(path, programs, {**kept, **new}, checkpoint, heads)
    return {"model": str(path), "bytes": size, "programs": list(programs), "difference": difference}
