"""What a run of the suite is told: device, level, and what narrows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from enum import IntEnum
from functools import cache
from typing import Any

GROUPS = ("runtime", "ops", "programs", "interop", "determinism", "semantics", "bitwise")
#: The group of tests that are not ours.
VENDOR = "vendor"
#: Cases of unbounded kind get this seed if none is given, so that two runs are the same.
DEFAULT_SEED = 20


class Level(IntEnum):
    """What a device is certified for; each level contains those before it."""

    RUNTIME = 1
    CORE = 2
    ARRAY_API = 3
    BITWISE = 4

    @property
    def title(self) -> str:
        """The name for people and the command line."""
        return self.name.lower().replace("_", "-")

    @classmethod
    @cache
    def named(cls, name: str) -> Level:
        """Return the level of a name.

        Raises:
            ValueError: there is none, with the names that there are.
        """
        for level in cls:
            if level.title == name:
                return level
        raise ValueError(unknown("level", name, [level.title for level in cls]))


#: The level at which the cases of a group count, unless a case says otherwise.
GROUP_LEVELS = {
    "runtime": Level.RUNTIME,
    "ops": Level.CORE,
    "programs": Level.CORE,
    "interop": Level.CORE,
    "determinism": Level.CORE,
    "semantics": Level.ARRAY_API,
    "bitwise": Level.BITWISE,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """One run. Empty tuples mean all; ``fault`` names the faulty device of the self-test."""

    device: str
    level: Level = Level.ARRAY_API
    quick: bool = False
    groups: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    seed: int = DEFAULT_SEED
    fault: str = ""

    def __post_init__(self) -> None:
        from phalanx._warm import DTYPES
        from phalanx.dispatch.registry import check_op

        for group in self.groups:
            if group not in (*GROUPS, VENDOR):
                raise ValueError(unknown("group", group, (*GROUPS, VENDOR)))
        for op in self.ops:
            check_op(op)
        names = [dtype.name for dtype in DTYPES]
        for dtype in self.dtypes:
            if dtype not in names:
                raise ValueError(unknown("dtype", dtype, names))
        if self.seed < 0:
            raise ValueError(f"the seed is a number from 0 up, not {self.seed}")

    @property
    def narrowed(self) -> bool:
        """Whether cases are left out that a certificate needs."""
        return bool(self.groups or self.ops or self.dtypes or self.cases)

    def wants(self, case: str, group: str, level: Level, op: str, dtypes: Sequence[str]) -> bool:
        """Tell whether a case belongs to the run; a named case always does."""
        if self.cases:
            return case in self.cases
        return (
            level <= self.level
            and (not self.groups or group in self.groups)
            and (not self.ops or op in self.ops)
            and (not self.dtypes or any(dtype in self.dtypes for dtype in dtypes))
        )

    def repeat_command(self, case: str) -> str:
        """Return the one command that repeats a case."""
        import shlex

        words = ["phalanx", "conformance", "--device", self.device, "--case", case]
        words += ["--seed", str(self.seed)]
        words += ["--quick"] if self.quick else []
        words += ["--fault", self.fault] if self.fault else []
        return shlex.join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {**asdict(self), "level": self.level.title}


def unknown(what: str, name: str, names: Sequence[str]) -> str:
    """Return the message for a name that is not known: the names close to it, or all if few."""
    close = get_close_matches(name, names, 3)
    if close:
        return f"unknown {what} {name!r}; did you mean {' or '.join(map(repr, close))}?"
    if len(names) <= _FEW:
        return f"unknown {what} {name!r}; there are {', '.join(names)}"
    return f"unknown {what} {name!r}; there are {len(names)} others, as {names[0]!r}"


_FEW = 20
