"""The rows of ``--all``: each public function has one, or a reason why not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from types import ModuleType

import numpy as np
import phalanx as px
import pytest
from phalanx.benchmarks import measure, results
from phalanx.benchmarks.composed_functions import COMPOSED
from phalanx.benchmarks.contestants import NumpyPeer, PhalanxContestant, TorchPeer
from phalanx.benchmarks.extension_functions import ALIASES, EXTENSIONS
from phalanx.benchmarks.functions import FUNCTION_SIZES, FUNCTIONS, NOT_TIMED
from phalanx.benchmarks.measure import Entry, Plan
from phalanx.benchmarks.workloads import Workload

EVERY = (*FUNCTIONS, *COMPOSED, *EXTENSIONS)


def functions(module: ModuleType) -> set[str]:
    """The public names that can be called and are no classes."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {name for name, value in found.items() if callable(value) and not inspect.isclass(value)}


def called(works: Iterable[Workload], prefix: str) -> set[str]:
    text = " ".join(work.expression for work in works)
    return set(re.findall(rf"\b{re.escape(prefix)}(\w+)\(", text))


class TestCoverage:
    def test_every_public_function_has_a_row_or_a_reason(self) -> None:
        missing = functions(px) - called((*FUNCTIONS, *COMPOSED), "xp.") - NOT_TIMED.keys()
        assert not missing, f"no row for {sorted(missing)}"

    @pytest.mark.parametrize("name", ["linalg", "fft"])
    def test_every_function_of_an_extension_has_a_row(self, name: str) -> None:
        missing = functions(getattr(px, name)) - called(EXTENSIONS, f"xp.{name}.")
        scipy_has = {"lu", "solve_triangular"}  # which NumPy has not
        assert missing == (ALIASES | scipy_has if name == "linalg" else set())

    def test_no_reason_is_stale(self) -> None:
        assert functions(px) >= NOT_TIMED.keys()
        assert not called((*FUNCTIONS, *COMPOSED), "xp.") & NOT_TIMED.keys()
        assert all(NOT_TIMED.values())
        assert called((*FUNCTIONS, *COMPOSED), "xp.") >= ALIASES

    def test_names_are_given_once(self) -> None:
        names = [work.name for work in EVERY]
        assert len(set(names)) == len(names)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("size", FUNCTION_SIZES)
def test_phalanx_and_pytorch_compute_what_numpy_does(size: int) -> None:
    """In one test for all, as opening the contestants takes longer than a function."""
    contestants = [PhalanxContestant("cpu:0")]
    try:
        contestants.append(TorchPeer())
    except ImportError:
        print("PyTorch is not installed: its spellings are not tested")
    wrong = []
    for work in EVERY:
        if not work.accepts(size):
            continue
        operands = work.operands(size, np.random.default_rng([results.SEED, size]))
        want = np.asarray(measure.prepare(work, NumpyPeer(), operands, float).once())
        for contestant in contestants:
            if contestant.family in work.lacks:
                continue
            got = results._admit(work, contestant, operands, want, float)
            if not isinstance(got, Entry):
                wrong.append(f"{work.name} on {contestant.name}: {got}")
    assert not wrong, "\n".join(wrong)


def test_a_brief_row_has_seven_rounds(fake: px.Device) -> None:
    (work,) = (work for work in FUNCTIONS if work.name == "negative")
    contestants = [PhalanxContestant(fake.name)]
    plan = Plan(21, 5, 1e-6, 10.0, attempts=1)
    case = results.measure_case(work, 1, contestants, plan, rest=lambda: None)
    timing = case.outcomes[fake.name].timing
    assert timing is not None
    assert len(timing.samples) == 7
