"""What is timed of indexing, sorting, searching, reducing and joining."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .element_workloads import TWO_SIZES, more
from .workloads import IN_ROWS, ROW, HostArray, Operands, Workload, rows, values, vectors

#: Rows so short that a row is less than a vector of the CPU.
_SHORT = 8


def _distinct(n: int, rng: np.random.Generator) -> HostArray:
    """Whole numbers in random order, each once: orders and places have one answer."""
    return rng.permutation(n).astype(np.float32)


def _shuffled(n: int, rng: np.random.Generator) -> Operands:
    return (_distinct(n, rng),)


def _and_places(n: int, rng: np.random.Generator) -> Operands:
    return values(n, rng), rng.integers(0, n, n)


def _places_and_values(n: int, rng: np.random.Generator) -> Operands:
    """Each place once: who writes last to a place is nobody's promise."""
    return values(n, rng), rng.permutation(n), values(n, rng)


def _and_mask(n: int, rng: np.random.Generator) -> Operands:
    return values(n, rng), rng.random(n) < 0.5


def _small_whole(n: int, rng: np.random.Generator) -> Operands:
    """From -2 to 2: sums in every order are exact in float32."""
    return (rng.integers(-2, 3, n).astype(np.float32),)


def _integers(high: int) -> Callable[[int, np.random.Generator], Operands]:
    return lambda n, rng: (rng.integers(-high, high, n, dtype=np.int32),)


def _doubles(n: int, rng: np.random.Generator) -> Operands:
    return (rng.random(n),)


def _sorted_and_others(n: int, rng: np.random.Generator) -> Operands:
    return np.sort(values(n, rng)), values(n, rng)


def _all(answer: bool) -> Callable[[int, np.random.Generator], Operands]:
    """Nothing ends the search before the end."""
    return lambda n, _rng: (np.full(n, answer),)


def _short_rows(n: int, rng: np.random.Generator) -> Operands:
    return (values(n, rng).reshape(-1, _SHORT),)


SEARCH_WORKLOADS: tuple[Workload, ...] = (
    more("take", "a at random places", "xp.take(a, b)", _and_places, TWO_SIZES, (2**20,)),
    more(
        "put",
        "a[b] = c, each place once, in random order",
        "(a.__setitem__(b, c), a)[1]",
        _places_and_values,
        TWO_SIZES,
        moves=lambda n: 16 * n,
    ),
    more(
        "put by mask",
        "a[b] = 0 by a mask that is true for a random half",
        "(a.__setitem__(b, 0.0), a)[1]",
        _and_mask,
        moves=lambda n: 5 * n,
    ),
    more(
        "cumulative sum",
        "sums of all up to each",
        "xp.cumulative_sum(a)",
        _small_whole,
        TWO_SIZES,
        special={"torch": "xp.cumsum(a, dim=0)"},
    ),
    more("argsort", "places, ascending", "xp.argsort(a, stable=True)", _shuffled, TWO_SIZES),
    more(
        "sort int32",
        "sort all, ascending",
        "xp.sort(a)",
        _integers(2**30),
        special={"torch": "xp.sort(a).values"},
    ),
    more(
        "sort float64",
        "sort all, ascending",
        "xp.sort(a)",
        _doubles,
        special={"torch": "xp.sort(a).values"},
    ),
    more(
        "unique_values",
        "the 2000 values of int32, ascending",
        "xp.unique_values(a)",
        _integers(1000),
        # NumPy's unique_values promises no order, and from 2.3 on has none.
        special={"torch": "xp.unique(a)", "numpy": "xp.unique(a)"},
    ),
    more(
        "searchsorted",
        "places of as many values in a sorted array",
        "xp.searchsorted(a, b)",
        _sorted_and_others,
    ),
    more("argmax", "place of the largest", "xp.argmax(a)", _shuffled, TWO_SIZES),
    more(
        "var",
        "variance of all",
        "xp.var(a)",
        vectors(1),
        special={"torch": "xp.var(a, correction=0)"},
    ),
    more("all", "whether all are true, and they are", "xp.all(a)", _all(True)),
    more("any", "whether one is true, and none is", "xp.any(a)", _all(False)),
    more("sum columns", f"sums of {ROW} columns", "xp.sum(a, axis=0)", rows, TWO_SIZES, **IN_ROWS),
    more(
        "max short rows",
        f"largest of rows of {_SHORT}",
        "xp.max(a, axis=-1)",
        _short_rows,
        special={"torch": "xp.amax(a, dim=-1)"},
        multiple=_SHORT,
        limits=(_SHORT, 2**31),
    ),
    more("concat", "a and b in one array", "xp.concat([a, b])", vectors(2), TWO_SIZES),
    more("stack", "a and b as columns", "xp.stack([a, b], axis=-1)", vectors(2)),
)
