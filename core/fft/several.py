"""Transforms along axes, one after the other, of complex, real and Hermitian arrays."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, cast, copy

from .arguments import need_floats, need_length, places_of
from .real import hermitian_along, real_along
from .transform import along, complex_of, factor

Lengths = Sequence[int | None] | None


def complex_axes(
    name: str, x: Array, s: Lengths, axes: Sequence[int], norm: str, *, inverse: bool
) -> Array:
    """Transform along axes, the last one first."""
    need_floats(name, x, "fc")
    places = places_of(name, x, axes, s, norm)
    made = cast(x, complex_of(x.dtype))
    for axis, length in reversed(places):
        n = x.shape[axis] if length is None else length
        made = along(made, axis, n, factor(n, norm, inverse=inverse), inverse=inverse)
    return copy(made) if made is x else made


def real_axes(
    name: str, x: Array, s: Lengths, axes: Sequence[int], norm: str, *, inverse: bool = False
) -> Array:
    """Transform real x along the last of axes to its first half, then along the others.

    ``inverse`` is for the norm alone.
    """
    need_floats(name, x, "f")
    others = places_of(name, x, axes, s, norm)
    if not others:
        raise ValueError(f"{name} needs an axis, got axes ()")
    last, asked = others.pop()
    n = x.shape[last] if asked is None else asked
    made = real_along(x, last, n, factor(n, norm, inverse=inverse))
    for axis, length in reversed(others):
        n = made.shape[axis] if length is None else length
        made = along(made, axis, n, factor(n, norm, inverse=inverse), inverse=inverse)
    return made


def hermitian_axes(
    name: str, x: Array, s: Lengths, axes: Sequence[int], norm: str, *, inverse: bool = True
) -> Array:
    """Invert x along axes, and along the last of them from the first half to real numbers.

    ``inverse`` is for the norm alone.
    """
    need_floats(name, x, "fc")
    others = places_of(name, x, axes, s, norm)
    if not others:
        raise ValueError(f"{name} needs an axis, got axes ()")
    last, asked = others.pop()
    n = 2 * (x.shape[last] - 1) if asked is None else asked
    if n < 1:
        need_length(name, x, last, n)
    made = cast(x, complex_of(x.dtype))
    for axis, length in others:
        count = made.shape[axis] if length is None else length
        scale = factor(count, norm, inverse=inverse)
        made = along(made, axis, count, scale, inverse=inverse)
    return hermitian_along(made, last, n, factor(n, norm, inverse=inverse))
