"""The row of the Fourier transform, and the passes that a length is made of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .dtypes import COMPLEX
from .row import Bound, Op, Signature, Structure

#: The largest prime that is a pass of its own.
LARGEST_RADIX = 251
#: The chains of such a pass are summed in blocks of so many.
PRIME_BLOCK = 8
#: A pass takes so many bits of a param, and a param has so many passes.
RADIX_BITS, PASSES_PER_PARAM = 8, 7
#: Odd radices with a butterfly of their own; other primes take their roots from the table.
OWN_RADICES = (1, 2, 3, 4, 5, 7, 8)


#: Shorter real rows are transformed as complex ones, which is as fast and more accurate.
SHORTEST_OF_PAIRS = 200


def goes_by_pairs(n: int) -> bool:
    """Return whether a real row of n numbers is transformed as n / 2 complex ones."""
    return n % 2 == 0 and n >= SHORTEST_OF_PAIRS


@lru_cache(maxsize=4096)
def radices(n: int) -> tuple[int, ...] | None:
    """Return the radices of the passes for a length n >= 1, in their order.

    The odd primes from the largest on, then the powers of two: 8 as long as that leaves no 2 alone,
    else 4. ``None`` for a prime factor above `LARGEST_RADIX`.
    """
    if n == 1:
        return (1,)
    twos = (n & -n).bit_length() - 1
    rest, found, prime = n >> twos, [], 3
    while rest > 1:
        if prime * prime > rest:
            prime = max(prime, rest)
        if prime > LARGEST_RADIX:
            return None
        while rest % prime == 0:
            found.append(prime)
            rest //= prime
        prime += 2
    found.reverse()
    if twos == 1:
        return (*found, 2)
    fours = -twos % 3
    return (*found, *(4,) * fours, *(8,) * ((twos - 2 * fours) // 3))


def packed(passes: Iterable[int]) -> tuple[int, ...]:
    """Return radices as the params of the op, the first one in the lowest bits."""
    every = list(passes)
    return tuple(
        sum(r << RADIX_BITS * i for i, r in enumerate(every[at : at + PASSES_PER_PARAM]))
        for at in range(0, len(every), PASSES_PER_PARAM)
    )


def unpacked(params: Iterable[int]) -> tuple[int, ...]:
    """Return the radices that params stand for."""
    found = []
    for word in params:
        digits = (word >> RADIX_BITS * i for i in range(PASSES_PER_PARAM))
        found += [digit % (1 << RADIX_BITS) for digit in digits if digit]
    return tuple(found)


def table_length(passes: Iterable[int]) -> int:
    """Return how many numbers the table of twiddles has for these passes."""
    count, m = 0, 1
    for r in passes:
        count += ((r - 1) * m if m > 1 else 0) + (0 if r in OWN_RADICES else r)
        m *= r
    return count


_BOUND = Bound({}, "grows with log n: Higham 2002, 24.1, for the passes that the order states")


def _fourier(name: str, summary: str, order: str) -> Op:
    signatures = tuple(Signature((d, d), (d,)) for d in COMPLEX)
    return Op(name, Structure.FOURIER, signatures, summary, _BOUND, order=order, in_place=False)


ROWS: tuple[Op, ...] = (
    _fourier(
        "fft",
        "the discrete Fourier transform (..., n) along the last axis of the first operand "
        "(..., m), m <= n, which zeros follow; the second has the twiddles; params: inverse, "
        "scale, radices",
        "passes from the first radix on, decimated in time, each by the butterflies of "
        "core/scalar/fourier.h; times scale at the end",
    ),
    _fourier(
        "fft_from_pairs",
        "the first half (..., m + 1) of the transform of 2 m real numbers, from that of m pairs of "
        "them (..., m) and exp(-pi i k / m) for k in (m + 1,); params: half the scale",
        "sums and products in pairs, rounded about once, times the param",
    ),
    _fourier(
        "fft_to_pairs",
        "the transform (..., m) of pairs of real numbers, from the first half of theirs (..., k), "
        "k <= m + 1, which zeros follow, and exp(-pi i k / m) for k in (m + 1,)",
        "sums and products in pairs, rounded about once",
    ),
)
