"""Runs the suite through pytest: workers that may die, a time limit for each case, outcomes."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .description import Description
from .outcome import Outcome
from .results import Results
from .session import Session
from .settings import Settings

#: Seconds for one case, beyond which it counts as hanging.
QUICK_LIMIT, FULL_LIMIT = 60.0, 300.0
_HERE = Path(__file__).parent
_PLUGINS = ("xdist.plugin", "phalanx.conformance.plugin")
#: What ``Results.partial`` says after Ctrl-C or SIGTERM, and where ``fail_fast`` ended the run.
INTERRUPTED = "interrupted"
STOPPED = "stopped after the first failure"
#: So many crashes and hangs end a run: a fresh process for each of thousands takes hours.
MOST_CRASHES = 10
Observe = Callable[[Outcome], None]


class NothingToRunError(ValueError):
    """No case fits what was asked for, or a named one does not exist."""


class _Watcher:
    """Connects the session in the controller with whoever wants to see the outcomes."""

    def __init__(self, observe: Observe, total: Callable[[int], None]) -> None:
        self._observe = observe
        self._total = total
        self.collected = 0
        self.outcomes: list[Outcome] = []
        self.problem = ""
        self.session: Session | None = None
        self._crashes = 0

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        session = config.pluginmanager.get_plugin("phalanx-conformance-session")
        assert isinstance(session, Session)
        self.session = session
        session.observers.append(self._seen)

    def _seen(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._observe(outcome)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers, the cases are known here."""
        if session.items:
            self._tell(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """With workers, each tells the same."""
        del node
        self._tell(len(ids))

    def _tell(self, collected: int) -> None:
        self.collected = collected
        self._total(collected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker that ended; pytest-xdist starts a fresh one for all but the last."""
        del node
        self._crashes += error is not None
        if self._crashes == MOST_CRASHES:
            self.problem = f"stopped after {MOST_CRASHES} crashes or hangs; mend these first"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file of tests that does not import."""
        if report.failed:
            self.problem = f"{report.nodeid} cannot be collected: {report.longreprtext}"

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C, a call of ``pytest.exit``, or pytest's own way to stop early."""
        if excinfo.type is KeyboardInterrupt:
            self.problem = INTERRUPTED
        elif isinstance(excinfo.value, pytest.exit.Exception):
            self.problem = str(excinfo.value)


def run_suite(
    settings: Settings,
    description: Description,
    *,
    workers: int,
    limit: float = 0.0,
    fail_fast: bool = False,
    observe: Observe = lambda _: None,
    total: Callable[[int], None] = lambda _: None,
) -> Results:
    """Run the cases that the settings want; blocks until all are done or Ctrl-C is pressed.

    Args:
        settings: what to run.
        description: of the device, which is usable.
        workers: processes; 0 runs in this one, where a crash is a crash.
        limit: seconds for each case; 0 for the default.
        fail_fast: stop after the first failure.
        observe: called with each outcome.
        total: called with the number of cases when it is known.

    Returns:
        the results; ``partial`` says why if the run was not completed.

    Raises:
        NothingToRunError: with what was wrong.
    """
    results = Results(settings, description, workers=workers)
    results.started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    watcher = _Watcher(observe, total)
    begin = time.perf_counter()
    arguments = arguments_of(settings, description.tests, workers, limit, fail_fast)
    said = io.StringIO()
    try:
        with without_other_plugins(), contextlib.redirect_stderr(said):
            code = int(pytest.main(arguments, plugins=[watcher]))
    except KeyboardInterrupt:
        code, watcher.problem = int(pytest.ExitCode.INTERRUPTED), INTERRUPTED
    results.outcomes = watcher.outcomes
    results.seconds = time.perf_counter() - begin
    results.partial = _problem(watcher, code, said.getvalue())
    if fail_fast and results.failures and results.partial != INTERRUPTED:
        results.partial = STOPPED
    return results


def _problem(watcher: _Watcher, code: int, said: str) -> str:
    """Return why a run is not complete, empty if it is."""
    session = watcher.session
    if session is not None and session.lost:
        return session.lost
    if session is not None and session.missing:
        raise NothingToRunError(session.missing)
    if watcher.problem:
        return watcher.problem
    if code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        ran, collected = len(watcher.outcomes), watcher.collected
        reason = said.strip()[-500:]
        return "" if ran == collected else f"{ran} of {collected} cases ran {reason}".strip()
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise NothingToRunError(
            "no case fits all that was asked for; drop one of --level, --group, --op and --dtype"
        )
    return f"pytest ended with {code}: {said.strip()}"


def arguments_of(
    settings: Settings,
    tests: tuple[str, ...],
    workers: int = 0,
    limit: float = 0.0,
    fail_fast: bool = False,
) -> list[str]:
    """Return what pytest is told; the arguments are those of `run_suite`."""
    limit = limit or (QUICK_LIMIT if settings.quick else FULL_LIMIT)
    arguments = ["--pyargs", str(_HERE / "groups"), *tests, "-c", str(_HERE / "pytest.ini")]
    arguments += [f"--rootdir={_HERE.anchor}"]  # or a vendor's single file would have no name
    for plugin in _PLUGINS:
        arguments += ["-p", plugin]
    arguments += ["-p", "no:terminal", f"--phalanx-timeout={limit:g}"]
    if not tests:  # a vendor's may ask for caplog
        arguments += ["-p", "no:logging"]
    if workers:
        arguments += [
            "-n",
            str(workers),
            f"--max-worker-restart={MOST_CRASHES - 1}",
            "--dist=worksteal",
        ]
    if fail_fast:
        arguments += ["-x"]
    arguments += [f"--phalanx-device={settings.device}", f"--phalanx-level={settings.level.title}"]
    arguments += [f"--phalanx-seed={settings.seed}"]
    arguments += ["--phalanx-quick"] if settings.quick else []
    arguments += [f"--phalanx-fault={settings.fault}"] if settings.fault else []
    for option, values in (
        ("group", settings.groups),
        ("op", settings.ops),
        ("dtype", settings.dtypes),
        ("case", settings.cases),
    ):
        arguments += [f"--phalanx-{option}={value}" for value in values]
    return arguments


@contextlib.contextmanager
def without_other_plugins() -> Iterator[None]:
    """Keep other plugins of pytest, and its settings in the environment, out of the run."""
    names = ("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ[names[0]] = "1"
    arguments = sys.argv  # pytest-xdist tells them its workers, in UTF-8
    sys.argv = [os.fsencode(a).decode("utf-8", "backslashreplace") for a in arguments]
    try:
        yield
    finally:
        sys.argv = arguments
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
