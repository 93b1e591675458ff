"""Special values and branch cuts of core/scalar/complex*.h: C11 Annex G, Array API 2025.12."""

from __future__ import annotations

import importlib.util
import itertools
import math
from pathlib import Path
from typing import Any

import pytest

_spec = importlib.util.spec_from_file_location(
    "scalar_library", Path(__file__).with_name("scalar_library.py")
)
assert _spec is not None
assert _spec.loader is not None
scalar_library = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scalar_library)

ODD = ("sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan")
EVEN = ("cosh", "cos")
INF, NAN, PI = math.inf, math.nan, math.pi


@pytest.fixture(scope="session")
def cplx(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return scalar_library.ComplexLibrary(tmp_path_factory.mktemp("scalar_complex_special"))


class Either(float):
    """A value whose sign the specification leaves open."""


# C11 Annex G.6 and Array API 2025.12: parts of the input, parts of the result ("~": either sign);
# the rest follows from f(conj z) = conj f(z)
SPECIAL = {
    "sqrt": """
        0 0 0 0, -0 0 0 0, 2 inf inf inf, nan inf inf inf, -inf inf inf inf, 3 nan nan nan, -inf
        2 0 inf, inf 2 inf 0, -inf nan nan ~inf, inf nan inf nan, nan 2 nan nan, nan nan nan
        nan, -4 0 0 2, 4 0 2 0, inf inf inf inf""",
    "exp": """
        0 0 1 0, -0 0 1 0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, -inf 2 -0 0, inf 2 -inf
        inf, -inf inf ~0 ~0, inf inf ~inf nan, -inf nan ~0 ~0, inf nan ~inf nan, nan 0 nan 0,
        nan 2 nan nan, nan inf nan nan, nan nan nan nan""",
    "expm1": """
        0 0 0 0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, -inf 2 -1 0, inf 2 -inf inf, -inf
        inf -1 ~0, inf inf ~inf nan, -inf nan -1 ~0, inf nan ~inf nan, nan 0 nan 0, nan 2 nan
        nan, nan nan nan nan""",
    "log": """
        -0 0 -inf pi, 0 0 -inf 0, 2 inf inf pi/2, 2 nan nan nan, -inf 2 inf pi, inf 2 inf 0,
        -inf inf inf 3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan, nan 2 nan nan,
        nan inf inf nan, nan nan nan nan, -1 0 0 pi, 1 0 0 0""",
    "log1p": """
        -1 0 -inf 0, 2 inf inf pi/2, 2 nan nan nan, -inf 2 inf pi, inf 2 inf 0, -inf inf inf
        3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan, nan 2 nan nan, nan inf inf
        nan, nan nan nan nan, -2 0 0 pi, 0 0 0 0""",
    "sinh": """
        0 0 0 0, 0 inf ~0 nan, 0 nan ~0 nan, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, inf 2
        -inf inf, inf inf ~inf nan, inf nan ~inf nan, nan 0 nan 0, nan 2 nan nan, nan nan nan
        nan""",
    "cosh": """
        0 0 1 0, 0 inf nan ~0, 0 nan nan ~0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, inf 2
        -inf inf, inf inf ~inf nan, inf nan inf nan, nan 0 nan ~0, nan 2 nan nan, nan nan nan
        nan""",
    "tanh": """
        0 0 0 0, 2 inf nan nan, 0 inf 0 nan, 2 nan nan nan, 0 nan 0 nan, inf 1 1 0, inf 2 1 0,
        inf inf 1 ~0, inf nan 1 ~0, nan 0 nan 0, nan 2 nan nan, nan nan nan nan""",
    "acos": """
        0 0 pi/2 -0, -0 0 pi/2 -0, 0 nan pi/2 nan, 2 inf pi/2 -inf, 2 nan nan nan, -inf 2 pi
        -inf, inf 2 0 -inf, -inf inf 3pi/4 -inf, inf inf pi/4 -inf, inf nan nan ~inf, -inf nan
        nan ~inf, nan 2 nan nan, nan inf nan -inf, nan nan nan nan, 1 0 0 -0, -1 0 pi -0""",
    "acosh": """
        0 0 0 pi/2, -0 0 0 pi/2, 2 inf inf pi/2, 2 nan nan nan, 0 nan nan ~pi/2, -inf 2 inf pi,
        inf 2 inf 0, -inf inf inf 3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan,
        nan 2 nan nan, nan inf inf nan, nan nan nan nan, 1 0 0 0, 0.5 0 0 pi/3""",
    "asinh": """
        0 0 0 0, 2 inf inf pi/2, 2 nan nan nan, inf 2 inf 0, inf inf inf pi/4, inf nan inf nan,
        nan 0 nan 0, nan 2 nan nan, nan inf ~inf nan, nan nan nan nan, 0 1 0 pi/2""",
    "atanh": """
        0 0 0 0, 0 nan 0 nan, 1 0 inf 0, 2 inf 0 pi/2, 2 nan nan nan, inf 2 0 pi/2, inf inf 0
        pi/2, inf nan 0 nan, nan 2 nan nan, nan inf ~0 pi/2, nan nan nan nan, 2 0 ln3/2 pi/2""",
}
NAMED = {"pi": PI, "pi/2": PI / 2, "pi/3": math.acos(0.5), "pi/4": PI / 4, "3pi/4": 3 * PI / 4}
NAMED["ln3/2"] = math.atanh(0.5)


def _special(op: str) -> list[list[float]]:
    def number(word: str) -> float:
        if word[0] == "~":
            return Either(number(word[1:]))
        return NAMED[word] if word in NAMED else float(word)

    return [[number(word) for word in row.split()] for row in SPECIAL[op].split(",")]


def _agrees(got: float, want: float) -> bool:
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if isinstance(want, Either):
        got, want = abs(got), abs(want)
    return math.isclose(got, want, rel_tol=3e-16) and math.copysign(1, got) == math.copysign(
        1, want
    )


@pytest.mark.parametrize("op", SPECIAL)
def test_special_values(cplx: Any, op: str) -> None:
    for a, b, re, im in _special(op):
        mirrored = Either(im) if isinstance(im, Either) else -im
        cases = [(a, b, re, im), (a, -b, re, mirrored)]
        if op in ODD:
            opposite = [Either(v) if isinstance(v, Either) else -v for v in (re, im)]
            cases.append((-a, -b, opposite[0], opposite[1]))
        if op in EVEN:
            cases.append((-a, -b, re, im))
        for x, y, want_re, want_im in cases:
            got = cplx.one(op, complex(x, y))
            message = f"{op}({x}, {y}) = {got}, want ({want_re}, {want_im})"
            assert all(map(_agrees, (got.real, got.imag), (want_re, want_im))), message


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
            assert all(_agrees(*p) for p in pairs), (circular, a, b)
        turned, got = cplx.one("cosh", complex(-b, a)), cplx.one("cos", complex(a, b))
        assert all(map(_agrees, (got.real, got.imag), (turned.real, turned.imag))), ("cos", a, b)


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
