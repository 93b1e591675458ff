"""The methods of arrays that NumPy, CuPy and PyTorch share: the functions of the namespace, bound.

What the function would not say as the method of that name does, stands here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, SupportsIndex

from phalanx._warm import (
    Array,
    DType,
    add_methods,
    assign,
    default_float,
    normal_axis,
    reinterpret,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.checks import need_array, need_int
from phalanx.arrays.data_types import as_dtype, astype, finfo
from phalanx.arrays.printing import array_html
from phalanx.arrays.transfer import asnumpy, item

from . import (
    elementwise,
    linear,
    manipulation,
    reductions,
    repeating,
    running,
    searching,
    sorting,
    taking,
)
from .conversion import asarray
from .creation import zeros_like

if TYPE_CHECKING:
    import numpy.typing as npt


def reshape(x: Array, /, *shape: Any, copy: bool | None = None) -> Array:
    """Return ``phalanx.reshape`` of the array; the shape is a tuple or the extents one by one.

    Examples:
        >>> print(px.arange(6).reshape(2, -1))
        [[0 1 2]
         [3 4 5]]
    """
    return manipulation.reshape(x, _unpacked(shape), copy=copy)


def transpose(x: Array, /, *axes: Any) -> Array:
    """Return a view with the axes in the given order (default: reversed).

    Examples:
        >>> x = px.zeros((2, 3, 4))
        >>> x.transpose().shape, x.transpose(2, 0, 1).shape
        ((4, 3, 2), (4, 2, 3))
    """
    order = _unpacked(axes) if axes and axes != (None,) else range(x.ndim)[::-1]
    return manipulation.permute_dims(x, tuple(order))


def _unpacked(numbers: tuple[Any, ...]) -> Any:
    first: Any = numbers[0] if len(numbers) == 1 else None
    if hasattr(first, "__iter__") and not isinstance(first, SupportsIndex | str):
        return tuple(first)
    return numbers


def swapaxes(x: Array, first: int, second: int, /) -> Array:
    """Return a view with two axes exchanged.

    Examples:
        >>> px.zeros((2, 3, 4)).swapaxes(0, -1).shape
        (4, 3, 2)
    """
    i, j = normal_axis(first, x, "swapaxes"), normal_axis(second, x, "swapaxes")
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return manipulation.permute_dims(x, tuple(order))


def ravel(x: Array, /) -> Array:
    """Return the elements in C order along one axis: a view where the layout allows.

    Examples:
        >>> print(px.asarray([[1, 2], [3, 4]]).T.ravel())
        [1 3 2 4]
    """
    return manipulation.reshape(x, (-1,))


def flatten(x: Array, /) -> Array:
    """Return a copy of the elements in C order along one axis.

    Examples:
        >>> x = px.asarray([[1, 2], [3, 4]])
        >>> y = x.flatten()
        >>> x[0, 0] = 9  # which a view of ``ravel`` would show
        >>> print(y)
        [1 2 3 4]
    """
    return manipulation.reshape(x, (-1,), copy=True)


def copy(x: Array, /) -> Array:
    """Return a copy that keeps the order of the axes in memory.

    Examples:
        >>> x = px.asarray([1, 2])
        >>> y = x.copy()
        >>> x[0] = 9
        >>> print(y)
        [1 2]
    """
    result: Array = copy_array(x)
    return result


def fill_with(x: Array, value: bool | int | float | complex | Array, /) -> None:
    """Write one value into every element; as ``x[...] = value``.

    Examples:
        >>> x = px.zeros((2, 3))
        >>> x[:, 1].fill(7)  # a column, which is a view
        >>> print(x)
        [[0. 7. 0.]
         [0. 7. 0.]]
    """
    x[...] = value


def sort_in_place(
    x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> None:
    """Sort the array itself along an axis, as NumPy's method does; ``phalanx.sort`` copies.

    Examples:
        >>> x = px.asarray([2, 3, 1])
        >>> x.sort(descending=True)
        >>> print(x)
        [3 2 1]
    """
    assign(x, sorting.sort(x, axis=axis, descending=descending, stable=stable))


def cumsum(x: Array, /, axis: int | None = None, dtype: DType | str | None = None) -> Array:
    """Return ``phalanx.cumulative_sum`` along an axis, or of the flattened array.

    Examples:
        >>> x = px.asarray([[1, 2], [3, 4]])
        >>> print(x.cumsum(), x.cumsum(0, dtype=px.float32).dtype)
        [ 1  3  6 10] float32
    """
    return running.cumulative_sum(*_flat_without(x, axis), dtype=as_dtype(dtype))


def cumprod(x: Array, /, axis: int | None = None, dtype: DType | str | None = None) -> Array:
    """Return ``phalanx.cumulative_prod`` along an axis, or of the flattened array.

    Examples:
        >>> print(px.asarray([[1, 2], [3, 4]]).cumprod(1))
        [[ 1  2]
         [ 3 12]]
    """
    return running.cumulative_prod(*_flat_without(x, axis), dtype=as_dtype(dtype))


def take(x: Array, indices: Any, /, axis: int | None = None) -> Array:
    """Return ``phalanx.take`` along an axis, or of the flattened array; indices may be a list.

    Examples:
        >>> print(px.asarray([[10, 20], [30, 40]]).take([0, -1]))
        [10 40]
    """
    x, axis = _flat_without(x, axis)
    places = asarray(indices, device=None if isinstance(indices, Array) else x.device)
    return taking.take(x, places, axis=axis)


def _flat_without(x: Array, axis: int | None) -> tuple[Array, int]:
    """The array and an axis: without one, the flattened array and its only axis."""
    return (x, axis) if axis is not None else (ravel(x), 0)


def round(x: Array, /, decimals: int = 0) -> Array:
    """Return the elements rounded to a number of decimals, half to even, as NumPy does it.

    More decimals than the dtype tells apart change nothing; of tens beyond its numbers 0 is left.

    Examples:
        >>> print(px.asarray([0.125, 0.375]).round(2), px.asarray([125, 375]).round(-1))
        [0.12 0.38] [120 380]
    """
    need_int(decimals, "round: decimals")
    if decimals == 0 or (x.dtype.kind in "iu" and decimals > 0):
        return elementwise.round(x)
    limits = finfo(x.dtype if x.dtype.kind in "fc" else default_float(x.device))
    if abs(decimals) > math.log10(limits.max):
        zero = x * 0  # NaN of infinities
        kept = x if decimals > 0 else elementwise.where(zero == 0, zero, x)
        return astype(kept, x.dtype)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        scaled = x * scale
        rounded = elementwise.round(scaled) / scale
        return elementwise.where(elementwise.isfinite(scaled), rounded, x)
    result = elementwise.round(x / scale) * scale
    return astype(result, x.dtype, copy=False)


def dot(x: Array, other: Array, /) -> Array:
    """Return the product as ``numpy.dot`` defines it: over the last axis, and the last but one.

    0-d arrays multiply.

    Examples:
        >>> print(px.asarray([[1, 2], [3, 4]]).dot(px.asarray([1, 10])))
        [21 43]
    """
    need_array(other, "dot")
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
        ValueError: the last axis does not divide into the new elements, or the array does not
            begin at one of them.

    Examples:
        >>> print(px.asarray([1.0, -2.0], dtype=px.float32).view(px.int32))
        [ 1065353216 -1073741824]
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
    if x.offset % wanted:
        raise ValueError(
            f"view of {x.shape} {x.dtype} as {target}: the first element, at byte {x.offset} of "
            f"the memory, is at no multiple of {wanted}; write x.copy().view(...)"
        )
    if length % wanted or any(s % wanted for s in steps):
        raise ValueError(
            f"view of {x.shape} {x.dtype} as {target}: rows of {length} bytes do not divide"
        )
    shape = (*x.shape[:-1], length // wanted)
    result: Array = reinterpret(x, target, shape, (*(s // wanted for s in steps), 1), 0)
    return result


def numpy(x: Array, /) -> npt.NDArray[Any]:
    """Return ``phalanx.asnumpy`` of the array: a copy on the host; waits for the device.

    Examples:
        >>> px.asarray([1, 2]).numpy()
        array([1, 2])
    """
    return asnumpy(x)


def cpu(x: Array, /) -> Array:
    """Return the array on ``cpu:0``: itself if it is there already, else a copy.

    Examples:
        >>> px.asarray([1, 2]).cpu().device == "cpu:0"
        True
    """
    return x.to_device("cpu:0")


def conj(x: Array, /) -> Array:
    """Return the complex conjugate; a real array itself.

    Examples:
        >>> print(px.asarray([1 + 2j, 3]).conj())
        [1.-2.j 3.-0.j]
    """
    return elementwise.conj(x) if x.dtype.kind == "c" else x


def real(x: Array, /) -> Array:
    """The real parts: a view of a complex array's, a real array itself. They can be assigned.

    Examples:
        >>> x = px.asarray([1 + 2j, 3])
        >>> x.real *= 10
        >>> print(x.real, x)
        [10. 30.] [10.+2.j 30.+0.j]
    """
    return elementwise.real(x) if x.dtype.kind == "c" else x


def set_real(x: Array, value: Array | complex) -> None:
    """Assign the real parts."""
    real(x)[...] = value


def imag(x: Array, /) -> Array:
    """The imaginary parts: a view of a complex array's, which can be assigned; else new zeros.

    Examples:
        >>> print(px.asarray([1 + 2j, 3]).imag, px.asarray([1, 2]).imag)
        [2. 0.] [0 0]
    """
    return elementwise.imag(x) if x.dtype.kind == "c" else zeros_like(x)


def set_imag(x: Array, value: Array | complex) -> None:
    """Assign the imaginary parts; a real array has none."""
    if x.dtype.kind != "c":
        raise TypeError(
            f"an array of {x.dtype} has no imaginary parts to set; convert it to complex first"
        )
    imag(x)[...] = value


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
    *(elementwise.clip, astype, manipulation.squeeze, repeating.repeat),
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
        "real": property(real, set_real, doc=real.__doc__),
        "imag": property(imag, set_imag, doc=imag.__doc__),
        "__round__": round_number,
        "__trunc__": truncated_number,
        "_repr_html_": array_html,
    }
)
