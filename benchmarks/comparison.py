"""What changed between two runs, and whether it is more than their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.markup import escape

from .ratios import geometric_mean
from .report import seconds_text, table
from .results import Case, Run
from .workloads import size_text

#: Less is no change, however calm both runs were: memory lies elsewhere in each process. A choice.
LEAST_CHANGE = 1.05


@dataclass(frozen=True, slots=True)
class Change:
    """How a case changed on a device: ``then`` and ``now`` in seconds.

    ``peer`` is the then by now of the fastest peer of today that both runs have, ``None`` without
    one: that is the machine's change. ``net`` is that of the device without the machine's, above 1
    if it is faster now. ``noise`` is the factor that ``net`` may miss 1 by without a cause: the
    root of the product of how wide the intervals of both ratios are.
    """

    case: Case
    then: float
    now: float
    peer: float | None
    net: float
    noise: float

    @property
    def is_real(self) -> bool:
        """Whether it is more than the noise of both runs, and than `LEAST_CHANGE`."""
        return max(self.net, 1.0 / self.net) > max(self.noise, LEAST_CHANGE)


def changes(run: Run, old: Run, device: str) -> Iterator[Change]:
    """Yield the change of each case that was timed in both runs."""
    former = {(case.workload, case.size): case for case in old.cases}
    for case in run.cases:
        before = former.get((case.workload, case.size))
        if before is not None and (change := _change(case, before, device, list(run.peers))):
            yield change


def _change(case: Case, before: Case, device: str, names: Sequence[str]) -> Change | None:
    then, now = before.seconds(device), case.seconds(device)
    if not then or not now:
        return None
    known = [n for n in names if before.pairs(device, n) and case.pairs(device, n)]
    peers = sorted(known, key=lambda name: median(case.pairs(device, name)))[:1]
    intervals = [each.interval(device, peers) for each in (before, case)]
    known_intervals = [each for each in intervals if each is not None]
    if len(known_intervals) < 2:
        return None
    noise = math.prod(math.sqrt(high / low) for low, high in known_intervals)
    if not peers:
        return Change(case, then, now, None, then / now, noise)
    first, second = (median(c.pairs(device, peers[0])) for c in (before, case))
    machine = (before.seconds(peers[0]) or 1.0) / (case.seconds(peers[0]) or 1.0)
    return Change(case, then, now, machine, second / first, noise)


def show_comparison(run: Run, old: Run, console: Console) -> None:
    """Print how the devices' speed changed since a former run; what is more than noise first."""
    date = str(old.machine.get("date", "unknown date"))
    for what, was, now in _differences(run, old):
        console.print(f"[yellow]The former run had another {what}: {escape(was)}, now {now}[/]")
    for device in run.devices:
        title = f"{device} against the run of {date}"
        found = list(changes(run, old, device))
        mean = geometric_mean(change.net for change in found)
        if mean is None:
            console.print(f"{escape(title)}: no case in common")
            continue
        real = sorted((c for c in found if c.is_real), key=lambda change: change.net)
        if real:
            _rows(f"{title}: beyond noise", real, console)
        if calm := [change for change in found if not change.is_real]:
            _rows(f"{title}: within noise", calm, console)
        slower = sum(change.net < 1.0 for change in real)
        console.print(
            "Above 1 is faster now. Net: without the change of the fastest peer, which is the "
            "machine's; more than its noise counts, and at least "
            f"{100.0 * (LEAST_CHANGE - 1.0):.0f} %."
        )
        console.print(
            f"[bold]{escape(title)}: {slower} slower, {len(real) - slower} faster, "
            f"{len(found) - len(real)} as before[/]; net of the fastest peer {mean:.2f} in the "
            "geometric mean."
        )
        only = len(run.cases) - len(found), len(old.cases) - len(found)
        if any(only):
            console.print(f"Only in this run: {only[0]} cases; only in the former: {only[1]}.")


def _rows(title: str, found: Sequence[Change], console: Console) -> None:
    headers = ["Workload", "Size", "Then", "Now", "Then/now", "Peer", "Net", "Noise"]
    made = table(title, headers)
    for change in found:
        peer = "-" if change.peer is None else f"{change.peer:.2f}"
        times = (seconds_text(change.then), seconds_text(change.now))
        net = f"{change.net:.2f}"
        if change.is_real:
            net = f"[bold red]{net}[/]" if change.net < 1.0 else f"[green]{net}[/]"
        made.add_row(
            change.case.workload,
            size_text(change.case.size),
            *times,
            f"{change.then / change.now:.2f}",
            peer,
            net,
            f"{100.0 * (change.noise - 1.0):.0f} %",
        )
    console.print(made)


def _differences(run: Run, old: Run) -> Iterator[tuple[str, str, str]]:
    """Yield what of the machine and of the peers is not the same: what, then, now."""
    was, now = (r.machine.get("hardware", {}) for r in (old, run))
    found = [
        (what, str(was.get(key)), str(now.get(key)))
        for what, key in (("processor", "cpu"), ("number of cores", "cores"))
    ]
    found += [
        (name, old.peers[name].get("version", ""), about.get("version", ""))
        for name, about in run.peers.items()
        if name in old.peers
    ]
    yield from (each for each in found if each[1] != each[2])
