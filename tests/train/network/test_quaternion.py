"""The algebra against the definition of the quaternions, written out here on scalars."""

import re

import pytest
import torch
from hamilton import Scalars, product
from torch import Tensor

from tetraphone.common.errors import InputError
from tetraphone.train.network.layers import QuaternionLinear
from tetraphone.train.network.options import check_quaternion_size
from tetraphone.train.network.quaternion import (
    BLOCK_ROWS,
    INPUT_SUMS,
    OUTPUT_SUMS,
    SIGN_TABLE,
    WEIGHT_SUMS,
    block_matrix,
    conjugate,
    eight_products,
    hamilton_product,
    norm,
)

ONE, UNIT_I, UNIT_J, UNIT_K = (torch.eye(4, dtype=torch.float64)[part] for part in range(4))


def scalars(planar: Tensor) -> list[Scalars]:
    """The quaternions of a planar vector of 4n reals."""
    values = planar.tolist()
    n = len(values) // 4
    return [(values[q], values[n + q], values[2 * n + q], values[3 * n + q]) for q in range(n)]


def planar(quaternions: list[Scalars]) -> Tensor:
    return torch.tensor([q[part] for part in range(4) for q in quaternions], dtype=torch.float64)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_sign_table_is_the_papers_matrix() -> None:
    printed = [
        ["rxyz"[term.component] if term.sign > 0 else "-" + "rxyz"[term.component] for term in row]
        for row in SIGN_TABLE
    ]
    assert printed == [
        ["r", "-x", "-y", "-z"],
        ["x", "r", "-z", "y"],
        ["y", "z", "r", "-x"],
        ["z", "-y", "x", "r"],
    ]
    assert {abs(term.sign) for row in SIGN_TABLE for term in row} == {1.0}


def test_units_multiply_as_hamilton_carved() -> None:
    for unit in (UNIT_I, UNIT_J, UNIT_K):
        assert torch.equal(hamilton_product(unit, unit), -ONE)
        assert torch.equal(hamilton_product(ONE, unit), unit)
        assert torch.equal(hamilton_product(unit, ONE), unit)
    assert torch.equal(hamilton_product(hamilton_product(UNIT_I, UNIT_J), UNIT_K), -ONE)
    cycle = (UNIT_I, UNIT_J, UNIT_K, UNIT_I, UNIT_J)
    for a, b, c in zip(cycle, cycle[1:], cycle[2:], strict=False):
        assert torch.equal(hamilton_product(a, b), c)
        assert torch.equal(hamilton_product(b, a), -c)


def test_product_worked_by_hand() -> None:
    # (1 + 2i + 3j + 4k)(5 + 6i + 7j + 8k)
    # = (5 − 12 − 21 − 32) + (6 + 10 + 24 − 28)i + (7 − 16 + 15 + 24)j + (8 + 14 − 18 + 20)k
    a, b = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([5.0, 6.0, 7.0, 8.0])
    assert hamilton_product(a, b).tolist() == [-60.0, 12.0, 30.0, 24.0]


def test_product_is_planar_quaternion_by_quaternion() -> None:
    a, b = random(5, 12, seed=1), random(5, 12, seed=2)
    expected = [
        planar([product(p, q) for p, q in zip(scalars(one), scalars(other), strict=True)])
        for one, other in zip(a, b, strict=True)
    ]
    torch.testing.assert_close(hamilton_product(a, b), torch.stack(expected), rtol=0, atol=1e-14)


def test_product_is_associative() -> None:
    a, b, c = random(3, 40)
    left, right = hamilton_product(hamilton_product(a, b), c), hamilton_product(a, hamilton_product(b, c))
    torch.testing.assert_close(left, right, rtol=0, atol=1e-13)


def test_norm_is_multiplicative() -> None:
    a, b = random(2, 40)
    torch.testing.assert_close(norm(hamilton_product(a, b)), norm(a) * norm(b), rtol=1e-14, atol=0)
    # |1 + 2i + 4j + 10k| = 11 and |i + 2j + 2k| = 3, planar.
    assert norm(torch.tensor([1.0, 0.0, 2.0, 1.0, 4.0, 2.0, 10.0, 2.0])).tolist() == [11.0, 3.0]


def test_conjugate() -> None:
    assert conjugate(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])).tolist() == [1, 2, -3, -4, -5, -6, -7, -8]
    a, b = random(2, 40)
    squares = torch.cat([norm(a).square(), torch.zeros(30, dtype=torch.float64)])
    torch.testing.assert_close(hamilton_product(a, conjugate(a)), squares, rtol=0, atol=1e-13)
    reversed_product = hamilton_product(conjugate(b), conjugate(a))
    torch.testing.assert_close(conjugate(hamilton_product(a, b)), reversed_product, rtol=0, atol=1e-14)


