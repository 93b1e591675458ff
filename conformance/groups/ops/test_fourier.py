"""Fourier transforms: every radix, alone and behind others, of few and many rows, in every layout.

Where kernels take another way is met on both sides: rows that one thread, a group or all threads
work on, rows that fill vectors and rows that are left over, radices that are in the text of a
kernel and in its table.
"""

from __future__ import annotations

import numpy as np
import pytest
from phalanx._warm import Array, view
from phalanx.conformance.calls import complex_rows
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import broadcast, place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.fourier import packed, scale_bits, table, unit_roots
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure
from phalanx.optable.fourier import radices as radices_of

Radices = tuple[int, ...]
_ALL = overloads(Structure.FOURIER)
_OF_ROWS = [o for o in _ALL if o.op == "fft"]
_RADICES = (1, 2, 3, 4, 5, 7, 8, 11, 13, 17, 19, 97, 251)
_PRIMES = tuple(p for p in range(9, 252) if all(p % q for q in range(2, 16)))
#: Passes behind others, each radix with twiddles once; primes behind themselves.
_CHAINS = (
    *((2, 2), (3, 3), (5, 4), (7, 8), (3, 5), (5, 7), (11, 2), (3, 11), (97, 3)),
    *((5, 3, 2), (7, 5, 3, 8), (4, 4, 8), (3, 2, 2, 2, 2, 2, 2, 2, 2), (13, 11, 4)),
    *((11, 11), (13, 13, 2), (8, 8), (3, 4, 4), (2,) * 8),
    *((131, 3), (137, 5), (149, 7)),
)
_LENGTHS = tuple(range(1, 301))
#: Rows around the widths of vectors, and around groups.
_ROWS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129)
#: Numbers of all rows of a case.
_MOST = 6000
#: Rows that a group's memory does not hold, and that all threads work on; the last of each.
_LONG: tuple[Radices, ...] = (
    *((8, 8, 8, 8), (3, 4, 4, 8, 8), (5, 5, 5, 5, 8), (13, 11, 7, 8), (4, 4, 8, 8, 8)),
    *((8, 8, 8, 8, 4), (5, 5, 5, 5, 4, 8), (5, 3, 8, 8, 8, 4), (8, 8, 8, 8, 8)),
)
_LONG_OF_PRIMES: tuple[Radices, ...] = (
    (97, 97),
    (251, 83),
    (131, 31, 4),
    (17, 17, 17, 4),
    (241, 241),
)
#: Rows of as many passes as there are, more than a word of the params holds.
_MANY_PASSES: tuple[Radices, ...] = ((3,) * 8, (3, 3, 3, 3, 3, 3, 3, 5))
_LONGEST: tuple[Radices, ...] = (
    (4, 4, *(8,) * 4),
    (3, 4, 4, *(8,) * 4),
    (4, *(8,) * 5),
    (3, *(8,) * 6),
    (251, 8, 8, 8),
)
#: Counts of rows, with the radices of a row.
_MANY: tuple[tuple[int, Radices], ...] = (
    (257, (4, 4)),
    (1025, (3, 2)),
    (4097, (5,)),
    (65_535, (3,)),
    (65_537, (2,)),
)
#: Rows that are broadcast, and rows of which some are NaN.
_FOR_ALL: tuple[Radices, ...] = ((8, 2), (5,), (11, 3))
_BESIDE_NAN: tuple[Radices, ...] = ((8,), (3, 4), (13,), (4, 4, 8))
#: Lengths of the halves of real rows, with counts of rows.
_PAIRS = ((1, 4), (2, 5), (3, 17), (4, 9), (8, 33), (33, 3), (500, 8), (1025, 2), (4097, 1))
_MORE_PAIRS = ((64, 65), (1024, 3), (2, 65_537), (40_000, 2), (65_537, 1))


