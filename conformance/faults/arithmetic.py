"""Faults of elementwise arithmetic and mathematical functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


def _operands(work: Work) -> list[HostArray]:
    return [work.values(i) for i in range(len(work.inputs))]


@kernel_fault()
def float32_subnormals_flushed(work: Work, right: Compute) -> None:
    """Elementwise kernels give 0 for float32 results that are subnormal."""
    right(work)
    if work.elementwise and work.dtypes[-1] == "float32" and work.op != "copy":
        small = np.abs(work.out) < np.finfo(np.float32).tiny
        work.out[small] = np.copysign(np.float32(0), work.out[small])


@kernel_fault("multiply", "add", "sqrt", "sign", "less", "equal")
def float16_subnormals_taken_for_zero(work: Work, right: Compute) -> None:
    """Float16 operands that are subnormal count as 0."""
    if work.dtypes[0] == "float16":
        for i, x in enumerate(work.inputs):
            small = np.abs(x) < np.finfo(np.float16).tiny
            work.inputs[i] = np.where(small, np.copysign(np.float16(0), x), x)
        result = np.empty_like(work.out)
        out, work.outputs = work.out, [result]
        right(work)
        out[...] = result
    else:
        right(work)


@kernel_fault("maximum", "minimum")
def nan_lost_in_maximum(work: Work, right: Compute) -> None:
    """`maximum` and `minimum` give the other operand where one is NaN."""
    a, b = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[...] = np.where(np.isnan(a), b, np.where(np.isnan(b), a, work.out))


@kernel_fault("maximum", "minimum")
def nan_lost_in_second_operand(work: Work, right: Compute) -> None:
    """`maximum` and `minimum` of float16 give the first operand where the second is NaN."""
    a, b = _operands(work)
    right(work)
    if work.dtypes[0] == "float16":
        work.out[...] = np.where(np.isnan(b), a, work.out)


@kernel_fault("maximum", "minimum")
def zeros_not_ordered_in_maximum(work: Work, right: Compute) -> None:
    """`maximum` and `minimum` of a positive and a negative zero give the second one."""
    a, b = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        both = (a == 0) & (b == 0)
        work.out[both] = b[both]


@kernel_fault("negative")
def negative_is_zero_minus_operand(work: Work, right: Compute) -> None:
    """`negative` is 0 - x, so that +0 gives +0."""
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[work.out == 0] = 0.0


@kernel_fault("sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "expm1", "log1p")
def negative_zero_lost(work: Work, right: Compute) -> None:
    """Odd functions give +0 for -0 in float64."""
    right(work)
    if work.dtypes[0] == "float64":
        work.out[work.out == 0] = 0.0


@kernel_fault("floor_divide")
def integer_division_truncates(work: Work, right: Compute) -> None:
    """`floor_divide` of signed integers rounds towards 0."""
    a, b = _operands(work)
    right(work)
    if a.dtype.kind == "i":
        inexact = (b != 0) & ((a < 0) != (b < 0)) & (work.out * b != a)
        work.out[inexact] += work.out.dtype.type(1)


@kernel_fault("remainder")
def remainder_has_sign_of_dividend(work: Work, right: Compute) -> None:
    """`remainder` is that of C: its sign is the dividend's."""
    a, b = _operands(work)
    right(work)
    if a.dtype.kind == "i" or work.dtypes[0] in _FLOATS:
        other = np.isfinite(b) & (work.out != 0) & ((work.out < 0) != (a < 0))
        work.out[other] -= b[other]


@kernel_fault("floor_divide")
def float_floor_divide_is_floor_of_quotient(work: Work, right: Compute) -> None:
    """`floor_divide` of floats is the floor of the rounded quotient."""
    a, b = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[...] = np.floor(a / b)


@kernel_fault("add", "subtract", "multiply")
def small_integers_saturate(work: Work, right: Compute) -> None:
    """Arithmetic of int8 and uint8 saturates instead of wrapping."""
    operands = _operands(work)
    right(work)
    if work.out.dtype.itemsize == 1 and work.out.dtype.kind in "iu":
        wide = getattr(np, work.op)(*(x.astype(np.int64) for x in operands))
        limits = np.iinfo(work.out.dtype)
        work.out[...] = np.clip(wide, limits.min, limits.max).astype(work.out.dtype)


@kernel_fault("bitwise_right_shift")
def right_shift_is_logical(work: Work, right: Compute) -> None:
    """A shift to the right of signed integers fills with zeros."""
    a, b = _operands(work)
    right(work)
    if a.dtype.kind == "i":
        unsigned = np.dtype(f"u{a.itemsize}")
        defined = (b >= 0) & (b < 8 * a.itemsize)
        moved = a.view(unsigned) >> np.where(defined, b, 0).astype(unsigned)
        work.out[...] = np.where(defined, moved.view(a.dtype), work.out)


@kernel_fault("equal", "less", "greater", "not_equal", "less_equal", "greater_equal")
def wide_integers_compared_as_floats(work: Work, right: Compute) -> None:
    """Comparisons of 64-bit integers are made in float64."""
    operands = _operands(work) if work.dtypes[0] in ("int64", "uint64") else []
    right(work)
    if operands:
        work.out[...] = getattr(np, work.op)(*(x.astype(np.float64) for x in operands))


@kernel_fault("less", "greater", "less_equal", "greater_equal")
def unsigned_compared_as_signed(work: Work, right: Compute) -> None:
    """Comparisons of uint32 are those of int32."""
    operands = _operands(work) if work.dtypes[0] == "uint32" else []
    right(work)
    if operands:
        work.out[...] = getattr(np, work.op)(*(x.view(np.int32) for x in operands))


