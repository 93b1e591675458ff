"""Whether the cases of a certificate are all of its level, and let a device pass it."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from typing import Any

import pytest

from .certificate import counts_of, worst_of
from .coverage import ways
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
    if found:
        return found
    results = _results(content, description, levels)
    return _not_passed(level, results) + _not_of_its_cases(content, results)


def _results(
    content: dict[str, Any], description: Description, levels: dict[str, Level]
) -> Results:
    """The run that a certificate tells of."""
    level = Level.named(content["level"])
    outcomes = []
    for case, (verdict, worst, determinism) in content["cases"].items():
        overload = overload_of(case)
        outcome = Outcome(case, group_of_case(case), levels[case].title, Verdict(verdict))
        outcome.worst = math.inf if worst is None else worst
        outcome.determinism = determinism
        outcome.waiver = "needed" if case in content["waivers_needed"] else ""
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


def _not_of_its_cases(content: dict[str, Any], results: Results) -> list[str]:
    """Tell which of a certificate's fields are not what its cases make."""
    device, driver = content["device"].partition(":")[0], content["identity"].get("driver")
    strange = set(content["waivers_needed"]) - content["cases"].keys()
    sound = {
        "device": device == driver,
        "coverage": Counter(ways(content["coverage"])) == Counter(ways(results.coverage)),
        "counts": content["counts"] == counts_of(results),
        "worst": _errors(content["worst"]) == _errors(worst_of(results.outcomes)),
        "waivers_needed": not strange,
    }
    return [
        f"its field {name} does not fit its cases and its identity"
        for name, is_sound in sound.items()
        if not is_sound
    ]


def _errors(worst: dict[str, Any]) -> object:
    """The errors of a field ``worst`` without their bounds."""
    try:
        return {(op, key): pair[0] for op, found in worst.items() for key, pair in found.items()}
    except (AttributeError, TypeError, LookupError):
        return None


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
