"""Windows that slide over the last axes of an array, as views."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from phalanx._warm import Array, assign, fill, view
from phalanx._warm import empty as new_array
from phalanx.arrays.transfer import contiguous
from phalanx.namespace.manipulation import reshape

from .arguments import need_floating, numbers

Extents = tuple[int, ...]
#: What is added before and behind each axis.
Edges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows of a size lie on axes of given lengths.

    Attributes:
        size: their extents.
        stride: steps from one window to the next.
        dilation: steps between the elements of a window.
        count: how many there are along each axis.
    """

    size: Extents
    stride: Extents
    dilation: Extents
    count: Extents

    @classmethod
    def of(
        cls, name: str, lengths: Extents, size: Extents, stride: Extents, dilation: Extents
    ) -> Windows:
        """Return the windows on axes of padded lengths.

        Raises:
            ValueError: a window is larger than its axis.
        """
        span = tuple(d * (k - 1) + 1 for k, d in zip(size, dilation, strict=True))
        if any(s > n for s, n in zip(span, lengths, strict=True)):
            raise ValueError(
                f"{name}: a window of extents {span}, dilation counted, is larger than the padded "
                f"input, {lengths}"
            )
        found = zip(lengths, span, stride, strict=True)
        return cls(size, stride, dilation, tuple((n - s) // step + 1 for n, s, step in found))

    def on(self, x: Array) -> Array:
        """Return the view (..., size, count) of an array (..., lengths)."""
        axes = len(self.size)
        lead, strides = x.shape[:-axes], x.strides[-axes:]
        inside = (s * d for s, d in zip(strides, self.dilation, strict=True))
        between = (s * step for s, step in zip(strides, self.stride, strict=True))
        return view(x, (*lead, *self.size, *self.count), (*x.strides[:-axes], *inside, *between))

    def offsets(self) -> int:
        """Return the number of elements of a window."""
        return prod(self.size)


def padded(x: Array, edges: Edges, value: float) -> Array:
    """Return an array with a value around its last axes; itself where nothing is added."""
    if not any(before or behind for before, behind in edges):
        return x
    axes = len(edges)
    lengths = x.shape[-axes:]
    extents = (n + before + behind for n, (before, behind) in zip(lengths, edges, strict=True))
    result = new_array((*x.shape[:-axes], *extents), x.dtype, x.device)
    fill(result, value)
    shift = sum(s * before for s, (before, _) in zip(result.strides[-axes:], edges, strict=True))
    if x.size:
        assign(view(result, x.shape, result.strides, shift), x)
    return result


def unfold(
    input: Array,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Array:
    """Return the windows (n, channels * window, count) of images (n, channels, h, w); also im2col.

    A column is a window with its channels; the windows go by rows. Without n there is none in the
    result.

    Raises:
        TypeError: no floating array, or an argument that is no int or pair of ints.
        ValueError: another number of axes, or a window larger than the padded image.

    Examples:
        >>> x = px.reshape(px.arange(9.0), (1, 1, 3, 3))
        >>> print(px.nn.unfold(x, 2))
        [[[0. 1. 3. 4.]
          [1. 2. 4. 5.]
          [3. 4. 6. 7.]
          [4. 5. 7. 8.]]]
    """
    need_floating(input, "unfold")
    if input.ndim not in (3, 4):
        raise ValueError(f"unfold takes images (n, channels, h, w), got shape {input.shape}")
    size = numbers(kernel_size, 2, "unfold: kernel_size", 1)
    steps = numbers(stride, 2, "unfold: stride", 1)
    apart = numbers(dilation, 2, "unfold: dilation", 1)
    edges = tuple((p, p) for p in numbers(padding, 2, "unfold: padding", 0))
    x = padded(input, edges, 0.0)
    windows = Windows.of("unfold", x.shape[-2:], size, steps, apart)
    lead = (*input.shape[:-3], input.shape[-3] * windows.offsets(), prod(windows.count))
    return reshape(contiguous(windows.on(x)), lead)
