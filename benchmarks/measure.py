"""How time is measured: samples of all contestants interleaved, after a check of their results."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from statistics import median, quantiles
from typing import Any

import numpy as np
from phalanx.errors import PhalanxError

from .contestants import Contestant
from .workloads import HostArray, Operands, Workload

Clock = Callable[[], float]
Loop = Callable[[int], float]
#: A call of at least so many seconds brings its own warm-up.
_LONG_CALL = 0.02
#: A call of at least so many seconds is not timed anew to plan the rounds.
_VERY_LONG_CALL = 1.0
#: On a busy machine a thread waits for its core for some scheduler ticks: 4 to 20 ms were seen.
_INTERRUPTION = 0.05
#: Seconds after which the kernel has counted what a thread on another core used: Linux does so at
#: the ticks of its scheduler, every 1 to 10 ms.
_TICKS = 0.012
#: A spread above this is noise: the machine was busy.
NOISY = 0.15
#: Relative and absolute tolerance of results: float32 sums in another order (Higham 2002, section
#: 4.2: at most about log2(n) roundings for pairwise sums) lie far inside, a wrong element does not.
TOLERANCE = (2e-5, 1e-5)
#: What a contestant that cannot compute something raises; the tree of Phalanx hangs on the first.
FAILURES = (
    PhalanxError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)

_LOOP = """
def sample(calls):
    begin = clock()
    for _ in repeat(None, calls):
        {expression}
    {end}

def once():
    return {expression}
"""
#: How a sample ends, by whether the wait for the device counts.
_END = {
    True: "synchronize(); return clock() - begin",
    False: "taken = clock() - begin; synchronize(); return taken",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to measure: a sample lasts ``sample_seconds`` or one call, whichever is longer.

    There are ``repeats`` rounds, or fewer if a case would last longer than ``case_seconds``, but
    never less than ``least_repeats``. A noisy case is raced again, ``attempts`` times in all.
    """

    repeats: int = 21
    least_repeats: int = 5
    sample_seconds: float = 1e-3
    case_seconds: float = 5.0
    attempts: int = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """Samples of one contestant in the order taken: seconds per call, each over ``calls`` calls."""

    calls: int
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the samples, in seconds."""
        return median(self.samples)

    @property
    def spread(self) -> float:
        """The interquartile range as a share of the median."""
        if len(self.samples) < 2 or self.median == 0.0:
            return 0.0
        low, _, high = quantiles(self.samples, n=4, method="inclusive")
        return (high - low) / self.median


class LostRaceError(Exception):
    """A contestant failed while it was timed; the cause is attached."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} failed while it was timed")
        self.name = name


@dataclass(frozen=True, slots=True)
class Entry:
    """A workload made ready for one contestant: ``once`` computes, ``sample`` times many calls."""

    contestant: Contestant
    once: Callable[[], Any]
    sample: Loop


def prepare(work: Workload, contestant: Contestant, operands: Operands, clock: Clock) -> Entry:
    """Copy the operands to a contestant and compile its loop.

    The loop is text, as in ``timeit``, since the call of a function would cost about as much as the
    dispatch that is to be timed.
    """
    names: dict[str, Any] = {
        "xp": contestant.xp,
        "clock": clock,
        "repeat": repeat,
        "synchronize": contestant.synchronize,
    }
    with contestant.scope():
        values = (contestant.array(operand) for operand in operands)
        names.update(zip("abc", values, strict=False))
        exec(work.setup.get(contestant.family, ""), names)  # noqa: S102 - a row of a table of ours
    source = _LOOP.format(expression=work.expression_for(contestant.family), end=_END[work.waits])
    exec(compile(source, f"<{work.name}>", "exec"), names)  # noqa: S102 - a row of workloads.py
    return Entry(contestant, names["once"], names["sample"])


def fault(
    got: HostArray,
    want: HostArray,
    has_values: bool = True,
    tolerance: tuple[float, float] = TOLERANCE,
) -> str:
    """Return what is wrong with a result, empty if nothing is."""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if not has_values or np.allclose(got, want, *tolerance, equal_nan=True):
        return ""
    far = np.asarray(np.abs(got - 1.0 * want) - tolerance[0] * np.abs(want))
    far[np.isnan(far)] = np.inf
    place = np.unravel_index(int(np.argmax(far)), far.shape)
    index = [int(i) for i in place]
    return f"{got[place]!r} at {index}, expected {want[place]!r}"


def autorange(sample: Loop, seconds: float) -> int:
    """Return how many calls make a sample of at least ``seconds``.

    The quickest of three samples decides, lest one that was interrupted passes for long; for calls
    far longer than an interruption one sample is enough.
    """
    calls = 1
    while True:
        taken = sample(calls)
        for _ in range(2):
            if seconds <= taken < _INTERRUPTION:
                taken = min(taken, sample(calls))
        if taken >= seconds:
            return calls
        aim = seconds / taken if taken > 0.0 else math.inf
        calls = math.ceil(calls * min(max(1.2 * aim, 1.5), 10.0))


def settle(limit: float = 2.0) -> None:
    """Wait until no thread of this process computes: those of OpenBLAS spin for up to 0.6 s.

    Otherwise the threads of one contestant take a core from the next. ``limit`` is in seconds.
    """
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(_TICKS)
        if time.process_time() - before < 0.2 * _TICKS:
            return


@contextmanager
def _running(entry: Entry, rest: Callable[[], None]) -> Iterator[str]:
    """Let an entry run alone: after a rest, in its scope, without garbage collection."""
    rest()
    collects = gc.isenabled()
    gc.disable()
    try:
        with entry.contestant.scope():
            yield entry.contestant.name
    except FAILURES as error:
        raise LostRaceError(entry.contestant.name) from error
    finally:
        if collects:
            gc.enable()


def race(
    entries: Sequence[Entry],
    plan: Plan,
    rest: Callable[[], None] = settle,
    advance: Callable[[float], None] | None = None,
) -> dict[str, Timing]:
    """Time all entries in rounds, A B C A B C ..., and return the timings by contestant.

    A noise that lasts longer than a round meets all of them. ``rest`` runs before each sample;
    ``advance`` is told the share of the case that was done since.

    Raises:
        LostRaceError: a contestant failed.
    """
    calls: dict[str, int] = {}
    costs: dict[str, float] = {}
    for entry in entries:
        with _running(entry, rest) as name:
            calls[name], costs[name] = 1, entry.sample(1)
            if costs[name] < _VERY_LONG_CALL:
                calls[name] = autorange(entry.sample, plan.sample_seconds)
                costs[name] = entry.sample(calls[name])
    fitting = int(plan.case_seconds / max(sum(costs.values()), 1e-9))
    rounds = min(plan.repeats, max(plan.least_repeats, fitting))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for entry in entries:
            with _running(entry, rest) as name:
                if costs[name] / calls[name] < _LONG_CALL:
                    entry.sample(1)  # brings its operands back into the caches
                samples[name].append(entry.sample(calls[name]) / calls[name])
            if advance is not None:
                advance(1.0 / (rounds * len(entries)))
    return {name: Timing(calls[name], tuple(taken)) for name, taken in samples.items()}
