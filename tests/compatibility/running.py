"""Installing a suite, telling it of Phalanx, and running it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import click

from .suite import Reason, Suite

_OURS = Path(__file__).parent
_PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
_RUNNERS = ("pytest", "pytest-timeout", "pytest-xdist")
# Pytest reads the settings of this repository's own tests otherwise.
_APART = (f"--confcutdir={_OURS}", "-o", "addopts=", "-o", "filterwarnings=default")


@dataclass(frozen=True)
class Outcome:
    """What a suite did on a device: its tests by name, ``passed``, ``skipped`` or ``failed``.

    A name is that of the module, of the class if there is one, and of the test. ``messages`` are
    those of the tests that failed.
    """

    suite: Suite
    device: str
    tests: dict[str, str]
    messages: dict[str, str]

    def named(self, state: str) -> list[str]:
        """Return the tests of a state."""
        return [name for name, found in self.tests.items() if found == state]

    def reason(self, test: str) -> Reason | None:
        """Return why a test may fail, ``None`` if it may not."""
        facts = short(test), self.messages[test], self.device
        return next((r for r in self.suite.reasons if r.explains(*facts)), None)

    @property
    def unexplained(self) -> list[str]:
        """The failures that have no reason."""
        return [test for test in self.named("failed") if self.reason(test) is None]


def short(test: str) -> str:
    """Return a test's name without its module."""
    return test.partition("::")[2]


def idle_reasons(outcomes: Sequence[Outcome]) -> list[str]:
    """Return what a suite's reasons would explain that no test has failed for."""
    used = [o.reason(test) for o in outcomes for test in o.named("failed")]
    return [r.why for r in outcomes[0].suite.reasons if r not in used]


def install(suites: Sequence[Suite]) -> None:
    """Install the suites' packages, and unpack the sources of those whose tests lie there."""
    wanted = {*_RUNNERS, *(name for s in suites for name in (s.package, *s.needs))}
    subprocess.run([*_PIP, "install", *sorted(wanted)], check=True)
    for suite in suites:
        if suite.home == "sdist" and not _unpacked(suite).exists():
            _unpack(suite)


def _unpacked(suite: Suite) -> Path:
    return Path(sys.prefix, "sources", f"{suite.package}-{version(suite.package)}")


def _unpack(suite: Suite) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [*_PIP, "download", "--no-deps", "--no-binary", suite.package]
        command += ["--dest", folder]
        subprocess.run([*command, f"{suite.package}=={version(suite.package)}"], check=True)
        (archive,) = Path(folder).iterdir()
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        (top,) = (path for path in Path(folder).iterdir() if path.is_dir())
        _unpacked(suite).parent.mkdir(exist_ok=True)
        top.rename(_unpacked(suite))


def introduce(suite: Suite) -> None:
    """Add Phalanx to the package's lists of array libraries; what was there stays beside it."""
    for file in dict.fromkeys(edit.file for edit in suite.edits):
        places = [_unpacked(suite) / file, Path(sysconfig.get_path("purelib")) / file]
        path = next((path for path in places if path.exists()), places[-1])
        original = path.with_name(f"{path.name}.{version(suite.package)}")
        if not original.exists():
            original.write_bytes(path.read_bytes())
        text = original.read_text("utf-8")
        for edit in suite.edits:
            if edit.file == file and edit.old not in text:
                raise click.ClickException(
                    f"{suite.package} {version(suite.package)} has another {file}: adapt suites.py"
                )
            text = text.replace(edit.old, edit.new) if edit.file == file else text
        path.write_text(text, "utf-8")


def run(suite: Suite, device: str, arguments: Sequence[str], *, strict: bool = False) -> Outcome:
    """Run a suite on a device, or with array-api-strict instead; pytest shows how far it is."""
    variables = {**suite.environment, "PHALANX_DEVICE": device, **(suite.beside if strict else {})}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", *_located(suite), *suite.selection]
        command += ["-q", "--disable-warnings", "--tb=short", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", *arguments]
        subprocess.run(command, cwd=folder, env={**os.environ, **variables}, check=False)
        if not report.exists():
            raise click.ClickException(f"the tests of {suite.package} ended without a report")
        return Outcome(suite, device, *_read(ElementTree.parse(report).getroot()))


def _located(suite: Suite) -> list[str]:
    if suite.home == "wheel":
        return [f"--rootdir={sysconfig.get_path('purelib')}", "--pyargs", *suite.tests]
    if suite.home == "ours":
        return [*_APART, *(str(_OURS / test) for test in suite.tests)]
    return [str(_unpacked(suite) / test) for test in suite.tests]


def _read(report: ElementTree.Element) -> tuple[dict[str, str], dict[str, str]]:
    """The state of each test, and the messages of those that failed."""
    tests, messages = {}, {}
    for case in report.iter("testcase"):
        module, _, group = case.get("classname", "").rpartition(".")
        place = f"{module}::{group}" if group.startswith("Test") else f"{module}.{group}"
        name = f"{place}::{case.get('name', '')}"
        parts = {child.tag: child for child in case}
        failure = parts.get("failure", parts.get("error"))
        tests[name] = "skipped" if "skipped" in parts else "passed"
        if failure is not None:
            tests[name] = "failed"
            messages[name] = f"{failure.get('message', '')} {failure.text or ''}"
    return tests, messages
