"""Runs the suite against mutants, each in a process of its own, and counts the caught."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, Protocol

from phalanx.conformance.child import first_failure
from phalanx.conformance.naming import overload_of

from .choice import Choice, Chooser
from .crew import BEFORE, Change, Crew, Order
from .journal import Journal
from .library_choice import LibraryChooser
from .mutant import Mutant
from .trial import SHOWN, MutantTrial, MutationTest, equivalents

#: Stages in their order: what a mutant is tried with until it is caught.
QUICK, FULL, BITS = "quick", "full", "bits"
#: Seconds for one case and for all of them without a mutant, and in each stage of one.
NOTE_CASE_LIMIT, NOTE_LIMIT = 300.0, 3000.0
RUN_LIMIT = 60.0
_SOUND = (300.0, 300.0)
#: Names for all that survived so far in a folder, which are tried again, and for all that were
#: tried, which are not.
SURVIVED, TRIED = "survived", "tried"
_TRIALS = "trials.jsonl"
_HOOK = ("-p", "phalanx.conformance.mutants.hook")
_NOT_COMPILED = "does not compile"


class Source(Protocol):
    """Where mutants of a kind come from, in the order of a seed."""

    #: Seconds for one case, beyond which it hangs.
    case_limit: ClassVar[float]
    #: Whether the last stage compares bits with ``cpu:0``.
    compares_bits: ClassVar[bool]

    def candidates(self) -> Iterator[Mutant]:
        """Yield all of them."""

    def choice(self, mutant: Mutant, *, again: bool = False) -> Choice | None:
        """Return the cases that can see one, ``None`` if it changes nothing that runs.

        One that is tried ``again``, as it is named, may take longer.
        """


def run_mutants(
    device: str,
    *,
    quick: bool,
    seed: int,
    count: int | None,
    names: tuple[str, ...] = (),
    of: tuple[str, ...] = (),
    folder: Path | None = None,
    run_limit: float = RUN_LIMIT,
    observe: Callable[[MutantTrial], None] = lambda _: None,
    noted: Callable[[], None] = lambda: None,
) -> MutationTest:
    """Run the suite against mutants; blocks until all are done.

    Args:
        device: the device that runs them: one that compiles kernels from texts, whose texts are
            changed, or ``cpu:0``, for which the sources of its library are.
        quick: run the quick form of the suite alone; else what survives is tried with the full one.
        seed: of the choice, and of the suite's random values.
        count: how many mutants, ``None`` for all.
        names: of mutants; these alone if there are any, and again if the folder knows them.
            `SURVIVED` stands for those that survived in the folder; `TRIED` for all that it has,
            and then nothing is run.
        of: patterns of files, such as ``core/scalar/*``; their mutants alone if there are any.
        folder: keeps what was noted and the trials; what is there is not done again.
        run_limit: seconds for the cases of a mutant in each stage; then no further case is begun.
        observe: called with each trial as it ends.
        noted: called when all is noted, before the first mutant.

    Raises:
        ValueError: the device compiles no such programs, fails without a mutant, has no sources or
            compiler here, or there is no mutant of a name.
    """
    result = MutationTest(device, quick, seed)
    begin = time.perf_counter()
    if TRIED in names:
        if folder is None or not (folder / _TRIALS).exists():
            raise ValueError("there is no folder with trials: name it with --mutants-folder")
        journal = Journal(folder / _TRIALS)
        return MutationTest(device, quick, seed, journal.trials(), journal.unused)
    with _place(folder) as place, _crew(device, seed) as crew:
        source = source_of(device, seed, place, crew)
        noted()
        journal = Journal(place / _TRIALS)
        again = SURVIVED in names
        if again:
            known = set(journal.survived())
            names = tuple(m.name for m in source.candidates() if m.name in known)
        for mutant in _named(source, names) if names or again else source.candidates():
            if count is not None and len(result.trials) >= count and not names:
                break
            if of and not any(fnmatchcase(mutant.text, pattern) for pattern in of):
                continue
            if names or mutant not in journal:
                choice = source.choice(mutant, again=bool(names))
                tried = None
                if choice is not None:
                    tried = try_mutant(crew, source, choice, quick=quick, run_limit=run_limit)
                journal.add(mutant, tried)
            trial = journal[mutant]
            if trial is None:
                result.unused += 1
                continue
            result.trials.append(trial)
            observe(trial)
    result.seconds = time.perf_counter() - begin
    return result


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="phalanx-mutants-") as name:
        yield Path(name)


@contextmanager
def _crew(device: str, seed: int) -> Iterator[Crew]:
    if not hasattr(os, "fork"):
        raise ValueError("mutants are tried in processes that fork, which this system has not")
    try:
        with Crew(device, seed) as crew:
            yield crew
    except RuntimeError as error:
        raise ValueError(f"{device} cannot be tested: {error}") from error


def source_of(device: str, seed: int, folder: Path, crew: Crew) -> Source:
    """Return the mutants of the library or of the programs of a device; raises ``ValueError``."""
    import phalanx as px
    from phalanx.device_plugins.cpu import best_library

    if device in map(str, px.devices("cpu")[:1]):
        isa = best_library().path.name.partition(".")[0].removeprefix("_cpu_")
        return LibraryChooser.of_folder(folder, isa, seed, crew)
    return note(device, seed, folder)


def note(device: str, seed: int, folder: Path) -> Chooser:
    """Run the quick suite without a change, and note the programs; raises ``ValueError``."""
    done = folder / "noted"
    if done.exists():
        return Chooser.of_folder(folder, seed)
    options = [*_HOOK, f"--phalanx-programs={folder}", f"--phalanx-device={device}"]
    options += ["--phalanx-quick", f"--phalanx-seed={seed}"]
    try:
        case, message = first_failure(
            *options, group="ops", case_limit=NOTE_CASE_LIMIT, run_limit=NOTE_LIMIT
        )
    except RuntimeError as error:
        raise ValueError(f"{device} cannot be tested: {error}") from error
    if case:
        raise ValueError(f"{device} fails without a mutant, in {case}: {message}")
    chooser = Chooser.of_folder(folder, seed)
    if not chooser.programs:
        raise ValueError(
            f"{device} compiles no program from a text that could be changed; name a device whose "
            "driver does, such as opencl:0, or cpu:0 (`phalanx devices` lists what there is)"
        )
    done.touch()
    return chooser


def _named(source: Source, names: tuple[str, ...]) -> list[Mutant]:
    wanted = set(names)
    found = [mutant for mutant in source.candidates() if mutant.name in wanted]
    lost = wanted - {mutant.name for mutant in found}
    if lost:
        raise ValueError(f"no mutant of these texts is named {min(lost)!r}")
    return found


def try_mutant(
    crew: Crew, source: Source, choice: Choice, *, quick: bool, run_limit: float = RUN_LIMIT
) -> MutantTrial:
    """Run the cases of a mutant: quick, then full, then against the bits of ``cpu:0``."""
    begin = time.perf_counter()
    known = choice.mutant.name in equivalents()
    stage = case = ""
    message, partial = choice.message, False
    stages = (QUICK,) if quick else (QUICK, FULL, BITS) if source.compares_bits else (QUICK, FULL)
    for stage in stages if choice.cases else ():
        answer = crew.run(_order(choice, stage, source.case_limit, run_limit))
        case, message, partial = answer.case, answer.message, answer.partial
        if case == BEFORE and crew.run(Order(Change(), choice.cases[:1], True, *_SOUND)).case:
            raise ValueError(f"the suite does not run without a mutant either: {message}")
        if answer.hung and crew.run(_again(source, case, stage)).case:
            case, message, partial = "", "", True  # the machine is so slow, not the mutant
        if case or known:
            break
    compiled = _NOT_COMPILED not in message
    return MutantTrial(
        choice.mutant,
        choice.cases[:SHOWN],
        stage if case and compiled else "",
        case if compiled else "",
        message,
        time.perf_counter() - begin,
        compiled,
        len(choice.cases),
        partial,
        full=bool(choice.cases) and stage not in ("", QUICK),
    )


def _again(source: Source, case: str, stage: str) -> Order:
    """Return the order to run a case that hung without a mutant, in half the time."""
    return Order(Change(), (case,), stage == QUICK, source.case_limit / 2, source.case_limit)


def _order(choice: Choice, stage: str, case_limit: float, run_limit: float) -> Order:
    cases = choice.cases
    if stage == BITS:
        overloads = filter(None, map(overload_of, cases))
        cases = tuple(dict.fromkeys(f"bitwise/bits[{overload}]" for overload in overloads))
    return Order(choice.change, cases, stage == QUICK, case_limit, run_limit)