def test_block_matrix_of_one_quaternion() -> None:
    matrix = block_matrix(torch.tensor([1.0, 2.0, 3.0, 4.0]).reshape(4, 1, 1))
    assert matrix.tolist() == [[1, -2, -3, -4], [2, 1, -4, 3], [3, 4, 1, -2], [4, -3, 2, 1]]


def test_block_matrix_multiplies_as_a_sum_of_products() -> None:
    weight, x = random(4, 3, 5), random(20, seed=1)
    inputs = scalars(x)
    expected = []
    for row in range(3):
        terms = [product(tuple(weight[:, row, column].tolist()), inputs[column]) for column in range(5)]
        expected.append(tuple(sum(term[part] for term in terms) for part in range(4)))
    torch.testing.assert_close(block_matrix(weight) @ x, planar(expected), rtol=0, atol=1e-14)


def test_block_matrix_of_a_product_is_the_product_of_block_matrices() -> None:
    a, b = random(2, 4)
    blocks = block_matrix(torch.stack([a, b, hamilton_product(a, b)]).reshape(3, 4, 1, 1))
    torch.testing.assert_close(blocks[0] @ blocks[1], blocks[2], rtol=0, atol=1e-14)


def test_conjugate_of_a_matrix_is_the_transpose_of_its_block_matrix() -> None:
    weight = random(4, 3, 5)
    conjugate_transpose = weight.mT * torch.tensor([1, -1, -1, -1])[:, None, None]
    assert torch.equal(block_matrix(conjugate_transpose), block_matrix(weight).T)


def test_eight_products_are_the_sixteen_of_the_sign_table() -> None:
    weights, inputs, outputs = (torch.tensor(table) for table in (WEIGHT_SUMS, INPUT_SUMS, OUTPUT_SUMS))
    sixteen = torch.zeros(4, 4, 4)
    for row, terms in enumerate(SIGN_TABLE):
        for column, term in enumerate(terms):
            sixteen[row, term.component, column] = term.sign
    assert torch.equal(torch.einsum("yp,pw,px->ywx", outputs, weights, inputs), sixteen)


