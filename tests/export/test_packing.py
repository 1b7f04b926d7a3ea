"""Blocks of packed weights: packed, read again, and refused where damaged or of another layer."""

from typing import Any

import pytest
import torch
from checkpoints import FORMATS, pack_recurrent, pack_weight
from operands import SIZES, layer_arguments, make_stack, ops, random
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from tetraphone.common.errors import InputError
from tetraphone.export.operators import HAMILTON_LINEAR, LINEAR, OPERATORS, Operator, pack, packed_shape, unpack
from tetraphone.quant.formats import Format

HEADER_BYTES = 64


def test_no_bias_is_a_bias_of_zeros() -> None:
    packed, _ = pack_weight(random(5, 12), "int8")
    blocks = [pack(LINEAR, Format.INT8, 12, 5, packed, None, bias) for bias in (None, torch.zeros(5))]
    assert torch.equal(*blocks)


@pytest.mark.parametrize("number_format", FORMATS)
def test_packed_shape_reads_the_header(number_format: str) -> None:
    block = pack_recurrent(make_stack("qrnn", 12, 20), number_format)
    assert packed_shape(block) == (OPERATORS["rnn"], Format[number_format.upper()], 12, 20)


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


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs"),
    [("lstm", 10, 8), ("lstm", 12, 6), ("hamilton_linear", 0, 4), ("linear", 5, 0), ("rnn", 1 << 20, 4)],
)
def test_impossible_sizes_are_refused(kind: str, inputs: int, outputs: int) -> None:
    empty = (torch.zeros(0), None)
    with pytest.raises(InputError, match=f"{inputs} inputs and {outputs} outputs"):
        pack(OPERATORS[kind], Format.FLOAT32, inputs, outputs, empty, empty, None)


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
    pack(LINEAR, Format.INT8, 12, 8, good, None, torch.zeros(8))
    for weight in refused:
        with pytest.raises(InputError, match="weight"):
            pack(LINEAR, Format.INT8, 12, 8, weight, None, torch.zeros(8))
    for bias in (torch.zeros(9), torch.zeros(8, dtype=torch.float64), torch.full((8,), torch.nan)):
        with pytest.raises(InputError, match="weights"):
            pack(LINEAR, Format.INT8, 12, 8, good, None, bias)
    half = (torch.full_like(values, 8), torch.ones(8, 1).half())
    with pytest.raises(InputError, match="weights"):
        pack(LINEAR, Format.INT4, 12, 8, half, None, None)
    with pytest.raises(InputError, match="weights"):
        pack(LINEAR, Format.FLOAT32, 12, 8, (torch.full((8, 12), torch.nan), None), None, None)


every_layer = pytest.mark.parametrize(
    ("kind", "number_format"), [(kind, number_format) for kind in OPERATORS.values() for number_format in FORMATS]
)


@every_layer
@pytest.mark.parametrize(("inputs", "outputs"), SIZES)
def test_unpack_is_the_inverse_of_pack(kind: Operator, number_format: str, inputs: int, outputs: int) -> None:
    given = layer_arguments(kind, number_format, inputs, outputs)
    block = pack(*given)
    back = unpack(block)
    assert back[:4] == given[:4]
    assert (back[5] is None) == (kind in (LINEAR, HAMILTON_LINEAR))
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
def test_values_that_cannot_be_read_are_refused(kind: Operator, number_format: str, place: str) -> None:
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
def test_weights_missing_or_one_too_many_are_named(kind: Operator, number_format: str) -> None:
    *layer, first, second, bias = layer_arguments(kind, number_format)
    name, spare = f"{number_format.upper()} {kind.name}", torch.ones(1)
    if second is None:
        with pytest.raises(InputError, match=f"{name} takes no hidden weights"):
            pack(*layer, first, (spare, None), bias)
    else:
        with pytest.raises(InputError, match=f"{name} without hidden weights"):
            pack(*layer, first, None, bias)
    other = spare if number_format == "float32" else None
    says = "takes no" if number_format == "float32" else "without"
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
