"""The peers outside ExecuTorch: torch.nn.LSTM, and ONNX Runtime and LiteRT where they are installed.

    peers_worker.py LAYERS QUATERNIONS INPUT_QUATERNIONS FRAMES FOLDER

The first line of the answer tells the networks that are there, with the bytes of their files, and why others are not;
then it serves the lines of standard input as peers_module.cpp does. Seconds are the processor's, of the calls alone on
one thread; feeding the states back is not counted.
"""

import contextlib
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers_programs import Case, expanded, input_frames
from torch import nn

States = list[Any]
"""h and c of each layer in turn."""
Network = tuple[int, Callable[[States | None], States]]
"""Bytes of its file, and a call that takes None for zeros and records its time in `seconds`."""

seconds = 0.0


@contextlib.contextmanager
def timed() -> Any:
    global seconds
    begin = time.process_time()
    yield
    seconds += time.process_time() - begin


def torch_lstm(case: Case, folder: Path) -> Iterable[tuple[str, Network]]:
    """torch.nn.LSTM, as a user would call it."""
    network, x = expanded(case), input_frames(case)
    hidden = 4 * case.quaternions
    lstm = nn.LSTM(x.shape[1], hidden, case.layers).eval()
    parameters = zip(network.input, network.hidden, strict=True)
    for index, (from_input, from_hidden) in enumerate(parameters):
        values = (from_input.weight, from_hidden.weight, from_input.bias, torch.zeros(4 * hidden))
        for name, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), values, strict=True):
            getattr(lstm, f"{name}_l{index}").data.copy_(value)

    @torch.inference_mode()
    def call(states: States | None) -> States:
        parts = states or list(network.initial_state())
        stacked = torch.stack(parts[::2]), torch.stack(parts[1::2])
        with timed():
            _, (h, c) = lstm(x[:, None], stacked)
        return [part for pair in zip(h, c, strict=True) for part in pair]

    yield "torch.nn.LSTM float32", (sum(4 * parameter.numel() for parameter in lstm.parameters()), call)


def onnx_runtime(case: Case, folder: Path) -> Iterable[tuple[str, Network]]:
    """Its LSTM operator, and the same with weights quantised dynamically."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime.quantization import QuantType, quantize_dynamic

    network, x = expanded(case), input_frames(case).numpy()[:, None]
    hidden = 4 * case.quaternions
    order = np.concatenate([np.arange(hidden) + gate * hidden for gate in (0, 3, 1, 2)])  # input, output, forget, cell
    nodes, constants, states, y = [], [], [], "x"
    for index, (from_input, from_hidden) in enumerate(zip(network.input, network.hidden, strict=True)):
        w, r, bias = (part.detach().numpy()[order] for part in (from_input.weight, from_hidden.weight, from_input.bias))
        both = np.concatenate([bias, np.zeros_like(bias)])
        constants += [
            numpy_helper.from_array(part[None], f"{key}{index}") for key, part in zip("wrb", (w, r, both), strict=True)
        ]
        inputs = [y, f"w{index}", f"r{index}", f"b{index}", "", f"h{index}", f"c{index}"]
        outputs = [f"directions{index}", f"new_h{index}", f"new_c{index}"]
        nodes.append(helper.make_node("LSTM", inputs, outputs, f"lstm{index}", hidden_size=hidden))
        y = f"y{index}"
        nodes.append(helper.make_node("Squeeze", [outputs[0], "axis"], [y]))
        states += [f"h{index}", f"c{index}"]
    constants.append(numpy_helper.from_array(np.array([1]), "axis"))

    def value(name: str, *shape: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "lstm",
        [value("x", *x.shape), *(value(state, 1, 1, hidden) for state in states)],
        [value(y, case.frames, 1, hidden), *(value(f"new_{state}", 1, 1, hidden) for state in states)],
        constants,
    )
    plain, quantized = folder / "lstm-float32.onnx", folder / "lstm-int8.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), plain)
    quantize_dynamic(plain, quantized, op_types_to_quantize=["LSTM"], weight_type=QuantType.QInt8, per_channel=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1

    def load(path: Path) -> Network:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        zeros = np.zeros((1, 1, hidden), np.float32)

        def call(before: States | None) -> States:
            values = before or [onnxruntime.OrtValue.ortvalue_from_numpy(zeros) for _ in states]
            binding = session.io_binding()
            binding.bind_cpu_input("x", x)
            for name, part in zip(states, values, strict=True):
                binding.bind_ortvalue_input(name, part)
            for output in session.get_outputs():
                binding.bind_output(output.name)
            with timed():
                session.run_with_iobinding(binding)
            after: States = binding.get_outputs()[1:]
            return after

        return path.stat().st_size, call

    yield "ONNX Runtime float32", load(plain)
    yield "ONNX Runtime int8", load(quantized)


def litert(case: Case, folder: Path) -> Iterable[tuple[str, Network]]:
    """The cells by hand, converted by litert-torch; int8 by its dynamic recipe, a scale for each channel."""
    import litert_torch
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    network, x = expanded(case), input_frames(case)
    plain, quantized = folder / "lstm-float32.tflite", folder / "lstm-int8.tflite"
    litert_torch.convert(network, (x, *network.initial_state())).export(str(plain))
    quantizer.Quantizer(str(plain), recipe.dynamic_wi8_afp32()).quantize().export_model(str(quantized), overwrite=True)

    def load(path: Path) -> Network:
        interpreter = Interpreter(str(path), num_threads=1)
        interpreter.allocate_tensors()
        signature = interpreter.get_signature_runner()
        inputs, outputs = signature.get_input_details(), signature.get_output_details()
        given = [inputs[f"args_{index}"]["index"] for index in range(len(inputs))]
        returned = [outputs[f"output_{index}"]["index"] for index in range(1, len(outputs))]

        def call(before: States | None) -> States:
            for place, part in zip(given, [x, *(before or network.initial_state())], strict=True):
                interpreter.set_tensor(place, np.asarray(part))
            with timed():
                interpreter.invoke()
            return [interpreter.get_tensor(place) for place in returned]

        return path.stat().st_size, call

    yield "LiteRT float32", load(plain)
    yield "LiteRT int8", load(quantized)


def main() -> None:
    global seconds
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    case, folder = Case(*map(int, sys.argv[1:5])), Path(sys.argv[5])
    networks: dict[str, Network] = {}
    left_out = {}
    for peer in (torch_lstm, onnx_runtime, litert):
        try:
            with contextlib.redirect_stdout(sys.stderr):  # converters report their progress
                networks |= peer(case, folder)
        except ImportError as error:
            left_out[peer.__name__] = f"{error.name} is not installed"
    print(json.dumps({"bytes": {name: size for name, (size, _) in networks.items()}, "left_out": left_out}), flush=True)
    for line in sys.stdin:
        index, calls = map(int, line.split())
        states, seconds = None, 0.0
        for _ in range(calls):
            states = list(networks.values())[index][1](states)
        assert states is not None
        h = states[-2].numpy() if hasattr(states[-2], "numpy") else states[-2]
        print(json.dumps({"seconds": seconds, "h": h.ravel().tolist()}), flush=True)


if __name__ == "__main__":
    main()
