"""hypot of float32 against exact integers: roots of sums whose terms lie far apart."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest

Floats = npt.NDArray[np.float32]
#: What the double evaluation rounds to the middle of two numbers, though it lies below.
FOUND = (float.fromhex("-0x1.0032220p-20"), float.fromhex("-0x1.6a2d580p-32"))
#: 2^_SCALE times any float32 is an integer, with bits to spare for the root.
_SCALE = 200


def exact(a: float, b: float) -> float:
    """Return the float32 that is nearest to the root, from integers alone."""
    x, y = (int(math.ldexp(v, 149)) << (_SCALE - 149) for v in (a, b))
    root = math.isqrt(x * x + y * y)
    odd = root | (root * root != x * x + y * y)  # one more bit tells whether more follow
    drop = max(odd.bit_length() - 24, _SCALE - 149)
    half, low = 1 << (drop - 1), odd & ((1 << drop) - 1)
    kept = odd >> drop
    kept += low > half or (low == half and kept & 1)
    return math.ldexp(kept, drop - _SCALE)


def operands(count: int) -> tuple[Floats, Floats]:
    """Draw operands whose quotient is up to 2^20, and such that the root is near a middle."""
    rng = np.random.default_rng(7)
    a = np.exp2(rng.uniform(-100, 100, count)).astype(np.float32)
    b = (a * np.exp2(-rng.uniform(0, 20, count))).astype(np.float32)
    # the root of a^2 + b^2 is a + b^2 / 2a: half a unit of a above it, or just beside
    near = np.sqrt(np.spacing(a[::2]).astype(np.float64) * a[::2]).astype(np.float32)
    b[::2] = np.nextafter(near, np.float32(rng.choice([0.0, np.inf], near.shape)))
    small = np.float32(1e-45) * rng.integers(1, 1 << 20, (2, 64)).astype(np.float32)
    a = np.concatenate([a, small[0], np.float32([FOUND[0], 3.0, 1e38])])
    b = np.concatenate([b, small[1], np.float32([FOUND[1], 4.0, 1e-38])])
    return a, b


@pytest.mark.parametrize("name", ["cpu:0", "opencl:0", "opencl:1"])
def test_it_is_correctly_rounded(name: str) -> None:
    if not px.is_available(name):
        pytest.skip(f"there is no {name}; `phalanx why {name}` says why")
    a, b = operands(20_000)
    want = np.array([exact(float(x), float(y)) for x, y in zip(a, b, strict=True)], np.float32)
    for x, y in ((a, b), (-b, a)):
        got = px.asnumpy(px.hypot(px.asarray(x, device=name), px.asarray(y, device=name)))
        wrong = np.flatnonzero(got != want)
        assert not wrong.size, [(float(x[i]).hex(), float(y[i]).hex()) for i in wrong[:5]]


def test_the_reference_sees_what_was_wrong() -> None:
    assert exact(*FOUND) == float.fromhex("0x1.003222p-20")
    assert math.sqrt(FOUND[0] ** 2 + FOUND[1] ** 2) == float.fromhex("0x1.003223p-20")
    assert exact(3.0, 4.0) == 5.0
