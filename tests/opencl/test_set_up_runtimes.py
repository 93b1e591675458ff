"""The script that gives the tests two OpenCL runtimes."""

from __future__ import annotations

from pathlib import Path

import pytest
import set_up_runtimes
from set_up_runtimes import install, merge, missing


def contents(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runtimes that the machine has, and an environment with Intel's library."""
    folder = tmp_path / "machine"
    folder.mkdir()
    (folder / "vendor.icd").write_text("libvendor.so.1\n")
    (folder / "notes.txt").write_text("no runtime")
    library = tmp_path / "libintelocl.so"
    library.touch()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(folder))
    monkeypatch.setattr(set_up_runtimes, "INTEL_LIBRARY", library)
    return folder


def test_the_machines_runtimes_are_not_hidden(machine: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder"
    library = f"{tmp_path / 'libintelocl.so'}\n"
    for _ in range(2):
        merge(target)
        assert contents(target) == {
            "vendor.icd": "libvendor.so.1\n",
            "intel-of-environment.icd": library,
        }


def test_what_is_gone_goes(machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    merge(target)
    (machine / "vendor.icd").unlink()
    monkeypatch.setattr(set_up_runtimes, "INTEL_LIBRARY", tmp_path / "absent.so")
    merge(target)
    assert contents(target) == {}


def test_the_folder_itself_may_be_the_machines(machine: Path) -> None:
    merge(machine)
    assert contents(machine)["vendor.icd"] == "libvendor.so.1\n"


def test_only_what_is_missing_is_installed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing(["pytest>=8", "pluggy[x]>=1", "no-such-distribution"]) == [
        "no-such-distribution"
    ]
    install("nothing", ["pytest>=8"])
    assert capfd.readouterr().out == ""
    for name in ("PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    install("the runtime", ["no-such-distribution"])
    told = capfd.readouterr().out
    assert "the runtime cannot be installed (above is why): its tests are left out" in told
