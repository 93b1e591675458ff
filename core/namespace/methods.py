"""The methods of arrays that NumPy, CuPy and PyTorch share: the functions of the namespace, bound.

What the function would not say as the method of that name does, stands here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex

from phalanx._warm import Array, DType, add_methods, assign, normal_axis, reinterpret
from phalanx._warm import copy as copy_array
from phalanx.arrays.data_types import as_dtype, astype
from phalanx.arrays.transfer import asnumpy, item

from . import elementwise, linear, manipulation, reductions, searching, sorting, taking
from .conversion import asarray
from .creation import zeros_like

if TYPE_CHECKING:
    import numpy.typing as npt


def reshape(x: Array, /, *shape: Any, copy: bool | None = None) -> Array:
    """Return ``phalanx.reshape`` of the array; the shape is a tuple or the extents one by one."""
    return manipulation.reshape(x, _unpacked(shape), copy=copy)


def transpose(x: Array, /, *axes: Any) -> Array:
    """Return a view with the axes in the given order (default: reversed)."""
    order = _unpacked(axes) if axes and axes != (None,) else range(x.ndim)[::-1]
    return manipulation.permute_dims(x, tuple(order))


def _unpacked(numbers: tuple[Any, ...]) -> Any:
    if len(numbers) == 1 and not isinstance(numbers[0], SupportsIndex):
        return tuple(numbers[0])
    return numbers


def swapaxes(x: Array, first: int, second: int, /) -> Array:
    """Return a view with two axes exchanged."""
    i, j = normal_axis(first, x, "swapaxes"), normal_axis(second, x, "swapaxes")
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return manipulation.permute_dims(x, tuple(order))


def ravel(x: Array, /) -> Array:
    """Return the elements in C order along one axis: a view where the layout allows."""
    return manipulation.reshape(x, (-1,))


def flatten(x: Array, /) -> Array:
    """Return a copy of the elements in C order along one axis."""
    return manipulation.reshape(x, (-1,), copy=True)


def copy(x: Array, /) -> Array:
    """Return a copy that keeps the order of the axes in memory."""
    result: Array = copy_array(x)
    return result


def fill_with(x: Array, value: bool | int | float | complex | Array, /) -> None:
    """Write one value into every element; as ``x[...] = value``."""
    x[...] = value


def sort_in_place(
    x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> None:
    """Sort the array itself along an axis, as NumPy's method does; ``phalanx.sort`` copies."""
    assign(x, sorting.sort(x, axis=axis, descending=descending, stable=stable))


def cumsum(x: Array, /, axis: int | None = None, dtype: DType | str | None = None) -> Array:
    """Return ``phalanx.cumulative_sum`` along an axis, or of the flattened array."""
    return reductions.cumulative_sum(*_flat_without(x, axis), dtype=as_dtype(dtype))


def cumprod(x: Array, /, axis: int | None = None, dtype: DType | str | None = None) -> Array:
    """Return ``phalanx.cumulative_prod`` along an axis, or of the flattened array."""
    return reductions.cumulative_prod(*_flat_without(x, axis), dtype=as_dtype(dtype))


def take(x: Array, indices: Any, /, axis: int | None = None) -> Array:
    """Return ``phalanx.take`` along an axis, or of the flattened array; indices may be a list."""
    x, axis = _flat_without(x, axis)
    places = asarray(indices, device=None if isinstance(indices, Array) else x.device)
    return taking.take(x, places, axis=axis)


def _flat_without(x: Array, axis: int | None) -> tuple[Array, int]:
    """The array and an axis: without one, the flattened array and its only axis."""
    return (x, axis) if axis is not None else (ravel(x), 0)


def round(x: Array, /, decimals: int = 0) -> Array:
    """Return the elements rounded to a number of decimals, half to even, as NumPy does it."""
    if decimals == 0 or (x.dtype.kind in "iu" and decimals > 0):
        return elementwise.round(x)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return elementwise.round(x * scale) / scale
    result = elementwise.round(x / scale) * scale
    return astype(result, x.dtype, copy=False)


