"""The plugin host: discovery, guard, reasons, allow-list, conflicts, registration."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from phalanx.discovery.devices import devices, find_device
from phalanx.discovery.guard import guard
from phalanx.discovery.loading import PluginState
from phalanx.errors import (
    DeviceError,
    DeviceNotFoundError,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    SettingError,
)
from plugin_kit import (
    FakeDriver,
    by_name,
    fresh_host,
    info,
    make_distribution,
    plugin_source,
    run_python,
)


def test_a_plugin_from_a_distribution_brings_its_devices(site: Path) -> None:
    entries = make_distribution(
        site,
        "acme-phalanx",
        "1.2",
        plugins={"acme": "acme_p1"},
        modules={"acme_p1": plugin_source("acme")},
    )
    with fresh_host(entries=entries) as host:
        plugin = by_name(host)["acme"]
        assert (plugin.state, plugin.origin, plugin.drivers) == (
            PluginState.LOADED,
            "acme-phalanx 1.2",
            ("acme",),
        )
        assert [device.name for device in devices()] == ["acme:0"]
        assert host.owner("acme") == "acme-phalanx 1.2"


BROKEN = {
    "raises": ("raise RuntimeError('no licence file')", "RuntimeError: no licence file"),
    "exits": ("import sys; sys.exit(3)", "SystemExit: 3"),
    "lacks_module": ("import acme_no_such_module", "ModuleNotFoundError"),
    "syntax": ("def broken(:", "SyntaxError"),
    "base_exception": ("class Odd(BaseException): pass\nraise Odd('odd')", "Odd: odd"),
    "mute": ("class Mute(Exception):\n def __str__(self): raise ValueError\nraise Mute", "Mute"),
    "wrong_hook": (
        "import phalanx\n@phalanx.hookimpl\ndef phalanx_driver(): return ()",
        "unknown hook 'phalanx_driver'",
    ),
    "hook_arguments": (
        "from phalanx import hookimpl\n@hookimpl\ndef phalanx_drivers(host): return ()",
        "host",
    ),
    "hook_raises": (
        "import phalanx\n@phalanx.hookimpl\ndef phalanx_drivers(): 1 / 0",
        "ZeroDivisionError",
    ),
    "hook_returns_none": (
        "import phalanx\n@phalanx.hookimpl\ndef phalanx_drivers(): return 7",
        "TypeError",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_plugin_breaks_only_itself(site: Path, fault: str) -> None:
    source, reason = BROKEN[fault]
    module = f"acme_bad_{fault}"
    entries = (
        *make_distribution(site, "bad", "0.9", plugins={"bad": module}, modules={module: source}),
        *make_distribution(
            site,
            "good",
            plugins={"good": "acme_good"},
            modules={"acme_good": plugin_source("good")},
        ),
    )
    with fresh_host(entries=entries) as host:
        bad = by_name(host)["bad"]
        assert bad.state is PluginState.FAILED
        assert bad.origin == "bad 0.9"
        assert reason in bad.reason
        assert bad.error is not None
        assert find_device("good").info.name == "good device"
        with pytest.raises(DeviceNotFoundError, match=r"plugin 'bad' \(bad 0.9\) is not in use"):
            find_device("bad:0")


def test_an_attribute_of_the_entry_point_that_is_missing_is_a_reason(site: Path) -> None:
    entries = make_distribution(
        site, "bad", plugins={"bad": "acme_attr:nothing"}, modules={"acme_attr": "x = 1"}
    )
    with fresh_host(entries=entries) as host:
        assert "AttributeError" in by_name(host)["bad"].reason


def test_a_class_as_entry_point_is_refused(site: Path) -> None:
    entries = make_distribution(
        site, "bad", plugins={"bad": "acme_class:P"}, modules={"acme_class": "class P: pass"}
    )
    with fresh_host(entries=entries) as host:
        assert "names the class" in by_name(host)["bad"].reason


def test_a_plugin_that_hangs_is_left_behind(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(sys, "acme_release", release, raising=False)
    monkeypatch.setenv("PHALANX_PLUGIN_TIMEOUT", "0.2")
    entries = (
        *make_distribution(
            site,
            "slow",
            plugins={"slow": "acme_slow"},
            modules={"acme_slow": "import sys; sys.acme_release.wait(60)"},
        ),
        *make_distribution(
            site,
            "good",
            plugins={"good": "acme_good"},
            modules={"acme_good": plugin_source("good")},
        ),
    )
    try:
        with fresh_host(entries=entries) as host:
            slow = by_name(host)["slow"]
            assert slow.state is PluginState.FAILED
            assert "did not finish within 0.2 s" in slow.reason
            assert "PHALANX_PLUGIN_TIMEOUT" in slow.reason
            assert find_device("good").name == "good:0"
    finally:
        release.set()


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan"])
def test_a_time_limit_that_is_none_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_PLUGIN_TIMEOUT", text)
    with (
        fresh_host(FakeDriver("acme", [info()])),
        pytest.raises(SettingError, match="positive number"),
    ):
        devices()


def test_keyboard_interrupt_goes_through_the_guard() -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guard(work, "a test")


def test_the_allow_list_names_the_plugins_to_load(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = (
        *make_distribution(
            site, "a", plugins={"a": "acme_a"}, modules={"acme_a": plugin_source("a")}
        ),
        *make_distribution(
            site,
            "b",
            plugins={"b": "acme_b"},
            modules={"acme_b": "raise SystemExit('was imported')"},
        ),
    )
    monkeypatch.setenv("PHALANX_PLUGINS", "a, typo")
    with fresh_host(entries=entries) as host:
        assert list(host.drivers()) == ["a"]
        left_out = by_name(host)["b"]
        assert left_out.state is PluginState.EXCLUDED
        assert "PHALANX_PLUGINS" in left_out.reason
        assert host.unknown_allowed() == ("typo",)
        with pytest.raises(DeviceNotFoundError, match="names 'typo'"):
            find_device("c:0")


def test_a_plugin_is_named_with_its_distribution(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two packages may have entry points of one name; then the distribution tells them apart."""
    entries = [
        entry
        for name in ("Acme_Old.Phalanx", "acme-new")
        for entry in make_distribution(
            site,
            name,
            plugins={"acme": f"same_{name[5:8].lower()}"},
            modules={f"same_{name[5:8].lower()}": plugin_source("acme")},
        )
    ]
    for wanted, origin in (
        ("acme-old-phalanx:acme", "Acme_Old.Phalanx"),
        ("Acme.NEW:acme", "acme-new"),
    ):
        monkeypatch.setenv("PHALANX_PLUGINS", wanted)
        with fresh_host(entries=entries) as host:
            loaded = [p for p in host.plugins() if p.state is PluginState.LOADED]
            assert [p.distribution for p in loaded] == [origin]
            assert list(host.drivers()) == ["acme"]
            assert host.unknown_allowed() == ()
    monkeypatch.setenv("PHALANX_PLUGINS", "acme-lost:acme,acme-new:other")
    with fresh_host(entries=entries) as host:
        assert list(host.drivers()) == []
        assert host.unknown_allowed() == ("acme-lost:acme", "acme-new:other")
    monkeypatch.setenv("PHALANX_PLUGINS", "acme")
    with fresh_host(entries=entries) as host:
        assert "distribution:name" in str(host.conflicts()["acme"])


