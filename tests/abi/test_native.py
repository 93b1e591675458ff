"""The native driver, proved by a stranger's library and by its faulty variants."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx import device_plugins
from phalanx.abi.check import check_library
from phalanx.abi.kernel_table import read_table
from phalanx.abi.library import open_library, python_error, take_error
from phalanx.abi.structs import ABI_MAJOR, ABI_MINOR, ffi
from phalanx.device_plugins import cpu
from phalanx.device_plugins.native import NativeDevice, NativeDriver, load_library
from phalanx.discovery.devices import find_device
from phalanx.discovery.diagnosis import why
from phalanx.driver import Driver, Feature, Layout, Place
from phalanx.errors import (
    ClosedError,
    DeviceError,
    DeviceLostError,
    DeviceMismatchError,
    DriverCallError,
    OutOfMemoryError,
    PluginLoadError,
    UnsupportedOpError,
)
from plugin_kit import build_acme, fresh_host

F32 = ("float32",)
STREAM: Any = SimpleNamespace(handle=None)
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("acme")
    made: dict[tuple[str, ...], Path] = {}

    def get(*defines: str) -> Path:
        if defines not in made:
            made[defines] = build_acme(folder, *defines)
        return made[defines]

    return get


@pytest.fixture
def acme(build: Build) -> NativeDriver:
    return load_library(build())


@pytest.fixture
def opened(acme: NativeDriver) -> Iterator[NativeDevice]:
    device = acme.open(0)
    yield device
    device.close()


def live_errors(path: Path) -> int:
    """Ask the library how many of its error objects are alive."""
    import cffi

    own = cffi.FFI()
    own.cdef("int32_t acme_live_errors(void);")
    return int(own.dlopen(str(path)).acme_live_errors())


class TestStranger:
    def test_it_tells_of_itself(self, acme: NativeDriver, opened: NativeDevice) -> None:
        library = acme.library
        assert (acme.name, library.vendor, library.version) == ("acme", "Acme Corporation", "1.2.3")
        assert library.score == 10
        assert opened.capabilities == 0
        assert acme.device_count() == 1
        info = acme.device_info(0)
        assert (info.name, info.kind, info.alignment) == ("Acme Model T", "accelerator", 64)
        assert info.features == Feature.HOST_ADDRESSABLE | Feature.FP64 | Feature.SUBNORMALS
        assert info.uuid == b"acme-model-t-001"
        assert info.pci_address == "0000:3b:00.0"
        assert info.dlpack_device == (12, 0)
        assert info.vendor == "Acme Corporation"

    def test_a_second_load_is_the_same_library(self, build: Build) -> None:
        assert load_library(build()).library is load_library(str(build())).library

    def test_memory_goes_there_and_back(self, opened: NativeDevice) -> None:
        free, total = opened.memory_info()
        block = opened.alloc(1000)
        assert block % 64 == 0
        assert opened.memory_info() == (free - 1000, total)
        source, target = bytearray(range(200)), bytearray(200)
        host = [int(ffi().cast("uintptr_t", ffi().from_buffer(b))) for b in (source, target)]
        inside = [Place(opened, block, offset) for offset in (100, 500)]
        opened.copy(inside[0], Place(None, host[0], 20), 180, stream=STREAM)
        opened.copy(inside[1], inside[0], 180, stream=STREAM)
        opened.copy(Place(None, host[1]), inside[1], 180, stream=STREAM)
        assert target[:180] == source[20:]
        opened.free(block)
        assert opened.memory_info() == (free, total)

    def test_the_kernel_table(self, acme: NativeDriver, opened: NativeDevice) -> None:
        with fresh_host(acme):
            kernels = {k.op: k for k in px.kernels(device="acme:0")}
        assert sorted(kernels) == ["add", "multiply", "negative", "wrap_index"]
        add = opened.kernel("add", F32 * 3, Layout.ANY)
        assert repr(add) == repr(kernels["add"])
        assert (add.dtypes, add.layout, add.determinism) == (F32 * 3, Layout.ANY, "bitwise")
        assert add.provider.endswith("1.2.3")
        assert add.is_native
        for layout in Layout:
            assert opened.kernel("add", F32 * 3, layout) is add
        none = opened.kernel("add", ("float64",) * 3, Layout.CONTIGUOUS)
        assert isinstance(none, px.Refusal)
        assert opened.kernel("add", F32 * 3, Layout.STRIDED) is opened.kernel(
            "add", F32 * 3, Layout.ANY
        )
        assert isinstance(opened.kernel("exp", F32 * 2, Layout.STRIDED), px.Refusal)

    def test_a_kernel_runs(self, opened: NativeDevice) -> None:
        row = kernel_row(opened, "add")
        a, b, out = tensor("float", [1, 2, 3]), tensor("float", [10]), tensor("float", [0, 0, 0])
        assert not run(row, [a[0], b[0], out[0]])
        assert list(out[1]) == [11, 12, 13]

    def test_a_kernel_s_error_becomes_the_builtin(self, opened: NativeDevice, build: Build) -> None:
        row = kernel_row(opened, "wrap_index")
        index, out = tensor("int64_t", [7]), tensor("int64_t", [0])
        error = run(row, [index[0], out[0]], [5, 1])
        with pytest.raises(IndexError, match=r"^an index is out of range for extent 5"):
            opened.check_native_error(int(ffi().cast("uintptr_t", error)), "take on acme:0")
        assert live_errors(build()) == 0
        opened.check_native_error(0, "nothing happened")

    def test_errors_have_their_builtin_and_are_destroyed_once(
        self, acme: NativeDriver, opened: NativeDevice, build: Build
    ) -> None:
        with pytest.raises(ValueError, match=r"there is no device 3 \(ACME_E_RANGE -7\)"):
            acme.device_info(3)
        with pytest.raises(TimeoutError, match="device_synchronize on acme:0"):
            opened.synchronize(0)
        opened.synchronize()
        with pytest.raises(OutOfMemoryError, match="no block of bytes: 1073741824") as caught:
            opened.alloc(2**30)
        assert caught.value.size == 2**30
        with pytest.raises(ValueError, match="timeout"):
            opened.synchronize(-1)
        assert live_errors(build()) == 0

    @pytest.mark.parametrize("size", [0, -1, 2**63, 2**70])
    def test_absurd_sizes(self, opened: NativeDevice, size: int) -> None:
        with pytest.raises(ValueError, match="cannot allocate"):
            opened.alloc(size)

    def test_a_closed_device(self, build: Build) -> None:
        opened = load_library(build()).open(0)
        opened.close()
        opened.close()
        place = Place(opened, 4096)
        for call in (
            lambda: opened.alloc(10),
            lambda: opened.memory_info(),
            lambda: opened.copy(place, Place(None, 4096), 1, stream=STREAM),
        ):
            with pytest.raises(ClosedError, match="acme:0 is closed"):
                call()

    def test_a_place_of_another_device(self, acme: NativeDriver, opened: NativeDevice) -> None:
        block, other = opened.alloc(64), acme.open(0)
        with pytest.raises(DeviceMismatchError, match="acme:0"):
            opened.copy(Place(other, block), Place(None, 4096), 1, stream=STREAM)
        opened.free(block)
        other.close()

    def test_calls_without_the_capability(self, opened: NativeDevice) -> None:
        for call in (
            lambda: opened.stream_create(0),
            lambda: opened.trim(),
            lambda: opened.event_create(timed=False),
        ):
            with pytest.raises(NotImplementedError, match="the plugin has no"):
                call()

    def test_the_host_services(self, build: Build, caplog: pytest.LogCaptureFixture) -> None:
        driver = load_library(build())
        with caplog.at_level(logging.INFO):
            driver.open(0).close()
        (record,) = caplog.records
        assert record.name == "phalanx.libacme"
        assert (record.levelno, record.message) == (logging.INFO, "acme device 0 is open")

    def test_why(self, build: Build) -> None:
        with fresh_host(load_library(build())):
            found = why("acme:0")
            details = {step.name: step.detail for step in found.steps}
        assert found.usable
        assert details["ABI"] == f"built for {ABI_MAJOR}.{ABI_MINOR}"
        assert details["library"] == "libacme.so 1.2.3 (Acme Corporation, Apache-2.0)"
        assert details["capability"].startswith("4 kernels ready")


class TestArrays:
    """A stranger's library under the public functions."""

    @pytest.fixture
    def device(self, build: Build) -> Iterator[px.Device]:
        with fresh_host(load_library(build())):
            device = find_device("acme:0")
            with px.device(device):
                yield device

    def test_arithmetic_in_all_layouts(self, device: px.Device) -> None:
        host = np.arange(24, dtype=np.float32).reshape(4, 6)
        x = px.asarray(host)
        assert x.device is device
        for view in (np.s_[:, :], np.s_[::2, 1:], np.s_[::-1, ::-2], np.s_[:, 0], np.s_[2, 3]):
            np.testing.assert_array_equal(px.asnumpy(x[view] + x[view]), host[view] + host[view])
            np.testing.assert_array_equal(px.asnumpy(-x[view]), -host[view])
        np.testing.assert_array_equal(px.asnumpy(x * x[:, :1]), host * host[:, :1])
        np.testing.assert_array_equal(px.asnumpy(2.5 * x), np.float32(2.5) * host)

    def test_an_op_that_the_library_lacks(self, device: px.Device) -> None:
        x = px.asarray([1.0, 2.0], dtype=px.float32)
        with pytest.raises(UnsupportedOpError, match=r"acme:0 has no kernel for exp\(float32"):
            px.exp(x)

    def test_its_kernels_are_listed(self, device: px.Device) -> None:
        assert {kernel.op for kernel in px.kernels(device=device)} == {
            "add",
            "multiply",
            "negative",
            "wrap_index",
        }

    def test_out_of_memory(self, device: px.Device) -> None:
        with pytest.raises(OutOfMemoryError, match="acme:0"):
            px.empty((1 << 30,), dtype=px.float32)
        assert px.asnumpy(px.asarray([1.0], dtype=px.float32)) == 1


