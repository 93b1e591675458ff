"""Runs of the benchmark with invented times, and what is printed of them."""

from __future__ import annotations

import io
from typing import Any

from phalanx.benchmarks import workloads
from phalanx.benchmarks.measure import Timing
from phalanx.benchmarks.results import Case, Outcome, Run
from rich.console import Console

BY_NAME = {work.name: work for work in workloads.WORKLOADS}


def timed(**seconds: float | None) -> dict[str, Outcome]:
    return {
        name: Outcome("unsupported", "no kernel")
        if t is None
        else Outcome("ok", timing=Timing(1, (t, t)))
        for name, t in seconds.items()
    }


def run_of(*cases: tuple[str, int, dict[str, Outcome]], peers: str = "numpy torch") -> Run:
    return Run(
        {"cpu": {"version": "1", "kind": "cpu"}},
        {peer: {"version": "2"} for peer in peers.split()},
        {},
        {
            "date": "2025-01-01",
            "packages": {},
            "hardware": {"cpu": "One", "cores": 2},
            "system": {},
        },
        {},
        [Case(w, n, BY_NAME[w].elements(n), BY_NAME[w].expression, o) for w, n, o in cases],
    )


def printed(show: Any, *args: Any) -> str:
    console = Console(file=io.StringIO(), width=80, highlight=False)
    show(*args, console)
    return console.file.getvalue()
