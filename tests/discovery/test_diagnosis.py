"""``why``: the reason chain."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from phalanx import Kernel
from phalanx.discovery.devices import find_device
from phalanx.discovery.diagnosis import CHAIN, Diagnosis, why
from phalanx.driver import DeviceKind
from phalanx.errors import CompileError, DeviceError, DeviceNotFoundError
from phalanx.optable import OPS
from phalanx.steps import Status, Step
from phalanx.testing import ReferenceDevice, ReferenceDriver
from plugin_kit import FakeDriver, fresh_host, info, make_distribution, plugin_source


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHALANX_DEVICE", "PHALANX_GPU", "PHALANX_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


def statuses(diagnosis: Diagnosis) -> dict[str, str]:
    return {step.name: step.status.value for step in diagnosis.steps}


def failing(diagnosis: Diagnosis) -> Step:
    (step,) = [step for step in diagnosis.steps if step.status is Status.FAIL]
    return step


def test_a_usable_device() -> None:
    driver = FakeDriver("acme", [info("Model T")])
    with fresh_host(driver):
        seen: list[str] = []
        found = why("acme", observe=seen.append)
        assert (found.name, found.device, found.usable) == ("acme:0", "acme:0", True)
        assert tuple(step.name for step in found.steps) == CHAIN
        assert statuses(found)["library"] == "skipped"
        assert driver.opened == [0]
        assert seen == ["installed", "importable", "library", "device", "capability"]
        assert why(find_device("acme")) == found


def test_a_name_that_nobody_offers() -> None:
    with fresh_host():
        found = why("acme:0")
    assert not found.usable
    assert statuses(found) == {"installed": "fail", **dict.fromkeys(CHAIN[1:], "unknown")}
    assert "vendor" in failing(found).remedy


def test_extras_of_the_package_are_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from email.message import Message
    from importlib import metadata

    extras = Message()
    for extra in ("acme12", "acme13", "test"):
        extras["Provides-Extra"] = extra
    monkeypatch.setattr(metadata, "metadata", lambda name: extras)
    with fresh_host():
        remedy = failing(why("acme")).remedy
    assert remedy == 'try pip install "phalanx[acme12]" or pip install "phalanx[acme13]"'


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "step", "detail", "remedy"),
    [
        (
            "import acme_absent",
            "importable",
            "ModuleNotFoundError",
            "line 1, in <module>; python -c",
        ),
        ("x = (", "importable", "SyntaxError", "python -c 'import"),
        (
            "import phalanx\n@phalanx.hookimpl\ndef phalanx_drivers():\n    return 1 / 0",
            "importable",
            "ZeroDivisionError",
            "line 4, in phalanx_drivers",
        ),
        (
            "import phalanx\n@phalanx.hookimpl\ndef phalanx_wrong(): pass",
            "ABI",
            "unknown hook",
            "maker of acme-dist",
        ),
        (plugin_source("other"), "ABI", "it offers the drivers ('other',)", "maker"),
        (plugin_source("Bad Name"), "ABI", "its name is 'Bad Name'", "maker"),
    ],
)
def test_a_plugin_that_fails(
    plugged: Path, source: str, step: str, detail: str, remedy: str
) -> None:
    module = f"acme_why_{abs(hash(source))}"
    entries = make_distribution(
        plugged, "acme-dist", plugins={"acme": module}, modules={module: source}
    )
    with fresh_host(entries=entries):
        failed = failing(why("acme:0"))
    assert failed.name == step
    assert detail in failed.detail
    assert remedy in failed.remedy


def test_a_plugin_that_the_allow_list_leaves_out(
    plugged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = make_distribution(
        plugged, "acme-dist", plugins={"acme": "acme_out"}, modules={"acme_out": "raise SystemExit"}
    )
    monkeypatch.setenv("PHALANX_PLUGINS", "none")
    with fresh_host(entries=entries) as host:
        failed = failing(why("acme"))
        assert host.unknown_allowed() == ()
    assert failed.name == "installed"
    assert "PHALANX_PLUGINS" in failed.remedy


def test_two_plugins_of_one_name(plugged: Path) -> None:
    entries = [
        entry
        for name in ("one", "two")
        for entry in make_distribution(
            plugged,
            name,
            plugins={name: f"acme_{name}"},
            modules={f"acme_{name}": plugin_source("acme")},
        )
    ]
    with fresh_host(entries=entries):
        failed = failing(why("acme:0"))
    assert "one 1.0 and plugin 'two' of two 1.0" in failed.detail
    assert "uninstall one" in failed.remedy


def test_a_driver_without_devices_and_one_that_cannot_list() -> None:
    sick = FakeDriver("sick", DeviceError("no loader", remedy="pip install acme-icd"))
    with fresh_host(FakeDriver("none"), sick):
        assert failing(why("none")).detail == "the driver works and found no device"
        assert failing(why("sick")).detail == "no loader"
        assert failing(why("sick")).remedy == "pip install acme-icd"


def test_an_index_that_does_not_exist_and_a_device_that_cannot_be_described() -> None:
    with fresh_host(FakeDriver("acme", [info(), DeviceError("fan failure")])):
        assert "numbered from 0 to 1" in failing(why("acme:5")).detail
        assert failing(why("acme:1")).detail == "fan failure"


def test_a_device_that_does_not_open() -> None:
    class Shut(FakeDriver):
        def open(self, index: int) -> None:
            raise DeviceError("in exclusive use by another process")

    with fresh_host(Shut("acme", [info()])):
        found = why("acme")
    assert not found.usable
    assert failing(found) == Step("capability", Status.FAIL, "in exclusive use by another process")


def test_a_driver_may_explain_itself() -> None:
    class Telling(FakeDriver):
        def explain(self) -> Iterable[Step]:
            return (Step("library", Status.FAIL, "libacme.so.7 is absent", "apt install libacme7"),)

    with fresh_host(Telling("acme", [info()])):
        found = why("acme")
    assert failing(found).remedy == "apt install libacme7"
    assert statuses(found)["device"] == "unknown"


def test_an_optional_library_that_is_absent_ends_the_chain() -> None:
    class Bare(FakeDriver):
        def explain(self) -> Iterable[Step]:
            return (Step("library", Status.ABSENT, "libbare is not installed", "install libbare"),)

    with fresh_host(
        Bare("acme", DeviceError("libbare is not installed", remedy="install libbare"))
    ):
        found = why("acme")
        alias = str(why("gpu"))
        with pytest.raises(DeviceNotFoundError, match="libbare is not installed; install libbare"):
            find_device("gpu")
    assert not found.usable
    assert statuses(found) == {
        **dict.fromkeys(CHAIN, "unknown"),
        "installed": "ok",
        "importable": "ok",
        "library": "absent",
    }
    assert "library     absent   libbare is not installed" in alias
    assert "-> install libbare" in alias


def test_a_kernel_is_compiled_where_they_are_compiled_at_first_use() -> None:
    class Lazy(ReferenceDevice):
        fault = ""

        def compile_ahead(self, kernel: Kernel) -> tuple[int, int]:
            assert kernel.op == "exp"
            if self.fault:
                raise CompileError(self.fault, log="", source="")
            return 1, 0

    missing = OPS.keys() - {"exp"}
    with fresh_host(ReferenceDriver("acme", missing=missing, device=Lazy)):
        (step,) = [step for step in why("acme").steps if step.name == "capability"]
        count = 2 * len(OPS["exp"].signatures)
        assert step.detail.startswith(f"{count} kernels, compiled at first use")
        Lazy.fault = "no compiler"
        assert failing(why("acme")).detail == "CompileError: no compiler"
        assert "update the compiler" in failing(why("acme")).remedy


def test_a_driver_whose_explanation_breaks() -> None:
    class Broken(FakeDriver):
        def explain(self) -> Iterable[Step]:
            raise RuntimeError("oops")

    with fresh_host(Broken("acme", [info()])):
        assert failing(why("acme")).detail == "RuntimeError: oops"


def test_an_alias_without_a_device_explains_every_plugin() -> None:
    drivers = (
        FakeDriver("cpu", [info("Processor")]),
        FakeDriver("sick", DeviceError("no loader", remedy="pip install acme-icd")),
    )
    with fresh_host(*drivers):
        found = why("gpu:0")
    assert not found.usable
    assert [other.name for other in found.others] == ["cpu", "sick"]
    text = str(found)
    assert text.startswith("gpu:0: not usable")
    assert "what it has: cpu:0 (cpu)" in text
    assert "no loader" in text
    assert "PHALANX_GPU" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_an_alias_with_a_device() -> None:
    with fresh_host(FakeDriver("acme", [info("Card", DeviceKind.GPU)])):
        found = why("gpu")
    assert found.usable
    assert str(found).startswith("gpu:0 is acme:0: usable")


def test_it_survives_json() -> None:
    with fresh_host(FakeDriver("cpu", [info()])):
        for name in ("gpu:0", "cpu:0", "nobody"):
            found = why(name)
            assert Diagnosis.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_wrong_arguments() -> None:
    with fresh_host():
        with pytest.raises(DeviceNotFoundError, match="not a device name"):
            why("gpu:")
        with pytest.raises(TypeError):
            why(None)  # type: ignore[arg-type]
