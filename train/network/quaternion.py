"""Quaternion algebra: one sign table, and everything that follows from it.

A tensor of n quaternions is planar along its last dimension: [r | x | y | z], 4n reals. A quaternion weight matrix is
held by its components, shape [4, rows, columns], sizes in quaternions. Equations and Algorithm 1 are those of Parcollet
et al., Quaternion Recurrent Neural Networks, ICLR 2019.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tetraphone.common.errors import InputError

from .options import Initialisation, check_quaternion_size


class Term(NamedTuple):
    """One block of the paper's matrix: which component of the weight stands there, with which sign."""

    component: int
    sign: float


SIGN_TABLE = (
    (Term(0, 1.0), Term(1, -1.0), Term(2, -1.0), Term(3, -1.0)),
    (Term(1, 1.0), Term(0, 1.0), Term(3, -1.0), Term(2, 1.0)),
    (Term(2, 1.0), Term(3, 1.0), Term(0, 1.0), Term(1, -1.0)),
    (Term(3, 1.0), Term(2, -1.0), Term(1, 1.0), Term(0, 1.0)),
)
"""Rows r, x, y, z of the output, columns r, x, y, z of the input: [r −x −y −z; x r −z y; y z r −x; z −y x r]."""

WEIGHT_SUMS = (
    (0.0, 0.5, 0.0, 0.5),
    (0.5, 0.0, -0.5, 0.0),
    (0.5, 0.0, 0.5, 0.0),
    (0.0, -0.5, 0.0, 0.5),
    (0.0, 0.0, -1.0, 1.0),
    (1.0, 1.0, 0.0, 0.0),
    (1.0, -1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 1.0),
)
INPUT_SUMS = (
    (0.0, 1.0, 1.0, 0.0),
    (1.0, 0.0, 0.0, 1.0),
    (1.0, 0.0, 0.0, -1.0),
    (0.0, 1.0, -1.0, 0.0),
    (0.0, 0.0, 1.0, -1.0),
    (1.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 1.0),
    (1.0, -1.0, 0.0, 0.0),
)
OUTPUT_SUMS = (
    (-1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    (-1.0, -1.0, -1.0, 1.0, 0.0, 1.0, 0.0, 0.0),
    (1.0, -1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0),
    (1.0, 1.0, -1.0, 1.0, 0.0, 0.0, 0.0, 1.0),
)
"""Howell and Lafon's quaternion product (1975): w ⊗ x = OUTPUT_SUMS · ((WEIGHT_SUMS · w) ∘ (INPUT_SUMS · x)), eight
products where the sign table has sixteen. The halves of the original stand with the weights, where they are exact."""

BLOCK_ROWS = 400
"""Rows of input multiplied at a time: of 200 to 3,200 the fastest at 1,024 reals, since the sums stay in the cache."""


def check_tensor(name: str, value: object) -> None:
    """Raises InputError: it is no tensor."""
    if not isinstance(value, Tensor):
        raise InputError(f"{name} is of type {type(value).__name__}; give a torch.Tensor")


def check_alike(name: str, tensor: Tensor, of: str, other: Tensor) -> None:
    """Raises InputError: two tensors differ in their device or, but under autocast, their type; both are named."""
    same = tensor.dtype == other.dtype or torch.is_autocast_enabled(tensor.device.type)
    if not same or tensor.device != other.device:
        found, wanted = (f"{item.dtype} on {item.device}" for item in (tensor, other))
        raise InputError(f"{name} is {found}, {of} {wanted}; move them to one type and device")


def _check_planar(q: Tensor, name: str) -> None:
    check_tensor(name, q)
    check_quaternion_size(q.shape[-1] if q.dim() else 1, f"the last dimension of {name}")


def block_matrix(components: Tensor) -> Tensor:
    """The real matrix [..., 4·rows, 4·columns] that multiplies as components [..., 4, rows, columns] do.

    Raises:
        InputError: there are not four components, or no tensor.
    """
    check_tensor("the weight", components)
    if components.dim() < 3 or components.shape[-3] != 4:
        raise InputError(f"components of shape {tuple(components.shape)}; a quaternion weight is [4, rows, columns]")
    parts = components.unbind(-3)
    rows = [
        torch.cat([parts[term.component] if term.sign > 0 else -parts[term.component] for term in row], dim=-1)
        for row in SIGN_TABLE
    ]
    return torch.cat(rows, dim=-2)


def eight_products(x: Tensor, components: Tensor, bias: Tensor | None = None) -> Tensor:
    """x times the transposed block matrix, plus bias, in 8 block products: [..., 4·columns] → [..., 4·rows], planar.

    Half the arithmetic of the block matrix, forward and backward. Its error is at most (columns + 8) · epsilon times
    what the formula gives with all terms taken absolute. Gradients in reverse mode, once: one of a gradient raises
    RuntimeError.

    Raises:
        InputError: the sizes, types or devices of input, weight and bias do not belong together.
    """
    named = {"the input": x, "the weight": components, **({} if bias is None else {"the bias": bias})}
    for name, tensor in named.items():
        check_tensor(name, tensor)
    fits = components.dim() == 3 and components.shape[0] == 4 and x.dim() and x.shape[-1] == 4 * components.shape[2]
    if not fits or (bias is not None and tuple(bias.shape) != (4 * components.shape[1],)):
        shapes = [tuple(tensor.shape) for tensor in named.values()]
        raise InputError(
            f"input, weight{'' if bias is None else ' and bias'} of shape {', '.join(map(str, shapes))}; give "
            "[…, 4 · columns], [4, rows, columns] and [4 · rows]"
        )
    for name, tensor in named.items():
        check_alike(name, tensor, "the weight", components)
    y: Tensor = _EightProducts.apply(x, components, bias)
    return y


class _EightProducts(torch.autograd.Function):
    """Sums are products with small matrices, so the backward pass is the forward pass with each table transposed."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, components: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, components)
        _, rows, columns = components.shape
        inputs, before, after = x.reshape(-1, 4, columns), x.new_tensor(INPUT_SUMS), x.new_tensor(OUTPUT_SUMS)
        weights = _weight_sums(components).mT.contiguous()
        outputs = x.new_empty(len(inputs), 4, rows)
        sums, products = (x.new_empty(min(BLOCK_ROWS, len(inputs)), 8, size) for size in (columns, rows))
        for block, output in zip(inputs.split(BLOCK_ROWS), outputs.split(BLOCK_ROWS), strict=True):
            summed, product = _combine(before, block, sums), products[: len(block)]
            torch.bmm(summed.transpose(0, 1), weights, out=product.transpose(0, 1))
            _combine(after, product, output)
            if bias is not None:
                output += bias.view(4, rows)
        return outputs.view(*x.shape[:-1], 4 * rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, components = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        _, rows, columns = components.shape
        inputs, gradients = x.reshape(-1, 4, columns), gradient.reshape(-1, 4, rows)
        before, after = x.new_tensor(INPUT_SUMS), x.new_tensor(OUTPUT_SUMS)
        weights = _weight_sums(components)
        weight_gradients, input_gradients = torch.zeros_like(weights), torch.empty_like(inputs) if of_x else None
        sums, products = (x.new_empty(min(BLOCK_ROWS, len(inputs)), 8, size) for size in (columns, rows))
        for start in range(0, len(inputs), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            product = _combine(after.T, gradients[block], products)
            if of_weight:
                summed = _combine(before, inputs[block], sums)
                weight_gradients.baddbmm_(product.permute(1, 2, 0), summed.transpose(0, 1))
            if input_gradients is not None:
                summed = sums[: len(product)]
                torch.bmm(product.transpose(0, 1), weights, out=summed.transpose(0, 1))
                _combine(before.T, summed, input_gradients[block])
        return (
            None if input_gradients is None else input_gradients.view(x.shape),
            (x.new_tensor(WEIGHT_SUMS).T @ weight_gradients.flatten(1)).view_as(components) if of_weight else None,
            gradients.sum(0).flatten() if of_bias else None,
        )


def _combine(table: Tensor, parts: Tensor, into: Tensor) -> Tensor:
    """Sums of parts [rows, p, n] by a table [q, p], written into the first rows of `into` [at least rows, q, n]."""
    return torch.bmm(table.expand(len(parts), *table.shape), parts, out=into[: len(parts)])


def _weight_sums(components: Tensor) -> Tensor:
    """[4, rows, columns] → [8, rows, columns]."""
    table = components.new_tensor(WEIGHT_SUMS)
    return torch.mm(table, components.flatten(1)).view(len(table), *components.shape[1:])


def hamilton_product(a: Tensor, b: Tensor) -> Tensor:
    """a ⊗ b, quaternion by quaternion; both planar, [..., 4n], leading dimensions as torch broadcasts them.

    Raises:
        InputError: the last dimensions differ or are not a multiple of 4, or the others cannot be broadcast; or the two
            are no tensors of one type on one device.
    """
    _check_planar(a, "a")
    _check_planar(b, "b")
    try:
        torch.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        fits = a.shape[-1] == b.shape[-1]
    except RuntimeError:
        fits = False
    check_alike("a", a, "b", b)
    if not fits:
        raise InputError(f"a has shape {tuple(a.shape)}, b {tuple(b.shape)}; multiply as many quaternions by as many")
    parts, others = a.chunk(4, dim=-1), b.chunk(4, dim=-1)
    rows = []
    for row in SIGN_TABLE:
        terms = [term.sign * (parts[term.component] * other) for term, other in zip(row, others, strict=True)]
        rows.append(terms[0] + terms[1] + terms[2] + terms[3])
    return torch.cat(rows, dim=-1)


def conjugate(q: Tensor) -> Tensor:
    """r − xi − yj − zk, planar, [..., 4n]."""
    _check_planar(q, "q")
    r, *imaginary = q.chunk(4, dim=-1)
    return torch.cat([r, *(-part for part in imaginary)], dim=-1)


def norm(q: Tensor) -> Tensor:
    """|q| of each quaternion: [..., 4n] planar to [..., n]."""
    _check_planar(q, "q")
    return torch.stack(q.chunk(4, dim=-1)).square().sum(0).sqrt()


def initial_components(rows: int, columns: int, generator: torch.Generator, how: Initialisation) -> Tensor:
    """Algorithm 1: w = φ(cos θ + u sin θ) for each quaternion of a matrix, as components [4, rows, columns].

    θ is uniform in [−π, π], u a pure imaginary unit quaternion; sizes count quaternions.
    """
    sigma = 1 / math.sqrt(2 * (rows + columns if how.criterion == "glorot" else columns))
    shape = (rows, columns)
    if how.modulus == "chi":
        phi = sigma * torch.randn(4, *shape, generator=generator).square().sum(0).sqrt()
    else:
        phi = sigma * (2 * torch.rand(shape, generator=generator) - 1)
    theta = math.pi * (2 * torch.rand(shape, generator=generator) - 1)
    u = (torch.rand if how.axis == "paper" else torch.randn)(3, *shape, generator=generator)
    u = u / u.square().sum(0).sqrt().clamp_min(torch.finfo(u.dtype).tiny)
    return torch.cat([(phi * theta.cos()).unsqueeze(0), phi * theta.sin() * u])
