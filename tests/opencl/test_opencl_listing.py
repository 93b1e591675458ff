"""What is found on a machine, and the reason and remedy where nothing is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from fake_runtime import Error, Platform, make_device, make_runtime
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl import listing as opencl_listing
from phalanx.driver import DeviceKind, Feature
from phalanx.errors import DeviceError
from phalanx.vendor import Status


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a module in the place of pyopencl."""

    def use(module: Any) -> OpenCLDriver:
        monkeypatch.setitem(sys.modules, "pyopencl", module)
        return OpenCLDriver()

    return use


def failed_step(driver: OpenCLDriver) -> tuple[str, str]:
    """The detail and the remedy of the failed step of `phalanx why`."""
    steps = [step for step in driver.explain() if step.status is Status.FAIL]
    assert [step.name for step in steps] == ["library"]
    return steps[0].detail, steps[0].remedy


class TestNothingUsable:
    def test_no_pyopencl(self, runtime: Any) -> None:
        driver = runtime(None)
        (step,) = [step for step in driver.explain() if step.name == "library"]
        assert (step.status, step.detail) == (Status.ABSENT, "pyopencl is not installed")
        assert 'pip install "phalanx[opencl]"' in step.remedy
        with pytest.raises(DeviceError, match="not installed"):
            driver.device_count()

    def test_no_loader(self, runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class Finder:
            @staticmethod
            def find_spec(name: str, path: Any = None, target: Any = None) -> None:
                if name == "pyopencl":
                    raise ImportError("libOpenCL.so.1: cannot open shared object file")

        monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
        detail, remedy = failed_step(OpenCLDriver())
        assert "no OpenCL loader" in detail
        assert "libOpenCL.so.1" in detail
        assert "ocl-icd-libopencl1" in remedy

    @pytest.mark.parametrize("empty", [False, True])
    def test_loader_without_platform(self, runtime: Any, empty: bool) -> None:
        none = [] if empty else Error("clGetPlatformIDs", -1001, "PLATFORM_NOT_FOUND_KHR")
        detail, remedy = failed_step(runtime(make_runtime(none)))
        assert "finds no platform" in detail
        assert "PoCL" in remedy

    def test_platform_without_device(self, runtime: Any) -> None:
        detail, remedy = failed_step(runtime(make_runtime([Platform("Empty", [])])))
        assert "platform Empty has no device" in detail
        assert "pip install" in remedy

    def test_loader_that_fails(self, runtime: Any) -> None:
        broken = Error("clGetPlatformIDs", -6, "OUT_OF_HOST_MEMORY")
        detail, _ = failed_step(runtime(make_runtime(broken)))
        assert "OUT_OF_HOST_MEMORY" in detail


class TestTwoRuntimes:
    def test_one_is_broken_and_the_other_goes_on(self, runtime: Any) -> None:
        broken = Platform("Broken", Error("clGetDeviceIDs", -6, "OUT_OF_HOST_MEMORY"))
        driver = runtime(make_runtime([broken, Platform("Good", [make_device("One")])]))
        assert driver.device_count() == 1
        assert driver.device_info(0).name == "One (Good)"
        library = next(step for step in driver.explain() if step.name == "library")
        assert library.status is Status.OK
        assert "Broken fails" in library.detail
        assert "OUT_OF_HOST_MEMORY" in library.detail

    def test_context_that_fails_names_the_device(self, runtime: Any) -> None:
        error = Error("clCreateContext", -6, "OUT_OF_HOST_MEMORY")
        driver = runtime(make_runtime([Platform("Good", [make_device("One")])], context=error))
        with pytest.raises(DeviceError, match=r"opencl:0 \(One \(Good\)\) cannot be opened") as got:
            driver.open(0)
        assert "CL_OUT_OF_HOST_MEMORY" in str(got.value)

    @pytest.mark.parametrize("fault", ["available", "compiler_available"])
    def test_device_that_cannot_work_is_a_problem(self, runtime: Any, fault: str) -> None:
        devices = [make_device("Bad", **{fault: False}), make_device("One")]
        driver = runtime(make_runtime([Platform("Good", devices)]))
        assert driver.device_count() == 1
        library = next(step for step in driver.explain() if step.name == "library")
        assert "Bad" in library.detail


class TestProperties:
    def describe(self, runtime: Any, **changes: Any) -> Any:
        return runtime(make_runtime([Platform("P", [make_device("One", **changes)])])).device_info(
            0
        )

    def test_kinds_and_scores(self, runtime: Any) -> None:
        gpu = self.describe(runtime)
        shared = self.describe(runtime, host_unified_memory=True)
        cpu = self.describe(runtime, type=2, host_unified_memory=True)
        other = self.describe(runtime, type=8)
        assert (gpu.kind, cpu.kind) == (DeviceKind.GPU, DeviceKind.CPU)
        assert other.kind is DeviceKind.ACCELERATOR
        assert gpu.score > shared.score > cpu.score > 0

    def test_features(self, runtime: Any) -> None:
        bare = self.describe(runtime, single_fp_config=0x06)
        full = self.describe(runtime, extensions="cl_khr_fp64 cl_khr_fp16")
        assert bare.features == Feature(0)
        assert full.features == Feature.FP64 | Feature.FP16 | Feature.SUBNORMALS

    def test_alignment_is_bytes_and_a_power_of_two(self, runtime: Any) -> None:
        assert self.describe(runtime).alignment == 128
        assert self.describe(runtime, mem_base_addr_align=8).alignment == 64

    def test_nvidia_pci_address(self, runtime: Any) -> None:
        info = self.describe(
            runtime,
            extensions="cl_nv_device_attribute_query",
            pci_domain_id_nv=0,
            pci_bus_id_nv=0x3B,
            pci_slot_id_nv=0x10,
        )
        assert info.pci_address == "0000:3b:02.0"

    @pytest.mark.parametrize(
        ("properties", "cost"),
        [
            ({}, 2),
            ({"vendor": "nv", "compute_capability_major_nv": 9}, 2),
            ({"vendor": "nv", "compute_capability_major_nv": 12}, 64),
            ({"vendor": "nv"}, 2),
            ({"vendor": "amd", "gfxip_major_amd": 9}, 2),
            ({"vendor": "amd", "gfxip_major_amd": 11}, 16),
        ],
    )
    def test_cost_of_double(self, properties: dict[str, Any], cost: int) -> None:
        vendor = properties.get("vendor", "none")
        extension = f"cl_{vendor}_device_attribute_query"
        minor = {"compute_capability_minor_nv": 0}
        device = make_device(extensions=f"cl_khr_fp64 {extension}", **{**minor, **properties})
        found = opencl_listing._describe(make_runtime([]), Platform("P", [device]), device, 0)
        assert found.traits.double_cost == cost
        assert found.traits.slow_double is (cost > 2)

    @pytest.mark.parametrize(
        ("changes", "goes_on"),
        [
            ({}, True),
            ({"vendor_id": 0x1234}, False),
            ({"type": 2}, False),
            ({"extensions": ""}, False),
        ],
    )
    def test_gpus_whose_groups_go_on(self, changes: dict[str, Any], goes_on: bool) -> None:
        known = {"vendor_id": 0x1002, "extensions": "cl_khr_int64_base_atomics"}
        device = make_device(**{**known, **changes})
        found = opencl_listing._describe(make_runtime([]), Platform("P", [device]), device, 0)
        assert found.traits.forward_progress is goes_on

    @pytest.mark.parametrize(
        ("changes", "most"),
        [
            ({}, 2**34),
            ({"vendor_id": 0x10DE}, 2**32),
            ({"version": "OpenCL 3.0 rusticl"}, 2**32),
            ({"host_unified_memory": True}, 2**32),
            ({"type": 2}, 2**32),
        ],
    )
    def test_intels_cards_give_more_than_they_say(
        self, runtime: Any, changes: dict[str, Any], most: int
    ) -> None:
        card = {"vendor_id": 0x8086, "version": "OpenCL 3.0 NEO", "global_mem_size": 2**34}
        info = self.describe(runtime, **{**card, "max_mem_alloc_size": 2**32, **changes})
        assert info.max_allocation == most


def test_real_devices_are_described(device: px.Device) -> None:
    info = device.info
    assert 0 < info.max_allocation <= info.total_memory
    assert info.compute_units > 0
    assert info.alignment & (info.alignment - 1) == 0
    assert info.driver_version
    found = opencl_listing.list_devices().devices[device.index]
    assert (len(info.uuid) == 16) == ("cl_khr_device_uuid" in found.device.extensions)
    assert px.why(device.name).usable


def test_the_core_knows_nothing_of_it() -> None:
    root = Path(__file__).parents[2]
    sources = [root / "device_plugins" / "cpu.py"]
    for ending in ("py", "pyi", "pyx", "pxi", "c", "h"):
        sources += (root / "core").rglob(f"*.{ending}")
    assert len(sources) > 50
    for source in sources:
        text = source.read_text("utf-8").lower().replace("opencl c", "")  # the language
        assert "opencl" not in text, source
        assert "pocl" not in text, source
