"""Transforms along one axis, by the op ``fft`` and what packs real numbers for it."""

from __future__ import annotations

import math
import struct
from functools import lru_cache

from phalanx._warm import Array, DType, empty, launch, view
from phalanx.arrays.data_types import complex64, complex128, float32, float64
from phalanx.optable.fourier import packed, radices

from . import tables


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype whose parts a floating dtype has; itself if it is complex."""
    if dtype.kind == "c":
        return dtype
    return complex64 if dtype is float32 else complex128


def part_of(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype."""
    return float32 if dtype is complex64 else float64


def bits(number: float, dtype: DType) -> int:
    """Return a number in the parts of a complex dtype as the param that has its bits."""
    code, size = ("<f", "<i") if dtype is complex64 else ("<d", "<q")
    found: int = struct.unpack(size, struct.pack(code, number))[0]
    return found


def factor(n: int, norm: str, *, inverse: bool) -> float:
    """Return what a transform of length n multiplies by."""
    if norm == "ortho":
        return 1.0 / math.sqrt(n)
    return 1.0 / n if inverse == (norm == "backward") else 1.0


def behind(x: Array, axis: int) -> Array:
    """Return a view with an axis moved behind the others."""
    if axis == x.ndim - 1:
        return x
    order = [*(a for a in range(x.ndim) if a != axis), axis]
    return view(x, tuple(x.shape[a] for a in order), tuple(x.strides[a] for a in order))


def cut(x: Array, n: int) -> Array:
    """Return the first n elements of the last axis, all if there are not as many."""
    return x if x.shape[-1] <= n else x[..., :n]


def new(x: Array, axis: int, n: int, dtype: DType) -> Array:
    """Return a new array of the shape of x, with n elements along an axis."""
    shape = x.shape
    return empty((*shape[:axis], n, *shape[axis + 1 :]), dtype, x.device)


def into(x: Array, out: Array, scale: float, *, inverse: bool) -> None:
    """Transform the last axis of complex x, which zeros follow, into that of ``out``."""
    n = out.shape[-1]
    if out.size == 0:
        return
    x = cut(x, n)
    if radices(n) is None:
        from .bluestein import bluestein

        bluestein(x, out, scale, inverse=inverse)
        return
    table = tables.twiddles(n, out.dtype, out.device)
    launch("fft", (x, table), (out,), _params(n, scale, out.dtype, inverse))


@lru_cache(maxsize=1024)
def _params(n: int, scale: float, dtype: DType, inverse: bool) -> tuple[int, ...]:
    """What the op is told about a length that has passes."""
    return (int(inverse), bits(scale, dtype), *packed(radices(n) or ()))


def along(x: Array, axis: int, n: int, scale: float, *, inverse: bool) -> Array:
    """Return the transform of complex x along an axis."""
    out = new(x, axis, n, x.dtype)
    into(behind(x, axis), behind(out, axis), scale, inverse=inverse)
    return out
