"""Schur's form as ``docs/ops.md`` defines it, in the steps of ``factors``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .steps import Matrix, Parts, Steps

SWEEPS_A_ROW = 30
FAR = 2.0**40


def schur(s: Steps, a: Matrix) -> Matrix:
    """T, Q, eigenvectors of T and the number of sweeps, of complex matrices."""
    n = len(a)
    form = hessenberg(s, a)
    last, sweeps = _triangle(s, form)
    count = s.of(-1.0 if last > 0 else float(sweeps), 0.0)
    return [*form, *_vectors(s, form[:n]), [count] * n]


def hessenberg(s: Steps, a: Matrix) -> Matrix:
    """The form without what is below the diagonal after next, and Q."""
    n = len(a)
    unit = [[s.one if i == j else s.zero for j in range(n)] for i in range(n)]
    form = [list(row) for row in (*a, *unit)]
    for k in range(n - 2):
        for i in range(n - 1, k + 1, -1):
            _rotate(s, form, i - 1, k, n, form[i - 1][k], form[i][k])
            form[i][k] = s.zero
    return form


def _triangle(s: Steps, form: Matrix) -> tuple[int, int]:
    """What is left above 0, and the number of sweeps."""
    n = len(form[0])
    sweeps, tries, last = 0, 0, n - 1
    while last > 0 and sweeps < SWEEPS_A_ROW * max(n, 10):
        first = block_of(s, form, last)
        if first > 0:
            form[first][first - 1] = s.zero
        if first == last:
            last, tries = last - 1, 0
            continue
        _sweep(s, form, first, last, tries)
        sweeps, tries = sweeps + 1, tries + 1
    return last, sweeps


def normal(s: Steps) -> float:
    """The smallest normal number."""
    return float(np.finfo(s.part).smallest_normal)


def power_of(s: Steps, *numbers: Parts) -> float:
    """The power of two at or below the largest part."""
    most = max(abs(p) for a in numbers for p in a)
    return 2.0 ** (math.frexp(most)[1] - 1) if most >= normal(s) else normal(s)


def _largest(a: Parts) -> float:
    return max(abs(p) for p in a)


def _difference(s: Steps, a: Parts, b: Parts) -> Parts:
    return tuple(s.add(p, -q) for p, q in zip(a, b, strict=True))


def _rotate(s: Steps, form: Matrix, k: int, c: int, r: int, f: Parts, g: Parts) -> None:
    """Turn rows k and k + 1 from column c on, then these columns of rows above r and of Q."""
    if s.size(g) == 0:
        return
    power = power_of(s, f, g)
    length = s.root(s.square(s.square(0.0, s.shrunk(f, power)), s.shrunk(g, power)))
    p, q = (s.shrunk(s.shrunk(x, power), length) for x in (f, g))
    upper, lower = form[k], form[k + 1]
    n = len(upper)
    for j in range(c, n):
        u, v = upper[j], lower[j]
        upper[j] = s.inner(s.inner(s.zero, p, u), q, v)
        lower[j] = s.minus(s.plus(s.zero, p, v), q, u)
    for row in (*form[:r], *form[n:]):
        u, v = row[k], row[k + 1]
        row[k] = s.plus(s.plus(s.zero, u, p), v, q)
        row[k + 1] = s.inner(s.inner(s.zero, p, v), tuple(-x for x in q), u)


def block_of(s: Steps, form: Matrix, last: int) -> int:
    """The row at which the block that ends with row ``last`` begins."""
    eps = float(np.finfo(s.part).eps)
    for first in range(last, 0, -1):
        below = s.size(form[first][first - 1])
        near = s.add(s.size(form[first - 1][first - 1]), s.size(form[first][first]))
        if not (below > s.times(eps, near) and below > normal(s)):
            return first
    return 0


def _sweep(s: Steps, form: Matrix, first: int, last: int, tries: int) -> None:
    (p, q), (r, t) = (form[last - 1][last - 1 : last + 1], form[last][last - 1 : last + 1])
    shift = _shift(s, p, q, r, t)
    if tries % 10 == 9:
        shift = s.of(s.add(t[0], s.times(0.75, s.size(r))), s.imag(t))
    for k in range(first, last):
        c = k if k == first else k - 1
        f, g = form[k][c], form[k + 1][c]
        if k == first:
            f = _difference(s, f, shift)
        _rotate(s, form, k, c, min(k + 3, last + 1), f, g)
        if k > first:
            form[k + 1][c] = s.zero


def _root(s: Steps, d: Parts) -> Parts:
    """The square root with a real part that is not negative."""
    power = power_of(s, d)
    length = s.times(power, s.root(s.square(0.0, s.shrunk(d, power))))
    t = s.root(s.add(s.times(0.5, length), s.times(0.5, abs(d[0]))))
    u = 0.0 if t == 0 else s.over(s.times(0.5, s.imag(d)), t)
    return s.of(t, u) if d[0] >= 0 else s.of(abs(u), math.copysign(t, s.imag(d)))


def _shift(s: Steps, p: Parts, q: Parts, r: Parts, t: Parts) -> Parts:
    """The eigenvalue of (p q; r t) that is nearer to t."""
    half = tuple(s.add(s.times(0.5, x), -s.times(0.5, y)) for x, y in zip(p, t, strict=True))
    power = power_of(s, half, q, r)
    half = s.shrunk(half, power)
    product = s.plus(s.zero, s.shrunk(q, power), s.shrunk(r, power))
    root = _root(s, s.plus(product, half, half))
    one = tuple(s.add(x, y) for x, y in zip(half, root, strict=True))
    other = _difference(s, half, root)
    divisor = one if s.size(one) >= s.size(other) else other
    if s.size(divisor) == 0:
        return t
    less = tuple(s.times(x, power) for x in s.quotient(product, divisor))
    return _difference(s, t, less)


def _vectors(s: Steps, t: Matrix) -> Matrix:
    """The eigenvectors of the upper triangle, in columns."""
    n = len(t)
    most = max(_largest(a) for i, row in enumerate(t) for a in row[i:])
    least = max(s.times(float(np.finfo(s.part).eps), most), normal(s))
    made = [[s.one if i == j else s.zero for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(k - 1, -1, -1):
            total = s.zero
            for j in range(i + 1, k + 1):
                total = s.minus(total, t[i][j], made[j][k])
            divisor = _difference(s, t[i][i], t[k][k])
            if s.size(divisor) < least:
                divisor = s.of(least, 0.0)
            made[i][k] = s.quotient(total, divisor)
            if _largest(made[i][k]) > FAR:
                power = power_of(s, made[i][k])
                for j in range(i, k + 1):
                    made[j][k] = s.shrunk(made[j][k], power)
    return made
