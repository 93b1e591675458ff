"""Runs the suite against mutants, each in a process of its own, and counts the caught."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from phalanx.conformance.child import first_failure
from phalanx.conformance.naming import overload_of
from phalanx.conformance.settings import Level

from .choice import Choice, Chooser
from .mutant import Mutant

#: Seconds for one case, for all cases of a mutant, and for all cases without one.
CASE_LIMIT, RUN_LIMIT, NOTE_LIMIT = 60.0, 300.0, 3000.0
#: Stages in their order: what a mutant is tried with until it is caught.
QUICK, FULL, BITS = "quick", "full", "bits"
_HOOK = ("-p", "phalanx.conformance.mutants.hook")
_NOT_COMPILED = "does not compile"
#: A mutant that computes the same, in words.
EQUIVALENT = "equivalent"


@dataclass(frozen=True, slots=True)
class MutantTrial:
    """What the suite found of a mutant.

    ``stage`` tells in which run it was caught, empty if in none; ``case`` is the first that failed.
    ``reason`` says why it computes the same as the original, where that is known.
    """

    mutant: Mutant
    tried: tuple[str, ...]
    stage: str
    case: str
    message: str
    seconds: float
    compiled: bool = True
    reason: str = ""

    @property
    def killed(self) -> bool:
        """Whether the suite caught it."""
        return bool(self.stage)

    @property
    def counts(self) -> bool:
        """Whether it could be caught: it compiles and is not known to compute the same."""
        return self.compiled and (self.killed or not self.reason)


@dataclass(slots=True)
class MutationTest:
    """Mutants of the programs of a device. ``unused`` were drawn, but changed no program."""

    device: str
    quick: bool
    seed: int
    trials: list[MutantTrial] = field(default_factory=list)
    unused: int = 0
    seconds: float = 0.0

    @property
    def counted(self) -> list[MutantTrial]:
        """The trials that count."""
        return [trial for trial in self.trials if trial.counts]

    @property
    def survivors(self) -> list[MutantTrial]:
        """The trials of mutants that should have been caught and were not."""
        return [trial for trial in self.counted if not trial.killed]

    @property
    def kill_rate(self) -> float:
        """The part of the mutants that count that was caught, from 0 to 1."""
        counted = self.counted
        return sum(t.killed for t in counted) / len(counted) if counted else 0.0


def equivalents() -> dict[str, str]:
    """Return why a mutant computes the same, by its name."""
    text = files(__package__).joinpath("equivalents.json").read_text("utf-8")
    return {entry["name"]: entry["reason"] for entry in json.loads(text)}


def run_mutants(
    device: str,
    *,
    quick: bool,
    seed: int,
    count: int | None,
    names: tuple[str, ...] = (),
    observe: Callable[[MutantTrial], None] = lambda _: None,
    noted: Callable[[], None] = lambda: None,
) -> MutationTest:
    """Run the suite against mutants; blocks until all are done.

    Args:
        device: the device that compiles and runs them.
        quick: run the quick form of the suite alone; else what survives is tried with the full one.
        seed: of the choice, and of the suite's random values.
        count: how many mutants, ``None`` for all.
        names: of mutants; these alone if there are any.
        observe: called with each trial as it ends.
        noted: called when the programs are noted, before the first mutant.

    Raises:
        ValueError: the device compiles no such programs, fails without a mutant, or there is no
            mutant of a name.
    """
    result = MutationTest(device, quick, seed)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="phalanx-mutants-") as name:
        folder = Path(name)
        chooser = note(device, seed, folder)
        noted()
        for choice in _named(chooser, names) if names else islice(chooser.draw(), count):
            trial = try_mutant(device, choice, quick=quick, seed=seed, folder=folder)
            result.trials.append(trial)
            result.unused = chooser.unused
            observe(trial)
    result.seconds = time.perf_counter() - begin
    return result


def note(device: str, seed: int, folder: Path) -> Chooser:
    """Run the quick suite without a change, and note the programs; raises ``ValueError``."""
    options = [*_HOOK, f"--phalanx-programs={folder}", f"--phalanx-device={device}"]
    options += ["--phalanx-quick", f"--phalanx-seed={seed}"]
    try:
        case, message = first_failure(
            *options, group="ops", case_limit=CASE_LIMIT * 5, run_limit=NOTE_LIMIT
        )
    except RuntimeError as error:
        raise ValueError(f"{device} cannot be tested: {error}") from error
    if case:
        raise ValueError(f"{device} fails without a mutant, in {case}: {message}")
    chooser = Chooser.of_folder(folder, seed)
    if not chooser.programs:
        raise ValueError(
            f"{device} compiles no program from a text that could be changed; name a device whose "
            "driver does, such as opencl:0 (`phalanx devices` lists what there is)"
        )
    return chooser


def _named(chooser: Chooser, names: tuple[str, ...]) -> list[Choice]:
    wanted = set(names)
    found = [Choice(m, chooser.cases_of(m)) for m in chooser.candidates() if m.name in wanted]
    lost = wanted - {choice.mutant.name for choice in found}
    if lost:
        raise ValueError(f"no mutant of these texts is named {min(lost)!r}")
    return found


def try_mutant(device: str, choice: Choice, *, quick: bool, seed: int, folder: Path) -> MutantTrial:
    """Run the cases of a mutant: quick, then full, then against the bits of ``cpu:0``."""
    begin = time.perf_counter()
    path = folder / "mutant.json"
    path.write_text(json.dumps(choice.mutant.to_dict()), "utf-8")
    reason = equivalents().get(choice.mutant.name, "")
    stage = case = message = ""
    for stage in (QUICK,) if quick else (QUICK, FULL, BITS):
        case, message = _run(device, choice.cases, stage, seed, path)
        if case or reason:
            break
    compiled = _NOT_COMPILED not in message
    return MutantTrial(
        choice.mutant,
        choice.cases,
        stage if case and compiled else "",
        case if compiled else "",
        message,
        time.perf_counter() - begin,
        compiled,
        reason,
    )


def _run(device: str, cases: tuple[str, ...], stage: str, seed: int, path: Path) -> tuple[str, str]:
    group = "bitwise" if stage == BITS else "ops"
    if stage == BITS:
        cases = tuple(f"bitwise/bits[{overload}]" for c in cases if (overload := overload_of(c)))
    told: list[Any] = [*_HOOK, f"--phalanx-mutant={path}", f"--phalanx-device={device}"]
    told += [f"--phalanx-seed={seed}", f"--phalanx-level={Level.BITWISE.title}"]
    told += [f"--phalanx-case={case}" for case in dict.fromkeys(cases)]
    told += ["--phalanx-quick"] if stage == QUICK else []
    try:
        return first_failure(*told, group=group, case_limit=CASE_LIMIT, run_limit=RUN_LIMIT)
    except RuntimeError as error:
        # A device looks at its compiler when it is opened, and refuses one that errs.
        return f"{group}/(before the first case)", str(error)
