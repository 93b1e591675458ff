"""What a compiler makes of arithmetic is tried out when a device is opened."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import phalanx as px
import pytest
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl.device import OpenCLDevice
from phalanx.errors import DeviceError
from phalanx.kernels_opencl import programs


def with_option(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    """Let programs be compiled with one more option."""
    honest = programs.DIALECT.options
    dialect = replace(programs.DIALECT, options=lambda traits: (*honest(traits), option))
    monkeypatch.setattr(programs, "DIALECT", dialect)


def opened(device: px.Device) -> OpenCLDevice:
    """The same device, opened by a driver of its own."""
    found: Any = OpenCLDriver().open(device.index)
    assert isinstance(found, OpenCLDevice)
    return found


@pytest.mark.parametrize(
    ("option", "reason"),
    [("-cl-fast-relaxed-math", "comparisons of NaN"), ("-cl-denorms-are-zero", "subnormals")],
)
def test_a_compiler_that_breaks_arithmetic_is_refused(
    device: px.Device, monkeypatch: pytest.MonkeyPatch, option: str, reason: str
) -> None:
    with_option(monkeypatch, option)
    with pytest.raises(DeviceError, match=rf"opencl:{device.index}: the compiler breaks {reason}"):
        opened(device)


def test_division_that_is_not_exact_lowers_the_promise(
    device: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, wrong = "f32 phx_dividef(f32 a, f32 b) { return a / b; }", "a * (1.0f / b)"
    assert honest in programs.DIALECT.text
    text = programs.DIALECT.text.replace(honest, honest.replace("a / b", wrong))
    monkeypatch.setattr(programs, "DIALECT", replace(programs.DIALECT, text=text))
    assert opened(device).traits.exact_division is False


def test_vectors_that_lose_elements_are_refused(
    device: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "\n#undef convert_long16\n#define convert_long16(v) ((long16)0)\n"
    text = programs.DIALECT.text + wrong
    monkeypatch.setattr(programs, "DIALECT", replace(programs.DIALECT, text=text))
    with pytest.raises(DeviceError, match="conversions lose elements"):
        opened(device)


def test_an_honest_compiler_changes_nothing(device: px.Device) -> None:
    found = opened(device)
    driver = OpenCLDriver()
    assert found.traits == driver._listed().devices[device.index].traits
