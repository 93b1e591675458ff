"""Fixtures: the fake devices, and a ``device`` that runs a test on each of them and on the CPU.

``PHALANX_TEST_DEVICES=fake`` leaves all plugins out, so that the suite proves ``core/`` alone;
``PHALANX_TEST_DEVICES=cuda:0`` lets ``device`` be that one, or several with commas between.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
if (
    str(TESTS) not in sys.path
):  # the helpers beside the tests: --import-mode=importlib does not add it
    sys.path.insert(0, str(TESTS))

_WISH = os.environ.get("PHALANX_TEST_DEVICES", "")
ONLY_FAKES = _WISH == "fake"
if ONLY_FAKES:
    os.environ["PHALANX_PLUGINS"] = "none"
for name in ("PHALANX_DEVICE", "PHALANX_GPU"):
    os.environ.pop(name, None)

# Nothing of the tests lands in the user's cache; tests/abi/test_first_sight.py switches it on.
os.environ["PHALANX_PROBE"] = "0"

import phalanx as px  # noqa: E402 - after the environment is set
from phalanx.discovery.plugins import PluginHost, host, use_host  # noqa: E402
from phalanx.driver import DeviceKind, Driver  # noqa: E402
from phalanx.testing import ReferenceDriver  # noqa: E402 - after the path is set

#: Opaque handles and emulated streams; opaque handles and real streams; addresses, inline, a CPU.
FAKES = ("fake:0", "fakestream:0", "fakehost:0")
#: What ``device`` is, one after the other.
DEVICES = [*FAKES, pytest.param("cpu:0", marks=pytest.mark.needs_cpu)]
if _WISH and not ONLY_FAKES:
    DEVICES = _WISH.split(",")


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker of tests that need the CPU plugin."""
    config.addinivalue_line("markers", "needs_cpu: needs the plugin of cpu:0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With the fakes alone, leave out what needs the CPU plugin."""
    if not ONLY_FAKES:
        return
    for item in items:
        if item.get_closest_marker("needs_cpu"):
            item.add_marker(pytest.mark.skip(reason="PHALANX_TEST_DEVICES=fake"))


@pytest.fixture(scope="session")
def _test_host() -> PluginHost:
    """A host with the installed plugins and the fake drivers."""
    found = PluginHost()
    found.register_driver(ReferenceDriver("fake"))
    found.register_driver(ReferenceDriver("fakestream", streams=True))
    found.register_driver(ReferenceDriver("fakehost", host_addressable=True, kind=DeviceKind.CPU))
    return found


@pytest.fixture
def drivers(_test_host: PluginHost) -> Iterator[dict[str, Driver]]:
    """All drivers by name, the fakes among them; nobody changes the settings of these."""
    before = use_host(_test_host)
    yield _test_host.drivers()
    use_host(before)


@pytest.fixture
def make_driver(drivers: dict[str, Driver]) -> Iterator[Callable[..., ReferenceDriver]]:
    """Make and register fake drivers of one's own; they are gone after the test."""
    made: list[ReferenceDriver] = []

    def make(name: str = "own", **options: Any) -> ReferenceDriver:
        driver = ReferenceDriver(name, **options)
        host().register_driver(driver)
        made.append(driver)
        return driver

    yield make
    for driver in made:
        host().unregister_driver(driver)
        for opened in list(driver.open_devices.values()):
            opened.close()  # arrays kept it open


def real_cpu() -> px.Device:
    """The device of the CPU plugin; whatever is wrong with it fails the test."""
    if ONLY_FAKES:
        pytest.skip("PHALANX_TEST_DEVICES=fake")
    device = px.devices("cpu")[0]
    device.ensure_open()
    return device


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """Each fake device and the real CPU in turn, or those that were asked for, as the current."""
    if request.param == "cpu:0":
        real_cpu()
    with px.device(request.param) as found:
        yield found


@pytest.fixture
def fake(drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """``fake:0`` as the current device: opaque handles, emulated streams."""
    with px.device("fake:0") as found:
        yield found


@pytest.fixture
def asynchronous(drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """``fakestream:0`` as the current device: a worker thread per stream."""
    with px.device("fakestream:0") as found:
        yield found


@pytest.fixture
def cpu(drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """The real CPU as the current device."""
    with px.device(real_cpu()) as found:
        yield found
