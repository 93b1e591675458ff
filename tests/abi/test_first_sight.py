"""The first sight of a library: a child process takes the harm, and the verdict is remembered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from cli.kit import parsed, phalanx
from phalanx.abi import first_sight
from phalanx.abi.library import open_library
from phalanx.discovery import probe
from phalanx.errors import PluginError, PluginLoadError
from plugin_kit import build_acme, fresh_host, make_distribution, native_source, run_python

Looks = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("built")
    made: dict[str, Path] = {}

    def get(defines: str) -> Path:
        if defines not in made:
            made[defines] = build_acme(folder, *defines.split())
        return made[defines]

    return get


@pytest.fixture
def library(built: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Put a build of acme into the place of ``libacme.so``; each has a place of its own here."""

    def put(defines: str = "") -> Path:
        target = tmp_path / "libacme.so"
        target.unlink(missing_ok=True)  # never write into a file that is open
        shutil.copy(built(defines), target)
        return target

    return put


@pytest.fixture(autouse=True)
def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Probe, with an empty cache; return what was asked of child processes."""
    monkeypatch.delenv("PHALANX_PROBE")
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(first_sight, "_here", {})
    asked: Looks = []
    run = probe.run

    def count(*args: str, **options: Any) -> probe.Report:
        asked.append(args)
        return run(*args, **options)

    monkeypatch.setattr(probe, "run", count)
    return asked


def record(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(first_sight.record_path(file).read_text())
    return found


def forget_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be another process: nothing is open, and nothing remembered but what was written."""
    from phalanx.abi import library

    monkeypatch.setattr(library, "_open", {})
    monkeypatch.setattr(first_sight, "_here", {})


