"""How the CUDA driver begins, and what it says to programs and `phalanx why` where it cannot."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from fake_cuda.compiler import FakeNvrtc
from fake_cuda.kit import Card
from fake_cuda.library import FakeCuda
from phalanx.device_plugins.cuda import CudaDriver, api
from phalanx.driver import DeviceKind, Feature
from phalanx.errors import DeviceError
from phalanx.kernels_cuda import nvrtc
from phalanx.kernels_cuda.nvrtc import compiler_for, target
from phalanx.steps import Status
from plugin_kit import run_python

pytestmark = pytest.mark.needs_cpu


def driver_on(library: Any, compiler: Any = None) -> CudaDriver:
    """A driver that nobody registered."""
    return CudaDriver(lambda: library, compiler or (lambda *_: FakeNvrtc()))


class TestListing:
    def test_what_is_known_without_opening(self) -> None:
        driver = driver_on(FakeCuda(2))
        assert driver.device_count() == 2
        info = driver.device_info(1)
        assert (info.name, info.vendor, info.kind) == ("Fake card 1", "NVIDIA", DeviceKind.GPU)
        assert info.pci_address == "0000:02:00.0"
        assert info.uuid == bytes([2]) * 16
        assert info.dlpack_device == (2, 1)
        assert info.total_memory == 2**30
        assert Feature.FP64 in info.features
        assert info.driver_version == "CUDA 12.9"

    def test_launches_stay_within_the_limits_of_a_grid(self, card: Card) -> None:
        traits = card.opened.traits
        assert traits.most_groups < 2**31
        assert traits.most_groups_across <= 65535

    @pytest.mark.parametrize(("capability", "slow"), [((9, 0), False), ((8, 9), True)])
    def test_slow_double_is_known(
        self, make_card: Callable[..., Card], capability: tuple[int, int], slow: bool
    ) -> None:
        assert make_card(capability=capability).opened.traits.slow_double is slow

    def test_nothing_is_asked_before_a_device_is(self) -> None:
        driver = CudaDriver(lambda: pytest.fail("loaded"))
        assert driver.name == "cuda"

    def test_a_card_of_two_drivers_is_one_gpu(self, make_card: Callable[..., Card]) -> None:
        make_card()
        assert px.devices("cudafake")[0].info.score > 100


#: What the driver answers, and words that its error and the remedy have.
FAILS = [
    (34, "STUB_LIBRARY", "stub of the toolkit"),
    (35, "INSUFFICIENT_DRIVER", "update NVIDIA's driver"),
    (100, "NO_DEVICE", "CUDA_VISIBLE_DEVICES"),
    (304, "OPERATING_SYSTEM", "/dev/nvidia"),
    (803, "SYSTEM_DRIVER_MISMATCH", "differ in version"),
    (12345, "12345", "nvidia-smi"),
]


class TestFailures:
    @pytest.mark.parametrize(("code", "name", "remedy"), FAILS)
    def test_a_driver_that_does_not_begin(self, code: int, name: str, remedy: str) -> None:
        library = FakeCuda()
        library.faults["cuInit"] = code
        driver = driver_on(library)
        with pytest.raises(DeviceError, match=name) as caught:
            driver.device_count()
        assert remedy in caught.value.remedy
        _, step = driver.explain()
        assert step.status is Status.FAIL
        assert name in step.detail

    def test_no_driver_is_absent_and_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(api, "_LIBRARY", "libcuda-that-is-nowhere.so.1")
        driver = CudaDriver()
        _, step = driver.explain()
        assert step.status is Status.ABSENT
        assert "install NVIDIA's driver" in step.remedy
        with pytest.raises(DeviceError, match="there is no NVIDIA driver"):
            driver.device_count()

    def test_no_card_is_shown(self) -> None:
        with pytest.raises(DeviceError, match="NO_DEVICE"):
            driver_on(FakeCuda(0)).device_count()

    def test_an_old_driver_lacks_a_function(self) -> None:
        class Old(FakeCuda):
            def __getattr__(self, name: str) -> Callable[..., int]:
                if name == "cuDeviceGetUuid_v2":
                    raise AttributeError(name)
                return super().__getattr__(name)

        with pytest.raises(DeviceError, match="too old: it has no cuDeviceGetUuid_v2") as caught:
            driver_on(Old()).device_count()
        assert "update the driver" in caught.value.remedy

    def test_a_prohibited_card_is_listed_and_not_opened(self) -> None:
        driver = driver_on(FakeCuda(compute_mode=2))
        assert driver.device_count() == 1
        with pytest.raises(DeviceError, match="prohibited") as caught:
            driver.open(0)
        assert "--compute-mode=DEFAULT" in caught.value.remedy
        _, step = driver.explain()
        assert step.status is Status.FAIL

    @pytest.mark.parametrize(
        "call", ["cuDevicePrimaryCtxRetain", "cuStreamCreateWithPriority", "cuMemAlloc_v2"]
    )
    def test_a_card_that_cannot_be_opened_leaves_no_context(self, call: str) -> None:
        library = FakeCuda()
        driver = driver_on(library)
        library.faults[call] = 46
        with pytest.raises(DeviceError):
            driver.open(0)
        assert library.contexts == 0
        library.faults.clear()
        driver.open(0).close()
        assert library.contexts == 0

    def test_why_tells_of_the_compiler(self) -> None:
        _, step = driver_on(FakeCuda()).explain()
        assert step.status is Status.OK
        assert "CUDA 12.9; NVRTC 12.9 compiles for compute capability 9.0" in step.detail


class TestCompiler:
    @pytest.mark.parametrize(
        ("device", "name"),
        [
            ((9, 0), "sm_90"),
            ((8, 9), "sm_89"),
            ((8, 7), "sm_86"),
            ((10, 3), "sm_100"),
            ((11, 0), "compute_100"),
            ((7, 0), ""),
        ],
    )
    def test_the_architecture_for_a_device(self, device: tuple[int, int], name: str) -> None:
        known = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0)]
        assert target(known, device) == name

    def test_the_newest_that_the_driver_can_load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = tuple(FakeNvrtc(version) for version in ((12, 4), (13, 0), (12, 9)))
        monkeypatch.setattr(nvrtc, "compilers", lambda: found)
        assert compiler_for((12, 2), (9, 0)).version == (12, 9)
        assert compiler_for((13, 1), (9, 0)).version == (13, 0)

    def test_of_another_cuda(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nvrtc, "compilers", lambda: (FakeNvrtc((13, 0)),))
        with pytest.raises(DeviceError, match=r"CUDA 13\.0, and the driver knows CUDA 12\.8") as e:
            compiler_for((12, 8), (9, 0))
        assert "phalanx[cuda12]" in e.value.remedy

    def test_for_older_cards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nvrtc, "compilers", lambda: (FakeNvrtc(),))
        with pytest.raises(DeviceError, match=r"7\.5 and later, and the device has 7\.0"):
            compiler_for((12, 9), (7, 0))

    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(nvrtc, "compilers", lambda: ())
        with pytest.raises(DeviceError, match="there is no NVRTC") as caught:
            compiler_for((12, 9), (9, 0))
        assert "phalanx[cuda12]" in caught.value.remedy
        _, step = driver_on(FakeCuda(), compiler_for).explain()
        assert step.status is Status.FAIL
        assert "there is no NVRTC" in step.detail

    def test_what_it_opens_by_name_is_found_beside_it(self, tmp_path: Path) -> None:
        text = """
