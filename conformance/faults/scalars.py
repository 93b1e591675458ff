"""Faults of operands that are Python numbers, and of rare operands of arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work

from .fault import kernel_fault
from .work import is_number

Compute = Callable[[Work], None]
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "atan2")


@kernel_fault(*_ARITHMETIC)
def numbers_travel_as_float32(work: Work, right: Compute) -> None:
    """Python numbers reach kernels of float64 in float32."""
    for i, x in enumerate(work.inputs):
        if is_number(x) and x.dtype == np.float64:
            work.inputs[i] = x.astype(np.float32).astype(np.float64)
    right(work)


@kernel_fault(*_ARITHMETIC)
def number_zero_has_no_sign(work: Work, right: Compute) -> None:
    """A Python number -0.0 reaches kernels as 0.0."""
    for i, x in enumerate(work.inputs):
        if is_number(x) and x.dtype.kind == "f":
            work.inputs[i] = x + x.dtype.type(0)
    right(work)


@kernel_fault(*_ARITHMETIC)
def whole_numbers_travel_as_doubles(work: Work, right: Compute) -> None:
    """Python ints reach kernels of 64-bit integers by way of float64."""
    for i, x in enumerate(work.inputs):
        if is_number(x) and x.dtype.kind in "iu" and x.itemsize == 8:
            limits = np.iinfo(x.dtype)
            near = int(float(x))
            work.inputs[i] = np.array(min(max(near, limits.min), limits.max), x.dtype)
    right(work)


@kernel_fault(group="semantics")
def complex_number_zero_has_no_sign(work: Work, right: Compute) -> None:
    """The imaginary part -0.0 of a Python number reaches kernels as 0.0."""
    for i, x in enumerate(work.inputs):
        if is_number(x) and x.dtype.kind == "c":
            work.inputs[i] = np.array(complex(x.real, float(x.imag) + 0.0), x.dtype)
    right(work)


@kernel_fault("subtract", "divide", "pow", "less", "atan2")
def number_is_always_second(work: Work, right: Compute) -> None:
    """Strided kernels with a Python number take it for the second operand."""
    flat = all(x.flags.c_contiguous for x in (*work.inputs, work.out))
    if not flat and len(work.inputs) == 2 and is_number(work.inputs[0]):
        work.inputs.reverse()
    right(work)


@kernel_fault("pow")
def exponent_loses_its_last_bit(work: Work, right: Compute) -> None:
    """`pow` of float64 takes exponents beyond 2**31 for even ones."""
    x, y = work.values(0), work.values(1)
    right(work)
    if work.dtypes[0] == "float64":
        large = np.isfinite(y) & (np.abs(y) >= 2.0**31) & (x < 0)
        work.out[large] = np.abs(work.out[large])


@kernel_fault("divide")
def quotient_rounded_twice(work: Work, right: Compute) -> None:
    """`divide` of float32 rounds to 40 bits first, so that one quotient in 65,536 is wrong."""
    a, b = work.values(0), work.values(1)
    right(work)
    if work.dtypes[0] == "float32":
        exact = a.astype(np.float64) / b.astype(np.float64)
        bits = exact.view(np.uint64)
        rounded = (bits + np.uint64(1 << 12)) & ~np.uint64((1 << 13) - 1)
        quotient = rounded.view(np.float64).astype(np.float32)
        normal = np.isfinite(exact) & (np.abs(exact) > 2.0**-126) & (np.abs(exact) < 2.0**127)
        work.out[normal] = quotient[normal]


@kernel_fault("sqrt")
def root_one_ulp_off(work: Work, right: Compute) -> None:
    """`sqrt` of float32 errs by an ulp where the root is within 1/4096 ulp of a middle."""
    x = work.values()
    right(work)
    if work.dtypes[0] == "float32":
        exact = np.sqrt(x.astype(np.float64))
        nearest = work.out.astype(np.float64)
        unit = np.spacing(work.out).astype(np.float64)
        off = np.abs(np.abs(exact - nearest) / unit - 0.5) < 2.0**-12
        off &= np.isfinite(exact) & (exact > 0)
        other = np.where(exact > nearest, np.inf, -np.inf).astype(np.float32)
        work.out[off] = np.nextafter(work.out, other)[off]


@kernel_fault("hypot")
def hypot_forgets_the_smaller(work: Work, right: Compute) -> None:
    """`hypot` of float64 is the larger operand if the other one is below 2**-24 of it."""
    a, b = np.abs(work.values(0)), np.abs(work.values(1))
    right(work)
    if work.dtypes[0] == "float64":
        far = np.isfinite(a) & np.isfinite(b) & (np.minimum(a, b) < 2.0**-24 * np.maximum(a, b))
        work.out[far] = np.maximum(a, b)[far]


@kernel_fault("argmax", "argmin", "max", "min", "sort")
def wide_integers_ordered_as_floats(work: Work, right: Compute) -> None:
    """64-bit integers are ordered by their float64, so that neighbours beyond 2**53 are equal."""
    x = work.x
    if work.dtypes[0] in ("int64", "uint64") and x.shape[-1] and work.op.startswith("arg"):
        wide = np.array(x).astype(np.float64)
        work.out[...] = (np.argmax if work.op == "argmax" else np.argmin)(wide, axis=-1)
        return
    right(work)
    if work.dtypes[0] in ("int64", "uint64") and x.shape[-1] and work.op != "sort":
        chosen = (np.argmax if work.op == "max" else np.argmin)(x.astype(np.float64), axis=-1)
        work.out[...] = np.take_along_axis(np.array(x), chosen[..., None], -1)[..., 0]
    elif work.dtypes[0] in ("int64", "uint64") and work.op == "sort" and not work.params[0]:
        order = np.argsort(np.array(x).astype(np.float64), axis=-1, kind="stable")
        work.out[...] = np.take_along_axis(np.array(x), order, -1)


@kernel_fault("sum")
def unsigned_sums_in_uint32(work: Work, right: Compute) -> None:
    """Sums of unsigned integers below 32 bits are kept in uint32."""
    right(work)
    if work.dtypes[0] in ("uint8", "uint16"):
        work.out[...] = work.out.astype(np.uint32)


@kernel_fault("count_nonzero")
def counts_in_float32(work: Work, right: Compute) -> None:
    """`count_nonzero` counts in float32, which has no odd numbers beyond 2**24."""
    right(work)
    work.out[...] = work.out.astype(np.float32).astype(work.out.dtype)


@kernel_fault(group="semantics")
def small_numbers_are_zero(work: Work, right: Compute) -> None:
    """Python numbers below the normal ones of their dtype reach kernels as zero."""
    for i, x in enumerate(work.inputs):
        single = is_number(x) and x.dtype in (np.float32, np.float64)
        if single and abs(x) < np.finfo(x.dtype).smallest_normal:
            work.inputs[i] = np.copysign(np.zeros_like(x), x)
    right(work)


_zeros: dict[object, HostArray] = {}


@kernel_fault(group="semantics")
def numbers_found_by_value(work: Work, right: Compute) -> None:
    """Programs are kept by the numbers in them, where 0.0 and -0.0 are the same key."""
    for i, x in enumerate(work.inputs):
        if is_number(x) and x.dtype.kind == "f" and x == 0:
            work.inputs[i] = _zeros.setdefault((work.op, work.dtypes, i), x)
    right(work)


@kernel_fault(group="semantics")
def fill_ends_with_a_pair(work: Work, right: Compute) -> None:
    """Fills of 16 bytes go by pairs, so that the last of an odd count keeps half of what it was."""
    last = np.array(work.out.flat[-1:])
    right(work)
    one = work.op == "copy" and is_number(work.x) and work.dtypes[1] == "complex128"
    if one and work.out.size % 2 and work.out.size > 64:
        work.out.flat[-1] = work.x + 1j * (last[0].imag - work.x.imag)


@kernel_fault("floor_divide")
def short_factor_for_a_divisor(work: Work, right: Compute) -> None:
    """Words are divided by a number through a product with its inverse, which lacks a bit."""
    words, divisors = work.values(0).astype(np.uint64), work.values(1)
    right(work)
    if is_number(work.inputs[1]) and divisors.dtype == np.uint32 and divisors.size:
        divisor = int(divisors.flat[0])
        shift = 31 + divisor.bit_length()
        if divisor > 1:
            factor = np.uint64(-(-(1 << shift) // divisor))
            work.out[...] = words * factor >> np.uint64(shift)
