"""The references of the conformance suite: complete, and right where mpmath or a rule can tell."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from phalanx.conformance.reference import annex_g, complex_numbers, real, ulp
from phalanx.conformance.reference.conversion import cast
from phalanx.conformance.reference.elementwise import Exact, Parts, Wide, expected
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.hard_places import hard_values
from phalanx.conformance.reference.ulp import differing, rounded, ulp_distance, ulp_error
from phalanx.conformance.reference.values import (
    HostArray,
    combined,
    every_value,
    ordinary_values,
    special_values,
    wild_values,
)
from phalanx.optable import ALL, FLOATING, INTEGER, OPS, Op, Structure

ELEMENTWISE = [row for row in OPS.values() if row.structure is Structure.ELEMENTWISE]
ANALYTIC = [row.name for row in ELEMENTWISE if real.is_analytic(row.name)]
SEED = 4


def operands(row: Op, inputs: tuple[str, ...]) -> tuple[HostArray, ...]:
    rng = np.random.default_rng(SEED)
    return tuple(ordinary_values(name, 6, rng) for name in inputs)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_every_overload_has_a_reference(row: Op) -> None:
    for signature in row.signatures:
        args = operands(row, signature.inputs)
        to = signature.outputs[0]
        want = expected(row.name, args, to)
        key = to if row.name == "cast" else signature.inputs[-1]
        stated = row.bound.ulp.get(key, 0.0)
        if want.is_exact:
            assert isinstance(want, Exact)
            assert want.values.dtype == host_dtype(to), signature
            assert want.values.shape == (6,)
            assert stated in (0.0, 0.5), f"{signature}: the bound is looser than the reference"
        else:
            assert stated >= 0.5, f"{signature}: the op table states no bound"
            assert isinstance(want, Wide | Parts)
            assert want.slack < 2.0**-7
        assert all(want.text(i) for i in range(6))


def _exactly(x: Any) -> Fraction:
    """A finite number of the wide format."""
    fraction, exponent = np.frexp(x)
    high = float(fraction)
    low = float(fraction - ulp.WIDE(high))
    return (Fraction(high) + Fraction(low)) * Fraction(2) ** int(exponent)


def test_numbers_of_mpmath_in_the_wide_format() -> None:
    """The nearest number, ties to even, and nearly all of what it leaves; any size and sign."""
    bits, rng = ulp.WIDE_BITS, np.random.default_rng(SEED)
    one, two = Fraction(2) ** (bits - 1), Fraction(2)
    half = 1 / two
    exact = [one, one + half, one + 1 + half, 2 * one - half, -3 * half]
    exact += [one + half + two**-90, 2 * one - two**-60 / 3, 5 * two**-1070]
    exact += [int(rng.integers(1, 2**62)) ** 3 * two**e for e in (-700, 0, 80)]
    exact += [-x for x in exact]
    with mpmath.workprec(400):
        numbers = [mpmath.mpf(x.numerator) / x.denominator for x in exact]
        special = [mpmath.mpf(0), mpmath.inf, -mpmath.inf, mpmath.nan]
        near, rest = real.to_wide([*numbers, *special])
    for x, high, low in zip(exact, near, rest, strict=False):
        step = Fraction(2) ** (int(np.frexp(high)[1]) - bits)
        assert abs(x - _exactly(high)) <= step / 2, x
        assert abs(x - _exactly(high) - _exactly(low)) <= step / 2**50, x
    assert int(near[1]) == one, "a tie goes to the even number"
    assert int(near[2]) == one + 2, "a tie goes to the even number"
    assert near[len(exact)] == 0
    assert near[len(exact) + 1] == np.inf
    assert near[len(exact) + 2] == -np.inf
    assert np.isnan(near[len(exact) + 3])
    assert not rest[len(exact) :].any()


def test_an_op_without_reference_is_refused() -> None:
    for name in ("bool", "int8", "float32", "complex64"):
        with pytest.raises(KeyError, match="no reference for gamma"):
            expected("gamma", (ordinary_values(name, 2, np.random.default_rng(0)),), name)


# ---- real functions ------------------------------------------------------------------------------


def exact_value(op: str, row: tuple[Any, ...]) -> Any:
    functions = {
        "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
        "silu": lambda x: x / (1 + mpmath.exp(-x)),
        "gelu": lambda x: x * mpmath.ncdf(x),
        "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
        "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
        "exp2": lambda x: mpmath.mpf(2) ** x,
        "log2": lambda x: mpmath.log(x, 2),
        "pow": mpmath.power,
        "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
    }
    return (functions.get(op) or getattr(mpmath, op))(*map(mpmath.mpf, row))


@pytest.mark.parametrize("op", ANALYTIC)
@pytest.mark.parametrize("narrow", [False, True], ids=["wide", "as if float64 were the widest"])
def test_real_functions_agree_with_mpmath(
    op: str, narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The C library's long double and our sums of two floats, within the slack that they get."""
    rng = np.random.default_rng(SEED)
    inputs = ("float64",) * OPS[op].arity
    args = tuple(hard_values(op, inputs, 60, rng))
    if narrow:
        monkeypatch.setattr(real, "WIDE", np.float64)
        monkeypatch.setattr(real, "WIDE_BITS", 53)
    with np.errstate(all="ignore"):
        values, rest = real.analytic(op, args, "float64")
    slack = real.analytic_slack("float64", len(args))
    checked = 0
    with mpmath.workprec(1200):
        for i, row in enumerate(zip(*(a.tolist() for a in args), strict=True)):
            if not 1e-290 < abs(values[i]) < 1e300:
                continue
            want = exact_value(op, row)
            hi = float(values[i])
            got = mpmath.mpf(hi) + mpmath.mpf(float(values[i] - hi)) + mpmath.mpf(float(rest[i]))
            error = abs(got - want) / mpmath.mpf(math.ulp(float(want)))
            assert error <= slack, f"{op}{row}: {values[i]!r}, off by {float(error)} ulp"
            checked += 1
    assert checked >= 20


