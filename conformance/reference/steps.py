"""The arithmetic of factorizations: exact steps, each rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .formats import PARTS

Parts = tuple[float, ...]
Matrix = list[list[Parts]]

#: A sum along rows has so many lanes.
LANES = 16


def _in_double(exact: Fraction) -> float:
    """The nearest float64, infinite beyond its range."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


class Steps:
    """The arithmetic of a dtype."""

    def __init__(self, dtype: str) -> None:
        self.part = np.dtype(PARTS.get(dtype, dtype))
        self.is_complex = dtype in PARTS
        self.zero: Parts = (0.0, 0.0) if self.is_complex else (0.0,)
        self.one: Parts = (1.0, 0.0) if self.is_complex else (1.0,)

    def near(self, x: float) -> float:
        """A float64 rounded to the dtype; it is exact, or rounded to odd."""
        with np.errstate(all="ignore"):
            return float(self.part.type(x))

    def fma(self, a: float, b: float, c: float) -> float:
        """A product and a sum, rounded once."""
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            with np.errstate(all="ignore"):
                return float(np.float64(a) * np.float64(b) + np.float64(c))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return a * b + c
        return self.near(self._odd(exact) if self.part.itemsize < 8 else _in_double(exact))

    @staticmethod
    def _odd(exact: Fraction) -> float:
        """The float64 next to a fraction, with an odd last bit unless equal: safe to round."""
        x = _in_double(exact)
        if math.isfinite(x) and Fraction(x) != exact and not int(np.float64(x).view(np.int64)) & 1:
            x = math.nextafter(x, math.inf if Fraction(x) < exact else -math.inf)
        return x

    def add(self, a: float, b: float) -> float:
        """A sum."""
        return self.near(a + b)  # float64 has room for two of float32: no second rounding shows

    def times(self, a: float, b: float) -> float:
        """A product."""
        return self.near(a * b)

    def over(self, a: float, b: float) -> float:
        """A quotient."""
        with np.errstate(all="ignore"):
            return float(self.part.type(a) / self.part.type(b))

    def root(self, a: float) -> float:
        """A square root."""
        with np.errstate(all="ignore"):
            return float(np.sqrt(self.part.type(a)))

    def plus(self, s: Parts, a: Parts, b: Parts) -> Parts:
        """S + a b, the steps of the op matmul."""
        if not self.is_complex:
            return (self.fma(a[0], b[0], s[0]),)
        re = self.fma(-a[1], b[1], self.fma(a[0], b[0], s[0]))
        return re, self.fma(a[1], b[0], self.fma(a[0], b[1], s[1]))

    def minus(self, s: Parts, a: Parts, b: Parts) -> Parts:
        """S - a b."""
        return self.plus(s, tuple(-p for p in a), b)

    def inner(self, s: Parts, a: Parts, b: Parts) -> Parts:
        """S + conj(a) b."""
        if not self.is_complex:
            return self.plus(s, a, b)
        re = self.fma(a[1], b[1], self.fma(a[0], b[0], s[0]))
        return re, self.fma(-a[1], b[0], self.fma(a[0], b[1], s[1]))

    def square(self, s: float, a: Parts) -> float:
        """S + |a|^2."""
        for p in a:
            s = self.fma(p, p, s)
        return s

    def conj(self, a: Parts) -> Parts:
        """The conjugate."""
        return (a[0], -a[1]) if self.is_complex else a

    def shrunk(self, a: Parts, r: float) -> Parts:
        """The quotient by a real number."""
        return tuple(self.over(p, r) for p in a)

    def quotient(self, a: Parts, b: Parts) -> Parts:
        """The quotient; of complex numbers Smith's."""
        if not self.is_complex:
            return self.shrunk(a, b[0])
        if abs(b[0]) >= abs(b[1]):
            r = self.over(b[1], b[0])
            d = self.fma(b[1], r, b[0])
            return self.over(self.fma(a[1], r, a[0]), d), self.over(self.fma(-a[0], r, a[1]), d)
        r = self.over(b[0], b[1])
        d = self.fma(b[0], r, b[1])
        return self.over(self.fma(a[0], r, a[1]), d), self.over(self.fma(a[1], r, -a[0]), d)

    def size(self, a: Parts) -> float:
        """|re| + |im|."""
        return self.add(abs(a[0]), abs(a[1])) if self.is_complex else abs(a[0])

    def of(self, re: float, im: float) -> Parts:
        """A number of its parts."""
        return (re, im) if self.is_complex else (re,)

    def imag(self, a: Parts) -> float:
        """The imaginary part."""
        return a[1] if self.is_complex else 0.0

    def tree(self, sums: list[Parts]) -> Parts:
        """The tree of the lanes' sums."""
        half = len(sums)
        while half := half // 2:
            sums = [
                tuple(self.add(p, q) for p, q in zip(sums[i], sums[i + half], strict=True))
                for i in range(half)
            ]
        return sums[0]


def power_below(s: Steps, most: float) -> float:
    """The power of two at or below a number, the smallest normal one below that."""
    smallest = float(np.finfo(s.part).smallest_normal)
    return 2.0 ** (math.frexp(most)[1] - 1) if most >= smallest else smallest


def reflector(s: Steps, column: list[Parts], first: int) -> tuple[float, Parts, list[Parts]]:
    """The new diagonal, tau, and v behind its 1, of which all is 0 if tau is."""
    alpha = column[first]
    most = max((abs(p) for a in column[first:] for p in a if not math.isnan(p)), default=0.0)
    power = power_below(s, most)
    squares = [(0.0,)] * LANES
    for i in range(first + 1, len(column)):
        lane = i % LANES
        squares[lane] = (s.square(squares[lane][0], s.shrunk(column[i], power)),)
    below = s.tree(list(squares))[0]
    if below == 0 and s.imag(alpha) == 0:
        return alpha[0], s.zero, [s.zero] * (len(column) - first - 1)
    small = s.shrunk(alpha, power)
    length = -math.copysign(s.root(s.square(below, small)), alpha[0])
    tau = s.of(s.over(s.add(length, -small[0]), length), s.over(-s.imag(small), length))
    head = s.of(s.add(small[0], -length), s.imag(small))
    rest = [s.quotient(s.shrunk(x, power), head) for x in column[first + 1 :]]
    return s.times(power, length), tau, rest