def test_devices_are_listed_once_and_only_when_asked_for() -> None:
    one, two = FakeDriver("one", [info()]), FakeDriver("two", [info()])
    with fresh_host(one, two) as host:
        assert host.listed() == ()
        assert find_device("two:0").name == "two:0"
        assert (one.listed, two.listed) == (0, 1)
        assert find_device("two:0") is find_device("two")
        assert two.listed == 1
        assert [device.name for device in host.listed()] == ["two:0"]


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (
            FakeDriver("bad", DeviceError("no loader; install acme-icd")),
            "no loader; install acme-icd",
        ),
        (FakeDriver("bad", OSError("libacme.so: wrong ELF class")), "OSError: libacme.so"),
        (FakeDriver("bad", SystemExit(9)), "SystemExit: 9"),
    ],
)
def test_a_driver_that_cannot_list_loses_only_its_own_devices(
    driver: FakeDriver, reason: str
) -> None:
    with fresh_host(driver, FakeDriver("good", [info()])) as host:
        assert [device.name for device in devices()] == ["good:0"]
        assert host.listing("bad").devices == ()
        with pytest.raises(DeviceNotFoundError) as caught:
            find_device("bad:0")
        assert reason in str(caught.value)
        assert "found: good:0" in str(caught.value)


def test_a_count_that_is_no_count_is_a_reason() -> None:
    class Odd(FakeDriver):
        def device_count(self) -> int:
            return -2

    with fresh_host(Odd("odd")) as host:
        assert "returned -2" in str(host.listing("odd").error)