def test_the_sign_change_of_logaddexp() -> None:
    args = (np.array([-0.25]), np.array([math.log(-math.expm1(-0.25))]))
    want = expected("logaddexp", args, "float64")
    at = np.array([0])
    assert isinstance(want, Wide)
    value = float(want.values[0])
    assert 0 < abs(value) < 1e-15
    assert want.errors(np.array([value + 2.0**-57]), at)[0] == 0
    assert want.errors(np.array([value + 2.0**-50]), at)[0] > 1000


@pytest.mark.parametrize("name", FLOATING)
def test_arithmetic_agrees_with_fractions(name: str) -> None:
    rng = np.random.default_rng(SEED)
    a, b = wild_values(name, 300, rng), wild_values(name, 300, rng)
    functions = {
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "multiply": lambda x, y: x * y,
        "divide": lambda x, y: x / y,
    }
    with np.errstate(all="ignore"):
        pairs = list(zip(a.astype(float).tolist(), b.astype(float).tolist(), strict=True))
    for op, function in functions.items():
        want = expected(op, (a, b), name)
        assert isinstance(want, Exact)
        for i, (x, y) in enumerate(pairs):
            if not (math.isfinite(x) and math.isfinite(y) and y):
                continue
            exact = function(Fraction(x), Fraction(y))
            if name in ("float16", "bfloat16"):
                nearest = _nearest(exact, "float32")
                exact = Fraction(nearest) if math.isfinite(nearest) else exact
            assert float(want.values[i]) == _nearest(exact, name), (op, x, y)


def _nearest(exact: Fraction, name: str) -> float:
    """The number of a format nearest to a fraction, by integers alone; beyond: infinity."""
    digits, least, greatest = FORMATS[name]
    if exact == 0:
        return 0.0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > abs(exact)
    step = Fraction(2) ** (max(exponent, least) - digits + 1)
    nearest = round(exact / step) * step
    if abs(nearest) >= Fraction(2) ** (greatest + 1):
        return math.inf if exact > 0 else -math.inf
    return float(nearest)


# ---- complex functions ---------------------------------------------------------------------------


def test_special_results_are_consistent_with_nearby_values() -> None:
    """Rows of finite points are the limits of mpmath from the side that a signed zero names."""
    for row in ELEMENTWISE:
        if not annex_g.has_special_results(row.name):
            continue
        for point, (re, im) in zip(
            annex_g.special_points(row.name),
            annex_g.special_results(row.name).values(),
            strict=True,
        ):
            if not (np.isfinite(re[0]) and np.isfinite(im[0])):
                continue
            if not (math.isfinite(point.real) and math.isfinite(point.imag)):
                continue
            with mpmath.workdps(60):
                tiny = mpmath.mpf(10) ** -40
                beside = mpmath.mpc(
                    point.real + math.copysign(1, point.real) * tiny * (point.real == 0),
                    point.imag + math.copysign(1, point.imag) * tiny * (point.imag == 0),
                )
                near = complex(complex_numbers._MPMATH[row.name](beside))
            assert near.real == pytest.approx(float(re[0]), abs=1e-15), (row.name, point)
            assert near.imag == pytest.approx(float(im[0]), abs=1e-15), (row.name, point)


