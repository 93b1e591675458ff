"""Order, places and choices: the ops whose results are elements, places or counts."""

from __future__ import annotations

import numpy as np

from .formats import FORMATS, host_dtype
from .values import HostArray


def keys(x: HostArray, *, signed_zero: bool) -> HostArray:
    """Return integers in the order of real elements or booleans: NaN the largest.

    With ``signed_zero``, -0 is below +0; else they are equal.
    """
    if x.dtype.kind == "b":
        return x.astype(np.uint8)
    if x.dtype.name not in FORMATS:
        return x
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").reshape(x.shape).astype(np.int64)
    magnitude = bits & np.int64((1 << 8 * x.dtype.itemsize - 1) - 1)
    below = -magnitude - 1 if signed_zero else -magnitude
    ordered = np.where(bits < 0, below, magnitude)
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of signalling NaNs
        return np.where(np.isnan(x), np.iinfo(np.int64).max, ordered)


def places(x: HostArray, descending: bool, *, signed_zero: bool = False) -> HostArray:
    """Return the places (int64) that sort the last axis, equal elements in their order."""
    ordered = keys(x, signed_zero=signed_zero)
    # The complement reverses the order of integers and keeps equal ones equal.
    chosen = np.argsort(~ordered if descending else ordered, axis=-1, kind="stable")
    return np.asarray(chosen.astype(np.int64))


def in_order(x: HostArray, descending: bool) -> HostArray:
    """Return the elements of the last axis in order, -0 before +0 if ascending."""
    return np.take_along_axis(x, places(x, descending, signed_zero=True), axis=-1)


def search(table: HostArray, values: HostArray, right: bool) -> HostArray:
    """Return how many elements of a sorted table (n,) are below values (m,), or equal if right."""
    inside, wanted = (keys(a, signed_zero=False) for a in (table, values))
    found = np.searchsorted(inside, wanted, "right" if right else "left")
    return np.asarray(found.astype(np.int64))


def extreme_places(x: HostArray, largest: bool) -> HostArray:
    """Return the first place (int64) of the largest or smallest of the last axis, or of a NaN."""
    ordered = keys(x, signed_zero=False)
    if not largest and x.dtype.name in FORMATS:
        ordered = np.where(ordered == np.iinfo(np.int64).max, np.iinfo(np.int64).min, ordered)
    chosen = np.argmax(ordered, axis=-1) if largest else np.argmin(ordered, axis=-1)
    return np.asarray(chosen.astype(np.int64))


def extremes(x: HostArray, largest: bool) -> HostArray:
    """Return the largest or smallest of the last axis: NaN if there is one, and -0 below +0."""
    ordered = keys(x, signed_zero=True)
    if not largest and x.dtype.name in FORMATS:
        ordered = np.where(ordered == np.iinfo(np.int64).max, np.iinfo(np.int64).min, ordered)
    chosen = np.argmax(ordered, axis=-1) if largest else np.argmin(ordered, axis=-1)
    return np.take_along_axis(x, np.asarray(chosen)[..., None], axis=-1)[..., 0]


def counting(x: HostArray) -> HostArray:
    """Return where elements are not zero; NaN is not."""
    if x.dtype.kind == "c":
        return counting(x.real) | counting(x.imag)
    with np.errstate(invalid="ignore"):
        return np.asarray(x.astype(bool) if x.dtype.kind == "b" else x != 0)


def wrapped(values: HostArray, name: str) -> HostArray:
    """Return integers in 64 bits as a dtype of fewer or as many, modulo 2**bits."""
    dtype = host_dtype(name)
    return np.asarray(values.astype(np.uint64).astype(f"u{dtype.itemsize}").view(dtype))


def modular(x: HostArray) -> HostArray:
    """Return integers as uint64 modulo 2**64, in which NumPy's sums and products wrap."""
    return x.astype(np.int64).view(np.uint64) if x.dtype.kind == "i" else x.astype(np.uint64)
