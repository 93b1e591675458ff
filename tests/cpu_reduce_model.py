"""A literal model of the evaluation orders that the op table states, in NumPy.

Every operation is one IEEE operation on scalars or short vectors, so that a result of a kernel is
either equal in every bit or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from cpu_reduce_library import COMPLEX, FLOATS, INTEGERS, Array, storage
from order_model import scan, tree


def to_unit(x: Array, dtype: str) -> Array:
    """The array in the type of the arithmetic; complex numbers as a last axis of (re, im)."""
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    if dtype == "float16":
        return x.astype(np.float32)
    if dtype in COMPLEX:
        part = np.float32 if dtype == "complex64" else np.float64
        return np.stack([x.real, x.imag], -1).astype(part)
    return x


def from_unit(v: Array, dtype: str) -> Array:
    """Round to the storage type; every NaN becomes the positive quiet one."""
    v = np.where(np.isnan(v), v.dtype.type(np.nan), v) if v.dtype.kind == "f" else v
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(v), np.uint16(0x7FC0), rounded)
    if dtype in COMPLEX:
        return np.ascontiguousarray(v).view(dtype)[..., 0]
    return v.astype(storage(dtype))


def times(a: Array, b: Array, dtype: str) -> Array:
    """The op multiply of finite numbers: each part rounded once (complex64: by way of float64)."""
    if dtype not in COMPLEX:
        return a * b
    (ar, ai), (br, bi) = np.moveaxis(a.astype(float), -1, 0), np.moveaxis(b.astype(float), -1, 0)
    if dtype == "complex64":
        return np.stack([ar * br - ai * bi, ar * bi + ai * br], -1).astype(np.float32)
    return np.stack([exact_dot(ar, br, -ai, bi), exact_dot(ar, bi, ai, br)], -1)


@np.vectorize
def exact_dot(a: float, b: float, c: float, d: float) -> float:
    """a * b + c * d, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c) * Fraction(d))


def operation(op: str, dtype: str) -> Callable[[Any, Any], Any]:
    return (lambda a, b: times(a, b, dtype)) if "prod" in op else (lambda a, b: a + b)


def model_sum(x: Array, op: str, dtype: str) -> Array:
    """sum, prod, mean or sum of squared deviations of each row of x (rows, n)."""
    f, v, n = operation(op, dtype), to_unit(x, dtype), x.shape[1]
    with np.errstate(all="ignore"):
        if op == "sum_squared_deviations" and n:
            v = (v - model_sum(x, "mean", dtype)[:, None]) ** 2
        if n == 0:
            total = np.zeros_like(v, shape=(len(x), *v.shape[2:]))
            total += np.array([1, 0] if dtype in COMPLEX else 1, v.dtype) if op == "prod" else 0
        else:
            blocks = []
            whole = n // 4096 * 4096
            for part in (v[:, :whole].reshape(len(x), -1, 4096, *v.shape[2:]), v[:, None, whole:]):
                lanes: list[Any] = []
                for i in range(part.shape[2] if part.size else 0):
                    if i < 64:
                        lanes.append(part[:, :, i])
                    else:
                        lanes[i % 64] = f(lanes[i % 64], part[:, :, i])
                if lanes:
                    blocks += list(np.moveaxis(tree(lanes, f), 1, 0))
            total = tree(blocks, f)
        if op == "mean":
            total = total / v.dtype.type(n)
    return from_unit(total, dtype)


def model_scan(x: Array, op: str, dtype: str) -> Array:
    """cumulative_sum or cumulative_prod of each row of x (rows, n)."""
    running = scan(np.moveaxis(to_unit(x, dtype), 1, 0), operation(op, dtype))
    return from_unit(np.ascontiguousarray(np.moveaxis(running, 0, 1)), dtype)


def accumulated(dtype: str) -> str:
    return (
        {"i": "int64", "u": "uint64"}.get(np.dtype(storage(dtype)).kind, dtype)
        if dtype in INTEGERS
        else dtype
    )


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype in COMPLEX:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    x = rng.standard_normal(shape).astype("float32")
    return from_unit(x if dtype != "float64" else rng.standard_normal(shape), dtype)


def layouts(x: Array) -> Iterator[Array]:
    """The same (rows, n) values in memory in other ways."""
    yield x
    yield x.T.copy().T
    wide = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    wide[::2, ::3] = x
    yield wide[::2, ::3]
    yield x[:, ::-1].copy()[:, ::-1]
    yield x[::-1].copy(order="F")[::-1]


def same(got: Array, want: Array, what: str) -> None:
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.dtype == want.dtype, what
    assert got.shape == want.shape, what
    a, b = got.reshape(-1).view(np.uint8), want.reshape(-1).view(np.uint8)
    if not np.array_equal(a, b):
        bad = np.argwhere((a != b).reshape(got.size, -1).any(1))[0, 0]
        raise AssertionError(f"{what}: element {bad} is {got.flat[bad]!r}, not {want.flat[bad]!r}")


def factors(dtype: str, shape: tuple[int, ...]) -> Array:
    """Values whose product neither overflows nor vanishes."""
    x = sample("complex128" if dtype in COMPLEX else "float64", shape)
    x = 1 + x * 0.01 if dtype not in COMPLEX else np.exp(1j * x.real) * (1 + x.imag * 0.01)
    return (
        from_unit(x.astype("float32" if dtype == "bfloat16" else dtype), dtype)
        if dtype in FLOATS
        else x.astype(dtype)
    )


def exact(op: str, x: Array, dtype: str) -> Array:
    """The reference by NumPy's own functions on each row; NaN and zeros by their definition."""
    v = to_unit(x, dtype) if dtype not in COMPLEX else x
    reference: Callable[..., Array] = getattr(np, op)
    if op in ("sum", "prod"):
        return reference(x, axis=1, dtype=accumulated(dtype))
    if op not in ("max", "min"):
        return reference(v, axis=1)
    with np.errstate(invalid="ignore"):
        m = reference(v, axis=1)
    if dtype in FLOATS:
        zeros = np.signbit(v).all if op == "max" else np.signbit(v).any
        negative = zeros(1, where=v == 0)
        m = np.where(m == 0, np.where(negative, m.dtype.type(-0.0), m.dtype.type(0.0)), m)
    return from_unit(m, dtype)


def result_type(op: str, dtype: str) -> str:
    if op in ("any", "all"):
        return "bool"
    if op in ("argmax", "argmin", "count_nonzero"):
        return "int64"
    return accumulated(dtype) if op in ("sum", "prod") else dtype


def awkward(dtype: str, shape: tuple[int, int], seed: int) -> Array:
    """Few different values: ties, zeros of both signs, infinities and, in some rows, NaN."""
    rng = np.random.default_rng([seed, *shape])
    if dtype not in FLOATS + COMPLEX:
        return rng.choice(np.array([0, 1, 3, 127]), shape).astype(dtype)
    values = [-0.0, 0.0] if seed == 0 else [-2.5, -0.0, 0.0, 1.0, np.inf, -np.inf]
    v = rng.choice(np.array(values, np.float32), shape)
    if seed == 2:
        v[rng.random(shape) < 3 / shape[1]] = -np.nan
    return from_unit(v, dtype) if dtype in FLOATS else v.astype(dtype)


def model_softmax(x: Array, dtype: str) -> Array:
    """Unrounded: NumPy's exp in float64 or wider, exactly rounded elements for the types below."""
    v = to_unit(x, dtype).astype(np.longdouble if dtype == "float64" else np.float64)
    e = np.exp(v - v.max(1, keepdims=True))
    result: Array = (e / e.sum(1, keepdims=True)).astype(np.float64)
    return result
