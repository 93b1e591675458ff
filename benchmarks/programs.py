"""Whole programs instead of expressions: those of ``phalanx.examples``, by every contestant.

Devices are compared in their bits besides: a SHA-256 of what each computes stands in its outcome.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module, metadata
from typing import Any

import numpy as np
from phalanx.examples import PROGRAMS
from phalanx.examples.harness import Data, Program, chosen_devices, digest, find

from .contestants import PEERS, Contestant, PhalanxContestant, TorchPeer, open_peers
from .measure import FAILURES, Clock, Entry, Plan, fault, settle
from .results import Case, Outcome, line_of, run_race
from .suites import Opened, Suite
from .workloads import HostArray


class StandardTorchPeer(TorchPeer):
    """PyTorch on the CPU under the names of the standard, which array-api-compat gives."""

    def __init__(self) -> None:
        """Import both.

        Raises:
            ImportError: one is not installed, or does not load.
        """
        super().__init__()
        self.xp = import_module("array_api_compat.torch")

    def about(self) -> dict[str, str]:
        """Return what is told of PyTorch, and the version of array-api-compat."""
        return super().about() | {"array-api-compat": metadata.version("array-api-compat")}


class ProgramSuite(Suite):
    """Devices that run the programs, and the host libraries that run them too."""

    def open(self) -> Opened:
        """Open devices and peers; tells in ``missing`` which peers there are not.

        Raises:
            DeviceError: a device does not open.
        """
        known = PEERS | {"torch": (StandardTorchPeer, PEERS["torch"][1])}
        rivals, self.missing = open_peers(self.peers, known)
        return [PhalanxContestant(device.name) for device in self.devices], rivals


def program_suite(devices: Sequence[str], peers: Sequence[str]) -> ProgramSuite:
    """Return the suite of named devices and peers; nothing named means all that there are.

    ``cpu:0`` takes part in any case where it is there: the others must have its bits.

    Raises:
        DeviceNotFoundError: there is none of a name.
    """
    from phalanx.discovery.devices import find_device

    found = [find_device(name) for name in chosen_devices(devices)]
    return ProgramSuite("programs", found, [name for name in PEERS if not peers or name in peers])


def chosen_programs(names: Iterable[str]) -> list[str]:
    """Return the programs that have one of the parts of names in theirs; all without a part."""
    parts = [name.lower() for name in names] or [""]
    return [name for name in PROGRAMS if any(part in name for part in parts)]


def measure_program(
    name: str,
    contestants: Sequence[Contestant],
    plan: Plan,
    *,
    advance: Callable[[float], None] | None = None,
    clock: Clock = time.perf_counter,
    rest: Callable[[], None] = settle,
) -> Case:
    """Check what every contestant computes, then time those that are right; frees all afterwards.

    What is right is what NumPy computes, within the program's tolerance.

    Raises:
        ImportError: a package that brings the program's data is missing.
    """
    program = find(name)
    data = program.data()
    want = [np.asarray(x) for x in program.compute(np, **data)]
    outcomes: dict[str, Outcome] = {}
    entries: list[Entry] = []
    digests: dict[str, str] = {}
    for contestant in contestants:
        try:
            entry = prepare_program(program, contestant, data, clock)
            with contestant.scope():
                got = [contestant.to_numpy(x) for x in entry.once()]
        except NotImplementedError as error:
            outcomes[contestant.name] = Outcome("unsupported", line_of(error))
        except FAILURES as error:
            outcomes[contestant.name] = Outcome("failed", line_of(error))
        else:
            if wrong := _fault(program, got, want):
                outcomes[contestant.name] = Outcome("wrong", wrong)
            else:
                entries.append(entry)
            if isinstance(contestant, PhalanxContestant):
                digests[contestant.name] = digest(got)
    raced, races = run_race(entries, plan, rest, advance)
    outcomes |= raced
    gc.collect()
    for contestant in contestants:
        contestant.release()
    elements = sum(values.size for values in data.values())
    told = {key: replace(o, digest=digests.get(key, "")) for key, o in outcomes.items()}
    return Case(name, elements, elements, f"phalanx.examples.{name}", told, races)


def prepare_program(program: Program, contestant: Contestant, data: Data, clock: Clock) -> Entry:
    """Copy the data to a contestant; a run of the program is one call."""
    with contestant.scope():
        arrays = {name: contestant.array(values) for name, values in data.items()}

    def once() -> tuple[Any, ...]:
        return program.compute(contestant.xp, **arrays)

    def sample(calls: int) -> float:
        begin = clock()
        for _ in range(calls):
            once()
        contestant.synchronize()
        return clock() - begin

    return Entry(contestant, once, sample)


def _fault(program: Program, got: Sequence[HostArray], want: Sequence[HostArray]) -> str:
    """Return what is wrong with the first result that is, empty if none is."""
    if len(got) != len(want):
        return f"{len(got)} results, expected {len(want)}"
    faults = (
        f"result {place}: {found}"
        for place, pair in enumerate(zip(got, want, strict=True))
        if (found := fault(*pair, tolerance=program.tolerance))
    )
    return next(faults, "")