def test_a_sound_library_is_looked_at_once(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = library("")
    assert open_library(file).name == "acme"
    assert open_library(file) is open_library(file)
    forget_open(monkeypatch)
    open_library(file)
    assert looks == [("abi", str(file))]
    assert record(file)["failure"] == ""


@pytest.mark.parametrize(
    ("defines", "at"),
    [
        ("FAULT_CRASH", "device_count"),
        ("FAULT_OPEN_CRASH", "device_open of acme:0"),
        ("RICH CRASH_COMPILE", "kernel_compile of acme:0"),
    ],
)
def test_a_crash_breaks_only_the_library(
    library: Callable[[str], Path],
    looks: Looks,
    monkeypatch: pytest.MonkeyPatch,
    defines: str,
    at: str,
) -> None:
    file = library(defines)
    wanted = rf"libacme.so is not loaded, .* failed: crashed with SIGABRT at {at}; .phalanx doctor"
    for _ in range(2):
        with pytest.raises(PluginLoadError, match=wanted):
            open_library(file)
        forget_open(monkeypatch)
    assert len(looks) == 1
    library("")  # mended
    assert open_library(file).name == "acme"
    assert len(looks) == 2


def test_a_copy_of_the_same_file_is_not_looked_at_again(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new date, the same digest."""
    file = library("")
    open_library(file)
    before = record(file)
    os.utime(file, (1, 1))
    forget_open(monkeypatch)
    open_library(file)
    assert len(looks) == 1
    after = record(file)
    assert before["state"] != after["state"] == first_sight._state(file)
    assert before | {"state": 0} == after | {"state": 0}


def test_another_phalanx_looks_anew(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_library(library(""))
    forget_open(monkeypatch)
    monkeypatch.setattr(first_sight, "__version__", "99.0")
    open_library(library(""))
    assert len(looks) == 2


def test_a_hang_gets_another_trial_with_more_time(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = library("FAULT_OPEN_HANG")
    monkeypatch.setenv("PHALANX_PLUGIN_TIMEOUT", "2")
    wanted = r"no answer within 1.6 s at device_open of acme:0; a larger PHALANX_PLUGIN_TIMEOUT"
    for _ in range(2):
        with pytest.raises(PluginLoadError, match=wanted):
            open_library(file)
    assert len(looks) == 1
    monkeypatch.setenv("PHALANX_PLUGIN_TIMEOUT", "2.5")
    with pytest.raises(PluginLoadError, match="no answer within 2 s"):
        open_library(file)
    assert len(looks) == 2


@pytest.mark.parametrize("failure", ["crashed with SIGINT", "crashed with SIGKILL"])
def test_a_child_that_somebody_stopped_is_no_verdict(
    library: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    file = library("")
    monkeypatch.setattr(
        probe, "run", lambda *_, **__: probe.Report(failure=failure, at="device_count")
    )
    with pytest.raises(PluginLoadError, match=failure):
        open_library(file)
    assert not first_sight.record_path(file).exists()


def test_no_child_process_can_be_started(
    library: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str, **__: Any) -> probe.Report:
        raise PermissionError("no processes here")

    file = library("")
    monkeypatch.setattr(probe, "run", refuse)
    assert open_library(file).name == "acme"
    forget_open(monkeypatch)
    monkeypatch.setattr(probe, "run", lambda *_, **__: probe.Report(failure="crashed", at=""))
    assert open_library(file).name == "acme"  # it did not come to the library
    assert not first_sight.record_path(file).exists()


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1]", b'{"limit": 1}', b"[" * 70_000, b"\xff\xfe", b'{"limit": "x"}']
)
def test_a_damaged_record_is_none(
    library: Callable[[str], Path], looks: Looks, text: bytes
) -> None:
    file = library("")
    place = first_sight.record_path(file)
    place.parent.mkdir(parents=True)
    place.write_bytes(text)
    open_library(file)
    assert len(looks) == 1
    assert record(file)["failure"] == ""


def test_a_cache_that_cannot_be_written(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path / "file"))
    file = library("FAULT_CRASH")
    for _ in range(2):
        with pytest.raises(PluginLoadError, match="SIGABRT"):
            open_library(file)
    assert len(looks) == 1  # this process remembers
    forget_open(monkeypatch)
    with pytest.raises(PluginLoadError, match="SIGABRT"):
        open_library(file)
    assert len(looks) == 2


def test_the_switch(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PHALANX_PROBE", "0")
    open_library(library(""))
    assert looks == []
    forget_open(monkeypatch)
    monkeypatch.setenv("PHALANX_PROBE", "maybe")
    with pytest.raises(PluginError, match="set it to 0 or 1"):
        open_library(library(""))


def test_a_frozen_program_starts_itself_no_second_time(
    library: Callable[[str], Path], looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    open_library(library(""))
    assert looks == []


def test_our_own_library_is_trusted(looks: Looks, tmp_path: Path) -> None:
    with fresh_host(*_cpu_driver()):
        assert px.devices("cpu")
    assert looks == []
    assert not (tmp_path / "cache").exists()


def _cpu_driver() -> tuple[Any, ...]:
    from phalanx.device_plugins import cpu

    return cpu.phalanx_drivers()


def test_many_processes_at_once(library: Callable[[str], Path], tmp_path: Path) -> None:
    file = library("FAULT_CRASH")
    code = (
        "import sys\nfrom phalanx.abi.library import open_library\n"
        "from phalanx.errors import PluginLoadError\n"
        "try:\n    open_library(sys.argv[1])\n"
        "except PluginLoadError as error:\n    print('SIGABRT' in str(error))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, str(file)]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [p.communicate(timeout=60)[0] for p in started] == ["True\n"] * 3
    assert record(file)["failure"] == "crashed with SIGABRT"
    assert len(list((tmp_path / "cache" / "libraries").iterdir())) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_in_a_forked_child(library: Callable[[str], Path]) -> None:
    code = f"""
import os, threading
from phalanx.abi.library import open_library
from phalanx.errors import PluginLoadError
pid = os.fork()
if pid == 0:
    try:
        open_library({str(library("FAULT_CRASH"))!r})
    except PluginLoadError:
        os._exit(7)
    os._exit(8)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = run_python(
        "-c", code, PHALANX_PROBE="1", PHALANX_CACHE_DIR=os.environ["PHALANX_CACHE_DIR"]
    )
    assert (done.stdout, done.stderr) == ("7\n", "")


class TestCommands:
    @pytest.fixture
    def site(self, library: Callable[[str], Path], tmp_path: Path) -> Path:
        file = library("FAULT_CRASH")
        folder = tmp_path / "site"
        make_distribution(
            folder,
            "acme-phalanx",
            plugins={"acme": "acme_plugin"},
            modules={"acme_plugin": native_source(file).replace("    print('noise')\n", "")},
        )
        return folder

    def run(self, *args: str, site: Path) -> Any:
        return phalanx(
            *args,
            site=site,
            plugins="acme,cpu",
            PHALANX_PROBE="1",
            PHALANX_CACHE_DIR=os.environ["PHALANX_CACHE_DIR"],
        )

    def test_devices_lists_the_others_and_names_it(self, site: Path) -> None:
        for _ in range(2):
            done = self.run("devices", site=site)
            assert done.returncode == 0
            assert "cpu:0" in done.stdout
            for part in ("libacme.so is not loaded", "SIGABRT at device_count", "phalanx doctor"):
                assert part in " ".join(done.stdout.split())

    def test_why_in_a_process_names_it(self, site: Path) -> None:
        code = "import phalanx as px; print(px.why('acme:0'))"
        done = run_python(
            "-c",
            code,
            path=site,
            PHALANX_PROBE="1",
            PHALANX_CACHE_DIR=os.environ["PHALANX_CACHE_DIR"],
        )
        text = " ".join(done.stdout.split())
        assert "acme:0: not usable" in text
        assert "crashed with SIGABRT at device_count" in text
        assert "`phalanx doctor` tries it again" in text

    def test_why_tells_what_a_process_meets(self, site: Path) -> None:
        for _ in range(2):
            done = self.run("why", "acme:0", "--json", site=site)
            assert done.returncode == 1
            text = done.stdout
            for part in ("libacme.so is not loaded", "SIGABRT at device_count", "phalanx doctor"):
                assert part in text

    def test_doctor_tries_again_and_takes_it_back(
        self, site: Path, library: Callable[[str], Path]
    ) -> None:
        file = library("")  # sound, but held against it as if the hardware had been at fault
        kept = first_sight._made(file, first_sight._state(file), "crashed with SIGABRT", "x", 30.0)
        first_sight._keep(file, kept)
        assert "acme:0" not in self.names(site)
        self.run("doctor", site=site)
        assert record(file)["failure"] == ""
        assert "acme:0" in self.names(site)

    def names(self, site: Path) -> list[str]:
        return [d["name"] for d in parsed(self.run("devices", "--json", site=site))["devices"]]


def test_the_folder_is_that_of_the_other_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.device_plugins.cache_folder import default_folder

    for wish in ("/somewhere", ""):
        monkeypatch.setenv("PHALANX_CACHE_DIR", wish)
        assert first_sight._folder() == default_folder("libraries")
