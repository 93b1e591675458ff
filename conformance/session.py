"""One run of the suite inside pytest: which cases there are, what they get, how they ended.

With pytest-xdist the workers run the cases and the controller only collects the outcomes, which
travel as a property of each report.
"""

from __future__ import annotations

import gc
import inspect
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from phalanx._warm import Device
from phalanx.discovery.declarations import Declarations, Pattern
from phalanx.dispatch.registry import Support, support
from phalanx.errors import PhalanxError, UnsupportedOpError

from .brief import Brief
from .case import Case
from .coverage import MOVES
from .description import NO_FP64, declarations_of
from .host_memory import keep_freed_pages
from .naming import case_name, group_of, overload_of
from .outcome import Outcome, Verdict
from .overloads import Overload
from .settings import GROUP_LEVELS, VENDOR, Level, Settings, unknown
from .watch import Watch, how_it_ended

_PROPERTY = "phalanx_outcome"
_TRACES, _MISSING, _LOST = "phalanx_traces", "phalanx_missing", "phalanx_lost"
_BRIEF = "phalanx_brief"
_UNUSABLE = 3
#: A device with less memory has little to spare for what the core's pool keeps.
_SMALL = 1 << 28
#: New objects before the garbage collector looks for cycles: cases make millions without any.
_OBJECTS = 50_000


