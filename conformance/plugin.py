"""The pytest plugin: options, and only if a device is named, everything else.

It is loaded in every run of pytest, so it imports nothing until ``--phalanx-device`` is given.
"""

from __future__ import annotations

import pytest

_OPTIONS = (
    ("device", "NAME", "the device to test; without it this plugin does nothing"),
    ("level", "LEVEL", "runtime, core, array-api (default) or bitwise"),
    ("seed", "N", "seed of all random values (default 20)"),
    ("fault", "NAME", "test the faulty device of that name, which tests the suite"),
    ("timeout", "SECONDS", "end the process if a case takes longer"),
    ("results", "FILE", "write each outcome as a line of JSON"),
)
_LISTS = (
    ("group", "NAME", "only this group; may be repeated"),
    ("op", "NAME", "only this op; may be repeated"),
    ("dtype", "NAME", "only this dtype; may be repeated"),
    ("case", "NAME", "only this case; may be repeated"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("phalanx", "Phalanx conformance suite")
    for name, value, text in _OPTIONS:
        group.addoption(f"--phalanx-{name}", metavar=value, default="", help=text)
    for name, value, text in _LISTS:
        group.addoption(f"--phalanx-{name}", metavar=value, action="append", default=[], help=text)
    group.addoption("--phalanx-quick", action="store_true", help="fewer values and layouts")


def pytest_configure(config: pytest.Config) -> None:
    """Announce the markers, and take over if a device is named."""
    config.addinivalue_line(
        "markers", "level(name): the level at which a case of the conformance suite counts"
    )
    config.addinivalue_line(
        "markers", "allows_fallback: the ops of the case may run on another device"
    )
    if config.getoption("phalanx_device") or config.getoption("phalanx_fault"):
        from .session import Session

        config.pluginmanager.register(Session.from_config(config), "phalanx-conformance-session")
