"""Matrix products, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx._warm import view
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import broadcast, drawn_shape, drawn_size, place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray, any_bits, ordinary_values
from phalanx.optable import Structure

Shape = tuple[int, ...]
#: (m, k, n) around the tiles of kernels.
_SMALL = (
    *((1, 1, 1), (1, 7, 1), (2, 3, 5), (7, 9, 8), (16, 17, 15), (1, 65, 33), (31, 5, 1)),
    *((17, 33, 9), (8, 64, 8), (3, 130, 4)),
)
#: Lines of many chains with a tail, along rows and along columns; one element of them, and more
#: than a group or a block takes.
_THIN = (
    *((161, 9, 1), (1, 6, 131), (521, 7, 1), (1, 7, 521), (1, 1, 521), (1, 521, 1)),
    *((1, 70, 41), (41, 70, 1)),
    *((m, 9, 1) for m in range(65, 69)),
    *((1, 9, n) for n in range(65, 69)),
)
#: Extents without a rest in tiles of 16, for which a device may have other units.
_WHOLE = ((16, 32, 48), (64, 128, 64))
_EMPTY = ((0, 3, 4), (3, 4, 0), (3, 0, 4), (0, 0, 0))
#: One more than whole tiles of every power of two up to 256, both ways.
_CORNERS = (257, 3, 257)
#: Products of small integers, which are exact in every order, so their reference is cheap.
_LARGE = (
    (65, 129, 66),
    (129, 63, 130),
    (257, 64, 33),
    (128, 256, 128),
    (1, 4097, 3),
    (300, 3, 257),
)
#: More rows, or columns, than a block of the result has, and more of each than 16 bits count.
_BLOCKS = ((4101, 2, 9), (9, 2, 4101), (65_541, 2, 3), (3, 2, 65_541), (2, 65_541, 3))
#: One element from more blocks of the order of evaluation than a group has work-items, and from
#: what is left of them.
_DOT = 66 * 4096 + 4101
#: More rows, or columns, than a grid of tiles of 16 counts in 16 bits.
_MANY = ((1_050_003, 1, 1), (1, 1, 1_050_003))
#: Steps along k where a product is made of other ops.
_MOST_STEPS = 300
#: Three blocks of the order of evaluation (docs/ops.md: 4096) along k, and tiles both ways.
_DEEP = (27, 8195, 101)


@pytest.mark.parametrize("overload", overloads(Structure.CONTRACTION), ids=str)
def test_contraction(case: Case, overload: Overload) -> None:
    """Sizes around tiles, every layout, stacks, no elements, special values."""
    check = Check(case, overload)
    rng = case.rng()
    sizes(check, rng)
    layouts(check, rng)
    stacks(check, rng)
    exact(check, rng)
    drawn(check, rng)
    dots(check, rng)
    windows(check, rng)
    leading_extents(check, rng)
    twice(check, rng)
    if check.name in PARTS:
        parts_apart(check, rng)
    if check.name in FORMATS:
        specials(check, rng)
        behind_rows(check, rng)
        cancelling(check)
    elif check.name not in PARTS:
        whole_numbers(check, rng)
    case.finish()


def _operand(name: str, shape: Shape, rng: np.random.Generator) -> HostArray:
    count = int(np.prod(shape, dtype=int))
    if name not in FORMATS and name not in PARTS:
        return any_bits(name, count, rng).reshape(shape)
    x = ordinary_values(name, count, rng)
    return np.asarray((x * 2.0 ** rng.integers(-4, 3, count)).astype(x.dtype).reshape(shape))


def _run(
    check: Check, batch: Shape, m: int, k: int, n: int, rng: np.random.Generator, *names: str
) -> None:
    a = _operand(check.name, (*batch, m, k), rng)
    b = _operand(check.name, (*batch, k, n), rng)
    names = names or ("contiguous",)
    check.run(f"{' times '.join(names[:2])} {batch} {m}, {k}, {n}", (a, b), (), names, names[-1])


def sizes(check: Check, rng: np.random.Generator) -> None:
    """Small matrices and those of no elements; with k = 0 the product is zero."""
    small = rng.permutation(_SMALL)[:3].tolist() if check.case.quick else _SMALL
    # float32 is what units of tiles round
    whole = _WHOLE[:1] if check.case.quick and check.name != "float32" else _WHOLE
    for m, k, n in [*small, (5, 67, 6), *whole, *_EMPTY]:
        _run(check, (), m, k, n, rng)
    for m, k, n in ((16, 16, 16), *whole):
        _run(check, (), m, k, n, rng, "offset")
    if check.name in FORMATS and _is_native(check):
        whole_and_deep(check, rng)
    for m, k, n in _THIN:
        for name in ("contiguous", "transposed"):
            _run(check, (), m, k, n, rng, name)


def whole_and_deep(check: Check, rng: np.random.Generator) -> None:
    """Whole tiles of 16, whose sums are halfway no numbers of few digits."""
    m, k, n = 32, 2064, 16
    a, b = rng.integers(1, 64, (m, k)), np.ones((k, n))
    b[k // 2 :] = -1
    want = _exactly(check.name, a @ b)
    args = tuple(x.astype(host_dtype(check.name)) for x in (a, b))
    check.run(f"sums that turn, {m}, {k}, {n}", args, want=want)


def cancelling(check: Check) -> None:
    """Terms that cancel but for 1, which sums in the type of the kernel lose: many ulp of it."""
    large = 2.0**27 if check.name == "float64" else 2.0**13
    kind = host_dtype(check.name)
    a, b = np.array([[large, 1, -large]], kind), np.array([[large], [1], [large]], kind)
    check.run("terms that cancel", (a, b))


def parts_apart(check: Check, rng: np.random.Generator) -> None:
    """Real parts so much larger than imaginary ones that sums of both lose these."""
    m, k, n = 65, 70, 66
    kind = host_dtype(check.name)
    large, small = rng.integers(1, 100, (2, m, k))
    a = (large * 2.0**20 + 1j * small * 2.0**-40).astype(kind)
    columns = rng.integers(0, k, n)
    for factor in (1, 1j):
        b = np.zeros((k, n), kind)
        b[columns, np.arange(n)] = factor
        product = a[:, columns] if factor == 1 else -a.imag[:, columns] + 1j * a.real[:, columns]
        check.run(f"columns times {factor}", (a, b), want=Only(product.astype(kind)))


def behind_rows(check: Check, rng: np.random.Generator) -> None:
    """What is between the rows of either factor, NaN and infinities, is none of theirs."""
    for k in (7, 33):
        whole, other = _operand(check.name, (5, k + 3), rng), _operand(check.name, (k, 4), rng)
        whole[:, k:] = np.nan, np.inf, -np.inf
        x, y = (place(check.case.device, v, check.name, "contiguous").array for v in (whole, other))
        rows = x[:, :k]
        for label, arrays, args in (
            ("first", [rows, y], (whole[:, :k], other)),
            ("second", [y.T, rows.T], (other.T, whole[:, :k].T)),
        ):
            want = expected("matmul", args, check.to)
            check.run_arrays(f"rows with gaps {label}", arrays, args, (), "contiguous", want)


def whole_numbers(check: Check, rng: np.random.Generator) -> None:
    """Sums within the dtype that no floating-point number of its size is."""
    kind = host_dtype(check.name)
    half = 2 ** (np.iinfo(kind).bits // 2 - 2)
    sizes_of = {(5, 3, 4): half}
    if _is_native(check):  # in tiles, the sums within the dtype still
        sizes_of[33, 70, 65] = max(2, half // 8)
    for (m, k, n), high in sizes_of.items():
        a, b = (rng.integers(high // 2, high, shape).astype(kind) for shape in ((m, k), (k, n)))
        check.run(f"factors of half the bits, {m}, {k}, {n}", (a, b))
    top = np.iinfo(kind).max
    if _is_native(check):  # sums of bytes beyond 2^24
        a, b = (rng.integers(top - 60, top, s, kind) for s in ((3, 1500), (1500, 4)))
        check.run("long sums of large factors", (a, b))
    for end in (np.iinfo(kind).min, np.iinfo(kind).max):
        for k in (8,) if check.case.quick else (8, 33):
            a, b = np.full((3, k), end, kind), np.full((k, 5), end, kind)
            check.run(f"{k} squares of {end}", (a, b))


def layouts(check: Check, rng: np.random.Generator) -> None:
    """Each layout for each operand and the result."""
    for number, name in enumerate(NAMES):
        others = [NAMES[(number + i) % len(NAMES)] for i in (0, 1, 3)]
        _run(check, (), 9, 11, 10, rng, name, others[1], others[2])
        if not check.case.quick:
            _run(check, (), 34, 65, 33, rng, name)
            _run(check, (2,), 5, 19, 6, rng, name, others[2], others[1])
            _run(check, (), 1, 70, 20, rng, name, others[1])


def windows(check: Check, rng: np.random.Generator) -> None:
    """Rows that begin one element behind another, in either factor."""
    line, other = _operand(check.name, (15,), rng), _operand(check.name, (8, 8), rng)
    moved = line[np.add.outer(np.arange(8), np.arange(8))]
    seen = view(place(check.case.device, line, check.name, "offset").array, (8, 8), (1, 1))
    beside = place(check.case.device, other, check.name, "contiguous").array
    for arrays, args in (([seen, beside], (moved, other)), ([beside, seen], (other, moved))):
        want = expected("matmul", args, check.to)
        check.run_arrays("moving windows", arrays, args, (), "contiguous", want)


def leading_extents(check: Check, rng: np.random.Generator) -> None:
    """Parts of matrices, and their transposes, whose rows are further apart than they are long."""
    whole, other = _operand(check.name, (6, 9), rng), _operand(check.name, (6, 8), rng)
    x, y = (place(check.case.device, v, check.name, "contiguous").array for v in (whole, other))
    forms = (
        ("a turned part first", [x[:, :4].T, y[:, :5]], (whole[:, :4].T, other[:, :5])),
        ("a turned part behind", [x[:5, :4], y[:, :4].T], (whole[:5, :4], other[:, :4].T)),
        ("both turned", [x[:5, 1:4].T, y[:, 2:7].T], (whole[:5, 1:4].T, other[:, 2:7].T)),
    )
    for label, arrays, args in forms:
        want = expected("matmul", args, check.to)
        check.run_arrays(label, arrays, args, (), "contiguous", want)


def twice(check: Check, rng: np.random.Generator) -> None:
    """One array is both factors, in itself and in its transpose."""
    for n in (9,) if check.case.quick else (5, 19):
        x = _operand(check.name, (n, n), rng)
        one = place(check.case.device, x, check.name, "contiguous").array
        for label, other, value in (("itself", one, x), ("its transpose", one.T, x.T)):
            want = expected("matmul", (x, value), check.to)
            check.run_arrays(f"times {label}", [one, other], (x, value), (), "contiguous", want)


def stacks(check: Check, rng: np.random.Generator) -> None:
    """One and more axes of matrices; one matrix for all by a stride of 0."""
    for batch in ((3,), (2, 4), (1, 2, 2), (0,)):
        _run(check, batch, 4, 6, 5, rng, "offset")
    _run(check, (2, 4), 3, 2, 3, rng, "mixed", "transposed")
    for name in ("contiguous", "mixed"):  # vectors, more than a group has work-items
        _run(check, (131,), 1, 9, 1, rng, name)
    if not check.case.quick:
        _run(check, (70,), 2, 3, 2, rng, "mixed")
    a, b = (_integers(check.name, (65_537, *shape), rng) for shape in ((1, 2), (2, 1)))
    check.run("many in a stack", (a, b), want=_exactly(check.name, _wide(a) @ _wide(b)))
    _run(check, (257,), 2, 1, 3, rng, "padded")
    for shapes in (
        *(((4, 6), (3, 6, 5)), ((3, 4, 6), (6, 5)), ((2, 1, 4, 6), (1, 4, 6, 5))),
        *(((5, 5), (3, 5, 5)), ((3, 5, 5), (5, 5)), ((35, 2, 3), (3, 2)), ((3, 2), (35, 2, 3))),
        *(((3, 4, 2, 2), (3, 1, 2, 2)), ((3, 1, 2, 2), (3, 4, 2, 2))),
        *(((4, 2, 3), (3, 4, 3, 2)), ((3, 4, 2, 3), (4, 3, 2)), ((2, 1, 2, 2, 2), (1, 3, 2, 2, 2))),
    ):
        batch = np.broadcast_shapes(*(s[:-2] for s in shapes))
        parts = [_operand(check.name, shape, rng) for shape in shapes]
        args = tuple(np.broadcast_to(x, (*batch, *x.shape[-2:])).copy() for x in parts)
        arrays = [
            broadcast(check.case.device, x, whole.shape, check.name)
            for x, whole in zip(parts, args, strict=True)
        ]
        want = expected("matmul", args, check.to)
        check.run_arrays(f"stacks {shapes}", arrays, args, (), "contiguous", want)
    for label, (m, k, n), first, second in (
        ("one element each", (5, 9, 4), (1, 1), (1, 1)),
        ("one row and one column for all", (37, 19, 70), (1, 19), (19, 1)),
        ("one column and one row for all", (37, 19, 70), (37, 1), (1, 70)),
        ("one row for all", (4, 7, 9), (4, 7), (1, 9)),
    ):
        parts = [_operand(check.name, shape, rng) for shape in (first, second)]
        args = tuple(
            np.broadcast_to(x, s).copy() for x, s in zip(parts, ((m, k), (k, n)), strict=True)
        )
        arrays = [
            broadcast(check.case.device, x, whole.shape, check.name)
            for x, whole in zip(parts, args, strict=True)
        ]
        want = expected("matmul", args, check.to)
        check.run_arrays(label, arrays, args, (), "contiguous", want)


def exact(check: Check, rng: np.random.Generator) -> None:
    """Larger matrices of small integers: every order of the sums gives the same."""
    large = [_LARGE[0], _LARGE[int(rng.integers(1, len(_LARGE)))]] if check.case.quick else _LARGE
    if not check.case.quick and check.name in ("float32", "float64", "int8", "complex128"):
        large = (*large, (513, 515, 514), (1025, 70, 1027))
    if not check.case.quick:
        large = (*large, *_MANY)
    for number, (m, k, n) in enumerate((*large, _CORNERS, _DEEP, *_BLOCKS)):
        if k > _MOST_STEPS and not _is_native(check):
            continue
        a, b = _integers(check.name, (m, k), rng), _integers(check.name, (k, n), rng)
        want = _exactly(check.name, _wide(a) @ _wide(b))
        names = ("contiguous", "transposed") if number % 2 else ("contiguous",)
        check.run(f"integers {m}, {k}, {n}", (a, b), (), names, names[-1], want)


def drawn(check: Check, rng: np.random.Generator) -> None:
    """Chance sizes in chance layouts: small integers."""
    most = 300 if _is_native(check) else 30
    for _ in range(4 if check.case.quick else 40):
        m, k, n = (drawn_size(most, rng) for _ in range(3))
        batch = drawn_shape(4, int(rng.integers(3)), rng)
        a, b = (_integers(check.name, (*batch, *shape), rng) for shape in ((m, k), (k, n)))
        want = _exactly(check.name, _wide(a) @ _wide(b))
        first, second, to = (str(name) for name in rng.choice(NAMES, 3))
        label = f"{first} times {second} to {to} {batch} {m}, {k}, {n}"
        check.run(label, (a, b), (), (first, second), to, want)


def dots(check: Check, rng: np.random.Generator) -> None:
    """One element of many steps, neighbours and not: small integers, whose sum is exact."""
    for steps in (77, _DOT) if _is_native(check) else (77,):
        row, column = (_integers(check.name, shape, rng) for shape in ((1, steps), (steps, 1)))
        row[:, 1::2] = 0  # in halves, too
        for names in (("contiguous",), ("strided", "contiguous"), ("contiguous", "strided")):
            want = _exactly(check.name, _wide(row) @ _wide(column))
            check.run(f"{' times '.join(names)} of {steps}", (row, column), (), names, want=want)
        one = np.broadcast_to(column[1:2], column.shape)
        arrays = [
            place(check.case.device, row, check.name, "contiguous").array,
            broadcast(check.case.device, column[1:2], column.shape, check.name),
        ]
        want = _exactly(check.name, _wide(row) @ _wide(one))
        check.run_arrays(f"{steps} times one", arrays, (row, one), (), "contiguous", want)


def _is_native(check: Check) -> bool:
    """Tell whether the device has a kernel: what stands for one makes launches of every step."""
    return check.case.served[check.overload.op, check.overload.dtypes].how == "native"


def _exactly(name: str, product: HostArray) -> Only:
    """Return the product of integers in a dtype, in which all of its sums are exact."""
    if name not in FORMATS and name not in PARTS:
        product = product.astype(np.int64)
    want = product.astype(host_dtype(name))
    return Only(want + np.zeros((), want.dtype))  # no sum that begins with +0 is -0


def _integers(name: str, shape: Shape, rng: np.random.Generator) -> HostArray:
    low = 0 if name.startswith("u") else -3
    x = rng.integers(low, 4, shape).astype(np.float64)
    if name in PARTS:
        return (x + 1j * rng.integers(low, 4, shape)).astype(host_dtype(name))
    return x.astype(host_dtype(name))


def _wide(x: HostArray) -> HostArray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def specials(check: Check, rng: np.random.Generator) -> None:
    """NaN and infinities reach their row and column and nothing else; subnormals stay."""
    # no whole steps of k: what fills them up is no factor
    a, b = _operand(check.name, (6, 21), rng), _operand(check.name, (21, 7), rng)
    a[1, 20], a[2, 0], a[3, 7], b[5, 2], b[20, 4] = np.nan, np.inf, -np.inf, np.nan, np.inf
    a[4, 3], b[3, 6] = 0.0, -np.inf
    a[5], b[:, 0] = 0.0, 0.0  # nothing but zeros, and yet their products with those are NaN
    check.run("infinities and NaN", (a, b))
    for k in (257,) if check.case.quick else (33, 257):  # what is behind a row is none of its
        a, b = _operand(check.name, (3, k), rng), _operand(check.name, (k, 4), rng)
        a[1:, 0] = np.inf, np.nan
        check.run(f"infinity and NaN behind a row of {k}", (a, b))
    a, b = np.zeros((3, 5), a.dtype), _operand(check.name, (5, 4), rng)
    b[1, 2], b[4, 0] = np.inf, np.nan
    check.run("nothing but zeros beside infinity and NaN", (a, b))
    check.run("infinity and NaN beside nothing but zeros", (b.T.copy(), a.T.copy()))
    a, b = _operand(check.name, (5, 21), rng), _operand(check.name, (21, 1), rng)
    a[1, 3], a[2, 9], b[3], b[9] = np.inf, np.nan, 0.0, 0.0
    check.run("a column with zeros behind infinity and NaN", (a, b))
    check.run("a row with zeros before infinity and NaN", (b.T.copy(), a.T.copy()))
    a, b = np.array([[0.0], [-0.0], [1.0]], a.dtype), np.array([[-1.0, 1.0, -0.0]], a.dtype)
    check.run("zeros of both signs", (a, b), want=_exactly(check.name, _wide(a) @ _wide(b)))
    digits, low, _ = FORMATS[check.name]
    a = np.full((3, 5), 2.0 ** (low - digits + 1)).astype(a.dtype)
    b = np.ones((5, 4), a.dtype)
    b[2:, 1] = -3
    check.run("subnormal numbers", (a, b))
