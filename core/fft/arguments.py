"""What transforms are called with: checked, with errors that name the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phalanx._warm import Array, normal_axis
from phalanx.arrays.checks import need_array, need_int

NORMS = ("backward", "ortho", "forward")


def need_floats(name: str, x: Any, kind: str) -> None:
    """Raise an error unless x is an array whose dtype has a letter of ``kind`` and a transform."""
    need_array(x, name)
    if x.dtype.kind not in kind:
        names = {"f": "real floating", "fc": "floating"}[kind]
        use = "phalanx.fft.fft" if x.dtype.kind == "c" else "phalanx.astype(x, phalanx.float64)"
        raise TypeError(f"{name} takes a {names} array, got {x.dtype}; use {use}")


def axes_of(s: Sequence[int] | None, axes: Sequence[int] | None, x: Any) -> Sequence[int]:
    """Return the axes of a transform of several: those named, or the last ones, or all."""
    if axes is not None:
        return tuple(axes)
    ndim = x.ndim if isinstance(x, Array) else 0
    return range(ndim) if s is None else range(-len(s), 0)


def places_of(
    name: str, x: Array, axes: Sequence[int], s: Sequence[int | None] | None, norm: str
) -> list[tuple[int, int | None]]:
    """Return the axes from 0 on, each with the length that was asked for.

    Raises:
        ValueError: another norm, lengths that are not one per axis, or one that is not positive.
        IndexError: an axis that is not there.
        TypeError: a length that is no int, or a dtype without a transform.
    """
    if norm not in NORMS:
        raise ValueError(f'{name}: norm is "backward", "ortho" or "forward", got {norm!r}')
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{name}: s {s} and axes {tuple(axes)} differ in length")
    shape, places = x.shape, []
    for number, axis in enumerate(axes):
        place, asked = normal_axis(axis, x, name), None if s is None else s[number]
        length = shape[place] if asked is None else asked
        if type(length) is not int or length < 1:
            need_length(name, x, place, length)
        places.append((place, asked))
    if x.dtype.itemsize == 2:
        raise TypeError(f"{name} is not defined for {x.dtype}; convert to float32")
    return places


def need_length(name: str, x: Array, place: int, length: int) -> None:
    """Raise an error unless a length is a positive int."""
    if need_int(length, f"{name}: a length") < 1:
        raise ValueError(
            f"{name} of shape {x.shape} along axis {place}: the length must be positive, "
            f"got {length}"
        )
