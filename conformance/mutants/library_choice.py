"""Which mutants of the CPU library a self-test tries, and the cases that call what they change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from .calling import Calling, digest, note
from .choice import Choice, evenly
from .crew import Change, Crew
from .library import Workshop
from .mutant import Mutant, library_files, of_file
from .tracing import qualified

_CALLING = "calling.json"


@dataclass
class LibraryChooser:
    """Draws mutants of the library's sources by a seed, and builds them."""

    shop: Workshop
    calling: Calling
    seed: int
    #: It is the device with which the bits of others are compared.
    compares_bits: ClassVar[bool] = False
    case_limit: ClassVar[float] = 30.0

    @classmethod
    def of_folder(cls, folder: Path, isa: str, seed: int, crew: Crew) -> LibraryChooser:
        """Build the library and note which functions the cases call, unless the folder knows.

        Raises:
            ValueError: there are no sources or no compiler here, or a case fails.
        """
        shop = Workshop(folder / "library", isa)
        path, number = folder / _CALLING, digest(crew.cases)
        calling = Calling.load(path, number)
        if calling is None:
            calling = note(crew, shop.traced())
            calling.save(path, number)
        return cls(shop, calling, seed)

    def candidates(self) -> Iterator[Mutant]:
        """Yield all mutants in the order of the seed: of each file one, then another, ..."""
        return evenly([of_file(name) for name in library_files()], self.seed)

    def choice(self, mutant: Mutant, *, again: bool = False) -> Choice | None:
        """Build a mutant; ``None`` if all of its objects are those of the original.

        One that is tried ``again`` is changed in all of them.
        """
        built = self.shop.build(mutant, everywhere=again)
        if built.message:
            return Choice(mutant, (), Change(), built.message)
        if built.path is None:
            return None
        functions = self._called(set(built.functions))
        cases = self.calling.cases_of(functions, self.seed)
        return Choice(mutant, cases, Change(library=str(built.path)))

    def _called(self, functions: set[str]) -> set[str]:
        """Return those functions that cases call; instead of others, those that have them."""
        called = self.calling.called
        found, todo, known = set[str](), set(functions), set(functions)
        while todo:
            unit, _, name = todo.pop().partition(":")
            if qualified(unit, name) in called:
                found.add(qualified(unit, name))
            elif name in called:
                found.add(name)
            else:
                callers = self.shop.units[unit].functions.callers({name})
                new = {qualified(unit, caller) for caller in callers} - known
                known |= new
                todo |= new
        return found
