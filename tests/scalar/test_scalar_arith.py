"""core/scalar/{convert,integer,real_basic}.h against exact references: integers, fractions, NumPy.

The headers are compiled once per session and set of flags.
"""

from __future__ import annotations

import math
import operator
import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scalar_library

cffi = pytest.importorskip("cffi")
ml_dtypes = pytest.importorskip("ml_dtypes")


Array = npt.NDArray[Any]
HEADERS = ("convert.h", "integer.h", "real_basic.h")

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "bf16", "f32", "f64")
STORED = {"b": "u8", "f16": "u16", "bf16": "u16"}  # C type of a suffix which is not its own type
NUMPY: dict[str, Any] = {
    "b": np.uint8, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f32": np.float32, "f64": np.float64,
} | {t: np.dtype(t[0] + str(int(t[1:]) // 8)).type for t in INTEGERS}  # fmt: skip
#: Bits of the significand, least and greatest exponent.
FORMAT = {
    "f16": (11, -14, 15),
    "bf16": (8, -126, 127),
    "f32": (24, -126, 127),
    "f64": (53, -1022, 1023),
}

UNARY_INT = ("negative", "abs", "sign", "square")
BINARY_INT = (
    "add", "subtract", "multiply", "floor_divide", "remainder", "pow", "bitwise_left_shift",
    "bitwise_right_shift", "maximum", "minimum",
)  # fmt: skip
UNARY_REAL = ("trunc", "floor", "ceil", "round", "abs", "square", "reciprocal", "sign")
PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
BINARY_REAL = ("copysign", "maximum", "minimum", "nextafter", "floor_divide", "remainder")


def _signatures() -> dict[str, tuple[str, ...]]:
    """Function name without phx_ -> C types, result first."""
    every = ("b", *INTEGERS, *FLOATS)
    ctype = {t: STORED.get(t, t) for t in every}
    table: dict[str, tuple[str, ...]] = {}
    table |= {f"{s}_to_{d}": (ctype[d], ctype[s]) for s in every for d in every if s != d}
    for t in INTEGERS:
        table |= {f"{op}_{t}": (t, t) for op in UNARY_INT}
        table |= {f"{op}_{t}": (t, t, t) for op in BINARY_INT}
        table[f"clip_{t}"] = (t, t, t, t)
    table |= {"maximum_b": ("u8",) * 3, "minimum_b": ("u8",) * 3, "clip_b": ("u8",) * 4}
    for t in ("f32", "f64"):
        table |= {f"{op}_{t}": (t, t) for op in UNARY_REAL}
        table |= {f"{op}_{t}": ("u8", t) for op in PREDICATES}
        table |= {f"{op}_{t}": (t, t, t) for op in BINARY_REAL}
        table[f"clip_{t}"] = (t, t, t, t)
    return table


def _variants() -> list[tuple[str, list[str], str]]:
    variants: list[tuple[str, list[str], str]] = [("portable", [], "")]
    if sys.platform == "linux" and " avx2 " in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        flags = ["-ftree-loop-vectorize", "-fvect-cost-model=unlimited", "-march=x86-64-v3"]
        variants.append(
            ("vector", flags, "#undef PHX_FLOAT_QUOTIENT\n#define PHX_FLOAT_QUOTIENT 1")
        )
    return variants


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Iterator[None]:
    """Overflow and NaN are inputs here, not accidents of the reference."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="session", params=_variants(), ids=lambda v: v[0])
def scalars(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All functions for the baseline and, where there is AVX2, as vectors with float quotients."""
    name, flags, define = request.param
    folder = tmp_path_factory.mktemp(f"scalar_arith_{name}")
    return scalar_library.ScalarLibrary(folder, HEADERS, _signatures(), flags, define)


def nearest(x: Fraction | int, fmt: str) -> float:
    """x rounded once to the format, ties to even, by integer arithmetic alone."""
    bits, low, high = FORMAT[fmt]
    exact = Fraction(x)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, low) - bits + 1)
    rounded = round(size / unit) * unit  # Fraction rounds half to even
    value = float(rounded) if rounded < Fraction(2) ** (high + 1) else math.inf
    return -value if exact < 0 else value


def wrap(x: int, t: str) -> int:
    """x modulo 2**n in the range of the type."""
    bits = int(t[1:])
    x &= (1 << bits) - 1
    return x - (1 << bits) if t[0] == "i" and x >> (bits - 1) else x


def same(got: Array, want: Array, what: str, *inputs: Array) -> None:
    """Equal values and signs of zeros, NaN equal to NaN; reports the first difference."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    equal = got == want
    if want.dtype.kind not in "iub":
        nans = np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
        equal = (equal & (np.signbit(got) == np.signbit(want))) | nans
    wrong = np.flatnonzero(~equal)
    if wrong.size:
        i = wrong[0]
        detail = f"{[a.reshape(-1)[i] for a in inputs]}: got {got[i]!r}, want {want[i]!r}"
        pytest.fail(f"{what}: {wrong.size} of {got.size} wrong, first at {i}: {detail}")


# ---- conversions -------------------------------------------------------------------------------


def _float_inputs(source: str, target: str, count: int) -> Array:
    """Values and midpoints of a 16-bit target, their neighbours, random bits, special values."""
    dtype = NUMPY[source]
    rng = np.random.default_rng(5)
    raw = np.uint32 if source == "f32" else np.uint64
    noise = rng.integers(0, 2 ** (8 * dtype().itemsize), count, dtype=raw).view(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], dtype)
    half = np.arange(65536, dtype=np.uint16).view(NUMPY[target]).astype(np.float64)
    half = half[np.isfinite(half)]
    grid = np.sort(half)
    hard = np.concatenate([grid, (grid[:-1] + grid[1:]) / 2, [2.0**128, 65520.0]]).astype(dtype)
    hard = np.concatenate([hard, -hard])
    up, down = (np.nextafter(hard, dtype(s)) for s in (np.inf, -np.inf))
    near = (rng.choice(grid, count) * (1 + rng.standard_normal(count) * 2.0**-11)).astype(dtype)
    return np.concatenate([special, hard, up, down, near, noise])


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_half_to_wider_is_exact_for_every_pattern(scalars: Any, half: str) -> None:
    bits = np.arange(65536, dtype=np.uint16)
    values = bits.view(NUMPY[half])
    for wide in ("f32", "f64"):
        same(
            scalars(f"{half}_to_{wide}", bits),
            values.astype(NUMPY[wide]),
            f"{half}_to_{wide}",
            bits,
        )
    got = scalars(f"{half}_to_f32", bits).view(np.uint32)
    nan = np.isnan(values.astype(np.float32))
    assert (got[nan] & 0x00400000 != 0).all(), "a NaN must become a quiet one"
    assert ((got[nan] >> 31) == (bits[nan] >> 15)).all(), "the sign of a NaN is kept"
    same(
        scalars(f"f32_to_{half}", got.view(np.float32))[~nan], bits[~nan], "round trip", bits[~nan]
    )


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("wide", ["f32", "f64"])
def test_wider_to_half_rounds_once(scalars: Any, wide: str, half: str) -> None:
    x = _float_inputs(wide, half, 200_000)
    got = scalars(f"{wide}_to_{half}", x).view(NUMPY[half])
    # independent of any conversion: the grid of finite values and its midpoints, exact in float64
    positive = np.arange(0x8000, dtype=np.uint16).view(NUMPY[half]).astype(np.float64)
    positive = positive[np.isfinite(positive)]
    limit = 2.0 ** (FORMAT[half][2] + 1)
    mid = (positive + np.append(positive[1:], limit)) / 2
    size = np.abs(x.astype(np.float64))
    index = np.searchsorted(mid, size, "left")
    tie = mid[np.minimum(index, mid.size - 1)] == size
    index += tie & (index % 2 == 1)
    want = np.copysign(np.append(positive, np.inf)[index], x.astype(np.float64))
    want[np.isnan(x)] = np.nan
    same(got.astype(np.float64), want, f"{wide}_to_{half}", x)
    nan = np.isnan(x)
    assert (np.signbit(got[nan].astype(np.float64)) == np.signbit(x[nan])).all()
    quiet = 0x0200 if half == "f16" else 0x0040
    assert (got[nan].view(np.uint16) & quiet != 0).all()


def test_half_to_half_and_f64_to_f32(scalars: Any) -> None:
    bits = np.arange(65536, dtype=np.uint16)
    for s, d in (("f16", "bf16"), ("bf16", "f16")):
        x = bits.view(NUMPY[s]).astype(np.float32)
        want = x.astype(NUMPY[d])
        same(scalars(f"{s}_to_{d}", bits).view(NUMPY[d]), want, f"{s}_to_{d}", bits)
    x = _float_inputs("f64", "bf16", 10_000)
    with np.errstate(over="ignore"):
        same(scalars("f64_to_f32", x), x.astype(np.float32), "f64_to_f32", x)


def _integers(t: str, count: int = 1500) -> list[int]:
    """Limits, powers of two, their neighbours, all widths; every value of 8 bits."""
    bits = int(t[1:])
    if bits == 8:
        return [wrap(v, t) for v in range(256)]
    rng = random.Random(bits)
    edge = [s * ((1 << k) + d) for k in range(bits) for d in range(-3, 4) for s in (1, -1)]
    sticky = [
        (m << k) + d
        for m in (3, 5, 2**11 + 1, 2**24 + 1, 2**25 - 1)
        for k in range(bits)
        for d in (-1, 0, 1)
    ]
    noise = [rng.getrandbits(rng.randint(1, bits)) for _ in range(count)]
    return sorted({wrap(v, t) for v in edge + sticky + noise})


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", ["b", *INTEGERS])
def test_integer_to_float_rounds_once(scalars: Any, source: str, target: str) -> None:
    values = [0, 1] if source == "b" else _integers(source, 500)
    x = np.array(values, NUMPY[source])
    want = np.array([nearest(v, target) for v in values])
    got = scalars(f"{source}_to_{target}", x).view(NUMPY[target]).astype(np.float64)
    same(got, want, f"{source}_to_{target}", x)


@pytest.mark.parametrize("target", ["b", *INTEGERS])
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer_truncates_and_saturates(scalars: Any, source: str, target: str) -> None:
    rng = np.random.default_rng(7)
    if source in ("f16", "bf16"):
        x = np.arange(65536, dtype=np.uint16)
        values = x.view(NUMPY[source]).astype(np.float64)
    else:
        limits = np.array([s * 2.0**k for k in range(-2, 66) for s in (1, -1)], NUMPY[source])
        near = [np.nextafter(limits, NUMPY[source](s)) for s in (np.inf, -np.inf)]
        fraction = (limits[:, None] + np.array([-1.5, -1, -0.5, 0.5, 1, 1.5])).reshape(-1)
        noise = rng.standard_normal(3000) * 2.0 ** rng.uniform(-5, 70, 3000)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-45, 3e38, -3e38]
        x = np.concatenate([limits, *near, fraction, noise, special]).astype(NUMPY[source])
        values = x.astype(np.float64)
    if target == "b":
        want = (values != 0).astype(np.uint8)
    else:
        info = np.iinfo(NUMPY[target])
        low, high = int(info.min), int(info.max)
        exact = [
            0 if v != v else low if v <= low else high if v >= high else int(v)
            for v in values.tolist()
        ]
        want = np.array(exact, NUMPY[target])
    same(scalars(f"{source}_to_{target}", x), want, f"{source}_to_{target}", values)


def test_integer_to_integer_wraps(scalars: Any) -> None:
    for s in INTEGERS:
        values = _integers(s, 100)
        x = np.array(values, NUMPY[s])
        same(scalars(f"{s}_to_b", x), (x != 0).astype(np.uint8), f"{s}_to_b", x)
        for d in INTEGERS:
            if s != d:
                want = np.array([wrap(v, d) for v in values], NUMPY[d])
                same(scalars(f"{s}_to_{d}", x), want, f"{s}_to_{d}", x)
    flags = np.array([0, 1], np.uint8)
    for d in INTEGERS:
        same(scalars(f"b_to_{d}", flags), flags.astype(NUMPY[d]), f"b_to_{d}", flags)


# ---- integers ----------------------------------------------------------------------------------


def _pow(a: int, n: int, t: str) -> int:
    if n < 0:
        return {1: 1, -1: 1 - 2 * (n & 1)}.get(a, 0)
    return pow(a, n, 1 << int(t[1:]))


def _left_shift(a: int, n: int, t: str) -> int:
    return a << n if 0 <= n < int(t[1:]) else 0


def _right_shift(a: int, n: int, t: str) -> int:
    return a >> n if 0 <= n < int(t[1:]) else -(a < 0)


INTEGER_REFERENCE: dict[str, Callable[[int, int, str], int]] = {
    "add": lambda a, b, t: a + b,
    "subtract": lambda a, b, t: a - b,
    "multiply": lambda a, b, t: a * b,
    "floor_divide": lambda a, b, t: a // b if b else 0,
    "remainder": lambda a, b, t: a % b if b else 0,
    "pow": _pow,
    "bitwise_left_shift": _left_shift,
    "bitwise_right_shift": _right_shift,
    "maximum": lambda a, b, t: max(a, b),
    "minimum": lambda a, b, t: min(a, b),
}


def _pairs(t: str) -> list[tuple[int, int]]:
    values = _integers(t, 60)
    if len(values) > 256:
        rng = random.Random(3)
        bits = int(t[1:])
        edge = {
            wrap(v, t)
            for k in (0, 1, bits // 2, bits - 1)
            for d in (-1, 0, 1)
            for v in ((1 << k) + d, -(1 << k) + d)
        }
        shifts = {wrap(v, t) for v in (*range(-2, bits + 3), 255, 256, -128)}
        pairs = [(a, b) for a in sorted(edge) for b in sorted(edge | shifts)]
        pairs += [(rng.choice(values), rng.choice(values)) for _ in range(4000)]
        pairs += [(rng.choice(values), wrap(rng.randint(-70, 70), t)) for _ in range(2000)]
        # exact multiples and one off: where a rounded quotient would reach the next integer
        for _ in range(2000):
            b, q = rng.choice(values), rng.getrandbits(rng.randint(1, bits))
            pairs.append((wrap(b * q + rng.randint(-1, 1), t), b))
        return pairs
    return [(a, b) for a in values for b in values]


@pytest.mark.parametrize("t", INTEGERS)
def test_integer_binary(scalars: Any, t: str) -> None:
    pairs = _pairs(t)
    a, b = (np.array(side, NUMPY[t]) for side in zip(*pairs, strict=True))
    for op in BINARY_INT:
        reference = INTEGER_REFERENCE[op]
        want = np.array([wrap(reference(x, y, t), t) for x, y in pairs], NUMPY[t])
        same(scalars(f"{op}_{t}", a, b), want, f"{op}_{t}", a, b)


@pytest.mark.parametrize("t", INTEGERS)
def test_integer_unary_and_clip(scalars: Any, t: str) -> None:
    values = _integers(t)
    x = np.array(values, NUMPY[t])
    reference: dict[str, Callable[[int], int]] = {
        "negative": operator.neg, "abs": abs, "square": lambda v: v * v,
        "sign": lambda v: (v > 0) - (v < 0),
    }  # fmt: skip
    for op in UNARY_INT:
        want = np.array([wrap(reference[op](v), t) for v in values], NUMPY[t])
        same(scalars(f"{op}_{t}", x), want, f"{op}_{t}", x)
    rng = random.Random(11)
    triples = [tuple(rng.choice(values) for _ in range(3)) for _ in range(3000)]
    a, lo, hi = (np.array(side, NUMPY[t]) for side in zip(*triples, strict=True))
    want = np.array([min(max(v, low), high) for v, low, high in triples], NUMPY[t])
    same(scalars(f"clip_{t}", a, lo, hi), want, f"clip_{t}", a, lo, hi)


def test_bool(scalars: Any) -> None:
    x, lo, hi = (np.array(side, np.uint8) for side in zip(*np.ndindex(2, 2, 2), strict=True))
    same(scalars("maximum_b", x, lo), np.maximum(x, lo), "maximum_b", x, lo)
    same(scalars("minimum_b", x, lo), np.minimum(x, lo), "minimum_b", x, lo)
    same(scalars("clip_b", x, lo, hi), np.minimum(np.maximum(x, lo), hi), "clip_b", x, lo, hi)


# ---- real numbers ------------------------------------------------------------------------------


def _reals(t: str, count: int = 400) -> Array:
    dtype = NUMPY[t]
    info = np.finfo(dtype)
    rng = np.random.default_rng(13)
    edge = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        1e-3,
        0.1,
        7.0,
        2.0**23,
        2.0**24 - 1,
        2.0**52,
        2.0**53,
        2.0**53 - 1,
    ]
    edge += [
        float(v) for v in (info.smallest_subnormal, info.tiny, info.max, info.eps, 1 - info.epsneg)
    ] + [np.inf]
    raw = np.uint32 if t == "f32" else np.uint64
    noise = rng.integers(0, 2 ** (8 * info.dtype.itemsize), count, dtype=raw).view(dtype)
    near = rng.standard_normal(count) * 2.0 ** rng.integers(-8, 8, count)
    some = np.array(edge, dtype)
    return np.concatenate([some, -some, [dtype(np.nan)], noise, near.astype(dtype)])


def _real_pairs(t: str) -> tuple[Array, Array]:
    dtype = NUMPY[t]
    values = _reals(t, 2000)
    edge = values[:41]
    rng = np.random.default_rng(17)
    grid = np.array(np.meshgrid(edge, edge)).reshape(2, -1)
    mixed = np.array([rng.choice(values, 3000), rng.choice(values, 3000)])
    # close to a multiple, on both sides: where the rounded quotient reaches the next integer
    y = rng.standard_normal(4000).astype(dtype)
    multiple = (y * np.floor(2.0 ** rng.uniform(0, 40, 4000))).astype(dtype)
    beside = np.nextafter(multiple, np.where(rng.random(4000) < 0.5, np.inf, -np.inf).astype(dtype))
    x = np.where(rng.random(4000) < 0.3, multiple, beside)
    return tuple(np.concatenate([grid[i], mixed[i], (x, y)[i]]).astype(dtype) for i in (0, 1))  # type: ignore[return-value]


def _floor_divide(x: float, y: float, t: str) -> float:
    if x != x or y != y or math.isinf(x) or math.isinf(y) or x == 0 or y == 0:
        with np.errstate(all="ignore"):  # floor(divide(x, y)), Array API 2025.12
            return float(np.floor(np.divide(np.float64(x), np.float64(y))))
    exact = Fraction(x) / Fraction(y)
    return nearest(math.floor(exact) if t == "f32" or abs(exact) <= 2**53 else exact, t)


def _remainder(x: float, y: float, t: str) -> float:
    if x != x or y != y or math.isinf(x) or y == 0:
        return math.nan
    if math.isinf(y):
        return math.copysign(0.0, y) if x == 0 else x if (x > 0) == (y > 0) else y
    return math.copysign(
        nearest(Fraction(x) - math.floor(Fraction(x) / Fraction(y)) * Fraction(y), t), y
    )


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_floor_divide_and_remainder_are_exact(scalars: Any, t: str) -> None:
    x, y = _real_pairs(t)
    assert x.size > 8000
    for name, reference in (("floor_divide", _floor_divide), ("remainder", _remainder)):
        want = np.array(
            [reference(a, b, t) for a, b in zip(x.tolist(), y.tolist(), strict=True)], NUMPY[t]
        )
        same(scalars(f"{name}_{t}", x, y), want, f"{name}_{t}", x, y)
    want = np.array(
        [
            a % b if b and abs(a) < math.inf else math.nan
            for a, b in zip(x.tolist(), y.tolist(), strict=True)
        ]
    )
    same(
        scalars(f"remainder_{t}", x, y),
        want.astype(NUMPY[t]),
        f"remainder_{t} against Python's %",
        x,
        y,
    )


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_real_unary(scalars: Any, t: str) -> None:
    x = np.concatenate(
        [_reals(t, 3000), np.arange(-9, 9, 0.25).astype(NUMPY[t]), -_reals(t, 10)[40:41]]
    )
    with np.errstate(all="ignore"):
        for op in UNARY_REAL:
            numpy_name = {"round": "rint", "reciprocal": "reciprocal"}.get(op, op)
            want = getattr(np, numpy_name)(x)
            want[(x == 0) & (op == "sign")] = 0.0
            same(scalars(f"{op}_{t}", x), want, f"{op}_{t}", x)
    for op in PREDICATES:
        same(scalars(f"{op}_{t}", x), getattr(np, op)(x).astype(np.uint8), f"{op}_{t}", x)


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_real_binary_and_clip(scalars: Any, t: str) -> None:
    x, y = _real_pairs(t)
    for op in ("copysign", "nextafter"):
        same(scalars(f"{op}_{t}", x, y), getattr(np, op)(x, y), f"{op}_{t}", x, y)
    both_zero = (x == 0) & (y == 0)
    for op, sign in (
        ("maximum", np.signbit(x) & np.signbit(y)),
        ("minimum", np.signbit(x) | np.signbit(y)),
    ):
        want = getattr(np, op)(x, y)
        want[both_zero] = np.where(sign, -0.0, 0.0)[both_zero]
        got = scalars(f"{op}_{t}", x, y)
        same(got, want, f"{op}_{t}", x, y)
        same(scalars(f"{op}_{t}", y, x), got, f"{op}_{t} with its arguments swapped", x, y)
    rng = np.random.default_rng(19)
    z = rng.permutation(x)
    bound = scalars(f"maximum_{t}", x, y)
    same(scalars(f"clip_{t}", x, y, z), scalars(f"minimum_{t}", bound, z), f"clip_{t}", x, y, z)
