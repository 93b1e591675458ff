"""Functions that the CPU tries by a shorter way: the bits are those of the complete function."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch_elementwise

pytestmark = pytest.mark.needs_cpu
rng = np.random.default_rng(5)
#: Elements of one piece, of which an odd base sends all to the complete function.
PIECE = 32


def powers(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return px.asnumpy(px.pow(px.asarray(x, device="cpu:0"), px.asarray(y, device="cpu:0")))


def random_operands(n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    if kind == "near 1":
        x, y = 1 + rng.normal(size=n) * 1e-3, rng.normal(size=n) * 2e4
    elif kind == "any exponent":
        x, y = 2.0 ** rng.uniform(-126, 127, n), rng.uniform(-1, 1, n)
    elif kind == "results at the ends":  # e^87 and the least normal number
        x = rng.uniform(1.5, 50, n)
        y = rng.choice([-1, 1], n) * rng.uniform(86.5, 88.8, n) / np.log(x)
    else:
        x, y = rng.uniform(0.01, 8, n), rng.normal(size=n) * 4
    return x.astype(np.float32), y.astype(np.float32)


@pytest.mark.parametrize("kind", ["small", "near 1", "any exponent", "results at the ends"])
def test_both_ways_have_the_same_bits(kind: str) -> None:
    x, y = random_operands(300_000, kind)
    short = powers(x, y)
    there = np.arange(x.size) % PIECE != 0
    complete = powers(np.where(there, x, np.float32(-2)), y)
    assert np.array_equal(short[there].view(np.uint32), complete[there].view(np.uint32))
    with np.errstate(over="ignore"):
        nearly = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(short, nearly, rtol=1.2e-7, atol=1.5e-45)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 255, 256, 257, 288, 289, 513])
@pytest.mark.parametrize("at", [0, 30, 31, 32, 255, 256, 288])
def test_one_odd_operand_anywhere(n: int, at: int) -> None:
    """Also in place, and each of the operands."""
    if at >= n:
        pytest.skip("not that many")
    for odd in (-3.0, 0.0, np.inf, np.nan, 1e-40):
        for first in (True, False):
            x, y = random_operands(n, "small")
            (x if first else y)[at] = odd
            found = powers(x, y)
            alone = np.concatenate([powers(x[i : i + 1], y[i : i + 1]) for i in range(n)])
            assert np.array_equal(found.view(np.uint32), alone.view(np.uint32))
            a, b = px.asarray(x, device="cpu:0"), px.asarray(y, device="cpu:0")
            a **= b
            assert np.array_equal(px.asnumpy(a).view(np.uint32), found.view(np.uint32))


def rounded(value: Fraction) -> float:
    """To the nearest of 24 bits, half to even."""
    scale = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - 25)
    bits = round(value / scale).bit_length()
    scale *= Fraction(2) ** (bits - 24)
    return float(round(value / scale) * scale)


def test_ties_go_to_even() -> None:
    """Powers of whole numbers, many of which have 25 bits."""
    bases = np.concatenate([np.arange(1, 4096), np.arange(4097, 5795, 2)])
    for exponent in (2, 3, 4, 5):
        x = bases.astype(np.float32)
        found = powers(x, np.full_like(x, exponent))
        want = [rounded(Fraction(int(b)) ** exponent) for b in bases]
        assert found.astype(np.float64).tolist() == want


@pytest.mark.parametrize("name", ["log", "log2", "log10"])
@pytest.mark.parametrize("kind", ["near 1", "any exponent", "edges", "powers"])
def test_logarithms_are_rounded_once(kind: str, name: str) -> None:
    if kind == "near 1":
        x = np.abs(1 + rng.normal(size=300_000) * 2.0 ** rng.uniform(-24, -2, 300_000))
    elif kind == "any exponent":
        x = 2.0 ** rng.uniform(-126, 128, 300_000)
    elif kind == "powers":  # and their neighbours
        exact = [*np.ldexp(1.0, np.arange(-126, 128)), *(10.0 ** np.arange(-37, 39))]
        steps = np.arange(-40, 41, dtype=np.int32)[:, None]
        x = (np.array(exact, np.float32).view(np.int32) + steps).ravel().view(np.float32)
        x = x[(x >= 2.0**-126) & np.isfinite(x)]
    else:  # of the intervals of tables, and of powers of two
        edges = np.concatenate([np.arange(48, 65) / 64, np.arange(32, 49) / 32])
        x = np.ldexp(edges, np.arange(-125, 126)[:, None]).ravel()
        steps = np.arange(-4, 5, dtype=np.int32)[:, None]
        x = (x.astype(np.float32).view(np.int32) + steps).ravel().view(np.float32)
    x = x.astype(np.float32)
    want = getattr(np, name)(x.astype(np.longdouble)).astype(np.float32)
    got = px.asnumpy(getattr(px, name)(px.asarray(x, device="cpu:0")))
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize(("name", "unit"), [("exp", np.log(2)), ("exp2", 1.0)])
@pytest.mark.parametrize("kind", ["near 0", "all results", "edges"])
def test_exponentials_are_rounded_once(kind: str, name: str, unit: float) -> None:
    if kind == "near 0":
        x = rng.normal(size=300_000) * 2.0 ** rng.uniform(-30, 0, 300_000)
    elif kind == "all results":  # subnormal, 0 and infinite ones, too
        x = rng.uniform(-152, 130, 300_000) * unit
    else:  # between two places of the table, and where the short way ends
        middles = (np.arange(-4100, 4100) + 0.5) * unit / 32
        ends = (
            -104.0,
            -87.0,
            87.0,
            88.0,
            89.0,
            -151.0,
            -150.0,
            -149.0,
            -126.0,
            127.0,
            128.0,
            129.0,
        )
        x = np.concatenate([middles, ends]).astype(np.float32).view(np.int32)
        x = (x + np.arange(-4, 5, dtype=np.int32)[:, None]).ravel().view(np.float32)
    x = x.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        want = getattr(np, name)(x.astype(np.longdouble)).astype(np.float32)
    got = px.asnumpy(getattr(px, name)(px.asarray(x, device="cpu:0")))
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


def tangents(x: np.ndarray) -> np.ndarray:
    return px.asnumpy(px.tanh(px.asarray(x, device="cpu:0")))


@pytest.mark.parametrize("kind", ["near 0", "all results", "edges"])
def test_hyperbolic_tangents_are_rounded_once(kind: str) -> None:
    if kind == "near 0":
        x = rng.normal(size=300_000) * 2.0 ** rng.uniform(-140, 0, 300_000)
    elif kind == "all results":
        x = rng.uniform(-10, 10, 300_000)
    else:  # between two intervals of the tables, and around the first operand that gives 1
        eighths = (1 + np.arange(8) / 8) * 2.0 ** np.arange(4)[:, None]
        edges = np.append((eighths.ravel() - 1.0625) / 1.6415, (9.0109, 9.05))
        steps = np.arange(-200, 201, dtype=np.int32)[:, None]
        x = (edges[1:].astype(np.float32).view(np.int32) + steps).ravel().view(np.float32)
        x = np.concatenate([x, -x])
    x = x.astype(np.float32)
    with np.errstate(under="ignore"):
        want = np.tanh(x.astype(np.longdouble)).astype(np.float32)
    assert np.array_equal(tangents(x).view(np.uint32), want.view(np.uint32))


@pytest.mark.parametrize("kind", ["all exponents", "edges", "cubes"])
def test_cube_roots_are_rounded_once(kind: str) -> None:
    if kind == "all exponents":
        x = rng.choice([-1, 1], 300_000) * 2.0 ** rng.uniform(-149, 128, 300_000)
    elif kind == "edges":  # of the intervals of tables, in each third of exponents
        edges = np.ldexp(1 + np.arange(33) / 32, np.arange(-126, 126)[:, None]).ravel()
        steps = np.arange(-4, 5, dtype=np.int32)[:, None]
        x = (edges.astype(np.float32).view(np.int32) + steps).ravel().view(np.float32)
    else:  # whose roots are exact, and numbers beside them
        whole = np.concatenate([np.arange(1, 257.0), 2.0 ** np.arange(-42, 42)]) ** 3
        steps = np.arange(-3, 4, dtype=np.int32)[:, None]
        x = (whole.astype(np.float32).view(np.int32) + steps).ravel().view(np.float32)
    x = x.astype(np.float32)
    want = np.cbrt(x.astype(np.longdouble)).astype(np.float32)
    got = px.asnumpy(px.cbrt(px.asarray(x, device="cpu:0")))
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


#: Of each function, where ordinary operands lie, and what special ones give.
SPECIAL = {
    "log": (
        (0.01, 8),
        (0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 2.0**-126, 1.0),
        (-np.inf, -np.inf, np.nan, np.inf, np.nan, np.nan, np.log(1e-40), np.log(2.0**-126), 0.0),
    ),
    "exp": (
        (-8, 8),
        (0.0, -0.0, 1e-40, np.inf, -np.inf, np.nan, 1e5, -1e5, -100.0),
        (1.0, 1.0, 1.0, np.inf, 0.0, np.nan, np.inf, 0.0, np.exp(-100.0)),
    ),
    "exp2": (
        (-8, 8),
        (0.0, -0.0, 1e-40, np.inf, -np.inf, np.nan, 1e5, -1e5, -140.5, 128.0, 127.0),
        (1.0, 1.0, 1.0, np.inf, 0.0, np.nan, np.inf, 0.0, 2.0**-140.5, np.inf, 2.0**127),
    ),
    "tanh": (
        (-8, 8),
        (0.0, -0.0, 1e-45, -1e-40, np.inf, -np.inf, np.nan, 9.5, -1e30),
        (0.0, -0.0, 1e-45, -1e-40, 1.0, -1.0, np.nan, 1.0, -1.0),
    ),
}

SPECIAL["cbrt"] = (
    (-8, 8),
    (0.0, -0.0, 8.0, -1e-40, np.inf, -np.inf, np.nan, 1e38),
    (0.0, -0.0, 2.0, np.cbrt(-1e-40), np.inf, -np.inf, np.nan, np.cbrt(1e38)),
)
for name, base in (("log2", 2.0), ("log10", 10.0)):
    domain, special, natural = SPECIAL["log"]
    SPECIAL[name] = domain, special, tuple(value / np.log(base) for value in natural)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 33, 100])
@pytest.mark.parametrize("op", SPECIAL)
def test_special_operands_in_every_lane(op: str, n: int) -> None:
    """Also in place; the elements around one are what they are without it."""

    def function(x: np.ndarray) -> np.ndarray:
        return px.asnumpy(getattr(px, op)(px.asarray(x, device="cpu:0")))

    ends, special, want = SPECIAL[op]
    for value, result in zip(special, want, strict=True):
        for at in range(n):
            x = rng.uniform(*ends, n).astype(np.float32)
            x[at] = value
            found = function(x)
            alone = np.concatenate([function(x[i : i + 1]) for i in range(n)])
            np.testing.assert_array_equal(found, alone)
            if op == "tanh":
                np.testing.assert_array_equal(found[at], np.float32(result))
                assert np.signbit(found[at]) == np.signbit(np.float32(result))
            else:
                least = 2e-45 if op.startswith("exp") else 0
                np.testing.assert_allclose(found[at], result, rtol=1e-5, atol=least)
            a = px.asarray(x, device="cpu:0")
            launch_elementwise(op, (a,), a)
            np.testing.assert_array_equal(px.asnumpy(a), found)


@pytest.mark.parametrize("op", ["log", "exp", "exp2", "tanh", "cbrt"])
def test_many_special_elements_of_a_long_array(op: str) -> None:
    """Whole vectors of them, one of a vector, none: beyond the group that is looked at together."""
    x = rng.uniform(0.1, 4, 5000).astype(np.float32)
    x[1000:2100], x[3000::37] = np.nan, np.inf
    found = px.asnumpy(getattr(px, op)(px.asarray(x, device="cpu:0")))
    want = getattr(np, op)(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found, want)
