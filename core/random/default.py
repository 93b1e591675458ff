"""The generator that the functions of ``phalanx.random`` draw from."""

from __future__ import annotations

from typing import Any

from .generator import Generator
from .source import Source


class _Default(Generator):
    """A generator that can begin anew, so that the functions stay what they are."""

    __slots__ = ()

    def seed(self, seed: int | None = None) -> None:
        """Begin anew with a seed, or without one at a place that the system draws.

        It concerns the functions of ``phalanx.random`` in the whole process. A program that wants
        numbers of its own makes a ``Generator``.

        Raises:
            TypeError: the seed is no int.
            ValueError: it is not from 0 to 2**64 - 1.

        Examples:
            >>> px.random.seed(7)
            >>> bool(px.random.normal() == px.random.Generator(7).normal())
            True
        """
        self._source.become(Source.of_seed(seed))

    def get_state(self) -> dict[str, Any]:
        """Return the state of the generator behind these functions, for ``set_state``.

        Examples:
            >>> saved = px.random.get_state()
            >>> first = px.random.normal(size=3)
            >>> px.random.set_state(saved)
            >>> bool(px.all(px.random.normal(size=3) == first))
            True
        """
        return self.state


DEFAULT = _Default()