def kernel_row(opened: NativeDevice, op: str) -> Any:
    rows, count = ffi().new("const phx_kernel *const **"), ffi().new("uint64_t *")
    opened._library.call("kernel_table", opened._device, rows, count)
    read = read_table(rows[0], count[0])
    assert read.problems == []
    (address,) = [row.address for row in read.rows if row.op == op]
    return ffi().cast("const phx_kernel *", address)


def tensor(ctype: str, values: list[int]) -> tuple[Any, Any, Any]:
    """Return a one-dimensional DLTensor, its values, and what it refers to."""
    data = ffi().new(f"{ctype}[]", values)
    extents = ffi().new("int64_t[]", [len(values)]), ffi().new("int64_t[]", [1])
    made = ffi().new(
        "DLTensor *", {"data": data, "ndim": 1, "shape": extents[0], "strides": extents[1]}
    )
    return made, data, extents


def run(row: Any, tensors: list[Any], params: list[int] | None = None) -> Any:
    """Call a kernel and return its error."""
    array = ffi().new("const DLTensor *[]", tensors)
    numbers = ffi().new("int64_t[]", params or [])
    call = ffi().new("phx_call *", {"struct_size": ffi().sizeof("phx_call"), "tensors": array})
    call.params, call.n_params = numbers, len(numbers)
    call.n_inputs, call.n_outputs = len(tensors) - 1, 1
    return row.run(row, ffi().NULL, call)


