"""Arrays on the device under test in every layout, surrounded by memory that must stay as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import phalanx as px
from phalanx._warm import view
from phalanx.arrays.transfer import copy_from_host

from .reference.formats import host_dtype
from .reference.ulp import differing, same_bytes

if TYPE_CHECKING:
    from phalanx._warm import Array, Device

HostArray = npt.NDArray[Any]
#: Elements before and behind every array: a kernel that leaves its array changes them.
_GUARD = 67
_POISON = 0xA5
#: Bytes of undefined elements that are made once: a million elements of 16 take so many.
_MOST_KEPT = 17 << 20
#: From so many elements on, a loop in Python over lines of an axis costs less than short rows.
_LONG = 4096


@dataclass(frozen=True, slots=True)
class Steps:
    """Where the elements of an array lie, in elements from the first byte of its memory."""

    strides: tuple[int, ...]
    first: int
    #: The lowest of their places, and how many there are from it up to the highest.
    low: int
    count: int

    def moved_to(self, low: int) -> Steps:
        """Return the same steps from another lowest place on."""
        return Steps(self.strides, self.first - self.low + low, low, self.count)


def _dense(shape: tuple[int, ...], order: Iterable[int], step: int = 1) -> tuple[int, ...]:
    strides = [0] * len(shape)
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def _from_strides(shape: tuple[int, ...], strides: tuple[int, ...], shift: int = 0) -> Steps:
    if 0 in shape:
        return Steps(strides, _GUARD + shift, _GUARD + shift, 0)
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low = sum(s for s in spans if s < 0)
    high = sum(s for s in spans if s > 0)
    return Steps(strides, _GUARD + shift - low, _GUARD + shift, high - low + 1)


def _contiguous(shape: tuple[int, ...]) -> Steps:
    # 64 elements are a whole number of the alignment of every device.
    return _from_strides(shape, _dense(shape, reversed(range(len(shape)))), 128 - _GUARD)


def _offset(shape: tuple[int, ...]) -> Steps:
    """Neighbours that begin at any place, which the shape decides."""
    return _from_strides(shape, _dense(shape, reversed(range(len(shape)))), math.prod(shape) % 16)


def _strided(shape: tuple[int, ...]) -> Steps:
    """Elements two apart, as the parts of complex numbers are, or three, five or seven."""
    apart = (2, 3, 5, 7)[math.prod(shape) % 4]
    return _from_strides(shape, _dense(shape, reversed(range(len(shape))), apart))


def _negative(shape: tuple[int, ...]) -> Steps:
    dense = _dense(shape, reversed(range(len(shape))))
    return _from_strides(shape, tuple(-s for s in dense))


def _transposed(shape: tuple[int, ...]) -> Steps:
    return _from_strides(shape, _dense(shape, range(len(shape))))


def _turned(shape: tuple[int, ...]) -> Steps:
    """Matrices in a stack, each by columns; one axis is contiguous."""
    axes = list(reversed(range(len(shape))))
    return _from_strides(shape, _dense(shape, [*axes[1:2], *axes[:1], *axes[2:]]))


def _mixed(shape: tuple[int, ...]) -> Steps:
    """Every second axis backwards, with gaps between the rows."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis] = -step if axis % 2 else step
        step *= shape[axis] + 1
    return _from_strides(shape, tuple(strides))


def _padded(shape: tuple[int, ...]) -> Steps:
    """Rows of neighbours with gaps between them, and between matrices, as slices of wider ones."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        strides[axis] = step
        step *= shape[axis] + (3 if axis == len(shape) - 1 else shape[axis] > 1)
    return _from_strides(shape, tuple(strides))


#: Layouts of outputs and inputs by name; broadcasting is `broadcast`, for inputs alone.
LAYOUTS: dict[str, Callable[[tuple[int, ...]], Steps]] = {
    "contiguous": _contiguous,
    "offset": _offset,
    "strided": _strided,
    "negative": _negative,
    "transposed": _transposed,
    "turned": _turned,
    "mixed": _mixed,
    "padded": _padded,
}


class Placed:
    """An array on a device inside a larger block whose other bytes are known.

    Attributes:
        array: the array.
    """

    def __init__(
        self,
        device: Device,
        shape: tuple[int, ...],
        steps: Steps,
        dtype: str,
        values: HostArray | None = None,
    ) -> None:
        self._shape = shape
        self._steps = steps
        self._dtype = dtype
        #: What the whole block holds; of a result, what it held at first.
        self._image = self._with(values) if values is not None else _known(self._count, dtype)
        self._base = px.asarray(self._image, device=device)
        self.array: Array = view(self._base, shape, steps.strides, steps.first)

    @property
    def _count(self) -> int:
        return self._steps.low + self._steps.count + _GUARD

    @property
    def _has_gaps(self) -> bool:
        return self._steps.count != math.prod(self._shape)

    def _with(self, values: HostArray) -> HostArray:
        """Return the block of known bytes around these elements."""
        known = _known(self._count, self._dtype)
        if self._has_gaps:
            image = known.copy()
        else:
            image = np.empty_like(known)
            for outside in self._outside():
                image[outside] = known[outside]
        _assign(window(image, self._shape, self._steps), values)
        return image

    def _outside(self) -> tuple[slice, slice]:
        """Return where the block lies before the elements and behind them."""
        return slice(self._steps.low), slice(self._count - _GUARD, None)

    def replace(self, values: HostArray) -> None:
        """Put other values of the same shape where the elements lie; waits."""
        self._image = self._with(values)
        copy_from_host(self._base, self._image.ctypes.data, self._image)

    def read(self) -> HostArray:
        """Return the elements on the host, C-contiguous; waits."""
        elements = window(px.asnumpy(self._base), self._shape, self._steps)
        return elements if elements.flags.c_contiguous else _copied(elements)

    def read_all(self) -> tuple[HostArray, bool]:
        """Return the elements, and whether all bytes around them are as they were; waits once."""
        now = px.asnumpy(self._base)
        inside = window(now, self._shape, self._steps)
        elements = _copied(inside)
        _assign(inside, window(self._image, self._shape, self._steps))
        return elements, same_bytes(now, self._image)

    def holds(self, values: HostArray) -> bool:
        """Tell whether the elements have the bytes of values, all others being as they were; waits.

        It is what `read_all` answers with fewer copies.
        """
        now = px.asnumpy(self._base)
        if self._has_gaps:
            return same_bytes(now, self._with(values))
        known = _known(self._count, self._dtype)
        around = all(same_bytes(now[outside], known[outside]) for outside in self._outside())
        return around and _has_bytes(window(now, self._shape, self._steps), values)

    def is_unchanged(self, values: HostArray) -> bool:
        """Tell whether the elements are still the values that were placed; waits."""
        same = same_bytes(px.asnumpy(self._base), self._image)
        return same or not differing(self.read(), values).any()

    def outside_intact(self) -> bool:
        """Tell whether every byte that is not the array's is as it was; waits."""
        return self.read_all()[1]


