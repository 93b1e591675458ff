"""The extension ``fft``, against NumPy in complex128."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import LAYOUTS, close, need, put, whole_numbers

#: Parts of the largest element that a result in complex64 may be off.
_SLACK = 2e-6
_NORMS = ("backward", "ortho", "forward")
_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_MANY = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")


def _operand(name: str) -> str:
    """The dtype that a transform starts from."""
    return "float32" if name.startswith(("rfft", "ihfft")) else "complex64"


def _result(name: str) -> px.DType:
    return px.float32 if name.startswith(("irfft", "hfft")) else px.complex64


def _check(case: Case, name: str, x: px.Array, host: Any, **options: Any) -> None:
    got = getattr(px.fft, name)(x, **options)
    wide = host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)
    close(case, got, getattr(np.fft, name)(wide, **options), _SLACK, f"{name} {options}")
    assert got.dtype is _result(name)


@pytest.mark.parametrize("norm", _NORMS)
@pytest.mark.parametrize("name", _ONE)
def test_fft_of_one_axis(case: Case, name: str, norm: str) -> None:
    """Lengths of all kinds, cut and padded, along every axis of every layout."""
    for length in (2, 5, 8, 12, 64, 97):
        host = whole_numbers(case, (3, length, 2), _operand(name))
        for layout in LAYOUTS:
            x = put(case, host, layout)
            _check(case, name, x, host, axis=1, norm=norm)
            for n in (length - 1, length + 3):
                _check(case, name, x, host, axis=-2, n=n, norm=norm)
        _check(case, name, put(case, host[0, :, 0]), host[0, :, 0], norm=norm)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_fft_of_large_primes(case: Case, name: str) -> None:
    """Lengths that are made of longer ones, and their neighbours that are not."""
    for length in (256, 257, 263 * 2, 1031, 4099):
        host = whole_numbers(case, (3, length // 2 + 1 if name == "irfft" else length), "float32")
        wide = host.astype(_operand(name))
        for layout in LAYOUTS[:2]:
            _check(case, name, put(case, wide, layout), wide, n=length, norm="ortho")


@pytest.mark.parametrize("norm", _NORMS)
@pytest.mark.parametrize("name", _MANY)
def test_fft_of_several_axes(case: Case, name: str, norm: str) -> None:
    """All axes, some of them, and other lengths."""
    host = whole_numbers(case, (4, 3, 6), _operand(name))
    for layout in LAYOUTS:
        x = put(case, host, layout)
        _check(case, name, x, host, norm=norm)
        for axes in ((0,), (2, 0), (-1, -2)):
            _check(case, name, x, host, axes=axes, norm=norm)
        _check(case, name, x, host, s=(5, 4), axes=(0, 2), norm=norm)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_fft_shifts(case: Case, name: str) -> None:
    """The zero frequency goes to the middle and back, along all axes and some."""
    for shape in ((5,), (4, 7)):
        host = whole_numbers(case, shape, "complex64")
        for axes in (None, 0, (len(shape) - 1,)):
            got = getattr(px.fft, name)(put(case, host), axes=axes)
            close(case, got, getattr(np.fft, name)(host, axes=axes), 0.0, f"{shape} {axes}")


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_fft_frequencies(case: Case, name: str) -> None:
    """Frequencies of even and odd lengths, in float32 and the default."""
    need(case, "float64")
    for n in (1, 2, 5, 8, 33):
        for d in (1.0, 0.25):
            want = getattr(np.fft, name)(n, d)
            close(case, getattr(px.fft, name)(n, d=d), want, 1e-15, f"{n} {d}")
            got = getattr(px.fft, name)(n, d=d, dtype=px.float32)
            close(case, got, want, 2**-23, f"{n} {d} in float32")
            assert got.dtype is px.float32


def test_fft_inverse(case: Case) -> None:
    """A transform and its inverse give back what was there."""
    host = whole_numbers(case, (4, 30), "float32")
    x = put(case, host)
    close(case, px.fft.irfft(px.fft.rfft(x), n=30), host, _SLACK)
    z = px.astype(x, px.complex64)
    close(case, px.fft.ifftn(px.fft.fftn(z)), host.astype(np.complex64), _SLACK)


def test_refused_transforms(case: Case) -> None:
    """Wrong dtypes, lengths, axes and norms."""
    x = px.ones((4, 4), dtype=px.complex64)
    with pytest.raises(TypeError):
        px.fft.rfft(x)
    with pytest.raises(TypeError):
        px.fft.fft(px.ones(4, dtype=px.int32))
    with pytest.raises(ValueError, match="length"):
        px.fft.fft(x, n=0)
    with pytest.raises(IndexError):
        px.fft.fft(x, axis=2)
    with pytest.raises(ValueError, match="norm"):
        px.fft.fft(x, norm="other")  # type: ignore[arg-type]
