"""Draw how near each workload of a bench comes to the rate of a copy: ``python -m gpu.roofline``.

A copy reads and writes each byte once; no kernel that moves as many is faster than the memory. The
rate of a workload is the bytes that it must move by its time, and the share is that of the copy's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from phalanx.benchmarks.results import Case, Run, runs_from_dict

#: Bytes for each element of the largest operand that must be read or written; float32.
BYTES = {
    "copy": 8,
    "add": 12,
    "exp": 8,
    "sum": 4,
    "mean rows": 4,
    "softmax rows": 8,
    "broadcast add": 8,
    "cumulative sum": 8,
}


def rates(run: Run, who: str) -> dict[str, float]:
    """Return bytes per second of a contestant by workload, at the largest size timed."""
    found: dict[str, tuple[int, float]] = {}
    for case in run.cases:
        seconds = case.seconds(who)
        if case.workload in BYTES and seconds and case.size >= found.get(case.workload, (0, 0))[0]:
            found[case.workload] = case.size, _bytes(case) / seconds
    return {name: rate for name, (_, rate) in found.items()}


def _bytes(case: Case) -> int:
    return case.elements * BYTES[case.workload]


def draw(run: Run, path: Path) -> None:
    """Write a picture of the rates of all contestants, with the device's copy as a line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [*run.devices, *run.peers]
    table = {name: rates(run, name) for name in names}
    shown = [work for work in BYTES if any(work in rate for rate in table.values())]
    figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [row + number * height for row in range(len(shown))]
        values = [table[name].get(work, 0.0) / 1e9 for work in shown]
        axes.barh(places, values, height, label=name)
    copy = table[names[0]].get("copy")
    if copy:
        axes.axvline(copy / 1e9, color="black", linestyle="--", label=f"copy on {names[0]}")
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(shown))], shown)
    axes.invert_yaxis()
    axes.set(xlabel="GB/s that the workload must move", title="Rates at the largest size")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(names) + 1)  # never over a bar
    figure.savefig(path, dpi=150)


def main(path: Path) -> None:
    """Draw beside the JSON, and print each workload's share of the copy's rate."""
    runs = [run for run in runs_from_dict(json.loads(path.read_text("utf-8"))) if run.cases]
    for run in runs:
        picture = path.with_name(f"roofline-{run.suite}.png")
        draw(run, picture)
        for device in run.devices:
            found = rates(run, device)
            for work, rate in found.items():
                share = f", {rate / found['copy']:.2f} of the copy" if "copy" in found else ""
                print(f"{device} {work}: {rate / 1e9:.1f} GB/s{share}")
        print(f"picture: {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
