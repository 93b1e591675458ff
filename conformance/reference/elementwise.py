"""What every elementwise op means, written apart from the op table and its kernels.

`expected` computes the results of one overload once; `Expected.errors` then judges any selection
of them, so that one reference serves every layout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from . import complex_numbers, integers, real
from .complex_numbers import NORMED, Kind, Results
from .conversion import cast
from .formats import FORMATS, PARTS, host_dtype
from .ulp import norm_error, rounded, ulp_distance, ulp_error, widened
from .values import HostArray


class Expected(ABC):
    """The results (n,) of an op on operands (n,).

    Attributes:
        is_exact: only the values themselves are right; else the bound of the op table decides.
        slack: by how many ulp the reference may be off, which adds to that bound.
    """

    is_exact: ClassVar[bool] = False
    slack: float

    @abstractmethod
    def errors(self, got: HostArray, index: HostArray) -> HostArray:
        """Return the error in ulp of each element of a result, like the results at ``index``."""

    @abstractmethod
    def text(self, index: int) -> str:
        """Return one result for people."""


@dataclass(frozen=True)
class Exact(Expected):
    """The values that every device must give; the sign of a zero counts, the payload of NaN not."""

    is_exact: ClassVar[bool] = True
    values: HostArray
    slack: float = 0.0

    def errors(self, got: HostArray, index: HostArray) -> HostArray:
        """Return 0 where an element is right; else the distance, infinite for integers."""
        return ulp_distance(got, self.values[index])

    def text(self, index: int) -> str:
        """Return one result for people."""
        return str(self.values[index])


@dataclass(frozen=True)
class Wide(Expected):
    """Real results in the wide format, and what it leaves of the exact ones.

    An absolute error of at most ``floor``, one number or of each result, is none.
    """

    values: HostArray
    rest: HostArray
    slack: float
    floor: HostArray | float = 0.0

    def errors(self, got: HostArray, index: HostArray) -> HostArray:
        """Return the errors in ulp; NaN, infinity and zero must be met."""
        exact, rest = self.values[index], self.rest[index]
        error = ulp_error(got, exact, rest)
        if not np.any(self.floor):
            return error
        floor = np.broadcast_to(self.floor, self.values.shape)[index]
        with np.errstate(all="ignore"):
            near = np.abs(widened(got) - exact - rest) <= floor
        return np.where(near & (floor > 0), 0.0, error)

    def text(self, index: int) -> str:
        """Return one result for people."""
        return str(self.values[index])


@dataclass(frozen=True)
class Parts(Expected):
    """Complex results, part by part or, where parts cancel, against the modulus."""

    results: Results
    slack: float
    normed: bool = False

    def errors(self, got: HostArray, index: HostArray) -> HostArray:
        """Return the errors in ulp of the worse part; infinite where the kind is another."""
        r = self.results
        kind = r.kind[index]
        real, imag = r.real[index], r.imag[index]
        if self.normed:
            error = norm_error(got, real, imag)
        else:
            error = np.maximum(
                ulp_error(got.real, real, r.rest_real[index], signed_zero=False),
                ulp_error(got.imag, imag, r.rest_imag[index], signed_zero=False),
            )
        for place in np.argwhere(kind == Kind.SPECIAL):
            at = tuple(place)
            error[at] = max(
                _special_error(got.real[at], real[at], bool(r.open_real[index[at]])),
                _special_error(got.imag[at], imag[at], bool(r.open_imag[index[at]])),
            )
        infinite = np.isinf(got.real) | np.isinf(got.imag)
        nan = np.isnan(got.real) & np.isnan(got.imag)
        error = np.where(kind == Kind.INFINITE, np.where(infinite, 0.0, np.inf), error)
        error = np.where(kind == Kind.NAN, np.where(nan, 0.0, np.inf), error)
        error = np.where(kind == Kind.ZERO, np.where(got == 0, 0.0, np.inf), error)
        return np.where(kind == Kind.OPEN, 0.0, error)

    def text(self, index: int) -> str:
        """Return one result for people."""
        kind = Kind(int(self.results.kind[index]))
        if kind in (Kind.PARTS, Kind.SPECIAL):
            return f"{self.results.real[index]}, {self.results.imag[index]}i"
        return kind.name.lower()


def _special_error(got: HostArray, want: HostArray, open_sign: bool) -> float:
    if open_sign:
        got, want = np.abs(got), np.abs(want)
    return float(ulp_error(np.asarray(got), np.asarray(want)))


_MOVES: dict[str, Callable[[tuple[HostArray, ...], str], HostArray]] = {
    "where": lambda args, to: np.where(*args).astype(host_dtype(to)),
    "copy": lambda args, _: args[0].copy(),
    "cast": lambda args, to: cast(args[0], to),
}


def expected(op: str, args: tuple[HostArray, ...], to: str) -> Expected:
    """Return what an op gives for operands (n,) of one overload; ``to`` names the result's dtype.

    Raises:
        KeyError: the op has no reference for these dtypes.
    """
    name = args[-1].dtype.name
    if op in _MOVES:
        return Exact(_MOVES[op](args, to))
    if name == "bool" and integers.has_booleans(op):
        return Exact(integers.booleans(op, args))
    if name in FORMATS:
        return _of_reals(op, args, to)
    if name in PARTS:
        return _of_complex(op, args, to)
    if integers.has_integers(op):
        return Exact(integers.integers(op, args, host_dtype(to)))
    raise KeyError(f"no reference for {op} of {name}")


def _of_reals(op: str, args: tuple[HostArray, ...], to: str) -> Expected:
    if op == "nextafter":
        with np.errstate(all="ignore"):
            return Exact(real.nextafter(*args))
    if real.is_rounded_once(op):
        return Exact(real.rounded_once(op, args, to))
    if not real.is_analytic(op):
        raise KeyError(f"no reference for {op} of {to}")
    values, rest = real.analytic(op, args, to)
    floor = real.floor_of(op, args, values, to)
    return Wide(values, rest, real.analytic_slack(to, len(args)), floor)


def _of_complex(op: str, args: tuple[HostArray, ...], to: str) -> Expected:
    if complex_numbers.is_exact(op):
        return Exact(complex_numbers.exact(op, args))
    if op == "abs":
        # infinite if a part is, even beside a NaN
        values, rest = real.analytic("hypot", (args[0].real, args[0].imag), to)
        return Wide(values, rest, real.analytic_slack(to, 2))
    if complex_numbers.is_analytic(op):
        results = complex_numbers.analytic(op, args)
        return Parts(results, 2.0**-10, normed=op in NORMED)
    raise KeyError(f"no reference for {op} of {to}")


def nearest(expectation: Expected, to: str) -> HostArray:
    """Return real or exact results rounded to the format of the result."""
    if isinstance(expectation, Exact):
        return expectation.values
    if isinstance(expectation, Wide):
        return rounded(expectation.values + expectation.rest, to)
    raise TypeError("complex results are not all known")
