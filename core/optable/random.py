"""Rows of the ops that make random numbers; ``docs/ops.md`` says which element gets which words."""

from __future__ import annotations

from .dtypes import DTYPES, FLOATING, INTEGER
from .expressions import stored
from .row import Bound, Op, Signature, Structure

_REAL = {**dict.fromkeys(FLOATING, 1), "float64": 2}
#: Words of 32 bits that an element takes, by op and dtype; a block has four.
WORDS = {
    "random_bits": {"uint32": 1, "uint64": 2},
    "random_bernoulli": {"bool": 2},
    "random_integers": dict.fromkeys(INTEGER, 2),
    "random_uniform": _REAL,
    "random_normal": _REAL,
    "random_exponential": _REAL,
}
#: Ops of which an element may need more than one try, and the blocks that it has for them.
TRIED = ("random_gamma", "random_poisson", "random_binomial")
TRIES = 32
#: Words of a block.
BLOCK_WORDS = 4

#: By op, the C text of a value from the 32 or 64 bits of an element; p and q are the scalars.
_VALUES = {
    "random_bits": "({bits} & p)",
    "random_bernoulli": "(u8)({bits} < p)",
    "random_integers": "({word})(p + phx_below({bits}, q))",
    "random_uniform": "phx_fma{f}(phx_uniform_{suffix}({bits}), q, p)",
    "random_exponential": "(phx_minus_log_{unit}(phx_unit_{unit}({bits})) * p)",
}


def unit_of(dtype: str) -> str:
    """Return the C type that numbers of a floating dtype are made in; empty for others."""
    return DTYPES[dtype].compute if DTYPES[dtype].kind == "f" else ""


def values_of_block(op: str, gives: str) -> tuple[list[str], list[str]]:
    """Return the elements of a block as C texts, after statements that they need.

    ``w`` are the four words of the block; p and q are the scalars, in `unit_of` for floats, in an
    unsigned word for others.
    """
    wide = ("phx_join(w.a, w.b)", "phx_join(w.c, w.d)")
    words = wide if WORDS[op][gives] == 2 else ("w.a", "w.b", "w.c", "w.d")
    unit = unit_of(gives)
    f = "" if unit == "f64" else "f"
    if op == "random_normal":
        pairs = [words[i : i + 2] for i in range(0, len(words), 2)]
        lines = [
            f"const phx_pair_{unit} g{i} = phx_normal_{unit}({a}, {b});"
            for i, (a, b) in enumerate(pairs)
        ]
        values = [f"phx_fma{f}(g{i}.{part}, q, p)" for i in range(len(pairs)) for part in "xy"]
    else:
        lines, names = [], {"f": f, "unit": unit, "suffix": DTYPES[gives].suffix}
        names["word"] = f"u{8 * DTYPES[gives].size}"
        values = [_VALUES[op].format(bits=bits, **names) for bits in words]
    return lines, [stored(gives, value) for value in values] if unit else values


_EXACT = Bound({}, "exact: no rounding takes place")
_ONE_FMA = Bound(
    {"float16": 0.501, "bfloat16": 0.501, "float32": 0.5, "float64": 0.5},
    "one fma of an exact number in [0, 1), in float32 for float16 and bfloat16",
)


def _own(float32: float, float64: float) -> Bound:
    """The errors of numbers that are neither scaled nor shifted, as the tests measured them."""
    ulp = {"float16": 0.501, "bfloat16": 0.501, "float32": float32, "float64": float64}
    return Bound(
        ulp,
        "against the formula in wider arithmetic for location 0 and scale 1; the largest of 10^8 "
        "numbers of float32 and 10^7 of float64 was 3.50 and 3.65 (normal), 0.84 and 1.44 "
        "(exponential), 2026-11",
    )


def _random(
    name: str, signatures: tuple[Signature, ...], summary: str, bound: Bound, order: str = ""
) -> Op:
    return Op(
        name,
        Structure.RANDOM,
        signatures,
        f"{summary}; params: key, stream, position",
        bound,
        order=order,
        in_place=False,
    )


def _pair(dtypes: tuple[str, ...]) -> tuple[Signature, ...]:
    return tuple(Signature((d, d), (d,)) for d in dtypes)


_BY_TRIES = "for each element, from parameters (n,) or one for all"

ROWS: tuple[Op, ...] = (
    _random(
        "random_bits",
        tuple(Signature((d,), (d,)) for d in ("uint32", "uint64")),
        "words of Philox 4x32-10, of each the bits that the scalar mask has",
        _EXACT,
    ),
    _random(
        "random_bernoulli",
        (Signature(("uint64",), ("bool",)),),
        "whether 64 random bits are below the scalar threshold",
        _EXACT,
    ),
    _random(
        "random_integers",
        _pair(INTEGER),
        "low + floor(span * r / 2^64) for 64 random bits r, from the scalars low and span, an "
        "unsigned number of which 0 stands for 2^64",
        _EXACT,
    ),
    _random(
        "random_uniform",
        _pair(FLOATING),
        "low + span * u for u in [0, 1), from the scalars low and span",
        _ONE_FMA,
        order="fma(u, span, low)",
    ),
    _random(
        "random_normal",
        _pair(FLOATING),
        "location + scale * z for standard normal z, from the scalars location and scale",
        _own(4.0, 4.0),
        order="fma(z, scale, location); z by the formulas of core/scalar/random.h",
    ),
    _random(
        "random_exponential",
        tuple(Signature((d,), (d,)) for d in FLOATING),
        "-scale * ln u for u in (0, 1], from the scalar scale",
        _own(1.0, 2.0),
        order="-ln u by the formulas of core/scalar/random.h, times scale",
    ),
    _random(
        "random_gamma",
        tuple(Signature((d,), (d,)) for d in FLOATING),
        f"gamma numbers of a shape with the scale 1, {_BY_TRIES}",
        Bound({}, "grows near 0: Marsaglia & Tsang 2000, whose cube is of a sum that may cancel"),
        order="by the formulas of core/scalar/random_gamma.h",
    ),
    _random(
        "random_poisson",
        (Signature(("float64",), ("int64",)),),
        f"numbers of Poisson with a mean, {_BY_TRIES}; -1 for a mean that is not in [0, 2^53]",
        _EXACT,
    ),
    _random(
        "random_binomial",
        (Signature(("float64", "float64"), ("int64",)),),
        f"how many of a count succeed with a probability, {_BY_TRIES}; -1 for a count that is not "
        "in [0, 2^53] or a probability not in [0, 1]",
        _EXACT,
    ),
)
