"""What the suite found of one mutant, and of many."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Self

from .mutant import Mutant

#: The part of the mutants that the suite must catch, and that its quick form must.
RATE, QUICK_RATE = 0.97, 0.9
#: How many of the cases that can see a mutant are named.
SHOWN = 8


@cache
def equivalents() -> dict[str, str]:
    """Return why a mutant computes the same, by its name."""
    text = files(__package__).joinpath("equivalents.json").read_text("utf-8")
    return {entry["name"]: entry["reason"] for entry in json.loads(text)}


@dataclass(frozen=True, slots=True)
class MutantTrial:
    """What the suite found of a mutant.

    ``stage`` tells in which run it was caught, empty if in none; ``case`` is the first that failed.
    ``tried`` are the first of the cases that can see it, ``reached`` tells how many there are, and
    ``partial`` that the time was over before all had been run. ``full`` tells whether it was tried
    with the full form of the suite.
    """

    mutant: Mutant
    tried: tuple[str, ...]
    stage: str
    case: str
    message: str
    seconds: float
    compiled: bool = True
    reached: int = 0
    partial: bool = False
    full: bool = False

    @property
    def reason(self) -> str:
        """Why it computes the same as the original, where that is known."""
        return equivalents().get(self.mutant.name, "")

    @property
    def killed(self) -> bool:
        """Whether the suite caught it."""
        return bool(self.stage)

    @property
    def counts(self) -> bool:
        """Whether it could be caught: it compiles and is not known to compute the same."""
        return self.compiled and (self.killed or not self.reason)

    @property
    def verdict(self) -> str:
        """How it ended, in words."""
        if not self.compiled:
            return "does not compile"
        if self.killed:
            return "killed"
        return "equivalent" if self.reason else "survived"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            **self.mutant.to_dict(),
            "place": self.mutant.place,
            "tried": list(self.tried),
            "reached": self.reached,
            "partial": self.partial,
            "full": self.full,
            "stage": self.stage,
            "case": self.case,
            "message": self.message,
            "seconds": round(self.seconds, 3),
            "compiled": self.compiled,
            "verdict": self.verdict,
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the one that was made plain."""
        keys = ("stage", "case", "message", "seconds", "compiled", "reached", "partial", "full")
        return cls(
            Mutant.from_dict(data),
            tuple(data["tried"]),
            **{key: data[key] for key in keys if key in data},
        )


@dataclass(slots=True)
class MutationTest:
    """Mutants on a device. ``unused`` were drawn, but changed no program or object."""

    device: str
    quick: bool
    seed: int
    trials: list[MutantTrial] = field(default_factory=list)
    unused: int = 0
    seconds: float = 0.0

    @property
    def counted(self) -> list[MutantTrial]:
        """The trials that count."""
        return [trial for trial in self.trials if trial.counts]

    @property
    def survivors(self) -> list[MutantTrial]:
        """The trials of mutants that should have been caught and were not."""
        return [trial for trial in self.counted if not trial.killed]

    @property
    def kill_rate(self) -> float:
        """The part of the mutants that count that was caught, from 0 to 1."""
        counted = self.counted
        return sum(t.killed for t in counted) / len(counted) if counted else 0.0

    @property
    def quick_rate(self) -> float:
        """The part of the mutants that count that the quick run caught, from 0 to 1."""
        counted = self.counted
        return sum(t.stage == "quick" for t in counted) / len(counted) if counted else 0.0
