"""Operands at which an elementwise op is hard: its poles, the ends of its range, what cancels.

All functions return NumPy arrays of the dtype that `formats.host_dtype` gives, drawn by the
generator alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .formats import FORMATS, PARTS, host_dtype
from .values import HostArray, Rng, any_bits, evenly, spread, wild_values


def _near_poles(rng: Rng, count: int, top: float) -> HostArray:
    """Near multiples of pi/2, small and large."""
    turns = np.where(
        rng.random(count) < 0.7, rng.integers(-40, 41, count), spread(rng, count, 2, 6)
    )
    near = np.rint(turns) * (np.pi / 2) + spread(rng, count, -9, 0)
    return np.where(rng.random(count) < 0.8, near, spread(rng, count, 0, 0.99 * np.log10(top)))


def _to_overflow(rng: Rng, count: int, top: float) -> HostArray:
    """Up to the overflow of an exponential and beyond, and just inside it."""
    edge = rng.choice([-1.0, 1.0], count) * (1 - spread(rng, count, -7, -3.5) ** 2) * np.log(top)
    wide = rng.uniform(-1.1, 1.05, count) * np.log(top)
    kind = rng.random(count)
    return np.where(kind < 0.2, edge, np.where(kind < 0.7, wide, spread(rng, count, -9, 0)))


def _to_underflow(rng: Rng, count: int, top: float) -> HostArray:
    """Up to where exp(-x * x) underflows, and down to 1/100 of that, of both signs."""
    end = 1.05 * np.sqrt(np.log(top))
    return rng.uniform(-0.5 * end, end, count) * spread(rng, count, -2, 0)


def _to_either_end(rng: Rng, count: int, top: float) -> HostArray:
    """Down to where exp underflows, up to where it no longer counts, near 0, and of all sizes."""
    end = np.log(top)
    size = spread(rng, count, -0.95 * np.log10(top), 0.95 * np.log10(top))
    places = [
        rng.uniform(-1.1 * end, 5, count),
        rng.uniform(-5, 40, count),
        spread(rng, count, -9, 0),
    ]
    return np.select([rng.random(count) < p for p in (0.4, 0.5, 0.7)], places, size)


def last_lgamma(top: float) -> float:
    """Return where lgamma is ``top``, which is large: x (ln x - 1) is near enough."""
    last = top / float(np.log(top))
    for _ in range(20):
        last = top / (float(np.log(last)) - 1.0)
    return last


def _near_gammas(rng: Rng, count: int, top: float) -> HostArray:
    """Near the positive zeros of lgamma and digamma, near and between the poles, of all sizes.

    Some lie near where lgamma overflows: where x (ln x - 1) is the greatest number.
    """
    edge = last_lgamma(top) * (1.0 + spread(rng, count, -12, -3))
    zeros = rng.choice([1.0, 2.0, 1.4616321449683622], count) + spread(rng, count, -12, -0.5)
    poles = rng.integers(-30, 1, count) + spread(rng, count, -6, -0.3)
    size = np.abs(spread(rng, count, -0.9 * np.log10(top), 0.98 * np.log10(top)))
    kind = rng.random(count)
    middle = rng.uniform(-25, 25, count)
    chosen = [kind < 0.3, kind < 0.5, kind < 0.7, kind < 0.8]
    return np.select(chosen, [zeros, poles, middle, edge], size)


def _near_one(rng: Rng, count: int, top: float) -> HostArray:
    """Of all sizes, and near 1."""
    size = np.abs(spread(rng, count, -0.95 * np.log10(top), 0.95 * np.log10(top)))
    return np.where(rng.random(count) < 0.5, 1.0 + spread(rng, count, -8, -0.5), size)


def _near_zero(rng: Rng, count: int, top: float) -> HostArray:
    """From -1 to 1, near 0, and some up."""
    size = spread(rng, count, -0.95 * np.log10(top), 0.95 * np.log10(top))
    return np.where(rng.random(count) < 0.6, rng.uniform(-1, 1, count), size)


def _inside_unit(rng: Rng, count: int, _top: float) -> HostArray:
    sign = rng.choice([-1.0, 1.0], count)
    edge = sign * (1.0 - np.abs(spread(rng, count, -8, -0.5)))
    return np.where(rng.random(count) < 0.4, edge, sign * 10.0 ** rng.uniform(-6, 0, count))


def _above_one(rng: Rng, count: int, top: float) -> HostArray:
    return 1.0 + np.abs(spread(rng, count, -7, 0.9 * np.log10(top)))


def _halves(rng: Rng, count: int, _top: float) -> HostArray:
    near = rng.integers(-300, 301, count) / 2
    return near + np.where(rng.random(count) < 0.6, 0.0, spread(rng, count, -6, 0))


def _cubes(rng: Rng, count: int) -> HostArray:
    """Of whole numbers, which have exact roots."""
    return rng.integers(-99, 100, count).astype(np.float64) ** 3


_Places = Callable[[Rng, int, float], HostArray]
_UNARY: dict[str, _Places] = {
    **dict.fromkeys(("sin", "cos", "tan"), _near_poles),
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh"), _to_overflow),
    **dict.fromkeys(("log", "log2", "log10"), _near_one),
    **dict.fromkeys(("log1p", "asinh", "atan", "reciprocal", "square", "abs"), _near_zero),
    "cbrt": lambda rng, n, top: np.where(
        rng.random(n) < 0.2, _cubes(rng, n), _near_zero(rng, n, top)
    ),
    **dict.fromkeys(("asin", "acos", "atanh"), _inside_unit),
    "acosh": _above_one,
    "sqrt": lambda rng, n, top: np.abs(_near_zero(rng, n, top)),
    "tanh": lambda rng, n, _top: spread(rng, n, -9, 1.5),
    "exp2": lambda rng, n, top: _to_overflow(rng, n, top) / np.log(2.0),
    **dict.fromkeys(("erf", "erfc"), _to_underflow),
    **dict.fromkeys(("sigmoid", "silu", "softplus"), _to_either_end),
    "gelu": lambda rng, n, top: -1.5 * _to_underflow(rng, n, top),
    **dict.fromkeys(("lgamma", "digamma"), _near_gammas),
    **dict.fromkeys(("ceil", "floor", "round", "trunc", "cast"), _halves),
}


def _power(rng: Rng, count: int, top: float) -> tuple[HostArray, HostArray]:
    """Bases of all sizes and near 1; exponents up to overflow and underflow; small whole ones."""
    base = _near_one(rng, count, top)
    limit = np.log(top) / np.maximum(np.abs(np.log(base)), 1e-300)
    exponent = np.clip(limit, 0, 1e6) * rng.uniform(-1.1, 1.02, count)
    whole = rng.random(count) < 0.3
    negative = np.where(rng.random(count) < 0.5, -base, base)
    x = np.where(whole, negative, base)
    y = np.where(whole, rng.integers(-9, 10, count), exponent)
    # Negative bases with large exponents, the largest odd ones of each format among them.
    large = rng.random(count) < 0.2
    bits = rng.integers(4, min(54, int(np.log2(top))), count)
    odd = 2.0**bits - rng.choice([1, 1, 2, 3], count)
    close = -(1.0 + spread(rng, count, -8, -7) * (rng.random(count) < 0.5))
    return np.where(large, close, x), np.where(large, odd * rng.choice([-1.0, 1.0], count), y)


def _cancelling(rng: Rng, count: int, _top: float) -> tuple[HostArray, HostArray]:
    """Pairs of which exp(a) + exp(b) is near 1, or whose difference is small or of any size."""
    a = -np.abs(spread(rng, count, -4, 0.3))
    near = np.log(-np.expm1(a)) * (1.0 + spread(rng, count, -6, -1))
    apart = a + spread(rng, count, -4, 2)
    return a, np.where(rng.random(count) < 0.4, near, apart)


def _ratios(rng: Rng, count: int, top: float) -> tuple[HostArray, HostArray]:
    """Of all sizes, many of nearly the same."""
    half = 0.45 * np.log10(top)
    a = spread(rng, count, -half, half)
    far = spread(
        rng, count, -min(9, half), min(9, half)
    )  # one square is below the other's last bit
    return a, a * np.where(rng.random(count) < 0.7, spread(rng, count, -3, 3), far)


def _result_exponents(rng: Rng, count: int, top: float) -> HostArray:
    """Powers of two of results that are the largest, beyond them, subnormal or just above."""
    end = float(np.log2(top))
    large = end + rng.uniform(-1.5, 0.3, count)
    small = 4.0 - end - rng.uniform(0.0, 0.2 * end, count)
    return np.where(rng.random(count) < 0.5, large, small)


def _to_ends(
    other: Callable[[HostArray, HostArray], HostArray],
) -> Callable[[Rng, int, float], tuple[HostArray, HostArray]]:
    """As `_ratios`, but for a quarter whose results are at either end of the format.

    ``other`` gives the exponent of the second operand from those of the result and the first.
    """

    def places(rng: Rng, count: int, top: float) -> tuple[HostArray, HostArray]:
        a, b = _ratios(rng, count, top)
        result, signs = _result_exponents(rng, count, top), rng.choice([-1.0, 1.0], (2, count))
        first = result * rng.uniform(0.3, 0.7, count)
        is_end = rng.random(count) < 0.25
        ends = signs[0] * 2.0**first, signs[1] * 2.0 ** other(result, first)
        return np.where(is_end, ends[0], a), np.where(is_end, ends[1], b)

    return places


def _near_ends(rng: Rng, count: int, top: float) -> tuple[HostArray, HostArray]:
    """As `_ratios`, but for a quarter of nearly the same size at either end of the format."""
    a, b = _ratios(rng, count, top)
    exponents = _result_exponents(rng, count, top) - rng.uniform(0.2, 1.5, (2, count))
    ends = rng.choice([-1.0, 1.0], (2, count)) * 2.0**exponents
    is_end = rng.random(count) < 0.25
    return np.where(is_end, ends[0], a), np.where(is_end, ends[1], b)


def _near_whole(rng: Rng, count: int, _top: float) -> tuple[HostArray, HostArray]:
    """Dividends beside whole multiples of their divisors."""
    divisor = spread(rng, count, -2, 2)
    quotient = np.rint(spread(rng, count, 0, 3))
    return quotient * divisor * (1.0 + spread(rng, count, -12, -3)), divisor


_BINARY: dict[str, Callable[[Rng, int, float], tuple[HostArray, HostArray]]] = {
    "pow": _power,
    "logaddexp": _cancelling,
    "multiply": _to_ends(lambda result, first: result - first),
    **dict.fromkeys(("divide", "atan2"), _to_ends(lambda result, first: first - result)),
    "hypot": _near_ends,
    **dict.fromkeys(("floor_divide", "remainder"), _near_whole),
}
_NEIGHBOURS = (
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "nextafter"),
    *("maximum", "minimum", "subtract"),
)


def _neighbours(name: str, count: int, rng: Rng) -> tuple[HostArray, HostArray]:
    """Equal and adjacent numbers."""
    a = wild_values(name, count, rng)
    word = np.dtype(f"u{a.dtype.itemsize}")
    moved = a.view(word) + rng.integers(0, 3, count).astype(word) - word.type(1)
    return a, moved.view(a.dtype)


def hard_values(op: str, inputs: tuple[str, ...], count: int, rng: Rng) -> list[HostArray]:
    """Return operands, each (count,), where an elementwise op is hard; the domain of the op.

    Ops without such places get `wild_values`; complex operands are near the unit circle, the axes
    and the branch points.
    """
    name = inputs[0]
    with np.errstate(all="ignore"):
        if name in FORMATS:
            top = 2.0 ** (FORMATS[name][2] + 1 - 2.0**-20)
            dtype = host_dtype(name)
            if op in _UNARY:
                return [_UNARY[op](rng, count, top).astype(dtype)]
            if op in _BINARY:
                return [v.astype(dtype) for v in _BINARY[op](rng, count, top)]
        if op in _NEIGHBOURS and name != "bool" and name not in PARTS:
            return list(_neighbours(name, count, rng))
        if op.endswith("_shift"):
            bits = 8 * host_dtype(name).itemsize
            counts = rng.integers(0 if name.startswith("u") else -2, bits + 3, count)
            return [any_bits(name, count, rng), counts.astype(host_dtype(name))]
        if name in PARTS:
            return _complex_values(op, inputs, count, rng)
        return [wild_values(n, count, rng) for n in inputs]


#: Complex functions that turn with one part of their operand: the real one of the first three.
_TURNING = ("sin", "cos", "tan", "exp", "expm1", "sinh", "cosh", "tanh")


def _turned(op: str, name: str, count: int, rng: Rng) -> HostArray:
    """As `_plane`; of three, one has an angle of any size, another is as large as can be."""
    plane = _plane(name, count, rng)
    top = 0.9 * np.log10(np.finfo(host_dtype(name)).max)
    angle = rng.choice([-1.0, 1.0], count) * 10.0 ** evenly(rng, count, 0, top)
    size = rng.uniform(-3, 3, count)
    limit = np.log(float(np.finfo(host_dtype(name)).max))
    kind = np.arange(count) % 3
    size = np.where(kind == 1, evenly(rng, count, -1.02 * limit, 1.02 * limit), size)
    angle = np.where(kind == 1, rng.uniform(-4, 4, count), angle)
    far = angle + 1j * size if op in _TURNING[:3] else size + 1j * angle
    return np.where(kind < 2, far.astype(host_dtype(name)), plane)


#: Complex functions that take their operands apart, so that nothing overflows between.
_SCALED = ("multiply", "divide", "square", "reciprocal", "abs", "sqrt", "sign")
#: Those of them whose results are in range for every operand.
_ALONE = ("abs", "sqrt", "sign")
#: Those with formulas of their own for operands that are far out, where both parts matter; 2**90 is
#: as far as the reference has bits for the smaller part of the result.
_FAR = (
    *("log", "log1p", "log2", "log10"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh"),
)
_FARTHEST = 90.0


def _complex_values(op: str, inputs: tuple[str, ...], count: int, rng: Rng) -> list[HostArray]:
    if op in _TURNING:
        return [_turned(op, inputs[0], count, rng)]
    if op in _SCALED or op in _FAR:
        most = _FARTHEST if op in _FAR else np.inf
        share = 0.98 if op in _ALONE else 0.49
        operands = [_scaled(name, count, rng, share, most) for name in inputs]
        return _opposed(op, operands, rng) if len(operands) == 2 else operands
    return [_plane(name, count, rng) for name in inputs]


def _scaled(name: str, count: int, rng: Rng, share: float, most: float) -> HostArray:
    """As `_plane`; every third is of any size up to 2**most, and a share of all exponents."""
    plane = _plane(name, count, rng)
    if name not in PARTS:
        return plane
    top = min(share * np.log2(np.finfo(host_dtype(name)).max), most)
    scale = 2.0 ** np.rint(evenly(rng, count, -top, top))
    return np.where(np.arange(count) % 3 == 0, (plane * scale).astype(plane.dtype), plane)


def _opposed(op: str, operands: list[HostArray], rng: Rng) -> list[HostArray]:
    """Every other third is a subnormal and a huge number whose result is neither; or both alike."""
    a, b = operands
    if a.dtype != b.dtype:
        return operands
    info = np.finfo(a.dtype)
    size = np.rint(evenly(rng, len(a), -info.minexp - 0.4 * info.nmant, -info.minexp - 4))
    size *= rng.choice([-1.0, 1.0], len(a))
    chosen = np.arange(len(a)) % 3 == 1
    other = -size if op == "multiply" else size
    return [np.where(chosen, _ldexp(x, s), x) for x, s in ((a, size), (b, other))]


def _ldexp(x: HostArray, e: HostArray) -> HostArray:
    """Return x * 2**e, rounded once."""
    result = np.empty_like(x)
    result.real, result.imag = np.ldexp(x.real, e.astype(int)), np.ldexp(x.imag, e.astype(int))
    return result


def _plane(name: str, count: int, rng: Rng) -> HostArray:
    if name not in PARTS:
        return wild_values(name, count, rng)
    angle, radius = rng.uniform(0, 2 * np.pi, count), 1 + spread(rng, count, -6, -0.5)
    kinds = [
        radius * np.exp(1j * angle),
        spread(rng, count, -4, 1) + 1j * spread(rng, count, -4, 1),
        1 + spread(rng, count, -6, -1) + 1j * spread(rng, count, -6, 0),
        spread(rng, count, -6, 0) + 1j * (1 + spread(rng, count, -6, -1)),
    ]
    # in turns, as a quick run has few of them: each kind, and of each kind some on either axis
    turn = rng.permutation(count)
    turned = np.choose(turn % len(kinds), kinds)
    axis = turn // len(kinds) % 8  # one part is zero for every fourth
    turned.real[axis == 0], turned.imag[axis == 1] = 0.0, 0.0
    return np.asarray((turned * rng.choice([1, -1], count)).astype(host_dtype(name)))
