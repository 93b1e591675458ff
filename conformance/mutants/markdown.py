"""Writes the page of the mutants from the JSON of several self-tests.

``python -m phalanx.conformance.mutants.markdown CPU.json OPENCL.json > docs/mutants.md``
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .operators import OPERATORS
from .trial import QUICK_RATE, RATE

_Trial = dict[str, Any]
_Test = dict[str, Any]
_HEAD = """\
# Mutants

What the conformance suite sees of kernels in which one line is wrong, and what it does not see. A
*mutant* is the text of a kernel, or a source of the CPU library, with one small change;
[certify-your-device.md](certify-your-device.md) tells how they are made and tried. This page is
written by `python -m phalanx.conformance.mutants.markdown` from the JSON of the runs.
"""
_RATES = """\
A mutant *counts* if it compiles and is not known to compute the same. Mutants whose objects or
programs are those of the original, byte by byte, are not tried. A mutant is tried up to the first
case that fails: with the quick form of the suite, then with the full one, and on a device that is
not `cpu:0`, then against the bits of `cpu:0`.

The sources are those that a device brings. The memory pool and the module of `core/pool` and
`core/warm` are the host's, the same for every device that the suite looks at: `tests/pool`,
`tests/model` and `make sanitize` hold them.
"""
_OPEN = """\
What survived, and is not known to compute the same: holes of the suite, or equivalents that nobody
has argued away yet. *Not reached* says that no case calls the function, *in time* that the time
for a mutant was over before the last case that calls it.
"""


def page(tests: Sequence[_Test]) -> str:
    """Return the page for the data of some self-tests, a device each."""
    parts = [_HEAD, "## The runs\n", _RATES, _goal(tests), _runs(tests)]
    for test in tests:
        parts += [f"## `{test['device']}`: killed of those that count\n", _table(test["mutants"])]
    trials = [trial for test in tests for trial in test["mutants"]]
    parts += ["## Open\n", _OPEN, _survivors(trials)]
    parts += ["## Equivalent\n", _equivalents(trials)]
    return "\n".join(parts)


def _goal(tests: Sequence[_Test]) -> str:
    """Say what is wanted, and whether this is it."""
    counted = [trial for test in tests for trial in _counted(test["mutants"])]
    tried = sum(len(test["mutants"]) for test in tests)
    killed = [trial["stage"] for trial in counted if trial["verdict"] == "killed"]
    reached = (
        tried >= _WANTED
        and len(killed) >= RATE * len(counted)
        and killed.count("quick") >= QUICK_RATE * len(counted)
    )
    return (
        f"At least {_WANTED:,} are to be tried, {100 * RATE:.0f} % of those that count killed, and "
        f"{100 * QUICK_RATE:.0f} % by the quick run. {tried:,} were tried: "
        f"{'this holds' if reached else 'this does not hold yet'}.\n"
    )


#: How many mutants say something of the whole suite.
_WANTED = 1500


def _runs(tests: Sequence[_Test]) -> str:
    names = ["", *(f"`{test['device']}`" for test in tests), "together"]
    rows: list[tuple[str, Callable[[_Test], float | str]]] = [
        ("tried", lambda t: len(t["mutants"])),
        ("do not compile", lambda t: _count(t, "does not compile")),
        ("equivalent", lambda t: _count(t, "equivalent")),
        ("**count**", lambda t: len(_counted(t["mutants"]))),
        *((f"killed: {stage}", lambda t, stage=stage: _stage(t, stage)) for stage in _STAGES),
        ("open", lambda t: _count(t, "survived")),
        ("of these tried with the quick run alone", _hurried),
        ("killed by the quick run", lambda t: _rate(t, ("quick",))),
        ("**killed by the full run**", lambda t: _rate(t, ("quick", "full"))),
        ("with the bits", lambda t: _rate(t, _STAGES)),
        ("same objects or programs", lambda t: t["unused"]),
    ]
    every: _Test = {
        "mutants": [trial for test in tests for trial in test["mutants"]],
        "unused": sum(test["unused"] for test in tests),
    }
    lines = [(name, *(str(value(test)) for test in (*tests, every))) for name, value in rows]
    keys = ("date", "machine", "compiler", "core", "seed")
    lines += [(key, *(str(test.get(key, "")) for test in tests), "") for key in keys]
    return _lines(names, lines)


_STAGES = ("quick", "full", "bits")


def _count(test: _Test, verdict: str) -> int:
    return sum(trial["verdict"] == verdict for trial in test["mutants"])


def _hurried(test: _Test) -> int:
    return sum(t["verdict"] == "survived" and not t.get("full") for t in test["mutants"])


def _stage(test: _Test, stage: str) -> int:
    return sum(trial["stage"] == stage for trial in test["mutants"])


def _counted(trials: Iterable[_Trial]) -> list[_Trial]:
    return [trial for trial in trials if trial["verdict"] in ("killed", "survived")]


def _rate(test: _Test, stages: tuple[str, ...]) -> str:
    counted = _counted(test["mutants"])
    killed = sum(trial["stage"] in stages for trial in counted)
    return f"{100 * killed / len(counted):.1f} %" if counted else ""


def _table(trials: Iterable[_Trial]) -> str:
    """Return how many were killed of how many, by file and operator."""
    killed: Counter[tuple[str, str]] = Counter()
    counted: Counter[tuple[str, str]] = Counter()
    for trial in _counted(trials):
        for file in (trial["text"], "**all**"):
            for operator in (trial["operator"], ""):
                counted[file, operator] += 1
                killed[file, operator] += trial["verdict"] == "killed"

    def cell(file: str, operator: str) -> str:
        all_ = counted[file, operator]
        return f"{killed[file, operator]}/{all_}" if all_ else ""

    operators = [name for name in OPERATORS if counted["**all**", name]]
    files = sorted({file for file, _ in counted} - {"**all**"})
    rows = [
        (
            file if file.startswith("*") else f"`{file}`",
            *(cell(file, operator) for operator in ("", *operators)),
        )
        for file in (*files, "**all**")
    ]
    return _lines(["file", "all", *operators], rows)


def _survivors(trials: Iterable[_Trial]) -> str:
    trials = [trial for trial in trials if trial["verdict"] == "survived"]
    if len(trials) > _MOST_LISTED:
        return _survivors_by_file(trials)
    rows = [
        (
            trial["name"],
            trial["place"],
            trial["operator"],
            f"`{_code(trial['before'])}`",
            f"`{_code(trial['after'])}`",
            "not reached" if not trial["reached"] else "in time" if trial["partial"] else "",
        )
        for trial in sorted(trials, key=lambda trial: str(trial["place"]))
    ]
    return _lines(["mutant", "place", "operator", "line", "mutant's line", "seen"], rows)


#: Beyond so many, those of a file share a row, without their lines.
_MOST_LISTED = 150


def _survivors_by_file(trials: Iterable[_Trial]) -> str:
    places: dict[str, list[tuple[int, str]]] = {}
    for trial in trials:
        file, _, line = str(trial["place"]).rpartition(":")
        seen = "" if trial["reached"] else ", not reached"
        text = f"{line} {trial['operator']}{seen} ({trial['name']})"
        places.setdefault(file or trial["text"], []).append((int(line or 0), text))
    rows = [
        (f"`{file}`", str(len(found)), "; ".join(text for _, text in sorted(found)))
        for file, found in sorted(places.items())
    ]
    return _lines(["file", "open", "line and operator (mutant)"], rows)


def _equivalents(trials: Iterable[_Trial]) -> str:
    reasons = Counter(t["reason"] for t in trials if t["verdict"] == "equivalent")
    rows = [(reason, str(count)) for reason, count in reasons.most_common()]
    return _lines(["why it computes the same", "mutants"], rows)


def _code(line: str) -> str:
    return " ".join(line.split()).rstrip("\\").replace("|", "\\|").replace("`", "'")


def _lines(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---"] * len(names)
    return "".join(f"| {' | '.join(row)} |\n" for row in (names, rules, *rows))


if __name__ == "__main__":
    data = [json.loads(Path(name).read_text("utf-8")) for name in sys.argv[1:]]
    sys.stdout.write(page(data))
