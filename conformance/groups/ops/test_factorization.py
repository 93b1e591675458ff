"""Factorizations of small matrices, in every layout, against the reference, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import factor_operands
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure

#: (m, n) around the lanes of sums, and more columns than rows; square ones take the smaller.
_SIZES = ((1, 1), (2, 2), (3, 1), (5, 5), (17, 4), (33, 3), (4, 6), (16, 7), (1, 3), (9, 9))
_LARGE = ((70, 5), (19, 19))


@pytest.mark.parametrize("overload", overloads(Structure.FACTORIZATION), ids=str)
def test_factorization(case: Case, overload: Overload) -> None:
    """Sizes around lanes, every layout, stacks, no elements, special values."""
    check = Check(case, overload)
    rng = case.rng()
    params = (0,) if overload.op == "triangular_solve" else ()
    chosen = [*rng.permutation(_SIZES)[:4].tolist(), _LARGE[0]] if case.quick else _SIZES + _LARGE
    for number, (m, n) in enumerate(chosen):
        args = factor_operands(overload, rng, (1, m, n))
        name = NAMES[number % len(NAMES)]
        check.run(f"{m}, {n}", args, params, (name, "transposed"), NAMES[(number + 1) % len(NAMES)])
    for name in NAMES:
        args = factor_operands(overload, rng, (2, 5, 3))
        check.run(f"{name} (2, 5, 3)", args, params, (name,), name)
    for shape in ((3, 2, 2), (0, 3, 3), (2, 0, 0), (1, 4, 0)):
        check.run(f"stack {shape}", factor_operands(overload, rng, shape), params, ("offset",))
    if not case.quick:
        check.run("many", factor_operands(overload, rng, (300, 2, 2)), params)
    if params:
        check.run("unit", factor_operands(overload, rng, (2, 6, 4)), (1,))
    specials(check, rng, params)
    case.finish()


def specials(check: Check, rng: np.random.Generator, params: tuple[int, ...]) -> None:
    """Zeros, equal pivots, a matrix that is not definite, elements far apart in size, NaN."""
    zeros = tuple(np.zeros_like(x) for x in factor_operands(check.overload, rng, (1, 4, 4)))
    check.run("zeros", zeros, params)
    ones = tuple(np.ones_like(x) for x in zeros)
    check.run("ones", ones, params)
    check.run("minus one", tuple(-x for x in ones), params)
    args = factor_operands(check.overload, rng, (1, 6, 6))
    graded = tuple(_graded(x) for x in args)
    check.run("graded", graded, params)
    args[-1][0, 2, 1] = np.nan
    check.run("NaN", args, params)


def _graded(x: HostArray) -> HostArray:
    """A matrix whose rows and columns become smaller by powers of two."""
    scale = 2.0 ** (-5 * np.arange(x.shape[-1]))
    graded: HostArray = (x * scale * scale[:, None]).astype(x.dtype)
    return graded
