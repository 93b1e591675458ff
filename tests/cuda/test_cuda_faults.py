"""What may be wrong with a card or its software: `phalanx why` names it and what to do.

Each line of the list is a test here or, of what begins with the driver, in test_cuda_start.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from fake_cuda.compiler import FakeNvrtc
from fake_cuda.kit import Card
from fake_cuda.library import FakeCuda
from fake_cuda.plugin import FakeCudaDriver
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import DeviceError, DeviceLostError, OutOfMemoryError
from phalanx.kernels_cuda import libraries

from .test_cuda_start import FAILS

pytestmark = pytest.mark.needs_cpu


def _why(name: str) -> str:
    return " ".join(str(px.why(name)).split())


@pytest.fixture
def registered(drivers: dict[str, Driver]) -> Any:
    """Register a driver over a library that may not begin."""
    made: list[FakeCudaDriver] = []

    def register(library: FakeCuda) -> None:
        made.append(FakeCudaDriver(library, FakeNvrtc()))
        host().register_driver(made[-1])

    yield register
    for driver in made:
        host().unregister_driver(driver)


@pytest.mark.parametrize("name", ["cudafake:0", "gpu:0"])
@pytest.mark.parametrize(("code", "said", "remedy"), FAILS)
def test_why_names_a_driver_that_does_not_begin(
    registered: Callable[[FakeCuda], None], name: str, code: int, said: str, remedy: str
) -> None:
    library = FakeCuda()
    library.faults["cuInit"] = code
    registered(library)
    text = _why(name)
    assert said in text
    assert remedy in text


@pytest.mark.parametrize(
    ("package", "version", "wrong"),
    [("cupy-cuda13x", 12080, True), ("cupy-cuda12x", 12080, False), ("cupy-cuda12x", 13000, False)],
)
def test_cupy_of_a_newer_cuda_than_the_driver(
    make_card: Callable[..., Card],
    monkeypatch: pytest.MonkeyPatch,
    package: str,
    version: int,
    wrong: bool,
) -> None:
    monkeypatch.setattr(libraries, "_package", lambda: package)
    monkeypatch.setattr(libraries, "_version", lambda: "14.2.0")
    make_card(version=version)
    text = _why("cudafake:0")
    assert ("cupy-cuda13x is for CUDA 13, and the driver knows CUDA 12.8 only" in text) == wrong
    assert ("pip install cupy-cuda12x" in text) == wrong
    assert ("CuPy 14.2.0 has cuBLAS" in text) != wrong


def test_slices_of_a_card_are_devices_of_their_own(make_card: Callable[..., Card]) -> None:
    """Instances of MIG have one PCI address, and UUIDs and memory of their own."""
    card = make_card(devices=2, memory=2**28, one_address=True)
    first, second = px.devices("cudafake")
    assert first.info.pci_address == second.info.pci_address
    assert first.info.uuid != second.info.uuid
    assert [d.info.total_memory for d in (first, second)] == [2**28, 2**28]
    gpus = [device.name for device in px.devices("gpu")]
    assert {"cudafake:0", "cudafake:1"} <= set(gpus)
    with pytest.raises(OutOfMemoryError, match="cudafake:0"):
        px.zeros(2**28 + 1, dtype="int8", device=first)
    x = px.arange(9.0, device=second)
    assert px.asnumpy(x + x).tolist() == (2 * np.arange(9.0)).tolist()
    assert card.library.contexts == 2


def test_a_card_that_another_process_has_for_itself(make_card: Callable[..., Card]) -> None:
    card = make_card()
    card.library.faults["cuDevicePrimaryCtxRetain"] = 46
    with pytest.raises(DeviceError, match="DEVICE_UNAVAILABLE") as caught:
        px.ones(3, device="cudafake:0")
    assert "another process has the device for itself" in str(caught.value)
    card.library.faults.clear()  # which has ended
    assert float(px.sum(px.ones(3, device="cudafake:0"))) == 3


def test_memory_that_another_process_holds(make_card: Callable[..., Card]) -> None:
    card = make_card(memory=2**26)
    px.ones(3, device=card.device)
    card.library.others = 2**26 - 2**22
    with pytest.raises(OutOfMemoryError, match="other processes"):
        px.zeros(2**24, dtype="int8", device=card.device)
    card.library.others = 0
    px.zeros(2**24, dtype="int8", device=card.device)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (700, "ILLEGAL_ADDRESS"),
        (715, "ILLEGAL_INSTRUCTION"),  # a trap
        (719, "LAUNCH_FAILED"),
        (46, "DEVICE_UNAVAILABLE"),  # removed while in use
        (214, "ECC_UNCORRECTABLE"),
        (999, "UNKNOWN"),  # it has fallen off the bus
    ],
)
def test_a_card_that_is_lost_is_told_once_with_the_launch(card: Card, code: int, name: str) -> None:
    x = px.ones(10, device=card.device)
    px.synchronize(card.device)
    px.sqrt(x)
    card.library._break(code, "a kernel")
    with pytest.raises(DeviceLostError, match=rf"launch of sqrt\(float64, float64\).*{name}"):
        px.synchronize(card.device)
    with pytest.raises(DeviceLostError, match="was lost before"):
        x + 1
    assert float(px.sum(px.ones(3, device="cpu:0"))) == 3


@pytest.mark.parametrize("name", ["cuda:0", "gpu:0"])
def test_no_driver(name: str) -> None:
    if px.device_count("cuda"):
        pytest.skip("there is a card")
    text = _why(name)
    assert "there is no NVIDIA driver" in text
    assert "install NVIDIA's driver" in text


def test_a_grid_is_never_beyond_its_limits(card: Card) -> None:
    """The fake driver refuses what CUDA refuses: x from 2^31 on, y and z beyond 65,535."""
    tall = px.zeros((1, 1), dtype="int8", device=card.device)
    tall = px.broadcast_to(tall, (70_000, 3))
    assert int(px.sum(tall)) == 0
    assert int(px.sum(px.permute_dims(tall + 1, (1, 0)))) == 210_000
