"""What all ops along the last axis are tried with: lengths, rows, layouts, broadcast, nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from phalanx._warm import view
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import drawn_shape, place
from phalanx.conformance.reference.near import of_rows
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray
from phalanx.conformance.subnormals import flushed

#: Rows of many blocks: whole ones, a row of more than a task takes, and beyond 16 bits.
LONG_ROWS = (8192, 12_288, 12_289, 16_384, 20_001, 32_769, 65_536)
#: Elements of a row of more blocks than a reduction has lanes (docs/ops.md: 64 blocks of 4096).
MANY_BLOCKS = 300_001
#: Where a number of 16 bits for a row ends.
MANY_ROWS = (65_535, 65_536, 65_537, 131_075)
#: More axes than kernels may walk at once, beside the one along which they go.
_MANY_AXES: tuple[tuple[int, ...], ...] = ((2, 3, 2, 2, 9), (2, 2, 3, 1, 2, 2, 2, 2, 2, 5))
#: The part of the overloads that have so many rows in a quick run.
_MANY_ROWS_QUICK = 0.1
#: Rows side by side and their elements: beyond tiles of 512 columns and 256 rows.
WIDE, WIDE_QUICK, WIDE_COSTLY = (1031, 521), (521, 261), (131, 261)
#: Dtypes whose reference takes long.
_COSTLY = ("float64", "complex128")
#: Those of which a tile has fewer columns, as it keeps the lanes of a sum.
_SUMMED = ("float16", "bfloat16", "float32", "complex64", *_COSTLY)
#: So many different rows an operand has; more of them repeat these by chance.
_MOST_ROWS = 12
#: Gives rows (r, n) for an op and a dtype.
Data = Callable[[str, str, int, int, np.random.Generator], HostArray]
Params = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """An operand by its different rows (r, n): which of them are at places (...)."""

    different: HostArray
    places: HostArray

    def operand(self) -> HostArray:
        """The operand (..., n)."""
        return self.different[self.places]


class Along:
    """An overload with data for it, all params that it may have, and its other operands.

    These are one of a row's length for each dtype behind the first. The first operand has at most
    ``most`` different rows.
    """

    def __init__(
        self, check: Check, data: Data, params: Params = ((),), most: int = _MOST_ROWS
    ) -> None:
        self.check = check
        self.params = params
        self._data = data
        self._most = most
        self._rng = check.case.rng()

    def rows(self, *shape: int) -> HostArray:
        """Return an operand of some shape, the last axis of which is a row."""
        return self._rows(*shape).operand()

    def _rows(self, *shape: int) -> _Rows:
        *outer, n = shape
        count = int(np.prod(outer, dtype=int))
        r = min(count, self._most)
        different = self._drawn(self.check.name, r, n)
        places = self._rng.integers(0, r, count) if count > r else np.arange(count)
        return _Rows(different, places.reshape(outer))

    def others(self, n: int) -> tuple[HostArray, ...]:
        """Return the operands behind the first for rows of n elements."""
        return tuple(self._drawn(name, 1, n)[0] for name in self.check.overload.inputs[1:])

    def _drawn(self, name: str, r: int, n: int) -> HostArray:
        x = self._data(self.check.overload.op, name, r, n, self._rng)
        return flushed(x) if self.check.case.flushes else x

    def _chance(self, *kinds: str) -> str:
        return str(self._rng.choice(kinds or NAMES))

    def _run(self, rows: _Rows, layout: str, out_layout: str, params: tuple[int, ...]) -> None:
        """Launch; the reference is asked for each of the different rows once."""
        x, check = rows.operand(), self.check
        others = self.others(x.shape[-1])
        want = None
        if rows.places.size > len(rows.different):
            want = of_rows(check.expected((rows.different, *others), params), rows.places)
        label = f"{layout} {x.shape}"
        check.run(label, (x, *others), params, (layout,), out_layout, want)

    def everything(self, min_length: int = 0) -> None:
        """Run all of it; rows shorter than ``min_length`` are not asked for."""
        self.lengths()
        self.consecutive_lengths()
        self.long_rows()
        self.row_counts()
        self.wide()
        self.layouts()
        self.broadcasts()
        self.windows()
        self.nothing(min_length)

    def lengths(self) -> None:
        """Rows of every length, aligned and misaligned."""
        for number, n in enumerate(self.check.sizes(self._rng, (1, 65, 257, 4097))):
            costly = self.check.name in _COSTLY
            few = costly and self.check.case.quick and n > 1000
            rows = self._rows(2 if few else 5, n)
            for params in self.params:
                self._run(rows, ("contiguous", "offset")[number % 2], self._chance(), params)
        for n in (1, 77):
            self._run(self._rows(n), "offset", "contiguous", self.params[0])

    def consecutive_lengths(self) -> None:
        """Lengths one after another, so that each has its rest in blocks of up to 48."""
        first, count = int(self._rng.integers(1000, 4000)), 3 if self.check.case.quick else 48
        for n in range(first, first + count):
            self._run(self._rows(2, n), "contiguous", "contiguous", self.params[0])

    def long_rows(self) -> None:
        """Rows of many blocks; if quick, of one length."""
        chosen = self._rng.choice(LONG_ROWS, 1).tolist() if self.check.case.quick else LONG_ROWS
        for n in chosen:
            for params in self.params:
                layout = self._chance("contiguous", "offset")
                self._run(self._rows(2, n), layout, "contiguous", params)

    def row_counts(self) -> None:
        """Few and many short rows."""
        counts: tuple[int, ...] = (1, 2, 63, 64, 65, 255, 256, 257, 1023, 1025, 4097)
        if self.check.case.quick:
            counts = tuple(self._rng.choice(counts, 2, replace=False).tolist())
            costly = self.check.name in _COSTLY or self._rng.random() > _MANY_ROWS_QUICK
            counts += () if costly else MANY_ROWS[-1:]
        else:
            counts += MANY_ROWS
        for count in counts:
            rows = self._rows(count, int(self._rng.integers(1, 10 if count < MANY_ROWS[0] else 3)))
            self._run(rows, self._chance("contiguous", "transposed"), "contiguous", self.params[-1])
        if MANY_ROWS[-1] in counts:  # of two axes that are not one
            self._run(self._rows(300, 301, 3), "mixed", "contiguous", self.params[-1])

    def wide(self) -> None:
        """More rows side by side than a tile has columns, of more elements; also into columns."""
        shape = WIDE
        if self.check.case.quick:
            shape = WIDE_COSTLY if self.check.name in _SUMMED else WIDE_QUICK
        for layout in ("transposed",) if self.check.case.quick else ("transposed", "mixed"):
            self._run(self._rows(*shape), layout, "contiguous", self.params[0])
        self._run(self._rows(77, 37), "transposed", "transposed", self.params[-1])

    def layouts(self) -> None:
        """Each layout of the operand and of the result, of one, two and three axes; a chance shape.

        The outer extents have a factor in common: else an index that is not divided by the inner
        one would still meet each row once.
        """
        shapes: tuple[tuple[int, ...], ...] = ((5, 67), (2, 4, 35), (131,), (3, 300))
        for shape in _MANY_AXES:
            self._run(self._rows(*shape), "mixed", "mixed", self.params[0])
        for number, name in enumerate(NAMES):
            others = (NAMES[(number + 1) % len(NAMES)], name, NAMES[(number + 3) % len(NAMES)])
            drawn = drawn_shape(400, 1 + number % 4, self._rng)
            for i, shape in enumerate((*shapes, drawn)):
                if self.check.case.quick and i not in (number % 2, len(shapes)):
                    continue
                for out_layout in others[:1] if self.check.case.quick else others:
                    rows = self._rows(*shape)
                    self._run(rows, name, out_layout, self.params[number % len(self.params)])

    def broadcasts(self) -> None:
        """Strides of 0 along the row and along the other axes."""
        cases: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
        cases = (((1, 70), (4, 70)), ((5, 1), (5, 70)), ((3, 1, 66), (3, 4, 66)))
        for number, (shape, target) in enumerate(cases):
            params = self.params[number % len(self.params)]
            self.check.run_broadcast(self.rows(*shape), target, params, self.others(target[-1]))

    def windows(self) -> None:
        """Rows that share elements, as those of pooling do."""
        x = self.rows(1, 300).ravel()
        overload, device = self.check.overload, self.check.case.device
        array = place(device, x, self.check.name, "contiguous").array
        for n, step, apart in ((1, 2, 5), (40, 2, 5), (7, 1, 1)):
            args = (x[np.add.outer(step * np.arange(5), apart * np.arange(n))], *self.others(n))
            arrays = [view(array, (5, n), (step, apart))]
            for other, name in zip(args[1:], overload.inputs[1:], strict=True):
                arrays.append(place(device, other, name, "contiguous").array)
            want = expected(overload.op, args, self.check.to, self.params[0])
            label = f"windows of {n}"
            self.check.run_arrays(label, arrays, args, self.params[0], "contiguous", want)

    def nothing(self, min_length: int) -> None:
        """No rows; rows of no elements."""
        for shape in ((0, 5), (3, 0), (0, 0), (0,), (2, 0, 7)):
            if shape[-1] >= min_length:
                self._run(self._rows(*shape), self._chance(), self._chance(), self.params[0])

    def large(self, least: int = 0) -> None:
        """One row that is longer than what a device takes at once, and columns.

        The row has at least ``least`` elements.
        """
        n = max(self.check.large, least)
        self._run(self._rows(n), "contiguous", "contiguous", self.params[0])
        n = 4099 if self.check.case.quick else 70_001
        self._run(self._rows(17, n), "transposed", "transposed", self.params[0])
