"""Special values and branch cuts of core/scalar/complex*.h: C11 Annex G, Array API 2025.12."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import scalar_library
from phalanx.conformance.reference.annex_g import special_results

INF, NAN, PI = math.inf, math.nan, math.pi


@pytest.fixture(scope="session")
def cplx(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return scalar_library.ComplexLibrary(tmp_path_factory.mktemp("scalar_complex_special"))


OPS = (
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sinh",
    "cosh",
    "tanh",
    "acos",
    "acosh",
    "asinh",
    "atanh",
)


def _agrees(got: float, want: float, either: bool = False) -> bool:
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if either:
        got, want = abs(got), abs(want)
    return math.isclose(got, want, rel_tol=3e-16) and math.copysign(1, got) == math.copysign(
        1, want
    )


@pytest.mark.parametrize("op", OPS)
def test_special_values(cplx: Any, op: str) -> None:
    for (a, b), parts in special_results(op).items():
        x = complex(float(a), float(b))
        got = cplx.one(op, x)
        for one, (want, either) in zip((got.real, got.imag), parts, strict=True):
            assert _agrees(one, float(want), either), f"{op}{x} = {got}, want {parts}"


def test_circular_functions_are_the_turned_hyperbolic_ones(cplx: Any) -> None:
    """sin z = -i sinh(iz), cos z = cosh(iz), ... define the special values."""
    values = (0.0, -0.0, 2.0, -2.0, INF, -INF, NAN)
    for a, b in itertools.product(values, values):
        for circular, hyperbolic in (
            ("sin", "sinh"),
            ("tan", "tanh"),
            ("asin", "asinh"),
            ("atan", "atanh"),
        ):
            turned = cplx.one(hyperbolic, complex(-b, a))
            got = cplx.one(circular, complex(a, b))
            pairs = ((got.real, turned.imag), (got.imag, -turned.real))
            open_ = a != a or b != b  # Annex G leaves the sign open, and a NaN has none to turn
            assert all(_agrees(*p, open_) for p in pairs), (circular, a, b)
        turned, got = cplx.one("cosh", complex(-b, a)), cplx.one("cos", complex(a, b))
        assert all(map(_agrees, (got.real, got.imag), (turned.real, turned.imag))), ("cos", a, b)


def test_the_sign_of_a_nan_is_not_seen(cplx: Any) -> None:
    """It is that of the hardware that made it."""
    values = (0.0, -0.0, 2.0, -2.0, INF, -INF)
    halves = ("sqrt", "exp", "log", "sin", "tan", "cos", "sinh", "tanh", "cosh")
    for op, x in itertools.product((*halves, *(f"a{op}" for op in halves[3:])), (*values, NAN)):
        for parts in ((x, NAN), (NAN, x)):
            other = tuple(math.copysign(p, -1.0) if p != p else p for p in parts)
            got, again = cplx.one(op, complex(*parts)), cplx.one(op, complex(*other))
            assert _agrees(got.real, again.real), (op, parts)
            assert _agrees(got.imag, again.imag), (op, parts)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branch_cuts_are_continuous_with_signed_zeros(cplx: Any, sign: float) -> None:
    """On a cut, a signed zero picks the side: the value there is the limit from that side."""
    on_real_axis = {
        "sqrt": (-3.0,),
        "log": (-3.0,),
        "log1p": (-3.0,),
        "asin": (-3.0, 3.0),
        "acos": (-3.0, 3.0),
    }
    on_real_axis |= {"acosh": (-3.0, 0.5), "atanh": (-3.0, 3.0), "log2": (-3.0,), "log10": (-3.0,)}
    for op, points in on_real_axis.items():
        for x in points:
            at, beside = (cplx.one(op, complex(x, sign * y)) for y in (0.0, 1e-30))
            assert abs(at - beside) <= 1e-15 * abs(at), (op, x, at, beside)
    for op, y in itertools.product(("asinh", "atan"), (3.0, -3.0)):
        at, beside = (cplx.one(op, complex(sign * x, y)) for x in (0.0, 1e-30))
        assert abs(at - beside) <= 1e-15 * abs(at), (op, y, at, beside)


def test_exact_results(cplx: Any) -> None:
    for k in range(-1000, 1001, 50):
        assert cplx.one("log2", complex(2.0**k, 0.0)) == complex(k, 0)
    for k in range(0, 20):
        assert cplx.one("log10", complex(10.0**k, 0.0)) == complex(k, 0)
    assert cplx.one("sqrt", complex(-3, 4)) == 1 + 2j
    assert cplx.one("pow", 1 + 1j, 2 + 0j) == 2j
    assert cplx.one("pow", 1 + 2j, 5 + 0j) == (1 + 2j) ** 5
    assert cplx.one("pow", 2 + 0j, -3 + 0j) == 0.125


def test_pow_special_values(cplx: Any) -> None:
    for base in (0j, 1 + 2j, complex(INF, 1), complex(NAN, NAN)):
        assert cplx.one("pow", base, complex(0.0, -0.0)) == 1
    assert cplx.one("pow", 0j, 2 + 3j) == 0
    pole = cplx.one("pow", 0j, complex(-1, 0))
    assert pole.real == INF
    assert math.isnan(pole.imag)
    for exponent in (-1 + 1j, 1j):
        got = cplx.one("pow", 0j, exponent)
        assert math.isnan(got.real)
        assert math.isnan(got.imag)
    got = cplx.one("pow", complex(NAN, 0), 1 + 1j)
    assert math.isnan(got.real)
    assert math.isnan(got.imag)
    assert cplx.one("pow", 10 + 0j, 400 + 0j).real == INF
    assert cplx.one("pow", 10 + 0j, -400 + 0j) == 0
