"""Where a generator stands: its key, its stream, and the next block that nobody has taken."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from phalanx.arrays.checks import need_int
from phalanx.runtime.locks import ForkSafeLock

from .philox import block

_RANGE = 2**64
#: The bits of a stream, this one and the next, that tell apart those of `Source.abreast`.
_SIDE = 62
#: Of what `Source.state` returns; another one is refused.
VERSION = 1
_ALGORITHM = "philox4x32-10"
_NUMBERS = ("key", "stream", "position")


class Source:
    """Gives away blocks of random words, each once. Safe from any thread.

    ``key`` and ``stream`` have 64 bits each and stay; ``position`` is the next block.
    """

    __slots__ = ("_at", "_lock")

    def __init__(self, key: int, stream: int = 0, position: int = 0) -> None:
        self._lock = ForkSafeLock()
        self._at = (key, stream, position)

    @classmethod
    def of_seed(cls, seed: int | None) -> Source:
        """Return the first block of a key; without a seed, of one that the system draws.

        Raises:
            TypeError: the seed is no int.
            ValueError: it is not in [0, 2^64).
        """
        if seed is None:
            return cls(secrets.randbits(64), secrets.randbits(64))
        key = need_int(seed, "seed")
        if not 0 <= key < _RANGE:
            raise ValueError(
                f"a seed is an int from 0 to 2**64 - 1, got {key}; seed % 2**64 is one"
            )
        return cls(key)

    def take(self, blocks: int) -> tuple[int, int, int]:
        """Take blocks; return key, stream and first position as an op's params: signed numbers.

        Positions wrap at 2^64.
        """
        with self._lock:
            key, stream, position = self._at
            self._at = (key, stream, (position + blocks) % _RANGE)
        return _signed(key), _signed(stream), _signed(position)

    def abreast(self, count: int, blocks: int) -> list[Source]:
        """Take blocks; return sources that begin at the first of them in streams of their own.

        At most four; the first has the stream of this one. So numbers of several kinds for each
        element lie at its place, however many elements there are.
        """
        with self._lock:
            key, stream, position = self._at
            self._at = (key, stream, (position + blocks) % _RANGE)
        return [Source(key, stream ^ number << _SIDE, position) for number in range(count)]

    def split(self, count: int) -> list[Source]:
        """Return sources with keys and streams of their own, made of blocks of this one."""
        with self._lock:
            key, stream, position = self._at
            self._at = (key, stream, (position + count) % _RANGE)
        places = ((position + i) % _RANGE for i in range(count))
        return [Source(*block(key, stream, place)) for place in places]

    def become(self, other: Source) -> None:
        """Go on where another source stands."""
        at = other._at
        with self._lock:
            self._at = at

    def state(self) -> dict[str, Any]:
        """Return what `of_state` takes: numbers and texts, as JSON can keep them."""
        numbers = dict(zip(_NUMBERS, self._at, strict=True))
        return {"version": VERSION, "algorithm": _ALGORITHM, **numbers}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Source:
        """Return a source that stands where another one stood.

        Raises:
            TypeError: no mapping, or numbers that are no ints.
            ValueError: of another version or algorithm, without a number, or with one out of range.
        """
        if not isinstance(state, Mapping):
            raise TypeError(
                f"set_state takes what `state` of a generator is, got {type(state).__name__}"
            )
        version, algorithm = state.get("version"), state.get("algorithm")
        if version != VERSION:
            raise ValueError(
                f"set_state: the state has version {version}, and this release of Phalanx has "
                f"version {VERSION}; restore it with the release that saved it"
            )
        if algorithm != _ALGORITHM:
            raise ValueError(f"set_state: the state is of {algorithm}, not of {_ALGORITHM}")
        if missing := [name for name in _NUMBERS if name not in state]:
            raise ValueError(f"set_state: the state has no {' and no '.join(missing)}")
        numbers = {name: need_int(state[name], f"set_state: {name}") for name in _NUMBERS}
        for name, number in numbers.items():
            if not 0 <= number < _RANGE:
                raise ValueError(f"set_state: {name} is from 0 to 2**64 - 1, got {number}")
        return cls(**numbers)


def _signed(number: int) -> int:
    """The int64 with the same bits."""
    return number - _RANGE if number >= _RANGE // 2 else number
