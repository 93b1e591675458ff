"""What a suite is: tests of a library, how it gets to know Phalanx, and what may fail why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Edit:
    """What stands in a file of a package or of its tests, and what stands there then."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Reason:
    """Why tests fail whose names begin with ``test`` and whose messages contain ``message``.

    A ``kind`` of device, if given, is the only one where they may.
    """

    test: str
    why: str
    kind: str = ""
    message: str = ""

    def explains(self, test: str, message: str, device: str) -> bool:
        """Return whether this is why a test fails on a device."""
        there = self.kind in {"", device.partition(":")[0]}
        return there and test.startswith(self.test) and self.message in message


@dataclass(frozen=True)
class Suite:
    """The tests of a package for array libraries, or ours of the package with Phalanx.

    ``tests`` lie in the package's ``wheel``, where they are modules, in its ``sdist``, where they
    are paths, or in this folder (``ours``). ``needs`` are further packages. ``selection`` are
    arguments of pytest. ``environment`` are variables; ``beside`` are those with which the same
    tests run with array-api-strict. ``request`` is what upstream would be asked for.
    """

    package: str
    tests: tuple[str, ...]
    home: Literal["wheel", "sdist", "ours"] = "wheel"
    needs: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    selection: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    request: str = ""
