"""Numbers of every kind under seed 1, and the digests of their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import phalanx as px

COUNT = 3001
Draw = Callable[[px.random.Generator], px.Array]


def _reals(dtype: str) -> dict[str, Draw]:
    n = COUNT
    return {
        "uniform": lambda g: g.uniform(-1, 3, n, dtype=dtype),
        "normal": lambda g: g.normal(0.5, 3, n, dtype=dtype),
        "exponential": lambda g: g.exponential(2, n, dtype=dtype),
        "gamma(0.3)": lambda g: g.gamma(0.3, size=n, dtype=dtype),
        "gamma(2.5)": lambda g: g.gamma(2.5, size=n, dtype=dtype),
        "gamma(1000)": lambda g: g.gamma(1000, size=n, dtype=dtype),
        "gamma of an array": lambda g: g.gamma(
            px.astype(px.arange(1, n + 1, dtype="float64") / 100, dtype)
        ),
        "beta": lambda g: g.beta(2, 3, n, dtype=dtype),
        "standard_t": lambda g: g.standard_t(3, n, dtype=dtype),
        "dropout_mask": lambda g: g.dropout_mask(0.3, n, dtype=dtype),
        "multivariate_normal": lambda g: g.multivariate_normal(
            [1, 2], [[2, 1], [1, 2]], n, dtype=dtype
        ),
    }


def _bits(g: px.random.Generator, dtype: str) -> px.Array:
    return g.bits(COUNT, dtype=dtype)


def _integers(g: px.random.Generator, dtype: str) -> px.Array:
    return g.integers(0, 100, COUNT, dtype=dtype)


def _poisson(g: px.random.Generator, mean: float) -> px.Array:
    return g.poisson(mean, COUNT)


def _binomial(g: px.random.Generator, n: int, p: float) -> px.Array:
    return g.binomial(n, p, COUNT)


def draws() -> dict[str, Draw]:
    """Everything that is drawn, by name."""
    n = COUNT
    found: dict[str, Draw] = {}
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        found |= {f"{name} {dtype}": draw for name, draw in _reals(dtype).items()}
    for dtype in ("uint32", "uint64"):
        found[f"bits {dtype}"] = partial(_bits, dtype=dtype)
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        found[f"integers {dtype}"] = partial(_integers, dtype=dtype)
    for mean in (0.1, 3.0, 9.9, 10.0, 100.0, 1e9):
        found[f"poisson({mean:g})"] = partial(_poisson, mean=mean)
    for count, p in ((5, 0.5), (1000, 0.3), (1000, 0.9), (10**9, 1e-8)):
        found[f"binomial({count}, {p:g})"] = partial(_binomial, n=count, p=p)
    weights: Any = [0.1, 0.2, 0.3, 0.4, 0]
    return found | {
        "integers of a wide range": lambda g: g.integers(-(2**62), 2**62, n),
        "bernoulli": lambda g: g.bernoulli(0.3, n),
        "poisson of an array": lambda g: g.poisson(px.arange(n) / 10.0),
        "binomial of arrays": lambda g: g.binomial(px.arange(n), px.arange(n) / float(n)),
        "permutation": lambda g: g.permutation(n),
        "choice": lambda g: g.choice(5, n, p=weights),
        "choice without replacement": lambda g: g.choice(n, 50, replace=False, p=[1 / n] * n),
        "split": lambda g: g.split(1)[0].bits(n),
    }


def digest(draw: Draw) -> str:
    """Return 16 digits of the SHA-256 of what a draw gives on the current device."""
    made = px.asnumpy(draw(px.random.Generator(1)))
    return hashlib.sha256(made.tobytes()).hexdigest()[:16]
