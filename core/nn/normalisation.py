"""Functions that scale along axes: softmax and its logarithm, norms."""

from __future__ import annotations

import struct
from functools import lru_cache
from math import prod
from typing import Any

from phalanx._warm import Array, Device, DType, along_axis, empty, launch, normal_axis
from phalanx.arrays.checks import need_array, need_one_device, need_real
from phalanx.arrays.data_types import as_dtype, astype, finfo
from phalanx.namespace import reductions
from phalanx.namespace.creation import full
from phalanx.namespace.elementwise import abs as absolute
from phalanx.namespace.elementwise import exp, isfinite, log, maximum, pow, reciprocal, sqrt, where
from phalanx.namespace.manipulation import extents_of, reshape
from phalanx.runtime.memory import on_empty_cache

from .arguments import need_floating, need_same_dtype, rounded_once, widened

Axis = int | tuple[int, ...]


def softmax(input: Array, dim: int = -1, *, dtype: DType | str | None = None) -> Array:
    """Return exp(x) over its sum along an axis: ``phalanx.softmax``; ``dtype`` converts first.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, or one of booleans or complex numbers.

    Examples:
        >>> print(px.nn.softmax(px.asarray([1000.0, 1000.0, 999.0])))
        [0.4223188 0.4223188 0.1553624]
    """
    return reductions.softmax(_converted(input, dtype, "softmax"), axis=dim)


def log_softmax(input: Array, dim: int = -1, *, dtype: DType | str | None = None) -> Array:
    """Return ``x - logsumexp(x)`` along an axis, with nothing that overflows.

    The maximum is taken away, then the logarithm of the sum of exponentials, which are those of
    ``softmax``. float16 and bfloat16 are computed in float32. ``dtype`` converts first. A row
    without a finite maximum gives NaN.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.log_softmax(px.asarray([1000.0, 1000.0, 0.0])))
        [-6.93147181e-01 -6.93147181e-01 -1.00069315e+03]
    """
    x = _converted(input, dtype, "log_softmax")
    need_floating(x, "log_softmax")
    return along_axis("log_softmax", x, normal_axis(dim, x, "log_softmax"), x.dtype)


def _converted(input: Array, dtype: DType | str | None, name: str) -> Array:
    need_array(input, name)
    target = as_dtype(dtype)
    return input if target is None else astype(input, target, copy=False)


