"""The fft extension against NumPy, and its errors. Bits and accuracy: test_fft_accuracy.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, generator
from phalanx import fft
from phalanx.conformance.reference.values import HostArray

NORMS = ("backward", "ortho", "forward")
COMPLEX_INPUT = ("fft", "ifft", "irfft", "hfft")
REAL_INPUT = ("rfft", "ihfft")


@pytest.fixture(autouse=True)
def _refused() -> Iterator[None]:
    with px.fallback_policy("error"):
        yield


def sample(name: str, shape: tuple[int, ...]) -> HostArray:
    rng = generator("fft", name, shape)
    x = rng.standard_normal(shape)
    return (x + (1j * rng.standard_normal(shape) if name[0] == "c" else 0)).astype(name)


def close(got: px.Array, want: HostArray, what: str = "") -> None:
    host = px.asnumpy(got)
    assert host.dtype == want.dtype, f"{what}: {host.dtype}, want {want.dtype}"
    assert host.shape == want.shape, f"{what}: {host.shape}, want {want.shape}"
    tolerance = 1e-4 if want.dtype.name in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(host, want, rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("op", COMPLEX_INPUT + REAL_INPUT)
@pytest.mark.parametrize("precision", ["float32", "float64", "complex64", "complex128"])
def test_one_axis(op: str, precision: str, device: px.Device) -> None:
    if op in REAL_INPUT and precision[0] == "c":
        with pytest.raises(TypeError, match=f"{op} takes a real floating array, got {precision}"):
            getattr(fft, op)(px.ones(4, dtype=precision))
        return
    x = sample(precision, (4, 6, 5))
    for layout, make in LAYOUTS.items():
        close(getattr(fft, op)(make(x, device)), getattr(np.fft, op)(x), f"{op} {layout}")
    a = px.asarray(x)
    for axis in (0, 1, -1):
        for n in (None, 3, 9):
            for norm in NORMS:
                want = getattr(np.fft, op)(x, n=n, axis=axis, norm=norm)
                close(
                    getattr(fft, op)(a, n=n, axis=axis, norm=norm), want, f"{op} {axis} {n} {norm}"
                )


@pytest.mark.parametrize("op", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("precision", ["float64", "complex64"])
def test_several_axes(op: str, precision: str, device: px.Device) -> None:
    if op == "rfftn" and precision[0] == "c":
        with pytest.raises(TypeError, match="rfftn takes a real floating array"):
            fft.rfftn(px.ones((2, 2), dtype=precision))
        return
    x = sample(precision, (4, 6, 5))
    a = px.asarray(x)
    for axes in (None, (0,), (0, 2), (-1, -3)):
        for norm in NORMS:
            close(
                getattr(fft, op)(a, axes=axes, norm=norm),
                getattr(np.fft, op)(x, axes=axes, norm=norm),
                f"{axes}",
            )
    close(
        getattr(fft, op)(a, s=(3, 8), axes=(0, 1)),
        getattr(np.fft, op)(x, s=(3, 8), axes=(0, 1)),
        "s",
    )
    close(
        getattr(fft, op)(a, s=[3, 8]),
        getattr(np.fft, op)(x, s=(3, 8), axes=(-2, -1)),
        "s alone: the last axes",
    )


def test_there_and_back(device: px.Device) -> None:
    for n in (1, 2, 7, 64):
        x = sample("complex128", (n,))
        close(fft.ifft(fft.fft(px.asarray(x))), x)
        close(fft.irfft(fft.rfft(px.asarray(x.real.copy())), n=n), x.real.copy())
        close(fft.ifftn(fft.fftn(px.asarray(x))), x)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int, device: px.Device) -> None:
    for d in (1.0, 0.25):
        close(fft.fftfreq(n, d=d), np.fft.fftfreq(n, d))
        close(fft.rfftfreq(n, d=d), np.fft.rfftfreq(n, d))
    assert fft.fftfreq(n, dtype=px.float32).dtype is px.float32
    assert fft.rfftfreq(n).device is device
    with pytest.raises(TypeError, match="frequencies are real floating numbers, not int64"):
        fft.fftfreq(n, dtype=px.int64)
    for function in (fft.fftfreq, fft.rfftfreq):
        with pytest.raises(ValueError, match="length must be positive, got -3"):
            function(-3)


@pytest.mark.parametrize("shape", [(5,), (4,), (3, 4), (2, 3, 5), (0, 3)])
def test_shifts(shape: tuple[int, ...], device: px.Device) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape)
    for axes in (None, 0, -1, (0,), tuple(range(len(shape)))):
        close(fft.fftshift(px.asarray(x), axes=axes), np.fft.fftshift(x, axes))
        close(fft.ifftshift(px.asarray(x), axes=axes), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fft.fft([1.0]), TypeError, "fft takes a phalanx array, got list"),
        (lambda: fft.fft(px.asarray([1, 2])), TypeError, "fft takes a floating array, got int64"),
        (
            lambda: fft.rfft(px.asarray([True])),
            TypeError,
            "rfft takes a real floating array, got bool",
        ),
        (
            lambda: fft.fft(px.ones(4, dtype=px.float16)),
            TypeError,
            "fft is not defined for float16; convert to float32",
        ),
        (
            lambda: fft.fft(px.ones(4), axis=2),
            IndexError,
            r"fft: axis 2 is out of range for shape \(4,\)",
        ),
        (
            lambda: fft.fft(px.ones(4), n=0),
            ValueError,
            "fft of shape .* the length must be positive, got 0",
        ),
        (
            lambda: fft.rfft(px.ones(4), n=-1),
            ValueError,
            "rfft of shape .* the length must be positive",
        ),
        (
            lambda: fft.ifft(px.ones(4), norm="none"),
            ValueError,
            'ifft: norm is "backward", "ortho" or "forward"',
        ),
        (lambda: fft.fft(px.ones(())), IndexError, "fft: axis -1 is out of range"),
        (lambda: fft.fft(px.ones(0)), ValueError, "the length must be positive, got 0"),
        (
            lambda: fft.fftn(px.ones((2, 2)), axes=(0, 3)),
            IndexError,
            "fftn: axis 3 is out of range",
        ),
        (
            lambda: fft.fftn(px.ones((2, 2)), s=(2,), axes=(0, 1)),
            ValueError,
            "fftn: s .* differ in length",
        ),
        (lambda: fft.fftshift(px.ones(3), axes=2), IndexError, "axis 2 is out of range"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_nothing_falls_back_on_a_device_out_of_reach(fake: px.Device) -> None:
    with px.fallback_policy("error"):
        px.fallback_report(reset=True)
        x = px.asarray(sample("float64", (3, 10)))
        close(fft.irfft(fft.rfft(x)), px.asnumpy(x))
        close(fft.fft(px.ones(131)), np.fft.fft(np.ones(131)))
        assert fft.fftshift(px.arange(4)).tolist() == [2, 3, 0, 1]
        assert fft.rfftfreq(4).tolist() == [0.0, 0.25, 0.5]
        assert px.fallback_report() == ()
