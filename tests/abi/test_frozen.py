"""Hosts and plugins of ABI 1.0 and of a later minor version, each against the other.

``frozen/1.0`` keeps the header, a plugin and a host in C as they were; what is to come is made here
from today's header: a field, a call, a capability bit, an extension and rows of the kernel table.
"""

from __future__ import annotations

import difflib
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import phalanx as px
import pytest
from phalanx.abi import structs as abi
from phalanx.abi.build import HEADER
from phalanx.abi.check import check_library
from phalanx.device_plugins.cpu import best_library
from phalanx.device_plugins.native import load_library
from phalanx.discovery.devices import find_device
from phalanx.errors import PluginLoadError
from plugin_kit import build_acme, fresh_host

FROZEN = Path(__file__).parent / "frozen" / "1.0"
#: Each: what of today's header is replaced, and by what, for the version after it.
LATER = (
    (f"#define PHX_ABI_MINOR {abi.ABI_MINOR}\n", f"#define PHX_ABI_MINOR {abi.ABI_MINOR + 1}\n"),
    ("} phx_device_info;", "    uint64_t later_field;\n} phx_device_info;"),
    (
        "} phx_api;",
        "    phx_error *(*later_call)(phx_device *device); /* PHX_CAP_LATER */\n} phx_api;",
    ),
    ("/* Device features. */", "#define PHX_CAP_LATER ((uint64_t)1 << 40)\n"),
)
Build = Callable[..., Path]


def later_header(folder: Path) -> Path:
    """Write the header of the next minor version, and return its folder."""
    text = HEADER.read_text("utf-8")
    for old, new in LATER:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "later").mkdir(exist_ok=True)
    (folder / "later" / "phalanx.h").write_text(text, "utf-8")
    return folder / "later"


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile ``plugin`` or ``host`` against a header: ``frozen``, ``today`` or ``later``."""
    folder = tmp_path_factory.mktemp("frozen")
    headers = {"frozen": FROZEN, "today": HEADER.parent, "later": later_header(folder)}
    made: dict[tuple[str, ...], Path] = {}

    def get(what: str, header: str, *defines: str) -> Path:
        key = (what, header, *defines)
        if key not in made:
            out = folder / "-".join(key)
            compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
            # the copies of a header beside a source must not come first: hence the input on stdin
            command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]
            command += [f"-I{headers[header]}", *(f"-D{name}" for name in defines)]
            command += ["-shared", "-fPIC"] if what == "plugin" else []
            command += ["-x", "c", "-", "-o", str(out), "-ldl"]
            source = (FROZEN / f"{what}.c").read_bytes()
            subprocess.run(command, input=source, check=True, timeout=120)
            made[key] = out
        return made[key]

    return get


def run_host(host: Path, library: Path) -> list[str]:
    done = subprocess.run([host, library], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert done.returncode == (0 if lines[-1] == "done" else 3), done.stdout
    return lines


def test_the_header_goes_on_from_the_frozen_one() -> None:
    """A new minor version adds lines; of what was frozen only the version's own has changed."""
    texts = [path.read_text("utf-8").splitlines() for path in (FROZEN / "phalanx.h", HEADER)]
    gone = [line[2:] for line in difflib.ndiff(*texts) if line.startswith("- ")]
    assert gone == (["#define PHX_ABI_MINOR 0"] if abi.ABI_MINOR else [])
    assert abi.ABI_MAJOR == 1, "freeze the last header of the former version"


class TestPluginsOnThisHost:
    """Yesterday's and tomorrow's plugin, with the host in Python."""

    @pytest.fixture(params=["frozen", "later"])
    def device(self, build: Build, request: pytest.FixtureRequest) -> Iterator[px.Device]:
        defines = ("LATER",) if request.param == "later" else ()
        with fresh_host(load_library(build("plugin", request.param, *defines))):
            yield find_device("frozen:0")

    def test_it_computes(self, device: px.Device) -> None:
        assert (device.info.name, device.info.score) == ("Frozen device", 3)
        with px.device(device):
            x = px.asarray([1.0, 2.0, 3.0], dtype=px.float32)
            assert px.asnumpy(x + x).tolist() == [2, 4, 6]
            assert px.asnumpy(x - px.asarray([1.0], dtype=px.float32)).tolist() == [0, 1, 2]
            with pytest.raises(px.UnsupportedOpError, match="frozen adds and subtracts"):
                px.exp(x)
        with pytest.raises(ValueError, match=r"FROZEN_E_INDEX 17\); ask for number 0"):
            device.driver.device_info(5)

    def test_its_unknown_words_are_masked(self, device: px.Device) -> None:
        assert not device.info.features & 1 << 40
        assert device.ensure_open().capabilities == 0
        assert [k.op for k in px.kernels(device=device)] == ["add", "subtract"]


