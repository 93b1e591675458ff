"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence

from phalanx._warm import Array, assign, cast, empty, fill, launch, matrix_product, normal_axis
from phalanx.arrays.data_types import result_type
from phalanx.errors import DeviceMismatchError

from .manipulation import broadcast_shapes, broadcast_to, expand_dims, permute_dims, reshape


def _operands(x1: Array, x2: Array, op: str) -> tuple[Array, Array]:
    """Both arrays in their common dtype, on one device."""
    for x in (x1, x2):
        if not isinstance(x, Array):
            raise TypeError(f"{op} takes phalanx arrays, got {type(x).__name__}")
        if x.dtype.kind == "b":
            raise TypeError(f"{op} is not defined for bool; convert with phalanx.astype")
    if x1.device is not x2.device:
        raise DeviceMismatchError(
            f"{op} of arrays on {x1.device} and {x2.device}: "
            f'move one, for example with y.to_device("{x1.device}")'
        )
    dtype = result_type(x1, x2)
    return cast(x1, dtype), cast(x2, dtype)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product (..., m, k) times (..., k, n); 1-d operands are a row or a column.

    Each element is accumulated with fused multiply-add over blocks of 4096 steps of k, each in
    order, and the blocks are joined in a fixed tree, so every device gives the same bits; float16
    and bfloat16 accumulate in float32.

    Raises:
        ValueError: 0-d operands, or extents that do not fit.
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

    Raises:
        ValueError: the extents differ, or a non-negative axis.
    """
    if axis == -1 and _is_real_vector(x1) and _is_real_vector(x2):
        plain = matrix_product(x1, x2)
        if plain is not None:
            return plain
    from .elementwise import conj

    x1, x2 = _operands(x1, x2, "vecdot")
    if not -min(x1.ndim, x2.ndim) <= axis <= -1:
        raise ValueError(f"vecdot: axis counts from the end within both shapes, got {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: extents {x1.shape[axis]} and {x2.shape[axis]} differ")
    shape = broadcast_shapes(x1.shape, x2.shape)
    place = len(shape) + axis
    order = (*(i for i in range(len(shape)) if i != place), place)
    a = permute_dims(broadcast_to(conj(x1) if x1.dtype.kind == "c" else x1, shape), order)
    b = permute_dims(broadcast_to(x2, shape), order)
    product = _product(expand_dims(a, axis=-2), expand_dims(b, axis=-1))
    return reshape(product, product.shape[:-2])


def _is_real_vector(x: Array) -> bool:
    return isinstance(x, Array) and x.ndim == 1 and x.dtype.kind != "c"


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum of products over the last ``axes`` of ``x1`` and the first of ``x2``, or over named axes.

    Raises:
        ValueError: extents that differ, or different numbers of axes.
    """
    x1, x2 = _operands(x1, x2, "tensordot")
    if isinstance(axes, int):
        if axes < 0 or axes > min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: {axes} axes of shapes {x1.shape} and {x2.shape}")
        left, right = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        left = [normal_axis(a, x1, "tensordot") for a in axes[0]]
        right = [normal_axis(a, x2, "tensordot") for a in axes[1]]
        if len(set(left)) != len(left) or len(set(right)) != len(right):
            raise ValueError(f"tensordot: axes {axes} name an axis twice")
    if [x1.shape[a] for a in left] != [x2.shape[a] for a in right]:
        raise ValueError(
            f"tensordot: axes {left} of shape {x1.shape} and {right} of shape {x2.shape} differ"
        )
    free1 = [a for a in range(x1.ndim) if a not in left]
    free2 = [a for a in range(x2.ndim) if a not in right]
    inner = math.prod(x1.shape[a] for a in left)
    rows, cols = [x1.shape[a] for a in free1], [x2.shape[a] for a in free2]
    matrix1 = _as_matrix(x1, (*free1, *left), math.prod(rows), inner)
    matrix2 = _as_matrix(x2, (*right, *free2), inner, math.prod(cols))
    return reshape(_product(matrix1, matrix2), (*rows, *cols))


def _as_matrix(x: Array, order: tuple[int, ...], rows: int, cols: int) -> Array:
    return reshape(permute_dims(x, order), (rows, cols))
