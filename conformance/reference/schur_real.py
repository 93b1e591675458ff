"""Schur's form of real matrices as ``docs/ops.md`` defines it, in the steps of ``factors``.

Numbers are floats here, those of the complex vectors pairs of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .schur import FAR, SWEEPS_A_ROW, block_of, hessenberg, normal, power_of
from .steps import Steps

if TYPE_CHECKING:
    from .steps import Matrix, Parts

Rows = list[list[float]]


def real_schur(s: Steps, a: Matrix) -> Matrix:
    """T, Q, the parts of eigenvectors of T and the number of sweeps."""
    n = len(a)
    form = [[x[0] for x in row] for row in hessenberg(s, a)]
    sweeps, tries, last = 0, 0, n - 1
    while last > 0 and sweeps < SWEEPS_A_ROW * max(n, 10):
        first = block_of(s, [[(x,) for x in row] for row in form[:n]], last)
        if first > 0:
            form[first][first - 1] = 0.0
        if last - first > 1:
            _sweep(s, form, first, last, tries)
            sweeps, tries = sweeps + 1, tries + 1
            continue
        if first < last:
            _standardize(s, form, first)
        last, tries = first - 1, 0
    count = -1.0 if last > 0 else float(sweeps)
    return [[(x,) for x in row] for row in (*form, *_vectors(s, form[:n]), [count] * n)]


def _sweep(s: Steps, form: Rows, first: int, last: int, tries: int) -> None:
    n = len(form[0])
    p, q, r, t = (form[i][j] for i in (last - 1, last) for j in (last - 1, last))
    if tries % 10 == 9:
        size = s.add(abs(r), abs(form[last - 1][last - 2]))
        p = t = s.fma(0.75, size, t)
        q, r = s.times(-0.4375, size), size
    v = _two_shifts(s, form, first, (p, q, r, t))
    for k in range(first, last):
        rows = range(k, min(k + 3, last + 1))
        if k > first:
            v = [form[i][k - 1] for i in rows] + [0.0] * (3 - len(rows))
        tau, v = _reflector(s, v)
        if k > first:
            for i in rows:
                form[i][k - 1] = v[0] if i == k else 0.0
        if tau == 0:
            continue
        for j in range(k, n):
            made = _mirrored(s, [form[i][j] for i in rows], v, tau)
            for i, x in zip(rows, made, strict=True):
                form[i][j] = x
        for row in (*form[: min(k + 4, last + 1)], *form[n:]):
            row[k : rows[-1] + 1] = _mirrored(s, row[k : rows[-1] + 1], v, tau)


def _two_shifts(s: Steps, form: Rows, first: int, corner: tuple[float, ...]) -> list[float]:
    """The first column of (H - s)(H - s') over a scale."""
    power = power_of(s, corner)
    p, q, r, t = s.shrunk(corner, power)
    half = s.add(s.times(0.5, p), -s.times(0.5, t))
    mean = s.add(s.times(0.5, p), s.times(0.5, t))
    square = s.fma(half, half, s.times(q, r))
    root = s.root(abs(square))
    if square < 0:
        re, im = s.times(power, mean), s.times(power, root)
    else:
        re, im = s.times(power, s.add(mean, -root if half > 0 else root)), 0.0
    top, under = form[first], form[first + 1]
    off = s.add(top[first], -re)
    scale = s.add(s.add(abs(off), im), abs(under[first]))
    below = s.over(under[first], scale)
    own = s.fma(off, s.over(off, scale), s.times(im, s.over(im, scale)))
    return [
        s.fma(below, top[first + 1], own),
        s.times(below, s.add(off, s.add(under[first + 1], -re))),
        s.times(below, form[first + 2][first + 1]),
    ]


def _reflector(s: Steps, v: list[float]) -> tuple[float, list[float]]:
    power = power_of(s, tuple(v))
    x, y, z = s.shrunk(tuple(v), power)
    if y == 0 and z == 0:
        return 0.0, [v[0], 0.0, 0.0]
    length = s.root(s.fma(z, z, s.fma(y, y, s.times(x, x))))
    beta = -math.copysign(length, x)
    apart = s.add(x, -beta)
    tau = s.over(s.add(beta, -x), beta)
    return tau, [s.times(power, beta), s.over(y, apart), s.over(z, apart)]


def _mirrored(s: Steps, x: list[float], v: list[float], tau: float) -> list[float]:
    """The numbers x, two or three, less v tau v^T x."""
    total = x[0]
    for factor, value in zip(v[1:], x[1:], strict=False):
        total = s.fma(factor, value, total)
    total = s.times(tau, total)
    rest = [s.fma(-factor, total, value) for factor, value in zip(v[1:], x[1:], strict=False)]
    return [s.add(x[0], -total), *rest]


def _standardize(s: Steps, form: Rows, k: int) -> None:
    n = len(form[0])
    m = [form[k][k], form[k][k + 1], form[k + 1][k], form[k + 1][k + 1]]
    m, (c, t) = _two_rows(s, m)

    def turned(u: float, v: float) -> tuple[float, float]:
        return s.fma(t, v, s.times(c, u)), s.fma(-t, u, s.times(c, v))

    for j in range(k + 2, n):
        form[k][j], form[k + 1][j] = turned(form[k][j], form[k + 1][j])
    for row in (*form[:k], *form[n:]):
        row[k], row[k + 1] = turned(row[k], row[k + 1])
    form[k][k : k + 2], form[k + 1][k : k + 2] = m[:2], m[2:]


def _length(s: Steps, a: float, b: float) -> float:
    power = power_of(s, (a, b))
    x, y = s.shrunk((a, b), power)
    return s.times(power, s.root(s.fma(y, y, s.times(x, x))))


def _two_rows(s: Steps, m: list[float]) -> tuple[list[float], tuple[float, float]]:
    """The standard form of (a b; c d), and its rotation."""
    a, b, c, d = m
    if c == 0:
        return m, (1.0, 0.0)
    if b == 0:
        return [d, -c, 0.0, a], (0.0, 1.0)
    if a == d and (b > 0) != (c > 0):
        return m, (1.0, 0.0)
    p = s.add(s.times(0.5, a), -s.times(0.5, d))
    scale = max(abs(p), abs(b), abs(c))
    z = s.fma(s.over(p, scale), p, s.times(s.over(b, scale), c))
    if not z >= s.times(4 * float(np.finfo(s.part).eps), scale):
        return _equal_rows(s, m, p)
    far = s.add(p, math.copysign(s.times(s.root(scale), s.root(z)), p))
    length = _length(s, c, far)
    made = [s.add(d, far), s.add(b, -c), 0.0, s.add(d, -s.times(s.over(b, far), c))]
    return made, (s.over(far, length), s.over(c, length))


def _equal_rows(s: Steps, m: list[float], p: float) -> tuple[list[float], tuple[float, float]]:
    """The same where the values are a pair, or nearly equal."""
    sigma = s.add(m[1], m[2])
    length = _length(s, sigma, s.times(2.0, p))
    c = s.root(s.times(0.5, s.add(1.0, s.over(abs(sigma), length))))
    t = math.copysign(1.0, sigma) * -s.over(p, s.times(length, c))
    a, b = s.fma(m[1], t, s.times(m[0], c)), s.fma(m[1], c, s.times(-m[0], t))
    u, v = s.fma(m[3], t, s.times(m[2], c)), s.fma(m[3], c, s.times(-m[2], t))
    mean = s.add(
        s.times(0.5, s.fma(u, t, s.times(a, c))), s.times(0.5, s.fma(v, c, s.times(-b, t)))
    )
    right, below = s.fma(v, t, s.times(b, c)), s.fma(u, c, s.times(-a, t))
    if below == 0 or (right != 0 and (right > 0) != (below > 0)):
        return [mean, right, below, mean], (c, t)
    e, f = s.root(abs(right)), s.root(abs(below))
    gap, over = math.copysign(s.times(e, f), below), _length(s, e, f)
    x, y = s.over(e, over), s.over(f, over)
    turn = s.fma(c, x, s.times(-t, y)), s.fma(c, y, s.times(t, x))
    return [s.add(mean, gap), s.add(right, -below), 0.0, s.add(mean, -gap)], turn


def _vectors(s: Steps, t: Rows) -> Rows:
    """The real vectors in columns; of a pair the real part, then the imaginary one."""
    n = len(t)
    most = max(abs(x) for i, row in enumerate(t) for x in row[i:])
    least = max(s.times(float(np.finfo(s.part).eps), most), normal(s))
    made = [[0.0] * n for _ in range(n)]
    pairs = Steps("complex64" if s.part.itemsize == 4 else "complex128")
    k = 0
    while k < n:
        wide = 2 if k + 1 < n and t[k + 1][k] != 0 else 1
        vector = _vector(pairs, t, k, wide, least)
        for i, value in enumerate(vector):
            made[i][k : k + wide] = value[:wide]
        k += wide
    return made


def _vector(s: Steps, t: Rows, k: int, wide: int, least: float) -> list[Parts]:
    end, im = k + wide, 0.0
    y: list[Parts] = [s.zero] * end
    y[k] = s.one
    if wide == 2:
        b, c = t[k][k + 1], t[k + 1][k]
        im = s.times(s.root(abs(b)), s.root(abs(c)))
        tall = abs(b) >= abs(c)
        y[k] = (1.0 if tall else s.over(b, im), 0.0)
        y[k + 1] = (0.0, s.over(im, b) if tall else 1.0)
    w = (t[k][k], im)
    i = k
    while i > 0:
        rows = 2 if i > 1 and t[i - 1][i - 2] != 0 else 1
        i -= rows
        right: list[Parts] = []
        for row in t[i : i + rows]:
            re = im = 0.0
            for j in range(i + rows, end):
                re, im = s.fma(-row[j], y[j][0], re), s.fma(-row[j], y[j][1], im)
            right.append((re, im))
        if rows == 1:
            y[i] = s.quotient(right[0], _apart(s, (s.add(t[i][i], -w[0]), -w[1]), least))
        else:
            y[i : i + 2] = _solved_two(s, [row[i : i + 2] for row in t[i : i + 2]], right, w, least)
        largest = max(abs(p) for value in y[i : i + rows] for p in value)
        if largest > FAR:
            power = power_of(s, (largest,))
            y[i:] = [s.shrunk(value, power) for value in y[i:]]
    return y


def _apart(s: Steps, d: Parts, least: float) -> Parts:
    return (least, 0.0) if s.size(d) < least else d


def _solved_two(s: Steps, m: Rows, y: list[Parts], w: Parts, least: float) -> list[Parts]:
    """The solution of (M - w) x = y by elimination."""
    rows = [
        [(s.add(m[0][0], -w[0]), -w[1]), (m[0][1], 0.0), y[0]],
        [(m[1][0], 0.0), (s.add(m[1][1], -w[0]), -w[1]), y[1]],
    ]
    if s.size(rows[0][0]) < s.size(rows[1][0]):
        rows.reverse()
    (head, right, own), (below, diagonal, other) = rows
    factor = s.quotient(below, head)
    d = s.minus(diagonal, factor, right)
    second = s.quotient(s.minus(other, factor, own), _apart(s, d, least))
    return [s.quotient(s.minus(own, right, second), head), second]
