"""Orders by chance: permutations, shuffles, choices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from phalanx._warm import Array, Device, normal_axis
from phalanx.arrays.checks import as_operand, need_array, need_int
from phalanx.arrays.data_types import astype, float64, int64, uint64
from phalanx.arrays.indexing import setitem
from phalanx.namespace.conversion import asarray
from phalanx.namespace.manipulation import reshape
from phalanx.namespace.running import cumulative_sum
from phalanx.namespace.searching import searchsorted
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take

from . import draws
from .arguments import device_for, extents

if TYPE_CHECKING:
    from .source import Source

#: How far the sum of probabilities may be from 1: the square root of float64's epsilon.
_TOLERANCE = 2.0**-26


def order(source: Source, count: int, device: Device) -> Array:
    """Return the places 0 to count - 1 as int64 in an order by chance.

    Each place draws 64 bits, and the places are sorted by them, on the device. Two of n draw the
    same with a probability below n^2 / 2^65; they keep their order then, so no place is lost or
    doubled.
    """
    return argsort(draws.bits(source, (count,), uint64, device))


def permutation(source: Source, x: Any, axis: int, device: str | Device | None) -> Array:
    """Return 0 to x - 1, or the slices of an array, in an order by chance."""
    if isinstance(x, Array):
        _need_axis(x, "permutation")
        place = normal_axis(axis, x, "permutation")
        found = device_for(device, "permutation", x)
        return take(x, order(source, x.shape[place], found), axis=place)
    count = need_int(x, "permutation: x")
    if count < 0:
        raise ValueError(f"permutation: x is 0 or more, got {count}")
    return order(source, count, device_for(device, "permutation"))


def _need_axis(x: Array, op: str) -> None:
    if x.ndim == 0:
        raise ValueError(f"{op} needs at least one axis, got a 0-d array")


def shuffle(source: Source, x: Array, axis: int) -> None:
    """Put the slices of an array into an order by chance, in place."""
    need_array(x, "shuffle")
    _need_axis(x, "shuffle")
    place = normal_axis(axis, x, "shuffle")
    setitem(x, ..., take(x, order(source, x.shape[place], x.device), axis=place))


def choice(
    source: Source,
    a: Any,
    size: Any,
    replace: bool,
    p: Any,
    axis: int,
    device: str | Device | None,
) -> Array:
    """Return elements of an array, or of 0 to a - 1; see `Generator.choice`."""
    if isinstance(a, Array):
        _need_axis(a, "choice")
        place = normal_axis(axis, a, "choice")
        count, found = a.shape[place], device_for(device, "choice", a)
    else:
        place, count = 0, need_int(a, "choice: a")
        found = device_for(device, "choice", *([p] if isinstance(p, Array) else []))
    shape = () if size is None else extents(size, "choice")
    wanted = math.prod(shape)
    if count < 1 and wanted:
        raise ValueError(f"choice: there is nothing to choose from {count} elements")
    weights, positive = (None, count) if p is None else _weights(p, count, found)
    if not replace and wanted > positive:
        held = f"{positive} with a probability above 0" if p is not None else f"{count} elements"
        raise ValueError(
            f"choice: {wanted} elements without replacement from {held}; ask for fewer, or "
            "replace=True"
        )
    places = _places(source, count, wanted, replace, weights, found)
    if not isinstance(a, Array):
        return reshape(places, shape)
    chosen = take(a, places, axis=place)
    return reshape(chosen, (*a.shape[:place], *shape, *a.shape[place + 1 :]))


def _places(
    source: Source, count: int, wanted: int, replace: bool, weights: Array | None, device: Device
) -> Array:
    """Flat places (wanted,) as int64."""
    if not replace:
        if weights is None:
            return order(source, count, device)[:wanted]
        # Arrival times with the weights as rates: the first ones are a choice one after the other
        # (Efraimidis & Spirakis, Weighted random sampling with a reservoir, 2006).
        times = draws.draw(
            source, "random_exponential", ((1.0, float64),), (count,), float64, device
        )
        return argsort(times / weights)[:wanted]
    if weights is None:
        operands = ((0, int64), (count, int64))
        return draws.draw(source, "random_integers", operands, (wanted,), int64, device)
    sums = cumulative_sum(weights)
    at = draws.uniform(source, (wanted,), float64, device) * sums[-1]
    return searchsorted(sums, at, side="right")


def _weights(p: Any, count: int, device: Device) -> tuple[Array, int]:
    """Probabilities as float64, and how many are above 0; waits for the device."""
    values = p if isinstance(p, Array) else asarray(p, dtype=float64, device=device)
    if values.shape != (count,):
        raise ValueError(
            f"choice: p has one probability for each of {count} elements, got shape {values.shape}"
        )
    if values.device is not device:
        device_for(device, "choice", values)
    if values.dtype.kind in "bc":
        raise TypeError(f"choice: p is real, got an array of {values.dtype}")
    weights = astype(values, float64, copy=False)
    numbers = [float(as_operand(v)) for v in weights.tolist()]
    if any(not 0 <= v < math.inf for v in numbers):
        raise ValueError("choice: p has a negative probability, or one that is not finite")
    total = math.fsum(numbers)
    if abs(total - 1) > _TOLERANCE:
        raise ValueError(
            f"choice: the probabilities of p have the sum {total:.9g}, not 1; divide p by its sum"
        )
    return weights, sum(v > 0 for v in numbers)
