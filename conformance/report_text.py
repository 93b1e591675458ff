"""The summary in the terminal: groups, failures with the command that repeats each, the level."""

from __future__ import annotations

import datetime
from pathlib import Path

from phalanx.cli.output import console, table
from rich.console import Console
from rich.markup import escape

from .outcome import Outcome, Verdict
from .results import Results, groups_of
from .settings import Level

_SHOWN = 10
_COLUMNS = (Verdict.PASSED, Verdict.UNSUPPORTED, Verdict.EXPECTED, Verdict.INAPPLICABLE)


def show(results: Results, reports: list[Path]) -> None:
    """Print the summary to stdout; ``reports`` are those that were written."""
    out = console()
    _head(out, results)
    _groups(out, results)
    _failures(out, results)
    _notes(out, results)
    _unused(out, results)
    _verdict(out, results)
    for path in reports:
        out.print(f"written: {escape(str(path))}", soft_wrap=True)


def _head(out: Console, results: Results) -> None:
    identity, settings = results.description.identity, results.settings
    kind = "quick" if settings.quick else "full"
    out.print(
        f"[bold]{escape(results.description.device)}[/]  {escape(str(identity['name']))}\n"
        f"{escape(str(identity['plugin']))}, {results.description.native} of "
        f"{results.description.overloads} overloads native; {kind} run, seed {settings.seed}, "
        f"{results.seconds:.0f} s\n",
        soft_wrap=True,
    )


def _groups(out: Console, results: Results) -> None:
    rows = []
    for group in groups_of(results.outcomes):
        counts = results.counts(group)
        failed = sum(o.failed for o in results.outcomes if o.group == group)
        cells = [str(counts[v]) if counts[v] else "-" for v in _COLUMNS]
        rows.append((group, f"[bold red]{failed}[/]" if failed else "-", *cells))
    titles = ("Group", "Failed", *(v.value.capitalize() for v in _COLUMNS))
    if rows:
        out.print(table(titles, rows, fold=0))


def _failures(out: Console, results: Results) -> None:
    failures = results.failures
    for outcome in failures[:_SHOWN]:
        out.print(f"\n[bold red]{outcome.verdict.value}[/] {escape(outcome.case)}", soft_wrap=True)
        for line in _message(outcome):
            out.print(f"  {escape(line)}", soft_wrap=True)
        out.print(f"  repeat: {escape(outcome.repeat)}", soft_wrap=True)
    if len(failures) > _SHOWN:
        out.print(f"\n... and {len(failures) - _SHOWN} more; --html and --json have all of them")


def _message(outcome: Outcome) -> list[str]:
    lines = outcome.message.strip().splitlines()
    lines = [line.strip() for line in lines if not line.strip().startswith("repeat:")]
    if outcome.verdict is Verdict.CRASHED:
        return lines[:8]  # the innermost frames come first
    return lines if len(lines) <= 8 else [*lines[:2], "...", *lines[-4:]]


def _notes(out: Console, results: Results) -> None:
    fallbacks = results.fallbacks()
    calls = sum(f["calls"] for f in fallbacks)
    waivers = results.description.declared.get("waivers", ())
    out.print(f"\nfallbacks: {calls} calls of {len({f['op'] for f in fallbacks})} ops")
    out.print(f"waivers: {len(waivers)} declared, {len(results.waived)} needed")
    for waiver in waivers:
        out.print(
            f"  {escape(waiver['op'])}({escape(waiver['dtype'])}) up to {waiver['bound']:g} until "
            f"{waiver['expires']}{_expired(waiver['expires'])}: {escape(waiver['reason'])}",
            soft_wrap=True,
        )


def _unused(out: Console, results: Results) -> None:
    for text in results.unused():
        out.print(
            f"[bold red]unused[/] no case fits the declaration {escape(text)}", soft_wrap=True
        )


def _expired(day: str) -> str:
    past = datetime.date.fromisoformat(day) < datetime.date.today()
    return " [bold red](expired)[/]" if past else ""


def _verdict(out: Console, results: Results) -> None:
    if results.partial:
        out.print(f"\n[bold red]partial[/]: {escape(results.partial)}", soft_wrap=True)
    if results.narrowed:
        out.print(f"\n{_passed(results)}; a run of some cases certifies no level")
        return
    levels = [level for level in Level if level <= results.settings.level]
    marks = [
        f"[green]{lv.title} passed[/]" if results.passes(lv) else f"[red]{lv.title} not passed[/]"
        for lv in levels
    ]
    certified = results.certified
    title = f"[bold green]{certified.title}[/]" if certified else "[bold red]no level[/]"
    out.print(f"\nlevels: {', '.join(marks)}")
    for level in levels:
        _lacking(out, level, results.lacking(level))
    out.print(escape(results.headline), soft_wrap=True)
    out.print(f"certified for: {title}")


def _lacking(out: Console, level: Level, names: list[str]) -> None:
    """Tell what a level requires and no declaration replaces."""
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        out.print(
            f"{level.title} requires, and the device has not: "
            f"{escape(', '.join(names[:_SHOWN]))}{more}",
            soft_wrap=True,
        )


def _passed(results: Results) -> str:
    failed, total = len(results.failures), len(results.outcomes)
    if failed:
        return f"[bold red]{failed} of {total} cases failed[/]"
    return f"[green]{total} cases, none failed[/]"
