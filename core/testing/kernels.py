"""Every op of the table in NumPy, on operands in their canonical forms, which are checked first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from phalanx.driver import Layout
from phalanx.optable import OPS, Structure
from phalanx.optable.fourier import table_length, unpacked
from phalanx.optable.structured import NO_PLACE

from . import factors, random, random_tries
from .activations import ACTIVATIONS
from .fused import fma
from .gamma import digamma, lgamma

HostArray = npt.NDArray[Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_HALF = (np.dtype(np.float16), BFLOAT16)


def numpy_type(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype for a name."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def compute(
    op: str,
    layout: Layout,
    inputs: Sequence[HostArray],
    outputs: Sequence[HostArray],
    params: tuple[int, ...],
) -> None:
    """Run an op; scalar operands are 0-d arrays.

    Raises:
        AssertionError: a form of operands that no kernel has to accept.
        IndexError: an index out of range.
    """
    with np.errstate(all="ignore"):
        structure = OPS[op].structure
        if structure is Structure.ELEMENTWISE:
            (out,) = outputs
            _check_elementwise(layout, inputs, out)
            flat = layout is Layout.CONTIGUOUS
            operands = [a.reshape(out.size) if flat and a.size == out.size else a for a in inputs]
            result = elementwise(op, operands, out.dtype)
            # The result is complete before it is stored, so an operand may be the output.
            out[...] = np.broadcast_to(result, out.size if flat else out.shape).reshape(out.shape)
            return
        run = _STRUCTURED.get(op) or _STRUCTURES[structure]
        run(op, inputs, outputs[0], params)


def _check_elementwise(layout: Layout, inputs: Sequence[HostArray], out: HostArray) -> None:
    if layout is Layout.CONTIGUOUS:
        for a in (*inputs, out):
            assert a.flags.c_contiguous, (a.shape, a.strides)
            assert a.size in (1, out.size), (a.shape, out.shape)
        return
    for a in inputs:
        assert a.ndim == 0 or a.shape == out.shape, (a.shape, out.shape)
    assert out.ndim <= 64
    steps = [abs(s) for s in out.strides]
    assert steps == sorted(steps, reverse=True), (
        f"the output's axes are not in order: {out.strides}"
    )
    assert 1 not in out.shape, f"an axis of one element was left: {out.shape}"
    for i in range(out.ndim - 1):
        runs = [a.strides[i] == a.strides[i + 1] * a.shape[i + 1] for a in (*inputs, out) if a.ndim]
        assert not all(runs), f"axes {i} and {i + 1} of {out.shape} could have been merged"


# Elementwise


def elementwise(op: str, operands: Sequence[HostArray], to: np.dtype[Any]) -> HostArray:
    """The function in NumPy; bfloat16 is computed in float32 and rounded once."""
    if op == "cast":
        return cast(operands[0], to)
    if any(a.dtype == BFLOAT16 for a in operands) and op not in (
        "nextafter",
        "copysign",
        "where",
        "copy",
    ):
        wide = [a.astype(np.float32) if a.dtype == BFLOAT16 else a for a in operands]
        return np.asarray(_function(op)(*wide)).astype(to)
    result = np.asarray(_function(op)(*operands))
    assert np.can_cast(result.dtype, to, "same_kind"), (op, result.dtype, to)
    return result.astype(to, copy=False)


def _function(op: str) -> Callable[..., Any]:
    return _ELEMENTWISE.get(op) or getattr(np, op)


def _pow(a: HostArray, b: HostArray) -> HostArray:
    if a.dtype.kind != "i":
        return np.pow(a, b)
    whole = np.pow(a, np.maximum(b, 0))
    fraction = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0))
    return np.where(b < 0, fraction, whole).astype(a.dtype)


def _round(a: HostArray) -> HostArray:
    return a if a.dtype.kind in "iu" else np.rint(a)


def _fma(a: HostArray, b: HostArray, c: HostArray) -> HostArray:
    if a.dtype == np.float16:
        a, b, c = (x.astype(np.float32) for x in (a, b, c))
    return fma(a, b, c)


#: Functions whose name or rule differs from NumPy's.
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "pow": _pow,
    "round": _round,
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "lgamma": lgamma,
    "digamma": digamma,
    **ACTIVATIONS,
    "fma": _fma,
}


def cast(a: HostArray, to: np.dtype[Any]) -> HostArray:
    """Conversion as the op table has it: floats truncate and saturate, NaN is 0, integers wrap."""
    if to.kind == "b":
        return np.asarray(a != 0)
    if a.dtype.kind == "c" and to.kind != "c":
        a = a.real
    if a.dtype == BFLOAT16 and to.kind != "V":
        a = a.astype(np.float32)
    if a.dtype.kind != "f" or to.kind not in "iu":
        return (_to_odd(a) if to == BFLOAT16 and a.dtype.kind in "iuf" else a).astype(to)
    low, high = int(np.iinfo(to).min), int(np.iinfo(to).max)
    wide = np.trunc(a.astype(np.float64))
    inside = (wide > low) & (wide < high)
    result = np.where(inside, wide, 0).astype(to)
    return np.where(wide >= high, to.type(high), np.where(wide <= low, to.type(low), result))


def _to_odd(a: HostArray) -> HostArray:
    """Numbers as float32 of which those between two have an odd last bit: rounded on, rounded once.

    (Boldo & Melquiond, IEEE Trans. Computers 57, 2008.)
    """
    wide = a.astype(np.longdouble)  # which has all bits of 64-bit integers on x86 and AArch64 Linux
    with np.errstate(over="ignore", under="ignore"):
        near = wide.astype(np.float32)
        lower = np.nextafter(near, np.float32(0))
    inexact = np.isfinite(wide) & (near != wide)
    below = np.where(inexact & (np.abs(near) > np.abs(wide)), lower, near)
    return np.asarray((below.view(np.uint32) | inexact).view(np.float32))


# The other structures: the axis that they work along is the last


def _reduce(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    (x,) = inputs
    assert x.ndim == out.ndim + 1, (x.shape, out.shape)
    assert x.shape[:-1] == out.shape, (x.shape, out.shape)
    if x.dtype in _HALF:
        x = x.astype(np.float32)
    if op in ("sum", "prod"):
        result = getattr(np, op)(x, axis=-1, dtype=out.dtype if out.dtype.kind in "iu" else x.dtype)
    elif op == "mean":
        result = np.sum(x, axis=-1) / x.dtype.type(x.shape[-1])
    elif op == "sum_squared_deviations":
        mean = np.sum(x, axis=-1, keepdims=True) / x.dtype.type(x.shape[-1])
        result = np.sum(np.square(x - mean), axis=-1)
    else:
        result = getattr(np, op)(x, axis=-1)
    out[...] = np.asarray(result).astype(out.dtype)


def _scan(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    (x,) = inputs
    assert x.shape == out.shape
    kind = np.float32 if x.dtype in _HALF else x.dtype
    out[...] = getattr(np, op)(x.astype(kind), axis=-1, dtype=kind).astype(out.dtype)


def _order(x: HostArray, descending: bool, signed_zeros: bool) -> HostArray:
    """Places that sort stably, NaN as the largest."""
    if x.dtype in _HALF:
        x = x.astype(np.float32)
    if descending:
        backward = _order(x[..., ::-1], False, signed_zeros)
        return np.asarray((x.shape[-1] - 1 - backward)[..., ::-1])
    if signed_zeros and x.dtype.kind == "f":
        return np.lexsort((~np.signbit(x), x), axis=-1)
    return np.argsort(x, axis=-1, stable=True)


def _sort(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    (x,) = inputs
    assert x.shape == out.shape
    order = _order(x, bool(params[0]), signed_zeros=op == "sort")
    out[...] = np.take_along_axis(x, order, axis=-1) if op == "sort" else order


def _searchsorted(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    ordered, values = (a.astype(np.float32) if a.dtype in _HALF else a for a in inputs)
    assert ordered.ndim == values.ndim == 1
    out[...] = np.searchsorted(ordered, values, "right" if params[0] else "left")


def _nonzero(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    assert inputs[0].ndim == 1
    assert inputs[0].flags.c_contiguous
    out[...] = np.flatnonzero(inputs[0])


def _compress(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    x, mask = inputs
    assert x.ndim == 2
    assert x.flags.c_contiguous
    assert mask.flags.c_contiguous
    out[...] = x[mask]


def _wrap_index(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    (x,) = inputs
    n, stride = params
    assert x.shape == out.shape
    outside = (x < -n) | (x >= n)
    out[...] = NO_PLACE if outside.any() else np.where(x < 0, x + n, x) * stride
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        raise IndexError(
            f"index {x.flat[place]} at place {place} is out of range for an axis of extent {n}; "
            f"valid indices are in [{-n}, {n})"
        )


def _segment_sum(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    x, ids = inputs
    wide = np.dtype(np.float32) if out.dtype in _HALF else out.dtype
    there = (ids >= 0) & (ids < len(out))
    sums = np.zeros(out.shape, wide)
    np.add.at(sums, ids[there], x[there].astype(wide))
    out[...] = sums.astype(out.dtype)


def _bincount(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    (ids,) = inputs
    there = (ids >= 0) & (ids < len(out))
    out[...] = np.bincount(ids[there], minlength=len(out))


def _histogram(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    x, edges = (a.astype(np.float64) for a in inputs)
    places = np.searchsorted(edges, x, "right") - 1
    places = np.where(x == edges[-1], len(out) - 1, places)
    there = (places >= 0) & (places < len(out)) & ~np.isnan(x)
    out[...] = np.bincount(places[there], minlength=len(out))


def _arange(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    start, step = (a.reshape(())[()] for a in inputs)
    wide = np.dtype(np.float32) if out.dtype in _HALF else out.dtype
    places = np.arange(out.shape[0]).astype(wide)
    out[...] = (start.astype(wide) + places * step.astype(wide)).astype(out.dtype)


def _matmul(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    a, b = (x.astype(np.float32) if x.dtype in _HALF else x for x in inputs)
    assert a.shape[:-2] == b.shape[:-2] == out.shape[:-2]
    out[...] = np.matmul(a, b).astype(out.dtype)


def _softmax(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    x = inputs[0].astype(np.float32) if inputs[0].dtype in _HALF else inputs[0]
    shifted = x - np.max(x, axis=-1, keepdims=True)
    powers = np.exp(shifted)
    total = np.sum(powers, axis=-1, keepdims=True)
    found = powers / total if op == "softmax" else shifted - np.log(total)
    out[...] = found.astype(out.dtype)


def _layer_norm(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    x, weight, bias = (a.astype(np.float32) if a.dtype in _HALF else a for a in inputs)
    assert weight.shape == bias.shape == x.shape[-1:]
    eps = np.frombuffer(np.int64(params[0]).tobytes())[0].astype(x.dtype)
    d = x - np.mean(x, axis=-1, keepdims=True)
    root = np.sqrt(np.mean(d * d, axis=-1, keepdims=True) + eps)
    out[...] = (d / root * weight + bias).astype(out.dtype)


def _fft(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    x, table = inputs
    inverse, bits, *rest = params
    passes = unpacked(rest)
    n = out.shape[-1]
    assert n == math.prod(passes), (n, passes)
    assert x.shape[:-1] == out.shape[:-1]
    assert x.shape[-1] <= n
    assert table.shape == (max(1, table_length(passes)),)
    assert table.flags.c_contiguous
    if out.size:
        made = np.fft.ifft(x, n, norm="forward") if inverse else np.fft.fft(x, n)
        out[...] = made * _part(bits, out)


def _part(bits: int, out: HostArray) -> Any:
    """The number whose bits a param has, in the dtype of the parts."""
    size = out.real.dtype.itemsize
    return np.array([bits], "<i8").view(f"<f{size}")[0]


def _fft_from_pairs(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    z, w = inputs
    assert out.shape == (*z.shape[:-1], w.size)
    a = np.concatenate([z, z[..., :1]], axis=-1)
    b = a[..., ::-1].conj()
    out[...] = ((a + b) - 1j * w * (a - b)) * _part(params[0], out)


def _fft_to_pairs(
    op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]
) -> None:
    x, w = inputs
    m = out.shape[-1]
    assert w.shape == (m + 1,)
    a = np.zeros((*x.shape[:-1], m + 1), x.dtype)
    a[..., : x.shape[-1]] = x
    a[..., [0, m]] = a[..., [0, m]].real
    b = a[..., ::-1].conj()
    out[...] = ((a + b) + 1j * w.conj() * (a - b))[..., :m]


_STRUCTURES: dict[Structure, Callable[..., None]] = {
    Structure.REDUCTION: _reduce,
    Structure.SCAN: _scan,
    Structure.SORT: _sort,
    Structure.RANDOM: random.compute,
    Structure.FACTORIZATION: factors.compute,
}
_STRUCTURED: dict[str, Callable[..., None]] = {
    "searchsorted": _searchsorted,
    "nonzero": _nonzero,
    "compress": _compress,
    "wrap_index": _wrap_index,
    "segment_sum": _segment_sum,
    "bincount": _bincount,
    "histogram": _histogram,
    "arange": _arange,
    "matmul": _matmul,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "layer_norm": _layer_norm,
    "fft": _fft,
    "fft_from_pairs": _fft_from_pairs,
    "fft_to_pairs": _fft_to_pairs,
    "random_gamma": random_tries.compute,
    "random_poisson": random_tries.compute,
    "random_binomial": random_tries.compute,
}
