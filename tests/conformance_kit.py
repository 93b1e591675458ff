"""Results of the conformance suite as if it had been run, for the tests of its reports."""

from __future__ import annotations

from typing import Any

from phalanx.conformance.coverage import Coverage
from phalanx.conformance.description import Description
from phalanx.conformance.outcome import Outcome, Verdict
from phalanx.conformance.required import required
from phalanx.conformance.results import Results
from phalanx.conformance.settings import Level, Settings
from phalanx.optable import OPS


def native(level: Level) -> Coverage:
    """A device that has what a level requires, and nothing else."""
    found: Coverage = {op: {"unsupported": []} for op in OPS}
    for row in OPS.values():
        for signature in row.signatures:
            way = "native" if (row.name, signature.dtypes) in required(level) else "unsupported"
            found[row.name].setdefault(way, []).append(",".join(signature.dtypes))
    return found


def results(*verdicts: Verdict, level: Level = Level.CORE, **fields: Any) -> Results:
    outcomes = [
        Outcome(f"ops/case{i}", "ops", lv, verdict)
        for i, verdict in enumerate(verdicts)
        for lv in ("runtime", "core")
    ]
    description = Description(
        "acme:0",
        usable=True,
        identity={"name": "Acme", "plugin": "acme 1.0"},
        coverage=native(Level.CORE),
    )
    return Results(Settings("acme:0", level), description, outcomes, **fields)
