"""Rows that are normalized, with error bounds: softmax, its logarithm, layer norm.

Bounds are those of `sums`: a sum of n terms in the tree that the op table states has an error of at
most gamma_d sum|x| (Higham 2002, 4.2), and each further operation one of u (2.2).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from phalanx.optable import OPS
from phalanx.optable.structured import SOFTMAX_EXP_ULP

from .near import (
    ACCUMULATOR,
    Near,
    digits_of,
    gamma,
    least,
    near,
    overflow_of,
    roundoff,
    working,
)
from .sums import tree_depth
from .values import HostArray

_EXP, _LOG = OPS["exp"].bound, OPS["log"].bound


class _Powers(NamedTuple):
    """exp(x - max) of rows (..., n), and the relative errors that they and their sums have."""

    distance: HostArray
    powers: HostArray
    total: HostArray
    error: HostArray
    total_error: HostArray


def _powers(x: HostArray) -> _Powers:
    """The subtraction adds u |x - max| to the relative error of a power, exp its own bound.

    1 ulp is at most 2 u (Higham 2002, 2.1); the sum adds gamma_d and the mean error of its terms.
    """
    name, n = x.dtype.name, x.shape[-1]
    u = roundoff(name)
    wide = x.astype(np.float64).astype(working(name))
    distance = wide - wide.max(axis=-1, keepdims=True)
    powers = np.exp(distance)
    total = powers.sum(axis=-1, keepdims=True)
    far = np.where(powers == 0, 0.0, np.abs(distance).astype(np.float64))
    stated = SOFTMAX_EXP_ULP if ACCUMULATOR[name] == "float32" else _EXP.ulp["float64"]
    error = u * (far + 2 * stated) + 2.0 ** -digits_of(wide) * (far + n + 8)
    mean_error = (error * (powers / total)).astype(np.float64).sum(axis=-1, keepdims=True)
    return _Powers(distance, powers, total, error, mean_error + gamma(tree_depth(n), u))


def _left(exact: HostArray, values: HostArray) -> HostArray:
    """Return what float64 values leave of exact ones."""
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(values), (exact - values).astype(np.float64), 0.0)


def softmax(x: HostArray) -> Near:
    """Return exp(x - max) over its sum along the last axis of real numbers (..., n).

    Reciprocal and product add u each. Powers that are subnormal add a step of the format each.
    """
    name, n = x.dtype.name, x.shape[-1]
    if n == 0:
        return near(np.zeros(x.shape), np.zeros(x.shape), name)
    with np.errstate(all="ignore"):
        found = _powers(x)
        exact = found.powers / found.total
        values = exact.astype(np.float64)
        relative = found.error + found.total_error + gamma(3, roundoff(name))
        radius = 1.01 * relative * values + 2 * least(name)
    return near(values, radius, name, rest=_left(exact, values))


def log_softmax(x: HostArray) -> Near:
    """Return x - max - log(sum exp(x - max)) along the last axis of real numbers (..., n).

    A relative error of the sum is an absolute one of its logarithm; each difference adds u.
    """
    name, n = x.dtype.name, x.shape[-1]
    u = roundoff(name)
    if n == 0:
        return near(np.zeros(x.shape), np.zeros(x.shape), name)
    with np.errstate(all="ignore"):
        found = _powers(x)
        logs = np.log(found.total)
        exact = found.distance - logs
        values = exact.astype(np.float64)
        sizes = np.abs(found.distance).astype(np.float64) + np.abs(logs).astype(np.float64)
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        stated = 2 * _LOG.ulp[ACCUMULATOR[name]]
        radius = 1.01 * (found.total_error + u * (2 + stated) * sizes) + 2 * least(name)
        radius = radius + 2.0 ** -digits_of(exact) * (sizes + n)
    return near(values, radius, name, rest=_left(exact, values))


class _Deviations(NamedTuple):
    """Differences of rows (..., n) from their means, and what the squares of computed ones are.

    The error of a difference is that of the mean and u.
    """

    differences: HostArray
    off: HostArray
    squares: HostArray
    own: float


def _deviations(x: HostArray) -> _Deviations:
    name, n = x.dtype.name, x.shape[-1]
    u = roundoff(name)
    wide = x.astype(np.float64).astype(working(name))
    own = gamma(n, 2.0 ** -digits_of(wide))
    sizes = np.abs(wide).mean(axis=-1, keepdims=True)
    off = (gamma(tree_depth(n) + 1, u) + own) * sizes  # of the mean
    d = wide - wide.mean(axis=-1, keepdims=True)
    d_off = (1 + u) * off + u * np.abs(d)
    return _Deviations(d, d_off, (np.abs(d) + d_off) ** 2, own)


def sum_squared_deviations(x: HostArray) -> Near:
    """Return the sum of (x - mean)^2 along the last axis of real numbers (..., n).

    The errors of the terms are those of the differences and u each; the sum adds gamma_d. Nothing
    is asked of a row whose sum, mean or squares may overflow, or where a square may vanish.
    """
    name, n = x.dtype.name, x.shape[-1]
    if n == 0:
        return near(np.zeros(x.shape[:-1]), np.zeros(x.shape[:-1]), name)
    u = roundoff(name)
    with np.errstate(all="ignore"):
        found = _deviations(x)
        terms = found.differences**2
        exact = terms.sum(axis=-1)
        radius = (found.squares - terms).sum(axis=-1)
        radius += (gamma(tree_depth(n) + 2, u) + found.own) * found.squares.sum(axis=-1)
        radius += 2 * n * least(name)
        values = exact.astype(np.float64)
        limit = overflow_of(name) / 2
        most = np.maximum(np.abs(x.astype(np.float64)).sum(axis=-1), values + radius)
        radius = np.where(np.isfinite(most) & (most >= limit), np.inf, radius.astype(np.float64))
    return near(values, radius, name, rest=_left(exact, values))


def layer_norm(x: HostArray, weight: HostArray, bias: HostArray, params: tuple[int, ...]) -> Near:
    """Return (x - mean) / sqrt(variance + eps) * weight + bias, of rows (..., n).

    The error of the variance follows from the
    errors of its terms, half of which is that of the root. Sums and squares must not overflow.
    Nothing is asked of a row whose variance and eps may both be 0.
    """
    name, n = x.dtype.name, x.shape[-1]
    if n == 0:
        return near(np.zeros(x.shape), np.zeros(x.shape), name)
    u, depth = roundoff(name), tree_depth(n)
    eps = struct.unpack("<d", struct.pack("<q", params[0]))[0]
    with np.errstate(all="ignore"):
        d, d_off, squares, own = _deviations(x)
        w, b = (a.astype(np.float64).astype(working(name)) for a in (weight, bias))
        variance = (d * d).mean(axis=-1, keepdims=True)
        v_off = (squares - d * d).mean(axis=-1, keepdims=True) + least(name)
        v_off = v_off + (gamma(depth + 3, u) + own) * squares.mean(axis=-1, keepdims=True)
        v = variance + d.dtype.type(eps)
        v_off = v_off + 2 * u * v
        root = 1 / np.sqrt(v)
        most = 1 / np.sqrt(v - v_off)  # NaN where the variance may be 0
        scaled = d * root
        scaled_off = (np.abs(d) + d_off) * most * (1 + gamma(4, u)) - np.abs(scaled)
        exact = scaled * w + b
        radius = (scaled_off * np.abs(w)) * (1 + gamma(2, u)) + u * np.abs(scaled * w)
        radius = radius + u * (np.abs(exact) + radius) + 2 * least(name)
        values = exact.astype(np.float64)
        radius = np.where(np.isfinite(most), radius.astype(np.float64), np.inf)
    return near(values, radius, name, rest=_left(exact, values))
