"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from phalanx._warm import (
    Array,
    assign,
    cast,
    empty,
    fill,
    launch,
    matrix_product,
    normal_axis,
    seen_as,
)
from phalanx.arrays.checks import need_one_device
from phalanx.arrays.data_types import result_type

from .manipulation import broadcast_shapes, broadcast_to, expand_dims, permute_dims, reshape


def _operands(x1: Any, x2: Any, op: str) -> tuple[Array, Array]:
    """Both arrays in their common dtype, on one device."""
    for x in (x1, x2):
        if not isinstance(x, Array):
            number = isinstance(x, bool | int | float | complex)
            use = "multiply by numbers with *" if number else "use phalanx.asarray"
            raise TypeError(f"{op} takes phalanx arrays, got {type(x).__name__}; {use}")
        if x.dtype.kind == "b":
            raise TypeError(f"{op} is not defined for bool; use phalanx.astype(x, phalanx.int64)")
    need_one_device(op, x1, x2)
    dtype = result_type(x1, x2)
    return cast(x1, dtype), cast(x2, dtype)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product (..., m, k) times (..., k, n); 1-d operands are a row or a column.

    Each element is accumulated with fused multiply-add over blocks of 4096 steps of k, each in
    order, and the blocks are joined in a fixed tree, so every device gives the same bits; float16
    and bfloat16 accumulate in float32. The result has the common dtype.

    Raises:
        DeviceMismatchError: the operands lie on two devices.
        TypeError: an operand is no array, or one of booleans.
        ValueError: 0-d operands, or extents that do not fit.

    Examples:
        >>> print(px.matmul(px.asarray([[1, 2], [3, 4]]), px.asarray([1, 10])))
        [21 43]
        >>> px.matmul(px.ones((5, 1, 2, 3)), px.ones((4, 3, 2))).shape  # stacks broadcast
        (5, 4, 2, 2)
    """
    plain = matrix_product(x1, x2)
    if plain is not None:
        return plain
    x1, x2 = _operands(x1, x2, "matmul")
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul takes arrays with at least one axis; multiply 0-d arrays with *")
    a = expand_dims(x1, axis=0) if x1.ndim == 1 else x1
    b = expand_dims(x2, axis=1) if x2.ndim == 1 else x2
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul of shapes {x1.shape} and {x2.shape}: the inner extents {a.shape[-1]} and "
            f"{b.shape[-2]} differ"
        )
    result = _product(a, b)
    shape = list(result.shape)
    if x1.ndim == 1:
        del shape[-2]
    if x2.ndim == 1:
        del shape[-1]
    return reshape(result, tuple(shape)) if len(shape) != result.ndim else result


def _product(a: Array, b: Array) -> Array:
    plain: Array | None = matrix_product(a, b)
    if plain is not None:
        return plain
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = empty((*batch, a.shape[-2], b.shape[-1]), a.dtype, a.device)
    if result.size == 0:
        return result
    if a.shape[-1] == 0:
        fill(result, 0)
        return result
    left = broadcast_to(a, (*batch, *a.shape[-2:])) if a.shape[:-2] != batch else a
    right = broadcast_to(b, (*batch, *b.shape[-2:])) if b.shape[:-2] != batch else b
    launch("matmul", (left, right), (result,))
    return result


def matmul_in_place(x1: Array, x2: Array) -> Array:
    """``x1 @= x2``: the product must keep shape and dtype."""
    result = matmul(x1, x2)
    if result.shape != x1.shape or result.dtype is not x1.dtype:
        raise ValueError(
            f"x1 @= x2 gives shape {result.shape} and {result.dtype}, "
            f"which does not fit into {x1.shape} and {x1.dtype}"
        )
    assign(x1, result)
    return x1


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sum of conj(x1) * x2 along an axis counted from the end; the other axes broadcast.

    The result has the common dtype.

    Raises:
        DeviceMismatchError, TypeError: as ``matmul``.
        ValueError: the extents differ, or a non-negative axis.

    Examples:
        >>> complex(px.vecdot(px.asarray([1j, 2]), px.asarray([1j, 1])))  # the first is conjugated
        (3+0j)
    """
    if axis == -1 and isinstance(x1, Array) and x1.dtype.kind != "c":
        plain = matrix_product(x1, x2, most=1)
        if plain is not None:
            return plain
    from .elementwise import conj

    x1, x2 = _operands(x1, x2, "vecdot")
    if axis == -1 and x1.ndim and x1.shape == x2.shape:
        return _of_rows(conj(x1) if x1.dtype.kind == "c" else x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis <= -1:
        raise ValueError(f"vecdot: axis counts from the end within both shapes, got {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot of shapes {x1.shape} and {x2.shape}: the extents {x1.shape[axis]} and "
            f"{x2.shape[axis]} along axis {axis} differ"
        )
    shape = broadcast_shapes(x1.shape, x2.shape)
    place = len(shape) + axis
    order = (*(i for i in range(len(shape)) if i != place), place)
    a = permute_dims(broadcast_to(conj(x1) if x1.dtype.kind == "c" else x1, shape), order)
    b = permute_dims(broadcast_to(x2, shape), order)
    product = _product(expand_dims(a, axis=-2), expand_dims(b, axis=-1))
    return reshape(product, product.shape[:-2])


def _of_rows(a: Array, b: Array) -> Array:
    """The inner product of each row with the same row of an array of its shape."""
    *lead, k = a.shape
    axes = tuple(range(len(lead)))
    row = seen_as(a, (*lead, 1, k), (*axes, -1, len(lead)))
    column = seen_as(b, (*lead, k, 1), (*axes, len(lead), -1))
    return seen_as(_product(row, column), tuple(lead), axes)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum of products over the last ``axes`` of ``x1`` and the first of ``x2``, or over named axes.

    The result has the common dtype.

    Raises:
        DeviceMismatchError, TypeError: as ``matmul``.
        ValueError: extents that differ, or different numbers of axes.

    Examples:
        >>> print(px.tensordot(px.asarray([1, 2]), px.asarray([10, 20]), axes=0))
        [[10 20]
         [20 40]]
    """
    x1, x2 = _operands(x1, x2, "tensordot")
    if isinstance(axes, int):
        if axes < 0 or axes > min(x1.ndim, x2.ndim):
            raise ValueError(
                f"tensordot: axes is a number from 0 to {min(x1.ndim, x2.ndim)} for shapes "
                f"{x1.shape} and {x2.shape}, got {axes}"
            )
        left, right = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        if isinstance(axes, str) or any(isinstance(a, str | int) for a in axes):
            raise TypeError(
                "tensordot: axes is a number or two sequences of axes, such as ((1,), (0,)), "
                f"got {axes!r}"
            )
        left = tuple([normal_axis(a, x1, "tensordot") for a in axes[0]])
        right = tuple([normal_axis(a, x2, "tensordot") for a in axes[1]])
    first, second, shape = _turned(x1.shape, x2.shape, left, right)
    made: Array = _product(*(_as_matrix(x, *told) for x, told in ((x1, first), (x2, second))))
    return made if made.shape == shape else reshape(made, shape)


#: The order of an operand's axes, if it is another, and its shape as a matrix.
_Matrix = tuple[tuple[int, ...] | None, tuple[int, int]]


@lru_cache(maxsize=256)
def _turned(
    shape1: tuple[int, ...], shape2: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[_Matrix, _Matrix, tuple[int, ...]]:
    """How operands become matrices whose product is over those axes, and the result's shape."""
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        raise ValueError(f"tensordot: axes {(left, right)} name an axis twice")
    if [shape1[a] for a in left] != [shape2[a] for a in right]:
        raise ValueError(
            f"tensordot: the extents of axes {list(left)} of shape {shape1} and of axes "
            f"{list(right)} of shape {shape2} differ"
        )
    free1 = [a for a in range(len(shape1)) if a not in left]
    free2 = [a for a in range(len(shape2)) if a not in right]
    rows, cols = tuple(shape1[a] for a in free1), tuple(shape2[a] for a in free2)
    inner = math.prod(shape1[a] for a in left)
    order1, order2 = (*free1, *left), (*right, *free2)
    return (
        (None if order1 == tuple(range(len(order1))) else order1, (math.prod(rows), inner)),
        (None if order2 == tuple(range(len(order2))) else order2, (inner, math.prod(cols))),
        (*rows, *cols),
    )


def _as_matrix(x: Array, order: tuple[int, ...] | None, shape: tuple[int, int]) -> Array:
    if order is not None:
        x = permute_dims(x, order)
    return x if x.shape == shape else reshape(x, shape)
