"""The largest elements and the means of windows."""

from __future__ import annotations

from itertools import product
from math import inf, prod
from typing import Any

from phalanx._warm import Array, cast
from phalanx.arrays.checks import need_array, need_int
from phalanx.arrays.data_types import iinfo
from phalanx.namespace.conversion import asarray
from phalanx.namespace.elementwise import maximum
from phalanx.namespace.manipulation import expand_dims

from .arguments import need_floating, numbers, widened
from .windows import Windows, padded


def max_pool1d(
    input: Array,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Array:
    """Return the largest elements of windows over the last axis of (n, channels, l), exact.

    ``stride`` is the window's size if left out. ``padding`` adds places that are smaller than every
    number, at most half a window; with ``ceil_mode`` a last window may reach beyond the end. NaN
    propagates.

    Raises:
        TypeError: no array of real numbers, or an argument that is no int.
        ValueError: another number of axes, or a window larger than the padded input.

    Examples:
        >>> print(px.nn.max_pool1d(px.asarray([[1.0, 5.0, 2.0, 3.0, 4.0]]), 2))
        [[5. 3.]]
    """
    return _largest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Array,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Array:
    """Return the largest elements of windows over the last two axes of (n, channels, h, w), exact.

    The parameters are ints or pairs; all else is as in ``max_pool1d``.

    Examples:
        >>> x = px.reshape(px.arange(16), (1, 4, 4))
        >>> print(px.nn.max_pool2d(x, 2))
        [[[ 5  7]
          [13 15]]]
    """
    return _largest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    input: Array,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """Return the means of windows over the last axis of (n, channels, l).

    The elements of a window are added in their order, and divided by their number: with
    ``count_include_pad`` the zeros of ``padding`` count. float16 and bfloat16 are computed in
    float32. All else is as in ``max_pool1d``.

    Raises:
        TypeError: no floating array, or an argument that is no int.
        ValueError: another number of axes, or a window larger than the padded input.

    Examples:
        >>> x = px.asarray([[1.0, 3.0, 5.0, 7.0]])
        >>> print(px.nn.avg_pool1d(x, 2), px.nn.avg_pool1d(x, 3, 3, 1, count_include_pad=False))
        [[2. 6.]] [[2. 6.]]
    """
    return _means(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def avg_pool2d(
    input: Array,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Return the means of windows over the last two axes of (n, channels, h, w).

    The elements of a window are added by rows. ``divisor_override`` is divided by instead of their
    number. The parameters are ints or pairs; all else is as in ``avg_pool1d``.

    Examples:
        >>> x = px.reshape(px.arange(16.0), (1, 4, 4))
        >>> print(px.nn.avg_pool2d(x, 2))
        [[[ 2.5  4.5]
          [10.5 12.5]]]
    """
    if divisor_override is not None and need_int(divisor_override, "avg_pool2d: divisor") == 0:
        raise ValueError("avg_pool2d: divisor_override is not 0")
    return _means(
        "avg_pool2d",
        2,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


class _Pool:
    """The windows of a call, and what is added around the input for them."""

    def __init__(
        self, name: str, axes: int, x: Array, size: Any, stride: Any, padding: Any, dilation: Any
    ) -> None:
        if x.ndim not in (axes + 1, axes + 2):
            raise ValueError(f"{name} takes {axes + 1} or {axes + 2} axes, got shape {x.shape}")
        self.name, self.axes, self.lengths = name, axes, x.shape[-axes:]
        self.size = numbers(size, axes, f"{name}: kernel_size", 1)
        given = self.size if stride is None else stride
        self.stride = numbers(given, axes, f"{name}: stride", 1)
        self.dilation = numbers(dilation, axes, f"{name}: dilation", 1)
        self.padding = numbers(padding, axes, f"{name}: padding", 0)
        if any(p > k // 2 for p, k in zip(self.padding, self.size, strict=True)):
            raise ValueError(
                f"{name}: padding {self.padding} is more than half of the window {self.size}"
            )

    def reach(self, ceil_mode: bool) -> tuple[int, ...]:
        """Return the lengths with padding, and with what the last window may reach beyond."""
        ends = []
        for n, k, s, d, p in zip(
            self.lengths, self.size, self.stride, self.dilation, self.padding, strict=True
        ):
            span, whole = d * (k - 1) + 1, n + 2 * p
            count = (whole - span) // s + 1
            # another one, if it begins inside of the input or of the padding before it
            if ceil_mode and (whole - span) % s and count * s < n + p:
                whole = count * s + span
            ends.append(whole)
        return tuple(ends)

    def edges(self, reach: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """Return what is added before and behind each axis."""
        return tuple(
            (p, end - n - p) for n, p, end in zip(self.lengths, self.padding, reach, strict=True)
        )

    def windows(self, reach: tuple[int, ...]) -> Windows:
        """Return where the windows lie."""
        return Windows.of(self.name, reach, self.size, self.stride, self.dilation)

    def parts(self, x: Array, windows: Windows) -> list[Array]:
        """Return the views of one element of each window, in the order of a window."""
        seen = windows.on(x)
        places = product(*map(range, self.size))
        lead = (slice(None),) * (x.ndim - self.axes)
        return [seen[(*lead, *place)] for place in places]


def _least(x: Array) -> float:
    if x.dtype.kind == "f":
        return -inf
    return iinfo(x.dtype).min


def _largest(
    name: str,
    axes: int,
    input: Array,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Array:
    need_array(input, name)
    if input.dtype.kind not in "iuf":
        raise TypeError(f"{name} takes an array of real numbers, got {input.dtype}")
    pool = _Pool(name, axes, input, kernel_size, stride, padding, dilation)
    reach = pool.reach(ceil_mode)
    windows = pool.windows(reach)
    first, *rest = pool.parts(padded(input, pool.edges(reach), _least(input)), windows)
    result = maximum(first, rest[0]) if rest else +first
    for part in rest[1:]:
        result = maximum(result, part)
    return result


def _means(
    name: str,
    axes: int,
    input: Array,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    need_floating(input, name)
    pool = _Pool(name, axes, input, kernel_size, stride, padding, 1)
    reach = pool.reach(ceil_mode)
    windows = pool.windows(reach)
    first, *rest = pool.parts(widened(padded(input, pool.edges(reach), 0.0)), windows)
    total = first + rest[0] if rest else +first
    for part in rest[1:]:
        total = total + part
    if divisor is not None:
        return cast(total / float(divisor), input.dtype)
    return cast(total / _divisor(pool, windows, count_include_pad, total), input.dtype)


def _divisor(pool: _Pool, windows: Windows, include_pad: bool, x: Array) -> Array | float:
    """The number of elements of each window: one for all, or an array."""
    counts = _counts(pool, windows, include_pad)
    if all(len(set(c)) <= 1 for c in counts):
        return float(prod(c[0] for c in counts if c))
    whole: Array | None = None
    for counted in counts:  # products of small integers are exact
        along = asarray([float(c) for c in counted], dtype=x.dtype, device=x.device)
        whole = along if whole is None else expand_dims(whole, axis=1) * along
    assert whole is not None
    return whole


def _counts(pool: _Pool, windows: Windows, include_pad: bool) -> list[list[int]]:
    """How many elements of the input, or of its padding, the windows have along each axis."""
    found = []
    for n, k, s, p, count in zip(
        pool.lengths, pool.size, pool.stride, pool.padding, windows.count, strict=True
    ):
        low, high = (0, n + 2 * p) if include_pad else (p, n + p)
        begins = [s * i for i in range(count)]
        found.append([min(b + k, high) - max(b, low) for b in begins])
    return found
