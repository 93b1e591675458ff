"""What the tests of plugins and devices share: fake drivers, tiny distributions, acme."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path
from typing import Any

from phalanx.abi.build import HEADER
from phalanx.discovery.plugins import Plugin, PluginHost, use_host
from phalanx.driver import DeviceInfo, DeviceKind, Driver, Feature
from phalanx.optable import OPS
from phalanx.testing import ReferenceDriver

ACME = Path(__file__).parent / "acme" / "acme.c"


def info(name: str = "Fake One", kind: DeviceKind = DeviceKind.CPU, **fields: Any) -> DeviceInfo:
    """Describe a device."""
    features = Feature.HOST_ADDRESSABLE | Feature.FP64
    return DeviceInfo(name, kind, features, 2**30, 2**30, **fields)


class FakeDriver(ReferenceDriver):
    """Devices as they are described; ``infos`` may hold errors in their place."""

    def __init__(
        self, name: str, infos: Iterable[DeviceInfo | BaseException] | BaseException = ()
    ) -> None:
        super().__init__(name, missing=OPS)
        self.infos = infos if isinstance(infos, BaseException) else list(infos)
        self.listed = 0

    def device_count(self) -> int:
        self.listed += 1
        if isinstance(self.infos, BaseException):
            raise self.infos
        return len(self.infos)

    def device_info(self, index: int) -> DeviceInfo:
        assert not isinstance(self.infos, BaseException)
        found = self.infos[index]
        if isinstance(found, BaseException):
            raise found
        return found


@contextmanager
def fresh_host(*drivers: Driver, entries: Iterable[EntryPoint] = ()) -> Iterator[PluginHost]:
    """Put a host in place that knows only these drivers and entry points."""
    host = PluginHost(lambda: tuple(entries))
    for driver in drivers:
        host.register_driver(driver)
    before = use_host(host)
    try:
        yield host
    finally:
        use_host(before)


def by_name(host: PluginHost) -> dict[str, Plugin]:
    """Return a host's plugins by the names of their entry points."""
    return {plugin.name: plugin for plugin in host.plugins()}


def make_distribution(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    plugins: Mapping[str, str] | None = None,
    commands: Mapping[str, str] | None = None,
    modules: Mapping[str, str] | None = None,
    requires: Iterable[str] = (),
) -> tuple[EntryPoint, ...]:
    """Install a distribution into a folder: metadata, entry points, modules. Return its plugins."""
    site = folder / f"{name}-{version}.dist-info"
    site.mkdir(parents=True)
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {line}" for line in requires]
    (site / "METADATA").write_text("\n".join(metadata) + "\n")
    groups = {"phalanx.plugins": plugins or {}, "phalanx.commands": commands or {}}
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (site / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for module, source in (modules or {}).items():
        (folder / f"{module}.py").write_text(source)
    found = PathDistribution(site).entry_points
    return tuple(entry for entry in found if entry.group == "phalanx.plugins")


def plugin_source(driver: str, *, body: str = "", drivers: str = "") -> str:
    """Return the source of a plugin module that offers one fake driver with one device."""
    tests = str(Path(__file__).parent)
    offers = drivers or f"(FakeDriver({driver!r}, [info({driver + ' device'!r})]),)"
    return (
        f"import sys\nsys.path.append({tests!r})\n"
        "import phalanx\nfrom plugin_kit import FakeDriver, info\n"
        f"{body}\n@phalanx.hookimpl\ndef phalanx_drivers():\n    return {offers}\n"
    )


def native_source(library: Path) -> str:
    """A module that offers a vendor's library, and prints."""
    return (
        "import phalanx\nfrom phalanx.device_plugins.native import load_library\n"
        "@phalanx.hookimpl\n"
        "def phalanx_drivers():\n    print('noise')\n"
        f"    return (load_library({str(library)!r}),)\n"
    )


def run_python(
    *args: str, path: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run this Python with a folder in front of its path and more environment variables.

    No library is opened by a child process first, unless ``PHALANX_PROBE`` says so.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PHALANX_") and k != "COLUMNS"}
    folders = [str(path)] if path else []
    entries = os.pathsep.join([*folders, *(entry for entry in sys.path if entry)])
    return subprocess.run(
        [sys.executable, *args],
        env={**kept, "PYTHONPATH": entries, "PHALANX_PROBE": "0", **env},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def build_acme(folder: Path, *defines: str, flags: Iterable[str] = ()) -> Path:
    """Compile the acme library, or one of its faulty variants, against the header alone."""
    out = folder / f"lib{'_'.join(['acme', *defines]).lower()}.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    relaxed = [f"-Wno-unused-{what}" for what in ("parameter", "function", "variable")]
    relaxed += ["-Wno-unused-const-variable"]
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *(relaxed if defines else [])]
    command += [
        *flags,
        "-shared",
        "-fPIC",
        "-O1",
        f"-I{HEADER.parent}",
        *(f"-D{name}" for name in defines),
    ]
    subprocess.run([*command, str(ACME), "-o", str(out)], check=True, timeout=120)
    return out