@pytest.mark.parametrize("rows", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 3])
@pytest.mark.parametrize("with_bias", [True, False])
def test_eight_products_are_the_block_matrix(rows: int, with_bias: bool) -> None:
    x, weight, bias = random(rows, 20), random(4, 3, 5, seed=1), random(12, seed=2) if with_bias else None
    weight *= 0.1
    leaves = [tensor.requires_grad_() for tensor in (x, weight, bias) if tensor is not None]
    y, expected = eight_products(x, weight, bias), torch.nn.functional.linear(x, block_matrix(weight), bias)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    gradient = random(rows, 12, seed=3) / max(1, rows)
    ours, theirs = (torch.autograd.grad(of, leaves, gradient) for of in (y, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_eight_products_have_the_gradients_of_differences() -> None:
    for shape in ((8,), (2, 8), (2, 3, 8), (0, 8)):
        leaves = [tensor.requires_grad_() for tensor in (random(*shape), random(4, 3, 2, seed=1), random(12, seed=2))]
        assert torch.autograd.gradcheck(eight_products, leaves)
        for wanted in range(3):
            some = [leaf.detach().requires_grad_(index == wanted) for index, leaf in enumerate(leaves)]
            assert torch.autograd.gradcheck(eight_products, some)


def test_eight_products_take_any_strides() -> None:
    x, weight = random(8, 6).T.requires_grad_(), random(4, 2, 3, seed=1).mT.requires_grad_()
    y, expected = eight_products(x, weight), x @ block_matrix(weight).T
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    ours, theirs = (torch.autograd.grad(of.sum(), (x, weight)) for of in (y, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_eight_products_differentiate_once() -> None:
    x, weight = random(3, 8).requires_grad_(), random(4, 3, 2).requires_grad_()
    (gradient,) = torch.autograd.grad(eight_products(x, weight).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize("columns", [1, 7, 64, 256])
def test_eight_products_round_as_a_sum_of_their_length(columns: int) -> None:
    x, weight = random(64, 4 * columns), random(4, 16, columns, seed=1)
    x[:, columns : 2 * columns] *= 1e3
    x, weight = x.float(), weight.float()
    weights, inputs, outputs = (
        torch.tensor(table, dtype=torch.float64).abs() for table in (WEIGHT_SUMS, INPUT_SUMS, OUTPUT_SUMS)
    )
    summed = torch.einsum("pi,rin->prn", inputs, x.abs().double().view(64, 4, columns))
    products = summed @ torch.tensordot(weights, weight.abs().double(), 1).mT
    absolute = torch.einsum("op,prm->rom", outputs, products).flatten(1)
    exact = x.double() @ block_matrix(weight.double()).T
    error = (eight_products(x, weight).double() - exact).abs()
    assert (error <= (columns + 8) * torch.finfo(torch.float32).eps * absolute).all()
    assert error.any()


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layer(bias: bool) -> None:
    layer = QuaternionLinear(8, 12, torch.Generator().manual_seed(0), bias=bias).double()
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(1))
    assert (layer.bias is None) is not bias
    x = random(2, 3, 8)
    y = layer(x)
    assert y.shape == (2, 3, 12)
    inputs = scalars(x[1, 2])
    expected = []
    for row in range(3):
        terms = [product(tuple(layer.weight[:, row, column].tolist()), inputs[column]) for column in range(2)]
        shift = scalars(layer.bias)[row] if layer.bias is not None else (0.0, 0.0, 0.0, 0.0)
        expected.append(tuple(sum(term[part] for term in terms) + shift[part] for part in range(4)))
    torch.testing.assert_close(y[1, 2], planar(expected), rtol=0, atol=1e-14)


def test_sizes_that_are_not_whole_quaternions_are_refused() -> None:
    assert check_quaternion_size(160, "inputs") == 40
    for size in (262, 1, 0, -4):
        with pytest.raises(InputError, match=rf"inputs is {size} reals.* multiple of 4"):
            check_quaternion_size(size, "inputs")
    whole, broken = torch.ones(8), torch.ones(6)
    for attempt in (
        lambda: hamilton_product(broken, broken),
        lambda: conjugate(broken),
        lambda: norm(broken),
        lambda: QuaternionLinear(262, 8, torch.Generator()),
        lambda: QuaternionLinear(8, 262, torch.Generator()),
    ):
        with pytest.raises(InputError, match=r"reals.* multiple of 4"):
            attempt()
    with pytest.raises(InputError, match="the last dimension of b is 6 reals"):
        hamilton_product(whole, broken)
    with pytest.raises(InputError, match="the last dimension of q is 1 reals"):
        norm(torch.tensor(1.0))


@pytest.mark.parametrize("other", [torch.float32, torch.int64])
def test_operands_of_several_types_or_devices_are_refused(other: torch.dtype) -> None:
    a = random(8)
    for b in (a.to(other), a.to("meta")):
        with pytest.raises(InputError, match=f"a is torch.float64 on cpu, b {b.dtype} on {b.device}; move them"):
            hamilton_product(a, b)
        with pytest.raises(InputError, match=f"the input is {b.dtype} on {b.device}, the weight torch.float64 on cpu"):
            eight_products(b, a.view(4, 1, 2))
    for wrong in (None, [1.0, 2.0, 3.0, 4.0], a.numpy()):
        for call in (lambda x: hamilton_product(a, x), lambda x: hamilton_product(x, a), conjugate, norm, block_matrix):
            with pytest.raises(InputError, match=f"is of type {type(wrong).__name__}; give a torch.Tensor"):
                call(wrong)


@pytest.mark.parametrize(("a", "b"), [((8,), (12,)), ((3, 8), (2, 8)), ((8,), (2, 4))])
def test_products_of_shapes_that_differ_name_both(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=re.escape(f"a has shape {a}, b {b}")):
        hamilton_product(torch.ones(a), torch.ones(b))
    assert hamilton_product(torch.ones(3, 1, 8), torch.ones(2, 8)).shape == (3, 2, 8)


@pytest.mark.parametrize(
    ("x", "components", "bias"),
    [
        ((2, 12), (4, 2, 2), (8,)),
        ((2, 8), (3, 2, 2), (8,)),
        ((2, 8), (4, 2, 2), (4,)),
        ((), (4, 2, 2), (8,)),
        ((8,), (8, 8), (8,)),
    ],
)
def test_eight_products_of_sizes_that_do_not_fit_name_them(
    x: tuple[int, ...], components: tuple[int, ...], bias: tuple[int, ...]
) -> None:
    with pytest.raises(InputError, match=re.escape(f"{x}, {components}, {bias}; give")):
        eight_products(torch.ones(x), torch.ones(components), torch.ones(bias))


def test_a_weight_without_four_components_has_no_block_matrix() -> None:
    for shape in ((3, 2, 2), (4, 4)):
        with pytest.raises(InputError, match=re.escape(f"components of shape {shape}")):
            block_matrix(torch.ones(shape))


@pytest.mark.parametrize(
    ("shapes", "named"), [(((6,), (8,)), "a is 6"), (((8,), (6,)), "b is 6"), (((), (8,)), "a is 1")]
)
def test_the_operand_that_has_no_quaternions_is_named(shapes: tuple[tuple[int, ...], ...], named: str) -> None:
    with pytest.raises(InputError, match=f"the last dimension of {named} reals"):
        hamilton_product(*(torch.zeros(shape) for shape in shapes))
