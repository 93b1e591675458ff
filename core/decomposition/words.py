"""Moving elements as words of their size: what a copy needs to know of a dtype."""

from __future__ import annotations

from phalanx._warm import Array, DType, dtype_from_name, reinterpret, scalar_bytes
from phalanx.optable import DTYPES


def moved_as(dtype: str) -> str:
    """Return the unsigned integer that elements of a dtype are moved as; 16 bytes are two."""
    return f"uint{8 * min(DTYPES[dtype].size, 8)}"


def as_words(x: Array, dtype: DType | None = None) -> Array:
    """Return a view of the elements as words; those of 16 bytes have one more axis of two."""
    word = dtype or dtype_from_name(moved_as(str(x.dtype)))
    times = x.dtype.itemsize // word.itemsize
    shape, strides = x.shape, tuple(s * times for s in x.strides)
    if times > 1:
        shape, strides = (*shape, times), (*strides, 1)
    view: Array = reinterpret(x, word, shape, strides)
    return view


def words_of(value: complex, dtype: str) -> list[int]:
    """Return the words of a number of a dtype."""
    found: bytes = scalar_bytes(value, dtype_from_name(dtype))
    size = DTYPES[moved_as(dtype)].size
    places = range(0, len(found), size)
    return [int.from_bytes(found[at : at + size], "little") for at in places]