def window(flat: HostArray, shape: tuple[int, ...], steps: Steps) -> HostArray:
    """Return the elements at these steps of a block as a view of it."""
    size = flat.dtype.itemsize
    strides = tuple(s * size for s in steps.strides)
    # bytes, as arrays of bfloat16 are no buffers
    return np.ndarray(shape, flat.dtype, flat.view(np.uint8), steps.first * size, strides)


def _assign(to: HostArray, values: HostArray) -> None:
    """Copy values of one shape."""
    for into, line in _lines(to, values):
        into[...] = line


def _has_bytes(elements: HostArray, values: HostArray) -> bool:
    """Tell whether elements of any strides have the bytes of values of one dtype and shape."""
    if elements.flags.c_contiguous and values.flags.c_contiguous:
        return same_bytes(elements, values)
    if elements.dtype.kind == "c":
        return _has_bytes(elements.real, values.real) and _has_bytes(elements.imag, values.imag)
    words = f"u{elements.itemsize}"
    pairs = _lines(elements.view(words), values.view(words))
    return all(bool((line == want).all()) for line, want in pairs)


def _lines(a: HostArray, b: HostArray) -> Iterator[tuple[HostArray, HostArray]]:
    """Yield two arrays of one shape in parts, along a long axis if they have one.

    The inner loops of NumPy are along the axis of the least step, which may have two elements.
    """
    if max(a.shape, default=1) < _LONG:
        yield a, b
        return
    longest = max(range(a.ndim), key=a.shape.__getitem__)
    a, b = np.moveaxis(a, longest, -1), np.moveaxis(b, longest, -1)
    for line in np.ndindex(a.shape[:-1]):
        yield a[line], b[line]


def _copied(values: HostArray) -> HostArray:
    elements = np.empty(values.shape, values.dtype)
    _assign(elements, values)
    return elements


@lru_cache(maxsize=1024)
def steps_in(layout: str, shape: tuple[int, ...]) -> Steps:
    """Return where the elements of an array in a layout lie in a block of its own."""
    return LAYOUTS[layout](shape)


def _undefined(size: int, is_bool: bool) -> HostArray:
    return np.arange(size) % 3 == 0 if is_bool else np.full(size, _POISON, np.uint8)


@cache
def _kept(is_bool: bool) -> HostArray:
    return _undefined(_MOST_KEPT, is_bool)


def _known(count: int, dtype: str) -> HostArray:
    """Return what a block of undefined elements holds; it is shared, and only read."""
    size, is_bool = count * host_dtype(dtype).itemsize, dtype == "bool"
    block = _kept(is_bool)[:size] if size <= _MOST_KEPT else _undefined(size, is_bool)
    return block.view(host_dtype(dtype))


def room(device: Device, shape: tuple[int, ...], dtype: str, layout: str) -> Placed:
    """Return an array of undefined elements, for a result."""
    return Placed(device, shape, steps_in(layout, shape), dtype)


def place(device: Device, values: HostArray, dtype: str, layout: str) -> Placed:
    """Return an array with the values, which have the NumPy dtype of ``dtype``."""
    return Placed(device, values.shape, steps_in(layout, values.shape), dtype, values)


def broadcast(device: Device, values: HostArray, shape: tuple[int, ...], dtype: str) -> Array:
    """Return values that fill a shape by strides of 0, as NumPy's rules say."""
    source = place(device, values, dtype, "offset").array
    missing = len(shape) - values.ndim
    strides = [0] * missing
    strides += [0 if n == 1 else s for n, s in zip(values.shape, source.strides, strict=True)]
    return view(source, shape, tuple(strides))


def shapes(count: int, rank: int) -> tuple[int, ...]:
    """Return a shape of some rank with about ``count`` elements, all extents odd."""
    if rank == 0:
        return ()
    extents = [max(1, round(count ** (1 / rank)) | 1)] * (rank - 1)
    return (*extents, max(1, count // max(1, math.prod(extents))) | 1)


def drawn_size(most: int, rng: np.random.Generator) -> int:
    """Return a chance number from 1 to ``most``, small ones as likely as large ones."""
    return round(math.exp(math.log(most) * float(rng.random())))


def drawn_shape(count: int, rank: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return a chance shape of some rank with about ``count`` elements."""
    parts = rng.dirichlet(np.ones(rank)) if rank else ()
    return tuple(max(1, round(count ** float(part))) for part in parts)
