"""The default dtype on devices without fp64: what Python floats mean there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver


@pytest.fixture
def chip(make_driver: Callable[..., ReferenceDriver]) -> Iterator[px.Device]:
    """A device without fp64 as the current one; nothing may run elsewhere."""
    make_driver("chip", fp64=False)
    with px.device("chip:0") as device, px.fallback_policy("error"):
        yield device


def _ints() -> px.Array:
    return px.asarray([1, 2, 4])


@pytest.mark.parametrize(
    "compute",
    [
        lambda: px.ones(3) + 1,
        lambda: px.zeros((2, 2)) * 0.5,
        lambda: px.empty(4),
        lambda: px.full(3, 1.5),
        lambda: px.full((), 2.5),
        lambda: px.asarray(1.5),
        lambda: px.asarray([1.5, 2]) * 2,
        lambda: px.asarray([[]]),
        lambda: px.arange(0.0, 1.0, 0.25),
        lambda: px.linspace(0, 1, 5),
        lambda: px.logspace(0, 2, 3),
        lambda: px.eye(3),
        lambda: px.mean(px.arange(5)),
        lambda: px.var(_ints()),
        lambda: _ints() / 2,
        lambda: _ints() + 0.5,
        lambda: 0.5 * _ints(),
        lambda: _ints() / _ints(),
        lambda: px.sqrt(_ints()),
        lambda: px.exp(_ints()),
        lambda: px.add(_ints(), 2.5),
        lambda: px.where(_ints() > 1, 0.5, 1.5),
        lambda: px.random.uniform(size=3),
        lambda: px.random.normal(size=3),
        lambda: px.random.exponential(size=3),
        lambda: px.random.gamma(2.0, size=3),
        lambda: px.random.dropout_mask(0.5, size=3),
        lambda: px.fft.fftfreq(4),
        lambda: px.fft.rfftfreq(4),
    ],
)
def test_float32_is_the_default(chip: px.Device, compute: Callable[[], Any]) -> None:
    x = compute()
    assert x.dtype is px.float32
    assert x.device is chip
    px.asnumpy(x)


def test_what_is_told(chip: px.Device) -> None:
    info = px.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is px.float32
    assert info.default_dtypes()["complex floating"] is px.complex64
    assert px.get_default_dtype() is px.float32
    assert px.asarray([1j]).dtype is px.complex64
    assert px.result_type(_ints(), 1.5) is px.float32


def test_other_devices_keep_theirs(chip: px.Device, make_driver: Callable[..., Any]) -> None:
    make_driver("other")
    assert px.ones(2, device="other:0").dtype is px.float64
    assert (px.asarray([1, 2], device="other:0") / 2).dtype is px.float64
    info = px.__array_namespace_info__()
    assert info.default_dtypes(device="other:0")["real floating"] is px.float64
    assert px.get_default_dtype("other:0") is px.float64
    with px.device("other:0"):
        assert px.ones(2, device=chip).dtype is px.float32


def test_what_is_set_holds_everywhere(chip: px.Device) -> None:
    """Who asks for float64 is told that the device cannot compute in it, and gets nothing less."""
    with px.set_default_dtype("float64"):
        x = px.ones(2)
        assert x.dtype is px.float64
        assert px.get_default_dtype() is px.float64
        with pytest.raises(px.UnsupportedOpError, match="no fp64"):
            x + 1
    assert px.ones(2).dtype is px.float32


def test_data_keep_their_dtype(chip: px.Device) -> None:
    np = pytest.importorskip("numpy")
    x = px.asarray(np.asarray([0.1, 0.2]))
    assert x.dtype is px.float64
    assert px.asnumpy(x).tolist() == [0.1, 0.2]
    assert px.astype(px.asarray([1, 2]), px.float32).dtype is px.float32
