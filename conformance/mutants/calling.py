"""Which functions of the CPU library each case calls, and how long it takes."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phalanx.conformance.naming import overload_of

from .crew import Change, Crew, Order
from .mutant import body, library_files

#: Seconds for one case and for all of them, with calls of the tracer in each function.
_CASE_LIMIT, _RUN_LIMIT = 600.0, 7200.0
#: What comes first, in this order: results that are known bit by bit are the quickest to see what
#: a kernel computes, and then the groups that look at most of it.
_FIRST = ("determinism/known_bits", "ops", "runtime")
#: Cases that are not tried: those hold a device against ``cpu:0``, and one against another process,
#: which has the library without the change.
_NOT_TRIED = ("bitwise/", "runtime/identity_is_that_of_other_processes")


@dataclass
class Calling:
    """Which functions each case calls, by name, and its ``seconds`` in a quick run."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def called(self) -> frozenset[str]:
        """All functions that some case calls."""
        return frozenset().union(*self.calls.values())

    def cases_of(self, functions: Iterable[str], seed: int) -> tuple[str, ...]:
        """Return the cases that call one of some functions: of each op one, then another, ..."""
        wanted = frozenset(functions)
        by_op: dict[str, list[str]] = {}
        for case, called in self.calls.items():
            if called & wanted and not case.startswith("bitwise/"):
                by_op.setdefault(_subject(case), []).append(case)
        order = random.Random(seed)  # noqa: S311 - the same at each run
        for cases in by_op.values():
            order.shuffle(cases)
            cases.sort(key=lambda case: self.seconds[case] > _LONG)
        lists = sorted(by_op.items())
        order.shuffle(lists)
        lists.sort(key=lambda one: _rank(one[0]))
        rows = max((len(cases) for _, cases in lists), default=0)
        return tuple(cases[i] for i in range(rows) for _, cases in lists if i < len(cases))

    def save(self, path: Path, digest: str) -> None:
        """Write all to a file."""
        names = sorted(self.called)
        numbers = {name: number for number, name in enumerate(names)}
        cases = {
            case: [self.seconds[case], sorted(numbers[name] for name in called)]
            for case, called in self.calls.items()
        }
        data = {"digest": digest, "functions": names, "cases": cases}
        path.write_text(json.dumps(data), "utf-8")

    @classmethod
    def load(cls, path: Path, digest: str) -> Calling | None:
        """Return what was saved of the same sources and suite, ``None`` if nothing was."""
        if not path.exists():
            return None
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if data["digest"] != digest:
            return None
        names = data["functions"]
        found = cls()
        for case, (seconds, numbers) in data["cases"].items():
            found.seconds[case] = seconds
            found.calls[case] = frozenset(names[number] for number in numbers)
        return found


#: Seconds of a case beyond which it comes after the others of its op.
_LONG = 0.1


def _rank(subject: str) -> int:
    return next((i for i, name in enumerate(_FIRST) if subject.startswith(name)), len(_FIRST))


def _subject(case: str) -> str:
    """Return what a case is about: its group, function and op."""
    overload = overload_of(case)
    return f"{case.partition('[')[0]} {overload.op if overload else ''}"


def digest(cases: Iterable[str]) -> str:
    """Return a number of the library's sources and of the suite's cases."""
    found = hashlib.sha256("\n".join(cases).encode())
    for name in library_files():
        found.update(f"{name}\n{body(name)}".encode())
    return found.hexdigest()


def note(crew: Crew, library: Path) -> Calling:
    """Run all cases, quick, on a library that notes its functions; blocks for minutes.

    What runs only when the device is opened, be it by the first case, counts as called by each case
    of the runtime: these are about what it makes.

    Raises:
        ValueError: a case fails, which no mutant has caused.
    """
    found = Calling()

    opening: list[str] = []

    def seen(told: dict[str, Any]) -> None:
        if not opening:
            opening.extend(told["functions"])
        found.seconds[told["seen"]] = told["seconds"]
        found.calls[told["seen"]] = frozenset(told["functions"])

    cases = [case for case in crew.cases if not case.startswith(_NOT_TRIED)]
    cases = [*cases[:2], *cases]  # with the first one, the device is opened
    change = Change(library=str(library))
    order = Order(change, cases, True, _CASE_LIMIT, _RUN_LIMIT, trace=True)
    answer = crew.run(order, seen)
    if answer.case:
        raise ValueError(f"the library fails without a mutant, in {answer.case}: {answer.message}")
    once = frozenset(opening) - found.calls[cases[0]]
    for case in found.calls:
        if case.startswith("runtime/"):
            found.calls[case] |= once
    return found
