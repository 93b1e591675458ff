"""The arithmetic of factorizations: exact steps, each rounded once."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from ctypes import c_float
from functools import cache
from itertools import repeat
from operator import neg

import numpy as np
from cffi import FFI

from .formats import PARTS

Parts = tuple[float, ...]
Matrix = list[list[Parts]]
#: Real numbers, and such of a row or column: a list for each part of its numbers.
Numbers = list[float]
Line = list[Numbers]

#: A sum along rows has so many lanes.
LANES = 16


def _whole(x: float) -> tuple[int, int]:
    """An integer and an exponent of two whose product is a finite number."""
    digits, exponent = math.frexp(x)
    return int(digits * 2.0**53), exponent - 53


def _exact_fma(a: float, b: float, c: float) -> float:
    """The float64 nearest to a b + c, infinite beyond its range."""
    (m, i), (n, j), (addend, k) = _whole(a), _whole(b), _whole(c)
    low = min(i + j, k)
    total = (m * n << i + j - low) + (addend << k - low)
    if not total:
        return a * b + c
    try:  # Python rounds a quotient of integers, and a large one, once
        return float(total << low) if low >= 0 else total / (1 << -low)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _odd_fma(a: float, b: float, c: float) -> float:
    """The float64 next to a b + c of float32 numbers, its last bit odd unless equal.

    Rounded to float32, it is the fma (Boldo and Melquiond, 2008).
    """
    product = a * b  # exact, as is what the sum leaves (Knuth's TwoSum)
    total = product + c
    back = total - product
    left = (product - (total - back)) + (c - back)
    if left and not _whole(total)[0] & 1:
        return math.nextafter(total, math.copysign(math.inf, left))
    return total


def _python_fma(a: float, b: float, c: float) -> float:
    if math.isfinite(a) and math.isfinite(b):
        return _exact_fma(a, b, c) if math.isfinite(c) else c
    return a * b + c


def _python_fmaf(a: float, b: float, c: float) -> float:
    if math.isfinite(a) and math.isfinite(b) and math.isfinite(c):
        return c_float(_odd_fma(a, b, c)).value
    return a * b + c


#: Operands of float32 and of float64 whose fma is another if the product is rounded, if the sum is
#: rounded twice, if a subnormal result is, or if the product overflows on the way.
_TELLING = {
    "float32": (
        (1.0 + 2.0**-12, 1.0 - 2.0**-12, -1.0),
        (2.0**-24 + 2.0**-47, 1.0 - 2.0**-23, 1.0 + 2.0**-23),
        (3.0 * 2.0**-75, 2.0**-76, 5.0 * 2.0**-149),
        (2.0**64, 2.0**64, -(2.0**127)),
    ),
    "float64": (
        (1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0),
        (2.0**-53 + 2.0**-105, 1.0 - 2.0**-52, 1.0 + 2.0**-52),
        (3.0 * 2.0**-540, 2.0**-535, 5.0 * 2.0**-1074),
        (2.0**512, 2.0**512, -(2.0**1023)),
    ),
}
_Fma = Callable[[float, float, float], float]


@cache
def fma_of(dtype: str) -> _Fma:
    """Return the fma of float32 or float64: the C library's, which is faster, if it rounds once."""
    name, own = ("fmaf", _python_fmaf) if dtype == "float32" else ("fma", _python_fma)
    ffi = FFI()
    ffi.cdef("float fmaf(float, float, float); double fma(double, double, double);")
    try:
        found: _Fma = getattr(ffi.dlopen(None), name)
    except (AttributeError, OSError):
        return own
    rounds_once = all(found(*numbers) == own(*numbers) for numbers in _TELLING[dtype])
    return found if rounds_once else own


class Steps:
    """The arithmetic of float32 or float64, or of complex numbers of such parts.

    ``fma(a, b, c)`` is a b + c, rounded once.
    """

    def __init__(self, dtype: str) -> None:
        self.part = np.dtype(PARTS.get(dtype, dtype))
        self.is_complex = dtype in PARTS
        self.zero: Parts = (0.0, 0.0) if self.is_complex else (0.0,)
        self.one: Parts = (1.0, 0.0) if self.is_complex else (1.0,)
        self._single = self.part == np.float32
        self.fma = fma_of(self.part.name)

    def near(self, x: float) -> float:
        """A float64 rounded to the dtype; it is exact, or rounded to odd."""
        return c_float(x).value if self._single else x

    def all_near(self, numbers: Numbers) -> Numbers:
        """Each number rounded to the dtype, as `near` does."""
        return array("f", numbers).tolist() if self._single else numbers

    # float64 has room for two of float32: no second rounding of a sum, product, quotient or root
    # shows (Figueroa, 1995).

    def add(self, a: float, b: float) -> float:
        """A sum."""
        return self.near(a + b)

    def times(self, a: float, b: float) -> float:
        """A product."""
        return self.near(a * b)

    def over(self, a: float, b: float) -> float:
        """A quotient."""
        if b:
            return self.near(a / b)
        return a * math.copysign(math.inf, b)  # and NaN if a is 0, too

    def root(self, a: float) -> float:
        """A square root."""
        return self.near(math.sqrt(a)) if a >= 0 else math.nan

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

    def fmas(self, a: Numbers | float, b: Numbers, c: Numbers | float) -> Numbers:
        """A b + c of numbers, of which a or c may be one for all."""
        every_a = repeat(a) if isinstance(a, float) else a
        every_c = repeat(c) if isinstance(c, float) else c
        return list(map(self.fma, every_a, b, every_c))

    def inner_lines(self, s: Line, a: Line, b: Line) -> Line:
        """S + conj(a) b, number by number: as `inner`."""
        if not self.is_complex:
            return [self.fmas(a[0], b[0], s[0])]
        re = self.fmas(a[1], b[1], self.fmas(a[0], b[0], s[0]))
        less = list(map(neg, a[1]))
        return [re, self.fmas(less, b[0], self.fmas(a[0], b[1], s[1]))]

    def multiple(self, a: Parts, b: Line) -> Line:
        """A b, as `plus` gives it for s = 0."""
        if not self.is_complex:
            return [self.fmas(a[0], b[0], 0.0)]
        re = self.fmas(-a[1], b[1], self.fmas(a[0], b[0], 0.0))
        return [re, self.fmas(a[1], b[0], self.fmas(a[0], b[1], 0.0))]

    def turned(self, x: Line, y: Line, cosine: float, sine: float) -> tuple[Line, Line]:
        """The lines cosine x - sine y and sine x + cosine y."""
        first, second = [], []
        for p, q in zip(x, y, strict=True):
            first.append(self.fmas(-sine, q, self.all_near([cosine * v for v in p])))
            second.append(self.fmas(sine, p, self.all_near([cosine * v for v in q])))
        return first, second

    def tree(self, sums: list[Parts]) -> Parts:
        """The tree of the lanes' sums."""
        half = len(sums)
        while half := half // 2:
            pairs = zip(sums[:half], sums[half:], strict=True)
            sums = [tuple(map(self.add, p, q)) for p, q in pairs]
        return sums[0]


def line_of(numbers: list[Parts]) -> Line:
    """Numbers by their parts."""
    return [list(part) for part in zip(*numbers, strict=True)]


def numbers_of(line: Line) -> list[Parts]:
    """The numbers of a line."""
    return list(zip(*line, strict=True))


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
