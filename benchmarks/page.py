"""One page about a run: ratios per row and over size, their history, and all numbers as a table.

It loads nothing: the drawings are SVG of `chart`, the style stands in it, and there is no script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .bars import is_large, means
from .chart import Bar, Point, bars, lines, ratio_text
from .history import Entry
from .measure import NOISY
from .page_style import STYLE
from .ratios import geometric_mean
from .report import seconds_text
from .results import FASTEST, Case, Run
from .workloads import size_text

#: Gives the former entries that are like a run, the oldest first.
Former = Callable[[Run], Sequence[Entry]]
#: An entry of the history counts if it has this share of the run's rows; a choice.
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class View:
    """A run as one of its devices sees it."""

    run: Run
    device: str

    @property
    def peers(self) -> list[str]:
        """The names of the peers."""
        return list(self.run.peers)

    @property
    def cases(self) -> list[Case]:
        """The cases that were timed on the device and by a peer."""
        return [case for case in self.run.cases if self.best(case) is not None]

    def best(self, case: Case) -> float | None:
        """Return the ratio over the fastest peer."""
        return case.ratio(self.device, FASTEST, self.peers)

    def interval(self, case: Case) -> tuple[float, float]:
        """Return between which ratios that one lies."""
        return case.interval(self.device, self.peers) or (0.0, math.inf)

    def label(self, case: Case) -> str:
        """Return the name of a row."""
        if self.run.suite == "programs":
            return case.workload
        return f"{case.workload} {size_text(case.size)}"


def write_page(runs: Sequence[Run], former: Former) -> str:
    """Return the page about runs on one machine as HTML."""
    views = [View(run, device) for run in runs for device in run.devices]
    body = "".join(_section(view, former(view.run)) for view in views)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Speed of Phalanx</title><style>{STYLE}</style></head><body>"
        f"<main>{_machine(runs[0])}{body}</main></body></html>\n"
    )


def _machine(run: Run) -> str:
    hardware: dict[str, Any] = run.machine.get("hardware", {})
    packages: dict[str, str] = run.machine.get("packages", {})
    versions = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    facts = [
        ("Processor", f"{hardware.get('cpu', 'unknown')}, {hardware.get('cores', '?')} cores"),
        ("Date", str(run.machine.get("date", "unknown"))),
        ("Versions", versions),
    ]
    if run.limits is not None:
        fma = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {name}" for name, rate in run.limits.fma.items())
        facts.append(("Limits", f"copy {run.limits.copy[-1][1] / 1e9:.1f} GB/s, {fma}"))
    facts += [("Missing", f"{name}: {reason}") for name, reason in run.missing.items()]
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts if v)
    return f"<h1>Speed of Phalanx</h1><dl>{rows}</dl>"


def _section(view: View, former: Sequence[Entry]) -> str:
    title = f"<h2>{escape(view.device)} against {escape(' and '.join(view.peers) or 'nobody')}</h2>"
    if not view.cases:
        return f"<section>{title}<p>No row was timed by both.</p></section>"
    return (
        f"<section>{title}{_summary(view)}{_history(view, former)}{_rows(view)}{_sizes(view)}"
        f"{_table(view)}</section>"
    )


def _summary(view: View) -> str:
    mean = means(view.run)[view.device][FASTEST]
    found = [_bar(view, case) for case in view.cases]
    worst = min(found, key=lambda bar: bar.ratio)
    count = {kind: sum(b.verdict == kind for b in found) for kind in ("ahead", "even", "behind")}
    tiles = [("geometric mean", "-" if mean is None else ratio_text(mean), "")]
    tiles += [(f"rows {kind}", str(number), kind) for kind, number in count.items()]
    tiles.append((f"lowest: {worst.name}", ratio_text(worst.ratio), worst.verdict))
    body = "".join(
        f'<li><b class="{kind}">{escape(value)}</b><span>{escape(name)}</span></li>'
        for name, value, kind in tiles
    )
    return f'<ul class="tiles">{body}</ul>'


def _bar(view: View, case: Case) -> Bar:
    ratio, (low, high) = view.best(case) or 0.0, view.interval(case)
    mark = " ~" if case.spread > NOISY else ""
    times = ", ".join(
        f"{name} {seconds_text(case.seconds(name))}" for name in (view.device, *view.peers)
    )
    tip = f"{view.label(case)}: {ratio:.3f}, between {low:.3f} and {high:.3f}; {times}"
    return Bar(view.label(case) + mark, ratio, (low, high), tip)


def _rows(view: View) -> str:
    drawn = bars([_bar(view, case) for case in view.cases], "Ratio of each row, as a bar from 1")
    legend = "".join(
        f'<span><i class="{kind}"></i>{text}</span>'
        for kind, text in (
            ("ahead", "faster than the fastest peer"),
            ("even", "not told from even"),
            ("behind", "slower"),
        )
    )
    return (
        f'<h3>Each row</h3><p class="legend">{legend}</p><p>The fastest peer\'s time by the '
        "device's, on a logarithmic axis. The thin line is where the median lies with 95 %; "
        f"~ marks rows whose samples differ widely.</p>{drawn}"
    )


def _sizes(view: View) -> str:
    by_name: dict[str, list[Case]] = {}
    for case in view.cases:
        by_name.setdefault(case.workload, []).append(case)
    several = {name: cases for name, cases in by_name.items() if len(cases) > 1}
    if not several:
        return ""
    legend = "".join(
        f'<span><i class="line-{number}"></i>against {escape(name)}</span>'
        for number, name in enumerate(view.peers)
    )
    figures = "".join(_over_size(view, name, cases) for name, cases in several.items())
    return f'<h3>Over size</h3><p class="legend">{legend}</p><div class="grid">{figures}</div>'


def _over_size(view: View, name: str, cases: Sequence[Case]) -> str:
    ordered = sorted(cases, key=lambda case: case.size)
    first, last = ordered[0].size, ordered[-1].size
    ends = size_text(first), size_text(last)
    across = [100.0 * math.log(c.size / first) / math.log(last / first) for c in ordered]
    found = []
    for peer in view.peers:
        ratios = [case.ratio(view.device, peer, view.peers) for case in ordered]
        found.append(
            [
                Point(x, ratio, f"{size_text(case.size)}: {ratio:.3f} against {peer}")
                for x, case, ratio in zip(across, ordered, ratios, strict=True)
                if ratio is not None
            ]
        )
    drawn = lines(found, 130, f"Ratios of {name} over size", ends, 11.0)
    return f"<figure><figcaption>{escape(name)}</figcaption>{drawn}</figure>"


def _history(view: View, former: Sequence[Entry]) -> str:
    points, rows = history_of(view, former)
    if len(points) < 2:
        return ""
    last = len(points) - 1
    line = [
        Point(100.0 * number / last, mean, f"{date}: {mean:.3f}")
        for number, (date, mean) in enumerate(points)
    ]
    ends = points[0][0][:10], points[-1][0][:10]
    drawn = lines([line], 170, "Geometric mean of the ratios, run by run", ends, 6.0)
    return (
        f"<h3>History</h3><p>Geometric mean of the ratios over the fastest peer in {len(points)} "
        f"runs, over the {rows} rows that all of them share.</p>{drawn}"
    )


def history_of(view: View, former: Sequence[Entry]) -> tuple[list[tuple[str, float]], int]:
    """Return date and geometric mean of each former run and of this, and how many rows they share.

    Former runs with less than half of this one's rows are left out.
    """
    today = str(view.run.machine.get("date", ""))
    tables = [(today, _counted(view))]
    tables += [
        (entry.date, _counted(View(run, view.device)))
        for entry in former
        for run in entry.runs
        if view.device in run.devices and run.suite == view.run.suite and entry.date != today
    ]
    own = tables[0][1].keys()
    enough = [(date, t) for date, t in tables if len(own & t.keys()) >= _ENOUGH * len(own)]
    shared = set(own).intersection(*(table.keys() for _, table in enough))
    found = [
        (date, mean)
        for date, table in enough
        if (mean := geometric_mean(table[row] for row in shared)) is not None
    ]
    return sorted(found), len(shared)


def _counted(view: View) -> dict[tuple[str, int], float]:
    """Return the ratios of the rows that the geometric mean is made of; of few rows, of all."""
    cases = view.cases
    large = [case for case in cases if view.run.suite == "programs" or is_large(case)]
    return {(case.workload, case.size): view.best(case) or 1.0 for case in large or cases}


def _table(view: View) -> str:
    headers = ["Row", view.device, *view.peers, *(f"/ {peer}" for peer in view.peers)]
    headers += ["between", "limit", "races"]
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headers)
    body = "".join(f"<tr>{_cells(view, case)}</tr>" for case in view.run.cases)
    return (
        "<details><summary>All numbers</summary><p>Times are medians per call; limit is the share "
        "of the machine's own that the device reaches; races is how often the row was measured "
        'until it was calm.</p><div class="wide"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{_reasons(view)}</details>"
    )


def _reasons(view: View) -> str:
    """Return why something was not timed, each reason once."""
    found: dict[str, list[str]] = {}
    for case in view.run.cases:
        for name in (view.device, *view.peers):
            if case.outcomes[name].timing is None:
                outcome = case.outcomes[name]
                line = f"{name} {outcome.status}: {outcome.reason}"
                found.setdefault(line, []).append(view.label(case))
    return "".join(
        f"<p>{escape(', '.join(rows))}: {escape(why)}</p>" for why, rows in found.items()
    )


def _cells(view: View, case: Case) -> str:
    share = case.share(view.device, view.run.limits)
    found = case.interval(view.device, view.peers) if view.best(case) is not None else None
    cells: Iterable[str] = (
        *(_time(case, name) for name in (view.device, *view.peers)),
        *(_ratio(case.ratio(view.device, peer, view.peers)) for peer in view.peers),
        f"{found[0]:.2f} - {found[1]:.2f}" if found else "",
        "" if share is None else f"{100.0 * share:.0f} %",
        str(case.races),
    )
    name = f'<th scope="row">{escape(view.label(case))}</th>'
    return name + "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _time(case: Case, name: str) -> str:
    outcome = case.outcomes[name]
    return outcome.status if outcome.timing is None else seconds_text(outcome.timing.median)


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"
