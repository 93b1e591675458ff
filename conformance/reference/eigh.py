"""Eigenvalues of Hermitian matrices as ``docs/ops.md`` defines them, in steps rounded once."""

from __future__ import annotations

import math

import numpy as np

from .steps import LANES, Line, Matrix, Parts, Steps, line_of, numbers_of, reflector

_SWEEPS_A_ROW = 30


def eigh(s: Steps, a: Matrix) -> Matrix:
    """Eigenvectors in rows, eigenvalues, and the number of sweeps; reads the lower triangle."""
    n = len(a)
    form = [
        [
            s.of(a[i][i][0], 0.0) if i == j else a[i][j] if i > j else s.conj(a[j][i])
            for j in range(n)
        ]
        for i in range(n)
    ]
    vectors, factors, beside = [], [], []
    for k in range(n - 1):
        row = [s.conj(x) for x in form[k]]
        beta, tau, rest = reflector(s, row, k + 1)
        vectors.append([s.zero] * (k + 1) + [s.one, *rest])
        factors.append(tau)
        beside.append(beta)
        if tau != s.zero:
            _reduce(s, form, k, vectors[-1], tau)
    diagonal = [form[i][i][0] for i in range(n)]
    columns = zip(*_product(s, n, vectors, factors), strict=True)
    lines = [line_of(list(column)) for column in columns]
    count = _diagonal(s, diagonal, beside, lines)
    rows = [numbers_of(line) for line in lines]
    return [*rows, [s.of(x, 0.0) for x in diagonal], [s.of(count, 0.0)] * n]


def _reduce(s: Steps, form: Matrix, k: int, v: list[Parts], tau: Parts) -> None:
    """Subtract v w^H + w v^H behind row k."""
    behind = range(k + 1, len(form))
    p, lanes = [s.zero] * len(form), [s.zero] * LANES
    for i in behind:
        for j in behind:
            p[i] = s.inner(p[i], form[j][i], v[j])
        lanes[i % LANES] = s.inner(lanes[i % LANES], v[i], p[i])
    half = s.times(s.times(0.5, s.square(0.0, tau)), s.tree(lanes)[0])
    w = [s.minus(s.plus(s.zero, tau, x), s.of(half, 0.0), y) for x, y in zip(p, v, strict=True)]
    for j in behind:
        for i in behind:
            less = s.minus(form[j][i], v[j], s.conj(w[i]))
            form[j][i] = s.minus(less, w[j], s.conj(v[i]))


def _product(s: Steps, n: int, vectors: Matrix, factors: list[Parts]) -> Matrix:
    """The product of the reflectors."""
    q = [[s.one if i == j else s.zero for j in range(n)] for i in range(n)]
    for k in range(n - 2, -1, -1):
        v = vectors[k]
        for c in range(k + 1, n) if factors[k] != s.zero else ():
            total = s.zero
            for i in range(k + 1, n):
                total = s.inner(total, v[i], q[i][c])
            total = s.plus(s.zero, factors[k], total)
            for i in range(k + 1, n):
                q[i][c] = s.minus(q[i][c], v[i], total)
    return q


def _diagonal(s: Steps, d: list[float], e: list[float], rows: list[Line]) -> float:
    """QR until nothing is beside the diagonal: the sweeps, or -1."""
    eps, normal = float(np.finfo(s.part).eps), float(np.finfo(s.part).smallest_normal)
    sweeps, last = 0, len(d) - 1
    while last > 0 and sweeps < _SWEEPS_A_ROW * max(len(d), 10):
        first = last
        while first > 0:
            near = s.add(abs(d[first - 1]), abs(d[first]))
            if not (abs(e[first - 1]) > s.times(eps, near) and abs(e[first - 1]) > normal):
                e[first - 1] = 0.0
                break
            first -= 1
        if first == last:
            last -= 1
            continue
        _sweep(s, d, e, rows, first, last)
        sweeps += 1
    return -1.0 if last > 0 else float(sweeps)


def _sweep(
    s: Steps, d: list[float], e: list[float], rows: list[Line], first: int, last: int
) -> None:
    x = s.over(s.add(d[last - 1], -d[last]), s.times(2.0, e[last - 1]))
    root = math.copysign(s.root(s.fma(x, x, 1.0)), x)
    g = s.add(s.add(d[first], -d[last]), s.over(e[last - 1], s.add(x, root)))
    cosine, sine, p = 1.0, 1.0, 0.0
    for i in range(first, last):
        f, b = s.times(sine, e[i]), s.times(cosine, e[i])
        cosine, sine, length = _turn(s, g, f)
        if i > first:
            e[i - 1] = length
        here = s.add(d[i], -p)
        t = s.fma(s.add(d[i + 1], -here), sine, s.times(s.times(2.0, cosine), b))
        p = s.times(sine, t)
        d[i] = s.add(here, p)
        g = s.fma(cosine, t, -b)
        rows[i], rows[i + 1] = s.turned(rows[i], rows[i + 1], cosine, -sine)
    d[last] = s.add(d[last], -p)
    e[last - 1] = g


def _turn(s: Steps, g: float, f: float) -> tuple[float, float, float]:
    """Cosine and sine of the rotation that makes (g, f) (length, 0), and the length."""
    if f == 0:
        return 1.0, 0.0, g
    most = max(abs(x) for x in (g, f))
    normal = float(np.finfo(s.part).smallest_normal)
    power = 2.0 ** (math.frexp(most)[1] - 1) if most >= normal else normal
    y, z = s.over(g, power), s.over(f, power)
    length = s.root(s.fma(z, z, s.times(y, y)))
    return s.over(y, length), s.over(z, length), s.times(power, length)
