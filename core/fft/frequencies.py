"""The frequencies of a transform, and the order that has zero in the middle."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, Device, DType, default_float, normal_axis
from phalanx.arrays.checks import need_array, need_int, need_real
from phalanx.arrays.data_types import as_dtype, astype
from phalanx.namespace.creation import arange
from phalanx.namespace.manipulation import concat, roll


def _frequency_dtype(dtype: DType | None, device: Device) -> DType:
    target = as_dtype(dtype) or default_float(device)
    if target.kind != "f":
        raise TypeError(f"frequencies are real floating numbers, not {target}")
    return target


def _check_samples(n: int, d: float, op: str) -> None:
    if need_int(n, f"{op}: n") < 1:
        raise ValueError(f"{op}: the length must be positive, got {n}")
    need_real(d, f"{op}: d")
    if d == 0:
        raise ValueError(f"{op}: d, the distance of the samples, must not be 0")


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | Device | None = None
) -> Array:
    """Return the ``n`` frequencies of ``fft`` for samples ``d`` apart, negative ones behind.

    Raises:
        ValueError: ``n`` is not positive.
        TypeError: a dtype that is not real and floating.

    Examples:
        >>> print(px.fft.fftfreq(5, d=0.1))
        [ 0.  2.  4. -4. -2.]
    """
    _check_samples(n, d, "fftfreq")
    ahead, behind = arange((n + 1) // 2, device=device), arange(-(n // 2), 0, device=device)
    kind = _frequency_dtype(dtype, ahead.device)
    return astype(concat((ahead, behind)) / (n * d), kind, copy=False)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: str | Device | None = None
) -> Array:
    """Return the n // 2 + 1 frequencies of ``rfft`` for samples ``d`` apart.

    Errors are those of ``fftfreq``.

    Examples:
        >>> print(px.fft.rfftfreq(4, d=0.5))
        [0.  0.5 1. ]
    """
    _check_samples(n, d, "rfftfreq")
    numbers = arange(n // 2 + 1, device=device)
    return astype(numbers / (n * d), _frequency_dtype(dtype, numbers.device), copy=False)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency to the middle of axes (default: all), in the dtype of ``x``.

    Raises:
        IndexError: an axis that is not there.

    Examples:
        >>> print(px.fft.fftshift(px.asarray([0, 1, 2, -2, -1])))
        [-2 -1  0  1  2]
    """
    places = _places(x, axes, "fftshift")
    return roll(x, tuple(x.shape[a] // 2 for a in places), axis=places)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Inverse of ``fftshift``, which differs where an axis is odd.

    Examples:
        >>> print(px.fft.ifftshift(px.asarray([-2, -1, 0, 1, 2])))
        [ 0  1  2 -2 -1]
    """
    places = _places(x, axes, "ifftshift")
    return roll(x, tuple(-(x.shape[a] // 2) for a in places), axis=places)


def _places(x: Array, axes: int | Sequence[int] | None, op: str) -> tuple[int, ...]:
    need_array(x, op)
    if axes is None:
        return tuple(range(x.ndim))
    chosen = (axes,) if isinstance(axes, int) else axes
    return tuple(normal_axis(a, x, op) for a in chosen)
