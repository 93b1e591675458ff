"""Run the model from the command line; see the docstring of the package."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable

from .mutants import MUTANTS
from .programs import PROGRAMS, Program
from .protocol import Protocol
from .search import Model, Result, explore
from .short_programs import all_programs, some_programs


def run(name: str, model: Model) -> Result:
    """Explore a model and print a line about it."""
    start = time.perf_counter()
    result = explore(model)
    seconds = time.perf_counter() - start
    print(f"{name:34} {result.states:8} states {seconds:7.2f} s  {result.violation or 'holds'}")
    return result


def run_many(programs: Iterable[Program]) -> bool:
    """Explore programs, tell now and then how many, stop at the first that fails."""
    start = told = time.perf_counter()
    count = states = 0
    for program in programs:
        result = explore(Model(program, Protocol()))
        count += 1
        states += result.states
        if result.violation:
            print(f"{program.threads}\n{result.violation}", *result.trace, sep="\n")
            return False
        if time.perf_counter() - told > 10:
            told = time.perf_counter()
            print(f"{count:8} programs {states:10} states {told - start:7.0f} s", flush=True)
    print(f"{count:8} programs {states:10} states {time.perf_counter() - start:7.0f} s  hold")
    return True


def run_named() -> bool:
    """Explore every program of ``programs.py``, and print the traces of those that fail."""
    good = True
    for name, program in PROGRAMS.items():
        result = run(name, Model(program, Protocol()))
        if result.violation:
            print(*result.trace, sep="\n")
            good = False
    return good


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("mutants", nargs="*", metavar="MUTANT", help="tell how these fail")
    parser.add_argument("--list", action="store_true", help="list the mutants")
    parser.add_argument("--all", type=int, metavar="LENGTH", help="all programs of this length")
    parser.add_argument("--some", type=int, metavar="COUNT", help="so many programs at random")
    parser.add_argument("--length", type=int, default=3, help="their length (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="their seed (%(default)s)")
    options = parser.parse_args()
    if options.list:
        for name, mutant in MUTANTS.items():
            print(f"{name:34} {mutant.invariant}  {mutant.program}: {mutant.protocol.__doc__}")
        return 0
    if options.mutants:
        for name in options.mutants:
            mutant = MUTANTS[name]
            model = Model(PROGRAMS[mutant.program], mutant.protocol())
            print(*run(name, model).trace, sep="\n")
        return 0
    good = run_named()
    if good and options.all is not None:
        good = run_many(all_programs(options.all))
    if good and options.some is not None:
        good = run_many(some_programs(options.length, options.some, options.seed))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
