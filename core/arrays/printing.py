"""How arrays show: values as NumPy prints them, with dtype and device."""

from __future__ import annotations

from typing import Any

from phalanx._warm import Array, view

_EDGE = 3
_THRESHOLD = 1000


def _host_values(x: Array) -> Any:
    """The elements that show, on the host; a large array only has its corners copied."""
    from .transfer import asnumpy

    if x.dtype.name == "bfloat16":
        from phalanx.arrays.data_types import astype, float32

        x = astype(x, float32)
    return asnumpy(x)


def _corners(x: Array) -> Array:
    """An array small enough to print whole, with the edges of every long axis."""
    from phalanx.namespace.manipulation import concat

    for axis, extent in enumerate(x.shape):
        if extent > 2 * _EDGE:
            shape = (*x.shape[:axis], _EDGE + 1, *x.shape[axis + 1 :])
            head = view(x, shape, x.strides)
            tail = view(x, shape, x.strides, (extent - _EDGE - 1) * x.strides[axis])
            x = concat([head, tail], axis=axis)
    return x


def _body(x: Array, prefix: str) -> str:
    import numpy as np

    threshold = _THRESHOLD
    if x.size > threshold:
        x, threshold = _corners(x), 0
    values = _host_values(x)
    return np.array2string(
        values,
        separator=", ",
        prefix=prefix,
        edgeitems=_EDGE,
        threshold=threshold,
        max_line_width=88,
    )


def array_repr(x: Array) -> str:
    """``phalanx.Array([...], dtype=..., device=...)``, with the shape if elements are left out."""
    prefix = "phalanx.Array("
    if x.size == 0:
        body = f"[], shape={x.shape}"
    else:
        body = _body(x, prefix)
        if x.size > _THRESHOLD:
            body += f", shape={x.shape}"
    tail = f"dtype={x.dtype.name}, device='{x.device}')"
    last = body.rsplit("\n", 1)[-1]
    lead = len(prefix) if "\n" not in body else 0
    gap = ", " if lead + len(last) + len(tail) < 86 else ",\n" + " " * len(prefix)
    return f"{prefix}{body}{gap}{tail}"


def array_str(x: Array) -> str:
    """The values alone."""
    if x.ndim == 0:
        return str(x.item())
    return "[]" if x.size == 0 else _body(x, "").replace(",", "")
