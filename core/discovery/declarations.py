"""What a plugin declares about its devices to the conformance suite.

A plugin returns a `Declarations` from the hook ``phalanx_conformance``. Two lists say what is
known: *unsupported* is for ever, with a reason, and the suite checks that the device refuses it
with an ``UnsupportedOpError``; an *expected failure* is a fault that will be mended, and an
unexpected pass fails. A *waiver* widens one error bound until a date. All of them show in every
report.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Pattern:
    """Which cases are meant: shell patterns for the op, for any of its dtypes and for the case.

    In that for the case, brackets stand for themselves, as the names of cases have them.
    """

    reason: str
    op: str = "*"
    dtype: str = "*"
    case: str = "*"

    def __post_init__(self) -> None:
        _need_text(self, "reason", "op", "dtype", "case")
        if not self.reason.strip():
            raise ValueError(f"{type(self).__name__} needs a reason")
        if self.op == self.dtype == self.case == "*":
            raise ValueError(f"{type(self).__name__} needs an op, a dtype or a case")

    def matches(self, case: str, op: str = "", dtypes: tuple[str, ...] = ()) -> bool:
        """Tell whether a case is meant; ``op`` and ``dtypes`` are empty for those of no op."""
        if (self.op != "*" and not op) or (self.dtype != "*" and not dtypes):
            return False
        return (
            fnmatchcase(op, self.op)
            and (not dtypes or any(fnmatchcase(d, self.dtype) for d in dtypes))
            and fnmatchcase(case, self.case.replace("[", "[[]"))
        )


@dataclass(frozen=True, slots=True)
class Unsupported(Pattern):
    """Cases that the device will never support."""


@dataclass(frozen=True, slots=True)
class ExpectedFailure(Pattern):
    """Cases that fail today."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """A wider error bound, in ulp, for one op and one dtype, up to and including a day.

    For what has no bound in ulp (reductions, scans, products) ``bound`` multiplies the suite's.
    """

    op: str
    dtype: str
    bound: float
    reason: str
    expires: datetime.date

    def __post_init__(self) -> None:
        _need_text(self, "op", "dtype", "reason")
        if not self.reason.strip():
            raise ValueError(f"the waiver for {self.op}({self.dtype}) needs a reason")
        if not isinstance(self.bound, int | float) or not 0 < self.bound < math.inf:
            raise ValueError(
                f"the waiver for {self.op}({self.dtype}) needs a bound above 0, got {self.bound!r}"
            )
        if type(self.expires) is not datetime.date:
            raise TypeError(
                f"the waiver for {self.op}({self.dtype}) expires on a datetime.date, got "
                f"{self.expires!r}"
            )

    def is_expired(self, today: datetime.date | None = None) -> bool:
        """Tell whether its last day has passed."""
        return (today or datetime.date.today()) > self.expires


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a plugin declares for one device.

    ``tests`` names importable packages or modules with the vendor's own tests; they join the suite.

    Raises:
        TypeError: a list holds something else.
        ValueError: ``tests`` has what is no name of a module, such as a path or an option.
    """

    unsupported: tuple[Unsupported, ...] = ()
    expected_failures: tuple[ExpectedFailure, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    tests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (
            ("unsupported", Unsupported),
            ("expected_failures", ExpectedFailure),
            ("waivers", Waiver),
            ("tests", str),
        ):
            given = getattr(self, name)
            if not isinstance(given, tuple | list):
                raise TypeError(f"Declarations.{name} is a tuple, got {given!r}")
            for item in given:
                if not isinstance(item, kind):
                    raise TypeError(
                        f"Declarations.{name} has objects of type {kind.__name__}, got {item!r}"
                    )
        for module in self.tests:
            if not all(part.isidentifier() for part in module.split(".")):
                raise ValueError(f"Declarations.tests names modules, and {module!r} is none")


def _need_text(declared: Pattern | Waiver, *names: str) -> None:
    for name in names:
        given = getattr(declared, name)
        if not isinstance(given, str):
            raise TypeError(f"{type(declared).__name__}.{name} is a text, got {given!r}")