def test_one_device_that_cannot_be_described_leaves_the_others() -> None:
    driver = FakeDriver("acme", [info("A"), DeviceError("fan failure"), info("C")])
    with fresh_host(driver):
        assert [device.name for device in devices("acme")] == ["acme:0", "acme:2"]
        with pytest.raises(DeviceNotFoundError, match="fan failure"):
            find_device("acme:1")


def test_a_description_of_the_wrong_type_is_a_reason() -> None:
    driver = FakeDriver("acme", [{"name": "A"}])  # type: ignore[list-item]
    with fresh_host(driver) as host:
        assert "not a DeviceInfo" in str(host.listing("acme").broken[0])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": 5}, "name is 5, and not of type str"),
        ({"vendor": None}, "vendor is None, and not of type str"),
        ({"driver_version": 1.2}, "driver_version is 1.2, and not of type str"),
        ({"pci_address": 0}, "pci_address is 0, and not of type str"),
        ({"uuid": "a"}, "uuid is 'a', and not of type bytes"),
        ({"features": None}, "features is None, and not of type Feature"),
        ({"kind": "gpu"}, "kind is 'gpu', and not of type DeviceKind"),
        ({"total_memory": None}, "total_memory is None, and not of type int"),
        ({"max_allocation": 2.0}, "max_allocation is 2.0, and not of type int"),
        ({"alignment": "64"}, "alignment is '64', and not of type int"),
        ({"score": float("nan")}, "score is nan, and not of type int"),
        ({"compute_units": "8"}, "compute_units is '8', and not of type int"),
        ({"numa_node": ()}, r"numa_node is (), and not of type int"),
        ({"dlpack_device": (12,)}, "dlpack_device is (12,), and not two numbers"),
        ({"dlpack_device": None}, "dlpack_device is None, and not two numbers"),
    ],
)
def test_a_description_with_a_wrong_field_is_a_reason(
    fields: dict[str, object], reason: str
) -> None:
    driver = FakeDriver("acme", [replace(info("A"), **fields), info("B", score=-1)])  # type: ignore[arg-type]
    with fresh_host(driver, FakeDriver("good", [info()])) as host:
        assert [device.name for device in devices()] == ["acme:1", "good:0"]
        assert host.listing("acme").broken[0].args == (f"driver 'acme': device_info(0): {reason}",)


def test_a_driver_can_be_registered_and_taken_back() -> None:
    driver = FakeDriver("acme", [info()])
    with fresh_host() as host:
        host.register_driver(driver)
        assert find_device("acme").driver is driver
        with pytest.raises(PluginConflictError, match="this process"):
            host.register_driver(FakeDriver("acme"))
        host.unregister_driver(driver)
        with pytest.raises(DeviceNotFoundError):
            find_device("acme")
        with pytest.raises(PluginError, match="no driver 'acme'"):
            host.unregister_driver("acme")
        with pytest.raises(PluginError, match=r"not a phalanx\.Driver"):
            host.register_driver("acme")  # type: ignore[arg-type]


