"""What is timed: expressions over arrays, the same for every contestant where possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

HostArray = npt.NDArray[Any]
Operands = tuple[HostArray, ...]

ROW = 1024
SIZES = (2**10, 2**16, 2**20, 2**24)
QUICK_SIZES = (2**10, 2**20)


@dataclass(frozen=True, slots=True)
class Workload:
    """An expression and its operands.

    ``expression`` is Python text over ``xp`` (the contestant's namespace) and the operands ``a``,
    ``b``, ``c``; it is the body of the timed loop, so making views and releasing the result count.
    ``special`` replaces it for the contestants of a family that spell it differently. ``size`` is
    the number of elements of the largest operand by ``width``, or the order of a matrix.
    """

    name: str
    summary: str
    expression: str
    operands: Callable[[int, np.random.Generator], Operands]
    sizes: tuple[int, ...] = SIZES
    quick_sizes: tuple[int, ...] = QUICK_SIZES
    limits: tuple[int, int] = (2, 2**31)
    multiple: int = 1
    is_matrix: bool = False
    #: False where the result holds whatever the memory held: only shape and dtype are compared.
    has_values: bool = True
    #: False where only the host's time counts: the work is waited for after the clock was read.
    waits: bool = True
    special: Mapping[str, str] = field(default_factory=dict)
    #: True where few rounds are enough, as there are many such rows.
    is_brief: bool = False
    #: A statement by family that changes the operands once, before anything is timed.
    setup: Mapping[str, str] = field(default_factory=dict)
    #: Why a family cannot do this, by family. What NumPy computes is the reference all the same.
    lacks: Mapping[str, str] = field(default_factory=dict)
    #: Elements of the largest operand for each unit of ``size``.
    width: int = 1
    #: Bytes that must be read or written, by size; without it all of the operands and the result.
    moves: Callable[[int], int] | None = None
    #: Multiplications and additions, by size, where they set the limit.
    flops: Callable[[int], float] | None = None

    def elements(self, size: int) -> int:
        """Return the number of elements of the largest operand."""
        return size * size if self.is_matrix else size * self.width

    def effort(self, size: int) -> float:
        """Return about how long the work lasts, in units of a pass over 2^20 elements."""
        passes = self.elements(size) / 2**20
        return max(passes, self.flops(size) / 2**30) if self.flops else passes

    def accepts(self, size: int) -> bool:
        """Tell whether the workload exists at a size."""
        return self.limits[0] <= size <= self.limits[1] and size % self.multiple == 0

    def expression_for(self, family: str) -> str:
        """Return the expression as a family of contestants spells it."""
        return self.special.get(family, self.expression)


def values(n: int, rng: np.random.Generator) -> HostArray:
    """Uniform in [-1, 3): no cancellation in sums, both signs, no overflow in ``exp``."""
    x = rng.random(n, dtype=np.float32)
    x *= 4.0
    x -= 1.0
    return x


def vectors(count: int) -> Callable[[int, np.random.Generator], Operands]:
    """Return what makes so many vectors of ``size`` elements."""
    return lambda n, rng: tuple(values(n, rng) for _ in range(count))


def rows(n: int, rng: np.random.Generator) -> Operands:
    """Make a matrix of so many elements with rows of `ROW`."""
    return (values(n, rng).reshape(-1, ROW),)


def _rows_and_row(n: int, rng: np.random.Generator) -> Operands:
    return values(n, rng).reshape(-1, ROW), values(ROW, rng)


def _mask_and_vectors(count: int) -> Callable[[int, np.random.Generator], Operands]:
    """A mask that is true for a random half, so that no branch can be foretold, and vectors."""
    return lambda n, rng: (rng.random(n) < 0.5, *(values(n, rng) for _ in range(count)))


def _matrices(n: int, rng: np.random.Generator) -> Operands:
    return values(n * n, rng).reshape(n, n), values(n * n, rng).reshape(n, n)


def _nothing(_n: int, _rng: np.random.Generator) -> Operands:
    return ()


#: The sizes of a workload of one element.
ONE: dict[str, Any] = {"sizes": (1,), "quick_sizes": (1,), "limits": (1, 1)}
#: The sizes that `rows` has.
IN_ROWS: dict[str, Any] = {"limits": (ROW, 2**31), "multiple": ROW}
_BLOCK: dict[str, Any] = {"sizes": (2**10,), "quick_sizes": (2**10,), "limits": (2**10, 2**10)}

#: The usual expression: shifted by the largest value of the row, so that nothing overflows.
_NUMPY_SOFTMAX = (
    "(e := xp.exp(a - xp.max(a, axis=-1, keepdims=True))) / xp.sum(e, axis=-1, keepdims=True)"
)

WORKLOADS: tuple[Workload, ...] = (
    Workload("dispatch add", "a + b of one element", "a + b", vectors(2), **ONE),
    Workload("dispatch sum", "sum of one element", "xp.sum(a)", vectors(1), **ONE),
    Workload(
        "allocate",
        "allocate and release 4 KiB",
        f"xp.empty({2**10}, dtype=xp.float32)",
        _nothing,
        has_values=False,
        **_BLOCK,
    ),
    Workload("add", "a + b", "a + b", vectors(2)),
    Workload("exp", "e to the a", "xp.exp(a)", vectors(1)),
    Workload("sum", "sum of all", "xp.sum(a)", vectors(1)),
    Workload("mean rows", "mean of rows of 1024", "xp.mean(a, axis=-1)", rows, **IN_ROWS),
    Workload(
        "softmax rows",
        "softmax of rows of 1024",
        "xp.softmax(a, axis=-1)",
        rows,
        special={"numpy": _NUMPY_SOFTMAX, "torch": "xp.softmax(a, dim=-1)"},
        **IN_ROWS,
    ),
    Workload("strided add", "every second of a and b", "a[::2] + b[::2]", vectors(2)),
    Workload("broadcast add", "rows of 1024 + one row", "a + b", _rows_and_row, **IN_ROWS),
    Workload("where", "b or c by a mask", "xp.where(a, b, c)", _mask_and_vectors(2)),
    Workload("mask", "the half of b that a mask selects", "b[a]", _mask_and_vectors(1)),
    Workload(
        "sort",
        "sort all, ascending",
        "xp.sort(a)",
        vectors(1),
        special={"torch": "xp.sort(a).values"},
    ),
    Workload(
        "matmul",
        "product of two square matrices",
        "a @ b",
        _matrices,
        sizes=(64, 512, 2048),
        quick_sizes=(64, 512),
        limits=(2, 8192),
        is_matrix=True,
        flops=lambda n: 2.0 * n**3,
    ),
)


def size_text(size: int) -> str:
    """Return ``2^20`` for large powers of two, else the number."""
    return f"2^{size.bit_length() - 1}" if size >= 4096 and size & (size - 1) == 0 else str(size)


def chosen(
    names: Iterable[str] = (),
    sizes: Iterable[int] = (),
    quick: bool = False,
    among: Iterable[Workload] = WORKLOADS,
) -> list[tuple[Workload, int]]:
    """Return the workloads whose name contains one of ``names``, each at its sizes or at ``sizes``.

    ``among`` are those to choose from; nothing named means all. A workload that does not exist at a
    size is left out there; one that has no quick size has its smallest if it is named. Of two rows
    of one name, a size belongs to the first.
    """
    names, sizes = list(names), list(sizes)
    found: dict[tuple[str, int], tuple[Workload, int]] = {}
    for work in among:
        if names and not any(name.lower() in work.name for name in names):
            continue
        own = work.sizes
        if quick:
            own = work.quick_sizes or (work.sizes[:1] if names else ())
        for size in sizes or own:
            if work.accepts(size):
                found.setdefault((work.name, size), (work, size))
    return list(found.values())
