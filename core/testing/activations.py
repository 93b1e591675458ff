"""Functions of networks on the host, which NumPy has not: what tests compare with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_Floats = np.ndarray[Any, np.dtype[Any]]
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x: _Floats) -> _Floats:
    """Return ``1 / (1 + exp(-x))`` of numbers (n,) in float64, within 2 ulp."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(x < 0, np.exp(x), 1.0) / (1.0 + np.exp(-np.abs(x))))


def silu(x: _Floats) -> _Floats:
    """Return ``x * sigmoid(x)`` of numbers (n,) in float64, within 4 ulp; -0 at -inf.

    By the root of exp(x), which does not underflow before the result.
    """
    x = np.maximum(np.asarray(x, np.float64), -800.0)
    root = np.exp(0.5 * np.minimum(x, 0.0))
    return np.asarray(x * root / (1.0 + np.exp(-np.abs(x))) * root)


def gelu(x: _Floats) -> _Floats:
    """Return ``x / 2 * erfc(-x / sqrt(2))`` of numbers (n,) in float64; -0 at -inf.

    Within 4 ulp where NumPy's ``longdouble`` has 64 bits: by what the argument was rounded counts
    twice its size in the result, by the derivative of erfc. Below -36, where erfc underflows before
    the result, the density, which is the first term of the series (DLMF 7.12.1), within 2^-10.
    """
    limited = np.maximum(np.asarray(x, np.float64), -60.0)
    exact = -limited.astype(np.longdouble) * np.sqrt(np.longdouble(0.5))
    z = exact.astype(np.float64)
    with np.errstate(all="ignore"):
        rest = np.where(np.isfinite(z), exact - z, 0.0).astype(np.float64)
        y = limited * 0.5 * (_erfc(z) * (1.0 - 2.0 * np.maximum(z, 0.0) * rest))
        far = np.exp(-0.5 * limited * limited) * -np.sqrt(0.5 / np.pi)
        return np.asarray(np.where(limited < -36.0, far, y))


def softplus(x: _Floats) -> _Floats:
    """Return ``log(1 + exp(x))`` of numbers (n,) in float64, within 2 ulp."""
    return np.asarray(np.logaddexp(np.asarray(x, np.float64), 0.0))


#: By the names of the op table.
ACTIVATIONS = {"gelu": gelu, "sigmoid": sigmoid, "silu": silu, "softplus": softplus}
