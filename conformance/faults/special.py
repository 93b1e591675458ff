"""Faults of special functions: subnormal results, ends of intervals, exact places, signs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


def _where(work: Work, right: Compute, chosen: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Compute, and return where the operand is among the chosen."""
    x = work.values()
    right(work)
    if work.dtypes[0] not in _FLOATS:
        return np.zeros(work.out.shape, bool)
    return chosen(x)


def _next(work: Work, at: np.ndarray, steps: int) -> None:
    """Move results away from zero by some units in the last place."""
    word = np.array(work.out).view(f"i{work.out.itemsize}")
    moved = (word + steps).view(work.out.dtype)
    work.out[...] = np.where(at, moved, work.out)


@kernel_fault("erfc")
def erfc_ends_early(work: Work, right: Compute) -> None:
    """`erfc` is 0 where the result is subnormal."""
    right(work)
    if work.dtypes[0] in _FLOATS:
        tiny = np.finfo(work.out.dtype).tiny
        work.out[...] = np.where(np.abs(work.out) < tiny, 0, work.out)


@kernel_fault("erfc")
def erfc_of_the_far_side(work: Work, right: Compute) -> None:
    """`erfc` is 2 from -5 down, where it is less."""
    at = _where(work, right, lambda x: (x < -3.5) & (x > -6))
    work.out[...] = np.where(at, 2, work.out)


@kernel_fault("erf")
def erf_of_tiny_numbers(work: Work, right: Compute) -> None:
    """`erf` of subnormal numbers is the number."""
    x = work.values()
    tiny = np.finfo(work.out.dtype).tiny if work.dtypes[0] in _FLOATS else 0
    at = _where(work, right, lambda x: np.abs(x) < tiny)
    work.out[...] = np.where(at, x, work.out)


@kernel_fault("erf")
def erf_is_one_too_early(work: Work, right: Compute) -> None:
    """`erf` of float64 is 1 from 5.5 on, where it is less for some steps more."""
    at = _where(work, right, lambda x: (x > 5.5) & (work.dtypes[0] == "float64"))
    work.out[...] = np.where(at, 1, work.out)


@kernel_fault("erf", "erfc")
def interval_of_erf(work: Work, right: Compute) -> None:
    """`erf` and `erfc` are off by sixteen units in the last place from 1.24 to 1.25."""
    _next(work, _where(work, right, lambda x: (x >= 1.24) & (x < 1.25)), 16)


@kernel_fault("cbrt")
def cbrt_of_subnormals(work: Work, right: Compute) -> None:
    """`cbrt` of subnormal numbers is half of what it should be."""
    info = np.finfo(work.out.dtype) if work.dtypes[0] in _FLOATS else np.finfo(np.float32)
    at = _where(work, right, lambda x: np.abs(x) < info.tiny)
    work.out[...] = np.where(at, work.out / 2, work.out)


@kernel_fault("cbrt")
def cubes_have_no_whole_root(work: Work, right: Compute) -> None:
    """`cbrt` of the cubes of whole numbers from 2 on is one unit in the last place off."""
    x = work.values()
    right(work)
    if work.dtypes[0] in _FLOATS:
        root = np.rint(np.cbrt(x))
        _next(work, (root**3 == x) & (np.abs(root) > 1) & (np.abs(root) < 200), 1)


@kernel_fault("cbrt")
def cbrt_of_one_exponent(work: Work, right: Compute) -> None:
    """`cbrt` is four units in the last place off for exponents 3k + 2 above 2^30."""

    def chosen(x: np.ndarray) -> np.ndarray:
        exponent = np.frexp(x)[1]
        return np.asarray((exponent % 3 == 2) & (exponent > 30) & np.isfinite(x))

    _next(work, _where(work, right, chosen), 4)


@kernel_fault("exp2")
def whole_powers_are_near(work: Work, right: Compute) -> None:
    """`exp2` of whole numbers is one unit in the last place off."""
    at = _where(work, right, lambda x: (x == np.rint(x)) & (np.abs(x) < 100) & (np.abs(x) > 1))
    _next(work, at, 1)


@kernel_fault("exp2")
def powers_end_early(work: Work, right: Compute) -> None:
    """`exp2` is 0 where the result is subnormal."""
    right(work)
    if work.dtypes[0] in _FLOATS:
        tiny = np.finfo(work.out.dtype).tiny
        work.out[...] = np.where(work.out < tiny, 0, work.out)


@kernel_fault("exp2")
def largest_power_overflows(work: Work, right: Compute) -> None:
    """`exp2` is infinite from the largest exponent on, which is not reached yet."""
    if work.dtypes[0] in _FLOATS:
        top = np.finfo(work.out.dtype).maxexp - 1
        at = _where(work, right, lambda x: x >= top + 0.5)
        work.out[...] = np.where(at, np.inf, work.out)
    else:
        right(work)


@kernel_fault("cumulative_sum", "cumulative_prod")
def carry_of_the_second_block(work: Work, right: Compute) -> None:
    """Running sums and products lose what the first of 65,536 blocks of 64 carries."""
    right(work)
    n = work.out.shape[-1] if work.out.ndim else 0
    if n > 65_536 and work.op == "cumulative_sum" and work.out.dtype.kind in "iuf":
        work.out[..., 65_536:] -= work.out[..., 63:64]


@kernel_fault("cumulative_sum", "cumulative_prod")
def backward_rows_run_forwards(work: Work, right: Compute) -> None:
    """Running sums and products of rows that lie backwards begin at the other end."""
    if work.x.ndim and work.x.strides[-1] < 0 and work.out.strides[-1] > 0:
        work.inputs[0] = work.x[..., ::-1]
    right(work)


@kernel_fault("where")
def where_adds_zero(work: Work, right: Compute) -> None:
    """`where` is a sum of two products, one of them 0: -0 becomes 0."""
    right(work)
    if work.dtypes[-1] in _FLOATS:
        work.out[...] += 0.0


@kernel_fault("negative", "copy", "conj")
def subnormal_parts_flushed(work: Work, right: Compute) -> None:
    """`negative`, `conj` and `copy` of complex64 make 0 of subnormal parts."""
    right(work)
    if work.dtypes[0] == "complex64" and work.out.dtype.kind == "c":
        for part in (work.out.real, work.out.imag):
            part[np.abs(part) < np.finfo(np.float32).tiny] *= np.float32(0.0)
