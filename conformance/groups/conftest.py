"""Says what to do if the suite is run without a device."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _device_is_named(pytestconfig: pytest.Config) -> None:
    if not (pytestconfig.getoption("phalanx_device") or pytestconfig.getoption("phalanx_fault")):
        pytest.exit("name the device to test: --phalanx-device cpu:0, for example", 4)
