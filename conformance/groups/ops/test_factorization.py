"""Factorizations of small matrices, in every layout, against the reference, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import factor_operands
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.near import of_rows
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure

#: (m, n) around the lanes of sums, and more columns than rows; square ones take the smaller.
_SIZES = (
    *((1, 1), (2, 2), (3, 1), (5, 5), (17, 4), (33, 3), (4, 6), (16, 7), (1, 3), (9, 9)),
    (37, 1),
)
_LARGE = ((70, 5), (19, 19))
#: Beyond the rows and columns that groups, blocks and narrow counters of implementations hold.
_LONG = {
    "cholesky": ((36, 36),),
    "lu": ((36, 36), (300, 2), (18, 18)),
    "triangular_solve": ((36, 3), (3, 70)),
    "householder": ((520, 2), (40, 34)),
    "jacobi": ((300, 2), (26, 25)),
    "eigh": ((18, 18), (39, 39)),
    "schur": ((11, 11),),
}

#: Many and few matrices in a stack, and those of no elements.
_STACKS = (
    *((3, 2, 2), (37, 2, 2), (0, 3, 3), (2, 0, 0), (1, 4, 0)),
    *((5, 2, 1), (7, 1, 2), (258, 1, 1)),
)
#: Where infinities go is not stated, as `px.linalg` refuses them; nor the sign of zero in `schur`.
_OPEN_FOR = ("householder", "jacobi", "eigh", "schur")
#: Matrices in a stack: more than 16 bits count.
_MANY = 65_541
_PLACES = ((0, 0), (2, 1), (4, 0), (0, 4), (3, 3))


@pytest.mark.parametrize("overload", overloads(Structure.FACTORIZATION), ids=str)
def test_factorization(case: Case, overload: Overload) -> None:
    """Sizes around lanes, every layout, stacks, no elements, special values."""
    check = Check(case, overload)
    rng = case.rng()
    params = _params(overload)
    chosen = [*rng.permutation(_SIZES)[:4].tolist(), _LARGE[0]] if case.quick else _SIZES + _LARGE
    for number, (m, n) in enumerate(chosen):
        args = factor_operands(overload, rng, (1, m, n))
        name = NAMES[number % len(NAMES)]
        check.run(f"{m}, {n}", args, params, (name, "transposed"), NAMES[(number + 1) % len(NAMES)])
    for name in NAMES:
        args = factor_operands(overload, rng, (2, 5, 3))
        check.run(f"{name} (2, 5, 3)", args, params, (name,), name)
    for shape in _STACKS:
        check.run(f"stack {shape}", factor_operands(overload, rng, shape), params, ("offset",))
    if not case.quick:
        check.run("many", factor_operands(overload, rng, (300, 2, 2)), params)
        few = factor_operands(overload, rng, (12, 2, 2))
        places = rng.integers(0, 12, _MANY)
        want = of_rows(check.expected(few, params), places)
        check.run(f"{_MANY} in a stack", tuple(x[places] for x in few), params, want=want)
    if params:
        for shape in ((2, 6, 4), (1, 3, 131)):
            check.run(f"unit {shape}", factor_operands(overload, rng, shape), (1,))
    else:
        (x,) = factor_operands(overload, rng, (1, 4, 3))
        check.run_broadcast(x, (3, *x.shape[1:]), params)
    case.finish()


@pytest.mark.parametrize("overload", overloads(Structure.FACTORIZATION), ids=str)
def test_long_factorization(case: Case, overload: Overload) -> None:
    """More rows and columns than one block has; if quick, few of those that take long."""
    check = Check(case, overload)
    rng = case.rng()
    most = 400 if overload.op in ("jacobi", "eigh") else 1400
    if overload.inputs[0].startswith("complex"):
        most = min(most, 600)
    chosen = [(m, n) for m, n in _LONG[overload.op] if not case.quick or m * n <= most]
    if not chosen:
        pytest.skip("all that is long takes long")
    for m, n in chosen:
        check.run(f"{m}, {n}", factor_operands(overload, rng, (1, m, n)), _params(overload))
    case.finish()


@pytest.mark.parametrize("overload", overloads(Structure.FACTORIZATION), ids=str)
def test_special_factorization(case: Case, overload: Overload) -> None:
    """Zeros, equal pivots, sizes far apart, overflow, NaN and infinities, what is not read."""
    check = Check(case, overload)
    rng = case.rng()
    params = _params(overload)
    zeros = tuple(np.zeros_like(x) for x in factor_operands(overload, rng, (1, 4, 4)))
    check.run("zeros", zeros, params)
    for shape in ((1, 4, 4), (1, 2, 2), (1, 6, 3), (1, 10, 10)):  # the rest of the last: subnormal
        ones = tuple(np.ones_like(x) for x in factor_operands(overload, rng, shape))
        check.run(f"ones {shape}", ones, params)
    check.run("minus one", tuple(-np.ones_like(x) for x in zeros), params)
    if overload.op == "householder" and zeros[0].dtype.kind == "c":
        for shape in ((1, 3, 2), (1, 4, 1)):  # nothing is to be done but to make the number real
            heads = np.zeros(shape, zeros[0].dtype)
            heads[0, 0] = 1 + 2j
            check.run(f"complex heads of zeros {shape}", (heads,), params)
    _ways_around(check, rng)
    _parts_alone(check, rng, params)
    graded = tuple(_graded(x) for x in factor_operands(overload, rng, (1, 6, 6)))
    check.run("graded", graded, params)
    if overload.op in _TURNED:
        for column in (0, 2):
            x = factor_operands(overload, rng, (1, 5, 5))[-1].copy()
            x[..., column] = 0
            check.run(f"column {column} of zeros", (x,), params)
        for n in (3, 4, 7):
            turn = np.roll(np.eye(n), 1, axis=0)[None].astype(zeros[0].dtype)
            check.run(f"turn of {n}", (turn,), params)
    if overload.op == "schur":
        for label, matrix in _SHIFTS.items():
            x = np.array([matrix])
            x = x if zeros[0].dtype.kind == "c" else x.real
            check.run(label, (x.astype(zeros[0].dtype),))
    _sizes(check, rng, params)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        if np.isinf(value) and overload.op in _OPEN_FOR:
            continue
        if value == 0 and overload.op == "schur":
            continue
        for at in _PLACES if overload.op not in _OPEN_FOR else rng.permutation(_PLACES)[:2]:
            args = factor_operands(overload, rng, (1, 5, 5))
            args[-1][0][tuple(at)] = value
            check.run(f"{value} at {at}", args, params)
    _not_read(check, rng)
    _one_of_a_stack(check, rng, params)
    case.finish()


def _parts_alone(check: Check, rng: np.random.Generator, params: tuple[int, ...]) -> None:
    """Matrices that need less work, but not none."""
    for label, part in (("upper", np.triu), ("lower", np.tril), ("diagonal", _diagonal)):
        args = factor_operands(check.overload, rng, (1, 5, 5))
        check.run(f"{label} part alone", (*args[:-1], part(args[-1])), params)


def _one_of_a_stack(check: Check, rng: np.random.Generator, params: tuple[int, ...]) -> None:
    """What cannot be factored, or is NaN, is one matrix of several: the others do not see it."""
    for value in (np.nan,) if check.overload.op == "schur" else (-1.0, 0.0, np.nan):
        args = factor_operands(check.overload, rng, (5, 4, 4))
        args[0][1] = value if np.isnan(value) else value * np.eye(4)
        check.run(f"{value} in a stack", args, params)


#: The last two rows decide the first shift: both eigenvalues are as near, their root is imaginary.
_SHIFTS = {
    "shifts as near": [[4, 1, 2], [1, 1, 3], [0, 2, 1]],
    "an imaginary root": [[4, 1, 1j], [1, 0, 1], [0, 3j, 0]],
}

#: A permutation that moves each row by one has all eigenvalues on the unit circle: iterations whose
#: shift is 0 go round for ever, and all that is left of a column is its last element.
_TURNED = ("schur", "lu", "householder", "jacobi")


def _ways_around(check: Check, rng: np.random.Generator) -> None:
    """Where other libraries choose another pivot, or leave out products with zeros."""
    if check.overload.op == "lu":
        signs = rng.choice([-1.0, 1.0], (1, 70, 3)).astype(check.name)
        check.run("equal pivots in many rows", (signs,))
    if check.overload.op == "triangular_solve":
        lower, right = factor_operands(check.overload, rng, (1, 5, 5))
        lower[0, 2, 1], lower[0, 4, 0] = np.nan, np.inf
        for unit in (0, 1):
            check.run("zeros beside NaN and infinity", (lower, np.zeros_like(right)), (unit,))


def _params(overload: Overload) -> tuple[int, ...]:
    return (0,) if overload.op == "triangular_solve" else ()


def _sizes(check: Check, rng: np.random.Generator, params: tuple[int, ...]) -> None:
    """All elements, or one column, so large or small that squares leave the dtype."""
    info = np.finfo(check.name)
    exponents = [int(part * info.maxexp) for part in (-0.6, -0.35, 0.35, 0.6)]
    if check.overload.op != "schur":
        exponents.append(info.minexp - info.nmant // 2)  # subnormal
    for exponent in exponents:
        for shape in ((1, 5, 5), (1, 5, 2)):
            args = factor_operands(check.overload, rng, shape)
            scaled = tuple((x * 2.0**exponent).astype(x.dtype) for x in args)
            check.run(f"times 2^{exponent}, {shape}", scaled, params)
        if check.overload.op not in ("cholesky", "triangular_solve"):
            args[-1][..., 0] *= args[-1].dtype.type(2.0**exponent)
            check.run(f"a column times 2^{exponent}", args, params)
        if check.overload.op == "schur":
            large = 2.0 ** abs(exponent)
            x = np.array([[[1 / large, 1 / large], [large, 3 / large]]]).astype(args[0].dtype)
            check.run(f"2^{exponent} beside its inverse", (x,))


def _not_read(check: Check, rng: np.random.Generator) -> None:
    """Elements above the diagonal, a diagonal that stands for ones, and its imaginary part."""
    op = check.overload.op
    if op not in ("cholesky", "triangular_solve", "eigh"):
        return
    sizes = {"eigh": (5,), "cholesky": (21,)}.get(op, (5,)) if check.case.quick else (5, 21)
    for n in sizes:
        _not_read_of(check, rng, n)


def _not_read_of(check: Check, rng: np.random.Generator, n: int) -> None:
    op = check.overload.op
    args = factor_operands(check.overload, rng, (2, n, n))
    above = np.triu(np.ones((n, n), bool), 1)
    diagonal = np.eye(n, dtype=bool)
    args[0][:, above] = 3.0
    if op != "triangular_solve":
        check.run(f"others above the diagonal, {n}", args, ())
    args[0][:, above] = np.nan
    if op == "triangular_solve":
        check.run("NaN above the diagonal", args, (0,))
        args[0][:, diagonal] = 0.125
        check.run("a small diagonal for ones", args, (1,))
        for value in (np.inf, 0.0, np.nan):
            args[0][:, diagonal] = value
            check.run(f"a diagonal of {value} for ones", args, (1,))
        return
    if args[0].dtype.kind == "c":
        args[0].imag[:, diagonal] = rng.integers(-9, 9, (2, n)) * 8
    check.run("NaN above the diagonal, which has imaginary parts", args, ())


def _diagonal(x: HostArray) -> HostArray:
    """The diagonal of matrices, zeros beside it."""
    return np.where(np.eye(*x.shape[-2:], dtype=np.bool_), x, 0).astype(x.dtype)


def _graded(x: HostArray) -> HostArray:
    """A matrix whose rows and columns become smaller by powers of two."""
    scale = 2.0 ** (-5 * np.arange(x.shape[-1]))
    graded: HostArray = (x * scale * scale[:, None]).astype(x.dtype)
    return graded
