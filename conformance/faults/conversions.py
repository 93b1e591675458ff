"""Faults of conversions between dtypes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float16", "float32", "float64")


def _float_to_integer(work: Work) -> bool:
    return work.dtypes[0] in _FLOATS and work.out.dtype.kind in "iu"


@kernel_fault("cast")
def conversion_rounds(work: Work, right: Compute) -> None:
    """Floats that become integers are rounded to the nearest."""
    if _float_to_integer(work):
        work.inputs[0] = np.rint(work.values())
    right(work)


@kernel_fault("cast")
def conversion_wraps(work: Work, right: Compute) -> None:
    """Floats too large for an integer dtype of less than 64 bits wrap."""
    x = work.values()
    right(work)
    if _float_to_integer(work) and work.out.itemsize < 8:
        limits = np.iinfo(work.out.dtype)
        outside = np.isfinite(x) & (np.abs(x) < 2.0**62) & ((x > limits.max) | (x < limits.min))
        work.out[outside] = x[outside].astype(np.int64).astype(work.out.dtype)


@kernel_fault("cast")
def nan_becomes_least_integer(work: Work, right: Compute) -> None:
    """NaN becomes the least integer, as x86 has it."""
    x = work.values()
    right(work)
    if _float_to_integer(work) and work.out.dtype.kind == "i":
        work.out[np.isnan(x)] = np.iinfo(work.out.dtype).min


@kernel_fault("cast")
def bfloat16_cut_off(work: Work, right: Compute) -> None:
    """Float32 becomes bfloat16 by leaving out its lower half."""
    x = work.values()
    right(work)
    if work.dtypes == ("float32", "bfloat16"):
        cut = (x.view(np.uint32) >> 16).astype(np.uint16).view(work.out.dtype)
        work.out[...] = np.where(np.isnan(x), work.out, cut)


@kernel_fault("cast")
def float16_rounds_towards_zero(work: Work, right: Compute) -> None:
    """Float32 becomes float16 by rounding towards 0."""
    x = work.values()
    right(work)
    if work.dtypes == ("float32", "float16"):
        far = np.isfinite(x) & (np.abs(work.out.astype(np.float32)) > np.abs(x))
        nearer = np.nextafter(work.out, np.float16(0))
        work.out[...] = np.where(far, nearer, work.out)


@kernel_fault("cast")
def double_rounding(work: Work, right: Compute) -> None:
    """Float64 becomes float16 by way of float32, so it is rounded twice."""
    x = work.values()
    right(work)
    if work.dtypes == ("float64", "float16"):
        work.out[...] = x.astype(np.float32).astype(np.float16)


@kernel_fault("cast")
def large_unsigned_become_negative(work: Work, right: Compute) -> None:
    """Uint64 becomes a float as if it were int64."""
    x = work.values()
    right(work)
    if work.dtypes[0] == "uint64" and work.dtypes[1] in _FLOATS:
        work.out[...] = x.view(np.int64).astype(work.out.dtype)


@kernel_fault("cast")
def integers_pass_through_float32(work: Work, right: Compute) -> None:
    """Int32 becomes float64 by way of float32."""
    x = work.values()
    right(work)
    if work.dtypes == ("int32", "float64"):
        work.out[...] = x.astype(np.float32)


@kernel_fault("cast")
def sign_not_extended(work: Work, right: Compute) -> None:
    """Int8 becomes wider integers without its sign."""
    x = work.values()
    right(work)
    if work.dtypes[0] == "int8" and work.out.dtype.kind in "iu":
        work.out[...] = x.view(np.uint8).astype(work.out.dtype)


@kernel_fault("cast")
def truth_of_the_low_byte(work: Work, right: Compute) -> None:
    """Integers become bool by their low byte, so that 256 is false."""
    x = work.values()
    right(work)
    if work.dtypes[1] == "bool" and x.dtype.kind in "iu":
        work.out[...] = x.astype(np.uint8) != 0


@kernel_fault("cast")
def fractions_are_false(work: Work, right: Compute) -> None:
    """Floats become bool by way of an integer, so that 0.5 is false."""
    x = work.values()
    right(work)
    if work.dtypes[1] == "bool" and work.dtypes[0] in _FLOATS:
        work.out[...] = np.trunc(x) != 0


@kernel_fault("cast")
def integers_become_bfloat16_by_float32(work: Work, right: Compute) -> None:
    """Int32 becomes bfloat16 by way of float32, so it is rounded twice."""
    x = work.values()
    right(work)
    if work.dtypes == ("int32", "bfloat16"):
        work.out[...] = x.astype(np.float32).astype(work.out.dtype)


@kernel_fault("cast")
def wide_integers_become_float32_by_float64(work: Work, right: Compute) -> None:
    """Uint64 and int64 become float32 by way of float64, so they are rounded twice."""
    x = work.values()
    right(work)
    if x.dtype.kind in "iu" and x.itemsize == 8 and work.dtypes[1] == "float32":
        work.out[...] = x.astype(np.float64).astype(np.float32)


@kernel_fault("cast")
def nan_with_low_payload_becomes_infinity(work: Work, right: Compute) -> None:
    """Float32 becomes bfloat16 without a look at the lower half of a NaN, the only bits it has."""
    x = work.values()
    right(work)
    if work.dtypes == ("float32", "bfloat16"):
        bits = x.view(np.uint32)
        lost = np.isnan(x) & (bits & 0x7F0000 == 0)
        out = np.array(work.out).view(np.uint16)
        out[lost] = (bits[lost] >> 16).astype(np.uint16)
        work.out[...] = out.view(work.out.dtype)


@kernel_fault("cast")
def double_nan_becomes_infinity(work: Work, right: Compute) -> None:
    """Float64 becomes float32 without a look at the lower bits of a NaN, the only ones it has."""
    x = work.values()
    right(work)
    if work.dtypes == ("float64", "float32"):
        lost = np.isnan(x) & (x.view(np.uint64) & 0xFFFFFE0000000 == 0)
        work.out[lost] = np.inf


@kernel_fault("cast")
def large_floats_to_uint64_end_at_the_sign(work: Work, right: Compute) -> None:
    """Floats become uint64 by way of int64, which ends at 2**63."""
    x = np.array(work.x).astype(np.float64)
    right(work)
    if work.dtypes[1] == "uint64" and work.dtypes[0] in (*_FLOATS, "bfloat16"):
        work.out[(x > 2.0**63) & (x < 2.0**64)] = 1 << 63
