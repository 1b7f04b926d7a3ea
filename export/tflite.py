"""Writes a float network as one LiteRT file (.tflite) that takes one frame per call, for users of LiteRT.

Quaternion matrices are expanded to real ones of four times the size, so that LiteRT's own operators can run them.
Inputs `args_0`, `args_1`… are x [1, inputs] and the states [1, hidden] of the layers in turn, h before c; outputs
`output_0`, `output_1`… are the scores [1, outputs] and the states after the frame. The file holds no feature options.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError
from tetraphone.common.extras import extras_named
from tetraphone.common.files import write_atomically
from tetraphone.common.progress import library_log
from tetraphone.train.network.layers import Recurrent
from tetraphone.train.network.model import AcousticModel, Checkpoint

TOLERANCE = 1e-4
"""Greatest allowed difference of a score between the checkpoint and the file: rounding, summed over some frames."""
CHECK_FRAMES = 20

Step = Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]]
"""(x, states) of one frame → (scores, new states)."""


class Expanded(nn.Module):
    """A uni-directional stack of real matrices, unrolled over the frames of its example when it is exported.

    x [frames, inputs] and the states [1, hidden] → (output(h) [frames, outputs], new states).
    """

    def __init__(self, stack: Recurrent, output: nn.Module) -> None:
        super().__init__()
        self.kind, self.width, self.output = stack.kind, stack.hidden, output
        self.input, self.hidden = nn.ModuleList(), nn.ModuleList()
        for index in range(stack.layers):
            bias = None if stack.bias is None else stack.bias[index]
            self.input.append(_linear(stack.matrix(stack.weight_input[index]), bias))
            self.hidden.append(_linear(stack.matrix(stack.weight_hidden[index]), None))

    def initial_state(self) -> tuple[Tensor, ...]:
        """Zeros, a tensor [1, hidden] of its own for each state, since the exporter would merge equal ones."""
        return tuple(torch.zeros(1, self.width) for _ in range(self.kind.states * len(self.hidden)))

    def forward(self, x: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        before, after = iter(states), list[Tensor]()
        for from_input, from_hidden in zip(self.input, self.hidden, strict=True):
            state, outputs = tuple(next(before) for _ in range(self.kind.states)), []
            products = from_input(x)
            for frame in range(len(x)):  # not split(1): litert-torch cannot split into one part
                state = self.kind.cell(products[frame : frame + 1] + from_hidden(state[0]), state)
                outputs.append(state[0])
            x = torch.cat(outputs) if len(outputs) > 1 else outputs[0]
            after += state
        return (self.output(x), *after)


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer


def export_tflite(checkpoint: Checkpoint, path: Path) -> dict[str, Any]:
    """Writes the network, if LiteRT gives the checkpoint's scores.

    Raises:
        InputError: the extra `litert` is not installed, the checkpoint is quantised or not uni-directional, or the
            scores differ; then no file is left.
    """
    with library_log(), extras_named():
        import litert_torch
    checkpoint.to_ship()
    if checkpoint.quantization:
        raise InputError(f"cannot write {checkpoint.quantization} weights to {path}; export the float checkpoint")
    if checkpoint.network.direction != "uni":
        raise InputError(f"cannot export a network of direction {checkpoint.network.direction}; train one of uni")
    model = checkpoint.model.eval()
    if not isinstance(model, AcousticModel):
        raise InputError(f"cannot write a {type(model).__name__} to {path}; give a checkpoint from training")
    network = Expanded(model.recurrent, model.output).eval()
    x = torch.zeros(1, checkpoint.features.inputs)
    with write_atomically(path) as temporary:
        with library_log():
            litert_torch.convert(network, (x, *network.initial_state())).export(str(temporary))
            difference = _difference(load_step(temporary), checkpoint, network.initial_state())
        if not difference <= TOLERANCE:
            raise InputError(
                f"LiteRT's scores differ from the checkpoint's by {difference:.2g}; {path} was not written"
            )
        size = temporary.stat().st_size
    weights = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() > 1)
    return {"model": str(path), "bytes": size, "number_format": "float32", "weights": weights, "difference": difference}


def load_step(path: Path) -> Step:
    """Loads a file of `export_tflite` in LiteRT, on one thread."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(path), num_threads=1).get_signature_runner()

    def step(given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        results = runner(**{f"args_{index}": part.numpy() for index, part in enumerate(given)})
        return tuple(torch.from_numpy(results[f"output_{index}"].copy()) for index in range(len(results)))

    return step


def _difference(step: Step, checkpoint: Checkpoint, state: tuple[Tensor, ...]) -> float:
    x = torch.randn(CHECK_FRAMES, checkpoint.features.inputs, generator=torch.Generator().manual_seed(0))
    scores = []
    for frame in x.split(1):
        score, *after = step((frame, *state))
        state = tuple(after)
        scores.append(score)
    with torch.inference_mode():
        expected = checkpoint.model(x[None])[0][0]
    return float((torch.cat(scores) - expected).abs().max())
