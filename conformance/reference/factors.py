"""Factorizations of small matrices as ``docs/ops.md`` defines them, in exact steps rounded once.

A number is a tuple of its parts, one or two Python floats. Each step is made of fractions and
rounded to the dtype, so that only one result is right.
"""

from __future__ import annotations

import math

import numpy as np

from .eigh import eigh
from .near import Expectation, Only
from .schur import schur
from .schur_real import real_schur
from .steps import (
    LANES,
    Line,
    Matrix,
    Numbers,
    Parts,
    Steps,
    line_of,
    numbers_of,
    power_below,
    reflector,
)
from .values import HostArray

_SWEEPS = 60


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


def _householder(s: Steps, a: Matrix) -> Matrix:
    m, n = len(a), len(a[0])
    t = [[s.zero] * n for _ in range(n)]
    for j in range(min(m, n)):
        beta, tau, rest = reflector(s, [row[j] for row in a], j)
        a[j][j] = s.of(beta, 0.0)
        for i in range(j + 1, m):
            a[i][j] = rest[i - j - 1]
        products = []
        for k in range(n):
            lanes = [s.zero] * LANES
            for i in range(j + 1, m):
                lanes[i % LANES] = s.inner(lanes[i % LANES], a[i][j], a[i][k])
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
    columns = [line_of([row[j] for row in whole]) for j in range(n)]
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
    rows = [list(row) for row in zip(*map(numbers_of, columns), strict=True)]
    return [*rows, [count] * n]


def _turn(s: Steps, x: Line, y: Line, m: int, limit: float) -> bool:
    """Make the first m elements of two columns orthogonal, unless they are."""
    first, second, g = _products(s, [p[:m] for p in x], [p[:m] for p in y])
    power = power_below(s, max(abs(part) for part in g))
    size = s.times(power, s.root(s.square(0.0, s.shrunk(g, power))))
    least = power_below(s, 0.0) / float(np.finfo(s.part).eps)
    apart = size > s.times(s.times(limit, s.root(first)), s.root(second))
    if not (first > least and second > least and apart):
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
    x[:], y[:] = s.turned(x, s.multiple(phase, y), cosine, sine)
    return True


def _products(s: Steps, x: Line, y: Line) -> tuple[float, float, Parts]:
    """The squares of two columns and their inner product, each a tree of lanes."""
    squares: list[Numbers] = [[0.0] * LANES for _ in range(2)]
    inner: Line = [[0.0] * LANES for _ in x]
    for first in range(0, len(x[0]), LANES):
        u, v = ([p[first : first + LANES] for p in column] for column in (x, y))
        count = len(u[0])
        for lanes, column in zip(squares, (u, v), strict=True):
            for p in column:
                lanes[:count] = s.fmas(p, p, lanes[:count])
        added = s.inner_lines([lanes[:count] for lanes in inner], u, v)
        for lanes, new in zip(inner, added, strict=True):
            lanes[:count] = new
    one, other = (s.tree([(p,) for p in lanes])[0] for lanes in squares)
    return one, other, s.tree(numbers_of(inner))


def _schur(s: Steps, a: Matrix) -> Matrix:
    return schur(s, a) if s.is_complex else real_schur(s, a)


_FACTORS = {
    "cholesky": _cholesky,
    "lu": _lu,
    "householder": _householder,
    "jacobi": _jacobi,
    "eigh": eigh,
    "schur": _schur,
}
#: Rows and columns of the result, of those of the operand.
SHAPES = {
    "cholesky": lambda m, n: (m, n),
    "lu": lambda m, n: (m, n + 1),
    "householder": lambda m, n: (m + n, n),
    "jacobi": lambda m, n: (m + n + 1, n),
    "eigh": lambda m, n: (m + 2, n),
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
