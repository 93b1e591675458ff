"""Every mistake of the tables is answered with its whole message, the same on every device."""

from __future__ import annotations

import json
from collections.abc import Iterator

import phalanx as px
import pytest
from click.testing import CliRunner
from conftest import ONLY_FAKES
from phalanx.cli.app import cli
from plugin_kit import FakeDriver, fresh_host, info, run_python

from . import (
    commands,
    creation,
    devices,
    dtypes,
    indexing,
    interchange,
    linear,
    names,
    operators,
    reductions,
    shapes,
    streams,
)
from .kit import Mistake, answer
from .kit import names as names_on

#: Tables of mistakes with arrays, which run on a device of each kind.
OF_ARRAYS = {
    "creation": creation.MISTAKES,
    "indexing": indexing.MISTAKES,
    "operators": operators.MISTAKES,
    "shapes": shapes.MISTAKES,
    "dtypes": dtypes.MISTAKES,
    "reductions": reductions.MISTAKES,
    "linear": linear.MISTAKES,
    "names": names.MISTAKES,
    "interchange": interchange.MISTAKES,
    "streams": streams.MISTAKES,
}
KINDS = ("fakestream",) if ONLY_FAKES else ("cpu", "fakestream", "opencl")


def cases(tables: dict[str, tuple[Mistake, ...]]) -> list[object]:
    return [
        pytest.param(mistake, id=f"{subject}: {mistake.code}")
        for subject, table in tables.items()
        for mistake in table
    ]


@pytest.fixture(params=KINDS)
def device(request: pytest.FixtureRequest, drivers: object) -> Iterator[px.Device]:
    """The last device of each kind as the current one."""
    del drivers
    found = px.devices(request.param)
    if not found:
        pytest.skip(f"there is no device of {request.param}")
    with px.device(found[-1]) as current, px.fallback_policy("allow"):
        yield current


@pytest.mark.parametrize("mistake", cases(OF_ARRAYS))
def test_arrays(mistake: Mistake, device: px.Device) -> None:
    error = answer(f"{mistake.code}\npx.synchronize(device)", names_on(device))
    assert error is not None, f"{mistake.code} raises nothing"
    assert str(error) == mistake.message.replace("{device}", device.name)
    assert isinstance(error, mistake.error)


@pytest.fixture
def known_devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine with a CPU, two GPUs, a device that is broken and a driver that has none."""
    monkeypatch.delenv("PHALANX_GPU", raising=False)
    gpu = px.DeviceKind.GPU
    drivers = (
        FakeDriver("cpu", [info("A CPU")]),
        FakeDriver("acme", [info("Acme One", gpu), info("Acme Two", gpu)]),
        FakeDriver("broken", [px.DeviceError("its fan does not turn", remedy="clean it")]),
        FakeDriver("cuda", px.DeviceError("there is no NVIDIA driver", remedy="install it")),
    )
    with fresh_host(*drivers):
        yield


@pytest.mark.parametrize("mistake", cases({"devices": devices.MISTAKES}))
@pytest.mark.usefixtures("known_devices")
def test_devices(mistake: Mistake) -> None:
    error = answer(mistake.code, {"px": px})
    assert error is not None, f"{mistake.code} raises nothing"
    assert str(error) == mistake.message
    assert isinstance(error, mistake.error)


@pytest.mark.parametrize(
    ("variable", "mistake"),
    [pytest.param(v, m, id=f"{v} {m.code}") for v, m in devices.OF_VARIABLES],
)
@pytest.mark.usefixtures("known_devices")
def test_variables(variable: str, mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*variable.split("=", 1))
    error = answer(mistake.code, {"px": px})
    assert error is not None, f"{mistake.code} raises nothing"
    assert str(error) == mistake.message
    assert isinstance(error, mistake.error)


@pytest.mark.parametrize(("arguments", "status", "text"), commands.MISTAKES)
@pytest.mark.usefixtures("known_devices")
def test_commands(arguments: str, status: int, text: str) -> None:
    result = CliRunner().invoke(cli, arguments.split(), prog_name="phalanx")
    assert result.output == text
    assert result.exit_code == status


@pytest.mark.parametrize(("variable", "check", "detail", "remedy"), commands.OF_DOCTOR)
def test_doctor(variable: str, check: str, detail: str, remedy: str) -> None:
    name, value = variable.split("=")
    done = run_python("-m", "phalanx", "doctor", "--json", PHALANX_PLUGINS="none", **{name: value})
    checks = [c for c in json.loads(done.stdout)["checks"] if c["name"] == check]
    assert {"detail": detail, "remedy": remedy} in [
        {"detail": c["detail"], "remedy": c["remedy"]} for c in checks
    ]
    assert done.returncode in (1, 2)


def test_the_tables_hold_different_mistakes() -> None:
    tables = [*OF_ARRAYS.values(), devices.MISTAKES, tuple(m for _, m in devices.OF_VARIABLES)]
    everything = [mistake for table in tables for mistake in table]
    assert len({(m.code, m.message) for m in everything}) == len(everything) >= 120
