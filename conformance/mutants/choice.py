"""Which mutants a self-test tries: drawn by a seed from the texts that a device's programs have."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from phalanx.conformance.naming import case_name, overload_of
from phalanx.conformance.overloads import Overload

from .crew import Change
from .hook import CASES as ALL
from .hook import LIST
from .mutant import WRITTEN, Mutant, bodies, of_file, of_program
from .reach import used

#: Cases that a mutant is tried with, of different ops if there are, and programs that are looked at
#: to find them.
CASES, LOOKED_AT = 5, 150
_OWNER = re.compile(r"^\w[^#;]*?(\w+)\(")


@dataclass(eq=False)
class Noted:
    """A program that a device compiled, and a case of each op that needed it."""

    head: Path
    source: Path
    cases: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What the compiler got."""
        return self.head.read_text("utf-8") + self.source.read_text("utf-8")

    @cached_property
    def used(self) -> str:
        """What its kernels use of it."""
        return used(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in what is used."""
        return frozenset(re.findall(r"[A-Za-z_]\w*", self.used))


@dataclass
class Choice:
    """A mutant, the cases that it can change, and how it is put in place.

    ``message`` is the compiler's where it does not compile.
    """

    mutant: Mutant
    cases: tuple[str, ...]
    change: Change
    message: str = ""


def evenly(lists: Sequence[Sequence[Mutant]], seed: int) -> Iterator[Mutant]:
    """Yield mutants in an order of the seed: of each list one, then of each another, ...

    Within a list, the operators take turns.
    """
    rows = []
    for number, mutants in enumerate(lists):
        order = random.Random(seed * 1000 + number)  # noqa: S311 - the same at each run
        by_operator: dict[str, list[Mutant]] = {}
        for mutant in mutants:
            by_operator.setdefault(mutant.operator, []).append(mutant)
        turns = list(by_operator.values())
        order.shuffle(turns)
        for turn in turns:
            order.shuffle(turn)
        rows.append([m for row in zip_longest(*turns) for m in row if m is not None])
    for row in zip_longest(*rows):
        yield from (m for m in row if m is not None)


@dataclass
class Chooser:
    """Finds mutants among noted programs.

    Attributes:
        same: all cases of each overload: the first one compiles, and all run the programs.
    """

    programs: list[Noted]
    seed: int
    same: dict[Overload, list[str]] = field(default_factory=dict)
    compares_bits: ClassVar[bool] = True
    #: The device compiles a program in it, or several.
    case_limit: ClassVar[float] = 60.0
    _of: dict[str, list[Noted]] = field(default_factory=dict)

    @classmethod
    def of_folder(cls, folder: Path, seed: int) -> Chooser:
        """Return the one for the programs in a folder that the plugin `hook` filled."""
        found: dict[tuple[str, str], Noted] = {}
        path = folder / LIST
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            data = json.loads(line)
            if data["node"]:
                case = case_name(data["node"])
                paths = folder / data["head"], folder / data["source"]
                program = found.setdefault((data["head"], data["source"]), Noted(*paths))
                overload = overload_of(case)
                program.cases.setdefault(overload.op if overload else case, case)
        same: dict[Overload, list[str]] = {}
        names = folder / ALL
        for node in names.read_text("utf-8").splitlines() if names.exists() else ():
            overload = overload_of(case_name(node))
            if overload is not None:
                same.setdefault(overload, []).append(case_name(node))
        return cls(list(found.values()), seed, same)

    def candidates(self) -> Iterator[Mutant]:
        """Yield all mutants in the order of the seed: from each text in turn, as far as it goes."""
        heads = {path: path.read_text("utf-8") for path in {p.head for p in self.programs}}
        texts = [
            (heads[p.head], p.source.read_text("utf-8"), p)
            for p in sorted(self.programs, key=lambda p: (p.source.name, p.head.name))
        ]
        lists = []
        for name, body in bodies().items():
            in_heads = {path for path, head in heads.items() if body in head}
            self._of[name] = [p for _, text, p in texts if p.head in in_heads or body in text]
            if self._of[name]:
                lists.append(of_file(name))
        written = {m: None for _, source, _ in texts for m in of_program(source)}
        # Python writes as much as a few files have.
        every = list(written)
        lists += [every[i::_SHARES] for i in range(_SHARES)]
        yield from evenly(lists, self.seed)

    def cases_of(self, mutant: Mutant) -> tuple[str, ...]:
        """Return some cases whose programs a mutant changes; empty if it changes none."""
        programs = self._of[mutant.text] if mutant.text != WRITTEN else self.programs
        programs = list(programs)
        random.Random(self.seed).shuffle(programs)  # noqa: S311 - the same at each run
        # complex numbers have fewer operands
        programs.sort(key=lambda p: any("complex" in case for case in p.cases.values()))
        owner = _owner(mutant)
        found: dict[str, str] = {}
        others: list[str] = []
        looked = 0
        for program in programs:
            text = program.text
            if mutant.text == WRITTEN and mutant.before not in text:
                continue
            if owner and owner not in program.names:
                continue
            if len(others) >= CASES and found.keys() >= program.cases.keys():
                continue
            looked += 1
            changed = mutant.applied(text)
            if changed != text and used(changed) != program.used:
                others += [case for op, case in program.cases.items() if op in found]
                found = {**program.cases, **found}
            if len(found) >= CASES or looked >= LOOKED_AT:
                break
        cases = list(dict.fromkeys([*found.values(), *others]))[: max(CASES, len(found))]
        return tuple(same for case in cases for same in self._all_of(case))

    def _all_of(self, case: str) -> list[str]:
        """Return the cases of a case's overload, that one first."""
        overload = overload_of(case)
        others = self.same.get(overload, []) if overload else []
        return [case, *(other for other in others if other != case)]

    def choice(self, mutant: Mutant, *, again: bool = False) -> Choice | None:
        """Return the cases whose programs a mutant changes, ``None`` if it changes none."""
        del again  # each program has all of a text
        cases = self.cases_of(mutant)
        return Choice(mutant, cases, Change(mutant.to_dict())) if cases else None


_SHARES = 6


def _owner(mutant: Mutant) -> str:
    """Return the function whose line is changed, empty if it is not certain."""
    if mutant.text == WRITTEN:
        return ""
    lines = bodies()[mutant.text].splitlines()
    for line in reversed(lines[: mutant.line + 1]):
        if line.startswith("#define") or line.endswith("\\"):
            return ""
        if line.startswith(("#", "}", "{", " ", "/*", "*")) or not line:
            continue
        found = _OWNER.match(line)
        return found[1] if found and found[1].islower() else ""
    return ""
