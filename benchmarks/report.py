"""Tables of 80 columns: ratios per device, and bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .bars import Verdict, judge, means
from .limits import Limits
from .measure import NOISY
from .results import FASTEST, Case, Run
from .workloads import size_text

#: A load per core above this is told: threads then wait for their cores.
BUSY = 0.25
#: With more peers than this, their times would not fit into 80 columns; the JSON has them.
_PEERS_WITH_TIMES = 2
#: So many rows are told again at the end of a long table, those with the lowest ratios.
_LOWEST = 10
#: Words of a column's width.
_SHORT = {"unsupported": "lacks"}
#: Whether a device has another one's bits.
_BITS = {True: "[green]same[/]", False: "[bold red]differ[/]", None: "-"}


def seconds_text(seconds: float | None) -> str:
    """Return a time with three digits and a unit."""
    if seconds is None:
        return "-"
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if (value := seconds * factor) < 999.5:
            return f"{value:.{max(0, 3 - len(str(int(value))))}f} {unit}"
    return f"{seconds:.3g} s"


def show(runs: Sequence[Run], console: Console) -> None:
    """Print everything about runs on one machine."""
    _machine(runs[0], console)
    for run in runs:
        _contestants(run, console)
        for device in run.devices:
            console.print(_ratios(run, device, _marks(run, device)))
            _reasons(run, device, console)
    with_bits = [run for run in runs if run.suite == "programs" and run.devices]
    again = any(case.races > 1 for run in runs for case in run.cases)
    noisy = any(case.spread > NOISY for run in runs for case in run.cases)
    console.print(
        "Medians. A ratio is the peer's time by the device's, round by round: above 1 the device "
        "is faster. "
        + ("Best: the faster peer. " if any(map(_best, runs)) else "")
        + "!: below the bar."
        + (" ~ noisy: samples differ widely." if noisy else "")
        + (" x3: raced three times until it was calm." if again else "")
        + (" Limit: the share of the machine's own." if any(r.limits for r in runs) else "")
        + "".join(f" Bits: whether they are {next(iter(r.devices))}'s." for r in with_bits)
    )
    for _, group in groupby(runs, lambda run: run.suite):
        measured = [run for run in group if run.cases]
        if measured:
            console.print(_means(measured))
        for run in measured:
            _lowest(run, console)
        if verdicts := [verdict for run in measured for verdict in judge(run)]:
            console.print(_bars(verdicts))


def _marks(run: Run, device: str) -> set[tuple[str, str, int]]:
    """Return where a ratio is below a bar: peer, workload, size. The best may be the only peer."""
    peers = list(run.peers)
    alone = {FASTEST: peers[0]} if len(peers) == 1 else {}
    own = (v for v in judge(run) if v.device == device)
    return {(alone.get(v.bar.peer, v.bar.peer), *place) for v in own for place in v.missed}


def _machine(run: Run, console: Console) -> None:
    hardware = run.machine.get("hardware", {})
    caches = ", ".join(f"{name} {size}" for name, size in hardware.get("caches", {}).items())
    cpu = str(hardware.get("cpu", "unknown processor"))
    console.print(f"[bold]{escape(cpu)}[/], {hardware.get('cores', '?')} cores ({escape(caches)})")
    load, cores = hardware.get("load", 0.0), hardware.get("cores", 1)
    if load > BUSY * cores:
        console.print(
            f"  [yellow]The machine was busy (load {load}): ratios of work that several threads "
            "share say little.[/]"
        )


def _contestants(run: Run, console: Console) -> None:
    cpu = run.machine.get("hardware", {}).get("cpu")
    for name, about in (*run.devices.items(), *run.peers.items()):
        told = {"kind"} | ({"hardware"} if about.get("hardware") == cpu else set())
        details = ", ".join(f"{k} {v}" for k, v in about.items() if v and k not in told)
        console.print(f"  {escape(name)}: {escape(details)}")
    if run.limits is not None:
        console.print(f"  limits: {escape(_limits_text(run.limits))}")
    for name, reason in run.missing.items():
        console.print(f"  [yellow]{escape(name)} is missing[/]: {escape(reason)}")


def _limits_text(limits: Limits) -> str:
    fma = ", ".join(f"{rate / 1e9:.0f} GFLOP/s {dtype}" for dtype, rate in limits.fma.items())
    copy = limits.copy[-1][1] / 1e9
    return f"copy {copy:.1f} GB/s beyond the caches, {fma}, threads {limits.threads}"


def table(title: str, headers: Sequence[str], gap: int = 1) -> Table:
    """Return an empty table; the first column stands on the left, the others on the right."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, gap, 0, 0),
    )
    for place, header in enumerate(headers):
        made.add_column(escape(header), justify="left" if place == 0 else "right", no_wrap=True)
    return made


def _header(peer: str) -> str:
    """Return a peer's name in lines of a column's width."""
    return peer.replace(".", "\n.").replace("-", "-\n")


