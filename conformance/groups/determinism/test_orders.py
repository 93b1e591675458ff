"""The order of evaluation that the op table states, bit by bit: on ``cpu:0`` as on the others."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx._warm import Array, launch
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import broadcast, drawn_size, place, room
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import PARTS, host_dtype
from phalanx.conformance.reference.fourier import packed, scale_bits, table
from phalanx.conformance.reference.near import ACCUMULATOR
from phalanx.conformance.reference.orders import (
    ORDERED,
    RUN,
    in_stated_order,
    product_in_stated_order,
    runs_in_stated_order,
)
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure
from phalanx.optable.structured import BLOCK, SCAN_BLOCK

#: Rows within a block, of one, of one and an element, and of several with a short last one.
_LENGTHS = {
    Structure.REDUCTION: (63, 129, BLOCK, BLOCK + 1, 3 * BLOCK - 7, 5 * BLOCK + 70, 70_001),
    # the last: several blocks behind the first block of blocks
    Structure.SCAN: (SCAN_BLOCK, SCAN_BLOCK + 1, 3 * SCAN_BLOCK - 7, SCAN_BLOCK * (SCAN_BLOCK + 9)),
}
#: The most blocks of rows of chance lengths, and how many of these there are.
_MOST_BLOCKS, _DRAWN = 250, 4
#: More blocks than a group, or a byte, counts.
_MANY_BLOCKS = 257 * BLOCK + 33
_LAYOUTS = ("contiguous", "transposed")
_PLAIN = ("float32", "float64")
_ORDERED = [
    overload
    for overload in overloads(*_LENGTHS)
    if overload.op in ORDERED
    and (
        overload.inputs[0] in _PLAIN
        or (overload.op in ("sum", "cumulative_sum") and overload.inputs[0] in ACCUMULATOR)
    )
]
#: Steps along k: two blocks of the order and a rest, and more.
_STEPS = (9000, 4 * BLOCK + 70)
#: Rows of one target: in runs of runs, and of those.
_ROWS = (700, RUN * RUN + 300, 2 * RUN * RUN + 3 * RUN + 7)


def _plain(op: str) -> list[Overload]:
    structure = Structure.CONTRACTION if op == "matmul" else Structure.SEGMENT
    return [o for o in overloads(structure) if o.op == op and o.inputs[0] in _PLAIN]


def _products() -> list[Overload]:
    of_parts = [o for o in overloads(Structure.CONTRACTION) if o.inputs[0] in PARTS]
    return [*_plain("matmul"), *of_parts]


def _numbers(name: str, shape: tuple[int, int], rng: np.random.Generator) -> HostArray:
    x = rng.standard_normal(shape).astype(name)
    if name in PARTS:
        x.imag = rng.standard_normal(shape)
    return x


def _need_bitwise(case: Case, overload: Overload) -> None:
    promise = case.served[overload.op, overload.dtypes].determinism
    if promise != "bitwise":
        pytest.skip(f"the kernel's class is {promise or 'that of another device'}")


@pytest.mark.parametrize("overload", _ORDERED, ids=str)
def test_orders(case: Case, overload: Overload) -> None:
    """A kernel of class bitwise gives the bits of the stated order, by rows and by columns."""
    _need_bitwise(case, overload)
    rng = case.rng()
    shapes: list[tuple[int, ...]] = [(3, n) for n in _LENGTHS[overload.row.structure]]
    block = SCAN_BLOCK if overload.row.structure is Structure.SCAN else BLOCK
    shapes += [(drawn_size(_MOST_BLOCKS * block, rng),) for _ in range(_DRAWN)]
    if overload.op.startswith("sum"):
        shapes.append((_MANY_BLOCKS,))
    for shape in shapes:
        x, n = rng.standard_normal(shape), shape[-1]
        if overload.op.endswith("prod"):  # products that stay near 1
            x = np.exp(x / n**0.5)
        x = x.astype(host_dtype(overload.inputs[0]))
        if x.dtype.kind == "c":
            x.imag = rng.standard_normal(shape)
        want = in_stated_order(overload.op, x)
        for layout in _LAYOUTS:
            _compare(case, overload, f"{layout} {x.shape}", (x,), want, layout)
    same = np.broadcast_to(x[..., :1], (*x.shape[:-1], 3 * SCAN_BLOCK - 7))
    want = in_stated_order(overload.op, same)
    array = broadcast(case.device, same[..., :1], same.shape, overload.inputs[0])
    _compare_arrays(case, overload, f"one element again and again, {same.shape}", (array,), want)
    case.finish()


@pytest.mark.parametrize("overload", _products(), ids=str)
def test_order_of_products(case: Case, overload: Overload) -> None:
    """Blocks along k are chains of fma, and are joined as those of a sum."""
    _need_bitwise(case, overload)
    rng, name = case.rng(), overload.inputs[0]
    for k in _STEPS[:1] if case.quick else _STEPS:
        a, b = (_numbers(name, shape, rng) for shape in ((2, k), (k, 2)))
        _compare(case, overload, f"k = {k}", (a, b), product_in_stated_order(a, b))
    for k in (BLOCK // 3, _STEPS[0]):
        a, b = (_numbers(name, shape, rng) for shape in ((1, k), (k, 1)))
        _compare(case, overload, f"one element, k = {k}", (a, b), product_in_stated_order(a, b))
    x = _numbers(name, (9, 21), rng)
    one = place(case.device, x, name, "contiguous").array
    for label, pair, (a, b) in (
        ("times its transpose", (one, one.T), (x, x.T)),
        ("the transpose first", (one.T, one), (x.T, x)),
    ):
        _compare_arrays(case, overload, label, pair, product_in_stated_order(a, b))
    case.finish()


@pytest.mark.parametrize(
    "overload", [o for o in overloads(Structure.FOURIER) if o.op == "fft"], ids=str
)
def test_rows_of_a_transform(case: Case, overload: Overload) -> None:
    """Rows have the same bits together as alone, real ones and such of a zero part among them."""
    _need_bitwise(case, overload)
    rng, name = case.rng(), overload.inputs[0]
    for radices in ((8,), (5, 3), (4, 4, 8)):
        n = int(np.prod(radices))
        params = (0, scale_bits(1.0, name), *packed(radices))
        roots = place(case.device, table(radices, name), overload.inputs[1], "contiguous").array
        for label in ("complex", "real", "imaginary"):
            x = _numbers(name, (5, n), rng)
            if label != "complex":
                setattr(x, "imag" if label == "real" else "real", 0)
            rows = place(case.device, x, name, "contiguous").array
            alone = []
            for row in rows:
                out = room(case.device, (1, n), name, "contiguous")
                launch("fft", (row[None], roots), (out.array,), params)
                alone.append(out.read())
            want, told = np.concatenate(alone), f"{label} rows of {n}"
            _compare_arrays(case, overload, told, (rows, roots), want, params)
    case.finish()


@pytest.mark.parametrize("overload", _plain("segment_sum"), ids=str)
def test_order_of_segments(case: Case, overload: Overload) -> None:
    """The rows of a target are added in runs, and their totals in runs."""
    _need_bitwise(case, overload)
    rng, name = case.rng(), overload.inputs[0]
    for m in _ROWS[:2] if case.quick else _ROWS:
        rows, numbers = rng.standard_normal((m + 90, 9)).astype(name), np.ones(m + 90, np.int64)
        numbers[rng.permutation(m + 90)[:90]] = 0
        want = np.stack([runs_in_stated_order(rows[numbers == t]) for t in (0, 1)])
        _compare(case, overload, f"{m} rows", (rows, numbers), want)
    case.finish()


def _compare(
    case: Case,
    overload: Overload,
    label: str,
    args: tuple[HostArray, ...],
    want: HostArray,
    layout: str = "contiguous",
) -> None:
    """Launch on operands in a layout, and hold the result to the bits that are wanted."""
    operands = [
        place(case.device, x, dtype, layout).array
        for x, dtype in zip(args, overload.inputs, strict=True)
    ]
    _compare_arrays(case, overload, label, tuple(operands), want)


def _compare_arrays(
    case: Case,
    overload: Overload,
    label: str,
    operands: tuple[Array, ...],
    want: HostArray,
    params: tuple[int, ...] = (),
) -> None:
    out = room(case.device, want.shape, overload.outputs[0], "contiguous")
    launch(overload.op, operands, (out.array,), params)
    got = out.read()
    case.checks += 1
    if got.tobytes() != want.tobytes():
        case.mistake(_mistake(label, got, want))


def _mistake(label: str, got: HostArray, want: HostArray) -> Mistake:
    wrong = np.argwhere(got != want)
    at = tuple(int(i) for i in wrong[0]) if len(wrong) else (0,) * got.ndim
    return Mistake(
        label, str(at), "a row", str(got[at]), str(want[at]), wrong=len(wrong), size=got.size
    )
