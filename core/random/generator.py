"""The generator of random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phalanx._warm import Array, Device, DType
from phalanx.arrays.checks import need_int
from phalanx.arrays.data_types import as_dtype, iinfo, int64
from phalanx.namespace.elementwise import where

from . import draws, order
from .arguments import (
    Parameter,
    Size,
    converted,
    device_for,
    float_dtype,
    not_negative,
    parameter,
    probability,
    shape_for,
)
from .composed import Composed
from .source import Source


class Generator(Composed):
    """Random numbers from a seed: the same on every device.

    Philox 4x32-10 under the key ``seed``. Each call takes the next blocks of the generator's words,
    and an element depends on its place in the result alone, not on the device, the launch or the
    number of threads (docs/random.md). The numbers lie on the current device or on ``device``.
    Calls enqueue and return. A generator may be used from several threads: each block is given away
    once.

    Without a seed, the system draws one. ``size`` is the shape of a result, an int or a tuple of
    ints; without it, it is the shape that parameters broadcast to, for numbers ``()``.

    Raises:
        TypeError: the seed is no int.
        ValueError: it is not from 0 to 2**64 - 1.

    Examples:
        >>> g = px.random.Generator(7)
        >>> print(g.integers(1, 7, size=10))  # the throws of a die
        [5 1 5 6 1 6 2 1 6 4]
    """

    __slots__ = ()

    def __init__(self, seed: int | None = None) -> None:
        self._source = Source.of_seed(seed)

    def __repr__(self) -> str:
        state = self.state
        place = ", ".join(f"{name}={state[name]:#x}" for name in ("key", "stream", "position"))
        return f"<phalanx.random.Generator: {place}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.state,)

    @property
    def state(self) -> dict[str, Any]:
        """What `set_state` takes, to go on from here: ints and texts, which JSON can keep.

        Examples:
            >>> g = px.random.Generator(7)
            >>> saved = g.state
            >>> first = g.normal(size=3)
            >>> g.set_state(saved)
            >>> bool(px.all(g.normal(size=3) == first))
            True
        """
        return self._source.state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on where a generator stood when its ``state`` was read.

        Raises:
            TypeError: no mapping, or a number that is no int.
            ValueError: a state of another version, or one that is not complete.

        Examples:
            >>> g, other = px.random.Generator(7), px.random.Generator()
            >>> other.set_state(g.state)
            >>> bool(g.uniform() == other.uniform())
            True
        """
        self._source.become(Source.of_state(state))

    def split(self, count: int = 2) -> list[Generator]:
        """Return new generators that share no numbers with each other or with this one.

        Keys and streams, 128 bits of each, are made of the next ``count`` blocks of this generator,
        so they depend on its seed and on what was drawn before. Two of n are the same with a
        probability below n^2 / 2^129.

        Raises:
            TypeError: ``count`` is no int.
            ValueError: it is negative.

        Examples:
            >>> first, second = px.random.Generator(7).split()
            >>> print(first.integers(100, size=5), second.integers(100, size=5))
            [87 84 66 36 13] [96 21 83 20 44]
        """
        if need_int(count, "split: count") < 0:
            raise ValueError(f"split: count is 0 or more, got {count}")
        children = []
        for source in self._source.split(int(count)):
            child = object.__new__(Generator)
            child._source = source
            children.append(child)
        return children

    def bits(
        self,
        size: Size = None,
        *,
        dtype: DType | str = "uint64",
        device: str | Device | None = None,
    ) -> Array:
        """Return the generator's words as they are: uint32 or uint64.

        Raises:
            TypeError: another dtype, or a size that is not made of ints.
            ValueError: a negative extent.

        Examples:
            >>> words = px.random.Generator(0).bits(4, dtype="uint32")  # Philox of zeros
            >>> [hex(word) for word in words.tolist()]
            ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
        """
        kind = as_dtype(dtype)
        if kind is None or kind.name not in ("uint32", "uint64"):
            raise TypeError(f"bits gives uint32 or uint64, not {dtype}")
        shape = shape_for(size, "bits")
        return draws.bits(self._source, shape, kind, device_for(device, "bits"))

    def uniform(
        self,
        low: Parameter = 0.0,
        high: Parameter = 1.0,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return numbers from ``low`` up to ``high``, all with equal chances.

        From 0 to 1 they are the multiples of 2^-53 (float64), 2^-24 (float32), 2^-11 (float16) or
        2^-8 (bfloat16) below 1. Others are ``low + (high - low) * u``, which may round to ``high``.

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: ``high`` below ``low``, an infinite range, or arrays that do not broadcast.

        Examples:
            >>> print(px.random.Generator(7).uniform(size=3))
            [0.75015222 0.08565787 0.79528404]
        """
        ends = parameter(low, "low", "uniform"), parameter(high, "high", "uniform")
        shape, where_to = shape_for(size, "uniform", *ends), device_for(device, "uniform", *ends)
        kind = float_dtype(dtype, "uniform", where_to, *ends)
        span = ends[1] - ends[0]
        if isinstance(span, float) and not 0 <= span < float("inf"):
            raise ValueError(
                f"uniform: high is not below low, and their difference finite, got {low} and {high}"
            )
        return draws.scaled(self._source, "random_uniform", ends[0], span, shape, kind, where_to)

    def normal(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return normal numbers with the mean ``loc`` and the standard deviation ``scale``.

        In pairs (Box & Muller 1958); docs/ops.md has the formula. None is farther from the mean
        than 8.7 deviations in float64, 6.8 in the other dtypes.

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: a negative ``scale``, or arrays that do not broadcast to the size.

        Examples:
            >>> x = px.random.Generator(7).normal(10, 2, size=100_000, dtype=px.float32)
            >>> print(round(float(px.mean(x)), 2), round(float(px.std(x)), 2))
            10.01 2.0
        """
        shift, spread = parameter(loc, "loc", "normal"), not_negative(scale, "scale", "normal")
        shape = shape_for(size, "normal", shift, spread)
        where_to = device_for(device, "normal", shift, spread)
        kind = float_dtype(dtype, "normal", where_to, shift, spread)
        return draws.scaled(self._source, "random_normal", shift, spread, shape, kind, where_to)

    def exponential(
        self,
        scale: Parameter = 1.0,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return exponential numbers with the mean ``scale``: ``-scale * ln u`` for u in (0, 1].

        Raises:
            TypeError: a parameter that is no real number or array, a dtype that is not floating.
            ValueError: a negative ``scale``, or arrays that do not broadcast to the size.

        Examples:
            >>> print(px.random.Generator(7).exponential(2.0, size=3))
            [0.57495826 4.91478846 0.4581119 ]
        """
        mean = not_negative(scale, "scale", "exponential")
        shape, where_to = (
            shape_for(size, "exponential", mean),
            device_for(device, "exponential", mean),
        )
        kind = float_dtype(dtype, "exponential", where_to, mean)
        number = mean if isinstance(mean, float) else 1.0
        operands = ((number, kind),)
        made = draws.draw(self._source, "random_exponential", operands, shape, kind, where_to)
        if isinstance(mean, Array):
            made *= converted(mean, kind)
        return made

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        *,
        dtype: DType | str = "int64",
        endpoint: bool = False,
        device: str | Device | None = None,
    ) -> Array:
        """Return ints from ``low`` up to, but not including, ``high``; from 0 up to ``low`` alone.

        ``endpoint=True`` includes the end. 64 random bits r become ``floor(span * r / 2^64)``: two
        values' chances differ by 2^-64 at most, so that for n values the relative error of a chance
        is below n / 2^64.

        Raises:
            TypeError: an end that is no int, or a dtype that is no integer.
            ValueError: no int in the range.
            OverflowError: the dtype does not hold all of them.

        Examples:
            >>> print(px.random.Generator(7).integers(-3, 3, size=6, endpoint=True))
            [ 2 -3  2  3 -3  2]
        """
        first, end = (0, low) if high is None else (low, high)
        first, end = need_int(first, "integers: low"), need_int(end, "integers: high")
        last = end if endpoint else end - 1
        kind = as_dtype(dtype) or int64
        if kind.kind not in "iu":
            raise TypeError(
                f"integers gives integers, not {kind}; use astype, or bernoulli for bool"
            )
        if last < first:
            raise ValueError(f"integers: there is no int from {first} to {last}")
        limits = iinfo(kind)
        if first < limits.min or last > limits.max:
            raise OverflowError(
                f"integers: {first} to {last} is out of bounds for {kind} ({limits.min} to "
                f"{limits.max}); name another dtype"
            )
        span = last - first + 1
        width = 2 ** (8 * kind.itemsize)
        if kind.kind == "i" and span > limits.max:
            span -= width  # the same bits; all of them are 0, which stands for 2^64
        operands = ((first, kind), (span % width if kind.kind == "u" else span, kind))
        shape = shape_for(size, "integers")
        where_to = device_for(device, "integers")
        return draws.draw(self._source, "random_integers", operands, shape, kind, where_to)

    def bernoulli(
        self, p: Parameter = 0.5, size: Size = None, *, device: str | Device | None = None
    ) -> Array:
        """Return bools that are True with probability ``p``.

        Raises:
            TypeError: ``p`` is no real number or array.
            ValueError: a number outside of [0, 1], or an array that does not broadcast to the size.

        Examples:
            >>> print(px.random.Generator(7).bernoulli(0.9, size=4))
            [ True  True  True False]
        """
        chance = probability(p, "p", "bernoulli")
        shape = shape_for(size, "bernoulli", chance)
        return draws.coins(self._source, chance, shape, device_for(device, "bernoulli", chance))

    def dropout_mask(
        self,
        p: float,
        size: Size = None,
        *,
        dtype: DType | str | None = None,
        device: str | Device | None = None,
    ) -> Array:
        """Return factors that are 0 with probability ``p``, else ``1 / (1 - p)``.

        So the mean of ``x * mask`` is that of ``x``.

        Raises:
            TypeError: ``p`` is no number, or a dtype that is not floating.
            ValueError: ``p`` is not in [0, 1).

        Examples:
            >>> print(px.random.Generator(7).dropout_mask(0.5, size=6, dtype=px.float32))
            [0. 2. 0. 0. 2. 0.]
        """
        dropped = probability(p, "p", "dropout_mask")
        if isinstance(dropped, Array) or dropped == 1:
            raise ValueError(f"dropout_mask: p is a number from 0 up to, not including, 1, got {p}")
        where_to = device_for(device, "dropout_mask")
        kind = float_dtype(dtype, "dropout_mask", where_to)
        kept = draws.coins(self._source, 1 - dropped, shape_for(size, "dropout_mask"), where_to)
        return where(kept, draws.number(1 / (1 - dropped), kind, where_to), 0.0)

    def permutation(
        self, x: int | Array, *, axis: int = 0, device: str | Device | None = None
    ) -> Array:
        """Return the ints from 0 up to ``x``, or the slices of an array, in an order by chance.

        Each slice draws 64 bits, by which the device sorts. Equal ones, which two of n draw with a
        probability below n^2 / 2^65, keep their order.

        Raises:
            TypeError: ``x`` is neither an int nor an array.
            ValueError: a negative int, or a 0-d array.

        Examples:
            >>> print(px.random.Generator(7).permutation(8))
            [4 1 7 6 0 2 5 3]
        """
        return order.permutation(self._source, x, axis, device)

    def shuffle(self, x: Array, *, axis: int = 0) -> None:
        """Put the slices of an array along an axis into an order by chance, in place.

        For views too. (``random.shuffle`` of Python swaps elements, which are views of each other's
        memory, and so loses some of them.)

        Raises:
            TypeError: ``x`` is no array.
            ValueError: a 0-d array.

        Examples:
            >>> x = px.arange(8)
            >>> px.random.Generator(7).shuffle(x)
            >>> print(x)
            [4 1 7 6 0 2 5 3]
        """
        order.shuffle(self._source, x, axis)

    def choice(
        self,
        a: int | Array,
        size: Size = None,
        *,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        device: str | Device | None = None,
    ) -> Array:
        """Return slices of an array along an axis, or ints from 0 up to ``a``, chosen by chance.

        ``p`` has their probabilities, (n,), as an array or a sequence; they are looked at, so this
        waits. Without replacement no slice comes twice, and with ``p`` the slices are chosen one
        after the other, each with its share of the probability that is left.

        Raises:
            TypeError: ``a`` is neither an int nor an array, or ``p`` is not real.
            ValueError: nothing to choose from, more than that without replacement, or probabilities
                that are negative, do not sum to 1, or are not as many as the elements.

        Examples:
            >>> g = px.random.Generator(7)
            >>> print(g.choice(5, 3, replace=False))
            [4 1 0]
            >>> print(g.choice(px.asarray([10, 20, 30]), 4, p=[0, 0.5, 0.5]))
            [20 20 30 30]
        """
        return order.choice(self._source, a, size, replace, p, axis, device)


def _restored(state: Mapping[str, Any]) -> Generator:
    """A generator that was pickled or copied."""
    made = Generator(0)
    made.set_state(state)
    return made