class TestFaults:
    @pytest.mark.parametrize(
        ("define", "reason"),
        [
            ("FAULT_STRUCT_SIZE", "phx_api.struct_size: it is 40"),
            ("FAULT_STRUCT_TOO_LARGE", f"and that of ABI {ABI_MAJOR}.{ABI_MINOR} is"),
            ("FAULT_STRUCT_INSIDE_FIELD", "ends inside a field"),
            ("FAULT_NEWER_MAJOR", f"built for ABI 2.{ABI_MINOR}"),
            ("FAULT_NEEDS_NEWER_HOST", "upgrade phalanx"),
            ("FAULT_LYING_CAPABILITY", "phx_api.stream_create: it is null, but PHX_CAP_STREAMS"),
            ("FAULT_HIDDEN_CAPABILITY", "phx_api.device_trim: it is there"),
            ("FAULT_UNKNOWN_CAPABILITY", "unknown bits 0x100000"),
            ("FAULT_NO_ALLOC", "phx_api.alloc: it is null"),
            ("FAULT_NULL_TABLE", "no error and no table"),
            ("FAULT_INIT", "the Acme firmware is too old: 3"),
        ],
    )
    def test_a_library_that_is_refused(self, build: Build, define: str, reason: str) -> None:
        path = build(define)
        with pytest.raises(PluginLoadError) as caught:
            load_library(path)
        assert reason in str(caught.value)
        assert str(path) in str(caught.value)
        assert live_errors(path) == 0

        driver = NativeDriver("acme", lambda: open_library(path))
        with fresh_host(driver):
            failed = [step for step in why("acme").steps if step.status == "fail"]
        assert [step.name for step in failed] == ["ABI"]
        assert reason in failed[0].detail

    @pytest.mark.parametrize("define", ["NEWER_MINOR", "OLDER_TABLE"])
    def test_a_newer_and_an_older_minor_version_work(self, build: Build, define: str) -> None:
        driver = load_library(build(define))
        opened = driver.open(0)
        opened.free(opened.alloc(64))
        assert isinstance(opened.kernel("multiply", F32 * 3, Layout.STRIDED), px.Kernel)
        with pytest.raises(UnsupportedOpError):
            opened.stream_create(0)
        opened.close()

    @pytest.mark.parametrize(
        ("define", "reason"),
        [
            ("FAULT_UNKNOWN_OP", r"kernel_table\[0\]\.op: ad\(float32, float32, float32\)"),
            (
                "FAULT_SIGNATURE",
                r"kernel_table\[2\]\.dtypes: .* no signature float32,float32->float32",
            ),
            ("FAULT_DUPLICATE", r"kernel_table\[3\]\.op: .* same key"),
        ],
    )
    def test_a_wrong_row_refuses_the_table(self, build: Build, define: str, reason: str) -> None:
        driver = load_library(build(define))
        opened = driver.open(0)
        for _ in range(2):
            with pytest.raises(PluginLoadError, match=reason):
                opened.kernel("multiply", F32 * 3, Layout.CONTIGUOUS)
        opened.close()
        with fresh_host(driver):
            assert not why("acme").usable

    def test_an_error_without_a_message(self, build: Build) -> None:
        driver = load_library(build("FAULT_NO_MESSAGE"))
        with pytest.raises(
            ValueError, match=r"the plugin gave no message \(PHX_INVALID_ARGUMENT -7\)"
        ):
            driver.device_info(9)
        assert live_errors(build("FAULT_NO_MESSAGE")) == 0

    def test_an_alignment_that_no_pool_can_serve(self, build: Build) -> None:
        driver = load_library(build("FAULT_ALIGNMENT"))
        with pytest.raises(DeviceError, match=r"alignment 1099511627776 is above .* \(2\^30\)"):
            driver.device_info(0)
        problems = check_library(str(build("FAULT_ALIGNMENT")))["problems"]
        (problem,) = problems
        assert problem.field == "phx_device_info.alignment"
        assert "alignment 1099511627776 is above" in problem.detail
        with fresh_host(driver), pytest.raises(LookupError, match="alignment 1099511627776"):
            find_device("acme:0")

    @pytest.mark.parametrize("what", ["stream", "event"])
    def test_a_handle_that_is_null(
        self, acme: NativeDriver, opened: NativeDevice, what: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would stand for the default stream, which nobody asked for."""
        function = f"{what}_create"
        monkeypatch.setitem(acme.library.functions, function, lambda *_: ffi().NULL)
        with pytest.raises(DriverCallError, match=f"returned no {what} and no error") as caught:
            opened.stream_create(0) if what == "stream" else opened.event_create(timed=False)
        assert caught.value.call == function

    def test_a_lost_device(self, build: Build) -> None:
        driver = load_library(build("FAULT_LOST"))
        opened = driver.open(0)
        with pytest.raises(DeviceLostError, match="stays unusable"):
            opened.synchronize(1.5)
        opened.close()

    def test_a_library_for_another_machine(self, build: Build) -> None:
        driver = load_library(build("FAULT_SCORE"))
        with pytest.raises(DeviceError, match="cannot run on this machine"):
            driver.device_count()
        with fresh_host(driver):
            failed = [step for step in why("acme").steps if step.status == "fail"]
        assert failed[0].name == "library"

    def test_a_device_count_that_fails_keeps_its_reason(self, build: Build) -> None:
        with fresh_host(load_library(build("FAULT_COUNT"))) as host:
            error = host.listing("acme").error
            assert isinstance(error, DriverCallError)
            assert (error.code, error.name, error.call) == (8, "PHX_UNAVAILABLE", "device_count")
            with pytest.raises(LookupError, match="start acmed, port 4711"):
                find_device("acme:0")

    def test_files_that_are_no_plugins(self, tmp_path: Path) -> None:
        with pytest.raises(PluginLoadError, match="No such file"):
            load_library(tmp_path / "libnone.so")
        text = tmp_path / "libtext.so"
        text.write_text("not a library")
        with pytest.raises(PluginLoadError, match=r"cannot load .*libtext.so"):
            load_library(text)
        import _cffi_backend

        with pytest.raises(PluginLoadError, match="no symbol phalanx_plugin_get_api"):
            load_library(_cffi_backend.__file__)

    def test_the_name_must_be_the_one_announced(self, build: Build) -> None:
        driver = NativeDriver("other", lambda: open_library(build()))
        with pytest.raises(PluginLoadError, match="is of driver 'acme', not 'other'"):
            driver.device_count()


class TestErrors:
    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            (1, NotImplementedError),
            (2, ValueError),
            (3, MemoryError),
            (4, DeviceLostError),
            (5, TimeoutError),
            (6, IndexError),
            (7, ImportError),
            (8, DriverCallError),
            (9, DriverCallError),
            (77, DriverCallError),
        ],
    )
    def test_codes(self, code: int, kind: type[Exception]) -> None:
        size = ffi().sizeof("phx_error")
        native = ffi().new("phx_error *", {"struct_size": size, "code": code})
        error = python_error(take_error(native), "work on acme:0", call="work")
        assert type(error) is kind or isinstance(error, kind)
        assert "work on acme:0" in str(error)

    def test_an_error_object_with_a_wrong_size_is_read_no_further(self) -> None:
        native = ffi().new("phx_error *", {"struct_size": 4, "code": 3})
        assert "struct_size 4" in take_error(native).message
        native.struct_size = 12
        assert (take_error(native).code, take_error(native).message) == (3, "")

    def test_text_that_is_not_utf_8(self) -> None:
        text = ffi().new("char[]", b"caf\xe9")
        native = ffi().new("phx_error *", {"struct_size": ffi().sizeof("phx_error"), "code": 9})
        native.message.data, native.message.size = text, 4
        assert take_error(native).message == "caf\ufffd"


class TestCpu:
    """The choice of the library; what the libraries compute is tested elsewhere."""

    @pytest.fixture(autouse=True)
    def no_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PHALANX_CPU_ISA", raising=False)

    @pytest.fixture
    def installed(self, build: Build, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
        found = {
            "_cpu_avx512": build("FAULT_SCORE"),
            "_cpu_avx2": build(),
            "_cpu_baseline": build("FAULT_INIT"),
        }
        monkeypatch.setattr("phalanx.kernels_cpu.libraries", lambda: found)
        return found

    @pytest.mark.usefixtures("installed")
    def test_the_best_that_runs_is_taken(self, build: Build) -> None:
        assert cpu.best_library() is open_library(build())

    @pytest.mark.usefixtures("installed")
    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("avx512", r"avx512: the processor lacks these instructions\); unset PHALANX_CPU_ISA"),
            ("baseline", "firmware is too old"),
            ("avx512", "which is 'avx512', or choose from avx2, baseline$"),
            ("avx1024", "avx1024 is not installed; choose from avx512, avx2, baseline"),
            (" , ", "it names nothing; choose from avx512, avx2, baseline"),
        ],
    )
    def test_a_forced_one_that_cannot_run(
        self, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PHALANX_CPU_ISA", value)
        with pytest.raises(DeviceError, match=reason):
            cpu.best_library()

    @pytest.mark.usefixtures("installed")
    def test_a_forced_one_that_runs(self, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PHALANX_CPU_ISA", "avx2, avx512")
        assert cpu.best_library() is open_library(build())

    def test_a_package_that_was_not_built(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("phalanx.kernels_cpu.libraries", dict)
        with pytest.raises(PluginLoadError, match="pip install"):
            cpu.best_library()

    def test_the_hook_opens_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("phalanx.kernels_cpu.libraries", lambda: pytest.fail("opened"))
        (driver,) = cpu.phalanx_drivers()
        assert isinstance(driver, Driver)
        assert driver.name == "cpu"
        assert device_plugins.__name__ == "phalanx.device_plugins"
