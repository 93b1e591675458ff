"""core/scalar/complex*.h against mpmath, exact fractions and the special values of C11 Annex G.

The headers are compiled once per session.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scalar_library

cffi = pytest.importorskip("cffi")
mpmath = pytest.importorskip("mpmath")


Array = npt.NDArray[Any]

ODD = ("sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan")
EVEN = ("cosh", "cos")
INF, NAN, PI = math.inf, math.nan, math.pi


@pytest.fixture(scope="session")
def cplx(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return scalar_library.ComplexLibrary(tmp_path_factory.mktemp("scalar_complex"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Overflow and NaN are inputs here; mpmath's precision is restored."""
    with np.errstate(all="ignore"), mpmath.workprec(200):
        yield


def ulps(got: float, want: Any, bits: int = 53, low: int = -1074) -> float:
    """|got - want| in ulps of want, a Fraction or an mpf; infinite if one overflows alone."""
    if not math.isfinite(got) or want == 0:
        limit: Any = 2 ** (1024 if bits == 53 else 128)
        limit -= limit >> (bits + 1)  # from here on an infinity is the nearest
        over = math.isinf(got) and (got > 0) == (want > 0) and abs(want) >= limit
        return 0.0 if over or got == want else INF
    if isinstance(want, Fraction):
        exponent = want.numerator.bit_length() - want.denominator.bit_length()
        exponent += Fraction(2) ** exponent <= abs(want)
        return float(abs(Fraction(got) - want) / Fraction(2) ** max(exponent - bits, low))
    unit = mpmath.ldexp(1, max(mpmath.frexp(want)[1] - bits, low))
    return float(abs(mpmath.mpf(got) - want) / unit)


