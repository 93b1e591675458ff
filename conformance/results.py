"""All outcomes of one run, what they certify, and the same as JSON."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from phalanx.discovery.declarations import ExpectedFailure, Pattern, Unsupported

from . import SUITE_VERSION, coverage
from .coverage import Coverage
from .description import Description
from .outcome import Outcome, Verdict
from .required import lacking
from .settings import VENDOR, Level, Settings

FORMAT = 1


@dataclass(slots=True)
class Results:
    """One run: what was asked, of which device, and what came out.

    ``partial`` tells why the run is not complete, and is empty if it is. ``started`` is ISO 8601 in
    UTC; ``seconds`` the time of the whole run.
    """

    settings: Settings
    description: Description
    outcomes: list[Outcome] = field(default_factory=list)
    started: str = ""
    seconds: float = 0.0
    partial: str = ""
    workers: int = 1

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes that speak against the device."""
        return [o for o in self.outcomes if o.failed]

    @property
    def narrowed(self) -> bool:
        """Whether the run left out cases that a certificate needs."""
        return self.settings.narrowed

    def passes(self, level: Level) -> bool:
        """Tell whether a device passes a level.

        All cases up to it ran, none of them failed or is known to fail, and the device has what the
        level requires.
        """
        there = any(Level.named(o.level) == level for o in self.outcomes)
        whole = not self.partial and not self.narrowed
        return there and whole and not self.held_against(level) and not self.lacking(level)

    def held_against(self, level: Level) -> list[Outcome]:
        """Return the outcomes that keep a device from a level: failures, be they known or not."""
        return [
            o
            for o in self.outcomes
            if Level.named(o.level) <= level and (o.failed or o.verdict is Verdict.EXPECTED)
        ]

    def lacking(self, level: Level) -> list[str]:
        """Name what a level requires and the device has not, whatever is declared of it.

        That is overloads (see `required`) and our own cases that are about no single overload.
        """
        served = coverage.served(self.description.coverage)
        return lacking(level, served, coverage.outside(self.profile)) + [
            o.case
            for o in self.outcomes
            if o.verdict is Verdict.UNSUPPORTED
            and not o.op
            and o.group != VENDOR
            and Level.named(o.level) <= level
        ]

    @property
    def profile(self) -> str:
        """``full``, or the dtypes in which the device does not compute: ``no-fp64``, ..."""
        return coverage.profile_of(self.description.coverage)

    @property
    def coverage(self) -> Coverage:
        """How the device serves each overload, and which of them were waived or wrong."""
        return coverage.judged(self.description.coverage, self.outcomes)

    @property
    def headline(self) -> str:
        """The level and the coverage in a line."""
        return coverage.headline(
            self.description.device,
            self.certified.title if self.certified else "no level",
            self.profile,
            self.coverage,
            quick=self.settings.quick,
        )

    @property
    def certified(self) -> Level | None:
        """The highest level that the device passes whole."""
        return max(
            (lv for lv in Level if lv <= self.settings.level and self.passes(lv)), default=None
        )

    def unused(self) -> list[str]:
        """Name the declarations that no case of a whole run fits.

        They have a typing error, or are for an op or a case that is no more.
        """
        if self.partial or self.narrowed or self.settings.level < Level.ARRAY_API:
            return []
        declared = self.description.declared
        patterns: list[Pattern] = [Unsupported(**p) for p in declared.get("unsupported", ())]
        patterns += [ExpectedFailure(**p) for p in declared.get("expected_failures", ())]
        keys = [(o.case, o.op, o.dtypes) for o in self.outcomes]
        found = [p for p in patterns if not any(p.matches(*key) for key in keys)]
        return [
            f"{type(p).__name__}(op={p.op!r}, dtype={p.dtype!r}, case={p.case!r}): {p.reason}"
            for p in found
        ]

    @property
    def waived(self) -> list[Outcome]:
        """The outcomes that a waiver saved."""
        return [o for o in self.outcomes if o.waiver]

    def counts(self, group: str = "") -> Counter[Verdict]:
        """Count the verdicts, of one group or of all."""
        return Counter(o.verdict for o in self.outcomes if group in ("", o.group))

    def fallbacks(self) -> list[dict[str, Any]]:
        """Return what ran elsewhere, summed over the cases."""
        total: dict[tuple[str, str, str], list[int]] = {}
        for op, dtypes, where, calls, moved in (f for o in self.outcomes for f in o.fallbacks):
            sums = total.setdefault((op, dtypes, where), [0, 0])
            sums[0] += calls
            sums[1] += moved
        return [
            {"op": op, "dtypes": dtypes, "ran_on": where, "calls": calls, "bytes_moved": moved}
            for (op, dtypes, where), (calls, moved) in sorted(total.items())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "format": FORMAT,
            **versions(),
            "settings": self.settings.to_dict(),
            "device": asdict(self.description),
            "started": self.started,
            "seconds": round(self.seconds, 3),
            "workers": self.workers,
            "partial": self.partial,
            "narrowed": self.narrowed,
            "certified": self.certified.title if self.certified else "",
            "profile": self.profile,
            "headline": self.headline,
            "lacking": {lv.title: self.lacking(lv) for lv in Level if lv <= self.settings.level},
            "counts": {v.value: n for v, n in self.counts().items()},
            "fallbacks": self.fallbacks(),
            "waivers": [o.case for o in self.waived],
            "unused_declarations": self.unused(),
            "outcomes": [o.to_dict() for o in self.outcomes],
        }


def versions() -> dict[str, str]:
    """Return what the suite and the core are."""
    from phalanx.version import __version__

    return {"suite": SUITE_VERSION, "core": __version__, "op_table": op_table_hash()}


def op_table_hash() -> str:
    """Return a digest of all that the op table promises."""
    from phalanx.optable import OPS

    rows = [
        [
            row.name,
            row.structure.value,
            [str(s) for s in row.signatures],
            sorted(row.bound.ulp.items()),
            row.order,
            row.special,
            row.determinism.value,
        ]
        for row in OPS.values()
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def groups_of(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the groups that have outcomes, in the order of their first ones."""
    return list(dict.fromkeys(o.group for o in outcomes))