def test_special_results_are_symmetric() -> None:
    for row in ELEMENTWISE:
        if not annex_g.has_special_results(row.name):
            continue
        table = annex_g.special_results(row.name)
        for point in annex_g.special_points(row.name):
            assert annex_g.key(point.real, -point.imag) in table, (row.name, point)


@pytest.mark.parametrize("name", PARTS)
def test_products_and_quotients_of_special_numbers(name: str) -> None:
    """A reference never contradicts Python's complex arithmetic where that follows Annex G."""
    values = special_values(name)
    a, b = combined([values, values])
    product = expected("multiply", (a, b), name)
    quotient = expected("divide", (a, b), name)
    at = np.arange(a.size)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        assert (product.errors(a * b, at)[finite] <= 1.0).all()
        assert (quotient.errors(a / b, at)[finite & (b != 0)] <= 2.0).all()
    wrong = np.full(a.size, 12345.0, a.dtype)
    assert isinstance(product, Parts)
    known = product.results.kind != complex_numbers.Kind.OPEN
    assert known.mean() > 0.6
    assert (product.errors(wrong, at)[known] > 100).all()


def test_every_complex_function_agrees_with_numpy_roughly() -> None:
    rng = np.random.default_rng(SEED)
    for row in ELEMENTWISE:
        if not complex_numbers.is_analytic(row.name) or not hasattr(np, row.name):
            continue
        args = tuple(ordinary_values("complex128", 20, rng) for _ in range(row.arity))
        want = expected(row.name, args, "complex128")
        assert isinstance(want, Parts)
        got = getattr(np, row.name)(*args)
        loose = Parts(want.results, want.slack, normed=True)
        assert loose.errors(got, np.arange(20)).max() < 40, row.name


# ---- measures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOATING)
def test_ulp_of_neighbours(name: str) -> None:
    dtype = host_dtype(name)
    word = np.dtype(f"u{dtype.itemsize}")
    bits = np.array([0, 1, 5, 1000, 2000], word)
    a, b = bits.view(dtype), (bits + word.type(1)).view(dtype)
    assert ulp_distance(a, a).max() == 0
    near = ulp_distance(b, a)
    assert near[0] == np.inf, "zero is met or not"
    assert (near[1:] == 1).all()
    assert ulp_distance(-a[:1], a[:1])[0] == np.inf, "the sign of a zero counts"


def test_complex_functions_on_their_cuts() -> None:
    def value(op: str, z: complex) -> complex:
        found = complex_numbers.analytic(op, (np.array([z]),))
        assert found.kind[0] == complex_numbers.Kind.PARTS
        return complex(found.real[0], found.imag[0])

    for side in (1.0, -1.0):
        below = complex(-2.0, side * 0.0)
        assert value("log", below) == pytest.approx(complex(math.log(2), side * math.pi))
        assert value("sqrt", complex(-3.0, side * 0.0)).imag == pytest.approx(side * 3**0.5)
        beside = complex(side * 0.0, 3.0)
        assert value("asin", beside) == pytest.approx(1j * math.asinh(3))
        assert value("acosh", complex(0.25, side * 0.0)) == pytest.approx(
            side * 1j * math.acos(0.25)
        )
        assert value("atan", beside).real == pytest.approx(side * math.pi / 2)
        assert value("atan", complex(5e-324, side * 0.0)) == 5e-324


def test_ulp_of_overflow_nan_and_infinity() -> None:
    top = np.float32(np.finfo(np.float32).max)
    exact = np.array([top, top, np.inf, np.nan, 1.0], ulp.WIDE)
    got = np.array([np.inf, top, top, np.nan, np.nan], np.float32)
    assert ulp_error(got, exact).tolist() == [1.0, 0.0, np.inf, 0.0, np.inf]
    beyond = np.array([1e300], ulp.WIDE)
    assert ulp_error(np.array([np.inf], np.float32), beyond)[0] == 0
    assert ulp_error(np.array([-np.inf], np.float32), beyond)[0] > 1e6
    rest = np.array([2.0**-24], ulp.WIDE)
    assert ulp_error(np.array([1.0], np.float32), np.array([1.0], ulp.WIDE), rest)[0] == 0.5