def _ratios(run: Run, device: str, marks: set[tuple[str, str, int]]) -> Table:
    peers = list(run.peers)
    timed = peers if len(peers) <= _PEERS_WITH_TIMES else []
    best = _best(run)
    ratio_headers = (f"/ {_header(name)}" for name in peers)
    of_programs, first = run.suite == "programs", next(iter(run.devices))
    headers = ["Program"] if of_programs else ["Workload", "Size"]
    headers += [device, *map(_header, timed), *ratio_headers, *("/ best" for _ in best)]
    headers += ["Limit"] if run.limits is not None else []
    made = table(f"Speed of {device}", [*headers, "Bits"] if of_programs else headers, gap=0)
    last = ""
    for case in run.cases:
        ratios = [_ratio(case, device, peer, peers, marks) for peer in (*peers, *best)]
        times = [_time(case, name) for name in (device, *timed)]
        mark = f"x{case.races}" if case.races > 1 else ""
        mark += "~" if case.spread > NOISY else " "
        if of_programs:
            bits = _BITS[case.has_bits_of(device, first)]
            made.add_row(case.workload + mark, *times, *ratios, bits)
            continue
        size = size_text(case.size) + mark
        limit = [] if run.limits is None else [_share_text(case.share(device, run.limits))]
        made.add_row(case.workload if case.workload != last else "", size, *times, *ratios, *limit)
        last = case.workload
    return made


def _time(case: Case, name: str) -> str:
    outcome = case.outcomes[name]
    if outcome.timing is not None:
        return seconds_text(outcome.timing.median)
    return f"[yellow]{_SHORT.get(outcome.status, outcome.status)}[/]"


def _ratio(
    case: Case, device: str, peer: str, peers: Sequence[str], marks: set[tuple[str, str, int]]
) -> str:
    ratio = case.ratio(device, peer, peers)
    if ratio is None:
        return "-"
    if (peer, case.workload, case.size) in marks:
        return f"[bold red]! {_ratio_text(ratio)}[/]"
    text = _ratio_text(ratio)
    return text if ratio < 1.0 else f"[green]{text}[/]"


def _ratio_text(ratio: float) -> str:
    """Return a ratio cut to two decimals: what is just below a bar must not look met."""
    return f"{math.floor(ratio * 100.0) / 100.0:.2f}" if ratio < 100.0 else f"{ratio:.0f}"


def _share_text(share: float | None) -> str:
    return "" if share is None else f"{100.0 * share:.0f} %"


def _reasons(run: Run, device: str, console: Console) -> None:
    """Say why something was not timed, each reason once."""
    seen: dict[str, list[str]] = {}
    for case in run.cases:
        for name in (device, *run.peers):
            outcome = case.outcomes[name]
            if outcome.status != "ok":
                line = f"{name} {outcome.status}: {outcome.reason}"
                seen.setdefault(line, []).append(f"{case.workload} {size_text(case.size)}")
    for line, places in seen.items():
        console.print(f"  [yellow]{escape(', '.join(places))}[/]: {escape(line)}")


def _best(run: Run) -> list[str]:
    """Return the fastest peer if it has a column; OpenCL peers have bars of their own."""
    return [FASTEST] if len(run.peers) > 1 and run.suite != "opencl" else []


def _lowest(run: Run, console: Console) -> None:
    """Print the lowest ratios of each device again if the table is longer than a screen."""
    peers = list(run.peers)
    for device in run.devices:
        ratios = ((case.ratio(device, FASTEST, peers), case) for case in run.cases)
        known = [(ratio, case) for ratio, case in ratios if ratio is not None]
        if len(known) <= 3 * _LOWEST:
            continue
        title = f"Lowest ratios of {device} over the fastest peer"
        made = table(title, ["Workload", "Size", "Ratio", "Between", "Limit"])
        for ratio, case in sorted(known, key=lambda pair: pair[0])[:_LOWEST]:
            low, high = case.interval(device, peers) or (ratio, ratio)
            between = f"{_ratio_text(low)} - {_ratio_text(high)}"
            share = _share_text(case.share(device, run.limits))
            size = size_text(case.size)
            made.add_row(escape(case.workload), size, _ratio_text(ratio), between, share)
        console.print(made)


def _means(runs: Sequence[Run]) -> Table:
    names = list(dict.fromkeys(name for run in runs for name in (*run.peers, *_best(run))))
    what = "All programs" if runs[0].suite == "programs" else "From 2^16 elements up"
    headers = [what, *(f"/ {n}".replace(FASTEST, "best") for n in names)]
    made = table("Geometric means", headers)
    for run in runs:
        for device, found in means(run).items():
            values = (found.get(name) for name in names)
            row = ("-" if value is None else _ratio_text(value) for value in values)
            made.add_row(escape(device), *row)
    return made


def _bars(verdicts: Sequence[Verdict]) -> Table:
    made = table("Bars", ["Bar", "Device", "Against", "At least", "Got", ""])
    for v in verdicts:
        got = "-" if v.got is None else _ratio_text(v.got)
        count = f" in {len(v.missed)}" if v.missed and not v.bar.in_the_mean else ""
        verdict = "[green]met[/]" if v.is_met else f"[bold red]missed{count}[/]"
        made.add_row(v.bar.text, v.device, v.bar.peer, f"{v.bar.least:.2f}", got, verdict)
    return made
