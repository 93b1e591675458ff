"""A run: what was measured by whom on which machine; ratios, and the JSON form."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import numpy as np

from .contestants import Contestant, NumpyPeer
from .limits import Cost, Limits
from .measure import (
    FAILURES,
    NOISY,
    Clock,
    Entry,
    LostRaceError,
    Plan,
    Timing,
    fault,
    prepare,
    race,
    settle,
)
from .ratios import median_interval, pair_ratios
from .workloads import HostArray, Operands, Workload

SCHEMA = "phalanx-bench/1"
#: The name of the fastest peer of a case in ratios.
FASTEST = "fastest"
SEED = 20250712
#: A race of at least so many seconds is not run again: a naive matrix product may take minutes.
_LONG_RACE = 60.0
#: Rounds of a brief workload, and races at most.
_BRIEF = (7, 2)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a contestant fared.

    ``status`` is ``"ok"`` with a timing, or ``"unsupported"``, ``"failed"`` or ``"wrong"`` with a
    reason.
    """

    status: str
    reason: str = ""
    timing: Timing | None = None
    #: The SHA-256 of a program's results on a device, empty elsewhere.
    digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; times are seconds per call."""
        found: dict[str, Any] = {"status": self.status}
        if self.reason:
            found["reason"] = self.reason
        if self.digest:
            found["digest"] = self.digest
        if self.timing is not None:
            found |= {
                "median": self.timing.median,
                "lowest": min(self.timing.samples),
                "spread": self.timing.spread,
                "calls": self.timing.calls,
                "samples": list(self.timing.samples),
            }
        return found


@dataclass(frozen=True, slots=True)
class Case:
    """A workload at one size, with the outcome of every contestant."""

    workload: str
    size: int
    elements: int
    expression: str
    outcomes: dict[str, Outcome]
    #: How many times the case was raced until it was not noisy; the least noisy race counts.
    races: int = 1
    cost: Cost | None = None

    def seconds(self, name: str) -> float | None:
        """Return the median of a contestant, ``None`` if it was not timed."""
        outcome = self.outcomes.get(name)
        return outcome.timing.median if outcome is not None and outcome.timing else None

    def ratio(self, device: str, peer: str, peers: Sequence[str]) -> float | None:
        """Return the median of the peer's times by the device's, round by round.

        ``FASTEST`` is the fastest of ``peers``.
        """
        names = peers if peer == FASTEST else (peer,)
        return min((median(pairs) for n in names if (pairs := self.pairs(device, n))), default=None)

    def interval(self, device: str, peers: Sequence[str]) -> tuple[float, float] | None:
        """Return between which ratios the one over the fastest of ``peers`` lies, with its noise.

        Without peers it is that of the speed, in calls per second.
        """
        known = [pairs for peer in peers if (pairs := self.pairs(device, peer))]
        if known:
            return median_interval(min(known, key=median))
        outcome = self.outcomes.get(device)
        if peers or outcome is None or outcome.timing is None:
            return None
        return median_interval([1.0 / max(s, 1e-12) for s in outcome.timing.samples])

    def pairs(self, device: str, peer: str) -> list[float]:
        """Return the peer's time by the device's of each round, nothing where one has none."""
        own, other = (self.outcomes.get(name) for name in (device, peer))
        if own is None or other is None or own.timing is None or other.timing is None:
            return []
        return pair_ratios(own.timing.samples, other.timing.samples)

    def share(self, name: str, limits: Limits | None) -> float | None:
        """Return which share of the machine's limit a contestant reaches, ``None`` if unknown."""
        taken = self.seconds(name)
        least = limits.seconds(self.cost) if limits is not None and self.cost is not None else None
        return least / taken if least is not None and taken else None

    def has_bits_of(self, device: str, other: str) -> bool | None:
        """Tell whether two devices computed the same bits, ``None`` where that is not known."""
        digests = [self.outcomes[name].digest for name in (device, other) if name in self.outcomes]
        return digests[0] == digests[-1] if len(digests) == 2 and all(digests) else None

    @property
    def spread(self) -> float:
        """The largest spread of any contestant."""
        return max((o.timing.spread for o in self.outcomes.values() if o.timing), default=0.0)