def test_differing_sees_booleans_that_are_not_one() -> None:
    odd = np.array([1, 2, 0], np.uint8).view(bool)
    assert differing(odd, np.array([True, True, False])).tolist() == [False, True, False]


@pytest.mark.parametrize("name", FLOATING)
def test_rounded_agrees_with_fractions(name: str) -> None:
    rng = np.random.default_rng(SEED)
    halves = every_value("float16").astype(float)
    values = np.concatenate([wild_values("float64", 400, rng), halves])
    values = values[np.isfinite(values)]
    want = [_nearest(Fraction(v), name) for v in values.tolist()]
    assert rounded(values.astype(ulp.WIDE), name).astype(float).tolist() == want


# ---- integers and conversion ---------------------------------------------------------------------


@pytest.mark.parametrize("name", INTEGER)
def test_integers_to_floats_are_rounded_once(name: str) -> None:
    rng = np.random.default_rng(SEED)
    bits = np.iinfo(name).bits - (name[0] == "i")
    # halves between two numbers of each format, and their neighbours
    powers = [1 << i for i in range(bits)]
    halves = [
        p + (p >> digits) + d for p in powers for digits in (8, 11, 24, 53) for d in (-1, 0, 1)
    ]
    inside = [v for v in halves if 0 <= v <= np.iinfo(name).max]
    x = np.concatenate([special_values(name), wild_values(name, 200, rng), np.array(inside, name)])
    for to in FLOATING:
        want = [_nearest(Fraction(v), to) for v in x.tolist()]
        assert cast(x, to).astype(float).tolist() == want, to


@pytest.mark.parametrize("name", FLOATING)
def test_floats_to_integers_lose_their_fraction_and_saturate(name: str) -> None:
    rng = np.random.default_rng(SEED)
    powers = np.ldexp(1.0, np.arange(-2, 66))
    edges = np.concatenate([powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf)])
    with np.errstate(over="ignore"):
        edges = np.concatenate([edges, -edges]).astype(host_dtype(name))
    x = np.concatenate([special_values(name), wild_values(name, 200, rng), edges])
    for to in INTEGER:
        low, high = int(np.iinfo(to).min), int(np.iinfo(to).max)
        found = cast(x, to).tolist()
        for v, got in zip(x.astype(float).tolist(), found, strict=True):
            whole = 0 if math.isnan(v) else math.trunc(min(max(v, -1e30), 1e30))
            assert got == min(max(whole, low), high), (v, to)


def test_conversion_rules() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 300.7, -300.7, 2.9, -2.9])
    assert cast(values, "int8").tolist() == [0, 127, -128, 127, -128, 2, -2]
    assert cast(values, "uint8").tolist() == [0, 255, 0, 255, 0, 2, 0]
    assert cast(values, "bool").tolist() == [True] * 7
    assert cast(np.array([-1, 256, 65535]), "uint8").tolist() == [255, 0, 255]
    assert cast(np.array([2 - 3j]), "int16").tolist() == [2]
    assert cast(np.array([7], np.int8), "complex64").tolist() == [7 + 0j]


def test_rules_of_integer_ops() -> None:
    least = np.array([-128, -128, 5, 5], np.int8)
    other = np.array([-1, 0, 0, -2], np.int8)
    rules = {
        "floor_divide": [-128, 0, 0, -3],
        "remainder": [0, 0, 0, -1],
        "bitwise_left_shift": [0, -128, 5, 0],
        "bitwise_right_shift": [-1, -128, 5, 0],
        "maximum": [-1, 0, 5, 5],
    }
    for op, want in rules.items():
        result = expected(op, (least, other), "int8")
        assert isinstance(result, Exact)
        assert result.values.tolist() == want, op


@pytest.mark.parametrize("name", ALL)
def test_values_have_their_dtype(name: str) -> None:
    rng = np.random.default_rng(SEED)
    for values in (special_values(name), ordinary_values(name, 5, rng), wild_values(name, 5, rng)):
        assert values.dtype == host_dtype(name)
    if name in ("int32", "float64"):
        with pytest.raises(ValueError, match="too many values; take any_bits"):
            every_value(name)
