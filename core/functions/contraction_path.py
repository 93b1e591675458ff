"""In which order einsum contracts its operands: decided by the names and extents alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

from phalanx.arrays.checks import need_int

Plan = list[tuple[int, ...]]
#: Operands for which all orders are compared.
_MOST = 8


def plan_of(terms: list[str], output: str, sizes: dict[str, int], optimize: Any) -> Plan:
    """Return the places to contract, step by step; a result goes behind what is left.

    Raises:
        ValueError: an unknown way, or a path that does not contract all operands.
    """
    if isinstance(optimize, list | tuple) and optimize and isinstance(optimize[0], str):
        if optimize[0] == "einsum_path":
            return _given(optimize[1:], len(terms))
        optimize = optimize[0]  # with the limit of memory that NumPy takes
    if isinstance(optimize, list | tuple):
        return _given(optimize, len(terms))
    if optimize not in (False, True, "greedy", "optimal"):
        raise ValueError(
            "einsum: optimize is False, True, 'greedy', 'optimal' or a path, such as "
            f"['einsum_path', (0, 1), (0, 1)], got {optimize!r}"
        )
    count = len(terms)
    if optimize is False or count < 3:
        return _from_left(count)
    if optimize == "optimal" and count <= _MOST:
        return _cheapest([frozenset(t) for t in terms], frozenset(output), sizes)
    return _greedy([frozenset(t) for t in terms], frozenset(output), sizes)


def _from_left(count: int) -> Plan:
    """The first two, then each next one with what was made; its place is the last."""
    plan: Plan = []
    while count > 1:
        plan.append((0, 1) if not plan else (count - 1, 0))
        count -= 1
    return plan


def _given(steps: Sequence[Any], count: int) -> Plan:
    """A path of the caller's, checked."""
    plan = [tuple(need_int(i, "einsum: a place of optimize") for i in step) for step in steps]
    for step in plan:
        if len(set(step)) != len(step) or not step or any(not 0 <= i < count for i in step):
            raise ValueError(f"einsum: {step} of optimize does not name some of {count} operands")
        count -= len(step) - 1
    if count != 1:
        raise ValueError(f"einsum: the path of optimize leaves {count} operands")
    return plan


def _size(names: frozenset[str], sizes: dict[str, int]) -> int:
    return math.prod(sizes[n] for n in names)


def _needed(terms: list[frozenset[str]], output: frozenset[str], i: int, j: int) -> frozenset[str]:
    """The names of the product of two terms: those of others and of the result."""
    others = (t for k, t in enumerate(terms) if k not in (i, j))
    return (terms[i] | terms[j]) & output.union(*others)


def _greedy(terms: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int]) -> Plan:
    """The pair first that makes the array least larger than both; of equals the cheaper one."""
    plan: Plan = []
    left = list(terms)
    while len(left) > 1:

        def price(pair: tuple[int, int], left: list[frozenset[str]] = left) -> tuple[int, ...]:
            i, j = pair
            made = _size(_needed(left, output, i, j), sizes)
            grown = made - _size(left[i], sizes) - _size(left[j], sizes)
            apart = int(not left[i] & left[j])
            return (apart, grown, _size(left[i] | left[j], sizes), i, j)

        i, j = min(combinations(range(len(left)), 2), key=price)
        made = _needed(left, output, i, j)
        left = [*(t for k, t in enumerate(left) if k not in (i, j)), made]
        plan.append((i, j))
    return plan


def _cheapest(terms: list[frozenset[str]], output: frozenset[str], sizes: dict[str, int]) -> Plan:
    """The order with the fewest products, of all."""

    @cache
    def best(left: tuple[frozenset[str], ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
        if len(left) == 1:
            return 0, ()
        found: list[tuple[int, tuple[tuple[int, ...], ...]]] = []
        for i, j in combinations(range(len(left)), 2):
            made = _needed(list(left), output, i, j)
            rest = (*(t for k, t in enumerate(left) if k not in (i, j)), made)
            cost, steps = best(rest)
            found.append((cost + _size(left[i] | left[j], sizes), ((i, j), *steps)))
        return min(found)

    return list(best(tuple(terms))[1])
