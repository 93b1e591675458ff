"""Random programs of allocate, copy, launch, record, wait, free, shrunk when one fails."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import hypothesis.errors
import pytest
from hypothesis.stateful import run_state_machine_as_test
from phalanx.conformance.case import Case, Mismatch

from .machine import Machine

_QUICK = (6, 20)
_FULL = (60, 40)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("order", ["auto", "manual"])
def test_streams(case: Case, order: str, part: int) -> None:
    """Programs over several streams, ordered by the core or by their own events."""
    del part  # each has its own random numbers
    examples, steps = _QUICK if case.quick else _FULL
    machine = type("Program", (Machine,), {"device": case.device, "manual": order == "manual"})
    seeded = hypothesis.seed(int(case.rng().integers(1 << 31)))(machine)
    try:
        run_state_machine_as_test(seeded, settings=_settings(case, examples, steps))
    except hypothesis.errors.Flaky as error:
        first = next(_leaves(error), None)
        seen = f"; it failed with {first}" if first else ""
        raise Mismatch(
            f"{case.name} on {case.device}: one program failed and passed when it was run again, "
            f"so work is not ordered or memory is used too early{seen}"
        ) from error


def _settings(case: Case, examples: int, steps: int) -> hypothesis.settings:
    phases = list(hypothesis.Phase)
    if case.quick:  # the first program that fails is enough
        phases = [hypothesis.Phase.generate]
    return hypothesis.settings(
        phases=phases,
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


def _leaves(error: BaseException) -> Iterator[AssertionError]:
    """Yield the assertions inside a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    elif isinstance(error, AssertionError):
        yield error
