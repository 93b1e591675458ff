"""The interface of drivers: what is refused, with which words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import phalanx as px
import phalanx.testing
import phalanx.vendor
import pytest
from phalanx.discovery.plugins import PluginHost
from phalanx.dispatch import fallback
from phalanx.runtime.settings import Setting
from phalanx.testing import ReferenceDevice, ReferenceDriver
from plugin_kit import fresh_host, make_distribution

Make = Callable[..., ReferenceDriver]

OLD = """
import phalanx as px

class OldDriver(px.Driver):
    name = "old"
    def device_count(self): return 1
    def device_info(self, index): raise NotImplementedError
    def open(self, index): pass
    def alloc(self, index, size): return 0
    def copy(self, index, direction, dst, dst_offset, src, src_offset, size, *, stream): pass
    def supports(self, index, op, dtypes): return False

@px.hookimpl
def phalanx_drivers():
    return [OldDriver()]
"""


class TestOldInterface:
    def test_a_plugin_is_told_where_its_calls_belong(self, tmp_path: Any) -> None:
        entries = make_distribution(
            tmp_path, "old", plugins={"old": "old_driver"}, modules={"old_driver": OLD}
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))
            with fresh_host(entries=entries) as host:
                (plugin,) = host.plugins()
        assert "OldDriver has alloc, copy, supports" in plugin.reason
        assert "phalanx.OpenDevice that Driver.open(index) returns" in plugin.reason

    @pytest.mark.parametrize("call", ["alloc", "kernels", "launch", "capabilities", "synchronize"])
    def test_every_call_that_moved(self, call: str) -> None:
        with pytest.raises(TypeError, match=f"{call}, which belong to the phalanx.OpenDevice"):
            type("Old", (px.Driver,), {call: None})


class TestOpen:
    @pytest.mark.parametrize("wrong", [None, 7, ReferenceDevice], ids=["none", "number", "class"])
    def test_something_else_than_an_open_device(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch, wrong: object
    ) -> None:
        driver = make_driver()
        monkeypatch.setattr(driver, "open", lambda index: wrong)
        device = px.devices("own")[0]
        for _ in range(2):
            with pytest.raises(px.DeviceError, match=r"driver 'own': open\(0\) returned") as caught:
                device.ensure_open()
            assert "return a phalanx.OpenDevice" in caught.value.remedy
        assert not device.is_open
        monkeypatch.undo()
        assert float(px.sum(px.ones(3, device=device))) == 3.0

    def test_it_is_the_drivers_and_stays_the_same(self, make_driver: Make) -> None:
        driver = make_driver()
        device = px.devices("own")[0]
        assert device.ensure_open() is device.ensure_open() is driver.open_devices[0]
        assert driver.opened == [0]

    def test_whoever_is_called_meanwhile_may_use_the_device(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A log handler or a signal's that computes opens it first: all arrays lie on that one."""
        driver = make_driver()
        device = px.devices("own")[0]
        plain, made = driver.open, []

        def slow(index: int) -> ReferenceDevice:
            monkeypatch.undo()
            made.append(px.ones(3, device=device))
            return plain(index)

        monkeypatch.setattr(driver, "open", slow)
        x = px.ones(3, device=device)
        assert float(px.sum(x + made[0])) == 6.0
        assert px.memory_stats(device)["requested"] == 2 * x.nbytes
        device.close()
        assert device.is_open

    @pytest.mark.parametrize("handle", [None, -1, 1 << 64, "x", 1.0])
    def test_memory_without_a_handle(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch, handle: object
    ) -> None:
        make_driver()
        device = px.devices("own")[0]
        monkeypatch.setattr(device.ensure_open(), "alloc", lambda size: handle)
        with pytest.raises(px.DeviceError, match=r"own:0: alloc\(\d+\) returned ") as caught:
            px.ones(3, device=device)
        assert "an int of 64 bits" in caught.value.remedy

    def test_a_capability_without_its_calls(
        self, make_driver: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_driver(streams=True)
        device = px.devices("own")[0]
        device.ensure_open()
        monkeypatch.delattr(ReferenceDevice, "stream_create")
        with pytest.raises(NotImplementedError, match=r"ReferenceDevice has no stream_create\(\)"):
            px.Stream(device)

    def test_a_closed_device_takes_no_call(self, make_driver: Make) -> None:
        make_driver()
        device = px.devices("own")[0]
        opened, stream = device.ensure_open(), px.current_stream(device)
        handle = opened.alloc(64)
        opened.free(handle)
        device.close()
        place = px.Place(opened, handle)
        for call in (
            lambda: opened.alloc(64),
            lambda: opened.copy(place, place, 8, stream=stream),
            lambda: opened.memory_info(),
            lambda: opened.synchronize(),
        ):
            with pytest.raises(px.ClosedError, match="own:0 is closed") as caught:
                call()
            assert caught.value.remedy == "Device.ensure_open() opens it"
        assert device.ensure_open() is not opened

    def test_an_event_of_an_earlier_opening(self, make_driver: Make) -> None:
        """Its handle belongs to the closed device and serves no later recording."""
        driver = make_driver(streams=True)
        device = px.devices("own")[0]
        event = px.Stream(device).record()
        event.synchronize()
        handle = event.handle
        device.close()
        device.ensure_open()
        del event
        assert px.Stream(device).record().handle is not handle
        assert driver.opened == [0, 0]

    @pytest.mark.parametrize(
        "options", [{}, {"streams": True}, {"host_addressable": True}], ids=str
    )
    def test_an_event_from_before_is_passed(self, make_driver: Make, options: Any) -> None:
        """Closing waited for all work: nothing of the new opening is asked."""
        make_driver(**options)
        device = px.devices("own")[0]
        stream, event = px.Stream(device), px.Event(device)
        with stream:
            px.ones(3, device=device)
        event.record(stream)
        device.close()
        x = px.ones(3, device=device)
        assert event.query()
        event.synchronize()
        with px.Stream(device) as later:
            later.wait(event)
            assert px.asnumpy(x + 1).tolist() == [2.0] * 3


class TestWithoutStreams:
    @pytest.mark.parametrize(
        ("call", "arguments"),
        [
            ("stream_create", (0,)),
            ("stream_destroy", (None,)),
            ("stream_query", (None,)),
            ("stream_synchronize", (None,)),
            ("stream_wait_event", (None, None)),
            ("event_create", (False,)),
            ("event_destroy", (None,)),
            ("event_record", (None, None)),
            ("event_query", (None,)),
            ("event_synchronize", (None,)),
            ("event_elapsed", (None, None)),
        ],
    )
    def test_the_reference_device_refuses_their_calls(
        self, make_driver: Make, call: str, arguments: tuple[Any, ...]
    ) -> None:
        make_driver()
        opened = px.devices("own")[0].ensure_open()
        assert opened.capabilities == px.Capability(0)
        with pytest.raises(NotImplementedError, match="own:0 was made without streams"):
            getattr(opened, call)(*arguments)


class TestPlace:
    def test_sides(self, make_driver: Make) -> None:
        make_driver()
        opened = px.devices("own")[0].ensure_open()
        block, address = px.Place(opened, 5, 8), px.Place(None, 4096, 3)
        assert (block.on_host, address.on_host, address.address) == (False, True, 4099)
        with pytest.raises(AttributeError):
            block.offset = 4  # type: ignore[misc]

    def test_of_another_device(self, make_driver: Make) -> None:
        make_driver()
        first, second = (device.ensure_open() for device in px.devices("own"))
        stream = px.current_stream("own:0")
        with pytest.raises(AssertionError, match="own:0: a place of another device"):
            first.copy(px.Place(second, 1), px.Place(None, 4096), 8, stream=stream)


class TestRemedy:
    def test_both_are_in_the_text(self) -> None:
        error = px.DeviceError("no loader; none at all", remedy="install one")
        assert str(error) == "no loader; none at all; install one"
        assert (error.detail, error.remedy) == ("no loader; none at all", "install one")
        assert px.ClosedError("gone").remedy == ""

    @pytest.mark.parametrize(
        "error",
        [
            px.DeviceError("a", remedy="b"),
            px.OutOfMemoryError("a", remedy="b", size=7, verdict="limit"),
            px.DriverCallError("a", remedy="b", code=3, name="X", call="y"),
            px.CompileError("a", remedy="b", log="c", source="d"),
            px.PluginLoadError("a", remedy="b"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_it_survives_a_pickle(self, error: px.PhalanxError) -> None:
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again)) == (str(error), vars(error))

    def test_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fresh = Setting("fresh_policy", fallback._from_environment)
        monkeypatch.setattr(fallback, "_policy", fresh)
        monkeypatch.setenv("PHALANX_FALLBACK", "maybe")
        with pytest.raises(px.SettingError, match="PHALANX_FALLBACK='maybe'") as caught:
            px.fallback_policy()
        assert caught.value.remedy == "use error, warn or allow"


@pytest.mark.parametrize("module", [phalanx.vendor, phalanx.testing])
def test_public_modules_have_what_they_list(module: Any) -> None:
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert all(hasattr(module, name) for name in module.__all__)


def test_a_host_takes_the_reference_driver() -> None:
    host = PluginHost(lambda: ())
    host.register_driver(ReferenceDriver())
    assert [device.name for device in host.listing("reference").devices] == [
        "reference:0",
        "reference:1",
    ]
