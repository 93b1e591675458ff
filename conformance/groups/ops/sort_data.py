"""Rows on which a fast sort has to change its way: bad pivots, many pieces, long tails of them."""

from __future__ import annotations

import numpy as np
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray

#: Rows at which sorts change their way: two pieces more than a number of 16 bits counts, twice as
#: many, and more than 256 pieces of 4096; each ends with a piece that is not whole.
LONG = (65_549, 70_013, 139_277)
LONGEST = 1_052_687
#: Rows of bad pivots: what is left when a sort gives up is short, or it is long.
BAD = (400, 600, 1500)
#: Of a row below 2048, a quicksort of this house takes the median of so many for a pivot.
_SAMPLE = 16
#: Its choice of them (kernels_cpu/src/sort/sort_quick.inc.h): numbers of a linear congruential
#: generator, begun with a multiple of the length (Knuth, TAOCP 3, 6.4: multiplicative hashing).
_BEGIN, _FACTOR, _STEP = 2_654_435_769, 1_664_525, 1_013_904_223
_WORD = (1 << 32) - 1
#: So many neighbours differ in their lowest byte alone, others in every byte of a key.
_ALIKE = 4
_FAR = {"int32": 4 * 1_400_003, "int64": 4 * 6_000_000_000_000_011}


def bad_pivots(name: str, n: int, lanes: int = 0) -> HostArray:
    """Return a row (n,) of which each pivot leaves out a few elements: quicksort is quadratic.

    What is sampled becomes the least of what is left, up to the median, which is the pivot
    (McIlroy 1999, A killer adversary for quicksort, with the samples known beforehand). What is
    left keeps its order, but that with ``lanes`` the first partition turns round that of vectors.
    """
    ranks = np.full(n, -1, np.int64)
    left, rank = np.arange(n), 0
    while len(left) > 2 * _SAMPLE:
        sampled = left[_sampled(len(left))]
        known = sampled[ranks[sampled] >= 0]
        low = [*known[np.argsort(ranks[known])], *sampled[ranks[sampled] < 0]]
        for place in low[: _SAMPLE // 2 + 1]:
            if ranks[place] < 0:
                ranks[place], rank = rank, rank + 1
        pivot = ranks[low[_SAMPLE // 2]]
        first = lanes and len(left) == n
        left = left[(ranks[left] < 0) | (ranks[left] >= pivot)]
        if first:
            left = left[np.argsort(-(left // lanes), kind="stable")]
    rest = np.flatnonzero(ranks < 0)
    ranks[rest] = np.arange(rank, n)[::-1]
    apart = _FAR[name] * (ranks // _ALIKE) + ranks % _ALIKE
    return apart.astype(host_dtype(name))


def bytes_that_vary_late(name: str, n: int, rng: np.random.Generator) -> HostArray:
    """Return a row (bytes, n) for each byte of a key: it varies in the last eighth alone.

    The other bytes are those of one number, so a sort that looks at samples, or at what the
    first elements have in common, takes it for one that does not matter.
    """
    kind = host_dtype(name)
    width = kind.itemsize
    keys = np.tile(rng.integers(0, 256, width, np.uint8), (width, n, 1))
    late = n - n // 8
    for byte in range(width):
        keys[byte, late:, byte] = rng.integers(0, 256, n - late, np.uint8)
    return keys.view(kind)[..., 0]


def _sampled(n: int) -> list[int]:
    """Return the places that are sampled of n elements."""
    step, jitter = n // _SAMPLE, n * _BEGIN & _WORD
    found: list[int] = []
    for i in range(_SAMPLE):
        found.append(i * step + (jitter * step >> 32))
        jitter = jitter * _FACTOR + _STEP & _WORD
    return found