@dataclass(slots=True)
class Run:
    """All cases of one run and what they depend on."""

    devices: dict[str, dict[str, str]]
    peers: dict[str, dict[str, str]]
    missing: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    #: Which bars count: those of ``"host"`` libraries, of the peers on a device of a driver, or of
    #: ``"programs"``.
    suite: str = "host"
    #: What the machine can do at most, if that was measured.
    limits: Limits | None = None

    def other_bits(self) -> list[tuple[str, str]]:
        """Return where a device's bits are not the first one's: workload and device."""
        first = next(iter(self.devices), "")
        return [
            (case.workload, device)
            for case in self.cases
            for device in self.devices
            if case.has_bits_of(device, first) is False
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: raw samples, and the ratios drawn from them."""
        return {
            "schema": SCHEMA,
            "suite": self.suite,
            **self.machine,
            "settings": self.settings,
            "devices": self.devices,
            "peers": self.peers,
            "missing": self.missing,
            **({"limits": self.limits.to_dict()} if self.limits is not None else {}),
            "cases": [self._case(case) for case in self.cases],
        }

    def _case(self, case: Case) -> dict[str, Any]:
        peers = list(self.peers)
        found = {
            "workload": case.workload,
            "size": case.size,
            "elements": case.elements,
            "expression": case.expression,
            "races": case.races,
            "outcomes": {name: o.to_dict() for name, o in case.outcomes.items()},
            "ratios": {
                d: {p: case.ratio(d, p, peers) for p in (*peers, FASTEST)} for d in self.devices
            },
            "intervals": {d: case.interval(d, peers) for d in self.devices} if peers else {},
        }
        if case.cost is not None:
            found["cost"] = case.cost.to_dict()
            found["shares"] = {name: case.share(name, self.limits) for name in case.outcomes}
        return found


def from_dict(data: Any) -> Run:
    """Read the JSON form.

    Raises:
        ValueError: not one of ours, or of another version.
    """
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMA:
        raise ValueError(f"no result of `phalanx bench --json` (schema {found!r}, need {SCHEMA!r})")
    try:
        cases = [
            Case(
                str(case["workload"]),
                int(case["size"]),
                int(case["elements"]),
                str(case["expression"]),
                {name: _outcome(value) for name, value in case["outcomes"].items()},
                int(case.get("races", 1)),
                Cost.from_dict(case["cost"]) if "cost" in case else None,
            )
            for case in data["cases"]
        ]
        machine = {
            key: data[key] for key in ("date", "packages", "hardware", "system") if key in data
        }
        return Run(
            data["devices"],
            data["peers"],
            data["missing"],
            machine,
            data["settings"],
            cases,
            str(data.get("suite", "host")),
            Limits.from_dict(data["limits"]) if "limits" in data else None,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"damaged result of `phalanx bench --json`: {error!r}") from error


def runs_from_dict(data: Any) -> list[Run]:
    """Read the JSON form of a run with the further ones in it; raises as `from_dict`."""
    first = from_dict(data)
    further = data.get("further", [])
    if not isinstance(further, list):
        raise ValueError("damaged result of `phalanx bench --json`: 'further' is no list")
    return [first, *map(from_dict, further)]


def _outcome(data: dict[str, Any]) -> Outcome:
    timing = None
    if data.get("samples"):
        timing = Timing(int(data["calls"]), tuple(float(s) for s in data["samples"]))
    reason, digest = (str(data.get(key, "")) for key in ("reason", "digest"))
    return Outcome(str(data["status"]), reason, timing, digest)


def measure_case(
    work: Workload,
    size: int,
    contestants: Sequence[Contestant],
    plan: Plan,
    *,
    advance: Callable[[float], None] | None = None,
    clock: Clock = time.perf_counter,
    rest: Callable[[], None] = settle,
) -> Case:
    """Check what every contestant computes, then time those that are right; frees all afterwards.

    What is right is what NumPy computes, whether it takes part or not.
    """
    if work.is_brief:
        repeats, attempts = _BRIEF
        plan = replace(
            plan, repeats=min(plan.repeats, repeats), attempts=min(plan.attempts, attempts)
        )
    operands = work.operands(size, np.random.default_rng([SEED, size]))
    reference = NumpyPeer()
    want = np.asarray(prepare(work, reference, operands, clock).once())
    outcomes: dict[str, Outcome] = {}
    entries: list[Entry] = []
    for contestant in contestants:
        admitted = _admit(work, contestant, operands, want, clock)
        if isinstance(admitted, Entry):
            entries.append(admitted)
        else:
            outcomes[contestant.name] = admitted
    moved = work.moves(size) if work.moves else want.nbytes + sum(x.nbytes for x in operands)
    cost = Cost(moved, work.flops(size) if work.flops else 0.0, want.dtype.name)
    del operands, want
    raced, races = run_race(entries, plan, rest, advance)
    gc.collect()
    for contestant in contestants:
        contestant.release()
    outcomes |= raced
    return Case(work.name, size, work.elements(size), work.expression, outcomes, races, cost)


def run_race(
    entries: list[Entry],
    plan: Plan,
    rest: Callable[[], None],
    advance: Callable[[float], None] | None,
) -> tuple[dict[str, Outcome], int]:
    """Time the entries and release them; return the outcomes, and how many races it took.

    Who fails leaves the race, and it begins anew. A noisy one is run again, ``plan.attempts`` times
    in all unless it lasts longer than a minute; the least noisy counts, whatever its ratios.
    """
    outcomes: dict[str, Outcome] = {}
    races: list[dict[str, Timing]] = []
    while entries and len(races) < plan.attempts:
        try:
            races.append(race(entries, plan, rest, None if races else advance))
        except LostRaceError as lost:
            outcomes[lost.name] = Outcome("failed", line_of(lost.__cause__ or lost))
            entries[:] = [entry for entry in entries if entry.contestant.name != lost.name]
            races.clear()
            continue
        if _spread(races[-1]) <= NOISY or _seconds(races[-1]) > _LONG_RACE:
            break
    entries.clear()
    calmest = min(races, key=_spread, default={})
    outcomes |= {name: Outcome("ok", timing=timing) for name, timing in calmest.items()}
    return outcomes, max(len(races), 1)


def _seconds(timings: dict[str, Timing]) -> float:
    return sum(timing.calls * sum(timing.samples) for timing in timings.values())


def _spread(timings: dict[str, Timing]) -> float:
    return max(timing.spread for timing in timings.values())


def _admit(
    work: Workload, contestant: Contestant, operands: Operands, want: HostArray, clock: Clock
) -> Entry | Outcome:
    """Make a contestant ready if it computes what it should; else say why not."""
    if reason := work.lacks.get(contestant.family):
        return Outcome("unsupported", reason)
    try:
        entry = prepare(work, contestant, operands, clock)
        with contestant.scope():
            got = contestant.to_numpy(entry.once())
    except NotImplementedError as error:
        return Outcome("unsupported", line_of(error))
    except FAILURES as error:
        return Outcome("failed", line_of(error))
    wrong = fault(got, want, work.has_values)
    return Outcome("wrong", wrong) if wrong else entry


def line_of(error: BaseException) -> str:
    """Return an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
