"""NumPy's reductions that leave NaN out, of what the namespace has: they run on the device.

``numpy.nanmax(x)`` and the like come here through ``__array_function__``, from xarray and dask too.
Their arguments are NumPy's. Where every element is NaN the result is NaN, without a warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from phalanx._warm import Array

from .data_types import float32


def _split(x: Array, neutral: float) -> tuple[Array, Array | None]:
    """The array with ``neutral`` for NaN, and what is none; ``None`` for dtypes without NaN."""
    from phalanx.namespace.elementwise import isnan, logical_not, where

    if x.dtype.kind not in "fc":
        return x, None
    missing = isnan(x)
    return where(missing, neutral, x), logical_not(missing)


def _filled(name: str, neutral: float, x: Array, axis: Any = None, **options: Any) -> Array:
    """``nansum``, ``nanprod``, ``nancumsum`` and ``nancumprod``: NaN counts as the neutral one."""
    found: Array = getattr(_split(x, neutral)[0], name)(axis=axis, **options)
    return found


def _extreme(name: str, neutral: float, x: Array, axis: Any = None, **options: Any) -> Array:
    """``nanmax`` and ``nanmin``; NaN where nothing else is."""
    from phalanx.namespace.elementwise import where

    filled, present = _split(x, neutral)
    found: Array = getattr(filled, name)(axis=axis, **options)
    return found if present is None else where(present.any(axis=axis, **options), found, math.nan)


def _wide(x: Array, dtype: Any) -> Array:
    """The array in the dtype to compute in: float32 for dtypes of 16 bits, which count to 2048."""
    x = x if dtype is None else x.astype(dtype)
    return x.astype(float32) if x.dtype.kind == "f" and x.dtype.itemsize == 2 else x


def _mean(x: Array, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    wide = _wide(x, dtype)
    filled, present = _split(wide, 0.0)
    if present is None:
        return wide.mean(axis=axis, keepdims=keepdims)
    count = present.astype(wide.dtype).sum(axis=axis, keepdims=keepdims)
    found: Array = filled.sum(axis=axis, keepdims=keepdims) / count
    return found.astype(x.dtype, copy=False) if dtype is None else found.astype(dtype, copy=False)


def _variance(
    x: Array, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Array:
    from phalanx.namespace.elementwise import where

    wide = _wide(x, dtype)
    _, present = _split(wide, 0.0)
    if present is None or wide.dtype.kind == "c":  # of which there is no variance
        return wide.var(axis=axis, correction=ddof, keepdims=keepdims)
    off = where(present, wide - _mean(wide, axis, keepdims=True), 0.0)
    degrees = present.astype(wide.dtype).sum(axis=axis, keepdims=keepdims) - ddof
    degrees = where(degrees > 0, degrees, math.nan)
    found: Array = (off * off).sum(axis=axis, keepdims=keepdims) / degrees
    return found.astype(x.dtype, copy=False) if dtype is None else found.astype(dtype, copy=False)


def _deviation(x: Array, axis: Any = None, **options: Any) -> Array:
    from phalanx.namespace.elementwise import sqrt

    return sqrt(_variance(x, axis, **options))


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "nansum": partial(_filled, "sum", 0.0),
    "nanprod": partial(_filled, "prod", 1.0),
    "nancumsum": partial(_filled, "cumsum", 0.0),
    "nancumprod": partial(_filled, "cumprod", 1.0),
    "nanmax": partial(_extreme, "max", -math.inf),
    "nanmin": partial(_extreme, "min", math.inf),
    "nanmean": _mean,
    "nanvar": _variance,
    "nanstd": _deviation,
}
