"""Complex functions: CPython's own table, and signs of zero on both sides of branch cuts."""

from __future__ import annotations

import cmath
import importlib.util
import itertools
import math
from pathlib import Path

import phalanx as px
import pytest

#: Deviations from C's Annex G, which CPython follows, that the Array API 2025.12 asks for.
STANDARD = {
    # acosh(0 + nan i) is nan + pi/2 i
    **dict.fromkeys(("acosh1006", "acosh1008"), complex(math.nan, math.pi / 2)),
    # tanh(+-0 + y i) of a y that is no number is +-0 + nan i; tan z = -i tanh(iz) follows
    **dict.fromkeys(("tanh1001", "tanh1003", "tanh1018"), complex(0.0, math.nan)),
    **dict.fromkeys(("tanh1031", "tanh1033", "tanh1044"), complex(-0.0, math.nan)),
    **dict.fromkeys(("tan1001", "tan1003", "tan1018"), complex(math.nan, 0.0)),
    **dict.fromkeys(("tan1031", "tan1033", "tan1044"), complex(math.nan, -0.0)),
    # tanh(inf + y i) is 1 + 0i with the sign of y, not of sin 2y
    **dict.fromkeys(("tanh1008", "tanh1009"), complex(1.0, 0.0)),
    **dict.fromkeys(("tanh1023", "tanh1024"), complex(1.0, -0.0)),
    **dict.fromkeys(("tanh1038", "tanh1039"), complex(-1.0, -0.0)),
    **dict.fromkeys(("tanh1049", "tanh1050"), complex(-1.0, 0.0)),
    **dict.fromkeys(("tan1008", "tan1009"), complex(-0.0, 1.0)),
    **dict.fromkeys(("tan1023", "tan1024"), complex(0.0, 1.0)),
    **dict.fromkeys(("tan1038", "tan1039"), complex(0.0, -1.0)),
    **dict.fromkeys(("tan1049", "tan1050"), complex(-0.0, -1.0)),
}


def _table() -> list[tuple[str, str, complex, complex, set[str]]]:
    """CPython's ``cmath_testcases.txt``, in the package ``test`` where that is installed."""
    spec = importlib.util.find_spec("test")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for place in ("mathdata/cmath_testcases.txt", "cmath_testcases.txt"):
            if (path := Path(folder) / place).exists():
                lines = path.read_text("utf-8").splitlines()
                return [_row(x) for x in lines if x.strip() and not x.startswith("--")]
    return []


def _row(line: str) -> tuple[str, str, complex, complex, set[str]]:
    left, right = line.split("->")
    name, function, re, im = left.split()
    want_re, want_im, *flags = right.split()
    want = complex(float(want_re), float(want_im))
    return name, function, complex(float(re), float(im)), want, set(flags)


def agree(got: float, want: float, *, ignore_sign: bool = False) -> bool:
    """Equal to a few units in the last place; infinities, NaN and signs of zero exactly."""
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if ignore_sign:
        got, want = abs(got), abs(want)
    if math.isinf(want) or math.isinf(got):
        return got == want
    if want == 0.0:
        return got == 0.0 and math.copysign(1.0, got) == math.copysign(1.0, want)
    return abs(got - want) <= 4 * math.ulp(want)


def test_cpythons_table(cpu: px.Device) -> None:
    rows = [row for row in _table() if row[1] in px.__all__]
    if not rows:
        pytest.skip("this Python has no package 'test'")
    wrong = []
    for function in {row[1] for row in rows}:
        mine = [row for row in rows if row[1] == function]
        got = getattr(px, function)(px.asarray([row[2] for row in mine])).tolist()
        for (name, _, z, want, flags), value in zip(mine, got, strict=True):
            want = STANDARD.get(name, want)
            if not (
                agree(value.real, want.real, ignore_sign="ignore-real-sign" in flags)
                and agree(value.imag, want.imag, ignore_sign="ignore-imag-sign" in flags)
            ):
                wrong.append((name, function, z, want, value))
    assert not wrong
    assert len(rows) > 1900


ODD = ["sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh"]
ALL = [
    *ODD,
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "cos",
    "cosh",
    "acos",
    "acosh",
]
PARTS = [0.0, -0.0, 0.2, -0.2, 1.0, -1.0, 2.0, -2.5, 1e-300, -5e-324, 30.0, -700.0]
NUMBERS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]


def bits(values: list[complex]) -> list[tuple[str, str]]:
    """Numbers with the signs of their zeros, every NaN alike."""
    return [(repr(v.real), repr(v.imag)) for v in values]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ALL)
def test_functions_keep_conjugates(cpu: px.Device, name: str, dtype: str) -> None:
    function = getattr(px, name)
    z = px.asarray(NUMBERS, dtype=dtype)
    assert bits(px.conj(function(z)).tolist()) == bits(function(px.conj(z)).tolist())
    if name in ODD:
        assert bits((-function(z)).tolist()) == bits(function(-z).tolist())


def test_a_product_of_zeros_has_the_sign_that_arithmetic_gives_it(cpu: px.Device) -> None:
    numbers = [complex(a, b) for a in (2.0, -3.0, 0.0, -0.0) for b in (0.0, -0.0)]
    z = px.asarray(numbers)
    want = [a * b for a in numbers for b in numbers]
    assert bits((z[:, None] * z).ravel().tolist()) == bits(want)


def test_both_sides_of_a_cut(cpu: px.Device) -> None:
    z = [complex(2, 0.0), complex(2, -0.0)]
    got = px.log(px.cos(px.asarray(z))).tolist()
    assert [v.imag for v in got] == [cmath.log(cmath.cos(v)).imag for v in z]
    assert bits(px.log1p(px.asarray([complex(0.2, -0.0)])).tolist())[0][1] == "-0.0"
