"""What has been proven so far, in a file that survives being killed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import phalanx

from .blocks import Finding, Subject


@dataclass
class Progress:
    """How far a subject is: all inputs below ``checked`` are, with what was found.

    Attributes:
        code: the `fingerprint` of the kernels that were checked.
        wrong: bits of the inputs with wrong results.
        decided: inputs that double left in doubt.
        date: the day of the last block, as year-month-day.
    """

    code: str
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
    """The progress of all subjects. It holds for the kernels that it was found with, no others.

    Raises:
        ValueError: the file is not such a state.
    """

    def __init__(self, path: Path, *, restart: bool = False) -> None:
        self.path = path
        self._all: dict[str, Progress] = {}
        if path.exists() and not restart:
            try:
                saved = json.loads(path.read_text("utf-8"))
                self._all = {name: Progress(**row) for name, row in saved.items()}
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(f"{path} has no progress of the proof: {error}") from error

    def of(self, subject: Subject) -> Progress:
        """Return the progress of a subject, to be added to: none if its kernels are others."""
        code = fingerprint(subject.device.partition(":")[0])
        row = self._all.get(str(subject))
        if row is None or row.code != code:
            row = self._all[str(subject)] = Progress(code)
        return row

    def save(self) -> None:
        """Write the file; a process that is killed leaves the old one or the new one."""
        rows = {name: asdict(row) for name, row in self._all.items() if row.checked}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        partial.write_text(json.dumps(rows, indent=1), "utf-8")
        partial.replace(self.path)


@cache
def fingerprint(driver: str) -> str:
    """Return a digest of what the installed package has for a driver: functions and kernels."""
    package = Path(phalanx.__file__).parent
    digest = hashlib.sha256()
    for pattern in ("scalar/*.h", f"kernels_{driver}/*"):
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()
