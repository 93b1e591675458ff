"""Results that are right within an absolute bound, and results of which only one value is right.

The bounds are those of N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM
2002, chapters 3 and 4, for the orders of evaluation that ``docs/ops.md`` states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from .formats import FORMATS, PARTS
from .ulp import WIDE, differing, unit
from .values import HostArray

#: The format in which sums and products of a dtype are kept.
ACCUMULATOR = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float64",
    "complex64": "float32",
    "complex128": "float64",
}
#: Errors that are found together, as so many are kept in the host's caches.
_AT_ONCE = 1 << 15


def working(name: str) -> Any:
    """Return the host's format for references: of what is kept in float32 float64 is enough."""
    return WIDE if ACCUMULATOR[name] == "float64" else np.float64


def digits_of(x: HostArray) -> int:
    """Return how many bits the significands of an array have."""
    return int(np.finfo(x.dtype).nmant) + 1


class Expectation(Protocol):
    """What an op gives: an array of some shape."""

    @property
    def bound(self) -> float:
        """What the errors are held against: 0 where only one value is right, else 1."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""

    def errors(self, got: HostArray) -> HostArray:
        """Return the error of each element, in parts of its own bound (or of anything, if 0)."""

    def text(self, index: tuple[int, ...]) -> str:
        """Return one result for people."""


@dataclass(frozen=True, slots=True)
class Only:
    """The values that every device must give; the sign of a zero counts, the payload of NaN not."""

    values: HostArray
    bound: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.values.shape

    def errors(self, got: HostArray) -> HostArray:
        """Return 0 where an element is right, else infinity."""
        return np.where(differing(got, self.values), np.inf, 0.0)

    def text(self, index: tuple[int, ...]) -> str:
        """Return one result for people."""
        return str(self.values[index])


@dataclass(frozen=True, slots=True)
class Near:
    """Floating results ``values + rest``, each with the largest absolute error that it may have.

    All arrays are float64 and have the shape of the result; for complex results one more axis, of
    length 2. Infinities and NaN must be met. The sign of a zero counts where ``signed``.

    Attributes:
        radius: the largest error, the rounding of the result included.
        rest: what the values leave of the exact results.
        signed: where a zero must have the sign of the value.
    """

    values: HostArray
    radius: HostArray
    rest: HostArray
    signed: HostArray
    complex_result: bool = False
    bound: float = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        shape: tuple[int, ...] = self.values.shape
        return shape[:-1] if self.complex_result else shape

    def errors(self, got: HostArray) -> HostArray:
        """Return the errors in parts of the radius; of complex numbers, of the worse part."""
        if not self.complex_result:
            return self._part_errors(got)
        return np.asarray(self._part_errors(parts_of(got)).max(axis=-1))

    def _part_errors(self, got: HostArray) -> HostArray:
        flat = [x.reshape(-1) for x in (got, self.values, self.rest, self.radius, self.signed)]
        errors = np.empty(got.size)
        for first in range(0, got.size, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            errors[some] = _errors(*(x[some] for x in flat))
        return errors.reshape(got.shape)

    def in_ulp(self, got: HostArray) -> HostArray:
        """Return the errors in units in the last place; of complex numbers, of the worse part."""
        parts = parts_of(got) if self.complex_result else got
        with np.errstate(all="ignore"):
            miss = np.abs(parts.astype(np.float64) - self.values - self.rest)
            errors = np.where(np.isfinite(miss), miss / unit(self.values, parts.dtype.name), 0.0)
        return np.asarray(errors.max(axis=-1) if self.complex_result else errors)

    def text(self, index: tuple[int, ...]) -> str:
        """Return one result for people."""
        parts = zip(np.ravel(self.values[index]), np.ravel(self.radius[index]), strict=True)
        return ", ".join(f"{value!s} within {radius:.3g}" for value, radius in parts)


def _errors(
    got: HostArray, want: HostArray, rest: HostArray, radius: HostArray, signed: HostArray
) -> HostArray:
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64)
        miss = np.abs(wide - want - rest)
        error = np.where(miss == 0, 0.0, miss / radius)
        if np.isfinite(miss).all() and not (signed & (want == 0)).any():
            return error
        same_sign = np.signbit(wide) == np.signbit(want)
        # Overflow is right where the radius reaches the numbers that round to infinity.
        over = (
            np.isfinite(want) & (np.abs(want) + radius >= overflow_of(got.dtype.name)) & same_sign
        )
        error = np.where(np.isinf(wide), np.where(over, 0.0, np.inf), error)
        error = np.where(np.isfinite(want), error, np.where(wide == want, 0.0, np.inf))
        wrong = np.isnan(wide) != np.isnan(want)
        wrong |= signed & (want == 0) & (wide == 0) & ~same_sign
        error = np.where(np.isnan(want) & np.isnan(wide), 0.0, error)
    return np.where(wrong, np.inf, error)


def of_rows(want: Expectation, places: HostArray) -> Expectation:
    """Return what rows give that are those at places (...) of the first axis of others."""
    return _with_arrays(want, lambda name: getattr(want, name)[places])


def one_after_another(parts: list[Expectation]) -> Expectation:
    """Return what is given along the first axis by parts of one kind, of which there is one."""
    return _with_arrays(parts[0], lambda name: np.concatenate([getattr(p, name) for p in parts]))


def _with_arrays(want: Any, made: Callable[[str], HostArray]) -> Expectation:
    names = [f.name for f in fields(want) if isinstance(getattr(want, f.name), np.ndarray)]
    changed: Expectation = replace(want, **{name: made(name) for name in names})
    return changed


def near(
    values: HostArray,
    radius: HostArray,
    to: str,
    *,
    rest: HostArray | None = None,
    signed: HostArray | None = None,
) -> Near:
    """Return what is near values: with the rounding to ``to``, if sums are not kept in it.

    ``radius`` is the largest error before that rounding.
    """
    part = PARTS.get(to, to)
    values = np.asarray(values, np.float64)
    radius = np.broadcast_to(np.asarray(radius, np.float64), values.shape)
    with np.errstate(all="ignore"):
        if ACCUMULATOR[part] != part:
            radius = radius + 0.5 * unit(np.abs(values) + radius, part)
    none = np.zeros(values.shape)
    return Near(
        values,
        radius,
        none if rest is None else rest,
        none.astype(bool) if signed is None else signed,
        to in PARTS,
    )


def parts_of(x: HostArray) -> HostArray:
    """Return complex numbers (...) as their parts (..., 2)."""
    dense = np.ascontiguousarray(x).reshape(x.shape)
    return dense[..., None].view(np.dtype(PARTS[x.dtype.name]))


def roundoff(name: str) -> float:
    """Return the unit roundoff u of the format in which a dtype is accumulated."""
    return float(2.0 ** -FORMATS[ACCUMULATOR[name]][0])


def least(name: str) -> float:
    """Return the least positive number of the format in which a dtype is accumulated."""
    digits, low, _ = FORMATS[ACCUMULATOR[name]]
    return float(2.0 ** (low - digits + 1))


def overflow_of(name: str) -> float:
    """Return the least number that rounds to infinity in a format; infinity for float64."""
    digits, _, greatest = FORMATS[name]
    return float(np.ldexp(2.0 - 2.0**-digits, greatest)) if digits < 53 else float(np.inf)


def gamma(n: Any, u: float) -> Any:
    """Return n u / (1 - n u): the relative error of n roundings (Higham 2002, lemma 3.1)."""
    return n * u / (1 - n * u)
