"""The operators in eager torch, against torch's own layers, and the tensors that they refuse."""

import pytest
import torch
from checkpoints import FORMATS, pack_recurrent, pack_weight
from operands import SIZES, generator, layer_arguments, make_stack, make_state, ops, random
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.export.operators import HAMILTON_LINEAR, LINEAR, OPERATORS, pack, unpack
from tetraphone.quant.formats import Format
from tetraphone.quant.layers import QuantizedRecurrent
from tetraphone.quant.weights import quantize_frame
from tetraphone.train.network.layers import QuaternionLinear
from tetraphone.train.network.quaternion import block_matrix, hamilton_product


def run_recurrent(x: Tensor, state: tuple[Tensor, ...], block: Tensor) -> tuple[Tensor, ...]:
    return ops.lstm(x, *state, block) if len(state) == 2 else ops.rnn(x, *state, block)


@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
@pytest.mark.parametrize(("inputs", "hidden"), SIZES)
@pytest.mark.parametrize("frames", [0, 1, 17])
def test_recurrent_float32_equals_torch(kind: str, inputs: int, hidden: int, frames: int) -> None:
    stack = make_stack(kind, inputs, hidden)
    x, state = random(frames, inputs), make_state(stack)
    y, *after = run_recurrent(x, state, pack_recurrent(stack))
    assert y.shape == (frames, hidden)
    if frames == 0:
        assert all(torch.equal(left, right) for left, right in zip(after, state, strict=True))
        return
    expected, last = stack(x[None], tuple(part[None, None] for part in state))
    torch.testing.assert_close(y, expected[0], atol=1e-5, rtol=1e-5)
    for part, other in zip(after, last, strict=True):
        torch.testing.assert_close(part, other[0, 0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
@pytest.mark.parametrize(("inputs", "hidden"), SIZES)
@pytest.mark.parametrize("number_format", ["int8", "int4"])
def test_recurrent_quantized_is_close_to_torch(kind: str, inputs: int, hidden: int, number_format: str) -> None:
    stack = make_stack(kind, inputs, hidden)
    x, state = random(25, inputs), make_state(stack)
    y, *after = run_recurrent(x, state, pack_recurrent(stack, number_format))
    expected, last = QuantizedRecurrent(stack, number_format)(x[None], tuple(part[None, None] for part in state))
    # One step of the hidden state is 1/127; only some of them may round differently.
    assert (y - expected[0]).abs().mean() < 0.3 / 127
    for part, other in zip(after, last, strict=True):
        assert (part - other[0, 0]).abs().mean() < 0.5 / 127


@pytest.mark.parametrize("quaternion", [True, False])
@pytest.mark.parametrize(("inputs", "outputs"), [*SIZES, (36, 40)])
@pytest.mark.parametrize("number_format", FORMATS)
def test_linear_equals_torch(quaternion: bool, inputs: int, outputs: int, number_format: str) -> None:
    outputs += not quaternion
    if quaternion:
        weight, kind, operator = QuaternionLinear(inputs, outputs, generator()).weight, HAMILTON_LINEAR, "hamilton"
    else:
        weight, kind, operator = random(outputs, inputs), LINEAR, "linear"
    bias, x = random(outputs), random(9, inputs)
    packed, exact = pack_weight(weight, number_format)
    block = pack(kind, Format[number_format.upper()], inputs, outputs, packed, None, bias)
    run = ops.hamilton_linear if operator == "hamilton" else ops.linear
    if number_format == "float32":
        values: Tensor | float = x.double()
        scale: Tensor | float = 1.0
    else:
        values, scale = quantize_frame(x)
        scale = scale.double()
    expected = values @ (block_matrix(exact) if quaternion else exact).T * scale + bias.double()
    torch.testing.assert_close(run(x, block, outputs).double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("number_format", FORMATS)
@pytest.mark.parametrize("kind", ["qlstm", "qrnn"])
def test_frames_in_any_grouping_give_the_same_bits(kind: str, number_format: str) -> None:
    stack = make_stack(kind, 28, 36)
    block = pack_recurrent(stack, number_format)
    x, state = random(70, 28), make_state(stack)
    whole, *after = run_recurrent(x, state, block)
    for sizes in ([1] * 70, [7, 0, 16, 17, 30], [69, 1]):
        pieces, carried = [], state
        for piece in x.split(sizes):
            y, *carried = run_recurrent(piece, tuple(carried), block)
            pieces.append(y)
        assert torch.equal(torch.cat(pieces), whole)
        assert all(torch.equal(left, right) for left, right in zip(carried, after, strict=True))


def test_silence_is_exact_in_every_format() -> None:
    for number_format in FORMATS:
        packed, _ = pack_weight(random(5, 12), number_format)
        bias = random(5)
        block = pack(LINEAR, Format[number_format.upper()], 12, 5, packed, None, bias)
        assert torch.equal(ops.linear(torch.zeros(2, 12), block, 5), bias.expand(2, 5))


def test_inputs_and_weights_need_not_be_contiguous() -> None:
    stack = make_stack("qlstm", 8, 8)
    block, state, x = pack_recurrent(stack), make_state(stack), random(8, 6)
    spread = torch.stack([block, block], dim=1)[:, 0]
    assert not spread.is_contiguous()
    assert not x.T.is_contiguous()
    expected = ops.lstm(x.T.contiguous(), *state, block)
    assert all(map(torch.equal, ops.lstm(x.T, *state, spread), expected))


@pytest.mark.parametrize("name", OPERATORS)
def test_torch_accepts_schema_and_shape_function(name: str) -> None:
    x = random(5, 12)
    if OPERATORS[name].states:
        stack = make_stack(f"q{name}", 12, 8)
        arguments: tuple[object, ...] = (x, *make_state(stack), pack_recurrent(stack))
    else:
        kind = OPERATORS[name]
        weight = random(5, 12) if kind == LINEAR else random(4, 2, 3)
        outputs = 5 if kind == LINEAR else 8
        arguments = (x, pack(kind, Format.FLOAT32, 12, outputs, (weight, None), None, None), outputs)
    torch.library.opcheck(getattr(ops, name).default, arguments, test_utils=("test_schema", "test_faketensor"))


LSTM_REFUSED = {
    "an input too wide": ((3, 16), (8,), (8,), {}),
    "an input too narrow": ((3, 8), (8,), (8,), {}),
    "an input of rank 3": ((1, 3, 12), (8,), (8,), {}),
    "an input of rank 1": ((12,), (8,), (8,), {}),
    "a state too long": ((3, 12), (12,), (12,), {}),
    "two states of different lengths": ((3, 12), (8,), (4,), {}),
    "a state of rank 2": ((3, 12), (1, 8), (1, 8), {}),
    "a state of rank 0": ((3, 12), (), (), {}),
    "an input of float64": ((3, 12), (8,), (8,), {"x": torch.float64}),
    "an input of int32": ((3, 12), (8,), (8,), {"x": torch.int32}),
    "a state of float16": ((3, 12), (8,), (8,), {"c": torch.float16}),
    "weights of int8": ((3, 12), (8,), (8,), {"weights": torch.int8}),
}


@pytest.mark.parametrize("what", LSTM_REFUSED)
def test_lstm_refuses(what: str) -> None:
    x, h, c, dtypes = LSTM_REFUSED[what]
    given = {
        "x": torch.zeros(x),
        "h": torch.zeros(h),
        "c": torch.zeros(c),
        "weights": pack_recurrent(make_stack("qlstm", 12, 8)),
    }
    given |= {name: given[name].to(dtype) for name, dtype in dtypes.items()}
    with pytest.raises(InputError):
        ops.lstm(*given.values())


def test_block_of_another_kind_or_size_is_refused() -> None:
    x, state = random(3, 12), (torch.zeros(8), torch.zeros(8))
    lstm, rnn = (pack_recurrent(make_stack(kind, 12, 8)) for kind in ("qlstm", "qrnn"))
    linear = pack(LINEAR, Format.FLOAT32, 12, 8, (random(8, 12), None), None, None)
    calls = [
        lambda: ops.lstm(x, *state, rnn),
        lambda: ops.rnn(x, state[0], lstm),
        lambda: ops.linear(x, lstm, 8),
        lambda: ops.hamilton_linear(x, linear, 8),
        lambda: ops.linear(x, linear, 7),
    ]
    for call in calls:
        with pytest.raises(InputError, match="packed"):
            call()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_of_the_processor_alone(name: str) -> None:
    kernels = {key: torch._C._dispatch_has_computed_kernel_for_dispatch_key(f"quaternion::{name}", key) for key in KEYS}
    assert kernels == {key: key in ("CPU", "Meta") for key in KEYS}


KEYS = ("CPU", "Meta", "CUDA", "XPU", "MPS", "SparseCPU", "PrivateUse1")


def test_weights_on_another_device_are_refused() -> None:
    linear, stack = layer_arguments(LINEAR, "int8", 12, 8), make_stack("qlstm", 12, 8)
    x, state = random(3, 12), make_state(stack)
    with pytest.raises(InputError, match="different devices"):
        ops.linear(x, pack(*linear).to("meta"), 8)
    with pytest.raises(InputError, match="different devices"):
        ops.lstm(x, state[0].to("meta"), state[1], pack_recurrent(stack))
    assert ops.linear(x.to("meta"), pack(*linear).to("meta"), 8).shape == (3, 8)


WRONG_CALLS = {
    "x of one dimension": ({"x": random(12)}, r"shape \(12,\), \(8,\), \(8,\), .*each state \[8\]"),
    "x of another width": ({"x": random(3, 16)}, "sizes or the operator"),
    "x in double precision": ({"x": random(3, 12).double()}, "x and states are float32"),
    "h of another size": ({"h": torch.zeros(12)}, r"\(12,\), \(8,\).*each state \[12\]"),
    "h a batch": ({"h": torch.zeros(1, 8)}, r"\(1, 8\), \(8,\)"),
    "h a number": ({"h": torch.zeros(())}, r"\(\), \(8,\)"),
    "c of another size": ({"c": torch.zeros(4)}, r"\(8,\), \(4,\).*each state \[8\]"),
    "c in half precision": ({"c": torch.zeros(8).half()}, "x and states are float32"),
    "weights as a row": ({"weights": torch.zeros(1, 64, dtype=torch.uint8)}, r"weights of shape .*\(1, 64\)"),
    "weights as numbers": ({"weights": torch.zeros(64)}, "weights uint8"),
    "no weights": ({"weights": torch.zeros(0, dtype=torch.uint8)}, "packed weights"),
}


@pytest.mark.parametrize("wrong", WRONG_CALLS)
def test_tensors_that_the_kernels_cannot_read_are_refused(wrong: str) -> None:
    given, says = WRONG_CALLS[wrong]
    right = {"x": random(3, 12), "h": torch.zeros(8), "c": torch.zeros(8)}
    with pytest.raises(InputError, match=says):
        ops.lstm(**{"weights": pack_recurrent(make_stack("qlstm", 12, 8)), **right, **given})


def test_tensors_are_read_as_they_stand_not_as_they_lie() -> None:
    """Every stride, and a negation that torch has only noted down."""
    weights, wide = pack_recurrent(make_stack("qlstm", 12, 8)), random(24, 3)
    h, c = random(16)[::2], torch.conj(torch.complex(random(8), random(8, seed=1))).imag
    x = wide.T[:, ::2]
    assert c.is_neg()
    assert not x.is_contiguous()
    assert not h.is_contiguous()
    plain = [torch.tensor(part.tolist()) for part in (x, h, c)]
    for found, expected in zip(ops.lstm(x, h, c, weights), ops.lstm(*plain, weights), strict=True):
        assert torch.equal(found, expected)
    bias = torch.conj(torch.complex(torch.zeros(4), torch.ones(4))).imag
    assert torch.equal(unpack(pack(LINEAR, Format.FLOAT32, 4, 4, (random(4, 4), None), None, bias))[-1], -torch.ones(4))


def test_the_library_multiplies_quaternions_as_the_sign_table_does() -> None:
    """A layer of one quaternion, component by component: the sign table in C++ against the one in Python."""
    for seed in range(8):
        w, x = random(4, seed=seed), random(1, 4, seed=seed + 100)
        block = pack(HAMILTON_LINEAR, Format.FLOAT32, 4, 4, (w.view(4, 1, 1), None), None, None)
        torch.testing.assert_close(ops.hamilton_linear(x, block, 4)[0], hamilton_product(w, x[0]), rtol=0, atol=1e-6)
    for i, a in enumerate(torch.eye(4)):
        block = pack(HAMILTON_LINEAR, Format.FLOAT32, 4, 4, (a.view(4, 1, 1), None), None, None)
        for j, b in enumerate(torch.eye(4)):
            assert torch.equal(ops.hamilton_linear(b[None], block, 4)[0], hamilton_product(a, b)), (i, j)
