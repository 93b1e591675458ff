"""Products that are no matrix product: cross and outer ones, and powers."""

from __future__ import annotations

from phalanx._warm import Array
from phalanx.arrays.checks import need_array, need_int
from phalanx.namespace.diagonals import eye
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    moveaxis,
    stack,
)

from .lu import inv


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of 3 along ``axis`` from the end; they broadcast.

    Raises:
        ValueError: the axis has not 3 elements in both.

    Examples:
        >>> print(px.linalg.cross(px.asarray([1, 0, 0]), px.asarray([[0, 1, 0], [0, 0, 1]])))
        [[ 0  0  1]
         [ 0 -1  0]]
    """
    need_array(x1, "cross")
    need_array(x2, "cross")
    if axis >= 0 or -axis > min(x1.ndim, x2.ndim):
        raise ValueError(f"cross: axis counts from the end within both shapes, got {axis}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross takes vectors of 3, got extents {x1.shape[axis]}, {x2.shape[axis]} along axis "
            f"{axis}"
        )
    a, b = broadcast_arrays(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))
    a0, a1, a2 = (a[..., i] for i in range(3))
    b0, b1, b2 = (b[..., i] for i in range(3))
    parts = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return moveaxis(stack(parts, axis=-1), -1, axis)


def matrix_power(x: Array, n: int, /) -> Array:
    """Return square matrices to an integer power; a negative one inverts first.

    Raises:
        ValueError: not square, or singular and ``n`` negative.

    Examples:
        >>> print(px.linalg.matrix_power(px.asarray([[1, 1], [1, 0]]), 10))
        [[89 55]
         [55 34]]
    """
    need_array(x, "matrix_power")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power takes square matrices, got shape {x.shape}")
    if need_int(n, "matrix_power: n") < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return +broadcast_to(eye(x.shape[-1], dtype=x.dtype, device=x.device), x.shape)
    result = None
    while n > 1:
        if n & 1:
            result = x if result is None else matmul(result, x)
        x = matmul(x, x)
        n >>= 1
    return +x if result is None else matmul(result, x)


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products (n, m) of all pairs of two vectors (n,) and (m,).

    Raises:
        ValueError: another number of axes than one.

    Examples:
        >>> print(px.linalg.outer(px.asarray([1, 2]), px.asarray([10, 20, 30])))
        [[10 20 30]
         [20 40 60]]
    """
    need_array(x1, "outer")
    need_array(x2, "outer")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer takes two vectors, got shapes {x1.shape} and {x2.shape}")
    return expand_dims(x1, axis=1) * expand_dims(x2, axis=0)