class Session:
    """The plugin object that is registered when a device is named.

    ``observers`` are called in the controller with each outcome, in the order in which they end.
    ``missing`` says which of the named cases there are not, and then none is run; ``lost`` says why
    the device could not be opened. Both come from the workers, at their end. ``levels`` has the
    cases that were collected, in the process that did so.
    """

    def __init__(self, settings: Settings, results: str = "", limit: float = 0.0) -> None:
        self.settings = settings
        self.limit = limit
        self.missing = ""
        self.lost = ""
        self.levels: dict[str, Level] = {}
        self.observers: list[Callable[[Outcome], None]] = []
        self.outcomes: list[Outcome] = []
        self._results = results
        self._watch: Watch | None = None
        self._traces: Path | None = None
        self._frozen = False
        self._thresholds = gc.get_threshold()
        self._device: Device | None = None
        self._declared: Declarations | None = None
        self._served: dict[tuple[str, tuple[str, ...]], Support] | None = None

    @classmethod
    def from_config(cls, config: pytest.Config) -> Session:
        """Return the session that the options ask for; raises ``pytest.UsageError``."""
        get = config.getoption
        try:
            seed = int(get("phalanx_seed")) if get("phalanx_seed") else None
            limit = float(get("phalanx_timeout") or 0)
            settings = Settings(
                device=get("phalanx_device") or "faulty:0",
                level=Level.named(get("phalanx_level") or Level.ARRAY_API.title),
                quick=get("phalanx_quick"),
                groups=tuple(get("phalanx_group")),
                ops=tuple(get("phalanx_op")),
                dtypes=tuple(get("phalanx_dtype")),
                cases=tuple(get("phalanx_case")),
                fault=get("phalanx_fault"),
                **({} if seed is None else {"seed": seed}),
            )
        except ValueError as error:
            raise pytest.UsageError(f"phalanx: {error}") from error
        is_worker = hasattr(config, "workerinput")
        return cls(settings, "" if is_worker else get("phalanx_results"), limit)

    # The process: its time limit, and the place for its stacks

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker, before it starts, where to leave its stacks, and whether to be brief."""
        if self._traces is None:
            self._traces = Path(tempfile.mkdtemp(prefix="phalanx-"))
        node.workerinput[_TRACES] = str(self._traces / node.workerinput["workerid"])
        node.workerinput[_BRIEF] = not node.config.pluginmanager.hasplugin("terminalreporter")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Start to watch the process that runs the cases."""
        worker = getattr(session.config, "workerinput", {})
        self._watch = Watch(self.limit, worker.get(_TRACES, ""))
        if worker.get(_BRIEF, False):
            session.config.pluginmanager.register(Brief())
        gc.set_threshold(_OBJECTS, *self._thresholds[1:])
        keep_freed_pages()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Watch a case with its set-up and teardown."""
        assert self._watch is not None
        self._watch.begin()
        try:
            return (yield)
        finally:
            self._watch.end()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the controller what was missing."""
        gc.set_threshold(*self._thresholds)
        if self._frozen:
            gc.unfreeze()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output.update({_MISSING: self.missing, _LOST: self.lost})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Listen to what a worker tells at its end; one that died tells nothing."""
        output = getattr(node, "workeroutput", {})
        self.missing = output.get(_MISSING, "") or self.missing
        self.lost = output.get(_LOST, "") or self.lost

    def pytest_unconfigure(self) -> None:
        """Remove the stacks."""
        if self._traces is not None:
            shutil.rmtree(self._traces, ignore_errors=True)

    # The device and what is declared of it

    @property
    def device(self) -> Device:
        """The device under test, opened; ends the run if it is not usable."""
        if self._device is None:
            from phalanx.discovery.devices import find_device

            if self.settings.fault:
                from .faults import register

                register(self.settings.fault)
            try:
                self._device = find_device(self.settings.device)
                self._device.ensure_open()
            except PhalanxError as error:
                self.lost = f"{self.settings.device} is not usable: {error}"
                pytest.exit(self.lost, _UNUSABLE)
        return self._device

    @property
    def declared(self) -> Declarations:
        """What all plugins declare about the device, with what its features imply."""
        if self._declared is None:
            self._declared = declarations_of(self.device)
        return self._declared

    @property
    def served(self) -> dict[tuple[str, tuple[str, ...]], Support]:
        """How the device serves each overload."""
        if self._served is None:
            self._served = {(s.op, s.dtypes): s for s in support(self.device)}
        return self._served

    def _overload_of(self, case: str) -> Overload | None:
        """The overload of the op table that a case is about; a vendor's own ops are none."""
        found = overload_of(case)
        known = found is not None and (found.op, found.dtypes) in self.served
        return found if known else None

    def _match(self, patterns: tuple[Any, ...], case: str) -> Pattern | None:
        overload = self._overload_of(case)
        op, dtypes = (overload.op, overload.dtypes) if overload else ("", ())
        how = self.served[op, dtypes].how if overload else ""
        if (op in MOVES and how == "native") or how == "decomposed":
            # to move, or to change bits as integers, is not to compute
            patterns = tuple(p for p in patterns if p not in NO_FP64)
        return next((p for p in patterns if p.matches(case, op, dtypes)), None)

    # Collection

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Keep what the settings want, whatever a ``conftest.py`` of a vendor's leaves out."""
        kept: list[pytest.Item] = []
        dropped: list[pytest.Item] = []
        names = [case_name(item.nodeid) for item in items]
        known = set(names)
        lost = [case for case in self.settings.cases if case not in known]
        self.missing = unknown("case", lost[0], names) if lost else _double(items, names)
        for item, name in zip(items, names, strict=True):
            group = group_of(item.nodeid)
            overload = self._overload_of(name)
            op, dtypes = (overload.op, overload.dtypes) if overload else ("", ())
            level = self._level(item)
            wanted = not self.missing and self.settings.wants(name, group, level, op, dtypes)
            if wanted:
                self.levels[name] = level
            (kept if wanted else dropped).append(item)
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = kept
        done = yield
        if len(items) < len(kept):
            items[:] = kept
        return done

    def pytest_collection_finish(self) -> None:
        """Keep thousands of cases out of the garbage collector, which cases call to see leaks."""
        if not gc.get_freeze_count():
            gc.freeze()
            self._frozen = True

    def _level(self, item: pytest.Item) -> Level:
        """Return a case's level: its marker's, its group's, or higher if the op is not native."""
        marker = item.get_closest_marker("level")
        if marker is not None:
            return Level.named(marker.args[0])
        level = GROUP_LEVELS.get(group_of(item.nodeid), Level.CORE)
        overload = self._overload_of(case_name(item.nodeid))
        if overload is not None and level == Level.CORE:
            how = self.served[overload.op, overload.dtypes].how
            return level if how in ("native", "decomposed") else Level.ARRAY_API
        return level

    # What a case gets

    @pytest.fixture(name="device")
    def _fixture_device(self) -> Iterator[Device]:
        """The device under test, as the current one."""
        from phalanx.discovery.devices import device
        from phalanx.runtime.memory import empty_cache

        with device(self.device) as found:
            if found.info.total_memory < _SMALL:  # cases that call the driver need some of it
                empty_cache(found)
            yield found

    @pytest.fixture(name="case")
    def _fixture_case(self, request: pytest.FixtureRequest, device: Device) -> Iterator[Case]:
        """Where a case notes what it finds; a fallback is an error unless the case allows it."""
        from phalanx.dispatch.fallback import Policy, fallback_policy, recorded

        name = case_name(request.node.nodeid)
        case = Case(name, device, self.settings, self.served, self.declared.waivers)
        request.node.stash[_CASE] = case
        allowed = request.node.get_closest_marker("allows_fallback") is not None
        policy: Policy = "allow" if allowed else "error"
        with fallback_policy(policy), recorded() as ledger:
            yield case
        case.notes["fallbacks"] = [
            (e.op, ",".join(e.dtypes), e.ran_on, e.calls, e.bytes_moved) for e in ledger
        ]

    # How it ended

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the outcome to the report of the teardown, when all is known."""
        report = yield
        if call.when == "call" or (call.when == "setup" and not report.passed):
            item.stash[_ENDED] = self._judge(item, call, report)
        elif call.when == "teardown":
            outcome = item.stash.get(_ENDED, None)
            if outcome is not None:
                if report.failed:
                    outcome.verdict = Verdict.FAILED
                    outcome.message = f"{outcome.message}\nafter the case: {report.longreprtext}"
                case = item.stash.get(_CASE, None)
                if case is not None:
                    outcome.fallbacks = tuple(case.notes.pop("fallbacks", ()))
                report.user_properties.append((_PROPERTY, json.dumps(outcome.to_dict())))
        return report

    def _judge(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> Outcome:
        name = case_name(item.nodeid)
        overload = self._overload_of(name)
        outcome = Outcome(
            name,
            group_of(item.nodeid),
            self._level(item).title,
            Verdict.PASSED if report.passed else Verdict.FAILED,
            op=overload.op if overload else "",
            dtypes=overload.dtypes if overload else (),
            seconds=call.duration,
            repeat=self.settings.repeat_command(name),
        )
        if overload is not None:
            outcome.determinism = self.served[overload.op, overload.dtypes].determinism
        case = item.stash.get(_CASE, None)
        if case is not None:
            findings = case.findings()
            outcome.mistakes = tuple(case.mistakes)
            for key in ("worst", "bound", "checks", "waiver", "notes"):
                setattr(outcome, key, findings[key])
        error = call.excinfo.value if call.excinfo else None
        if report.skipped and (outcome.group == VENDOR or _left_out_by_the_suite(call)):
            outcome.verdict = Verdict.INAPPLICABLE
            outcome.reason = str(error)
        elif not report.passed:
            outcome.verdict = Verdict.FAILED
            notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
            outcome.message = f"{type(error).__name__}: {error}{notes}"
            outcome.notes["traceback"] = report.longreprtext
        self._apply_declarations(outcome, error)
        if outcome.failed:
            report.outcome = "failed"
            report.longrepr = report.longrepr or f"{name}: {outcome.message}"
        elif outcome.verdict in (Verdict.UNSUPPORTED, Verdict.EXPECTED):
            report.outcome = "skipped"
            report.wasxfail = outcome.reason
        return outcome

    def _apply_declarations(self, outcome: Outcome, error: BaseException | None) -> None:
        """Turn a verdict into what the plugin's declarations make of it."""
        if outcome.verdict is Verdict.INAPPLICABLE:
            return
        refused = self._match(self.declared.unsupported, outcome.case)
        expected = self._match(self.declared.expected_failures, outcome.case)
        if refused is not None:
            outcome.reason = refused.reason
            if outcome.verdict is Verdict.PASSED:
                outcome.verdict = Verdict.UNEXPECTED
                outcome.message = (
                    f"declared as unsupported ({refused.reason}), but the device computes it: "
                    "remove the declaration"
                )
            elif isinstance(error, UnsupportedOpError):
                outcome.verdict = Verdict.UNSUPPORTED
        elif expected is not None:
            outcome.reason = expected.reason
            if outcome.verdict is Verdict.PASSED:
                outcome.verdict = Verdict.UNEXPECTED
                outcome.message = (
                    f"declared as a failure ({expected.reason}), but it passes: remove the "
                    "declaration"
                )
            else:
                outcome.verdict = Verdict.EXPECTED

    # In the controller

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect an outcome; a worker that died leaves a report without one."""
        text = next((value for key, value in report.user_properties if key == _PROPERTY), None)
        if text is not None:
            self._collect(Outcome.from_dict(json.loads(str(text))))
        elif report.when not in ("setup", "call", "teardown"):
            self._collect(self._crashed(report))

    def _crashed(self, report: pytest.TestReport) -> Outcome:
        name = case_name(report.nodeid)
        overload = overload_of(name)
        group = group_of(report.nodeid)
        words, stacks = report.longreprtext, ""
        worker = getattr(report, "node", None)
        if worker is not None and self._traces is not None:
            trace = self._traces / worker.workerinput["workerid"]
            words, stacks = how_it_ended(trace, self.limit, _exit_status(worker.gateway))
        return Outcome(
            name,
            group,
            GROUP_LEVELS.get(group, Level.CORE).title,
            Verdict.CRASHED,
            op=overload.op if overload else "",
            dtypes=overload.dtypes if overload else (),
            message="\n".join(filter(None, (f"{words}; a fresh one went on", stacks))),
            repeat=self.settings.repeat_command(name),
        )

    def _collect(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self._results:
            with Path(self._results).open("a", encoding="utf-8") as file:
                file.write(json.dumps(outcome.to_dict()) + "\n")
        for observe in self.observers:
            observe(outcome)


_GROUPS = Path(__file__).parent / "groups"
_SKIPS = Path(inspect.getfile(pytest.importorskip))
_CASE: pytest.StashKey[Case] = pytest.StashKey()
_ENDED: pytest.StashKey[Outcome] = pytest.StashKey()


def _double(items: list[pytest.Item], names: list[str]) -> str:
    """Return which two cases have one name, and would be one in a report; empty if none have."""
    where: dict[str, str] = {}
    for item, name in zip(items, names, strict=True):
        if name in where:
            return (
                f"two cases are called {name}, of {where[name]} and {item.nodeid}: rename one of "
                "the files"
            )
        where[name] = item.nodeid
    return ""


def _left_out_by_the_suite(call: pytest.CallInfo[None]) -> bool:
    """Tell whether a case left itself out; a driver that raises what pytest skips by must not."""
    frames = [entry.path for entry in call.excinfo.traceback] if call.excinfo else []
    where = next((Path(f) for f in reversed(frames) if Path(f) != _SKIPS), None)
    return where is not None and where.is_relative_to(_GROUPS)


def _exit_status(gateway: Any) -> int | None:
    """Return how a worker's process ended, as far as its gateway tells."""
    process = getattr(getattr(gateway, "_io", None), "popen", None)
    try:
        return None if process is None else process.wait(20.0)
    except subprocess.TimeoutExpired:
        return None