@pytest.mark.parametrize("overload", _OF_ROWS, ids=str)
def test_transform(case: Case, overload: Overload) -> None:
    """There and back, cut off and not, rows and columns, scaled and not."""
    check = Check(case, overload)
    rng = case.rng()
    for radices in _chains(case, rng):
        n = int(np.prod(radices))
        shorter = int(rng.choice([max(1, n - 1), max(1, n - 2), max(1, n // 2), 1]))
        inverse = int(rng.integers(2))
        _run(check, rng, radices, n, inverse)
        _run(check, rng, radices, shorter, 1 - inverse)
    for name in NAMES:
        _run(check, rng, (5, 8), 40, 0, (3, 2), (name, "contiguous"))
        _run(check, rng, (11,), 11, 1, (3, 2), ("contiguous", name))
        _run(check, rng, (2, 8), 11, 1, (17,), (name, name))
    views(check, rng)
    for radices, shorter in (((8, 8), 10), ((4, 8, 8), 3), ((5, 3), 2)):  # mostly zeros
        _run(check, rng, radices, shorter, 0, (3, 2))
    _run(check, rng, (4, 4), 0, 0)
    _run(check, rng, (3,), 0, 1, (0,))
    case.finish()


def views(check: Check, rng: np.random.Generator) -> None:
    """Columns between planes, planes between columns, moving windows, equal elements."""
    device, name = check.case.device, check.name

    def run(label: str, x: Array, value: HostArray, radices: Radices) -> None:
        _, params = _operands(check, rng, radices, 0, 0, ())
        roots = table(radices, name)
        there = place(device, roots, check.overload.inputs[1], "contiguous").array
        want = expected("fft", (value, roots), check.to, params)
        check.run_arrays(label, [x, there], (value, roots), params, "contiguous", want)

    x = complex_rows(rng, (3, 300, 64), name)
    for axes in ((0, 2, 1), (1, 2, 0)):
        whole = place(device, x.transpose(axes).copy(), name, "contiguous").array
        run(f"columns {axes}", whole.transpose(*np.argsort(axes).tolist()), x, (8, 8))
    line = complex_rows(rng, (20,), name)
    windows = np.lib.stride_tricks.sliding_window_view(line, 12).copy()
    seen = view(place(device, line, name, "offset").array, windows.shape, (1, 1))
    run("moving windows", seen, windows, (4, 3))
    one = complex_rows(rng, (3, 1, 1), name)
    equal = np.broadcast_to(one, (3, 1, 16)).copy()
    row = broadcast(device, one, equal.shape, name)
    run("equal elements by a stride of 0", row, equal, (4, 4))


def _chains(case: Case, rng: np.random.Generator) -> list[Radices]:
    """Return the radices of the rows: if quick, those of the primes without a name by chance."""
    if case.quick:
        low, high = (rng.choice([p for p in _PRIMES if (p > 127) == side]) for side in (0, 1))
        return [(r,) for r in _RADICES] + [(int(low),), (int(high),), *_CHAINS]
    return [(r,) for r in dict.fromkeys(_RADICES + _PRIMES)] + list(_CHAINS)


@pytest.mark.parametrize("overload", _OF_ROWS, ids=str)
def test_every_length(case: Case, overload: Overload) -> None:
    """Lengths one after the other, by the passes that the library takes; if quick, some of them."""
    check = Check(case, overload)
    rng = case.rng()
    chosen = rng.choice(_LENGTHS, 12, replace=False) if case.quick else _LENGTHS
    for n in map(int, chosen):
        passes = radices_of(n)
        if passes:
            inverse = int(rng.integers(2))
            _run(check, rng, passes, n, inverse, (3,))
            _run(check, rng, passes, n, 1 - inverse, (2,), ("contiguous", "contiguous"))
    case.finish()


@pytest.mark.parametrize("overload", _OF_ROWS, ids=str)
def test_long_transform(case: Case, overload: Overload) -> None:
    """Rows of more numbers than a group, or a thread, takes."""
    check = Check(case, overload)
    rng = case.rng()
    chosen = _LONG + _LONG_OF_PRIMES + _LONGEST
    if case.quick:
        chosen = tuple(some[rng.integers(len(some))] for some in (_LONG, _LONG[-4:]))
        chosen += (_LONG_OF_PRIMES[rng.integers(len(_LONG_OF_PRIMES))],)
    for radices in chosen:
        n = int(np.prod(radices))
        given = int(rng.choice([n, n - 1, n // 2 + 1, n // 3]))
        rows = (1,) if n > 1 << 14 else ((), (3,))[rng.integers(2)]
        _run(check, rng, radices, given, int(rng.integers(2)), rows)
    for radices in _MANY_PASSES:
        for inverse in (0, 1):
            _run(check, rng, radices, int(np.prod(radices)), inverse, (2,))
    case.finish()


@pytest.mark.parametrize("overload", _OF_ROWS, ids=str)
def test_many_rows(case: Case, overload: Overload) -> None:
    """Many short rows, one that all take, rows that are not to be seen in others."""
    check = Check(case, overload)
    rng = case.rng()
    many = (_MANY[rng.integers(3)], _MANY[-1]) if case.quick else _MANY
    for count, radices in many:
        n = int(np.prod(radices))
        inverse = int(rng.integers(2))
        _run(check, rng, radices, n, inverse, (count,), ("contiguous", "contiguous"))
    for radices in _FOR_ALL:
        args, params = _operands(check, rng, radices, int(np.prod(radices)), 1, ())
        case_of = f"a row of {' x '.join(map(str, radices))} for all"
        _run_for_all(check, case_of, args, params)
    for radices in _BESIDE_NAN:
        n = int(np.prod(radices))
        args, params = _operands(check, rng, radices, n, 0, (5, 4))
        for row in (1, 3):
            args[0][row, row, rng.integers(n)] = complex(np.nan, np.nan)
        args[0][2] = 0
        check.run(f"NaN and zeros in rows of {n}", args, params)
        args[0][1, 3, 0] = 1  # a row is none of its neighbours', whichever of the two is first
        check.run(f"NaN in one row of {n}", (args[0][1], args[1]), params)
    case.finish()


def _run_for_all(
    check: Check, label: str, args: tuple[np.ndarray, np.ndarray], params: tuple[int, ...]
) -> None:
    """Launch on one row that is broadcast over nine."""
    row, roots = args
    nine = np.broadcast_to(row, (9, row.size)).copy()
    device = check.case.device
    arrays = [
        broadcast(device, row, nine.shape, check.name),
        place(device, roots, check.name, "offset").array,
    ]
    want = expected("fft", (nine, roots), check.to, params)
    check.run_arrays(label, arrays, (nine, roots), params, "padded", want)


def _run(
    check: Check,
    rng: np.random.Generator,
    radices: Radices,
    given: int,
    inverse: int,
    rows: tuple[int, ...] | None = None,
    layouts: tuple[str, str] | None = None,
) -> None:
    """Launch on rows in a layout, the result in another; of a number and in layouts by chance."""
    n = int(np.prod(radices))
    if rows is None:
        fitting = [count for count in _ROWS if count * n <= _MOST] or [1]
        rows = (int(rng.choice(fitting)),) if rng.random() < 0.7 else (2, 4)
    layout, out = layouts or (str(rng.choice(NAMES)), str(rng.choice(NAMES)))
    args, params = _operands(check, rng, radices, given, inverse, rows)
    label = f"{layout} {rows} of {given} as {' x '.join(map(str, radices))}"
    check.run(label, args, params, (layout, "contiguous"), out)


def _operands(
    check: Check,
    rng: np.random.Generator,
    radices: Radices,
    given: int,
    inverse: int,
    rows: tuple[int, ...],
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[int, ...]]:
    """Return rows with the table of the radices, and params with one of some scales."""
    scale = float(rng.choice([1.0, 1.0 / np.prod(radices), -0.75, 3.0]))
    args = (complex_rows(rng, (*rows, given), check.name), table(radices, check.name))
    return args, (inverse, scale_bits(scale, check.name), *packed(radices))


@pytest.mark.parametrize("overload", [o for o in _ALL if o.op != "fft"], ids=str)
def test_pairs(case: Case, overload: Overload) -> None:
    """Rows of all lengths, numbers and layouts, also of fewer numbers than half a row has."""
    check = Check(case, overload)
    rng = case.rng()
    back = overload.op == "fft_to_pairs"
    for m, count in _PAIRS if case.quick else (*_PAIRS, *_MORE_PAIRS):
        roots = unit_roots(np.arange(m + 1), 2 * m).astype(check.name)
        scale = float(rng.choice([0.5, 0.125, -0.75, 1.0]))
        params = () if back else (scale_bits(scale, check.name),)
        for given in {m + 1, max(1, m - 1), max(1, m // 3)} if back else {m}:
            rows = (count,) if rng.random() < 0.5 else (count, 2)
            args = (complex_rows(rng, (*rows, given), check.name), roots)
            layout, out = (str(name) for name in rng.choice(NAMES, 2))
            check.run(
                f"{layout} {rows} of {given} of {m}", args, params, (layout, "contiguous"), out
            )
    for name in NAMES:
        roots = unit_roots(np.arange(7), 12).astype(check.name)
        params = () if back else (scale_bits(0.5, check.name),)
        args = (complex_rows(rng, (3, 2, 6), check.name), roots)
        check.run(f"{name} of 6", args, params, (name, "contiguous"), name)
    case.finish()
