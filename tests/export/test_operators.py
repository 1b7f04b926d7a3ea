"""The operators in eager torch, against torch's own layers, and the library they live in."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import FORMATS, make_checkpoint, pack_recurrent, pack_weight
from executorch.runtime import Runtime
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from tetraphone.common import native
from tetraphone.common.errors import InputError
from tetraphone.common.native import LIBRARY, library
from tetraphone.export import operators
from tetraphone.export.operators import Format, Kind, instruction_set, pack, packed_shape, unpack
from tetraphone.quant.layers import QuantizedRecurrent
from tetraphone.quant.weights import quantize_frame
from tetraphone.train.network.layers import KINDS, QLSTM, QRNN, QuaternionLinear
from tetraphone.train.network.quaternion import block_matrix, hamilton_product

ops = torch.ops.quaternion
SIZES = [(4, 4), (12, 20), (100, 36), (160, 64)]
HEADER_BYTES = 64


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def make_stack(kind: str, inputs: int, hidden: int) -> QLSTM | QRNN:
    stack = KINDS[kind](inputs, hidden, 1, generator())
    with torch.no_grad():
        stack.bias[0].normal_(0.0, 0.5, generator=generator())
    return stack.requires_grad_(False)


def run_recurrent(x: Tensor, state: tuple[Tensor, ...], block: Tensor) -> tuple[Tensor, ...]:
    return ops.lstm(x, *state, block) if len(state) == 2 else ops.rnn(x, *state, block)


def make_state(stack: QLSTM | QRNN) -> tuple[Tensor, ...]:
    parts = 2 if stack.gates == 4 else 1
    return tuple(torch.rand(parts, stack.hidden, generator=generator()).mul(1.6).sub(0.8).unbind())


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
        weight, kind, operator = QuaternionLinear(inputs, outputs, generator()).weight, Kind.HAMILTON_LINEAR, "hamilton"
    else:
        weight, kind, operator = random(outputs, inputs), Kind.LINEAR, "linear"
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
        block = pack(Kind.LINEAR, Format[number_format.upper()], 12, 5, packed, None, bias)
        assert torch.equal(ops.linear(torch.zeros(2, 12), block, 5), bias.expand(2, 5))


def test_no_bias_is_a_bias_of_zeros() -> None:
    packed, _ = pack_weight(random(5, 12), "int8")
    blocks = [pack(Kind.LINEAR, Format.INT8, 12, 5, packed, None, bias) for bias in (None, torch.zeros(5))]
    assert torch.equal(*blocks)


def test_inputs_and_weights_need_not_be_contiguous() -> None:
    stack = make_stack("qlstm", 8, 8)
    block, state, x = pack_recurrent(stack), make_state(stack), random(8, 6)
    spread = torch.stack([block, block], dim=1)[:, 0]
    assert not spread.is_contiguous()
    assert not x.T.is_contiguous()
    expected = ops.lstm(x.T.contiguous(), *state, block)
    assert all(map(torch.equal, ops.lstm(x.T, *state, spread), expected))


@pytest.mark.parametrize("name", ["lstm", "rnn", "hamilton_linear", "linear"])
def test_torch_accepts_schema_and_shape_function(name: str) -> None:
    x = random(5, 12)
    if name in ("lstm", "rnn"):
        stack = make_stack(f"q{name}", 12, 8)
        arguments: tuple[object, ...] = (x, *make_state(stack), pack_recurrent(stack))
    else:
        kind = Kind[name.upper()]
        weight = random(5, 12) if kind == Kind.LINEAR else random(4, 2, 3)
        outputs = 5 if kind == Kind.LINEAR else 8
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
    linear = pack(Kind.LINEAR, Format.FLOAT32, 12, 8, (random(8, 12), None), None, None)
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


@pytest.mark.parametrize("number_format", FORMATS)
def test_packed_shape_reads_the_header(number_format: str) -> None:
    block = pack_recurrent(make_stack("qrnn", 12, 20), number_format)
    assert packed_shape(block) == (Kind.RNN, Format[number_format.upper()], 12, 20)


def test_damaged_header_is_refused_at_every_byte() -> None:
    block = pack_recurrent(make_stack("qlstm", 12, 8), "int8")
    x, state = random(2, 12), (torch.zeros(8), torch.zeros(8))
    for position in range(HEADER_BYTES):
        for flip in (0x01, 0x80, 0xFF):
            damaged = block.clone()
            damaged[position] = damaged[position] ^ flip
            with pytest.raises(InputError, match=r"export the model again|update Tetraphone"):
                packed_shape(damaged)
            with pytest.raises(InputError, match=r"export the model again|update Tetraphone"):
                ops.lstm(x, *state, damaged)


@pytest.mark.parametrize(
    ("step", "says"),
    [(1, "by a newer Tetraphone: update Tetraphone"), (-1, "by an older Tetraphone: export the model")],
)
def test_a_block_of_another_version_is_named_with_its_mend(step: int, says: str) -> None:
    block = pack_recurrent(make_stack("qlstm", 12, 8), "int8")
    block[4] += step  # the version follows the magic number
    with pytest.raises(InputError, match=says):
        packed_shape(block)


@pytest.mark.parametrize("length", [0, 1, HEADER_BYTES - 1, HEADER_BYTES, -1, None])
def test_block_of_another_length_is_refused(length: int | None) -> None:
    block = pack_recurrent(make_stack("qlstm", 12, 8))
    other = torch.cat([block, block]) if length is None else block[:length]
    with pytest.raises(InputError, match="packed weights"):
        packed_shape(other)


@pytest.mark.parametrize(("kind", "inputs", "outputs"), [(4, 10, 8), (4, 12, 6), (1, 0, 4), (2, 5, 0), (3, 1 << 20, 4)])
def test_impossible_sizes_are_refused(kind: int, inputs: int, outputs: int) -> None:
    empty = (torch.zeros(0), None)
    with pytest.raises(InputError, match=f"{inputs} inputs and {outputs} outputs"):
        pack(Kind(kind), Format.FLOAT32, inputs, outputs, empty, empty, None)


def test_pack_refuses_weights_that_are_not_the_layers() -> None:
    scales, values = torch.ones(8), torch.zeros(8, 12, dtype=torch.int8)
    good = (values, scales)
    refused = [
        (values.float(), scales),
        (values[:, :8], scales),
        (values, scales[:7]),
        (values, scales.half()),
        (torch.full_like(values, -128), scales),
        (values, torch.full_like(scales, torch.inf)),
    ]
    pack(Kind.LINEAR, Format.INT8, 12, 8, good, None, torch.zeros(8))
    for weight in refused:
        with pytest.raises(InputError, match="weight"):
            pack(Kind.LINEAR, Format.INT8, 12, 8, weight, None, torch.zeros(8))
    for bias in (torch.zeros(9), torch.zeros(8, dtype=torch.float64), torch.full((8,), torch.nan)):
        with pytest.raises(InputError, match="weights"):
            pack(Kind.LINEAR, Format.INT8, 12, 8, good, None, bias)
    half = (torch.full_like(values, 8), torch.ones(8, 1).half())
    with pytest.raises(InputError, match="weights"):
        pack(Kind.LINEAR, Format.INT4, 12, 8, half, None, None)
    with pytest.raises(InputError, match="weights"):
        pack(Kind.LINEAR, Format.FLOAT32, 12, 8, (torch.full((8, 12), torch.nan), None), None, None)


def layer_arguments(kind: Kind, number_format: str, inputs: int = 36, outputs: int = 44) -> tuple[Any, ...]:
    """What `pack` takes, of random weights."""
    recurrent = kind in (Kind.RNN, Kind.LSTM)
    gates, components = 4 if kind == Kind.LSTM else 1, 1 if kind == Kind.LINEAR else 4
    weights: list[Any] = []
    for columns in (inputs, outputs) if recurrent else (inputs,):
        shape = (gates * outputs // components, columns // components)
        weights.append(pack_weight(random(*shape if kind == Kind.LINEAR else (4, *shape)), number_format)[0])
    hidden = weights[1] if recurrent else None
    return kind, Format[number_format.upper()], inputs, outputs, weights[0], hidden, random(gates * outputs)


every_layer = pytest.mark.parametrize(
    ("kind", "number_format"), [(kind, number_format) for kind in Kind for number_format in FORMATS]
)


@every_layer
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_unpack_is_the_inverse_of_pack(kind: Kind, number_format: str, inputs: int, outputs: int) -> None:
    given = layer_arguments(kind, number_format, inputs, outputs)
    block = pack(*given)
    back = unpack(block)
    assert back[:4] == given[:4]
    assert (back[5] is None) == (kind in (Kind.LINEAR, Kind.HAMILTON_LINEAR))
    for left, right in zip(leaves(back), leaves(given), strict=True):
        assert (left.dtype, left.numpy().tobytes()) == (right.dtype, right.numpy().tobytes())
    assert torch.equal(pack(*back), block)
    assert torch.equal(pack(*unpack(torch.stack([block, block], dim=1)[:, 0])), block)
    with pytest.raises(InputError, match="export the model again"):
        unpack(block[:-1])


def leaves(arguments: tuple[Any, ...]) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, Tensor)]


@every_layer
@pytest.mark.parametrize("place", ["meta", "fake", "sparse"])
def test_values_that_cannot_be_read_are_refused(kind: Kind, number_format: str, place: str) -> None:
    def move(tensor: Tensor) -> Tensor:
        fake = FakeTensorMode().from_tensor
        return {"meta": lambda: tensor.to("meta"), "fake": lambda: fake(tensor), "sparse": tensor.to_sparse}[place]()

    given = layer_arguments(kind, number_format)
    for index in range(len(leaves(given))):
        leaf = leaves(given)[index]
        moved = tree_map(lambda value, leaf=leaf: move(value) if value is leaf else value, given)
        with pytest.raises(InputError, match=r"(weights|scales|bias) is a .*; give a plain, dense tensor on cpu"):
            pack(*moved)
    for read in (packed_shape, unpack):
        with pytest.raises(InputError, match=r"a block is a .* on cpu"):
            read(move(pack(*given)))


@every_layer
def test_weights_missing_or_one_too_many_are_named(kind: Kind, number_format: str) -> None:
    *layer, first, second, bias = layer_arguments(kind, number_format)
    name, spare = f"{number_format.upper()} {kind.name}", torch.ones(1)
    if second is None:
        with pytest.raises(InputError, match=f"{name} has no hidden weights"):
            pack(*layer, first, (spare, None), bias)
    else:
        with pytest.raises(InputError, match=f"{name} without hidden weights"):
            pack(*layer, first, None, bias)
    other = spare if number_format == "float32" else None
    says = "has no" if number_format == "float32" else "without"
    with pytest.raises(InputError, match=f"{name} {says} input scales"):
        pack(*layer, (first[0], other), second, bias)
    if second is not None:
        with pytest.raises(InputError, match=f"{name} {says} hidden scales"):
            pack(*layer, first, (second[0], other), bias)


def test_packed_shape_reads_a_strided_block_and_no_other_type() -> None:
    block = pack_recurrent(make_stack("qrnn", 12, 20))
    assert packed_shape(torch.stack([block, block], dim=1)[:, 0]) == packed_shape(block)
    for wrong in (block.view(torch.int8), block.view(torch.float32), block[None]):
        with pytest.raises(InputError, match=r"takes \(\d+,\), torch\.uint8"):
            packed_shape(wrong)


@pytest.mark.parametrize("name", operators.OPERATORS)
def test_operators_are_of_the_processor_alone(name: str) -> None:
    kernels = {key: torch._C._dispatch_has_computed_kernel_for_dispatch_key(f"quaternion::{name}", key) for key in KEYS}
    assert kernels == {key: key in ("CPU", "Meta") for key in KEYS}


KEYS = ("CPU", "Meta", "CUDA", "XPU", "MPS", "SparseCPU", "PrivateUse1")


def test_weights_on_another_device_are_refused() -> None:
    linear, stack = layer_arguments(Kind.LINEAR, "int8", 12, 8), make_stack("qlstm", 12, 8)
    x, state = random(3, 12), make_state(stack)
    with pytest.raises(InputError, match="different devices"):
        ops.linear(x, pack(*linear).to("meta"), 8)
    with pytest.raises(InputError, match="different devices"):
        ops.lstm(x, state[0].to("meta"), state[1], pack_recurrent(stack))
    assert ops.linear(x.to("meta"), pack(*linear).to("meta"), 8).shape == (3, 8)


@pytest.mark.parametrize("fault", ["text", "unresolved", "foreign"])
def test_library_that_does_not_load_is_named(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / LIBRARY
    if fault == "text":
        path.write_text("This is not a library.\n" * 100)
    else:
        source = {"unresolved": "int missing(); int value = missing();", "foreign": "int value;"}[fault]
        subprocess.run(["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", path], input=source, text=True, check=True)
    monkeypatch.setattr(native, "_candidates", lambda: [path])
    with pytest.raises(InputError, match=rf"cannot load {path}: .*; install the package again"):
        library.__wrapped__()


def test_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "version", lambda name: "0.0.1")
    with pytest.raises(InputError, match=r"the package 0\.0\.1; install it again"):
        library.__wrapped__()


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_candidates", lambda: [])
    with pytest.raises(InputError, match=LIBRARY):
        library.__wrapped__()


def test_instruction_set_has_a_name() -> None:
    assert instruction_set().isalnum()


def test_runtime_knows_the_operators() -> None:
    library()
    names = Runtime.get().operator_registry.operator_names
    assert {f"quaternion::{name}.out" for name in operators.OPERATORS} <= names


def library_path() -> Path:
    library()
    return next(path for path in native._candidates() if path.is_file())


def test_second_copy_of_the_library_does_not_abort(tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(library_path(), copy)
    script = f"""
