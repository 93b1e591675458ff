"""One step of the chain that tells why a device is usable or not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How one step went; ``unknown`` where a step before it ended the chain.

    ``absent``: something optional is not installed, which is no fault.
    """

    OK = "ok"
    ABSENT = "absent"
    FAIL = "fail"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the chain: what was seen, and what to do about it.

    A step that is ``ok`` has a remedy only if a part of it does not work.
    """

    name: str
    status: Status
    detail: str
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return plain data for JSON."""
        return {
            "name": self.name,
            "status": self.status.value,
            "detail": self.detail,
            "remedy": self.remedy,
        }
