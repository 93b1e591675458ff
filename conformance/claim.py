"""Whether the cases of a certificate are all of its level, and let a device pass it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from .description import Description, answer_of_child, declarations_of
from .naming import group_of_case, overload_of
from .outcome import Outcome, Verdict
from .results import Results
from .run import arguments_of, without_other_plugins
from .session import Session
from .settings import Level, Settings

#: So many failed cases are told one by one.
_TOLD = 10


def doubts(content: dict[str, Any], description: Description) -> list[str]:
    """Tell why the cases of a certificate do not make its level; runs none of them.

    The list of the suite's cases for this device is asked of a child process, which may crash.
    """
    asked = [description.device, "quick" if content["quick"] else ""]
    listed, problem = answer_of_child("phalanx.conformance.claim", *asked)
    if problem:
        return [f"the cases of its level cannot be listed: {problem}"]
    level, cases = Level.named(content["level"]), content["cases"]
    levels = {case: Level.named(title) for case, title in listed.items()}
    wanted = [case for case in levels if levels[case] <= level]
    missing = [case for case in wanted if case not in cases]
    strange = [case for case in cases if case not in levels]
    found = []
    if missing:
        found.append(
            f"{len(missing)} of the {len(wanted)} cases up to {level.title} are not in it, such as "
            f"{missing[0]}"
        )
    if strange:
        found.append(f"{len(strange)} of its cases are none of the suite, such as {strange[0]}")
    return found or _not_passed(level, _results(content, description, levels))


def _results(
    content: dict[str, Any], description: Description, levels: dict[str, Level]
) -> Results:
    """The run that a certificate tells of."""
    level = Level.named(content["level"])
    outcomes = []
    for case, (verdict, *_) in content["cases"].items():
        overload = overload_of(case)
        outcome = Outcome(case, group_of_case(case), levels[case].title, Verdict(verdict))
        if overload is not None:
            outcome.op, outcome.dtypes = overload.op, overload.dtypes
        outcomes.append(outcome)
    settings = Settings(description.device, level, content["quick"], seed=content["seed"])
    return Results(settings, description, outcomes)


def _not_passed(level: Level, results: Results) -> list[str]:
    if results.passes(level):
        return []
    against = results.held_against(level)
    found = [
        f"{o.case}: {o.verdict.value}, and it says that {level.title} is passed" for o in against
    ]
    found += [f"{level.title} needs {what}, which is missing" for what in results.lacking(level)]
    return found[:_TOLD] or [f"no case of {level.title} is in it"]


def cases_here(name: str, *, quick: bool) -> dict[str, str]:
    """Return the level of each case that there is for a device, in this process."""
    from phalanx.discovery.devices import find_device

    class Watcher:
        """Takes the session's list."""

        levels: dict[str, Level]

        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found = session.config.pluginmanager.get_plugin("phalanx-conformance-session")
            assert isinstance(found, Session)
            self.levels = found.levels

    settings, watcher = Settings(name, Level.BITWISE, quick), Watcher()
    tests = declarations_of(find_device(name)).tests
    with without_other_plugins():
        pytest.main([*arguments_of(settings, tests), "--collect-only"], plugins=[watcher])
    return {case: level.title for case, level in watcher.levels.items()}


def main(name: str, quick: str = "") -> None:
    """Print the cases as the last line of stdout."""
    print(json.dumps(cases_here(name, quick=bool(quick))), flush=True)
    os._exit(0)  # a driver may have broken exit handlers; the answer is complete


if __name__ == "__main__":
    main(*sys.argv[1:])
