"""Layers with quantised weights and int8 activations: what the kernels compute, written in torch.

The kernels replace tanh and the logistic function by approximations (error below 4e-4), so that the two may differ by
a step of the hidden state now and then.
"""

import torch
from torch import Tensor, nn

from tetraphone.common.errors import InputError, typed
from tetraphone.train.network.layers import Recurrent, State, check_input, check_state, gates_matrix

from .formats import WeightFormat
from .weights import QuantizedWeight, quantize_frame


class QuantizedRecurrent(nn.Module):
    """A uni-directional QRNN or QLSTM; inputs have a scale a frame, the hidden state the fixed scale 1/127.

    Raises:
        InputError: the layers are real or bi-directional.
    """

    def __init__(self, layers: Recurrent, weight_format: WeightFormat) -> None:
        super().__init__()
        typed("layers", Recurrent, layers)
        if not layers.quaternion or layers.direction != "uni":
            name = type(layers).__name__
            raise InputError(f"cannot quantise a {layers.direction}-directional {name}; train a uni-directional QLSTM")
        self.inputs, self.hidden, self.layers = layers.inputs, layers.hidden, layers.layers
        self.kind, self.directions = layers.kind, 1
        self.weight_input = nn.ModuleList(QuantizedWeight(weight, weight_format) for weight in layers.weight_input)
        self.weight_hidden = nn.ModuleList(QuantizedWeight(weight, weight_format) for weight in layers.weight_hidden)
        self.bias = nn.ParameterList(
            layers.bias if layers.bias is not None else [torch.zeros(self.kind.gates * self.hidden)] * self.layers
        ).requires_grad_(False)

    def _matrix(self, weight: nn.Module) -> Tensor:
        return gates_matrix(weight.dequantized(), self.kind.gates)  # type: ignore[operator]

    def forward(self, x: Tensor, state: State | None = None, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """[batch, frames, inputs] → [batch, frames, hidden], state as in `Recurrent`; `lengths` may not be given.

        Raises:
            InputError: lengths are given; see `check_input`, `check_state`.
        """
        check_input(x, "batch, frames", self.inputs, self.bias[0])
        if lengths is not None:
            raise InputError("a quantised network takes utterances of one length; run them one by one")
        shape = (self.layers, x.shape[0], self.hidden)
        if state is None:
            state = tuple(x.new_zeros(shape) for _ in range(self.kind.states))
        else:
            check_state(state, self.kind.states, shape, x)
        after: list[State] = []
        for layer in range(self.layers):
            x, last = self._run(x, tuple(part[layer] for part in state), layer)
            after.append(last)
        return x, tuple(torch.stack(group) for group in zip(*after, strict=True))

    def _run(self, x: Tensor, state: State, layer: int) -> tuple[Tensor, State]:
        integers, scale = quantize_frame(x)
        sums = integers @ self._matrix(self.weight_input[layer]).T * scale.double() + self.bias[layer].double()
        recurrent = self._matrix(self.weight_hidden[layer]).T / 127
        outputs = []
        for frame in range(x.shape[1]):
            total = (sums[:, frame] + (state[0] * 127).round().double() @ recurrent).to(x.dtype)
            state = self.kind.cell(total, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1) if outputs else x.new_zeros(x.shape[0], 0, self.hidden), state


class QuantizedLinear(nn.Module):
    """A real linear layer: [..., inputs] → [..., outputs], inputs with a scale a frame.

    Raises:
        InputError: in `forward`, see `check_input`.
    """

    def __init__(self, layer: nn.Linear, weight_format: WeightFormat) -> None:
        super().__init__()
        typed("layer", nn.Linear, layer)
        self.weight = QuantizedWeight(layer.weight, weight_format)
        bias = layer.bias if layer.bias is not None else torch.zeros(layer.out_features)
        self.bias = nn.Parameter(bias.detach().clone(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, "…", self.weight.values.shape[1], self.bias)
        integers, scale = quantize_frame(x)
        return (integers @ self.weight.dequantized().T * scale.double() + self.bias.double()).to(x.dtype)
