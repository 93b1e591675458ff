"""A plugin that lies in every way that a host can see: the host neither crashes nor wonders.

Some hundred cases here, 10^5 of them under AddressSanitizer by ``make fuzz``.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).parent / "fuzz"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"abi_fuzz_{name}", FUZZ / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def run_some(drive: ModuleType, plugin: object) -> None:
    for seed in range(1, 100):
        drive.run_case(plugin, seed)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Path = _module("run").build(tmp_path_factory.mktemp("fuzz"))
    return built


def test_the_host_survives(library: Path) -> None:
    status, printed = _module("run").run(library, 1, 400, limit=120)
    assert status == 0, printed
    used = int(printed.partition("in ")[2].split()[0])
    assert 100 < used < 400  # many lies leave the device in use, and many do not


def test_an_error_that_is_not_destroyed_is_found(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fuzzer sees what it is there for: here the host forgets to destroy errors."""
    drive = _module("drive")
    plugin = drive.Plugin(library)
    monkeypatch.setattr(
        drive.libraries, "take_error", lambda _: drive.libraries.NativeError(9, 0, "")
    )
    with pytest.raises(AssertionError, match="were not destroyed"):
        run_some(drive, plugin)


def test_an_unexpected_exception_is_found(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drive = _module("drive")
    plugin = drive.Plugin(library)

    def wrong(_: object) -> str:
        raise TypeError("a fault of the host")

    monkeypatch.setattr(drive.libraries, "text", wrong)
    with pytest.raises(TypeError, match="a fault of the host"):
        run_some(drive, plugin)
