"""The trials of a folder: what was tried before is not tried again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from .mutant import Mutant
from .trial import MutantTrial

_UNUSED = "unused"


class Journal:
    """A file with a line of JSON for each trial; the last line of a mutant counts.

    Trials of lines that the texts have no longer are passed over.
    """

    def __init__(self, path: Path) -> None:
        """Read what is there."""
        self._path = path
        self._known: dict[str, MutantTrial | None] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                data = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was ended
            if _UNUSED in data:
                self._known[data["name"]] = None
                continue
            trial = MutantTrial.from_dict(data)
            mutant = trial.mutant.found()
            if mutant is not None:
                self._known[mutant.name] = replace(trial, mutant=mutant)

    def __contains__(self, mutant: Mutant) -> bool:
        return mutant.name in self._known

    def __getitem__(self, mutant: Mutant) -> MutantTrial | None:
        return self._known[mutant.name]

    def trials(self) -> list[MutantTrial]:
        """Return all of mutants that change something."""
        return [trial for trial in self._known.values() if trial is not None]

    @property
    def unused(self) -> int:
        """How many mutants change nothing."""
        return sum(trial is None for trial in self._known.values())

    def survived(self) -> tuple[str, ...]:
        """Return the names of the mutants that were not caught."""
        return tuple(t.mutant.name for t in self.trials() if t.counts and not t.killed)

    def add(self, mutant: Mutant, trial: MutantTrial | None) -> None:
        """Append a trial; ``None`` says that the mutant changes nothing."""
        self._known[mutant.name] = trial
        data: dict[str, Any] = {"name": mutant.name, _UNUSED: True}
        if trial is not None:
            data = trial.to_dict()
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")
