"""Convolutions, as products of the weights with columns of windows."""

from __future__ import annotations

from math import prod
from typing import Any

from phalanx._warm import Array, assign, empty, launch, view
from phalanx.arrays.checks import need_int, need_one_device
from phalanx.namespace.creation import zeros
from phalanx.namespace.manipulation import c_strides, reshape

from .arguments import need_choice, need_floating, need_same_dtype, numbers
from .windows import Edges, Windows, padded

#: Bytes of columns that are made at once: they stay in a processor's cache, and fill a GPU.
_COLUMNS = 1 << 24


def conv1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Array:
    """Return the cross-correlation of rows (n, channels, l) with weights.

    These are (out, channels / groups, k). The result is (n, out, count), or without n where
    ``input`` has none. ``padding`` is a number of zeros at both ends, ``"valid"`` none, and
    ``"same"`` as many as keep the length, the odd one behind. The order: an element is the chain of
    ``matmul`` over channels, then places of the window, rounded to the dtype; the bias (out,) is
    added to that.

    Raises:
        DeviceMismatchError: operands on several devices.
        TypeError: operands that are no arrays of one floating dtype.
        ValueError: shapes or groups that do not fit, or ``"same"`` with a stride.

    Examples:
        >>> x = px.asarray([[1.0, 2.0, 3.0, 4.0]])
        >>> print(px.nn.conv1d(x, px.asarray([[[1.0, 0.0, -1.0]]])))
        [[-2. -2.]]
        >>> print(px.nn.conv1d(x, px.asarray([[[1.0, 1.0]]]), padding="same"))
        [[3. 5. 7. 4.]]
    """
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Array:
    """Return the cross-correlation of images (n, channels, h, w) with weights.

    They are (out, channels / groups, kh, kw), the result is (n, out, rows, columns). ``stride``,
    ``padding`` and ``dilation`` are ints or pairs, one for each axis. Orders, dtypes and errors
    are those of ``conv1d``.

    Examples:
        >>> x = px.reshape(px.arange(9.0), (1, 1, 3, 3))
        >>> print(px.nn.conv2d(x, px.ones((1, 1, 2, 2)), px.asarray([0.5])))
        [[[[ 8.5 12.5]
           [20.5 24.5]]]]
    """
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def _convolved(
    name: str,
    axes: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Array:
    need_floating(input, name)
    need_same_dtype(name, input, weight=weight, bias=bias)
    need_one_device(name, input, weight, *(() if bias is None else (bias,)))
    _check_shapes(name, axes, input, weight, bias, need_int(groups, f"{name}: groups"))
    steps = numbers(stride, axes, f"{name}: stride", 1)
    apart = numbers(dilation, axes, f"{name}: dilation", 1)
    edges = _edges(name, padding, weight.shape[2:], steps, apart)
    single = input.ndim == axes + 1
    x = padded(reshape(input, (1, *input.shape)) if single else input, edges, 0.0)
    windows = Windows.of(name, x.shape[2:], weight.shape[2:], steps, apart)
    result = _products(x, weight, windows, groups)
    if bias is not None:
        result = result + reshape(bias, (-1, *[1] * axes))
    return reshape(result, result.shape[1:]) if single else result


def _check_shapes(
    name: str, axes: int, input: Array, weight: Array, bias: Array | None, groups: int
) -> None:
    shapes = f"an input of shape {input.shape} and a weight of shape {weight.shape}"
    if input.ndim not in (axes + 1, axes + 2) or weight.ndim != axes + 2:
        raise ValueError(
            f"{name} takes {axes + 1} or {axes + 2} axes and a weight of {axes + 2}, got {shapes}"
        )
    channels, out = input.shape[-axes - 1], weight.shape[0]
    if groups < 1 or channels % groups or out % groups:
        raise ValueError(f"{name}: groups={groups} does not divide the channels of {shapes}")
    if weight.shape[1] * groups != channels:
        raise ValueError(
            f"{name} of {shapes} in {groups} groups: the weight takes {weight.shape[1] * groups} "
            f"channels, the input has {channels}"
        )
    if 0 in weight.shape[2:]:
        raise ValueError(f"{name}: a window without elements, of {shapes}")
    if bias is not None and bias.shape != (out,):
        raise ValueError(f"{name}: a bias of shape {bias.shape} for {shapes}")


def _edges(
    name: str, padding: Any, size: tuple[int, ...], stride: tuple[int, ...], apart: tuple[int, ...]
) -> Edges:
    if not isinstance(padding, str):
        return tuple((p, p) for p in numbers(padding, len(size), f"{name}: padding", 0))
    need_choice(padding, ("valid", "same"), f"{name}: padding")
    if padding == "valid":
        return ((0, 0),) * len(size)
    if any(s != 1 for s in stride):
        raise ValueError(f'{name}: padding="same" is for a stride of 1, got {stride}')
    total = (d * (k - 1) for k, d in zip(size, apart, strict=True))
    return tuple((t // 2, t - t // 2) for t in total)


def _products(x: Array, weight: Array, windows: Windows, groups: int) -> Array:
    """(n, out, count) of padded inputs (n, channels, lengths)."""
    n, out = x.shape[0], weight.shape[0]
    inner, count = prod(weight.shape[1:]), prod(windows.count)
    shape = (n, out, *windows.count)
    if n == 0 or out == 0 or inner == 0:
        return zeros(shape, dtype=x.dtype, device=x.device)
    result = empty((n, groups, out // groups, count), x.dtype, x.device)
    filters = reshape(weight, (1, groups, out // groups, inner))
    many = max(1, _COLUMNS // (groups * inner * count * x.itemsize))
    for begin in range(0, n, many):
        end = min(begin + many, n)
        columns = _columns(x[begin:end], windows, (end - begin, groups, inner, count))
        left = view(filters, (end - begin, *filters.shape[1:]), (0, *filters.strides[1:]))
        launch("matmul", (left, columns), (result[begin:end],))
    return reshape(result, shape)


def _columns(x: Array, windows: Windows, shape: tuple[int, ...]) -> Array:
    """The windows with their channels as columns (n, groups, inner, count)."""
    seen = windows.on(x)  # (n, channels, size, count)
    if windows.offsets() == 1 and seen.is_contiguous:
        return reshape(seen, shape)
    columns = empty(shape, x.dtype, x.device)
    assign(view(columns, seen.shape, c_strides(seen.shape)), seen)
    return columns