def test_a_plugin_cannot_take_the_name_of_a_registered_driver(site: Path) -> None:
    entries = make_distribution(
        site, "late", plugins={"late": "acme_late"}, modules={"acme_late": plugin_source("acme")}
    )
    driver = FakeDriver("acme", [info("Mine")])
    with fresh_host(driver, entries=entries) as host:
        assert find_device("acme").info.name == "Mine"
        assert "this process" in by_name(host)["late"].reason


def test_a_plugin_that_asks_for_devices_while_it_is_imported_gets_an_error(site: Path) -> None:
    source = "import phalanx\nphalanx.devices()"
    entries = make_distribution(
        site, "eager", plugins={"eager": "acme_eager"}, modules={"acme_eager": source}
    )
    with fresh_host(entries=entries) as host:
        assert "asks for the devices" in by_name(host)["eager"].reason


def test_eight_threads_discover_once(site: Path) -> None:
    entries = make_distribution(
        site,
        "acme",
        plugins={"acme": "acme_t"},
        modules={"acme_t": plugin_source("acme", body="import time; time.sleep(0.05)")},
    )
    found: list[object] = []
    with fresh_host(entries=entries):
        threads = [
            threading.Thread(target=lambda: found.append(find_device("acme:0"))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(found) == 8
    assert len({id(device) for device in found}) == 1


def test_a_fork_while_another_thread_discovers_does_not_hang(site: Path) -> None:
    begun = str(site / "begun")
    body = f"import time; open({begun!r}, 'w').close(); time.sleep(0.5)"
    make_distribution(
        site,
        "slow",
        plugins={"slow": "acme_f"},
        modules={"acme_f": plugin_source("slow", body=body)},
    )
    code = (
        "import os, sys, threading, time, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from phalanx.discovery.devices import find_device\n"
        "threading.Thread(target=find_device, args=('slow:0',)).start()\n"
        f"while not os.path.exists({begun!r}): time.sleep(0.01)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    from phalanx.discovery.plugins import host\n"
        "    host().drivers()\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = run_python("-c", code, path=site, PHALANX_PLUGINS="slow", PHALANX_PLUGIN_TIMEOUT="5")
    assert done.stdout.strip() == "7", done.stderr


def test_importing_phalanx_loads_no_plugin_and_no_tool_of_the_host(site: Path) -> None:
    make_distribution(
        site,
        "bomb",
        plugins={"bomb": "acme_bomb"},
        modules={"acme_bomb": "raise SystemExit('imported')"},
    )
    code = (
        "import phalanx.discovery.devices\n"
        "lazy = 'the plugin host is for the first request'\n"
        "assert 'phalanx.discovery.loading' not in sys.modules, lazy\n"
        "import phalanx.discovery.plugins, phalanx.discovery.diagnosis\n"
        "heavy = {'pluggy', 'cffi', 'click', 'rich', 'importlib.metadata', 'logging'}\n"
        "heavy.add('acme_bomb')\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = run_python("-c", "import sys, numpy; before = set(sys.modules)\n" + code, path=site)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_reason_is_logged(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    entries = make_distribution(site, "bad", plugins={"bad": "acme_l"}, modules={"acme_l": "1 / 0"})
    with caplog.at_level("INFO", "phalanx.plugins"), fresh_host(entries=entries) as host:
        host.plugins()
    assert "ZeroDivisionError" in caplog.text


def test_plugins_may_implement_optional_hooks_of_others(site: Path) -> None:
    body = (
        "from phalanx.discovery.hookspecs import hookimpl\n"
        "@hookimpl(optionalhook=True)\ndef phalanx_later(): return 1"
    )
    entries = make_distribution(
        site,
        "acme",
        plugins={"acme": "acme_o"},
        modules={"acme_o": plugin_source("acme", body=body)},
    )
    with fresh_host(entries=entries) as host:
        assert by_name(host)["acme"].state is PluginState.LOADED
        assert len(host.manager().get_plugins()) == 1


def test_a_library_of_a_plugin_that_does_not_load_is_the_driver_s_reason() -> None:
    driver = FakeDriver("acme", PluginLoadError("cannot load /nowhere/libacme.so"))
    with fresh_host(driver) as host:
        assert isinstance(host.listing("acme").error, PluginLoadError)
