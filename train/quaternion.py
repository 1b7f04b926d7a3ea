"""Quaternion algebra: one sign table, and everything that follows from it.

A tensor of n quaternions is planar along its last dimension: [r | x | y | z], 4n reals. A quaternion weight matrix is
held by its components, shape [4, rows, columns], sizes in quaternions. Equations and Algorithm 1 are those of Parcollet
et al., Quaternion Recurrent Neural Networks, ICLR 2019.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from .errors import InputError


@dataclass(frozen=True)
class Initialisation:
    """Algorithm 1, with a choice where the paper is open. Real layers read the criterion alone."""

    criterion: Literal["glorot", "he"] = "glorot"
    """σ = 1/√(2(n_in + n_out)) or 1/√(2 n_in), n counted in quaternions."""
    modulus: Literal["chi", "uniform"] = "chi"
    """Modulus of a weight: σ times chi of four degrees of freedom, so E|w|² = 4σ² (the paper's derivation, its authors'
    code), or uniform in [−σ, σ] (the paper's Algorithm 1)."""
    axis: Literal["paper", "centred"] = "paper"
    """Imaginary unit: parts from U[0, 1], so that all three share a sign (the paper), or uniform on the sphere."""


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


def check_quaternion_size(size: int, name: str) -> int:
    """Returns the number of quaternions in `size` reals.

    Raises:
        InputError: `size` is not a positive multiple of 4.
    """
    if size < 1 or size % 4:
        raise InputError(f"{name} is {size} reals; a quaternion layer needs a positive multiple of 4")
    return size // 4


def block_matrix(components: Tensor) -> Tensor:
    """The real matrix [..., 4·rows, 4·columns] that multiplies as components [..., 4, rows, columns] do."""
    parts = components.unbind(-3)
    rows = [
        torch.cat([parts[term.component] if term.sign > 0 else -parts[term.component] for term in row], dim=-1)
        for row in SIGN_TABLE
    ]
    return torch.cat(rows, dim=-2)


def hamilton_product(a: Tensor, b: Tensor) -> Tensor:
    """a ⊗ b, quaternion by quaternion; both planar, [..., 4n]."""
    check_quaternion_size(a.shape[-1], "the last dimension of a")
    parts, others = a.chunk(4, dim=-1), b.chunk(4, dim=-1)
    rows = []
    for row in SIGN_TABLE:
        terms = [term.sign * (parts[term.component] * other) for term, other in zip(row, others, strict=True)]
        rows.append(terms[0] + terms[1] + terms[2] + terms[3])
    return torch.cat(rows, dim=-1)


def conjugate(q: Tensor) -> Tensor:
    """r − xi − yj − zk, planar, [..., 4n]."""
    check_quaternion_size(q.shape[-1], "the last dimension of q")
    r, *imaginary = q.chunk(4, dim=-1)
    return torch.cat([r, *(-part for part in imaginary)], dim=-1)


def norm(q: Tensor) -> Tensor:
    """|q| of each quaternion: [..., 4n] planar to [..., n]."""
    check_quaternion_size(q.shape[-1], "the last dimension of q")
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
