"""Hamilton's product on scalars: what tests of the algebra and of the layers compare with."""

Scalars = tuple[float, ...]
"""One quaternion: (r, x, y, z)."""


def product(a: Scalars, b: Scalars) -> Scalars:
    """a ⊗ b as Hamilton wrote it."""
    r1, x1, y1, z1 = a
    r2, x2, y2, z2 = b
    return (
        r1 * r2 - x1 * x2 - y1 * y2 - z1 * z2,
        r1 * x2 + x1 * r2 + y1 * z2 - z1 * y2,
        r1 * y2 - x1 * z2 + y1 * r2 + z1 * x2,
        r1 * z2 + x1 * y2 - y1 * x2 + z1 * r2,
    )
