"""Fixtures: every OpenCL device of this machine in turn, and drivers with pretended runtimes.

Set ``OCL_ICD_VENDORS`` to a folder of ``.icd`` files to add runtimes that are not in /etc.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:  # the helpers beside the tests; last, as there is a conftest above too
    sys.path.append(_HERE)

import phalanx as px  # noqa: E402 - the path is set first
from phalanx.device_plugins.opencl import OpenCLDriver  # noqa: E402
from phalanx.errors import DeviceError  # noqa: E402
from phalanx.plugins import host  # noqa: E402


def _count() -> tuple[int, str]:
    """How many devices there are, and if none, why."""
    try:
        return OpenCLDriver().device_count(), ""
    except DeviceError as error:
        return 0, str(error)


COUNT, REASON = _count()


@pytest.fixture(params=range(max(1, COUNT)), ids=lambda n: f"opencl:{n}")
def device(request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """Each OpenCL device as the current one; nothing may run elsewhere meanwhile."""
    if not COUNT:
        pytest.skip(f"no OpenCL device: {REASON}")
    if "opencl" not in host().drivers():
        host().register_driver(OpenCLDriver())
    with px.fallback_policy("error"), px.device(f"opencl:{request.param}") as found:
        found.ensure_open()
        yield found


@pytest.fixture
def driver(device: px.Device) -> OpenCLDriver:
    """The driver of the devices."""
    found = host().drivers()["opencl"]
    assert isinstance(found, OpenCLDriver)
    return found