def samples(kind: str, count: int, seed: int = 0) -> Array:
    """Points where functions are hard: unit circles, near 1 and i, near poles and overflow."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])

    def spread(low: float, high: float) -> Array:
        return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(low, high, count)

    if kind == "normal":
        z = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    elif kind in ("circle", "circle at -1"):
        angle, radius = rng.uniform(0, 2 * PI, count), 1 + spread(-17, -1)
        z = radius * np.cos(angle) + 1j * radius * np.sin(angle) - (kind == "circle at -1")
    elif kind in ("one", "i"):
        z = rng.choice([-1.0, 1.0], count) * (1 + spread(-16, -1)) + 1j * spread(-20, 0)
    elif kind in ("pole", "turned pole"):
        near = np.round(rng.uniform(-20, 20, count)) * PI / 2 + spread(-16, -8)
        z = spread(-18, 0) + 1j * near
    elif kind in ("overflow", "turned overflow"):
        z = rng.choice([-1.0, 1.0], count) * rng.uniform(690, 1460, count) + 1j * spread(-320, 2)
    else:
        low, high = {
            "wide": (-8.0, 8.0),
            "trig": (-3.0, 2.8),
            "huge": (-300.0, 300.0),
            "tiny": (-323.0, -290.0),
        }[kind]
        z = spread(low, high) + 1j * spread(low, high)
    return z.imag + 1j * z.real if kind in ("i", "turned pole", "turned overflow") else z


# ---- arithmetic --------------------------------------------------------------------------------


def _fractions(z: complex) -> tuple[Fraction, Fraction]:
    return Fraction(z.real), Fraction(z.imag)


def _product(z: complex, w: complex) -> tuple[Fraction, Fraction]:
    (a, b), (c, d) = _fractions(z), _fractions(w)
    return a * c - b * d, a * d + b * c


def _quotient(z: complex, w: complex) -> tuple[Fraction, Fraction]:
    (a, b), (c, d) = _fractions(z), _fractions(w)
    size = c * c + d * d
    return (a * c + b * d) / size, (b * c - a * d) / size


def _worst(got: Array, want: list[tuple[Any, Any]], bits: int = 53, low: int = -1074) -> float:
    pairs = zip(got.tolist(), want, strict=True)
    return max(max(ulps(g.real, w[0], bits, low), ulps(g.imag, w[1], bits, low)) for g, w in pairs)


@pytest.mark.parametrize("kind", ["normal", "wide", "huge", "tiny"])
def test_products_and_quotients_are_accurate_in_each_part(cplx: Any, kind: str) -> None:
    z, w = samples(kind, 400), samples(kind, 400, 1)
    pairs = list(zip(z.tolist(), w.tolist(), strict=True))
    assert _worst(cplx("multiply", z, w), [_product(a, b) for a, b in pairs]) <= 1.0
    assert _worst(cplx("divide", z, w), [_quotient(a, b) for a, b in pairs]) <= 1.0
    assert _worst(cplx("reciprocal", z), [_quotient(1, a) for a in z.tolist()]) <= 1.0
    assert _worst(cplx("square", z), [_product(a, a) for a in z.tolist()]) <= 1.0
    assert np.array_equal(cplx("multiply", z, w), cplx("multiply", w, z), equal_nan=True)
    cancelling = np.conj(1 / z)
    if np.isfinite(cancelling).all():
        want = [_product(a, b) for a, b in zip(z.tolist(), cancelling.tolist(), strict=True)]
        assert _worst(cplx("multiply", z, cancelling), want) <= 1.0


@pytest.mark.parametrize("kind", ["normal", "wide", "huge"])
def test_c64_arithmetic_is_rounded_once(cplx: Any, kind: str) -> None:
    z, w = (samples(kind, 400, s) for s in (2, 3))
    if kind == "huge":  # the exponents of float32
        z, w = (10.0 ** (0.12 * np.log10(np.abs(v))) * np.exp(1j * np.angle(v)) for v in (z, w))
    z, w = z.astype(np.complex64), w.astype(np.complex64)
    pairs = list(zip(z.tolist(), w.tolist(), strict=True))
    assert _worst(cplx("multiply", z, w), [_product(a, b) for a, b in pairs], 24, -149) <= 0.5000001
    assert _worst(cplx("divide", z, w), [_quotient(a, b) for a, b in pairs], 24, -149) <= 0.5000001
    size = cplx("abs", z).tolist()
    want = [mpmath.hypot(mpmath.mpf(a.real), mpmath.mpf(a.imag)) for a in z.tolist()]
    assert max(ulps(g, v, 24, -149) for g, v in zip(size, want, strict=True)) <= 0.5000001


@pytest.mark.parametrize("kind", ["normal", "wide", "huge", "tiny"])
def test_abs_and_sign(cplx: Any, kind: str) -> None:
    z = samples(kind, 300)
    points = [mpmath.mpc(v.real, v.imag) for v in z.tolist()]
    with mpmath.workprec(4400):
        size = [abs(p) for p in points]
        unit = [(p.real / r, p.imag / r) for p, r in zip(points, size, strict=True)]
        assert max(ulps(g, r) for g, r in zip(cplx("abs", z).tolist(), size, strict=True)) <= 1.0
        assert _worst(cplx("sign", z), unit) <= 1.5
    for value, want in (
        (0j, 0j),
        (complex(-0.0, -0.0), 0j),
        (complex(INF, 3), 1),
        (complex(2, -INF), -1j),
    ):
        assert cplx.one("sign", value) == want
    assert math.copysign(1, cplx.one("sign", complex(-0.0, -0.0)).real) == 1
    for value in (complex(NAN, 1), complex(0, NAN), complex(INF, -INF), complex(INF, NAN)):
        got = cplx.one("sign", value)
        assert math.isnan(got.real)
        assert math.isnan(got.imag)


VALUES = (0.0, -0.0, 1.0, -2.0, 1e308, 5e-324, INF, -INF, NAN)


def _is_inf(z: complex) -> bool:
    return math.isinf(z.real) or math.isinf(z.imag)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_infinities_and_zeros_of_products_and_quotients(cplx: Any, dtype: Any) -> None:
    """Annex G.5.1: one infinity, whatever its other part; one zero."""
    values = [
        complex(np.array(complex(a, b)).astype(dtype)) for a, b in itertools.product(VALUES, VALUES)
    ]
    pairs = list(itertools.product(values, values))
    z, w = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    products, quotients = cplx("multiply", z, w).tolist(), cplx("divide", z, w).tolist()
    for (a, b), p, q in zip(pairs, products, quotients, strict=True):
        finite_a, finite_b = (math.isfinite(v.real) and math.isfinite(v.imag) for v in (a, b))
        nonzero = not (math.isnan(b.real) or math.isnan(b.imag)) and b != 0
        if _is_inf(a) and (_is_inf(b) or nonzero):
            assert _is_inf(p), (a, b, p)
        if finite_a and finite_b and 0 in (a, b):
            assert p == 0, (a, b, p)
        if _is_inf(a) and finite_b:
            assert _is_inf(q), (a, b, q)
        if finite_a and _is_inf(b):
            assert q == 0, (a, b, q)
        if finite_a and a != 0 and b == 0:
            assert _is_inf(q), (a, b, q)
        if (a == 0 and b == 0) or (_is_inf(a) and _is_inf(b)):
            assert [math.isnan(v) for v in (q.real, q.imag)] == [True, True], (a, b, q)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_simple_operations_match_numpy(cplx: Any, dtype: Any) -> None:
    values = [complex(a, b) for a, b in itertools.product((*VALUES, 2.5, -3.5), repeat=2)]
    z, w = (
        np.array(side, np.complex128).astype(dtype)
        for side in zip(*itertools.product(values, values), strict=True)
    )
    for op in ("add", "subtract", "equal", "not_equal"):
        want = getattr(np, op)(z, w)
        got = cplx(op, z, w)
        assert np.array_equal(got, want.astype(got.dtype), equal_nan=want.dtype.kind == "c"), op
    for op in ("negative", "conj", "real", "imag", "isnan", "isinf", "isfinite"):
        want = getattr(np, op)(z)
        got = cplx(op, z)
        kind = np.float64 if got.dtype in (np.float64, np.complex128) else np.float32
        assert np.array_equal(got, want.astype(got.dtype), equal_nan=got.dtype.kind in "fc"), op
        if got.dtype.kind in "fc":
            a, b = (v.astype(got.dtype).view(kind) for v in (got, want))
            assert np.array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(a)]), op
    rounded = cplx("round", z)
    assert np.array_equal(rounded.real, np.rint(z.real), equal_nan=True)
    assert np.array_equal(rounded.imag, np.rint(z.imag), equal_nan=True)
    assert np.array_equal(cplx("to_b", z), (z != 0).astype(np.uint8))
    wide, narrow = np.complex128, np.complex64
    other, name = (wide, "to_c128") if dtype == narrow else (narrow, "to_c64")
    assert np.array_equal(cplx(name, z), z.astype(other), equal_nan=True)


# ---- accuracy ----------------------------------------------------------------------------------

REFERENCE: dict[str, Callable[[Any], Any]] = {
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log1p": lambda z: mpmath.log(1 + z),
    "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "log10": lambda z: mpmath.log(z) / mpmath.log(10),
}
TRIG = ("trig", "pole", "turned pole", "overflow", "turned overflow")
PLANE = ("wide", "huge", "circle", "circle at -1", "one", "i")
# worst error of a part in ulp, with a margin over the measured one (8000 points of each kind)
BOUNDS = {
    "sqrt": 1.5, "exp": 0.85, "expm1": 0.85, "log": 0.85, "log1p": 1.3, "log2": 1.6, "log10": 1.6,
    "sinh": 0.85, "cosh": 0.85, "tanh": 1.0, "sin": 0.85, "cos": 0.85, "tan": 1.0,
    "asin": 2.2, "acos": 2.2, "atan": 2.6, "asinh": 2.2, "acosh": 2.2, "atanh": 2.6,
}  # fmt: skip
CASES = [
    (op, kind)
    for op in BOUNDS
    for kind in (
        TRIG if op in ("exp", "expm1", "sinh", "cosh", "tanh", "sin", "cos", "tan") else PLANE
    )
    + ("normal", "tiny")
]


def _precision(op: str, kind: str) -> int:
    """Bits which the reference needs: 1 + z and e**z - 1 for the tiniest z."""
    if kind in ("tiny", "overflow", "turned overflow", "huge"):
        return 3400 if op not in ("exp", "sin", "sinh", "log", "sqrt", "log2", "log10") else 500
    return 260


def _reference(op: str, z: complex) -> Any:
    return mpmath.mpc(
        (REFERENCE[op] if op in REFERENCE else getattr(mpmath, op))(mpmath.mpc(z.real, z.imag))
    )


def _unit_of_expm1(z: complex) -> Any:
    """Re expm1 is a difference of these two: its error is measured in ulps of the larger."""
    x, y = mpmath.mpf(z.real), mpmath.mpf(z.imag)
    return max(abs(mpmath.expm1(x) * mpmath.cos(y)), 2 * mpmath.sin(y / 2) ** 2)


@pytest.mark.parametrize(("op", "kind"), CASES)
def test_each_part_is_accurate(cplx: Any, op: str, kind: str) -> None:
    with mpmath.workprec(_precision(op, kind)):
        z = samples(kind, 25 if mpmath.mp.prec > 1000 else 60)
        for value, got in zip(z.tolist(), cplx(op, z).tolist(), strict=True):
            want = _reference(op, value)
            errors = [ulps(got.real, want.real), ulps(got.imag, want.imag)]
            if op == "expm1" and math.isfinite(got.real):
                size = _unit_of_expm1(value)
                errors[0] = min(errors[0], float(abs(want.real - got.real) / size * 2**53))
            assert max(errors) <= BOUNDS[op], (op, kind, value, got, complex(want), errors)


@pytest.mark.parametrize("op", [op for op in BOUNDS if op != "expm1"])
def test_c64_is_rounded_once(cplx: Any, op: str) -> None:
    trig = op in ("exp", "sinh", "cosh", "tanh", "sin", "cos", "tan")
    parts = [samples(kind, 60) for kind in ("normal", "one", "circle", "trig" if trig else "wide")]
    z = np.concatenate(parts).astype(np.complex64)
    z = z[(np.abs(z.real) < 85) & (np.abs(z.imag) < 85)] if trig else z
    for value, got in zip(z.tolist(), cplx(op, z).tolist(), strict=True):
        want = _reference(op, value)
        error = max(ulps(got.real, want.real, 24, -149), ulps(got.imag, want.imag, 24, -149))
        on_cut = value.imag == 0 or value.real == 0
        assert on_cut or error <= 0.500001, (op, value, got, complex(want), error)


@pytest.mark.parametrize(
    "op", [op for op in BOUNDS if op not in ("log1p", "expm1", "log2", "log10")]
)
def test_symmetries_hold_bit_for_bit(cplx: Any, op: str) -> None:
    z = np.concatenate([samples(kind, 200) for kind in ("normal", "wide", "circle", "one")])
    direct = cplx(op, z)
    assert np.array_equal(cplx(op, np.conj(z)), np.conj(direct)), "f(conj z) = conj f(z)"
    if op in ODD:
        assert np.array_equal(cplx(op, -z), -direct), "f(-z) = -f(z)"
    if op in EVEN:
        assert np.array_equal(cplx(op, -z), direct), "f(-z) = f(z)"


# ---- pow ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "scale"), [("normal", 1.0), ("normal", 10.0), ("wide", 3.0), ("circle", 100.0)]
)
def test_pow_is_accurate_in_norm(cplx: Any, kind: str, scale: float) -> None:
    """|error| <= (1.5 + |w log z| / 8) 2**-53 |z**w|; exp(w * log(z)) would leave |w log z|."""
    z, w = samples(kind, 150), scale * samples("normal", 150, 4)
    for a, b, got in zip(z.tolist(), w.tolist(), cplx("pow", z, w).tolist(), strict=True):
        power = mpmath.mpc(b.real, b.imag) * mpmath.log(mpmath.mpc(a.real, a.imag))
        want = mpmath.exp(power)
        if 1e-300 < abs(want) < 1e300:
            error = abs(mpmath.mpc(got.real, got.imag) - want) / abs(want) * 2**53
            assert error <= 1.5 + abs(power) / 8, (a, b, got, complex(want))


def test_pow_with_integer_exponents(cplx: Any) -> None:
    for base, n in itertools.product(samples("normal", 30).tolist(), (1, 2, 3, 7, 31, 64)):
        exact = (Fraction(1), Fraction(0))
        for _ in range(n):
            a, b = exact
            c, d = _fractions(base)
            exact = (a * c - b * d, a * d + b * c)
        got = cplx.one("pow", base, complex(n, 0.0))
        size = math.sqrt(exact[0] ** 2 + exact[1] ** 2)
        error = math.hypot(
            float(Fraction(got.real) - exact[0]), float(Fraction(got.imag) - exact[1])
        )
        assert error <= n * 2.0**-53 * size, (base, n, got)