def dot(x: Array, other: Array, /) -> Array:
    """Return the product as ``numpy.dot`` defines it: over the last axis, and the last but one.

    0-d arrays multiply.
    """
    if x.ndim == 0 or other.ndim == 0:
        return x * other
    if x.ndim <= 2 and other.ndim <= 2:
        return linear.matmul(x, other)
    last_but_one = other.ndim - 2 if other.ndim > 1 else 0
    return linear.tensordot(x, other, axes=((x.ndim - 1,), (last_but_one,)))


def view(x: Array, dtype: DType | str | None = None, /) -> Array:
    """Return the same memory as a new array, with its bytes seen as another dtype.

    A dtype of another size changes the last axis, which must lie without gaps.

    Raises:
        ValueError: the last axis does not divide into the new elements.
    """
    target = as_dtype(dtype) or x.dtype
    if target.kind == "b" and x.dtype.kind != "b":
        raise TypeError(
            f"view of {x.dtype} as bool: its bytes may be other than 0 and 1; use x != 0"
        )
    if target.itemsize == x.itemsize:
        same: Array = reinterpret(x, target, x.shape, x.strides, 0)
        return same
    if x.ndim == 0 or (x.strides[-1] != 1 and x.shape[-1] != 1):
        raise ValueError(f"view of {x.dtype} as {target}: the last axis must lie without gaps")
    size, wanted = x.itemsize, target.itemsize
    length, steps = x.shape[-1] * size, [s * size for s in x.strides[:-1]]
    if length % wanted or any(s % wanted for s in steps) or x.offset % wanted:
        raise ValueError(
            f"view of {x.shape} {x.dtype} as {target}: rows of {length} bytes do not divide"
        )
    shape = (*x.shape[:-1], length // wanted)
    result: Array = reinterpret(x, target, shape, (*(s // wanted for s in steps), 1), 0)
    return result


def numpy(x: Array, /) -> npt.NDArray[Any]:
    """Return ``phalanx.asnumpy`` of the array: a copy on the host; waits for the device."""
    return asnumpy(x)


def cpu(x: Array, /) -> Array:
    """Return the array on ``cpu:0``: itself if it is there already, else a copy."""
    return x.to_device("cpu:0")


def conj(x: Array, /) -> Array:
    """Return the complex conjugate; a real array itself."""
    return elementwise.conj(x) if x.dtype.kind == "c" else x


def real(x: Array, /) -> Array:
    """The real parts: a copy of a complex array's, a real array itself."""
    return elementwise.real(x) if x.dtype.kind == "c" else x


def imag(x: Array, /) -> Array:
    """The imaginary parts: a copy, and zeros for a real array."""
    return elementwise.imag(x) if x.dtype.kind == "c" else zeros_like(x)


def round_number(x: Array, ndigits: int | None = None, /) -> Any:
    """Return a 0-d array as a Python number, rounded as ``round`` rounds it."""
    if x.ndim:
        raise TypeError(f"round() takes a 0-d array, got shape {x.shape}; use x.round(decimals)")
    return item(x).__round__(ndigits)


def truncated_number(x: Array, /) -> int:
    """Return a 0-d array as an int, cut toward zero."""
    if x.ndim:
        raise TypeError(f"trunc() takes a 0-d array, got shape {x.shape}; use phalanx.trunc(x)")
    whole: int = math.trunc(item(x))
    return whole


#: Functions that are methods as they are.
_FUNCTIONS = (
    *(reductions.sum, reductions.prod, reductions.mean, reductions.var, reductions.std),
    *(reductions.min, reductions.max, reductions.argmin, reductions.argmax),
    *(reductions.all, reductions.any),
    *(elementwise.clip, astype, manipulation.squeeze, manipulation.repeat),
    *(searching.nonzero, sorting.argsort),
)
#: Those that differ: the shape unpacked, the flattened array by default, in place.
_OWN = (
    *(reshape, transpose, swapaxes, ravel, flatten, copy, cumsum, cumprod, take),
    *(dot, round, view, conj, cpu, numpy),
)

add_methods(
    {
        **{f.__name__: f for f in (*_FUNCTIONS, *_OWN)},
        "conjugate": conj,
        "fill": fill_with,
        "sort": sort_in_place,
        "real": property(real, doc=real.__doc__),
        "imag": property(imag, doc=imag.__doc__),
        "__round__": round_number,
        "__trunc__": truncated_number,
    }
)
