"""Operands made by arithmetic of integers alone: the same bits on every machine and with any NumPy.

They are for results that are known bit by bit. An element's number goes through SplitMix64's last
steps (Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014); some of
the bits say of which kind it is, others are its mantissa.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .formats import FORMATS, PARTS, host_dtype
from .values import HostArray

_GOLDEN = 0x9E3779B97F4A7C15
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


@lru_cache(maxsize=16)
def words(count: int, stream: int) -> HostArray:
    """Return 64-bit words (count,) of a stream, to read only."""
    start = (stream << 40) * _GOLDEN % 2**64
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(start)
    for shift, factor in _STEPS:
        z = (z ^ z >> np.uint64(shift)) * np.uint64(factor)
    z.setflags(write=False)
    return np.asarray(z)


class _Layout(NamedTuple):
    """Bits of a format: of the whole, of the mantissa, and the exponent of 1."""

    bits: int
    mantissa: int
    bias: int

    @property
    def infinity(self) -> int:
        """The bits of infinity; those of 1 are half of them, less the lowest of the exponent."""
        return (1 << self.bits - 1) - (1 << self.mantissa)


def _layout(name: str) -> _Layout:
    digits, _, greatest = FORMATS[name]
    return _Layout(8 * host_dtype(name).itemsize, digits - 1, greatest)


def _corners(layout: _Layout) -> HostArray:
    """Return bits of zero, one, two, the least and largest numbers, infinity and a NaN."""
    one, top = layout.bias << layout.mantissa, layout.infinity
    least = 1 << layout.mantissa
    half, two = one - least, one + least
    return np.array([0, 1, least - 1, least, half, one, two, top - 1, top, top + least // 2], "u8")


def sized(name: str, count: int, stream: int, first: int, span: int) -> HostArray:
    """Return numbers (count,) of both signs, of sizes from 2^first to 2^(first + span)."""
    layout = _layout(name)
    return _of_bits(
        name, _signs(layout, words(count, stream)) | _sized(name, count, stream, first, span)
    )


def _sized(name: str, count: int, stream: int, first: int, span: int) -> HostArray:
    layout = _layout(name)
    mantissa = words(count, stream) & np.uint64((1 << layout.mantissa) - 1)
    step = words(count, stream + 1) >> np.uint64(32)
    exponent = np.uint64(layout.bias + first) + step % np.uint64(span)
    return np.asarray(exponent << np.uint64(layout.mantissa) | mantissa)


def _signs(layout: _Layout, some: HostArray) -> HostArray:
    return np.asarray(some >> np.uint64(63) << np.uint64(layout.bits - 1))


def _of_bits(name: str, bits: HostArray) -> HostArray:
    kind = host_dtype(name)
    return np.asarray(bits.astype(f"u{kind.itemsize}").view(kind))


@lru_cache(maxsize=64)
def numbers(name: str, count: int, stream: int) -> HostArray:
    """Return numbers (count,) of a real floating dtype, in turns by chance of six kinds.

    Any bits; sizes from 2^-9 to 2^8; from 1/2 to 2; beside 1, as near as can be; with four digits;
    zeros, infinities and other corners. They are to read only: many ops have the same operands.
    """
    layout = _layout(name)
    some, more = words(count, stream), words(count, stream + 1)
    mantissa = some & np.uint64((1 << layout.mantissa) - 1)
    one = np.uint64(layout.bias << layout.mantissa)
    apart = mantissa >> np.uint64(1) + (more >> np.uint64(32)) % np.uint64(layout.mantissa)
    few = np.uint64((1 << layout.mantissa - 3) - 1)
    corners = _corners(layout)
    kinds = (
        some & np.uint64((1 << layout.bits - 1) - 1),
        _sized(name, count, stream, -9, 17),
        _sized(name, count, stream, -1, 2),
        np.where(more >> np.uint64(31) & np.uint64(1) == 0, one + apart, one - apart),
        _sized(name, count, stream, -3, 12) & ~few,
        corners[(more >> np.uint64(24)) % np.uint64(len(corners))],
    )
    turn = np.array(_TURNS)[(more >> np.uint64(20)) % np.uint64(len(_TURNS))]
    made = _of_bits(name, np.choose(turn, kinds) | _signs(layout, some))
    made.setflags(write=False)
    return made


#: Which kind an element is of, by four bits.
_TURNS = (0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5)


def pattern(name: str, count: int, stream: int) -> HostArray:
    """Return elements (count,) of any dtype; both parts of complex ones are as `numbers`."""
    if name in PARTS:
        return _complex(
            name, numbers(PARTS[name], count, stream), numbers(PARTS[name], count, stream + 2)
        )
    if name in FORMATS:
        return numbers(name, count, stream)
    if name == "bool":
        return np.asarray(words(count, stream) % np.uint64(2) == 1)
    return np.asarray(words(count, stream).astype(host_dtype(name)))


def plain(name: str, count: int, stream: int, span: int = 2) -> HostArray:
    """Return elements (count,) of a floating dtype: the sizes of their parts end at 1 or 2."""
    if name in PARTS:
        real, imag = (sized(PARTS[name], count, stream + i, 1 - span, span) for i in (0, 2))
        return _complex(name, real, imag)
    return sized(name, count, stream, 1 - span, span)


def corners(names: tuple[str, ...], most: int) -> tuple[HostArray, ...]:
    """Return combinations of corners, each (k,): of all parts of operands, k <= most of them."""
    parts = [part for name in names for part in [PARTS.get(name, name)] * (1 + (name in PARTS))]
    values = [np.concatenate([v, -v]) for v in (_of_bits(p, _corners(_layout(p))) for p in parts)]
    count = int(np.prod([len(v) for v in values]))
    places = np.arange(count) if count <= most else words(most, 32) % np.uint64(count)
    columns = []
    for value in values:
        columns.append(value[places % len(value)])
        places = places // len(value)
    found, rest = [], iter(columns)
    for name in names:
        column = next(rest)
        found.append(_complex(name, column, next(rest)) if name in PARTS else column)
    return tuple(found)


def _complex(name: str, real: HostArray, imag: HostArray) -> HostArray:
    z = np.empty(real.shape, host_dtype(name))
    z.real, z.imag = real, imag
    return z
