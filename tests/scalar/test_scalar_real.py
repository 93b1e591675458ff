"""core/scalar/real_*.h against mpmath, special values against C11 Annex F.

The headers are compiled by the system's C compiler, once per session, with one loop per function.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from phalanx.conformance.reference.hard import hardest_values

cffi = pytest.importorskip("cffi")
mpmath = pytest.importorskip("mpmath")

Array = npt.NDArray[Any]
Number = Any  # mpmath has no types

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-O2", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
FLOATS: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
CTYPE = {"f32": "float", "f64": "double"}
#: Bits of the significand, least exponent of a normal number, greatest finite number.
FORMAT = {"f32": (24, -126, 2.0**128 - 2.0**104), "f64": (53, -1022, sys.float_info.max)}

TRIG = ("sin", "cos", "tan")
UNARY = (
    "exp", "expm1", "sinh", "cosh", "tanh", "log", "log1p", "log2", "log10", "asinh", "acosh",
    "atanh", *TRIG, "asin", "acos", "atan", "cbrt", "exp2", "erf", "erfc",
    "lgamma", "digamma", "sigmoid", "silu", "gelu", "softplus",
)  # fmt: skip
BINARY = ("atan2", "pow", "hypot", "logaddexp")
MAIN = tuple(f"{op}_main" for op in TRIG)

INF, NAN, PI = math.inf, math.nan, math.pi
MPF: Callable[[float], Number] = mpmath.mpf


def _logaddexp(a: Number, b: Number) -> Number:
    return max(a, b) + mpmath.log1p(mpmath.exp(-abs(a - b)))


REFERENCE: dict[str, Callable[..., Number]] = {
    op: getattr(mpmath, op)
    for op in (*UNARY, "atan2", "hypot")
    if op not in ("log2", "exp2", "lgamma", "sigmoid", "silu", "gelu", "softplus")
} | {
    "log2": lambda x: mpmath.log(x, 2),
    "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
    "exp2": lambda x: mpmath.power(2, x),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x / 2 * mpmath.erfc(-x / mpmath.sqrt(2)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "pow": mpmath.power,
    "logaddexp": _logaddexp,
}

#: Greatest error in ulp. float32 of two arguments is computed in f64 and rounded once: half an ulp,
#: and what f64 leaves. float64: the worst of 2e6 inputs is stated at each function.
BOUND_F32 = 0.5 + 2.0**-28
BOUND_F64 = {**dict.fromkeys((*UNARY, *BINARY), 0.55), "cbrt": 0.501, "hypot": 0.501}


def _flags() -> list[str]:
    """The flags for this processor: with its fma if it has one (libm's is correct, but slow)."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return FLAGS
    return [*FLAGS, "-mfma"] if " fma " in text else FLAGS


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The compiled headers: ``lib.<op>_<suffix>(in..., out, count)``."""
    folder = tmp_path_factory.mktemp("scalar_real")
    declarations: list[str] = []
    headers = ("real_cbrt", "real_erf", "real_gamma", "real_gelu", "real_sigmoid", "real_trig")
    body = [f'#include "{header}.h"' for header in ("elementwise/dialect", *headers)]
    for suffix, t in CTYPE.items():
        for op in (*UNARY, *MAIN, *BINARY):
            names = ("a", "b") if op in BINARY else ("a",)
            inputs = ", ".join(f"const {t} *{n}" for n in names)
            head = f"void {op}_{suffix}({inputs}, {t} *out, long count)"
            declarations.append(f"{head};")
            call = ", ".join(f"{n}[i]" for n in names)
            loop = f"for (long i = 0; i < count; i++) out[i] = phx_{op}_{suffix}({call});"
            body.append(f"static {head} {{ {loop} }}")
        head = f"void needs_big_{suffix}(const {t} *a, int *out, long count)"
        declarations.append(f"{head};")
        loop = f"for (long i = 0; i < count; i++) out[i] = phx_trig_needs_big_{suffix}(a[i]);"
        body.append(f"static {head} {{ {loop} }}")
    builder = cffi.FFI()
    builder.cdef("\n".join(declarations))
    builder.set_source(
        "_scalar_real",
        "\n".join(body),
        include_dirs=[str(ROOT / "core" / "scalar"), str(ROOT / "kernels_cpu" / "src")],
        extra_compile_args=_flags(),
    )
    spec = importlib.util.spec_from_file_location("_scalar_real", builder.compile(str(folder)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _call(library: Any, op: str, suffix: str, *operands: Any) -> Array:
    """The function on every element of the operands, which are converted to its type."""
    given = [np.ascontiguousarray(x, FLOATS[suffix]) for x in operands]
    out: Array = np.empty(len(given[0]), np.int32 if op == "needs_big" else FLOATS[suffix])
    pointers = [library.ffi.from_buffer(f"{CTYPE[suffix]}[]", x) for x in given]
    kind = "int[]" if op == "needs_big" else f"{CTYPE[suffix]}[]"
    result = library.ffi.from_buffer(kind, out, require_writable=True)
    getattr(library.lib, f"{op}_{suffix}")(*pointers, result, len(out))
    return out


def _same(got: float, want: float) -> bool:
    """Equal, and of equal sign where that can be told."""
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1.0, got) == math.copysign(1.0, want)


def _error(got: float, want: Number, suffix: str) -> float:
    """|got - want| in ulp of want; infinity is right from halfway beyond the greatest number."""
    digits, least, greatest = FORMAT[suffix]
    top = max(int(mpmath.frexp(want)[1]) - 1, least) if want else least
    ulp = MPF(2) ** (top - digits + 1)
    if math.isinf(got):
        over = abs(want) >= MPF(greatest) + ulp / 2 and (want > 0) == (got > 0)
        return 0.0 if over else INF
    return float(abs(MPF(float(got)) - want) / ulp)


def _worst(
    library: Any, op: str, suffix: str, operands: tuple[Array, ...], floor: float = 0.0
) -> tuple[float, str]:
    """The greatest error in ulp, where it is; absolute errors up to ``floor`` do not count."""
    given = [np.asarray(x, FLOATS[suffix]) for x in operands]
    got = _call(library, op, suffix, *given)
    worst, where = -1.0, ""
    with mpmath.workprec(240):
        for i, y in enumerate(got):
            x = [float(v[i]) for v in given]
            want = REFERENCE[op](*map(MPF, x))
            if floor and abs(MPF(float(y)) - want) <= floor:
                continue
            error = _error(float(y), want, suffix)
            if not error <= worst:
                worst, where = error, f"{op}_{suffix}({x}) = {y!r}, exact {mpmath.nstr(want, 25)}"
    return worst, where


# ---- inputs --------------------------------------------------------------------------------------

RNG_SEED = 20260101


class Inputs:
    """Random arguments of one function and type: n of them for each of the patterns."""

    def __init__(self, suffix: str, n: int) -> None:
        self.rng = np.random.default_rng(RNG_SEED)
        self.n = n
        digits, least, greatest = FORMAT[suffix]
        self.tiny, self.greatest, self.digits = 2.0 ** (least - digits + 1), greatest, digits

    def uniform(self, low: float, high: float) -> Array:
        return np.asarray(self.rng.uniform(low, high, self.n))

    def wide(self, low: float = 0.0, high: float = 0.0) -> Array:
        """Positive numbers, evenly over the exponents of [low, high], by default of the type."""
        a, b = math.log2(low or self.tiny), math.log2(high or self.greatest)
        return np.exp2(np.minimum(self.rng.uniform(a, b, self.n), b - 1e-9))

    def signed(self, x: Array) -> Array:
        return np.asarray(x * self.rng.choice([-1.0, 1.0], len(x)))

    def near(self, x: float, width: float = 0.1) -> Array:
        """Around x, down to neighbours in the type."""
        away = np.exp2(self.rng.uniform(1 - self.digits, math.log2(width), self.n))
        return x * (1.0 + self.signed(away))

    def quarter_turns(self) -> Array:
        """The numbers next to multiples of pi/2, small and huge: the hardest of the reduction."""
        with mpmath.workprec(1200):
            top = math.log2(self.greatest) - 1
            count = [int(mpmath.mpf(2) ** e) for e in self.rng.uniform(0, top, self.n)]
            return np.array([float(k * mpmath.pi / 2) for k in count])


def _unary_inputs(op: str, suffix: str, n: int) -> Array:
    g = Inputs(suffix, n)
    top = math.log(g.greatest)
    bottom = math.log(g.tiny)
    small = g.signed(g.wide(0.0, 1e-3))
    table: dict[str, Callable[[], list[Array]]] = {
        "exp": lambda: [g.uniform(-1, 1), g.uniform(bottom - 1, top), small],
        "expm1": lambda: [g.uniform(-1, 1), g.uniform(-45, top), small, g.near(0.34657, 0.2)],
        "sinh": lambda: [g.uniform(-1, 1), g.uniform(-top, top), small, g.near(0.34657, 0.2)],
        "cosh": lambda: [g.uniform(-1, 1), g.uniform(-top, top), small, g.near(0.34657, 0.2)],
        "tanh": lambda: [g.uniform(-1, 1), g.uniform(-22, 22), small, g.near(0.34657, 0.2)],
        "log": lambda: [g.near(1.0), g.uniform(0.5, 2), g.wide(), g.near(2**0.5), g.near(0.5**0.5)],
        "log1p": lambda: [small, g.uniform(-0.99, 1), g.wide(), -1 + g.wide(2.0**-20, 0.5)],
        "asinh": lambda: [small, g.signed(g.wide()), g.uniform(-3, 3), g.near(2.0**28)],
        "acosh": lambda: [1 + g.wide(2.0 ** (1 - g.digits), 1), g.wide(1.0), g.near(2.0**28)],
        "atanh": lambda: [small, g.uniform(-1, 1), g.signed(1 - g.wide(2.0 ** -g.digits, 0.5))],
        "cbrt": lambda: [g.signed(g.wide()), g.uniform(-8, 8), g.near(0.5), g.near(2**0.5)],
        "exp2": lambda: [g.uniform(-1, 1), g.uniform(bottom, top) / math.log(2), small],
        "erf": lambda: [small, g.signed(g.wide(0.0, 1e-9)), g.uniform(-6, 6), g.near(0.5625)],
        "erfc": lambda: [
            small, g.uniform(-6, 6), g.uniform(0, math.sqrt(-bottom)), g.signed(g.near(0.5625))
        ],
        "lgamma": lambda: [
            *(g.near(zero) for zero in (1.0, 2.0, 1.4616321449683622)),
            g.uniform(0, 12), np.abs(small), g.wide(),
        ],
        "sigmoid": lambda: [small, g.uniform(-20, 40), g.uniform(bottom - 1, 1), g.near(17.3)],
        "gelu": lambda: [
            small, g.uniform(-6, 6), -g.uniform(0, math.sqrt(-2 * bottom)), g.signed(g.near(0.7955))
        ],
        "asin": lambda: [small, g.uniform(-1, 1), g.signed(g.near(0.5))],
        "atan": lambda: [
            g.signed(g.wide()), g.uniform(-3, 3), g.near(2**0.5 - 1), g.near(2**0.5 + 1)
        ],
        "sin": lambda: [
            small, g.uniform(-4, 4), g.uniform(-1e3, 1e3), g.signed(g.wide(1.0)), g.quarter_turns()
        ],
    }  # fmt: skip
    like = {"log2": "log", "log10": "log", "cos": "sin", "tan": "sin", "acos": "asin"}
    like |= {"digamma": "lgamma", "silu": "sigmoid", "softplus": "sigmoid"}
    x = np.concatenate(table[like.get(op, op)]()).astype(FLOATS[suffix])
    return np.clip(x, -1, 1) if op in ("asin", "acos") else x


def _binary_inputs(op: str, suffix: str, n: int) -> tuple[Array, Array]:
    g = Inputs(suffix, n)
    top, bottom = math.log(g.greatest), math.log(g.tiny)
    if op == "pow":
        x = np.concatenate([g.uniform(0, 5), g.near(1.0), g.wide()]).astype(FLOATS[suffix])
        spread = np.concatenate(
            [g.uniform(bottom, top), g.uniform(-20, 20), g.uniform(bottom, top)]
        )
        y = spread / np.where(x == 1, 1, np.log(x.astype(np.float64)))
        y[::5] = np.rint(y[::5])
        return x, y
    if op == "logaddexp":
        a = np.concatenate([g.uniform(-5, 5), g.uniform(-1e3, 1e3), g.signed(g.wide(1e-9, 1e9))])
        return a, np.concatenate(
            [g.uniform(-5, 5), a[n : 2 * n] + g.uniform(-60, 60), g.uniform(-9, 9)]
        )
    half = g.greatest / 2
    a = np.concatenate(
        [g.uniform(-5, 5), g.wide(0.0, half), g.wide(0.0, g.tiny * 1e6), g.wide(half / 1e6, half)]
    )
    b = np.concatenate(
        [g.uniform(-5, 5), g.wide(0.0, half), g.wide(0.0, g.tiny * 1e6), g.wide(half / 1e6, half)]
    )
    return g.signed(a), g.signed(b)


# ---- accuracy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", UNARY)
def test_float64_error_of_a_function_of_one_argument(library: Any, op: str) -> None:
    worst, where = _worst(library, op, "f64", (_unary_inputs(op, "f64", 450),))
    assert worst <= BOUND_F64[op], where


@pytest.mark.parametrize("op", UNARY)
def test_float32_is_correctly_rounded(library: Any, op: str) -> None:
    x = np.concatenate([hardest_values(op, "float32"), _unary_inputs(op, "f32", 450)])
    x = x[np.isfinite(_call(library, op, "f32", x))]
    worst, where = _worst(library, op, "f32", (x,))
    assert worst <= 0.5, where


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("suffix", FLOATS)
def test_error_of_a_function_of_two_arguments(library: Any, op: str, suffix: str) -> None:
    bound = BOUND_F64[op] if suffix == "f64" else BOUND_F32
    # Where logaddexp changes its sign it is a difference, with a promise of absolute error only.
    floor = {"f32": 2.0**-54, "f64": 2.0**-56}[suffix] if op == "logaddexp" else 0.0
    worst, where = _worst(library, op, suffix, _binary_inputs(op, suffix, 600), floor)
    assert worst <= bound, where


@pytest.mark.parametrize(
    ("suffix", "last"), [("f64", float.fromhex("0x1.754d9278b51a7p+1014")), ("f32", 4.085003e36)]
)
def test_lgamma_reaches_the_greatest_number(library: Any, suffix: str, last: float) -> None:
    kind = FLOATS[suffix]
    x = np.array([kind(last), np.nextafter(kind(last), kind(INF))])
    got = _call(library, "lgamma", suffix, x)
    assert got[0] > 0.999999 * FORMAT[suffix][2]
    assert np.isfinite(got).tolist() == [True, False]


def test_float32_powers_that_are_exact_or_halfway_between_two_numbers(library: Any) -> None:
    """x**2 of 13-bit integers is exact or a tie; so are small cubes, and x**-1 of powers of two."""
    x = np.arange(1, 1 << 13, dtype=np.float64)
    assert np.array_equal(_call(library, "pow", "f32", x, np.full_like(x, 2)), np.float32(x * x))
    x = np.arange(1, 400, dtype=np.float64)
    assert np.array_equal(_call(library, "pow", "f32", x, np.full_like(x, 3)), np.float32(x**3))
    x = np.exp2(np.arange(-126, 127, dtype=np.float64))
    assert np.array_equal(_call(library, "pow", "f32", x, np.full_like(x, -1)), np.float32(1 / x))


@pytest.mark.parametrize("suffix", FLOATS)
def test_cubes_and_whole_powers_are_exact(library: Any, suffix: str) -> None:
    x = np.arange(-200.0, 201)
    assert np.array_equal(_call(library, "cbrt", suffix, x**3), x)
    two = np.arange(-1074, 1024) if suffix == "f64" else np.arange(-149, 128)
    assert np.array_equal(_call(library, "exp2", suffix, two), np.ldexp(FLOATS[suffix](1), two))


@pytest.mark.parametrize("suffix", FLOATS)
def test_logarithms_of_powers_of_their_base_are_integers(library: Any, suffix: str) -> None:
    two = np.arange(-1074, 1024) if suffix == "f64" else np.arange(-149, 128)
    assert np.array_equal(_call(library, "log2", suffix, np.ldexp(1.0, two)), two)
    ten = np.arange(0, 23 if suffix == "f64" else 11)
    assert np.array_equal(_call(library, "log10", suffix, [float(10 ** int(k)) for k in ten]), ten)


# ---- the split of the trigonometric functions ----------------------------------------------------


@pytest.mark.parametrize("op", TRIG)
@pytest.mark.parametrize("suffix", FLOATS)
def test_main_path_gives_the_bits_of_the_whole_function(library: Any, op: str, suffix: str) -> None:
    x = _unary_inputs(op, suffix, 2000)
    below = x[_call(library, "needs_big", suffix, x) == 0]
    assert 0 < len(below) < len(x)
    uint = np.uint32 if suffix == "f32" else np.uint64
    whole, main = (_call(library, name, suffix, below) for name in (op, f"{op}_main"))
    assert np.array_equal(whole.view(uint), main.view(uint))


@pytest.mark.parametrize("suffix", FLOATS)
def test_big_path_is_for_finite_arguments_from_2_to_30_on(library: Any, suffix: str) -> None:
    below = float(np.nextafter(FLOATS[suffix](2.0**30), FLOATS[suffix](0)))
    x = [0.0, below, -below, 2.0**30, -(2.0**30), FORMAT[suffix][2], INF, -INF, NAN]
    assert _call(library, "needs_big", suffix, x).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]


# ---- special values (C11 Annex F.10, repeated by the Python Array API 2025.12) -------------------

ODD_AT_INFINITY = {
    "sinh": INF, "asinh": INF, "tanh": 1.0, "atan": PI / 2, "cbrt": INF, "erf": 1.0
}  # fmt: skip
ODD = (
    "cbrt",
    "erf",
    "silu",
    "gelu",
    "sinh",
    "asinh",
    "tanh",
    "atan",
    "expm1",
    "log1p",
    "atanh",
    "sin",
    "tan",
    "asin",
)


def _unary_special() -> list[tuple[str, float, float]]:
    """Function, argument, result."""
    rows = [(op, NAN, NAN) for op in UNARY]
    rows += [(op, z, z) for op in ODD for z in (0.0, -0.0)]
    rows += [(op, s * INF, s * y) for op, y in ODD_AT_INFINITY.items() for s in (1.0, -1.0)]
    rows += [(op, s * INF, NAN) for op in (*TRIG, "asin", "acos", "atanh") for s in (1.0, -1.0)]
    rows += [(op, z, 1.0) for op in ("exp", "cosh", "cos") for z in (0.0, -0.0)]
    rows += [("exp", INF, INF), ("exp", -INF, 0.0), ("expm1", INF, INF), ("expm1", -INF, -1.0)]
    rows += [("cosh", INF, INF), ("cosh", -INF, INF)]
    rows += [("exp2", INF, INF), ("exp2", -INF, 0.0), ("exp2", -0.0, 1.0), ("exp2", 10.0, 1024.0)]
    rows += [("lgamma", x, INF) for x in (0.0, -0.0, -1.0, -2.0, -1e30, INF, -INF)]
    rows += [("lgamma", 1.0, 0.0), ("lgamma", 2.0, 0.0)]
    rows += [("digamma", 0.0, -INF), ("digamma", -0.0, INF), ("digamma", INF, INF)]
    rows += [("digamma", x, NAN) for x in (-1.0, -2.0, -1e30, -INF)]
    rows += [("erfc", INF, 0.0), ("erfc", -INF, 2.0), ("erfc", 0.0, 1.0), ("erfc", -0.0, 1.0)]
    rows += [("sigmoid", INF, 1.0), ("sigmoid", -INF, 0.0), ("sigmoid", 0.0, 0.5)]
    rows += [(op, x, y) for op in ("silu", "gelu") for x, y in ((INF, INF), (-INF, -0.0))]
    rows += [("softplus", INF, INF), ("softplus", -INF, 0.0), ("softplus", 0.0, math.log(2.0))]
    for op in ("log", "log2", "log10"):
        rows += [(op, 0.0, -INF), (op, -0.0, -INF), (op, 1.0, 0.0), (op, INF, INF)]
        rows += [(op, -1.0, NAN), (op, -INF, NAN)]
    rows += [("log1p", -1.0, -INF), ("log1p", -1.5, NAN), ("log1p", -INF, NAN), ("log1p", INF, INF)]
    rows += [("acosh", 1.0, 0.0), ("acosh", INF, INF), ("acosh", 0.5, NAN), ("acosh", -INF, NAN)]
    rows += [("atanh", 1.0, INF), ("atanh", -1.0, -INF), ("atanh", 1.5, NAN), ("atanh", -1.5, NAN)]
    rows += [("asin", 1.5, NAN), ("asin", -1.5, NAN), ("acos", 1.5, NAN), ("acos", -1.5, NAN)]
    rows += [("acos", 1.0, 0.0), ("acos", -1.0, PI), ("acos", 0.0, PI / 2), ("asin", 1.0, PI / 2)]
    return rows


def _pow_special() -> list[tuple[str, float, float, float]]:
    rows: list[tuple[str, float, float, float]] = []
    rows += [("pow", x, z, 1.0) for x in (0.0, -2.0, INF, -INF, NAN) for z in (0.0, -0.0)]
    rows += [("pow", 1.0, y, 1.0) for y in (INF, -INF, NAN, 3.5)]
    rows += [("pow", -1.0, INF, 1.0), ("pow", -1.0, -INF, 1.0), ("pow", -1.0, NAN, NAN)]
    rows += [("pow", 2.0, NAN, NAN), ("pow", NAN, 2.0, NAN), ("pow", 0.0, NAN, NAN)]
    rows += [("pow", -8.0, 1 / 3, NAN), ("pow", -2.0, 3.0, -8.0), ("pow", -2.0, 2.0, 4.0)]
    rows += [("pow", -2.0, -3.0, -0.125), ("pow", -2.0, 1e20, INF), ("pow", -0.5, 1e20, 0.0)]
    for x, s in ((0.0, 1.0), (-0.0, -1.0)):
        rows += [("pow", x, -3.0, s * INF), ("pow", x, -2.0, INF), ("pow", x, -2.5, INF)]
        rows += [("pow", x, 3.0, s * 0.0), ("pow", x, 2.0, 0.0), ("pow", x, 2.5, 0.0)]
        rows += [("pow", x, -INF, INF), ("pow", x, INF, 0.0)]
    for x in (0.5, -0.5, 1e-30):
        rows += [("pow", x, -INF, INF), ("pow", x, INF, 0.0)]
    for x in (1.5, -1.5, INF, -INF):
        rows += [("pow", x, -INF, 0.0), ("pow", x, INF, INF)]
    for x, s in ((INF, 1.0), (-INF, -1.0)):
        rows += [("pow", x, -3.0, s * 0.0), ("pow", x, -2.0, 0.0), ("pow", x, -2.5, 0.0)]
        rows += [("pow", x, 3.0, s * INF), ("pow", x, 2.0, INF), ("pow", x, 2.5, INF)]
    return rows


def _binary_special() -> list[tuple[str, float, float, float]]:
    """Function, two arguments, result."""
    rows = _pow_special()
    for s in (1.0, -1.0):
        rows += [("atan2", s * 0.0, x, s * 0.0) for x in (0.0, 2.0, INF)]
        rows += [("atan2", s * 0.0, x, s * PI) for x in (-0.0, -2.0, -INF)]
        rows += [("atan2", s * 2.0, x, s * PI / 2) for x in (0.0, -0.0)]
        rows += [("atan2", s * 2.0, INF, s * 0.0), ("atan2", s * 2.0, -INF, s * PI)]
        rows += [("atan2", s * INF, x, s * PI / 2) for x in (0.0, -0.0, 2.0, -2.0)]
        rows += [("atan2", s * INF, INF, s * PI / 4), ("atan2", s * INF, -INF, s * 3 * PI / 4)]
        rows += [("hypot", s * INF, x, INF) for x in (NAN, 0.0, -2.0, -INF)]
        rows += [("hypot", x, s * INF, INF) for x in (NAN, 0.0, -2.0)]
        rows += [("hypot", s * 0.0, x, 0.0) for x in (0.0, -0.0)]
    for op in ("atan2", "hypot", "logaddexp"):
        rows += [(op, NAN, NAN, NAN), (op, NAN, 0.0, NAN), (op, 0.0, NAN, NAN), (op, NAN, 2.0, NAN)]
    rows += [("atan2", NAN, INF, NAN), ("atan2", INF, NAN, NAN), ("hypot", 3.0, -4.0, 5.0)]
    for a, b, y in ((INF, INF, INF), (INF, -INF, INF), (INF, 2.0, INF), (-INF, -INF, -INF)):
        rows += [("logaddexp", a, b, y), ("logaddexp", b, a, y)]
    rows += [("logaddexp", -INF, 2.5, 2.5), ("logaddexp", 2.5, -INF, 2.5)]
    rows += [("logaddexp", NAN, INF, NAN), ("logaddexp", -INF, NAN, NAN)]
    rows += [("logaddexp", 0.0, 0.0, math.log(2.0))]
    return rows


@pytest.mark.parametrize("suffix", FLOATS)
def test_special_values(library: Any, suffix: str) -> None:
    wrong = []
    rows: list[tuple[str, tuple[float, ...], float]] = [
        (op, (x,), y) for op, x, y in _unary_special()
    ]
    cases = [*rows, *((op, (a, b), y) for op, a, b, y in _binary_special())]
    for op, operands, want in cases:
        got = float(_call(library, op, suffix, *[[x] for x in operands])[0])
        if not _same(got, float(FLOATS[suffix](want))):
            wrong.append(f"{op}_{suffix}({', '.join(map(str, operands))}) = {got}, not {want}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("suffix", FLOATS)
def test_overflow_and_underflow(library: Any, suffix: str) -> None:
    greatest = FORMAT[suffix][2]
    x = [greatest, -greatest]
    assert _call(library, "exp", suffix, x).tolist() == [INF, 0.0]
    assert _call(library, "expm1", suffix, x).tolist() == [INF, -1.0]
    assert _call(library, "exp2", suffix, x).tolist() == [INF, 0.0]
    assert _call(library, "erf", suffix, x).tolist() == [1.0, -1.0]
    assert _call(library, "erfc", suffix, x).tolist() == [0.0, 2.0]
    assert _call(library, "sigmoid", suffix, x).tolist() == [1.0, 0.0]
    assert _call(library, "softplus", suffix, x).tolist() == [greatest, 0.0]
    for op in ("silu", "gelu"):
        assert _call(library, op, suffix, x).tolist() == [greatest, 0.0]
    assert _call(library, "sinh", suffix, x).tolist() == [INF, -INF]
    assert _call(library, "cosh", suffix, x).tolist() == [INF, INF]
    assert _call(library, "tanh", suffix, x).tolist() == [1.0, -1.0]
    assert _call(library, "hypot", suffix, x, x).tolist() == [INF, INF]
    assert _call(library, "pow", suffix, [greatest, 2.0], [2.0, -5e3]).tolist() == [INF, 0.0]
    assert _call(library, "logaddexp", suffix, x, x).tolist() == x
