"""Factorizations of small matrices as ``docs/ops.md`` defines them, in exact steps rounded once.

A number is a tuple of its parts, one or two Python floats. Each step is made of fractions and
rounded to the dtype, so that only one result is right.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .formats import PARTS
from .near import Expectation, Only
from .schur import schur
from .values import HostArray

Parts = tuple[float, ...]
Matrix = list[list[Parts]]

_LANES = 16
_SWEEPS = 60


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


def _read(x: HostArray) -> Matrix:
    if x.dtype.kind == "c":
        return [[(float(v.real), float(v.imag)) for v in row] for row in x]
    return [[(float(v),) for v in row] for row in x]


def _written(a: Matrix, like: HostArray) -> HostArray:
    made = np.empty((len(a), len(a[0]) if a else 0), like.dtype)
    for i, row in enumerate(a):
        for j, parts in enumerate(row):
            if len(parts) == 2:
                made.real[i, j], made.imag[i, j] = parts
            else:
                made[i, j] = parts[0]
    return made


def _cholesky(s: Steps, a: Matrix) -> Matrix:
    n = len(a)
    for j in range(n):
        pivot = a[j][j][0]
        d = s.root(pivot) if pivot > 0 else math.nan
        for i in range(j + 1, n):
            a[i][j] = s.shrunk(a[i][j], d)
            a[j][i] = s.zero
        a[j][j] = s.of(d, 0.0)
        for i in range(j + 1, n):
            for c in range(j + 1, i + 1):
                a[i][c] = s.minus(a[i][c], a[i][j], s.conj(a[c][j]))
    return a


def _lu(s: Steps, a: Matrix) -> Matrix:
    n = len(a[0]) if a else 0
    for i, row in enumerate(a):
        row.append(s.of(float(i), 0.0))
    for j in range(min(len(a), n)):
        sizes = [s.size(row[j]) for row in a[j:]]
        known = [-1.0 if math.isnan(size) else size for size in sizes]
        best = j + known.index(max(known))
        a[j], a[best] = a[best], a[j]
        pivot = a[j][j]
        for row in a[j + 1 :]:
            if s.size(pivot) != 0:
                row[j] = s.quotient(row[j], pivot)
            for k in range(j + 1, n):
                row[k] = s.minus(row[k], row[j], a[j][k])
    return a


def _solved(s: Steps, lower: Matrix, a: Matrix, unit: bool) -> Matrix:
    for i, row in enumerate(a):
        for c in range(len(row)):
            for j in range(i):
                row[c] = s.minus(row[c], lower[i][j], a[j][c])
            if not unit:
                row[c] = s.quotient(row[c], lower[i][i])
    return a


def _reflector(s: Steps, column: list[Parts], first: int) -> tuple[float, Parts, Parts]:
    """The new diagonal, tau, and what the rest is divided by, or 0 if it becomes 0."""
    alpha = column[first]
    most = max((abs(p) for a in column[first:] for p in a if not math.isnan(p)), default=0.0)
    smallest = float(np.finfo(s.part).smallest_normal)
    power = 2.0 ** (math.frexp(most)[1] - 1) if most >= smallest else smallest
    squares = [(0.0,)] * _LANES
    for i in range(first + 1, len(column)):
        lane = i % _LANES
        squares[lane] = (s.square(squares[lane][0], s.shrunk(column[i], power)),)
    below = s.tree(list(squares))[0]
    if below == 0 and s.imag(alpha) == 0:
        return alpha[0], s.zero, s.zero
    norm = s.times(power, s.root(s.square(below, s.shrunk(alpha, power))))
    beta = -math.copysign(norm, alpha[0])
    tau = s.of(s.over(s.add(beta, -alpha[0]), beta), s.over(-s.imag(alpha), beta))
    return beta, tau, s.of(s.add(alpha[0], -beta), s.imag(alpha))


def _householder(s: Steps, a: Matrix) -> Matrix:
    m, n = len(a), len(a[0])
    t = [[s.zero] * n for _ in range(n)]
    for j in range(min(m, n)):
        beta, tau, head = _reflector(s, [row[j] for row in a], j)
        a[j][j] = s.of(beta, 0.0)
        for i in range(j + 1, m):
            a[i][j] = s.zero if head == s.zero else s.quotient(a[i][j], head)
        products = []
        for k in range(n):
            lanes = [s.zero] * _LANES
            for i in range(j + 1, m):
                lanes[i % _LANES] = s.inner(lanes[i % _LANES], a[i][j], a[i][k])
            whole = tuple(s.add(p, q) for p, q in zip(s.tree(lanes), a[j][k], strict=True))
            products.append(whole)
        for k in range(j + 1, n):
            factor = s.plus(s.zero, s.conj(tau), products[k])
            a[j][k] = s.minus(a[j][k], s.one, factor)
            for i in range(j + 1, m):
                a[i][k] = s.minus(a[i][k], a[i][j], factor)
        for r in range(j):
            total = s.zero
            for q in range(r, j):
                total = s.plus(total, t[r][q], s.conj(products[q]))
            t[r][j] = s.minus(s.zero, tau, total)
        t[j][j] = tau
    return a + t


def _jacobi(s: Steps, a: Matrix) -> Matrix:
    m, n = len(a), len(a[0])
    whole = a + [[s.one if i == j else s.zero for j in range(n)] for i in range(n)]
    columns = [[row[j] for row in whole] for j in range(n)]
    unit = float(np.finfo(s.part).eps)
    limit = s.times(s.add(s.root(float(m)), 4.0), unit)
    rounds = (n + 1) // 2 * 2 - 1
    sweeps, turned = 0, True
    while turned and sweeps < _SWEEPS:
        turned = False
        for r in range(rounds):
            for q in range((n + 1) // 2):
                one, other = (rounds if q == 0 else (r + q) % rounds), (r - q) % rounds
                i, j = min(one, other), max(one, other)
                if j < n:
                    turned |= _turn(s, columns[i], columns[j], m, limit)
        sweeps += 1
    count = s.of(-1.0 if turned else float(sweeps), 0.0)
    rows = [[column[i] for column in columns] for i in range(m + n)]
    return [*rows, [count] * n]


def _turn(s: Steps, x: list[Parts], y: list[Parts], m: int, limit: float) -> bool:
    """Make two columns orthogonal, unless they are."""
    squares = [[(0.0,)] * _LANES for _ in range(2)]
    inner = [s.zero] * _LANES
    for i in range(m):
        lane = i % _LANES
        for k, column in enumerate((x, y)):
            squares[k][lane] = (s.square(squares[k][lane][0], column[i]),)
        inner[lane] = s.inner(inner[lane], x[i], y[i])
    first, second = (s.tree(list(lanes))[0] for lanes in squares)
    g = s.tree(inner)
    size = s.root(s.square(0.0, g))
    if not size > s.times(s.times(limit, s.root(first)), s.root(second)):
        return False
    zeta = s.over(s.add(second, -first), s.times(2.0, size))
    far = abs(zeta)
    if far > (2.0**500 if s.part.itemsize == 8 else 2.0**60):
        tangent = s.over(0.5, far)
    else:
        tangent = s.over(1.0, s.add(far, s.root(s.fma(zeta, zeta, 1.0))))
    tangent = math.copysign(tangent, zeta)
    cosine = s.over(1.0, s.root(s.fma(tangent, tangent, 1.0)))
    sine = s.times(cosine, tangent)
    phase = s.shrunk(s.conj(g), size)
    for k in range(len(x)):
        u, v = x[k], s.plus(s.zero, phase, y[k])
        x[k] = tuple(s.fma(-sine, q, s.times(cosine, p)) for p, q in zip(u, v, strict=True))
        y[k] = tuple(s.fma(sine, p, s.times(cosine, q)) for p, q in zip(u, v, strict=True))
    return True


_FACTORS = {
    "cholesky": _cholesky,
    "lu": _lu,
    "householder": _householder,
    "jacobi": _jacobi,
    "schur": schur,
}
#: Rows and columns of the result, of those of the operand.
SHAPES = {
    "cholesky": lambda m, n: (m, n),
    "lu": lambda m, n: (m, n + 1),
    "householder": lambda m, n: (m + n, n),
    "jacobi": lambda m, n: (m + n + 1, n),
    "schur": lambda m, n: (2 * n + m + 1, n),
}


def factored(op: str, args: tuple[HostArray, ...], to: str, params: tuple[int, ...]) -> Expectation:
    """Return what an op gives for stacks (b, m, n)."""
    steps = Steps(to)
    x = args[-1]
    if op == "triangular_solve":
        shape = x.shape
        made = [
            _solved(steps, _read(lower), _read(b), params[0] == 1)
            for lower, b in zip(args[0], x, strict=True)
        ]
    else:
        shape = (x.shape[0], *SHAPES[op](*x.shape[1:]))
        made = [_FACTORS[op](steps, _read(a)) for a in x] if np.prod(shape) else []
    result = np.zeros(shape, x.dtype)
    for i, matrix in enumerate(made):
        if result.size:
            result[i] = _written(matrix, x)
    return Only(result)
