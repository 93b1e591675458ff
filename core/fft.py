"""The ``fft`` extension of the Array API standard 2025.12, computed by NumPy on the host.

See ``host_numpy``: on devices that the host cannot address it is a fallback under the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from ._warm import Array, Device, DType, default_float, normal_axis
from .arrays.checks import need_array, need_int, need_real
from .arrays.data_types import as_dtype, astype
from .arrays.host_numpy import on_host
from .namespace.creation import arange
from .namespace.manipulation import roll

Norm = Literal["backward", "ortho", "forward"]


def _transform(name: str, x: Array, kind: str, **options: Any) -> Array:
    """Apply NumPy's transform of the same name after checking the dtype."""
    import numpy as np

    need_array(x, name)
    if x.dtype.kind not in kind:
        names = {"f": "real floating", "fc": "floating"}[kind]
        use = "phalanx.fft.fft" if x.dtype.kind == "c" else "phalanx.astype(x, phalanx.float64)"
        raise TypeError(f"{name} takes a {names} array, got {x.dtype}; use {use}")
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
        if need_int(length, f"{name}: a length") < 1:
            raise ValueError(
                f"{name} of shape {x.shape} along axis {place}: the length must be positive, "
                f"got {length}"
            )


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Discrete Fourier transform along an axis, of length ``n`` (cut or padded with zeros).

    The result of float32 is complex64, of float64 complex128. ``norm`` says what divides by the
    length: the inverse (``"backward"``), this one (``"forward"``), or both by its root.

    Raises:
        TypeError: no array of a floating or complex dtype; the transforms of real arrays take no
            complex ones.
        ValueError: another ``norm``, or a length that is not positive.
        IndexError: an axis that is not there.

    Examples:
        >>> print(px.fft.fft(px.asarray([1.0, 2.0, 3.0]), n=4))
        [ 6.+0.j -2.-2.j  2.+0.j -2.+2.j]
    """
    return _transform("fft", x, "fc", n=n, axis=axis, norm=norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``fft``, with its dtypes and errors.

    Examples:
        >>> print(px.fft.ifft(px.asarray([4.0, 0.0, 0.0, 0.0])))
        [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
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
    """Discrete Fourier transform along several axes (default: all), of lengths ``s``.

    Dtypes and errors are those of ``fft``.

    Examples:
        >>> print(px.fft.fftn(px.ones((2, 3)), axes=(0,)))
        [[2.+0.j 2.+0.j 2.+0.j]
         [0.+0.j 0.+0.j 0.+0.j]]
    """
    return _transform("fftn", x, "fc", norm=norm, **_axes(s, axes))


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``fftn``, with its dtypes and errors.

    Examples:
        >>> print(px.fft.ifftn(px.asarray([[4.0, 0.0], [0.0, 0.0]])))
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """
    return _transform("ifftn", x, "fc", norm=norm, **_axes(s, axes))


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The first half of the transform of a real array; the rest is its mirror image.

    Dtypes and errors are those of ``fft``.

    Examples:
        >>> print(px.fft.rfft(px.asarray([1.0, 2.0, 3.0, 4.0])))
        [10.+0.j -2.+2.j -2.+0.j]
    """
    return _transform("rfft", x, "f", n=n, axis=axis, norm=norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``rfft``; ``n`` is the length of the real result (default: even).

    The result of complex64 is float32, of complex128 float64. Errors are those of ``fft``.

    Examples:
        >>> print(px.fft.irfft(px.fft.rfft(px.asarray([1.0, 2.0, 3.0])), n=3))  # odd: say so
        [1. 2. 3.]
    """
    return _transform("irfft", x, "fc", n=n, axis=axis, norm=norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """``rfft`` along the last of several axes (default: all), ``fft`` along the others.

    Dtypes and errors are those of ``fft``.

    Examples:
        >>> px.fft.rfftn(px.ones((4, 6))).shape
        (4, 4)
    """
    return _transform("rfftn", x, "f", norm=norm, **_axes(s, axes))


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``rfftn``; ``s`` has the lengths of the real result (default: an even last one).

    Dtypes are those of ``irfft``, errors those of ``fft``.

    Examples:
        >>> px.fft.irfftn(px.fft.rfftn(px.ones((4, 5))), s=(4, 5)).shape
        (4, 5)
    """
    return _transform("irfftn", x, "fc", norm=norm, **_axes(s, axes))


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Transform of a Hermitian signal, given by its first half; the result is real.

    Dtypes are those of ``irfft``, errors those of ``fft``.

    Examples:
        >>> print(px.fft.hfft(px.asarray([1.0, 2.0, 3.0])))
        [ 8. -2.  0. -2.]
    """
    return _transform("hfft", x, "fc", n=n, axis=axis, norm=norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``hfft``; takes a real array, with the errors of ``fft``.

    Examples:
        >>> print(px.fft.ihfft(px.fft.hfft(px.asarray([1.0, 2.0, 3.0]))).real)
        [1. 2. 3.]
    """
    return _transform("ihfft", x, "f", n=n, axis=axis, norm=norm)


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
    numbers = arange(n, device=device)
    shifted = numbers - (n // 2)
    return astype(roll(shifted, -(n // 2)) / (n * d), _frequency_dtype(dtype, numbers.device))


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
    return astype(numbers / (n * d), _frequency_dtype(dtype, numbers.device))


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


if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from .namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


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
