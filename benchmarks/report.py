"""Tables of 80 columns: ratios per device, bars, and a comparison with a former run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .bars import Verdict, judge, means
from .results import FASTEST, Case, Run, geometric_mean
from .workloads import size_text

#: A spread above this is marked: the machine was busy.
NOISY = 0.15
#: A load per core above this is told: threads then wait for their cores.
BUSY = 0.25
#: With more peers than this, their times would not fit into 80 columns; the JSON has them.
_PEERS_WITH_TIMES = 2
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
    noisy = any(case.spread > NOISY for run in runs for case in run.cases)
    console.print(
        "Medians. A ratio is the peer's time by the device's: above 1 the device is faster. "
        + ("Best: the faster peer. " if any(map(_best, runs)) else "")
        + "!: below the bar."
        + (" ~ noisy: samples differ widely." if noisy else "")
        + "".join(f" Bits: whether they are {next(iter(r.devices))}'s." for r in with_bits)
    )
    for _, group in groupby(runs, lambda run: run.suite):
        measured = [run for run in group if run.cases]
        if measured:
            console.print(_means(measured))
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
    for name, reason in run.missing.items():
        console.print(f"  [yellow]{escape(name)} is missing[/]: {escape(reason)}")


def _table(title: str, headers: Sequence[str]) -> Table:
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
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
    made = _table(f"Speed of {device}", [*headers, "Bits"] if of_programs else headers)
    last = ""
    for case in run.cases:
        ratios = [_ratio(case, device, peer, peers, marks) for peer in (*peers, *best)]
        times = [_time(case, name) for name in (device, *timed)]
        mark = "~" if case.spread > NOISY else " "
        if of_programs:
            bits = _BITS[case.has_bits_of(device, first)]
            made.add_row(case.workload + mark, *times, *ratios, bits)
            continue
        size = size_text(case.size) + mark
        made.add_row(case.workload if case.workload != last else "", size, *times, *ratios)
        last = case.workload
    return made


def _time(case: Case, name: str) -> str:
    outcome = case.outcomes[name]
    if outcome.timing is not None:
        return seconds_text(outcome.timing.median)
    return f"[yellow]{outcome.status}[/]"


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


def _means(runs: Sequence[Run]) -> Table:
    names = list(dict.fromkeys(name for run in runs for name in (*run.peers, *_best(run))))
    what = "All programs" if runs[0].suite == "programs" else "From 2^16 elements up"
    headers = [what, *(f"/ {n}".replace(FASTEST, "best") for n in names)]
    made = _table("Geometric means", headers)
    for run in runs:
        for device, found in means(run).items():
            values = (found.get(name) for name in names)
            row = ("-" if value is None else _ratio_text(value) for value in values)
            made.add_row(escape(device), *row)
    return made


def _bars(verdicts: Sequence[Verdict]) -> Table:
    made = _table("Bars", ["Bar", "Device", "Against", "At least", "Got", ""])
    for v in verdicts:
        got = "-" if v.got is None else _ratio_text(v.got)
        count = f" in {len(v.missed)}" if v.missed and not v.bar.in_the_mean else ""
        verdict = "[green]met[/]" if v.is_met else f"[bold red]missed{count}[/]"
        made.add_row(v.bar.text, v.device, v.bar.peer, f"{v.bar.least:.2f}", got, verdict)
    return made


def show_comparison(run: Run, old: Run, console: Console) -> None:
    """Print how the devices' times changed since a former run, and the peers' with them.

    The change of the fastest peer is that of the machine: the last column divides it out.
    """
    date = str(old.machine.get("date", "unknown date"))
    was, now = (r.machine.get("hardware", {}).get("cpu") for r in (old, run))
    if was != now:
        console.print(f"[yellow]The former run was on another processor: {escape(str(was))}[/]")
    for device in run.devices:
        title = f"{device} against the run of {date}"
        made = _table(title, ["Workload", "Size", "Then", "Now", "Then/now", "Peer", "Net"])
        changes = list(_changes(run, old, device))
        for case, then, here, machine in changes:
            net = "-" if machine is None else f"{then / here / machine:.2f}"
            peers = "-" if machine is None else f"{machine:.2f}"
            times = (seconds_text(then), seconds_text(here), f"{then / here:.2f}")
            made.add_row(case.workload, size_text(case.size), *times, peers, net)
        mean = geometric_mean(then / here / (m or 1.0) for _, then, here, m in changes)
        if mean is None:
            console.print(f"{escape(title)}: no case in common")
            continue
        console.print(made)
        console.print(
            f"Above 1 is faster now; net of the fastest peer {mean:.2f} in the geometric mean."
        )


def _changes(run: Run, old: Run, device: str) -> Iterator[tuple[Case, float, float, float | None]]:
    """Yield each case of both runs with then, now, and the fastest peer's then / now."""
    former = {(case.workload, case.size): case for case in old.cases}
    for case in run.cases:
        before = former.get((case.workload, case.size))
        if before is None:
            continue
        then, now = before.seconds(device), case.seconds(device)
        if then is None or now is None:
            continue
        pairs = [(before.seconds(peer), case.seconds(peer)) for peer in run.peers]
        known = [(a, b) for a, b in pairs if a and b]
        machine = min(a for a, _ in known) / min(b for _, b in known) if known else None
        yield case, then, now, machine
