"""Fixtures: every OpenCL device of this machine in turn, and drivers with pretended runtimes.

``make test`` sets ``OCL_ICD_VENDORS``, so that PoCL and Intel's runtime are there beside those of
the machine: see set_up_runtimes.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:  # the helpers beside the tests; last, as there is a conftest above too
    sys.path.append(_HERE)

import phalanx as px  # noqa: E402 - the path is set first
from phalanx.device_plugins.opencl import OpenCLDriver  # noqa: E402
from phalanx.device_plugins.opencl.device import OpenCLDevice  # noqa: E402
from phalanx.discovery.aliases import parse, why_missing  # noqa: E402
from phalanx.discovery.plugins import host  # noqa: E402

COUNT = px.device_count("opencl")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests on every device."""
    if "device" in metafunc.fixturenames:
        devices = range(max(1, COUNT))
        metafunc.parametrize("device", devices, ids="opencl:{}".format, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most of what runs with several sets of kernels, or runtimes, to `make test-all`.

    One runtime is enough for the kernels of GPUs, which the emulated devices run as well; of those
    of processors, a third of each test's cases on each runtime: `.ci/run` certifies one besides. Of
    all other tests with several cases the second runtime has a third.
    """
    turns: Counter[tuple[str, int]] = Counter()
    for item in items:  # of the whole session, whose other rooms have devices of their own
        if Path(__file__).parent not in item.path.parents:
            continue
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        device, where = parameters.get("device", 0), parameters.get("where")
        turn = f"{item.path} {getattr(item, 'originalname', item.name)}", device
        if where is None:
            if device > 0 and len(parameters) > 1:
                turns[turn] += 1
                if turns[turn] % 3 != 1:
                    item.add_marker(pytest.mark.exhaustive)
            continue
        turns[turn] += where == "own"
        if turns[turn] % 3 != 1 if where == "own" else device > 0:
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """Each OpenCL device as the current one; nothing may run elsewhere meanwhile."""
    if not COUNT:
        pytest.skip(why_missing(parse("opencl:0")))
    with px.fallback_policy("error"), px.device(f"opencl:{request.param}") as found:
        found.ensure_open()
        yield found


@pytest.fixture
def driver(device: px.Device) -> OpenCLDriver:
    """The driver of the devices."""
    found = host().drivers()["opencl"]
    assert isinstance(found, OpenCLDriver)
    return found


@pytest.fixture
def own(device: px.Device, driver: OpenCLDriver) -> OpenCLDevice:
    """The device opened once more, so that faults stay there."""
    found = driver._listed().devices[device.index]
    return OpenCLDevice(driver._cl, found, "opencl:9")
