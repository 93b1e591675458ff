"""Sample operands, and comparison with NumPy within a few ulp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
from phalanx.testing.kernels import numpy_type


def dtype(name: str) -> px.DType:
    return getattr(px, name)


def sample(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Small numbers that every function of the table but ``acosh`` is defined for."""
    rng = np.random.default_rng(seed)
    kind = numpy_type(name)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        return rng.integers(1, 4, shape).astype(kind)
    data = rng.uniform(0.1, 0.9, shape)
    return (
        (data + 1j * rng.uniform(0.1, 0.9, shape)).astype(kind)
        if kind.kind == "c"
        else data.astype(kind)
    )


def check(got: px.Array, want: Any) -> None:
    """Compare within a few ulp of the dtype; how exact the kernels are is tested elsewhere."""
    have = px.asnumpy(got)
    want = np.asarray(want)
    assert have.dtype == want.dtype
    assert have.shape == want.shape
    if have.dtype.kind in "biu":
        np.testing.assert_array_equal(have, want)
        return
    eps = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 4e-6}.get(
        have.dtype.name, 1e-13
    )
    wide = complex if have.dtype.kind == "c" else float
    np.testing.assert_allclose(have.astype(wide), want.astype(wide), rtol=eps, atol=eps)


def host_values(result: Any) -> Any:
    """A result with its arrays in NumPy; tuples, lists and named tuples alike."""
    if isinstance(result, px.Array):
        return px.asnumpy(result)
    if isinstance(result, tuple | list):
        return [host_values(r) for r in result]
    return result


def compare(got: Any, want: Any) -> None:
    got = host_values(got)
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            compare(g, w)
        return
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert np.shape(got) == np.shape(want)


def run(call: Callable[..., Any], *data: Any) -> None:
    """Apply a function written for both namespaces to NumPy and to Phalanx."""
    with np.errstate(all="ignore"):
        want = call(np, *data)
    compare(call(px, *(px.asarray(d) for d in data)), want)
