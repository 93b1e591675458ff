"""lgamma and digamma on the host, which NumPy has not: what tests compare with."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

_Floats = np.ndarray[Any, np.dtype[Any]]
#: Where Stirling's series begins.
_FAR = 20
#: Bernoulli's numbers B2, B4, ...
_BERNOULLI = tuple(
    np.longdouble(n) / d
    for n, d in (
        *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510)),
        *((43867, 798), (-174611, 330)),
    )
)
#: The positive zero of digamma, in two parts (OEIS A030169).
_ZERO = (np.longdouble(1.4616321449683622), np.longdouble(9.549995429965697e-17))
_PI = np.longdouble("3.14159265358979323846264338327950288")
_EULER = np.longdouble("0.577215664901532860606512090082402431")


def lgamma(x: _Floats) -> _Floats:
    """Return ln |gamma(x)| of float64 numbers (n,): within 1 ulp, beside its zeros below 0 2^-60.

    By DLMF 5.11.1, 5.5.3 and, near 1 and 2, 5.7.3, in NumPy's ``longdouble``. At 0, -1, -2, ... and
    both infinities it is infinite.
    """
    with np.errstate(all="ignore"):
        x = np.asarray(x, np.float64).astype(np.longdouble)
        a = np.abs(x)
        z, product = _climbed(a)
        y = (z - 0.5) * (np.log(z) - 1) + (np.log(2 * _PI) - 1) / 2 - np.log(product)
        for k, b in enumerate(_BERNOULLI, 1):
            y += b / (2 * k * (2 * k - 1) * z ** (2 * k - 1))
        for whole in (1, 2):
            y = np.where(np.abs(a - whole) <= 0.25, _near(a - whole, whole), y)
        r = a - np.rint(a)
        below = np.log(_PI) - np.log(a * np.abs(np.sin(_PI * r))) - y
        y = np.where(x < 0, np.where(a < 1e-20, -np.log(a), below), y)
        y = np.where((x <= 0) & (r == 0) | np.isinf(x), np.inf, y)
    return np.asarray(y, np.float64)


def digamma(x: _Floats) -> _Floats:
    """Return the derivative of ``lgamma``, with its errors, by DLMF 5.11.2 and 5.5.4.

    It is -inf at 0, inf at -0, NaN at -1, -2, ... and -inf.
    """
    with np.errstate(all="ignore"):
        x = np.asarray(x, np.float64).astype(np.longdouble)
        a = np.where(x < 0, 1 - x, x)
        z = _climbed(a)[0]
        y = np.log(z) - 1 / (2 * z) - _tail(z)
        for k in range(_FAR):
            y -= np.where(a + k < _FAR, 1 / (a + k), 0)
        e = (a - _ZERO[0]) - _ZERO[1]
        y = np.where(np.abs(e) < 0.25, _from_zero(a, e), y)
        r = x - np.rint(x)
        y = np.where(x < 0, y - _PI / np.tan(_PI * r), y)
        y = np.where((x < 0) & (r == 0) | (x == -np.inf), np.nan, y)
        y = np.where(np.abs(x) < 1e-20, -1 / x, np.where(x == np.inf, x, y))
    return np.asarray(y, np.float64)


def _climbed(a: _Floats) -> tuple[_Floats, _Floats]:
    """Return a + n with the least n that makes it ``_FAR`` or more, and and what was climbed.

    That is a (a + 1) ... (a + n - 1).
    """
    product, n = np.ones_like(a), np.zeros_like(a)
    for k in range(_FAR):
        product *= np.where(a + k < _FAR, a + k, 1)
        n += a + k < _FAR
    return a + n, product


def _near(e: _Floats, whole: int) -> _Floats:
    """Ln gamma(whole + e) for a whole 1 or 2 and |e| <= 1/4, by its Taylor series."""
    y, power = (1 - _EULER) * e, -e
    for k in range(2, 34):
        power = power * -e
        y = y + _zeta_less_one(k) * power / k
    return y - np.log1p(e) if whole == 1 else y


@cache
def _zeta_less_one(k: int) -> Any:
    """Riemann's zeta(k) - 1 for k >= 2, by Euler's and Maclaurin's sum (DLMF 25.2.9)."""
    far = np.longdouble(_FAR)
    value = sum(np.longdouble(n) ** -k for n in range(2, _FAR)) + far ** (1 - k) / (k - 1)
    value += far**-k / 2
    factor = far ** (-k - 1) * k
    for j, b in enumerate(_BERNOULLI, 1):
        factor /= (2 * j) * (2 * j - 1)
        value += b * factor
        factor *= (k + 2 * j - 1) * (k + 2 * j) / far**2
    return value


def _tail(z: _Floats) -> _Floats:
    return sum((b / (2 * k * z ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1)), np.zeros_like(z))


def _from_zero(a: _Floats, e: _Floats) -> _Floats:
    """Digamma(a), where e is how far a is from the zero: the differences of all terms."""
    zero = _ZERO[0]
    z, z0 = a + _FAR, zero + _FAR
    grown = np.log1p(e / z0)
    y = grown + e / (2 * z * z0)
    for k, b in enumerate(_BERNOULLI, 1):
        y -= b / (2 * k * z0 ** (2 * k)) * np.expm1(-2 * k * grown)
    for k in range(_FAR):
        y += e / ((a + k) * (zero + k))
    return np.asarray(y)