import ctypes
from executorch.runtime import Runtime
from tetraphone.common.native import library
before = library()
assert ctypes.CDLL({str(copy)!r})._handle != before._handle
names = [name for name in Runtime.get().operator_registry.operator_names if name.startswith("quaternion::")]
assert len(names) == 4, names
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def binutils(tool: str, *arguments: str) -> str:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} (binutils) is not installed")
    return subprocess.run([tool, *arguments, str(library_path())], capture_output=True, text=True, check=True).stdout


def test_library_has_no_registry_of_its_own() -> None:
    symbols = binutils("nm", "-D", "--with-symbol-versions").splitlines()
    registry = [line.split() for line in symbols if "register_kernels" in line or "get_registered_kernels" in line]
    assert registry
    assert all(fields[0] == "U" for fields in registry)
    exported = [line.split() for line in binutils("nm", "-D", "--defined-only").splitlines()]
    assert all(fields[2].startswith("tetraphone_") for fields in exported if fields[1] == "T")
    needed = [line for line in binutils("readelf", "-d", "-W").splitlines() if "NEEDED" in line]
    assert any("[libexecutorch.so]" in line for line in needed)
    assert not any("torch_cpu" in line or "libpython" in line for line in needed)


def test_libexecutorch_alone_defines_the_registry() -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    import executorch

    libraries = [path for folder in executorch.__path__ for path in Path(folder).rglob("*.so")]
    listed = subprocess.run(
        ["nm", "-D", "-A", "--defined-only", *map(str, libraries), str(library_path())], capture_output=True, text=True
    )
    owners = {Path(line.split(":")[0]).name for line in listed.stdout.splitlines() if "16register_kernels" in line}
    assert owners == {"libexecutorch.so"}


