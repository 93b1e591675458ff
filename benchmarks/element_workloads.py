"""What is timed of elementwise functions and casts, besides the first rows of ``workloads``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import Operands, Workload, values, vectors

#: The size of a row whose behaviour over size is another row's.
ONE_SIZE = (2**20,)
TWO_SIZES = (2**16, 2**20)
_NO_BFLOAT16 = {"numpy": "NumPy has no bfloat16"}


def more(
    name: str,
    summary: str,
    expression: str,
    operands: Callable[[int, np.random.Generator], Operands],
    sizes: tuple[int, ...] = ONE_SIZE,
    quick_sizes: tuple[int, ...] = (),
    **further: Any,
) -> Workload:
    """Return a row that a quick run leaves out."""
    return Workload(name, summary, expression, operands, sizes, quick_sizes, **further)


def _of(dtype: str) -> Callable[[int, np.random.Generator], Operands]:
    return lambda n, rng: (values(n, rng).astype(dtype),)


def _complex(dtype: str) -> Callable[[int, np.random.Generator], Operands]:
    def make(n: int, rng: np.random.Generator) -> Operands:
        return tuple((values(n, rng) + 1j * values(n, rng)).astype(dtype) for _ in range(2))

    return make


def _positive(n: int, rng: np.random.Generator) -> Operands:
    return (rng.random(n, dtype=np.float32) + np.float32(0.125),)


def _base_and_exponent(n: int, rng: np.random.Generator) -> Operands:
    return tuple(rng.uniform(low, 2.0, n).astype(np.float32) for low in (0.5, -2.0))


def _integers(n: int, rng: np.random.Generator) -> Operands:
    """Both signs, and no divisor is 0."""
    divisors = rng.integers(1, 30, n) * rng.choice([-1, 1], n)
    return rng.integers(-1000, 1000, n, dtype=np.int32), divisors.astype(np.int32)


def _two_masks(n: int, rng: np.random.Generator) -> Operands:
    return rng.random(n) < 0.5, rng.random(n) < 0.5


def _short_floats(n: int, rng: np.random.Generator) -> Operands:
    """Values of float32 that bfloat16 holds, in float32: NumPy lacks the dtype."""
    return ((values(n, rng).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),)


#: To the nearest, ties to even, as IEEE 754-2019 has it in section 4.3.1; the values are finite.
_TO_SHORT = (
    "((i := a.view(xp.uint32)) + xp.uint32(0x7fff) + (i >> 16 & xp.uint32(1))"
    " & xp.uint32(0xffff0000)).view(xp.float32)"
)

ELEMENT_WORKLOADS: tuple[Workload, ...] = (
    more("complex64 mul", "a * b in complex64", "a * b", _complex("complex64"), TWO_SIZES),
    more("complex128 mul", "a * b in complex128", "a * b", _complex("complex128")),
    more(
        "to float16",
        "cast float32 to float16",
        "xp.astype(a, xp.float16)",
        vectors(1),
        special={"torch": "a.to(xp.float16)"},
    ),
    more(
        "from float16",
        "cast float16 to float32",
        "xp.astype(a, xp.float32)",
        _of("float16"),
        special={"torch": "a.to(xp.float32)"},
    ),
    more(
        "to bfloat16",
        "cast float32 to bfloat16",
        "xp.astype(a, xp.bfloat16)",
        vectors(1),
        special={"torch": "a.to(xp.bfloat16)", "numpy": _TO_SHORT},
        lacks=_NO_BFLOAT16,
        moves=lambda n: 6 * n,
    ),
    more(
        "from bfloat16",
        "cast bfloat16 to float32",
        "xp.astype(a, xp.float32)",
        _short_floats,
        special={"torch": "a.to(xp.float32)", "numpy": "a.copy()"},
        setup={"phalanx": "a = xp.astype(a, xp.bfloat16)", "torch": "a = a.to(xp.bfloat16)"},
        lacks=_NO_BFLOAT16,
        moves=lambda n: 6 * n,
    ),
    more("log", "natural logarithm", "xp.log(a)", _positive, TWO_SIZES, (2**20,)),
    more("tanh", "hyperbolic tangent", "xp.tanh(a)", vectors(1), TWO_SIZES),
    more("tanh float64", "hyperbolic tangent in float64", "xp.tanh(a)", _of("float64")),
    more("power", "a to the b", "xp.pow(a, b)", _base_and_exponent, TWO_SIZES),
    more("int floor_divide", "a // b in int32", "xp.floor_divide(a, b)", _integers),
    more("less", "a < b", "a < b", vectors(2)),
    more("logical_and", "a and b", "xp.logical_and(a, b)", _two_masks),
)
