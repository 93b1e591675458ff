"""What a case found: plain data that travels from the worker and into every report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a case ended. The last three are failures."""

    PASSED = "passed"
    INAPPLICABLE = "not applicable"  # the case says why this device cannot be asked
    UNSUPPORTED = "unsupported"  # declared, and the device refuses it as it should
    EXPECTED = "expected failure"  # declared, and it does fail
    FAILED = "failed"
    UNEXPECTED = "unexpected pass"  # declared as a failure, but it passes
    CRASHED = "crashed"  # the worker died or hung in it


FAILURES = frozenset((Verdict.FAILED, Verdict.UNEXPECTED, Verdict.CRASHED))


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong element: where, from what, what came and what should have come; all as text."""

    layout: str
    index: str
    inputs: str
    got: str
    want: str
    ulp: float = -1.0
    bound: float = -1.0
    wrong: int = 1
    size: int = 1


@dataclass(slots=True)
class Outcome:
    """One case of one run.

    ``worst`` is the largest error seen and ``bound`` what it is held against, in ulp where the op
    has a bound in ulp and otherwise in parts of the suite's own bound; negative if it has none.
    ``determinism`` is the class of the op's kernel, empty if the device has none of its own.
    ``fallbacks`` are ``(op, dtypes, ran on, calls, bytes moved)``. ``waiver`` is the reason of the
    waiver without which the case would have failed.
    """

    case: str
    group: str
    level: str
    verdict: Verdict
    op: str = ""
    dtypes: tuple[str, ...] = ()
    seconds: float = 0.0
    worst: float = -1.0
    bound: float = -1.0
    checks: int = 0
    message: str = ""
    reason: str = ""
    determinism: str = ""
    waiver: str = ""
    repeat: str = ""
    mistakes: tuple[Mistake, ...] = ()
    fallbacks: tuple[tuple[str, str, str, int, int], ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the case speaks against the device."""
        return self.verdict in FAILURES

    @property
    def wrong(self) -> bool:
        """Whether the device did not do what the case asks for, be it known or not."""
        return self.verdict in (Verdict.FAILED, Verdict.CRASHED, Verdict.EXPECTED)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, which shares ``notes`` with the outcome."""
        data = {name: getattr(self, name) for name in _FIELDS}
        data["mistakes"] = [asdict(m) for m in self.mistakes]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Outcome:
        """Return the outcome of such data.

        Raises:
            TypeError, ValueError, KeyError: it is no such data.
        """
        values = dict(data)
        values["verdict"] = Verdict(values["verdict"])
        values["dtypes"] = tuple(values["dtypes"])
        values["mistakes"] = tuple(Mistake(**m) for m in values["mistakes"])
        values["fallbacks"] = tuple(tuple(f) for f in values["fallbacks"])
        return cls(**values)


_FIELDS = tuple(f.name for f in fields(Outcome))
