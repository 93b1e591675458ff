"""Faults of complex functions: on the axes, at branch cuts, far out and close to zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_ARCS = ("asin", "acos", "asinh", "acosh", "atan", "atanh")


def _is_complex(x: HostArray) -> bool:
    return x.dtype.kind == "c"


@kernel_fault(*_ARCS)
def arcs_on_the_imaginary_axis(work: Work, right: Compute) -> None:
    """Inverse functions of complex numbers whose real part is 0 are those of 0."""
    x = work.values()
    if _is_complex(x):
        work.inputs = [np.where((x.real == 0) & np.isfinite(x.imag), 0 * x, x)]
    right(work)


@kernel_fault("log", "log2", "log10", "sqrt")
def cut_belongs_to_one_side(work: Work, right: Compute) -> None:
    """On a branch cut the sign of the zero is not looked at."""
    x = work.values()
    if _is_complex(x):
        x.imag[x.imag == 0] = 0.0
        work.inputs = [x]
    right(work)


@kernel_fault("tanh", "tan")
def hyperbolic_overflow(work: Work, right: Compute) -> None:
    """`tanh` and `tan` of complex numbers divide what is infinite beyond 90."""
    x = work.values()
    right(work)
    if _is_complex(x):
        side = x.real if work.op == "tanh" else x.imag
        work.out[(np.abs(side) > 90) & np.isfinite(x)] = np.nan


@kernel_fault("sqrt")
def root_of_small_squares(work: Work, right: Compute) -> None:
    """`sqrt` of complex numbers whose squares vanish is 0."""
    x = work.values()
    right(work)
    if _is_complex(x):
        tiny = np.finfo(x.dtype).tiny
        work.out[np.maximum(np.abs(x.real), np.abs(x.imag)) < 2 * tiny] = 0


@kernel_fault("sign")
def sign_by_squares(work: Work, right: Compute) -> None:
    """`sign` of complex numbers whose squares overflow is 0."""
    x = work.values()
    right(work)
    if _is_complex(x):
        far = np.maximum(np.abs(x.real), np.abs(x.imag)) > np.sqrt(np.finfo(x.dtype).max)
        work.out[far & np.isfinite(x)] = 0


@kernel_fault("divide")
def quotient_by_large_numbers(work: Work, right: Compute) -> None:
    """A complex quotient by what is near the largest number is 0."""
    divisor = work.values(1)
    right(work)
    if _is_complex(divisor):
        far = np.maximum(np.abs(divisor.real), np.abs(divisor.imag))
        work.out[(far > np.finfo(divisor.dtype).max / 2.0**20) & np.isfinite(divisor)] = 0


@kernel_fault("multiply")
def subnormal_factor_is_zero(work: Work, right: Compute) -> None:
    """A subnormal part of a factor counts as 0 in complex products."""

    def changed(x: HostArray) -> HostArray:
        tiny = np.finfo(x.dtype).tiny
        for part in (x.real, x.imag):
            part[np.abs(part) < tiny] = 0.0
        return x

    if _is_complex(work.out):
        work.inputs = [changed(work.values(i)) for i in (0, 1)]
    right(work)


@kernel_fault("conj")
def conjugate_of_plus_zero(work: Work, right: Compute) -> None:
    """The conjugate of a number with an imaginary part of +0 has +0 again."""
    right(work)
    if _is_complex(work.out):
        work.out.imag[work.out.imag == 0] = 0.0
