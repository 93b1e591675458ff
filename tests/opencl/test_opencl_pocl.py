"""PoCL on processors that it does not know: the name that it compiles for is replaced."""

from __future__ import annotations

import ctypes
import platform
import sys
from types import SimpleNamespace
from typing import Any

import phalanx as px
import pytest
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl import pocl as opencl_pocl
from phalanx.device_plugins.opencl.pocl import name_processor

VERSION = "OpenCL 1.2 PoCL HSTR: pthread-x86_64-pc-linux-gnu-generic"
AVX2 = {"sse2", "avx2", "fma", "bmi1", "bmi2"}
AVX512 = AVX2 | {f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl")}

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="for Linux on x86-64 alone"
)


class Record:
    """Memory that looks like PoCL's record of a device, with pointers to a name at some places."""

    def __init__(self, *places: int, name: bytes = b"generic") -> None:
        self.name = ctypes.create_string_buffer(name)
        self.memory = (ctypes.c_uint64 * 256)()
        for place in places:
            self.memory[place] = ctypes.addressof(self.name)
        self.places = places

    def device(self, version: str = VERSION) -> Any:
        return SimpleNamespace(version=version, int_ptr=ctypes.addressof(self.memory))

    def names(self) -> set[bytes | None]:
        """The names that the record points to now."""
        return {ctypes.c_char_p(self.memory[place]).value for place in self.places}


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Choose what the processor can do."""

    def choose(flags: set[str]) -> None:
        monkeypatch.setattr(opencl_pocl, "_processor_flags", lambda: flags)

    choose(AVX2)
    return choose


@pytest.mark.parametrize(
    ("flags", "name"),
    [(AVX512, "skylake-avx512"), (AVX2, "haswell"), (AVX2 - {"fma"}, "x86-64"), (set(), "")],
)
def test_the_newest_processor_that_this_one_can_stand_for(
    processor: Any, flags: set[str], name: str
) -> None:
    processor(flags)
    record = Record(80)
    assert name_processor(record.device()) == name
    assert record.names() == {name.encode() or b"generic"}


@pytest.mark.parametrize("known_as", ["znver1", "znver3"])
def test_a_name_without_what_the_library_has(processor: Any, known_as: str) -> None:
    """LLVM 14 takes Zen 4 for Zen 3, which has no AVX-512; PoCL links a library that has."""
    version = VERSION.replace("generic", known_as)
    record = Record(80, name=known_as.encode())
    assert name_processor(record.device(version)) == ""  # a real one, with AVX2
    processor(AVX512)
    assert name_processor(record.device(version)) == "skylake-avx512"
    assert record.names() == {b"skylake-avx512"}
    assert name_processor(record.device(version)) == "skylake-avx512"


def test_again_it_is_the_same(processor: Any) -> None:
    record = Record(80)
    assert name_processor(record.device()) == "haswell"
    before = list(record.memory)
    assert name_processor(record.device()) == "haswell"
    assert list(record.memory) == before


@pytest.mark.parametrize(
    "version",
    ["OpenCL 3.0 (Build 0)", VERSION.replace("generic", "skylake"), "OpenCL 1.2 other-generic"],
)
def test_other_runtimes_and_known_processors_are_left_alone(processor: Any, version: str) -> None:
    record = Record(80)
    assert name_processor(record.device(version)) == ""
    assert record.names() == {b"generic"}


@pytest.mark.parametrize(
    "record",
    [Record(), Record(80, 90), Record(80, name=b"generic-rv64")],
    ids=["none", "two", "longer"],
)
def test_a_record_that_does_not_look_as_expected_is_left_alone(
    processor: Any, record: Record
) -> None:
    before = list(record.memory)
    assert name_processor(record.device()) == ""
    assert list(record.memory) == before


def test_words_that_are_no_addresses_do_no_harm(processor: Any) -> None:
    record = Record(80)
    record.memory[3] = 2**64 - 1
    record.memory[4] = 4096
    assert name_processor(record.device()) == "haswell"


def test_real_devices_compile_with_it(device: px.Device, driver: OpenCLDriver) -> None:
    found = driver._listed().devices[device.index]
    known_as = found.device.version.rpartition("-")[2]
    is_newer = "avx512f" in opencl_pocl._processor_flags() and known_as == "znver3"
    wrong = "PoCL" in found.device.version and (known_as == "generic" or is_newer)
    assert bool(found.target) == wrong
    assert px.sum(px.ones(100)).item() == 100.0  # by vectors of 16
    assert px.asnumpy(px.exp(px.zeros(3))).tolist() == [1.0] * 3