@rounded_once
def logsumexp(input: Array, dim: Axis, keepdim: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over axes, with nothing that overflows.

    The order: the maximum is taken away where it is finite, and added to the logarithm of the sum.
    Of no elements, and of -inf alone, it is -inf.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.logsumexp(px.asarray([[1000.0, 1000.0], [-px.inf, 0.0]]), dim=1))
        [1000.69314718    0.        ]
    """
    axes = (dim,) if isinstance(dim, int) else tuple(dim)
    if prod(input.shape[normal_axis(a, input, "logsumexp")] for a in axes) == 0:
        return log(reductions.sum(input, axis=dim, keepdims=keepdim))
    largest = reductions.max(input, axis=dim, keepdims=True)
    shift = where(isfinite(largest), largest, 0.0)
    total = log(reductions.sum(exp(input - shift), axis=dim, keepdims=keepdim))
    kept = total.shape
    return total + reshape(shift, kept)


def _trailing(input: Array, normalized_shape: Any, name: str) -> tuple[int, ...]:
    """The last axes, whose extents must be the normalized shape."""
    shape = extents_of(normalized_shape, f"{name}: normalized_shape")
    if not shape or input.shape[-len(shape) :] != shape:
        raise ValueError(
            f"{name}: normalized_shape {shape} is not the end of the input's shape {input.shape}"
        )
    return tuple(range(-len(shape), 0))


def _scaled(name: str, input: Array, shape: tuple[int, ...], **parameters: Array | None) -> None:
    for what, value in parameters.items():
        if value is None or (
            type(value) is Array
            and value.dtype is input.dtype
            and value.device is input.device
            and value.shape == shape
        ):
            continue
        need_same_dtype(name, input, **{what: value})
        need_one_device(name, input, value)
        if value.shape != shape:
            raise ValueError(
                f"{name}: {what} has the shape {value.shape}, the normalized shape is {shape}"
            )


def layer_norm(
    input: Array,
    normalized_shape: Axis,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    """Return ``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes.

    ``normalized_shape`` is their extents, and the shape of ``weight`` and ``bias``. The order: the
    mean, the deviations, the mean of their squares, each summed as ``sum``; then the product with
    the reciprocal of the root. float16 and bfloat16 are computed in float32 and rounded once.

    Raises:
        TypeError: no floating array, or a weight or bias of another dtype.
        ValueError: a normalized shape that is not the end of the input's, or not the weight's.

    Examples:
        >>> print(px.nn.layer_norm(px.asarray([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]), 3))
        [[-1.22473569  0.          1.22473569]
         [ 0.          0.          0.        ]]
    """
    need_floating(input, "layer_norm")
    need_real(eps, "layer_norm: eps")
    axes = _trailing(input, normalized_shape, "layer_norm")
    shape = input.shape[axes[0] :]
    _scaled("layer_norm", input, shape, weight=weight, bias=bias)
    out = empty(input.shape, input.dtype, input.device)
    if out.size:
        rows = (*input.shape[: axes[0]], prod(shape))
        x, y = (a if len(shape) == 1 else reshape(a, rows) for a in (input, out))
        factors = _weights(weight, 1.0, x), _weights(bias, -0.0, x)
        launch("layer_norm", (x, *factors), (y,), (_bits(eps),))
    return out


def _bits(number: float) -> int:
    """The bits of a float64 as the param that a launch takes."""
    found: int = struct.unpack("<q", struct.pack("<d", float(number)))[0]
    return found


def _weights(given: Array | None, neutral: float, x: Array) -> Array:
    """Return the weights of the last axis of x, or as many times a number that changes nothing."""
    n = x.shape[-1]
    if given is None:
        return _neutral(neutral, n, x.dtype, x.device)
    return given if given.ndim == 1 else reshape(given, (n,))


@lru_cache(maxsize=32)
def _neutral(number: float, n: int, dtype: DType, device: Device) -> Array:
    """Return a number n times; those used last are kept."""
    return full((n,), number, dtype=dtype, device=device)


on_empty_cache(_neutral.cache_clear)


def rms_norm(
    input: Array,
    normalized_shape: Axis,
    weight: Array | None = None,
    eps: float | None = None,
) -> Array:
    """Return ``x / sqrt(mean(x**2) + eps) * weight`` over the last axes.

    ``eps`` is that of the input's dtype if it is left out. Order, shapes and errors are those of
    ``layer_norm``.

    Examples:
        >>> print(px.nn.rms_norm(px.asarray([3.0, 4.0]), 2, eps=0.0))
        [0.84852814 1.13137085]
    """
    need_floating(input, "rms_norm")
    axes = _trailing(input, normalized_shape, "rms_norm")
    shape = input.shape[axes[0] :]
    _scaled("rms_norm", input, shape, weight=weight)
    if eps is None:
        eps = float(finfo(input.dtype).eps)
    need_real(eps, "rms_norm: eps")
    x = widened(input)
    mean = reductions.mean(x * x, axis=axes, keepdims=True)
    result = x * reciprocal(sqrt(mean + float(eps)))
    if weight is not None:
        result *= widened(weight)
    return astype(result, input.dtype, copy=False)


@rounded_once
def normalize(input: Array, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Array:
    """Return x over its p-norm along an axis, or over ``eps`` where that is larger.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no floating array.
        ValueError: ``p`` is not positive.

    Examples:
        >>> print(px.nn.normalize(px.asarray([[3.0, 4.0], [0.0, 0.0]])))
        [[0.6 0.8]
         [0.  0. ]]
    """
    need_real(p, "normalize: p")
    need_real(eps, "normalize: eps")
    if not p > 0:
        raise ValueError(f"normalize: p is positive, got {p}")
    normal_axis(dim, input, "normalize")
    if p == 2:
        norm = sqrt(reductions.sum(input * input, axis=dim, keepdims=True))
    elif p == 1:
        norm = reductions.sum(absolute(input), axis=dim, keepdims=True)
    elif p == float("inf"):
        norm = reductions.max(absolute(input), axis=dim, keepdims=True)
    else:
        powers = reductions.sum(pow(absolute(input), float(p)), axis=dim, keepdims=True)
        norm = pow(powers, 1.0 / float(p))
    return input / maximum(norm, float(eps))
