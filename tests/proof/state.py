"""What has been proven so far, in a file that survives being killed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import phalanx

from .blocks import Finding, Subject


@dataclass
class Progress:
    """How far a subject is: all inputs below ``checked`` are, with what was found.

    Attributes:
        wrong: bits of the inputs with wrong results.
        decided: inputs that double left in doubt.
        date: the day of the last block, as year-month-day.
    """

    checked: int = 0
    wrong: list[int] = field(default_factory=list)
    decided: int = 0
    date: str = ""

    def add(self, finding: Finding) -> None:
        """Take in the block that begins where this ends."""
        self.checked = finding.end
        self.wrong.extend(finding.wrong)
        self.decided += finding.decided
        self.date = datetime.now(UTC).date().isoformat()


class State:
    """The progress of all subjects. Kept for the code that it was found with, and no other."""

    def __init__(self, path: Path, *, restart: bool = False) -> None:
        self.path = path
        self._code = fingerprint()
        self._all: dict[str, Progress] = {}
        if path.exists() and not restart:
            saved = json.loads(path.read_text("utf-8"))
            if saved["code"] == self._code:
                self._all = {name: Progress(**row) for name, row in saved["subjects"].items()}

    def of(self, subject: Subject) -> Progress:
        """Return the progress of a subject, to be added to."""
        return self._all.setdefault(str(subject), Progress())

    def save(self) -> None:
        """Write the file; a process that is killed leaves the old one or the new one."""
        rows = {name: asdict(row) for name, row in self._all.items() if row.checked}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        partial.write_text(json.dumps({"code": self._code, "subjects": rows}, indent=1), "utf-8")
        partial.replace(self.path)


def fingerprint() -> str:
    """Return a digest of the installed package's scalar functions and kernel libraries."""
    package = Path(phalanx.__file__).parent
    digest = hashlib.sha256()
    for pattern in ("scalar/*.h", "kernels_*/*.so", "kernels_*/*.cl", "kernels_*/*.py"):
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()
