"""Makes a program from a seed: at each step some thread follows some rule."""

from __future__ import annotations

from collections.abc import Iterable

from . import generate_runtime, generate_structured, generate_values
from .program import Program, Traits
from .state import State

#: All rules by name, with their weights.
RULES = {**generate_values.RULES, **generate_structured.RULES, **generate_runtime.RULES}
_TRIES = 20


def generate(
    seed: int,
    devices: tuple[Traits, ...],
    *,
    threads: int,
    operations: int,
    without: Iterable[str] = (),
) -> Program:
    """Return the program of a seed; the same for the same arguments.

    Args:
        seed: of all choices.
        devices: the first takes most of the work.
        threads: how many work at the same time.
        operations: how many steps all of them take together, at least.
        without: names of rules that are left out; without ``stream``, all work goes to the
            default streams.

    Raises:
        ValueError: no such rule.
    """
    unknown = sorted(set(without) - RULES.keys())
    if unknown:
        raise ValueError(f"unknown rule {unknown[0]!r}; there are {', '.join(sorted(RULES))}")
    state = State(seed, devices, threads, with_streams="stream" not in without)
    rules = [rule for name, (_, rule) in RULES.items() if name not in without]
    weights = [weight for name, (weight, _) in RULES.items() if name not in without]
    while len(state.steps) < operations:
        thread = state.random.choice(state.threads)
        for _ in range(_TRIES):
            if state.random.choices(rules, weights)[0](state, thread):
                break
        else:
            generate_values.make(state, thread)
        generate_runtime.tidy(state, thread)
    generate_runtime.ends(state)
    return state.finished()
