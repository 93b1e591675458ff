"""The ``fft`` extension of the Array API standard 2025.12, computed by NumPy on the host.

See ``host_numpy``: on devices that the host cannot address it is a fallback under the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from ._warm import Array, Device, DType, normal_axis
from .arrays.data_types import as_dtype, astype, float64
from .arrays.host_numpy import on_host
from .namespace.creation import arange
from .namespace.manipulation import roll

Norm = Literal["backward", "ortho", "forward"]


def _transform(name: str, x: Array, kind: str, **options: Any) -> Array:
    """Apply NumPy's transform of the same name after checking the dtype."""
    import numpy as np

    if not isinstance(x, Array):
        raise TypeError(f"{name} takes a phalanx array, got {type(x).__name__}")
    if x.dtype.kind not in kind:
        names = {"c": "complex", "f": "real floating", "fc": "floating"}[kind]
        raise TypeError(f"{name} takes a {names} array, got {x.dtype}")
    _check_lengths(name, x, **options)
    result: Array = on_host(f"fft.{name}", getattr(np.fft, name), x, **options)
    return result


def _check_lengths(
    name: str,
    x: Array,
    *,
    norm: str,
    axis: int | None = None,
    n: int | None = None,
    axes: Sequence[int] | None = None,
    s: Sequence[int] | None = None,
) -> None:
    """Raise an error that names the transform for what NumPy would refuse without saying where."""
    if norm not in get_args(Norm):
        raise ValueError(f'{name}: norm is "backward", "ortho" or "forward", got {norm!r}')
    if axes is None:
        axes = range(x.ndim) if axis is None else (axis,)
    places = [normal_axis(a, x, name) for a in axes]
    lengths = (n,) * len(places) if s is None else s
    if len(lengths) != len(places):
        raise ValueError(f"{name}: s {s} and axes {tuple(axes)} differ in length")
    for place, asked in zip(places, lengths, strict=True):
        length = x.shape[place] if asked is None else asked
        if length < 1:
            raise ValueError(
                f"{name} of shape {x.shape} along axis {place}: the length must be positive, "
                f"got {length}"
            )


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Discrete Fourier transform along an axis, of length ``n`` (cut or padded with zeros)."""
    return _transform("fft", x, "fc", n=n, axis=axis, norm=norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``fft``."""
    return _transform("ifft", x, "fc", n=n, axis=axis, norm=norm)


def _axes(s: Sequence[int] | None, axes: Sequence[int] | None) -> dict[str, Any]:
    """NumPy wants the axes named where ``s`` is given."""
    if s is not None and axes is None:
        axes = range(-len(s), 0)
    return {"s": None if s is None else tuple(s), "axes": None if axes is None else tuple(axes)}


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Discrete Fourier transform along several axes (default: all)."""
    return _transform("fftn", x, "fc", norm=norm, **_axes(s, axes))


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``fftn``."""
    return _transform("ifftn", x, "fc", norm=norm, **_axes(s, axes))


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The first half of the transform of a real array; the rest is its mirror image."""
    return _transform("rfft", x, "f", n=n, axis=axis, norm=norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``rfft``; ``n`` is the length of the real result (default: even)."""
    return _transform("irfft", x, "fc", n=n, axis=axis, norm=norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """``rfft`` along the last of several axes (default: all), ``fft`` along the others."""
    return _transform("rfftn", x, "f", norm=norm, **_axes(s, axes))


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``rfftn``."""
    return _transform("irfftn", x, "fc", norm=norm, **_axes(s, axes))


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Transform of a Hermitian signal, given by its first half; the result is real."""
    return _transform("hfft", x, "fc", n=n, axis=axis, norm=norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``hfft``."""
    return _transform("ihfft", x, "f", n=n, axis=axis, norm=norm)


def _frequency_dtype(dtype: DType | None) -> DType:
    target = as_dtype(dtype) or float64
    if target.kind != "f":
        raise TypeError(f"frequencies are real floating numbers, not {target}")
    return target


def _check_count(n: int, op: str) -> None:
    if n < 1:
        raise ValueError(f"{op}: the length must be positive, got {n}")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | Device | None = None
) -> Array:
    """Return the ``n`` frequencies of ``fft`` for samples ``d`` apart, negative ones behind."""
    _check_count(n, "fftfreq")
    numbers = arange(n, device=device)
    shifted = numbers - (n // 2)
    return astype(roll(shifted, -(n // 2)) / (n * d), _frequency_dtype(dtype))


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | Device | None = None
) -> Array:
    """Return the n // 2 + 1 frequencies of ``rfft`` for samples ``d`` apart."""
    _check_count(n, "rfftfreq")
    return astype(arange(n // 2 + 1, device=device) / (n * d), _frequency_dtype(dtype))


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency to the middle of axes (default: all)."""
    places = _places(x, axes)
    return roll(x, tuple(x.shape[a] // 2 for a in places), axis=places)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Inverse of ``fftshift``."""
    places = _places(x, axes)
    return roll(x, tuple(-(x.shape[a] // 2) for a in places), axis=places)


def _places(x: Array, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    chosen = (axes,) if isinstance(axes, int) else axes
    return tuple(normal_axis(a, x, "fftshift") for a in chosen)


__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
