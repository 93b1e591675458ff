"""What a plugin's package needs of Phalanx is held against it before anything is imported."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from phalanx.abi.structs import ABI_MAJOR, ABI_MINOR
from phalanx.discovery import requirements
from phalanx.discovery.diagnosis import why
from phalanx.discovery.plugins import PluginHost, use_host
from phalanx.discovery.requirements import UnmetRequirementError, unmet
from phalanx.version import ABI, __version__
from plugin_kit import make_distribution, plugin_source

ROOT = Path(__file__).parents[2]
VERSION = f"{ABI[0]}.{ABI[1]}"


def distribution(folder: Path, *requires: str) -> PathDistribution:
    make_distribution(folder, "acme-phalanx", "2.0", requires=requires)
    return PathDistribution(folder / "acme-phalanx-2.0.dist-info")


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    stated = [name for name in extras if re.match(r"abi-|op-table-", name)]
    assert tuple(stated) == requirements.provided()
    assert all(extras[name] == [] for name in stated)
    assert (ABI_MAJOR, ABI_MINOR) == ABI


@pytest.mark.parametrize(
    "line",
    [
        "numpy>=99",
        "phalanx",
        "phalanx>=0.1",
        "phalanx (>=0.1,<2)",
        "phalanx[abi-1.0,op-table-1.0]>=0.1",
        "phalanx[ABI_1_0]",
        "phalanx[conformance]==0.1.*",
        "phalanx ~= 0.1",
        "phalanx~=0.1.0",
        "phalanx!=0.0.9",
        'phalanx[abi-9.0]; extra == "test"',
        'phalanx>=99; python_version < "3"',
        "phalanx-tools>=99",
        "phalanx>=banana",
        "phalanx===0.1.0",
        "phalanx @ file:///somewhere",
    ],
)
def test_what_fits(tmp_path: Path, line: str) -> None:
    assert unmet(distribution(tmp_path, line)) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("phalanx>=9", "phalanx >=9, and this is"),
        ("phalanx<0.1", "phalanx <0.1, and this is"),
        ("phalanx>=0.1,!=0.1.0", "phalanx >=0.1,!=0.1.0, and"),
        ("phalanx~=0.2", "phalanx ~=0.2"),
        ("phalanx~=0.0.1", "phalanx ~=0.0.1"),
        ("phalanx (==0.2.*)", "phalanx ==0.2.*"),
        ("phalanx[abi-1.7]>=0.1", f"version 1.7 of the plugin ABI, and this phalanx has {VERSION}"),
        ("phalanx[abi-2.0]", "version 2.0 of the plugin ABI"),
        ("Phalanx[op_table_1_7]", "version 1.7 of the op table, and this phalanx has 1.0"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, line: str, reason: str) -> None:
    error = unmet(distribution(tmp_path, "numpy", line))
    assert isinstance(error, UnmetRequirementError)
    assert str(error).startswith("acme-phalanx 2.0 needs ")
    assert reason in str(error)
    assert f"a release of acme-phalanx that fits phalanx {__version__}" in str(error)


def test_a_later_minor_version_knows_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "_VERSIONS", {"abi": (1, 2), "op-table": (2, 0)})
    assert requirements.provided() == ("abi-1.0", "abi-1.1", "abi-1.2", "op-table-2.0")
    assert unmet(distribution(tmp_path / "a", "phalanx[abi-1.1,op-table-2.0]")) is None
    reason = str(unmet(distribution(tmp_path / "b", "phalanx[abi-1.3,op-table-1.0]")))
    assert "version 1.3 of the plugin ABI" in reason
    assert "version 1.0 of the op table" in reason


@pytest.mark.parametrize("fits", [True, False])
def test_a_plugin_that_does_not_fit_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fits: bool
) -> None:
    touched = tmp_path / "imported"
    body = f"from pathlib import Path\nPath({str(touched)!r}).touch()"
    module = f"needs_{'this' if fits else 'other'}_plugin"
    entries = make_distribution(
        tmp_path,
        "acme-phalanx",
        plugins={"acme": module},
        modules={module: plugin_source("acme", body=body)},
        requires=[f"phalanx[abi-1.{0 if fits else 4}]"],
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = use_host(PluginHost(lambda: entries))
    try:
        found = why("acme:0")
        (plugin,) = use_host(None).plugins()  # type: ignore[union-attr]
    finally:
        use_host(before)
    assert touched.exists() is fits
    assert (plugin.drivers == ("acme",)) is fits
    if not fits:
        step = found.steps[0]
        assert (step.name, step.status) == ("installed", "fail")
        assert f"needs version 1.4 of the plugin ABI, and this phalanx has {VERSION}" in step.detail
        assert "pip install -U phalanx" in step.remedy
