"""Fixtures: runs of the conformance command in child processes, and a vendor's package."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from doc_pages import ROOT, blocks
from plugin_kit import make_distribution, run_python

for name in ("xdist", "hypothesis", "mpmath", "ml_dtypes", "jinja2"):
    pytest.importorskip(name, reason=f"phalanx[conformance] is not installed: no {name}")


@dataclass(frozen=True)
class Run:
    """A run of the command that has ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """What it printed as JSON."""
        return json.loads(self.out)

    def outcome(self, case: str) -> dict[str, Any]:
        """The outcome of a case."""
        (found,) = (o for o in self.data["outcomes"] if o["case"] == case)
        return found

    def verdicts(self) -> dict[str, str]:
        """The verdict of each case."""
        return {o["case"]: o["verdict"] for o in self.data["outcomes"]}


def run_command(*args: str, path: Path | None = None, **env: str) -> Run:
    """Run ``phalanx`` with these arguments."""
    done: subprocess.CompletedProcess[str] = run_python("-m", "phalanx", *args, path=path, **env)
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def phalanx() -> Callable[..., Run]:
    """Run ``phalanx`` in a child process."""
    return run_command


@pytest.fixture(scope="session")
def suite() -> Callable[..., Run]:
    """Run ``phalanx conformance --quick`` in a child process."""
    return lambda *args, **kwargs: run_command("conformance", "--quick", *args, **kwargs)


@pytest.fixture
def usage() -> Callable[..., Result]:
    """Run the command here; for what ends before the first case."""
    from phalanx.conformance.command import conformance

    return lambda *args: CliRunner().invoke(conformance, args)


@pytest.fixture(scope="session")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Install a vendor's package into a new folder: what its hook returns, and its own tests.

    With ``driver=True`` it brings the device acme:0 of docs/add-a-plugin.md.
    """

    def install(declarations: str, tests: str = "", *, driver: bool = False) -> Path:
        folder = tmp_path_factory.mktemp("vendor")
        source = (
            "import datetime\nimport phalanx as px\nfrom phalanx.discovery.declarations import *\n"
        )
        if driver:
            page = ROOT / "docs" / "add-a-plugin.md"
            source += next(b.text for b in blocks(page) if b.file == "acme_phalanx.py")
        source += (
            "\n@px.hookimpl\ndef phalanx_conformance(device):\n"
            f"    return Declarations({declarations})\n"
        )
        modules = {"acme_checks": source, "acme_tests": tests}
        make_distribution(folder, "acme", plugins={"acme_checks": "acme_checks"}, modules=modules)
        return folder

    return install


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The root of this checkout, which mutants are made of even if a wheel is installed."""
    from phalanx.conformance.mutants import library, mutant

    caches = (mutant.library_files, mutant._text, mutant.body)
    for module in (mutant, library):
        monkeypatch.setattr(module, "checkout", lambda: ROOT)
    for cached in caches:
        cached.cache_clear()
    yield ROOT
    for cached in caches:
        cached.cache_clear()
