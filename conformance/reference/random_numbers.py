"""Random numbers, from the paper that describes Philox and from docs/ops.md alone.

Words are Python integers and NumPy's; logarithm, root, sine and cosine have the format of
`working`, which is wider than the arithmetic of the op.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from phalanx.optable.random import TRIED

from .near import Expectation, Near, Only, digits_of, near, working
from .ulp import unit
from .values import HostArray

_MASK = (1 << 32) - 1
#: How many blocks an element has for its tries.
TRIES = 32
#: Leading bits of a word that make a number in [0, 1).
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
#: Largest errors of standard numbers in ulp before they are rounded to float16 or bfloat16.
_OWN = {
    "random_normal": {"float32": 4.0, "float64": 4.0},
    "random_exponential": {"float32": 1.0, "float64": 2.0},
}


Word = TypeVar("Word", int, HostArray)


def block(
    counter: tuple[Word, Word, Word, Word], key: tuple[int, int]
) -> tuple[Word, Word, Word, Word]:
    """Return the four words that Philox 4x32-10 makes of a counter: SC'11, section 4.3.

    Words are Python's integers, or arrays of uint64 for many counters at once.
    """
    x0, x1, x2, x3 = counter
    for turn in range(10):
        k0 = (key[0] + turn * 0x9E3779B9) & _MASK
        k1 = (key[1] + turn * 0xBB67AE85) & _MASK
        left, right = x0 * 0xD2511F53, x2 * 0xCD9E8D57
        x0, x1 = (right >> 32) ^ x1 ^ k0, right & _MASK
        x2, x3 = (left >> 32) ^ x3 ^ k1, left & _MASK
    return x0, x1, x2, x3


def words(key: int, stream: int, position: int, count: int) -> HostArray:
    """Return at least ``count`` words of 32 bits as uint64 (n,), four from each position on."""
    at = np.arange(-(-count // 4), dtype=np.uint64) + np.uint64(position % 2**64)
    low, high = (np.full_like(at, stream % 2**64 >> shift & _MASK) for shift in (0, 32))
    found = block((at & _MASK, at >> 32, low, high), (key & _MASK, key % 2**64 >> 32))
    return np.stack(found, axis=-1).ravel()


class Words:
    """The blocks of the elements of an array, `TRIES` each."""

    def __init__(self, key: int, stream: int, position: int) -> None:
        self._key = (key % 2**32, key % 2**64 >> 32)
        self._stream = (stream % 2**32, stream % 2**64 >> 32)
        self._position = position

    def block(self, elements: HostArray, i: int) -> tuple[HostArray, ...]:
        """Return the four words of 32 bits for try ``i`` of each element."""
        at = elements.astype(np.uint64) * np.uint64(TRIES)
        at += np.uint64((self._position + i) % 2**64)
        low, high = (np.full_like(at, word) for word in self._stream)
        return block((at & np.uint64(_MASK), at >> np.uint64(32), low, high), self._key)

    def long(self, elements: HostArray, i: int) -> tuple[HostArray, HostArray]:
        """Return the two words of 64 bits."""
        a, b, c, d = self.block(elements, i)
        return joined(a, b), joined(c, d)


def joined(low: HostArray, high: HostArray) -> HostArray:
    """Return words of 64 bits."""
    return np.asarray(low | high << np.uint64(32))


def _is_wide(op: str, to: str) -> bool:
    """Tell whether a number is made of two words."""
    return op in ("random_bernoulli", "random_integers") or to in ("uint64", "float64")


def blocks_of(op: str, to: str) -> float:
    """Return how many blocks of four words a number takes."""
    if op in TRIED:
        return TRIES
    return 0.5 if _is_wide(op, to) else 0.25


def random_numbers(
    op: str, args: tuple[HostArray, ...], to: str, params: tuple[int, ...]
) -> Expectation:
    """Return what an op gives; the params are key, stream, position and the length."""
    key, stream, position, count = params
    wide = _is_wide(op, to)
    even = count + count % 2
    bits = words(key, stream, position, 2 * even if wide else even)
    if wide:
        bits = joined(bits[0::2], bits[1::2])
    first, second = args[0], args[-1]
    if op == "random_uniform":
        return _uniform(bits[:count], first, second, to)
    if op == "random_exponential":
        u = unit_interval(bits[:count], to)
        return _scaled(op, 0 - np.log(u), np.zeros((), first.dtype), first, to)
    if op == "random_normal":
        made = standard_normal(bits[:even], to)[:count]
        return _scaled(op, made, first, second, to)
    if op == "random_bits":
        return Only((bits[:count] & np.uint64(first)).astype(to))
    if op == "random_bernoulli":
        return Only(bits[:count] < np.uint64(first))
    size = 8 * np.dtype(to).itemsize
    span = int(second) % 2**size
    above = _high(bits[:count], span) if span else bits[:count]
    return Only((above + np.uint64(int(first) % 2**64)).astype(f"u{size // 8}").astype(to))


def _high(bits: HostArray, span: int) -> HostArray:
    """Return the upper 64 bits of products of 64 bits by 64, by halves of 32."""
    half, mask = np.uint64(32), np.uint64(_MASK)
    low, high = np.uint64(span & _MASK), np.uint64(span >> 32)
    carried = (bits & mask) * low >> half
    middle = (bits >> half) * low + carried
    cross = (bits & mask) * high + (middle & mask)
    return np.asarray((bits >> half) * high + (middle >> half) + (cross >> half))


def _uniform(bits: HostArray, low: HostArray, span: HostArray, to: str) -> Expectation:
    width = 64 if to == "float64" else 32
    u = np.ldexp((bits >> np.uint64(width - _DIGITS[to])).astype(working(to)), -_DIGITS[to])
    if float(low) == 0 and float(span) == 1:
        return Only(u.astype(low.dtype))
    product, shift = u * u.dtype.type(float(span)), u.dtype.type(float(low))
    return _near(product + shift, _slack(product, shift), to)


def unit_interval(bits: HostArray, to: str) -> HostArray:
    """Return the numbers in the middle of the cells of (0, 1) that words are in."""
    if to == "float64":
        middle = np.ldexp((bits >> np.uint64(11)).astype(working(to)) + 0.5, -53)
        return middle.astype(np.float64).astype(working(to))
    middle = np.ldexp(bits.astype(np.float64) + 0.5, -32)
    return middle.astype(np.float32).astype(working(to))


def standard_normal(bits: HostArray, to: str) -> HostArray:
    """Return pairs r cos(a), r sin(a), flat, of a word for each r and one behind it for its a.

    The angle is quarters of a turn and a rest in the middle of its cell.
    """
    width, digits = (64, 54) if to == "float64" else (32, 26)
    radius = np.sqrt(-2 * np.log(unit_interval(bits[0::2], to)))
    turned = bits[1::2].astype(np.uint64) + np.uint64(1 << width - 3)
    turned &= np.uint64((1 << width) - 1)
    quarters = (turned >> np.uint64(width - 2)).astype(int)
    cells = (turned >> np.uint64(width - digits)).astype(int) % (1 << digits - 2)
    kind = working(to)
    turn = 8 * np.arctan(kind(1))
    rest = np.ldexp(((cells - (1 << digits - 3)).astype(kind) + 0.5) * turn, -digits)
    cosine, sine = np.cos(rest), np.sin(rest)
    is_odd = quarters % 2 == 1
    x, y = np.where(is_odd, sine, cosine), np.where(is_odd, cosine, sine)
    x = np.where((quarters + 1) // 2 % 2 == 1, -x, x)
    y = np.where(quarters // 2 == 1, -y, y)
    return np.stack([radius * x, radius * y], axis=1).reshape(-1)


def _scaled(op: str, made: HostArray, shift: HostArray, scale: HostArray, to: str) -> Near:
    """A standard number with the error of its own, times scale, plus shift."""
    work = "float64" if to == "float64" else "float32"
    own = _OWN[op][work] * unit(np.abs(made).astype(np.float64), work)
    product, end = made * made.dtype.type(float(scale)), made.dtype.type(float(shift))
    return _near(product + end, own * abs(float(scale)) + _slack(product, end), to)


def _slack(product: HostArray, end: HostArray) -> HostArray:
    """What the format of the reference itself may miss where the two cancel."""
    return np.ldexp((np.abs(product) + np.abs(end)).astype(np.float64), 2 - digits_of(product))


def _near(exact: HostArray, radius: HostArray, to: str) -> Near:
    """What is near an exact value, rounded once in the type of the arithmetic."""
    work = "float64" if to == "float64" else "float32"
    values = exact.astype(np.float64)
    last = 0.5 * unit(np.abs(values) + radius, work) * (1 + 2.0**-9)
    return near(values, radius + last, to, rest=(exact - values).astype(np.float64))