def test_rows_of_tomorrow_are_told(build: Build) -> None:
    found = check_library(str(build("plugin", "later", "LATER")))
    assert found["problems"] == []
    assert found["abi"] == f"{abi.ABI_MAJOR}.{abi.ABI_MINOR + 1}"
    (device,) = found["devices"]
    assert device["kernels"] == 1
    assert [line.partition(":")[0] for line in device["unknown_kernels"]] == [
        "later_op(float32, float32, float32)",
        "add(type 99, type 99, type 99)",
        "add(float32, float32, float32)",
    ]
    assert any("8 more bytes, unknown capability bits 0x10000000000" in n for n in found["notes"])


def test_yesterday_s_plugin_has_no_problem(build: Build) -> None:
    found = check_library(str(build("plugin", "frozen")))
    assert (found["problems"], found["notes"], found["abi"]) == ([], [], "1.0")


def test_a_plugin_that_needs_tomorrow_s_host_is_refused(build: Build) -> None:
    path = build("plugin", "later", "LATER", "NEEDS_LATER")
    with pytest.raises(PluginLoadError, match=r"needs a host of at least 1\.\d+, .* upgrade phal"):
        load_library(path)
    assert run_host(build("host", "frozen"), path)[-1] == "refused: it needs a newer host"
    assert "done" in run_host(build("host", "later", "LATER"), path)


COMPUTED = ["add is right", "subtract is right"]


class TestHostsInC:
    def test_yesterday_s_host_and_plugin(self, build: Build) -> None:
        assert run_host(build("host", "frozen"), build("plugin", "frozen")) == [
            "log 20: frozen is here",
            "built for 1.0",
            "frozen: Frozen device",
            *COMPUTED,
            "error 2",
            "done",
        ]

    def test_yesterday_s_host_and_tomorrow_s_plugin(self, build: Build) -> None:
        lines = run_host(build("host", "frozen"), build("plugin", "later", "LATER"))
        assert lines[1:] == [
            f"built for 1.{abi.ABI_MINOR + 1}",
            "frozen: Frozen device",
            *COMPUTED,
            "extension com.frozen.later is not known",
            "error 2",
            "done",
        ]

    def test_tomorrow_s_host_and_yesterday_s_plugin(self, build: Build) -> None:
        """The plugin knows nothing of the new field, which stays what the host made it."""
        lines = run_host(build("host", "later", "LATER"), build("plugin", "frozen"))
        assert lines[3:] == [*COMPUTED, "later field: 0", "error 2", "done"]

    def test_tomorrow_s_host_and_plugin(self, build: Build) -> None:
        lines = run_host(build("host", "later", "LATER"), build("plugin", "later", "LATER"))
        assert lines[3:7] == [*COMPUTED, "later field: 4711", "later call"]

    @pytest.mark.parametrize("host", ["frozen", "later"])
    def test_today_s_cpu(self, build: Build, host: str) -> None:
        defines = ("LATER",) if host == "later" else ()
        library = best_library().path
        lines = run_host(build("host", host, *defines), library)
        assert [line for line in lines if line in COMPUTED] == COMPUTED
        assert lines[-1] == "done"

    @pytest.mark.parametrize("host", ["frozen", "later"])
    def test_today_s_stranger(self, build: Build, tmp_path: Path, host: str) -> None:
        defines = ("LATER",) if host == "later" else ()
        lines = run_host(build("host", host, *defines), build_acme(tmp_path))
        assert {"acme: Acme Model T", "add is right", "done"} <= set(lines)

    def test_a_plugin_of_another_major_version(self, build: Build, tmp_path: Path) -> None:
        lines = run_host(build("host", "frozen"), build_acme(tmp_path, "FAULT_NEWER_MAJOR"))
        assert lines == [f"built for 2.{abi.ABI_MINOR}", "refused: another major version"]
