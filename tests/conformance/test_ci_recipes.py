"""The jobs of docs/certify-your-device.md: sound YAML, and commands that the command line takes."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from doc_pages import ROOT, blocks
from phalanx.conformance.command import conformance

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
PAGE = ROOT / "docs" / "certify-your-device.md"


@pytest.fixture(scope="module")
def jobs() -> list[Any]:
    return [yaml.safe_load(b.text) for b in blocks(PAGE) if b.language == "yaml"]


def test_github(jobs: list[Any]) -> None:
    job = jobs[0]["jobs"]["conformance"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    (upload,) = (s for s in job["steps"] if s.get("uses", "").startswith("actions/upload-artifact"))
    assert upload["if"] == "always()"
    check(commands, upload["with"]["path"].split())
    assert all(("run" in s) != ("uses" in s) for s in job["steps"])


def test_gitlab(jobs: list[Any]) -> None:
    job = jobs[1]["conformance"]
    assert job["artifacts"]["when"] == "always"
    check(job["script"], [job["artifacts"]["reports"]["junit"], *job["artifacts"]["paths"]])


def check(commands: list[str], kept: list[str]) -> None:
    install, run = (shlex.split(command) for command in commands)
    assert install == ["pip", "install", "phalanx[conformance]", "."]
    assert run[:2] == ["phalanx", "conformance"]
    options = conformance.make_context("conformance", run[2:]).params
    assert options["device"] == "acme:0"
    reports = [options[name] for name in ("junit_xml", "html", "certificate")]
    assert [str(path) for path in reports] == kept
