"""Device strings, aliases and the current device."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from phalanx._warm import Device
from phalanx.discovery.aliases import same_hardware
from phalanx.driver import DeviceKind
from phalanx.errors import DeviceError, DeviceNotFoundError
from plugin_kit import (
    FakeDriver,
    fresh_host,
    info,
    make_distribution,
    plugin_source,
    run_python,
)

# The package's function of the same name hides the module from an import statement.
d = importlib.import_module("phalanx.discovery.devices")

GPU, CPU, ACCELERATOR = DeviceKind.GPU, DeviceKind.CPU, DeviceKind.ACCELERATOR
CARD = bytes(range(16))


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHALANX_DEVICE", "PHALANX_GPU", "PHALANX_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def machine() -> Iterator[None]:
    """A CPU, two cards that two drivers list, and an accelerator."""
    drivers = (
        FakeDriver("cpu", [info("Processor")]),
        FakeDriver(
            "open",
            [
                info("Card A", GPU, score=10, pci_address="0000:3B:00.0"),
                info("Card B", GPU, score=20, uuid=CARD),
                info("Processor", CPU),
            ],
        ),
        FakeDriver(
            "vend",
            [
                info("Card A", GPU, score=50, pci_address="3b:00.0"),
                info("Card B", GPU, score=40, uuid=CARD, pci_address="0000:5e:00.0"),
            ],
        ),
        FakeDriver("npu", [info("Cube", ACCELERATOR)]),
    )
    with fresh_host(*drivers):
        yield


def names(devices: tuple[Device, ...]) -> list[str]:
    return [device.name for device in devices]


@pytest.mark.usefixtures("machine")
class TestFindDevice:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("cpu", "cpu:0"),
            ("cpu:0", "cpu:0"),
            ("open:2", "open:2"),
            ("gpu", "vend:0"),
            ("gpu:1", "vend:1"),
            ("accelerator:0", "npu:0"),
            (GPU, "vend:0"),
        ],
    )
    def test_strings(self, text: str, name: str) -> None:
        assert d.find_device(text).name == name

    def test_a_device_stands_for_itself_and_is_always_the_same_object(self) -> None:
        device = d.find_device("cpu:0")
        assert d.find_device(device) is device
        assert d.find_device("cpu") is device

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("", "'cpu:0'"),
            ("gpu:-1", "numbers are 0, 1, 2"),
            ("gpu:x", "numbers are 0, 1, 2"),
            ("cpu:", "numbers are"),
            ("cpu:01", "numbers are"),
            ("cpu:٣", "numbers are"),
            ("CPU:0", "did you mean 'cpu:0'"),
            (" cpu : 0 ", "did you mean 'cpu:0'"),
            ("cpu:0\n", "did you mean 'cpu:0'"),
            ("cpu:" + "9" * 5000, "numbers are"),
            ("cuda-0", "not a device name"),
        ],
    )
    def test_syntax_errors(self, text: str, part: str) -> None:
        with pytest.raises(DeviceNotFoundError, match="is not a device name") as caught:
            d.find_device(text)
        assert part in str(caught.value)

    @pytest.mark.parametrize("value", [None, 3, 1.5, b"cpu:0", ("cpu", 0), object()])
    def test_other_types(self, value: object) -> None:
        with pytest.raises(
            TypeError, match=r"a device is a string such as 'cpu:0' or a Device, not"
        ):
            d.find_device(value)  # type: ignore[arg-type]

    def test_an_index_too_high_says_how_many_there_are(self) -> None:
        with pytest.raises(DeviceNotFoundError) as caught:
            d.find_device("cpu:99")
        text = str(caught.value)
        assert "driver 'cpu' has 1 device, 'cpu:0'" in text
        assert "found: cpu:0 (Processor), open:0 (Card A)" in text
        assert "phalanx why cpu:99" in text

    def test_an_alias_with_an_index_too_high(self) -> None:
        with pytest.raises(DeviceNotFoundError, match="only 2 of kind 'gpu' were found"):
            d.find_device("gpu:2")

    def test_a_name_nobody_offers_gets_a_guess(self) -> None:
        with pytest.raises(DeviceNotFoundError) as caught:
            d.find_device("oepn:1")
        assert "no installed plugin offers a driver 'oepn'" in str(caught.value)
        assert "did you mean 'open:1'" in str(caught.value)

    def test_it_is_a_lookup_error(self) -> None:
        with pytest.raises(LookupError):
            d.find_device("nobody:0")


@pytest.mark.usefixtures("machine")
class TestDevices:
    def test_all(self) -> None:
        assert names(d.devices()) == [
            "cpu:0",
            "open:0",
            "open:1",
            "open:2",
            "vend:0",
            "vend:1",
            "npu:0",
        ]

    def test_of_a_driver_and_of_a_kind(self) -> None:
        assert names(d.devices("open")) == ["open:0", "open:1", "open:2"]
        assert names(d.devices("gpu")) == ["vend:0", "vend:1"]
        assert names(d.devices(GPU)) == ["vend:0", "vend:1"]
        assert names(d.devices("cpu")) == ["cpu:0"]
        assert d.devices("nobody") == ()

    def test_counts(self) -> None:
        assert (d.device_count(), d.device_count("gpu"), d.device_count("nobody")) == (7, 2, 0)

    def test_a_number_is_refused(self) -> None:
        with pytest.raises(DeviceNotFoundError, match="leave the number out"):
            d.devices("cpu:0")

    def test_availability(self) -> None:
        assert d.is_available("gpu:1")
        assert d.is_available(d.find_device("cpu"))
        assert not d.is_available("gpu:2")
        assert not d.is_available("nobody")
        with pytest.raises(DeviceNotFoundError):
            d.is_available("gpu:")
        with pytest.raises(TypeError):
            d.is_available(None)  # type: ignore[arg-type]


class TestAliases:
    def test_without_a_gpu_the_message_tells_what_is_there(self) -> None:
        drivers = (
            FakeDriver("cpu", [info("Processor")]),
            FakeDriver("none", []),
            FakeDriver("sick", DeviceError("no loader; apt install ocl-icd-libopencl1")),
        )
        with fresh_host(*drivers), pytest.raises(DeviceNotFoundError) as caught:
            d.find_device("gpu")
        text = str(caught.value)
        for part in (
            "no plugin has a device of kind 'gpu'",
            "found: cpu:0 (Processor)",
            "none (this process): the driver works and found no device",
            "sick (this process): no loader; apt install",
            "PHALANX_GPU",
        ):
            assert part in text

    @pytest.mark.usefixtures("machine")
    def test_the_variable_says_what_gpu_means(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_GPU", "open:2, cpu")
        assert names(d.devices("gpu")) == ["open:2", "cpu:0"]
        assert d.find_device("gpu:1").name == "cpu:0"
        with pytest.raises(DeviceNotFoundError, match=r"PHALANX_GPU='open:2, cpu' names 2"):
            d.find_device("gpu:2")

    @pytest.mark.usefixtures("machine")
    @pytest.mark.parametrize("value", ["gpu:1", "open:7", "open:", "accelerator", ","])
    def test_a_wrong_variable_is_named(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_GPU", value)
        with pytest.raises(DeviceNotFoundError, match=f"PHALANX_GPU='{value}' does not say"):
            d.find_device("gpu")

    def test_cpu_goes_by_kind_only_where_nobody_has_the_name(self) -> None:
        with fresh_host(FakeDriver("open", [info("Card", GPU), info("Processor", CPU)])):
            assert d.find_device("cpu:0").name == "open:1"

    def test_a_broken_cpu_driver_is_not_replaced(self) -> None:
        drivers = (FakeDriver("cpu", DeviceError("no library")), FakeDriver("open", [info()]))
        with fresh_host(*drivers), pytest.raises(DeviceNotFoundError, match="no library"):
            d.find_device("cpu")

    @pytest.mark.parametrize(
        ("first", "second", "same"),
        [
            ({"uuid": CARD}, {"uuid": CARD}, True),
            ({"uuid": CARD}, {"uuid": CARD[::-1]}, False),
            ({"uuid": bytes(16)}, {"uuid": bytes(16)}, False),
            ({"pci_address": "0000:3b:00.0"}, {"pci_address": "00000000:3B:00.0"}, True),
            ({"pci_address": "0000:3b:00.0"}, {"pci_address": "0001:3b:00.0"}, False),
            ({"pci_address": "0000:3b:00.0"}, {"pci_address": "0000:3b:00.1"}, False),
            ({"pci_address": "?"}, {"pci_address": "?"}, False),
            ({"uuid": CARD, "pci_address": "3b:00.0"}, {"pci_address": "3b:00.0"}, True),
            (
                {"uuid": CARD, "pci_address": "3b:00.0"},
                {"uuid": CARD[::-1], "pci_address": "3b:00.0"},
                False,
            ),
            ({}, {}, False),
        ],
    )
    def test_one_piece_of_hardware(
        self, first: dict[str, str], second: dict[str, str], same: bool
    ) -> None:
        drivers = (
            FakeDriver("one", [info("A", GPU, **first)]),
            FakeDriver("two", [info("A", GPU, **second)]),
        )
        with fresh_host(*drivers):
            a, b = d.find_device("one"), d.find_device("two")
            assert same_hardware(a, b) is same
            assert d.device_count("gpu") == (1 if same else 2)


class TestCurrentDevice:
    def test_the_default_is_the_first_cpu(self) -> None:
        with fresh_host(FakeDriver("acme", [info()]), FakeDriver("cpu", [info()])):
            assert d.get_device().name == "cpu:0"

    def test_without_a_cpu_it_is_the_first_device(self) -> None:
        with fresh_host(FakeDriver("none", []), FakeDriver("acme", [info()])):
            assert d.get_device().name == "acme:0"

    @pytest.mark.parametrize(
        "listed", [DeviceError("no library; reinstall"), [DeviceError("no library; reinstall")]]
    )
    def test_a_broken_cpu_is_an_error_and_not_another_device(
        self, listed: DeviceError | list[DeviceError], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with fresh_host(FakeDriver("acme", [info()]), FakeDriver("cpu", listed)):
            with pytest.raises(DeviceNotFoundError, match="no library; reinstall") as caught:
                d.get_device()
            assert "PHALANX_DEVICE" in str(caught.value)
            with d.device("acme:0"):
                assert d.get_device().name == "acme:0"
            monkeypatch.setenv("PHALANX_DEVICE", "acme:0")
            assert d.get_device().name == "acme:0"

    def test_a_cpu_plugin_that_does_not_load(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entries = make_distribution(
            tmp_path,
            "broken-cpu",
            plugins={"cpu": "broken_cpu_plugin"},
            modules={"broken_cpu_plugin": "import a_library_that_is_absent"},
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        with fresh_host(FakeDriver("acme", [info()]), entries=entries):
            with pytest.raises(DeviceNotFoundError, match="a_library_that_is_absent"):
                d.get_device()
            monkeypatch.setenv("PHALANX_PLUGINS", "none")
        with fresh_host(FakeDriver("acme", [info()]), entries=entries):
            assert d.get_device().name == "acme:0", "left out on purpose"

    def test_two_plugins_that_claim_cpu(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sources = {name: plugin_source("cpu") for name in ("one_cpu_plugin", "two_cpu_plugin")}
        entries = make_distribution(
            tmp_path,
            "two-cpus",
            plugins={"one": "one_cpu_plugin", "two": "two_cpu_plugin"},
            modules=sources,
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        with (
            fresh_host(FakeDriver("acme", [info()]), entries=entries),
            pytest.raises(DeviceNotFoundError, match="two drivers are named 'cpu'"),
        ):
            d.get_device()

    @pytest.mark.needs_cpu
    @pytest.mark.parametrize("value", ["sse", "avx512,sse"])
    def test_an_unknown_instruction_set(self, value: str) -> None:
        code = (
            "import sys; from plugin_kit import FakeDriver, info\n"
            "import phalanx as px; from phalanx.discovery.plugins import host\n"
            "host().register_driver(FakeDriver('acme', [info()]))\n"
            "try: print('silently', px.ones(2).device)\n"
            "except LookupError as error: print(error)\n"
        )
        tests = Path(__file__).parents[1]
        done = run_python("-c", code, path=tests, PHALANX_CPU_ISA=value)
        assert f"PHALANX_CPU_ISA={value!r}: sse is not installed" in done.stdout, done.stderr
        assert "choose from" in done.stdout
        assert "baseline" in done.stdout

    def test_without_any_device_it_is_an_error_with_the_reasons(self) -> None:
        with fresh_host(FakeDriver("sick", DeviceError("no loader"))):
            with pytest.raises(DeviceNotFoundError, match="there is no device at all") as caught:
                d.get_device()
            assert "no loader" in str(caught.value)
        with fresh_host(), pytest.raises(DeviceNotFoundError, match="no plugin is installed"):
            d.get_device()

    @pytest.mark.usefixtures("machine")
    def test_the_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_DEVICE", "gpu:1")
        assert d.get_device().name == "vend:1"

    @pytest.mark.usefixtures("machine")
    def test_a_wrong_variable_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_DEVICE", "cuda:9")
        with pytest.raises(
            DeviceNotFoundError, match="PHALANX_DEVICE='cuda:9': no device 'cuda:9'"
        ):
            d.get_device()

    @pytest.mark.usefixtures("machine")
    def test_a_block_may_be_entered_again(self) -> None:
        first, second = d.devices()[:2]
        block = d.device(second)
        with d.device(first):
            for _ in range(2):
                with block as outer, d.device(first), block as inner:
                    assert outer is inner is second is d.get_device()
                assert d.get_device() is first
            with ThreadPoolExecutor(1) as pool, block:
                assert pool.submit(block(d.get_device)).result() is second
            assert block(d.get_device)() is second
            assert d.get_device() is first

    @pytest.mark.usefixtures("machine")
    def test_a_block_of_several_tasks(self) -> None:
        """Each returns to its own former device, whichever ends first."""
        first, second, third = d.devices()[:3]
        block = d.device(third)

        async def work(own: Device, seconds: float) -> bool:
            d.set_device(own)
            with block:
                await asyncio.sleep(seconds)
                assert d.get_device() is third
            return d.get_device() is own

        async def both() -> list[bool]:
            return await asyncio.gather(work(first, 0.02), work(second, 0.04))

        assert asyncio.run(both()) == [True, True]

    @pytest.mark.usefixtures("machine")
    def test_blocks_of_generators_end_in_any_order(self) -> None:
        first, second, third = d.devices()[:3]

        def inside(place: Device) -> Iterator[None]:
            with d.device(place):
                yield

        with d.device(first):
            one, other = inside(second), inside(third)
            next(one), next(other)
            one.close()
            other.close()
            assert d.get_device() is second  # the one before, when the last one was entered

    @pytest.mark.usefixtures("machine")
    def test_an_empty_variable_is_a_wrong_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_DEVICE", " ")
        with pytest.raises(DeviceNotFoundError, match="PHALANX_DEVICE='': '' is not a device name"):
            d.get_device()

    def test_the_default_follows_the_drivers(self) -> None:
        acme, cpu = FakeDriver("acme", [info()]), FakeDriver("cpu", [info()])
        with fresh_host(acme) as host:
            assert d.get_device().name == "acme:0"
            host.register_driver(cpu)
            assert d.get_device().name == "cpu:0"
            host.unregister_driver(cpu)
            assert d.get_device().name == "acme:0"

    @pytest.mark.usefixtures("machine")
    def test_a_block_restores_what_was_before(self) -> None:
        assert d.get_device().name == "cpu:0"
        with d.device("gpu") as outer:
            assert d.get_device() is outer
            with d.device("open:2"):
                assert d.get_device().name == "open:2"
            assert d.get_device() is outer
        assert d.get_device().name == "cpu:0"

    @pytest.mark.usefixtures("machine")
    def test_a_block_restores_after_an_exception(self) -> None:
        def work() -> None:
            with d.device("gpu"):
                d.set_device("npu:0")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            work()
        assert d.get_device().name == "cpu:0"
        with pytest.raises(DeviceNotFoundError), d.device("nobody:0"):
            pytest.fail("the block must not run")
        assert d.get_device().name == "cpu:0"

    @pytest.mark.usefixtures("machine")
    def test_a_failed_set_changes_nothing(self) -> None:
        with d.device("npu"):
            with pytest.raises(DeviceNotFoundError):
                d.set_device("nobody")
            assert d.get_device().name == "npu:0"

    @pytest.mark.usefixtures("machine")
    def test_each_thread_has_its_own(self) -> None:
        barrier = threading.Barrier(8)

        def work(place: int) -> list[str]:
            seen = [d.get_device().name]
            mine = ("open:0", "vend:1")[place % 2]
            d.set_device(mine)
            for _ in range(50):
                barrier.wait(30)
                seen.append(d.get_device().name)
            return [seen[0], *sorted(set(seen[1:]))]

        with d.device("npu"), ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(8)))
        assert results == [["cpu:0", ("open:0", "vend:1")[i % 2]] for i in range(8)]

    @pytest.mark.usefixtures("machine")
    def test_each_task_has_its_own(self) -> None:
        async def work(name: str) -> str:
            with d.device(name):
                await asyncio.sleep(0.01)
                return d.get_device().name

        async def both() -> list[str]:
            return await asyncio.gather(work("open:0"), work("vend:1"))

        assert asyncio.run(both()) == ["open:0", "vend:1"]
