"""Lengths with a large prime factor: Bluestein 1970, a convolution with a chirp.

With c[j] = exp(-pi i j^2 / n), X[k] = c[k] sum over j of (x[j] c[j]) conj(c[k - j]), as 2 j k is
j^2 + k^2 - (k - j)^2. The sum is a cyclic convolution of a length from 2 n - 1 on, without large
primes.
"""

from __future__ import annotations

from phalanx._warm import Array, Device, DType, assign, empty, fill, view
from phalanx.namespace.elementwise import conj, multiply

from . import tables
from .transform import cut, into

_ODD = (1, 3, 5, 9, 15)


def length(n: int) -> int:
    """Return the length of the convolution: the least of 1, 3, 5, 9, 15 times a power of two."""
    least = 2 * n - 1
    return min(odd << max(0, (-(-least // odd) - 1).bit_length()) for odd in _ODD)


def bluestein(x: Array, out: Array, scale: float, *, inverse: bool) -> None:
    """Transform the last axis of complex x, which zeros follow, into that of ``out``."""
    n, kind, device = out.shape[-1], out.dtype, out.device
    m = length(n)
    chirp, other = _chirp(n, kind, device), _chirp_transformed(n, kind, device)
    first = multiply(conj(x) if inverse else x, cut(chirp, x.shape[-1]))
    turned = empty((*out.shape[:-1], m), kind, device)
    into(first, turned, 1.0, inverse=False)
    product = multiply(turned, other)
    into(product, turned, scale / m, inverse=True)
    last = multiply(cut(turned, n), chirp)
    assign(out, conj(last) if inverse else last)


def _chirp(n: int, kind: DType, device: Device) -> Array:
    def make() -> Array:
        import numpy as np

        from .roots import roots

        cosine, sine = roots(2 * n)
        j = np.arange(n)
        places = j * j % (2 * n)
        return tables.upload(cosine[places], sine[places], kind, device)

    return tables.kept("chirp", n, kind, device, make)


def _chirp_transformed(n: int, kind: DType, device: Device) -> Array:
    """The transform of the conjugate chirp, which goes on backwards from the end."""

    def make() -> Array:
        m = length(n)
        forward = conj(_chirp(n, kind, device))
        gap = empty((m,), kind, device)
        fill(gap, 0)
        assign(cut(gap, n), forward)
        if n > 1:
            assign(view(gap, (n - 1,), (-1,), m - 1), view(forward, (n - 1,), (1,), 1))
        turned = empty((m,), kind, device)
        into(gap, turned, 1.0, inverse=False)
        return turned

    return tables.kept("turned chirp", n, kind, device, make)