#include <dlfcn.h>
int nvrtcVersion(int *major, int *minor) {
    *major = 99, *minor = 0;
    return dlopen("libnvrtc-builtins.so.99.0", RTLD_LAZY) ? 0 : 7;
}
int nvrtcGetNumSupportedArchs(int *count) { return *count = 0; }
int nvrtcGetSupportedArchs(int *capabilities) { (void)capabilities; return 0; }
const char *nvrtcGetErrorString(int code) { (void)code; return "no builtins"; }
"""
        for name, source in (("libnvrtc-builtins.so.99.0", ""), ("libnvrtc.so.99", text)):
            link = ("-shared", "-fPIC", f"-Wl,-soname,{name}", "-xc", "-", "-ldl")
            command = ("cc", "-o", str(tmp_path / name), *link)
            subprocess.run(command, input=source, text=True, check=True)
        assert nvrtc.Nvrtc(str(tmp_path / "libnvrtc.so.99")).version == (99, 0)

    def test_the_installed_one_makes_code(self) -> None:
        for compiler in nvrtc.compilers():
            text = 'extern "C" __global__ void f(float *x) { x[0] = 1; }'
            best = target(compiler.capabilities, (9, 0))
            image = compiler.cubin(text, (f"--gpu-architecture={best}",))
            assert image.startswith(b"\x7fELF")
            with pytest.raises(nvrtc.NvrtcError, match="error"):
                compiler.cubin("nonsense", ())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_told_and_the_parent_goes_on(tmp_path: Path) -> None:
    done = run_python(
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        """
import os, sys
import phalanx as px
from phalanx.discovery.plugins import host
from fake_cuda.plugin import FakeCudaDriver
host().register_driver(FakeCudaDriver())
x = px.ones(3, device="cudafake:0")
px.synchronize("cudafake:0")
pid = os.fork()
if pid == 0:
    code = 1
    try:
        x + 1
    except px.DeviceError as error:
        code = 0 if "forked" in str(error) else 2
    finally:
        os._exit(code)
_, status = os.waitpid(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert float(px.sum(x)) == 3
""",
        PHALANX_CACHE_DIR=str(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
