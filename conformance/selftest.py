"""Runs the suite against devices that lie, each in a process of its own, and counts the caught."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from .child import first_failure
from .faults import FAULTS, NONE, UNUSUAL, Fault, Unusual
from .settings import DEFAULT_SEED, GROUP_LEVELS, Level, unknown

#: Groups whose cases are about an overload each, so that an op chooses among them.
_OF_OVERLOADS = ("ops", "determinism", "bitwise")
#: Devices that are tested at the same time.
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """What the suite found of one faulty device.

    ``case`` is the first that failed, empty if the fault survived; ``message`` is its first line.
    ``expected`` tells that the case is of the group where the fault was expected to be seen.
    """

    fault: str
    summary: str
    group: str
    case: str
    message: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether the suite caught the fault."""
        return bool(self.case)

    @property
    def expected(self) -> bool:
        """Whether it did so in the group where one would expect it."""
        return self.case.partition("/")[0] == self.group


@dataclass(slots=True)
class SelfTest:
    """A self-test: a trial of each fault, and of the sound devices, which must not be caught.

    ``interrupted`` tells that Ctrl-C ended it, and only those are there that were done.
    """

    quick: bool
    seed: int
    trials: list[Trial] = field(default_factory=list)
    sound: list[Trial] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def killed(self) -> int:
        """How many faults were caught."""
        return sum(trial.killed for trial in self.trials)

    @property
    def survivors(self) -> list[Trial]:
        """The trials of the faults that were not caught."""
        return [trial for trial in self.trials if not trial.killed]

    @property
    def kill_rate(self) -> float:
        """The part of the faults that was caught, from 0 to 1."""
        return self.killed / len(self.trials) if self.trials else 0.0

    @property
    def sound_passes(self) -> bool:
        """Whether the sound device passed with every seed, and the unusual ones once."""
        return not any(trial.killed for trial in self.sound)


def run_self_test(
    *,
    quick: bool,
    seed: int = DEFAULT_SEED,
    names: Iterable[str] = (),
    sound_runs: int = 1,
    at_once: int = AT_ONCE,
    observe: Callable[[Trial], None] = lambda _: None,
) -> SelfTest:
    """Run the suite against faulty devices; blocks until all are done or Ctrl-C is pressed.

    Args:
        quick: run the quick form of the suite.
        seed: of the suite's random values.
        names: of faults, or of devices that are sound and unusual; all if empty.
        sound_runs: how often the sound device is tested, each time with another seed.
        at_once: how many devices are tested at the same time.
        observe: called in this thread with each trial as it ends.

    Raises:
        ValueError: no such fault.
        RuntimeError: pytest failed before the first case, which says nothing of the device.
    """
    names = tuple(names) or (*FAULTS, *UNUSUAL)
    lost = [name for name in names if name not in FAULTS and name not in UNUSUAL]
    if lost:
        raise ValueError(unknown("fault", lost[0], (*FAULTS, *UNUSUAL)))
    faults = [FAULTS[name] for name in names if name in FAULTS]
    unusual = [UNUSUAL[name] for name in names if name in UNUSUAL]
    result = SelfTest(quick, seed)
    begin = time.perf_counter()
    done: list[Future[Trial]] = []
    with ThreadPoolExecutor(at_once) as threads:
        sound = [threads.submit(_try_sound, quick, seed + i) for i in range(sound_runs)]
        sound += [threads.submit(_try_unusual, one, quick, seed) for one in unusual]
        faulty = [threads.submit(_try, fault, quick, seed) for fault in faults]
        try:
            for future in as_completed([*sound, *faulty]):
                done.append(future)
                observe(future.result())
        except KeyboardInterrupt:
            result.interrupted = True
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        result.sound = [future.result() for future in sound if future in done]
        result.trials = [future.result() for future in faulty if future in done]
    result.seconds = time.perf_counter() - begin
    return result


def _try_sound(quick: bool, seed: int) -> Trial:
    begin = time.perf_counter()
    case, message = _run(NONE, Level.BITWISE, quick, seed)
    seconds = time.perf_counter() - begin
    return Trial(NONE, f"the sound device, seed {seed}", "", case, message, seconds)


def _try_unusual(unusual: Unusual, quick: bool, seed: int) -> Trial:
    """Run all cases up to the level that the device passes; none may fail."""
    begin = time.perf_counter()
    case, message = _run(unusual.name, unusual.level, quick, seed)
    seconds = time.perf_counter() - begin
    return Trial(unusual.name, unusual.summary, "", case, message, seconds)


def _try(fault: Fault, quick: bool, seed: int) -> Trial:
    """Run what should see the fault first, then all."""
    begin = time.perf_counter()
    # The bits of cpu:0 would give away what the references must find by themselves.
    level = max(Level.ARRAY_API, GROUP_LEVELS[fault.group])
    ops = [f"--phalanx-op={op}" for op in fault.ops if fault.group in _OF_OVERLOADS]
    case, message = _run(fault.name, level, quick, seed, fault.group, *ops)
    if not case:
        case, message = _run(fault.name, level, quick, seed)
    seconds = time.perf_counter() - begin
    return Trial(fault.name, fault.summary, fault.group, case, message, seconds)


def _run(
    name: str, level: Level, quick: bool, seed: int, group: str = "", *options: str
) -> tuple[str, str]:
    """Run the suite, or a group of it, up to the first failure; see `first_failure`."""
    told = [f"--phalanx-fault={name}", f"--phalanx-level={level.title}", f"--phalanx-seed={seed}"]
    told += ["--phalanx-quick"] if quick else []
    return first_failure(*told, *options, group=group)
