"""The operands of the elementwise cases: one set for each overload, which every layout indexes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from phalanx.conformance.overloads import Overload
from phalanx.conformance.reference import annex_g, complex_numbers, real
from phalanx.conformance.reference.elementwise import Expected, expected
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.hard import (
    beside_middles,
    beside_overflow,
    beside_underflow,
    hard_quotients,
    hard_roots,
    hardest_values,
    near_quarters,
    whole_results,
)
from phalanx.conformance.reference.hard_places import hard_values
from phalanx.conformance.reference.values import (
    HostArray,
    any_bits,
    combined,
    conversion_corners,
    every_interval,
    every_value,
    few_special_values,
    ordinary_values,
    pairs,
    special_values,
    wild_values,
)
from phalanx.conformance.subnormals import flushed
from phalanx.optable import INTEGER, kind_of

#: Extents of the table of all combinations of a few values, one for each operand; the broadcast
#: layouts are cut from it.
_TABLE = {1: (21,), 2: (7, 5), 3: (3, 5, 7)}
#: Where the scalar code of real functions goes from one formula to another.
_LIMITS = np.array([1e-300, 1e-270, 0.125, 0.25, 0.5625, 28.0, 40.0, 2.0**53])
#: Ops that round to another format or to whole numbers: they meet all corners in quick runs, too.
_ROUNDING = ("cast", "ceil", "floor", "round", "trunc")

#: Ops whose results, or those of their parts, are near 0 at quarters of a turn.
_TURNS = ("sin", "cos", "tan")

#: Those whose complex results may be finite where exp of the real part is not.
_POWERS_OF_E = ("exp", "expm1", "sinh", "cosh")

#: Numbers that programs have beside arrays, by kind; implementations have shorter ways for some.
_USUAL = {
    "f": (0.0, -0.0, 0.5, -0.5, 2.0, 3.0, 7.0, 0.1),
    "i": (1, -1, 2, 3, 7, 8),
    "u": (1, 2, 3, 7, 8),
    "c": (0, complex(-0.0, -0.0), 1, -1, 0.5, 2, 2 + 3j, 3, 16, 1j, math.inf, complex(0, math.nan)),
    "b": (False, True),
}
#: The same of ops with three operands, of which two may be numbers.
_FEW = {
    "f": (math.inf, math.nan, 0.0, -0.0, -0.5, 1.0),
    "i": (0, 1, -1, 100),
    "u": (0, 1, 200),
    "c": (0, complex(-0.0, 0.0), 2, 2 + 3j),
    "b": (False, True),
}
#: Beside both: whole numbers that float64 does not have.
_WHOLE = {"int64": (2**53 + 1, -(2**62) - 1), "uint64": (2**53 + 1, 2**63 + 1025)}
#: Ops whose divisors may be numbers.
_DIVIDING = ("floor_divide", "remainder")
#: So many values beside each of them.
_BESIDE = 24
#: So many numbers, or pairs of them, are enough for quick runs.
_FEW_QUICK = 12


@dataclass(frozen=True, slots=True)
class Data:
    """Operands (n,) of one overload and what the op gives for them.

    Attributes:
        operands: one array for each input.
        expected: the results.
        table: places of all combinations of a few values of each operand, one axis for each.
        equal: places where all operands of one dtype are the same.
        corners: places of all combinations of special values of two operands, one axis for each;
            ``None`` where there are not two, or not all combinations.
        usual: which operands are numbers, such as programs have, and places (numbers, 24) with
            one value of each of these.
    """

    operands: tuple[HostArray, ...]
    expected: Expected
    table: HostArray
    equal: HostArray
    corners: HostArray | None = None
    usual: tuple[tuple[tuple[int, ...], HostArray], ...] = ()

    @property
    def size(self) -> int:
        """The number of elements n."""
        return self.operands[0].size


def data_of(overload: Overload, rng: np.random.Generator, quick: bool, flush: bool = False) -> Data:
    """Return the operands: special values combined, hard places, random bits, everyday values.

    With ``flush`` there are no subnormal ones.
    """
    sections = [_table(overload, rng), _equal(overload, rng), _corners(overload, quick)]
    count = _count(overload, quick)
    kinds = (ordinary_values,) if _is_costly(overload) else (any_bits, wild_values, ordinary_values)
    sections += [[kind(name, count, rng) for name in overload.inputs] for kind in kinds]
    sections.append(hard_values(overload.op, overload.inputs, 2 * count, rng))
    if overload.inputs[-1] in PARTS and not _is_costly(overload):
        sections.append(_subnormal_parts(overload, rng))
    if _is_costly(overload):
        sections += _costly(overload, rng, quick)
    if overload.inputs[0] in FORMATS and overload.op == "divide":
        sections.append(hard_quotients(overload.inputs[0], count, rng))
    if overload.inputs[0] in FORMATS and overload.op == "sqrt":
        sections.append([hard_roots(overload.inputs[0], 24 if quick else 200, rng)])
    if overload.op == "fma" and overload.inputs[0] == "float16":
        sections.append(beside_middles())
    if overload.op in _TURNS and overload.inputs[0] in FORMATS:
        sections.append([near_quarters(overload.inputs[0], count, rng)])
    if len(overload.inputs) == 1:
        sections += _alone(overload, rng, quick)
    usual = []
    for numbers in _NUMBERS.get(overload.op, _NUMBERS_OF[len(overload.inputs)]):
        first = sum(section[0].size for section in sections)
        sections.append(_usual(overload, numbers, rng, quick))
        places = first + np.arange(sections[-1][0].size).reshape(-1, _BESIDE)
        usual.append((numbers, places))
    operands = tuple(np.concatenate(column) for column in zip(*sections, strict=True))
    if flush:
        operands = tuple(flushed(x) for x in operands)
    shape = _TABLE[len(overload.inputs)]
    table = np.arange(sections[0][0].size).reshape(shape)
    equal = table.size + np.arange(sections[1][0].size)
    result = expected(overload.op, operands, overload.outputs[0])
    extents = _corner_extents(overload)
    corners = None
    if extents:
        first = table.size + equal.size
        corners = first + np.arange(sections[2][0].size).reshape(extents)
    return Data(operands, result, table, equal, corners, tuple(usual))


#: Which operands may be numbers, by how many there are, and of ops of their own kind.
_NUMBERS_OF: dict[int, tuple[tuple[int, ...], ...]] = {
    1: (),
    2: ((0,), (1,)),
    3: ((1,), (2,), (1, 2)),
}
_NUMBERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "copy": ((0,),),
    "fma": ((0,), (1,), (2,), (0, 1), (1, 2)),
}


def _usual(
    overload: Overload, numbers: tuple[int, ...], rng: np.random.Generator, quick: bool
) -> list[HostArray]:
    """Return operands of which some are numbers of programs beside special and other values."""
    few = _USUAL if len(overload.inputs) == 2 else _FEW
    names = overload.inputs
    divides = overload.op in _DIVIDING and names[0] in INTEGER and numbers == (1,)
    chosen = [_numbers(few, names[i]) for i in numbers]
    if divides:
        chosen = [np.concatenate([*chosen, _divisors(names[0], rng)])]
    if len(names) == 1:
        chosen = [np.concatenate([*chosen, few_special_values(names[0])])]
    if overload.op == "pow" and names[0] in PARTS:  # of others Annex G says nothing
        chosen = [values[np.isfinite(values)] for values in chosen]
    chosen = combined(chosen)
    if quick and chosen[0].size > _FEW_QUICK:
        some = rng.permutation(chosen[0].size)[:_FEW_QUICK]
        chosen = [values[some] for values in chosen]
    columns = dict(zip(numbers, chosen, strict=True))
    made = []
    for i, name in enumerate(names):
        if i in columns:
            made.append(np.repeat(columns[i], _BESIDE))
            continue
        beside = np.tile(_beside(overload, name, rng), chosen[0].size)
        if name == names[numbers[0]]:
            beside[::_BESIDE] = chosen[0]  # a number beside itself
        if divides:
            beside.reshape(-1, _BESIDE)[:, 1:13] = _multiples(columns[1])
        made.append(beside)
    return made


def _numbers(few: dict[str, tuple[Any, ...]], name: str) -> HostArray:
    """Return the numbers of a table that a dtype has, whole ones beyond float64, the smallest."""
    kind = host_dtype(name)
    found = [np.array(few[kind_of(name)]).astype(kind), np.array(_WHOLE.get(name, ()), kind)]
    if name in FORMATS:  # whose reciprocal may be infinite
        digits, least, _ = FORMATS[name]
        found.append(np.array([2.0 ** (least - digits + 1)]).astype(kind))
    return np.concatenate(found)


def _divisors(name: str, rng: np.random.Generator) -> HostArray:
    """Return divisors for which compilers multiply by a number of more or of fewer bits."""
    most = int(np.iinfo(host_dtype(name)).max)
    signs = (1,) if name.startswith("u") else (1, -1)
    sizes = (5, 6, 9, 10, 11, 25, 60, 100, 125, 641, 1000, 10_007, 65_537, most // 3, most - 1)
    sizes += tuple(rng.integers(3, min(most, 4000), 16).tolist())
    return np.array([s * d for d in sizes if d < most for s in signs], host_dtype(name))


def _multiples(divisors: HostArray) -> HostArray:
    """Return numbers (d, 12) at the ends of a dtype: multiples of each divisor and those below."""
    info, rows = np.iinfo(divisors.dtype), []
    for divisor in map(int, divisors):
        tops = [info.max // abs(divisor) * abs(divisor) - k * abs(divisor) for k in range(3)]
        ends = [-top if info.min and side else top for top in tops for side in (False, True)]
        rows.append([max(info.min, min(info.max, end - below)) for end in ends for below in (0, 1)])
    return np.array(rows, divisors.dtype)


def _beside(overload: Overload, name: str, rng: np.random.Generator) -> HostArray:
    """Return the values (24,) of an array beside a number, in any order."""
    special = few_special_values(name)
    if overload.op == "pow" and name in PARTS:
        special = special[np.isfinite(special)]
    special = rng.permutation(special)[: 2 * _BESIDE // 3]
    rest = _BESIDE - special.size
    kind = ordinary_values if _is_costly(overload) else any_bits
    drawn = [kind(name, rest // 2, rng), ordinary_values(name, rest - rest // 2, rng)]
    return rng.permutation(np.concatenate([special, *drawn]))


def _corner_extents(overload: Overload) -> tuple[int, ...]:
    """Return how many special values of each of two operands are combined; empty if not all are."""
    name = overload.inputs[-1]
    if len(overload.inputs) != 2 or name in PARTS:
        return ()
    return tuple(len(special_values(n)) for n in overload.inputs)


def _is_costly(overload: Overload) -> bool:
    """Tell whether mpmath gives the reference, of numbers of moderate size."""
    return overload.inputs[0] in PARTS and complex_numbers.is_analytic(overload.op)


def _alone(overload: Overload, rng: np.random.Generator, quick: bool) -> list[list[HostArray]]:
    """Return the operands that only functions of one have."""
    op, name = overload.op, overload.inputs[0]
    found = [hardest_values(op, name)]
    if name in FORMATS:
        ends = [beside_underflow(op, name), beside_overflow(op, name)]
        found += [*ends, whole_results(op, name)]
    if name in FORMATS and not real.is_rounded_once(op):
        found.append(every_interval(name, rng))
    if not quick and _is_small(name):
        found.append(every_value(name))
    return [[x] for x in found]


def _costly(overload: Overload, rng: np.random.Generator, quick: bool) -> list[list[HostArray]]:
    """Return where complex formulas overflow, or have another result than by their parts."""
    if overload.op in ("multiply", "divide"):
        mixed = _mixed(overload, rng, 300 if quick else 1200)
        return [mixed, _beside_infinity(overload), _large_squares(overload)]
    if overload.op in _POWERS_OF_E:
        return [_beside_overflow(overload)]
    return [_whole_powers(overload, rng)] if overload.op == "pow" else []


def _is_small(name: str) -> bool:
    return name != "bool" and host_dtype(name).itemsize <= 2


def _count(overload: Overload, quick: bool) -> int:
    if _is_costly(overload):
        return 8 if quick else 150
    return 80 if quick else 1500


def _table(overload: Overload, rng: np.random.Generator) -> list[HostArray]:
    extents = _TABLE[len(overload.inputs)]
    if len(overload.inputs) == 1:
        return [wild_values(overload.inputs[0], extents[0], rng)]
    columns = [
        ordinary_values(name, extent, rng)
        for name, extent in zip(overload.inputs, extents, strict=True)
    ]
    return combined(columns)


def _equal(overload: Overload, rng: np.random.Generator) -> list[HostArray]:
    """Return operands of which those of the last dtype are the same."""
    count = 16 if _is_costly(overload) else 33
    kind = ordinary_values if _is_costly(overload) else wild_values
    shared = kind(overload.inputs[-1], count, rng)
    if not _is_costly(overload):
        shared = np.concatenate([shared, special_values(overload.inputs[-1])])
    return [
        shared if name == overload.inputs[-1] else kind(name, shared.size, rng)
        for name in overload.inputs
    ]


def _subnormal_parts(overload: Overload, rng: np.random.Generator) -> list[HostArray]:
    """Return complex numbers with subnormal and largest parts, beside others and the same ones."""
    digits, least, greatest = FORMATS[PARTS[overload.inputs[-1]]]
    least_one, top = 2.0 ** (least - digits + 1), (2.0 - 2.0 ** (1 - digits)) * 2.0**greatest
    parts = np.array([0.0, least_one, -3 * least_one, 2.0**least, -1.0, top])
    values = pairs(parts, parts, overload.inputs[-1])
    return [
        values[rng.permutation(values.size)]
        if name in PARTS
        else ordinary_values(name, values.size, rng)
        for name in overload.inputs
    ]


def _mixed(overload: Overload, rng: np.random.Generator, count: int) -> list[HostArray]:
    """Return some of all pairs of special values: infinities with a NaN, and zeros."""
    columns = combined([special_values(name) for name in overload.inputs])
    chosen = rng.permutation(columns[0].size)[:count]
    return [column[chosen] for column in columns]


def _beside_infinity(overload: Overload) -> list[HostArray]:
    """Return numbers of an infinite part and one that is infinite in a narrower format alone."""
    dtype = host_dtype(overload.inputs[0])
    top = float(np.finfo(dtype).max) / 8
    parts = np.array([np.inf, -np.inf, top, -top])
    first = pairs(parts, parts, overload.inputs[0])
    seconds = (1 + 1j, -2 + 0.5j, complex(0, 3), complex(np.nan, 2), complex(-3, np.nan))
    second = np.array(seconds, dtype)
    one, other = combined([first[np.isinf(first)], second])
    return [np.concatenate([one, other]), np.concatenate([other, one])]


def _beside_overflow(overload: Overload) -> list[HostArray]:
    """Return complex numbers whose exp is near the end of the format, or a part of it beyond."""
    info = np.finfo(host_dtype(overload.inputs[0]))
    edge = float(np.log(np.longdouble(info.max)))
    beyond = np.array([-0.7, 0.1, 0.3, 0.69, 3.0, 20.0, 80.0])
    reals = np.concatenate([edge + beyond, -edge - beyond])
    angles = np.array([1e-3, -1e-9, 1e-20, 0.7, 1.5707, 3.1415, -3.0])
    return [pairs(reals, angles, overload.inputs[0])]


def _large_squares(overload: Overload) -> list[HostArray]:
    """Return numbers whose parts have squares near the ends of the format: alone and together."""
    info = np.finfo(host_dtype(overload.inputs[0]))
    parts = np.sqrt(float(info.max)) * np.array([0.5, 0.72, 0.9, 0.99, 1.1])
    small = np.sqrt(float(info.tiny)) * np.array([0.5, 0.72, 0.99, 1.1])
    values = np.concatenate([pairs(x, x, overload.inputs[0]) for x in (parts, small)])
    other = (0.75 + 0.5j) * values[::-1] if overload.op == "divide" else values[::-1] * 0 + (2 - 1j)
    return [other.astype(values.dtype), values]


def _whole_powers(overload: Overload, rng: np.random.Generator) -> list[HostArray]:
    """Return bases near 1 in size, and whole exponents: small ones are multiplied out."""
    exponents = np.array([1, 2, 3, 4, 5, 8, 12, 31, 63, 64, 65, -1, -2, -3, -12, -64], float)
    angle, size = rng.uniform(-3, 3, exponents.size), rng.uniform(0.9, 1.1, exponents.size)
    bases = size * np.exp(1j * angle)
    dtypes = [host_dtype(name) for name in overload.inputs]
    return [bases.astype(dtypes[0]), exponents.astype(dtypes[1])]


def _corners(overload: Overload, quick: bool) -> list[HostArray]:
    op, name = overload.op, overload.inputs[-1]
    if name in PARTS and annex_g.has_special_results(op):
        return [np.array(annex_g.special_points(op)).astype(host_dtype(name))]
    if len(overload.inputs) == 1:
        values = special_values(name)
        if name != "bool" and name not in PARTS:
            every = 1 if op in _ROUNDING or not quick else 8
            values = np.concatenate([values, conversion_corners(name)[::every]])
        if name in PARTS and op == "cast":
            parts = conversion_corners(PARTS[name])
            both = np.empty(parts.size, host_dtype(name))
            both.real, both.imag = parts, parts[::-1]
            values = np.concatenate([values, both])
        if name == "float64":
            values = np.concatenate([values, _LIMITS, -_LIMITS])
        return [values]
    if len(overload.inputs) == 3:
        return combined([few_special_values(n) for n in overload.inputs])
    columns = [special_values(n) for n in overload.inputs]
    if name in PARTS and _is_costly(overload):
        columns = [c[:: max(1, len(c) // 12)] for c in columns]
    return combined(columns)
