"""The results as one page to look at: no network, no server, one file."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phalanx.optable import ALL, OPS

from .outcome import Outcome, Verdict
from .results import Results, groups_of, versions
from .settings import GROUPS, Level
from .writing import write_text

_TEMPLATE = "report.html.j2"
#: Failures that are written out; all are in the JSON report.
_SHOWN = 200
#: In ulp: the error of a result that is rounded correctly.
_ROUNDED = 0.5


@dataclass(frozen=True, slots=True)
class Cell:
    """One op and dtype of the heat map: what to write, how to colour it, what to tell."""

    state: str
    text: str
    title: str
    heat: int = 0


def write(results: Results, path: Path) -> None:
    """Write the page; raises ``OSError``."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    page = environment.get_template(_TEMPLATE).render(**page_data(results))
    write_text(path, page)


def page_data(results: Results) -> dict[str, Any]:
    """Return what the page shows, as plain data."""
    failures = results.failures
    whole = results.certified is results.settings.level
    return {
        "device": results.description.device,
        "identity": results.description.identity,
        "description": results.description,
        "settings": results.settings,
        "headline": results.headline,
        "lacking": [
            (level.title, names)
            for level in Level
            if level <= results.settings.level and (names := results.lacking(level))
        ],
        "unused": results.unused(),
        "versions": versions(),
        "started": results.started.replace("T", " ").replace("+00:00", " UTC"),
        "seconds": results.seconds,
        "partial": results.partial,
        "narrowed": results.narrowed,
        "certified": results.certified.title if results.certified else "",
        "badge": "bad" if failures or not results.certified else "good" if whole else "warn",
        "levels": [
            (level.title, results.passes(level))
            for level in Level
            if level <= results.settings.level
        ],
        "groups": [_group(results, group) for group in _groups(results)],
        "total": len(results.outcomes),
        "failed": len(failures),
        "failures": failures[:_SHOWN],
        "hidden": max(0, len(failures) - _SHOWN),
        "dtypes": _columns(results.outcomes),
        "heat": heat_map(results.outcomes),
        "fallbacks": results.fallbacks(),
        "waivers": results.description.declared.get("waivers", []),
        "today": datetime.date.today().isoformat(),
        "waived": results.waived,
        "lists": [
            (verdict.value, _reasons(results.outcomes, verdict))
            for verdict in (Verdict.EXPECTED, Verdict.UNSUPPORTED, Verdict.INAPPLICABLE)
        ],
    }


def _groups(results: Results) -> list[str]:
    order = {group: place for place, group in enumerate(GROUPS)}
    return sorted(groups_of(results.outcomes), key=lambda g: order.get(g, len(order)))


def _group(results: Results, group: str) -> dict[str, Any]:
    outcomes = [o for o in results.outcomes if o.group == group]
    return {
        "name": group,
        "failed": sum(o.failed for o in outcomes),
        "passed": sum(o.verdict is Verdict.PASSED for o in outcomes),
        "other": sum(not o.failed and o.verdict is not Verdict.PASSED for o in outcomes),
        "seconds": sum(o.seconds for o in outcomes),
    }


def _reasons(outcomes: Iterable[Outcome], verdict: Verdict) -> list[tuple[str, list[str]]]:
    """Return the cases of a verdict, by reason."""
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.verdict is verdict:
            found.setdefault(outcome.reason, []).append(outcome.case)
    return sorted(found.items())


def _dtype_of(outcome: Outcome) -> str:
    """The dtype that an overload is filed under: that of its last input."""
    inputs = OPS[outcome.op].arity if outcome.op in OPS else 1
    return outcome.dtypes[:inputs][-1]


def _columns(outcomes: Iterable[Outcome]) -> list[str]:
    seen = {_dtype_of(o) for o in outcomes if o.op}
    return [dtype for dtype in ALL if dtype in seen]


def heat_map(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Cell | None]]]:
    """Return a row of cells for each op that was tested; ``None`` where there was no case."""
    outcomes = [o for o in outcomes if o.op]
    columns = _columns(outcomes)
    filed: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        filed.setdefault(outcome.op, {}).setdefault(_dtype_of(outcome), []).append(outcome)
    return [
        (op, [_cell(op, d, filed[op][d]) if d in filed[op] else None for d in columns])
        for op in OPS
        if op in filed
    ]


def _cell(op: str, dtype: str, outcomes: list[Outcome]) -> Cell:
    name = f"{op} on {dtype}"
    failed = [o for o in outcomes if o.failed]
    if failed:
        return Cell("failed", "✗", f"{name}: {len(failed)} of {len(outcomes)} cases failed")
    for verdict, state, text in (
        (Verdict.EXPECTED, "expected", "!"),
        (Verdict.UNSUPPORTED, "unsupported", "-"),
    ):
        if any(o.verdict is verdict for o in outcomes):
            return Cell(state, text, f"{name}: {verdict.value}")
    measured = [o for o in outcomes if o.worst >= 0 and o.bound > 0]
    if any(o.waiver for o in outcomes):
        return Cell("waived", "w", f"{name}: passed with a waiver")
    if not measured:
        return Cell("exact", "=", f"{name}: exact in {len(outcomes)} cases")
    worst = max(measured, key=lambda o: o.worst / o.bound)
    if worst.worst <= _ROUNDED <= worst.bound < 1.0:
        text = f"{name}: worst error {worst.worst:.4g} ulp, correctly rounded"
        return Cell("rounded", f"{worst.worst:.2f}", text)
    unit = "of the bound" if worst.bound == 1.0 else f"ulp of {worst.bound:.4g} allowed"
    return Cell(
        "measured",
        f"{worst.worst:.2f}",
        f"{name}: worst error {worst.worst:.4g} {unit}",
        heat=round(10 * _part(worst.worst, worst.bound)),
    )


def _part(worst: float, bound: float) -> float:
    """Return how much of a bound is used, from 0 to 1, beyond what rounding alone may take."""
    floor = _ROUNDED if bound > _ROUNDED and bound != 1.0 else 0.0
    return min(1.0, max(0.0, (worst - floor) / (bound - floor)))