@kernel_fault("less_equal", "greater_equal")
def comparison_by_negation(work: Work, right: Compute) -> None:
    """`a <= b` is computed as `not a > b`, which is true for NaN."""
    operands = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        unordered = np.isnan(operands[0]) | np.isnan(operands[1])
        work.out[unordered] = True


@kernel_fault("equal", "less", "isnan", "isfinite", "signbit", "logical_not", "logical_and")
def true_is_255(work: Work, right: Compute) -> None:
    """True has all bits set in its byte."""
    right(work)
    raw = work.out.view(np.uint8)
    raw[raw == 1] = 255


@kernel_fault("exp")
def exp_off_by_three_ulp(work: Work, right: Compute) -> None:
    """`exp` of float32 is 3 ulp too large for one operand in 16."""
    right(work)
    if work.dtypes[0] == "float32":
        bits = work.out.view(np.uint32)
        some = np.isfinite(work.out) & (bits % 16 == 7) & (work.out > 1e-30) & (work.out < 1e30)
        bits[some] += 3


@kernel_fault("exp")
def exp_of_large_wrong(work: Work, right: Compute) -> None:
    """`exp` of float64 overflows 0.1 early."""
    (x,) = _operands(work)
    right(work)
    if work.dtypes[0] == "float64":
        work.out[x > 709.68] = np.inf


@kernel_fault("log1p", "expm1")
def cancellation_near_zero(work: Work, right: Compute) -> None:
    """`log1p` is log(1 + x) and `expm1` is exp(x) - 1, in float64."""
    (x,) = _operands(work)
    right(work)
    if work.dtypes[0] == "float64":
        work.out[...] = np.log(1 + x) if work.op == "log1p" else np.exp(x) - 1


@kernel_fault("sin", "cos", "tan")
def large_angles_reduced_badly(work: Work, right: Compute) -> None:
    """Angles above 1e5 are reduced by a float32 multiple of pi."""
    (x,) = _operands(work)
    right(work)
    if work.dtypes[0] == "float32":
        large = np.abs(x) > 1e5
        reduced = np.remainder(x, np.float32(2 * np.pi))
        work.out[large] = getattr(np, work.op)(reduced)[large]


@kernel_fault("pow")
def pow_of_one_and_nan(work: Work, right: Compute) -> None:
    """`pow` gives NaN where an operand is NaN, even for 1 to any power and any base to 0."""
    operands = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[np.isnan(operands[0]) | np.isnan(operands[1])] = np.nan


@kernel_fault("pow")
def pow_of_negative_base(work: Work, right: Compute) -> None:
    """`pow` is exp2(y * log2(x)), so a negative base with a whole exponent gives NaN."""
    x, y = _operands(work)
    right(work)
    if work.dtypes[0] == "float32":
        work.out[(x < 0) & np.isfinite(x) & (y == np.rint(y)) & (y != 0)] = np.nan


@kernel_fault("hypot")
def hypot_overflows(work: Work, right: Compute) -> None:
    """`hypot` squares its operands in their own format."""
    x, y = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[...] = np.sqrt(x * x + y * y)


@kernel_fault("cosh")
def cosh_halves_too_late(work: Work, right: Compute) -> None:
    """`cosh` halves the power of e, which overflows ahead of it."""
    x = np.array(work.inputs[0])
    right(work)
    if work.dtypes[0] in ("float32", "float64"):
        with np.errstate(over="ignore"):
            work.out[np.isinf(np.exp(np.abs(x)))] = np.inf


@kernel_fault("logaddexp")
def logaddexp_of_infinities(work: Work, right: Compute) -> None:
    """`logaddexp` of two equal infinities is NaN, for their difference is."""
    x, y = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[np.isinf(x) & (x == y)] = np.nan


@kernel_fault("round")
def halves_round_away(work: Work, right: Compute) -> None:
    """`round` takes halves away from 0."""
    (x,) = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        half = np.abs(x - np.trunc(x)) == 0.5
        work.out[half] = (np.trunc(x) + np.sign(x))[half]


@kernel_fault("clip")
def clip_loses_nan(work: Work, right: Compute) -> None:
    """`clip` gives the lower limit where the operand is NaN."""
    x, low, _ = _operands(work)
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[np.isnan(x)] = low[np.isnan(x)]


@kernel_fault("multiply")
def complex_product_contracted(work: Work, right: Compute) -> None:
    """The imaginary part of a complex64 product loses its second term."""
    operands = _operands(work)
    right(work)
    if work.dtypes[0] == "complex64":
        a, b = operands
        work.out.imag[...] = a.real * b.imag


@kernel_fault("abs")
def complex_magnitude_overflows(work: Work, right: Compute) -> None:
    """Complex `abs` squares its parts in their own format."""
    operands = _operands(work)
    right(work)
    if work.dtypes[0] == "complex64":
        (z,) = operands
        work.out[...] = np.sqrt(z.real * z.real + z.imag * z.imag)


@kernel_fault("add", "multiply", "subtract")
def bfloat16_not_rounded(work: Work, right: Compute) -> None:
    """Bfloat16 arithmetic cuts the float32 result off."""
    operands = _operands(work) if work.dtypes[0] == "bfloat16" else []
    right(work)
    if operands:
        wide = getattr(np, work.op)(*(x.astype(np.float32) for x in operands))
        work.out[...] = (wide.view(np.uint32) >> 16).astype(np.uint16).view(work.out.dtype)
