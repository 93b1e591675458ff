"""Run the tests of other libraries with Phalanx as their array library, and write the page.

python -m compatibility --suite scipy --device cpu:0
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import ndiff
from importlib.metadata import packages_distributions, version
from pathlib import Path
from xml.etree import ElementTree

import click

from .suites import SUITES, Suite

_HEAD = """# Compatibility

The tests that other libraries ship for array libraries, run with Phalanx. This page is generated
by `make compatibility`, which installs the packages and this one in an environment of their own,
adds Phalanx to their lists of array libraries as shown below, and fails if a test fails for no
stated reason.
"""


@dataclass(frozen=True)
class Outcome:
    """What a suite did: counts, and the names of the tests that failed."""

    suite: Suite
    device: str
    passed: int
    skipped: int
    failed: tuple[str, ...]

    @property
    def unexplained(self) -> list[str]:
        """The failures that have no reason."""
        return [name for name in self.failed if reason(self.suite, name) is None]


def reason(suite: Suite, name: str) -> str | None:
    """Return why a test may fail, ``None`` if it may not."""
    return next((why for part, why in suite.reasons.items() if name.startswith(part)), None)


def introduce(suite: Suite) -> None:
    """Add Phalanx to the package's list of array libraries, once."""
    spec = importlib.util.find_spec(suite.package)
    if spec is None or spec.origin is None:
        raise click.ClickException(
            f"{suite.package} is not installed; `make compatibility` does it"
        )
    path = Path(spec.origin).parent / suite.file
    text = path.read_text("utf-8")
    for old, new in suite.edits:
        if new in text:
            continue
        if text.count(old) != 1:
            raise click.ClickException(
                f"{suite.package} {_version(suite)} has another {suite.file}: adapt suites.py"
            )
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def run(suite: Suite, device: str, arguments: Sequence[str]) -> Outcome:
    """Run a suite on a device; pytest shows how far it is."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "--pyargs", suite.package, *suite.selection]
        command += ["-q", "--disable-warnings", "--tb=short", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", *arguments]
        environment = {"SCIPY_ARRAY_API": suite.variable, "PHALANX_DEVICE": device}
        subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=False)
        if not report.exists():
            raise click.ClickException(f"the tests of {suite.package} ended without a report")
        return _outcome(suite, device, ElementTree.parse(report).getroot())


def _outcome(suite: Suite, device: str, report: ElementTree.Element) -> Outcome:
    counts = {"passed": 0, "skipped": 0}
    failed = []
    for case in report.iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            group = case.get("classname", "").rpartition(".")[2]
            name = f"{group}::" if group[:4] == "Test" else ""
            failed.append(name + case.get("name", ""))
        else:
            counts["skipped" if "skipped" in kinds else "passed"] += 1
    return Outcome(suite, device, **counts, failed=tuple(failed))


def _version(suite: Suite) -> str:
    return version(packages_distributions()[suite.package][0])


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page's text."""
    lines = [_HEAD, "| package | device | passed | failed | skipped |", "|---|---|---|---|---|"]
    for o in outcomes:
        name = packages_distributions()[o.suite.package][0]
        lines.append(
            f"| {name} {_version(o.suite)} | `{o.device}` | {o.passed:,} | {len(o.failed):,} "
            f"| {o.skipped:,} |"
        )
    lines += ["", f"Run on {datetime.now(UTC):%Y-%m-%d}, Phalanx {version('phalanx')}.", ""]
    for o in outcomes:
        lines += [f"## {o.suite.package}", "", f"In `{o.suite.package}/{o.suite.file}`:", ""]
        lines += ["```diff"]
        for old, new in o.suite.edits:
            changed = ndiff(old.splitlines(), new.splitlines())
            lines += [line.rstrip() for line in changed if not line.startswith("?")]
        lines += ["```", ""]
        if o.failed:
            lines += ["| fails | why |", "|---|---|"]
            lines += [f"| `{n}` | {reason(o.suite, n) or 'not known yet'} |" for n in o.failed]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--suite", "names", multiple=True, type=click.Choice([s.package for s in SUITES]))
@click.option("--device", default="cpu:0", show_default=True, help="Where the arrays are.")
@click.option("--write", type=click.Path(path_type=Path), help="The page that is written.")
@click.argument("arguments", nargs=-1)
def main(
    names: tuple[str, ...], device: str, write: Path | None, arguments: tuple[str, ...]
) -> None:
    """Run the array API tests of other libraries; ARGUMENTS go to pytest.

    Exit code: 0 if every failure has a stated reason, else 1.
    """
    outcomes = []
    for suite in SUITES:
        if not names or suite.package in names:
            introduce(suite)
            outcomes.append(run(suite, device, arguments))
    text = page(outcomes)
    if write is None:
        click.echo(text)
    else:
        write.write_text(text, "utf-8")
    unexplained = [name for o in outcomes for name in o.unexplained]
    for name in unexplained:
        click.echo(f"fails without a reason: {name}", err=True)
    raise SystemExit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
