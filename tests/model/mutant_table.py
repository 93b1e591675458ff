"""The table of mutants: which program shows a fault, and which invariant breaks there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .protocol import Protocol


@dataclass(frozen=True)
class Mutant:
    """A faulty protocol, the program that shows its fault, and the invariant that breaks."""

    protocol: type[Protocol]
    program: str
    invariant: str


MUTANTS: dict[str, Mutant] = {}


def mutant(program: str, invariant: str) -> Callable[[type[Protocol]], type[Protocol]]:
    """Enter a class into the table of mutants."""

    def enter(protocol: type[Protocol]) -> type[Protocol]:
        MUTANTS[protocol.__name__] = Mutant(protocol, program, invariant)
        return protocol

    return enter
