"""The ``fft`` extension of the Array API standard 2025.12, with the same bits on every device.

Axes are transformed one after the other by the op ``fft``, which docs/ops.md states, with twiddles
that are rounded to nearest; docs/numerics.md has the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NoReturn

from phalanx._warm import Array
from phalanx.namespace.elementwise import conj

from .arguments import axes_of, need_floats
from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .several import complex_axes, hermitian_axes, real_axes

Norm = Literal["backward", "ortho", "forward"]


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
    return complex_axes("fft", x, (n,), (axis,), norm, inverse=False)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``fft``, with its dtypes and errors.

    Examples:
        >>> print(px.fft.ifft(px.asarray([4.0, 0.0, 0.0, 0.0])))
        [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return complex_axes("ifft", x, (n,), (axis,), norm, inverse=True)


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
    return complex_axes("fftn", x, s, axes_of(s, axes, x), norm, inverse=False)


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
    return complex_axes("ifftn", x, s, axes_of(s, axes, x), norm, inverse=True)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """The first half of the transform of a real array; the rest is its mirror image.

    Dtypes and errors are those of ``fft``.

    Examples:
        >>> print(px.fft.rfft(px.asarray([1.0, 2.0, 3.0, 4.0])))
        [10.+0.j -2.+2.j -2.+0.j]
    """
    return real_axes("rfft", x, (n,), (axis,), norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``rfft``; ``n`` is the length of the real result (default: even).

    The result of complex64 is float32, of complex128 float64. Errors are those of ``fft``.

    Examples:
        >>> print(px.fft.irfft(px.fft.rfft(px.asarray([1.0, 2.0, 3.0])), n=3))  # odd: say so
        [1. 2. 3.]
    """
    return hermitian_axes("irfft", x, (n,), (axis,), norm)


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
    return real_axes("rfftn", x, s, axes_of(s, axes, x), norm)


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
    return hermitian_axes("irfftn", x, s, axes_of(s, axes, x), norm)


def fft2(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Array:
    """``fftn`` along two axes, as NumPy has it.

    Examples:
        >>> print(px.fft.fft2(px.ones((2, 3))))
        [[6.+0.j 0.+0.j 0.+0.j]
         [0.+0.j 0.+0.j 0.+0.j]]
    """
    return complex_axes("fft2", x, s, axes_of(s, axes, x), norm, inverse=False)


def ifft2(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``fft2``.

    Examples:
        >>> print(px.fft.ifft2(px.asarray([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]
    """
    return complex_axes("ifft2", x, s, axes_of(s, axes, x), norm, inverse=True)


def rfft2(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Array:
    """``rfftn`` along two axes, as NumPy has it.

    Examples:
        >>> px.fft.rfft2(px.ones((3, 4, 6))).shape
        (3, 4, 4)
    """
    return real_axes("rfft2", x, s, axes_of(s, axes, x), norm)


def irfft2(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = "backward",
) -> Array:
    """Inverse of ``rfft2``; ``s`` has the lengths of the real result.

    Examples:
        >>> px.fft.irfft2(px.fft.rfft2(px.ones((4, 5))), s=(4, 5)).shape
        (4, 5)
    """
    return hermitian_axes("irfft2", x, s, axes_of(s, axes, x), norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Transform of a Hermitian signal, given by its first half; the result is real.

    Dtypes are those of ``irfft``, errors those of ``fft``.

    Examples:
        >>> print(px.fft.hfft(px.asarray([1.0, 2.0, 3.0])))
        [ 8. -2.  0. -2.]
    """
    need_floats("hfft", x, "fc")
    return hermitian_axes(
        "hfft", conj(x) if x.dtype.kind == "c" else x, (n,), (axis,), norm, inverse=False
    )


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of ``hfft``; takes a real array, with the errors of ``fft``.

    Examples:
        >>> print(px.fft.ihfft(px.fft.hfft(px.asarray([1.0, 2.0, 3.0]))).real)
        [1. 2. 3.]
    """
    return conj(real_axes("ihfft", x, (n,), (axis,), norm, inverse=True))


if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from phalanx.namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


def __dir__() -> list[str]:
    """The public names and the module's own, not the modules behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
