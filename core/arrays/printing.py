"""How arrays show: values as NumPy prints them, with dtype and device; and as HTML."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Literal

from phalanx._warm import Array, view
from phalanx.runtime.memory import format_size
from phalanx.runtime.settings import Setting

from .scalars import to_half_bits


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """How arrays print; ``None`` leaves a matter to NumPy's own options.

    ``precision`` is digits behind the point, ``threshold`` the most elements that are shown whole,
    ``edgeitems`` how many are shown at each end of an axis beyond that, ``linewidth`` is in
    columns, ``suppress`` writes no exponents, ``sign`` is NumPy's.
    """

    precision: int | None = None
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 88
    suppress: bool | None = None
    sign: Literal["-", "+", " "] | None = None


_options: Setting[PrintOptions] = Setting("phalanx_print_options", PrintOptions)


def set_printoptions(**options: Any) -> AbstractContextManager[Any]:
    """Set how arrays print: any of the fields that ``get_printoptions()`` has; the others stay.

    Takes effect at once in the whole process, or in the block of one thread or task:
    ``with phalanx.set_printoptions(precision=3): ...``.

    Raises:
        TypeError: an option that there is not, or of another type.
        ValueError: a number below its least: 1 for ``edgeitems`` and ``linewidth``, else 0.

    Examples:
        >>> with px.set_printoptions(precision=3):
        ...     print(px.asarray([px.pi, 100.0]))
        [  3.142 100.   ]
    """
    known = [field.name for field in fields(PrintOptions)]
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"set_printoptions has no {name!r}; it has {', '.join(known)}")
        _check_option(name, value)
    return _options.set(replace(_options.get(), **options))


def _check_option(name: str, value: Any) -> None:
    if value is None and getattr(PrintOptions(), name) is None:
        return
    if name == "sign":
        if value not in ("-", "+", " "):
            raise ValueError(f'set_printoptions: sign is "-", "+" or " ", got {value!r}')
        return
    kind = bool if name == "suppress" else int
    if type(value) is not kind:
        raise TypeError(f"set_printoptions: {name} is of type {kind.__name__}, got {value!r}")
    least = 1 if name in ("edgeitems", "linewidth") else 0
    if value < least:
        raise ValueError(f"set_printoptions: {name} is at least {least}, got {value}")


def get_printoptions() -> PrintOptions:
    """Return how arrays print here and now.

    Examples:
        >>> px.get_printoptions().threshold  # arrays with more elements show their edges
        1000
    """
    return _options.get()


def _host_values(x: Array) -> Any:
    """The elements that show, on the host; a large array only has its corners copied."""
    from .transfer import asnumpy

    if x.dtype.name != "bfloat16":
        return asnumpy(x)
    import numpy as np
    from phalanx.arrays.data_types import astype, float32

    return np.vectorize(_fewest_digits, otypes=[float])(asnumpy(astype(x, float32)))


def _fewest_digits(value: float) -> float:
    """The decimal number of the fewest digits that rounds to a value of bfloat16.

    Four tell 8 bits apart (Matula, In-and-out conversions, Communications of the ACM 11, 1968).
    """
    if not math.isfinite(value):
        return value
    bits = to_half_bits(value, brain=True)
    decimals = (float(f"{value:.{digits}g}") for digits in range(1, 5))
    return next(v for v in decimals if to_half_bits(v, brain=True) == bits)


def _corners(x: Array, edge: int) -> Array:
    """An array small enough to print whole, with the edges of every long axis."""
    from phalanx.namespace.manipulation import concat

    for axis, extent in enumerate(x.shape):
        if extent > 2 * edge + 1:
            shape = (*x.shape[:axis], edge + 1, *x.shape[axis + 1 :])
            head = view(x, shape, x.strides)
            tail = view(x, shape, x.strides, (extent - edge - 1) * x.strides[axis])
            x = concat([head, tail], axis=axis)
    return x


def _body(x: Array, prefix: str = "", separator: str = " ") -> str:
    import numpy as np

    options = _options.get()
    threshold = options.threshold
    if x.size > threshold:
        x, threshold = _corners(x, options.edgeitems), 0
    return np.array2string(
        _host_values(x),
        separator=separator,
        prefix=prefix,
        edgeitems=options.edgeitems,
        threshold=threshold,
        max_line_width=options.linewidth,
        precision=options.precision,
        suppress_small=options.suppress,
        sign=options.sign,
    )


def array_repr(x: Array) -> str:
    """``phalanx.Array([...], dtype=..., device=...)``, with the shape if elements are left out."""
    options = _options.get()
    prefix = "phalanx.Array("
    if x.size == 0:
        body = f"[], shape={x.shape}"
    else:
        body = _body(x, prefix, ", ")
        if x.size > options.threshold:
            body += f", shape={x.shape}"
    tail = f"dtype={x.dtype.name}, device='{x.device}')"
    last = body.rsplit("\n", 1)[-1]
    lead = len(prefix) if "\n" not in body else 0
    fits = lead + len(last) + len(tail) < options.linewidth - 2
    return f"{prefix}{body}{', ' if fits else ',' + chr(10) + ' ' * len(prefix)}{tail}"


def array_str(x: Array) -> str:
    """The values alone; one number with all digits of its dtype, unless options say how."""
    options = _options.get()
    chosen = (options.precision, options.suppress, options.sign)
    if x.ndim == 0 and all(option is None for option in chosen):
        return str(_host_values(x)[()])
    return "[]" if x.size == 0 else _body(x)


def array_html(x: Array) -> str:
    """The values below a line with shape, dtype, device and bytes, for notebooks."""
    shape = " x ".join(map(str, x.shape)) or "0-d"
    facts = f"{shape} {x.dtype.name} on {x.device}, {format_size(x.nbytes)}"
    return f"<div><b>phalanx.Array</b> {escape(facts)}<pre>{escape(array_str(x))}</pre></div>"
