"""Every overload of every reduction, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx._warm import view
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import MANY_BLOCKS, Along
from phalanx.conformance.groups.ops.structured_check import Check
from phalanx.conformance.groups.ops.structured_data import rows, special_products, special_sums
from phalanx.conformance.layouts import place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.structured import NEED_ELEMENTS, expected
from phalanx.conformance.reference.values import special_values
from phalanx.optable import INTEGER, Structure

#: Overloads that reduce many elements; the others have the same loops.
_LARGE = {
    *(("sum", "float32"), ("sum", "int8"), ("mean", "float16"), ("max", "float32")),
    *(("argmin", "float64"), ("count_nonzero", "bool"), ("all", "uint8"), ("prod", "float32")),
    ("sum_squared_deviations", "float32"),
}
#: Ops whose results are sums.
_ADDING = ("sum", "mean", "sum_squared_deviations")
#: One dtype of each size: of these the blocks of several rows are joined in quick runs, too.
_BLOCKS = ("int8", "int16", "uint32", "float32", "int64", "float64", "complex64", "complex128")
#: Lengths of five blocks where the order is stated, and of three where it cannot be seen.
_ODD_BLOCKS = (20_001, 70_001)


@pytest.mark.parametrize("overload", overloads(Structure.REDUCTION), ids=str)
def test_reduction(case: Case, overload: Overload) -> None:
    """All lengths around the blocks of the order of evaluation, every layout, special values."""
    check = Check(case, overload)
    along = Along(check, rows)
    along.everything(min_length=1 if overload.op in NEED_ELEMENTS else 0)
    specials(check)
    if (overload.op, check.name) in _LARGE or (check.name in INTEGER and not case.quick):
        along.large(MANY_BLOCKS)
    if check.name in _BLOCKS or not case.quick:
        blocks(check, along)
    if overload.op in ("max", "min", "argmax", "argmin"):
        far_extreme(check)
        each_is_extreme(check)
    if overload.op in ("any", "all", "count_nonzero"):
        one_decides(check)
    two_apart(check, along)
    for n in (6, 16):
        check.run(f"many short rows of {n}", (along.rows(1100, n),))
    if overload.op in _TERMS:
        narrow_terms(check)
    if overload.op == "count_nonzero":
        ones = np.ones((3, _TALL), host_dtype(check.name))
        for layout in ("contiguous", "transposed"):
            check.run(f"{_TALL} that are not zero, three times", (ones,), (), (layout,))
    case.finish()


#: Rows of few columns: more of them than a byte counts in each lane of a vector.
_TALL = 40_001
#: One more than vectors, tiles and blocks have; one less; and neither.
_ENDS = (17, 31, 33, 65, 100, 129, 255, 257, 1025)
#: How many of the largest terms are beyond 32 bits, or beyond the whole numbers of float32.
_TERMS = {
    "sum": {
        "int16": 65_537 + 64,
        "uint16": 65_537 + 64,
        "int8": 2**24 + 2**18,
        "uint8": 2**24 + 2**18,
    },
    "count_nonzero": {"bool": 2**24 + 3},
}


def blocks(check: Check, along: Along) -> None:
    """Rows in rows of rows, whose partial results lie side by side, the later ones larger."""
    op, name = check.overload.op, check.name
    floating = name in FORMATS or name in PARTS
    n = _ODD_BLOCKS[0 if floating and op in (*_ADDING, "prod") else 1]
    if op in ("max", "min", "argmax", "argmin"):
        sizes = np.arange(5, 1, -1) if op.endswith("min") else np.arange(1, 5)
        x = np.ones((2, 2, n), host_dtype(name)) * sizes.reshape(2, 2, 1).astype(host_dtype(name))
    else:
        x = along.rows(2, 2, n)
    check.run(f"blocks of {x.shape}", (x,))


def far_extreme(check: Check) -> None:
    """The extreme element behind more others than 16 bits count, and first; then equal ones."""
    others, extreme = (1, 0) if check.overload.op.endswith("min") else (0, 1)
    x = np.full((2, _ODD_BLOCKS[1]), others, host_dtype(check.name))
    x[0, 0] = x[1, -1] = extreme
    check.run("an extreme element at the end", (x,))
    x[...] = others
    x[:, 4095::4095] = extreme  # the later, the lower in a block of a power of two
    for layout in ("contiguous", "transposed"):
        check.run(f"equal extremes in many blocks, {layout}", (x,), (), (layout,))
    if check.name in FORMATS:  # zeros, of which each sign is once the first
        x = np.full((2, _ODD_BLOCKS[0]), others - extreme, host_dtype(check.name))
        x[:, 100], x[:, 9000:9002] = (-0.0, 0.0), ((0.0, -0.0), (-0.0, 0.0))
        for layout in ("contiguous", "transposed"):
            check.run(f"zeros of both signs in many blocks, {layout}", (x,), (), (layout,))
    if check.name == "uint8" and not check.case.quick:  # behind more than float32 counts
        x = np.full(2**24 + 3, others, np.uint8)
        x[-2] = extreme
        check.run("an extreme element far behind", (x,))


def each_is_extreme(check: Check) -> None:
    """One element is the extreme, or the zero that counts, or NaN: at each place near an end."""
    least, name = check.overload.op.endswith("min"), check.name
    pairs: list[tuple[float, float]] = [(1, 0) if least else (0, 1)]
    if name in FORMATS:
        pairs += [(0.0, -0.0) if least else (-0.0, 0.0), (np.inf if least else -np.inf, np.nan)]
    for n in _ENDS[check.case.rng("ends").integers(3) :: 3] if check.case.quick else _ENDS:
        for others, extreme in pairs:
            places = [*range(3), n // 2, *range(n - 16, n)]
            x = np.full((len(places), n), others, host_dtype(name))
            x[np.arange(len(places)), places] = extreme
            for layout in ("contiguous", "transposed"):
                check.run(f"one {extreme} among {n} times {others}", (x,), (), (layout,))


def one_decides(check: Check) -> None:
    """One element is not as the others: the first, the last, and those beside whole words."""
    others = 1 if check.overload.op == "all" else 0
    for n in (101, 150, 333):
        x = np.full((6, n), others, host_dtype(check.name))
        x[range(6), (0, 1, 7, 63, n - 2, n - 1)] = 1 - others
        check.run(f"one of {n} decides", (x,), (), ("offset",))
        for row in x:
            check.run(f"one of {n} decides alone", (row,), (), ("offset",))


def two_apart(check: Check, along: Along) -> None:
    """A row whose elements are two apart, as the real parts of complex numbers are."""
    x = along.rows(2, 300)
    whole = np.zeros((2, 600), x.dtype)
    whole[:, ::2] = x
    array = place(check.case.device, whole, check.name, "contiguous").array
    for number in range(2):
        row, apart = x[number], view(array, (300,), (2,), 600 * number)
        want = expected(check.overload.op, (row,), check.to)
        check.run_arrays("two apart", [apart], (row,), (), "contiguous", want)


def narrow_terms(check: Check) -> None:
    """So many of the largest terms that their sum is beyond 32 bits; the longest in full runs."""
    count = _TERMS[check.overload.op].get(check.name, 0)
    if not count:
        return
    kind = host_dtype(check.name)
    for end in {1} if check.name == "bool" else {np.iinfo(kind).min, np.iinfo(kind).max} - {0}:
        check.run(f"columns of {end}", (np.full((100, 700), end, kind),), (), ("transposed",))
        if count <= 1 << 20:  # as many rows, of fewer columns than a vector's lanes take
            check.run(
                f"33 columns of {count} times {end}",
                (np.full((33, count), end, kind),),
                (),
                ("transposed",),
            )
        if not check.case.quick or count <= 1 << 20:
            check.run(f"{count} times {end}", (np.full(count, end, kind),))


def specials(check: Check) -> None:
    """Special values alone, and in rows with others."""
    op, name = check.overload.op, check.name
    alone = special_values(name)[:, None]
    # a product begins with its first element, and not with one
    want = Only(alone[:, 0]) if op == "prod" and name in PARTS else None
    check.run("special values, each alone", (alone,), want=want)
    if op in ("max", "min", "argmax", "argmin") and name in FORMATS:
        ends = np.full((2, 70), np.inf, host_dtype(name))
        ends[1] = -np.inf
        check.run("nothing but infinities", (ends,))
    if op in _ADDING and (name in FORMATS or name in PARTS):
        table = special_sums(name)
        check.run("special sums", (table,))
        for n in (1, 2, 7, 63, 64):
            check.run(f"the first {n} of special sums", (table[:, :n].copy(),))
        x = np.ones((2, 9001), host_dtype(name))  # of a complex number, one part alone
        x[0, 100], x[1, 4096] = np.inf, -np.inf if name in FORMATS else complex(1.0, -np.inf)
        check.run("infinite sums in early blocks", (x,))
        if name in FORMATS:
            overflow(check)
    if op == "prod" and name in FORMATS:
        check.run("special products", (special_products(name),))


def overflow(check: Check) -> None:
    """Sums of one sign beyond the format; means of float16 are in it again."""
    top = special_values(check.name)
    top = top[top.astype(float) < float("inf")].max()
    for n in (2, 65):
        table = special_values(check.name)[:2].repeat(n).reshape(2, n)
        table[0], table[1] = top, -top
        check.run("sums that overflow", (table,))