def test_load_segments_fit_pages_of_16_kib() -> None:
    loads = [line.split() for line in binutils("readelf", "-l", "-W").splitlines() if line.split()[:1] == ["LOAD"]]
    assert loads
    assert all(int(fields[-1], 16) >= 16384 for fields in loads)


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
    assert torch.equal(
        unpack(pack(Kind.LINEAR, Format.FLOAT32, 4, 4, (random(4, 4), None), None, bias))[-1], -torch.ones(4)
    )


def test_the_library_multiplies_quaternions_as_the_sign_table_does() -> None:
    """A layer of one quaternion, component by component: the sign table in C++ against the one in Python."""
    for seed in range(8):
        w, x = random(4, seed=seed), random(1, 4, seed=seed + 100)
        block = pack(Kind.HAMILTON_LINEAR, Format.FLOAT32, 4, 4, (w.view(4, 1, 1), None), None, None)
        torch.testing.assert_close(ops.hamilton_linear(x, block, 4)[0], hamilton_product(w, x[0]), rtol=0, atol=1e-6)
    for i, a in enumerate(torch.eye(4)):
        block = pack(Kind.HAMILTON_LINEAR, Format.FLOAT32, 4, 4, (a.view(4, 1, 1), None), None, None)
        for j, b in enumerate(torch.eye(4)):
            assert torch.equal(ops.hamilton_linear(b[None], block, 4)[0], hamilton_product(a, b)), (i, j)


def test_c_abi_returns_a_code_for_a_wrong_call() -> None:
    """The C ABI itself checks what it can: sizes against the packed block."""
    block = pack_recurrent(make_stack("qlstm", 12, 8))
    arguments = (ctypes.c_int(int(Kind.LSTM)), ctypes.c_void_p(block.data_ptr()), ctypes.c_size_t(block.numel()))
    sizes = (ctypes.c_int64(0), ctypes.c_int64(16))
    nothing = ctypes.c_void_p(None)
    code = library().tetraphone_run(
        *arguments, nothing, *sizes, nothing, nothing, ctypes.c_int64(8), nothing, nothing, nothing
    )
    assert b"sizes or the operator" in library().tetraphone_status_text(code)


def test_missing_operator_is_named_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tetraphone.export import program
    from tetraphone.export.writer import export

    class Registry:
        operator_names = frozenset({"quaternion::linear.out"})

    class Without:
        operator_registry = Registry()

    monkeypatch.setattr(program.Runtime, "get", lambda: Without())
    with pytest.raises(InputError, match=r"no operator quaternion::lstm\.out"):
        export(make_checkpoint(), tmp_path / "model.pte")
    assert not list(tmp_path.iterdir())
