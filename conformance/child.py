"""The suite in a process of its own, up to its first failure: for devices that may die or hang."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .naming import case_name
from .outcome import FAILURES

#: Seconds for one case, beyond which it counts as hanging.
CASE_LIMIT = 60.0
#: Seconds for the whole run.
RUN_LIMIT = 1800.0
HERE = Path(__file__).parent
_STARTED = re.compile(r"^(\S*groups/\S+\.py::\w+(?:\[.*?\])?)(?:\s|$)", re.M)
_SUMMARY = re.compile(r"^=*.* in [\d.]+s", re.M)
_NO_TESTS = 5


def first_failure(
    *options: str, group: str = "", case_limit: float = CASE_LIMIT, run_limit: float = RUN_LIMIT
) -> tuple[str, str]:
    """Run the suite, or a group of it, with options of the plugin up to the first failure.

    Returns:
        the case and its message, empty if all passed.

    Raises:
        RuntimeError: pytest failed before the first case, which says nothing of the device.
    """
    with tempfile.TemporaryDirectory(prefix="phalanx-") as folder:
        results, log = Path(folder, "results"), Path(folder, "log")
        # -P: with -m alone, Python would import modules from the current directory first.
        command = [sys.executable, "-P", "-m", "pytest", "--pyargs", str(HERE / "groups" / group)]
        command += ["-c", str(HERE / "pytest.ini"), "-x", "-v", "--no-header", "--tb=no"]
        command += ["-p", "phalanx.conformance.plugin", "-p", "no:logging"]
        command += [f"--phalanx-timeout={case_limit:g}"]
        command += [f"--phalanx-results={results}", *options]
        with log.open("wb") as file:
            try:
                code = subprocess.run(
                    command,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=environment(),
                    timeout=run_limit,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                code = -1
        return _verdict(code, results, log.read_text("utf-8", "replace"))


def environment() -> dict[str, str]:
    """Keep other plugins of pytest out, and its output complete if the process dies."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONUNBUFFERED": "1"}


def _verdict(code: int, results: Path, log: str) -> tuple[str, str]:
    if results.exists():
        for line in results.read_text("utf-8").splitlines():
            outcome = json.loads(line)
            if outcome["verdict"] in FAILURES:
                return outcome["case"], outcome["message"].strip().partition("\n")[0]
    if code in (0, _NO_TESTS) and _SUMMARY.search(log):
        return "", ""
    started = _STARTED.findall(log)
    if not started:
        last = log.strip().rpartition("\n")[2]
        raise RuntimeError(f"the suite did not run; pytest ended with {code}: {last}")
    return case_name(started[-1]), f"the process died or hung in this case (exit code {code})"
