"""Reductions against the CPU: the same bits for every dtype, length, layout and set of kernels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import SPECIAL, STYLES, View, check, dense, in_style, run, values
from conftest import real_cpu
from exhaustive import some_of
from phalanx.errors import UnsupportedOpError
from phalanx.optable import OPS, Structure, kind_of

OVERLOADS = [
    (row.name, *signature.dtypes)
    for row in OPS.values()
    if row.structure is Structure.REDUCTION
    for signature in row.signatures
]
PLACE_DTYPES = [dtype for name, dtype, _ in OVERLOADS if name == "argmax"]
#: One or more of each way to compute, and of each size of elements.
SOME = [
    ("sum", "int8"),
    ("sum", "float32"),
    ("sum", "complex128"),
    ("prod", "uint32"),
    ("prod", "complex64"),
    ("mean", "bfloat16"),
    ("mean", "float64"),
    ("max", "float16"),
    ("min", "uint64"),
    ("argmax", "int16"),
    ("argmin", "float32"),
    ("any", "float64"),
    ("all", "int8"),
    ("count_nonzero", "bool"),
    ("count_nonzero", "complex128"),
]
#: Around the lanes, the blocks, and the steps of four lanes; one row and many.
SHAPES = [(1,), (2,), (63,), (64,), (65,), (319,), (4095,), (4096,), (4097,), (3 * 4096 + 5,)]
SHAPES += [(70_000,), (600, 9), (40, 129), (3, 9000), (5, 1, 1), (2, 3, 70)]
#: Rows in any direction, side by side, far apart, several at the same place; the axis is the last.
SOURCES = [
    View((300, 40), (1, 300)),
    View((1100, 70), (1, 1100)),
    View((5, 9000), (1, 5)),
    View((30, 200), (-200, -1), 5999),
    View((9000,), (-3,), 26_997),
    View((200, 30), (-1, -200), 5999),
    View((7, 500), (0, 2)),
    View((500, 7), (2, 0)),
    View((60, 5), (5, 1)),
    View((40, 100), (3, 125), 2),
    View((3, 4, 5, 90), (6000, 1500, 3, 16), 7),
    View((3, 4, 17, 20), (1400, 350, -1, 17), 16),
]


def data_for(op: str, dtype: str, view: View) -> np.ndarray:
    """Numbers of which some are equal, with a few special ones; for logic, most are zero."""
    x = values(dtype, view.size, seed=view.size)
    rng = np.random.default_rng(view.size)
    if OPS[op].signatures[0].dtypes[0] == "bool":  # any, all, count_nonzero
        zero = np.array([0, -0.0], x.dtype if kind_of(dtype) in "fc" else None)
        x = np.where(rng.random(view.size) < 0.8, zero.astype(x.dtype)[view.size % 2], x)
        x[view.size // 3 : 2 * view.size // 3] = 1
    elif view.size > 1:
        at = rng.integers(0, view.size, (2, view.size // 3))
        x[at[0]] = x[at[1]]
    if kind_of(dtype) in "fc" and 1 < view.size < 10_000:
        at = rng.integers(0, view.size, view.size // 200 + 1)
        with np.errstate(all="ignore"):
            x[at] = rng.choice(SPECIAL, at.size).astype(x.dtype)
    return x


def check_all(op: str, dtypes: tuple[str, str], where: px.Device, sources: list[View]) -> None:
    """Compare with the CPU; results lie densely, then backwards and with gaps."""
    cpu = real_cpu()
    for source in sources:
        kept = source.shape[:-1]
        steps = dense(*kept).strides
        room = int(np.prod(kept, dtype=int))
        scattered = View(kept, tuple(-2 * s for s in steps), 2 * room + 1)
        for result in (dense(*kept), scattered)[: 1 + bool(kept)]:
            data = data_for(op, dtypes[0], source)
            check(op, data, (source, result), dtypes, (where, cpu))


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


def result_of(op: str, dtype: str) -> tuple[str, str]:
    """Return the dtypes of an overload."""
    return next((d, r) for name, d, r in OVERLOADS if (name, d) == (op, dtype))


@pytest.mark.parametrize(
    ("op", "dtype", "result"), some_of(OVERLOADS, [o for o in OVERLOADS if o[:2] in SOME])
)
def test_every_dtype(device: px.Device, op: str, dtype: str, result: str) -> None:
    check_all(op, (dtype, result), device, [dense(*shape) for shape in SHAPES])


@pytest.mark.parametrize(("op", "dtype"), some_of(SOME, SOME[1::3]))
def test_layouts(where: px.Device, op: str, dtype: str) -> None:
    sources = [*SOURCES, dense(3 * 4096 + 5), dense(600, 9), dense(40, 129)]
    check_all(op, result_of(op, dtype), where, sources)


@pytest.mark.parametrize("op", ["sum", "prod", "mean", "any", "all", "count_nonzero"])
def test_no_elements(where: px.Device, op: str) -> None:
    for shape in ((0,), (3, 0), (40, 0)):
        dtypes = result_of(op, "float32")
        check(
            op,
            np.ones(1, "f4"),
            (dense(*shape), dense(*shape[:-1])),
            dtypes,
            (where, real_cpu()),
        )


def test_no_rows(where: px.Device) -> None:
    assert px.asnumpy(px.sum(px.zeros((0, 5), device=where), axis=1)).shape == (0,)


def test_more_axes_than_a_program_takes(where: px.Device) -> None:
    shape = (2,) * 9 + (3,)
    strides = tuple(6 * 2**k for k in range(9))  # in an order that cannot be merged
    views = (View(shape, (*strides, 2)), dense(*shape[:-1]))
    for op, dtypes in (("sum", ("int16", "int64")), ("argmax", ("float32", "int64"))):
        data = values(dtypes[0], 3 * 2**10)
        check(op, data, views, dtypes, (where, real_cpu()))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_specials_in_extremes(where: px.Device, dtype: str) -> None:
    pairs = [[a, b, 1.0][:n] for a in SPECIAL for b in SPECIAL for n in (2, 3)]
    for n in (2, 3):
        with np.errstate(all="ignore"):
            data = np.array([p for p in pairs if len(p) == n]).astype(dtype)
        count = len(data)
        for op in ("max", "min", "argmax", "argmin"):
            views = (View((count, n), (n, 1)), dense(count))
            check(op, data.ravel(), views, result_of(op, dtype), (where, real_cpu()))


#: Places of two equal elements: in one group of lanes, in two, in two blocks, and at the ends.
PAIRS = [(0, 12_364), (5, 7), (62, 64), (63, 127), (4095, 4096), (4160, 8191), (8191, 12_288)]
PAIRS += [(12_287, 12_300), (12_351, 12_352), (12_363, 12_364)]


def rows_with_pairs(dtype: str, around: float, pair: tuple[float, float]) -> np.ndarray:
    """A row for each of PAIRS, of odd length: all elements are ``around``, but for the two."""
    rows = np.full((len(PAIRS), 12_365), around).astype(dtype)
    for row, places in zip(rows, PAIRS, strict=True):
        row[list(places)] = pair
    return rows


@pytest.mark.parametrize("dtype", some_of(PLACE_DTYPES, ("uint64", "float16")))
def test_first_of_equal_ones(where: px.Device, dtype: str) -> None:
    cases = [("argmax", 1, (2, 2)), ("argmin", 2, (1, 1))]
    if kind_of(dtype) == "f":
        one_nan, infinite = (np.nan, -np.nan), (np.inf, np.inf)
        cases += [("argmax", -1, (-0.0, 0.0)), ("argmin", 1, (0.0, -0.0)), ("argmax", -9, infinite)]
        cases += [(op, around, one_nan) for op in ("argmax", "argmin") for around in (-9, np.inf)]
    for op, around, pair in cases:
        rows = rows_with_pairs(dtype, around, pair)
        count, n = rows.shape
        apart = np.repeat(rows, 2, axis=1)
        for data, view in (
            (rows, dense(count, n)),
            (rows.T, View((count, n), (1, count))),
            (apart, View((count, n), (2 * n, 2))),
        ):
            flat = np.ascontiguousarray(data).ravel()
            got = run(op, flat, view, dense(count), (dtype, "int64"), where)
            assert got.tolist() == [first for first, _ in PAIRS], f"{op} {around} {pair} {view}"


@pytest.mark.parametrize("dtype", some_of(PLACE_DTYPES, ("uint64", "float16")))
def test_places_in_large_arrays(where: px.Device, dtype: str) -> None:
    sources = [dense(300_001), dense(37, 4133), View((130, 4133), (1, 130)), View((90_001,), (3,))]
    for op in ("argmax", "argmin"):
        check_all(op, (dtype, "int64"), where, sources)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("special", SPECIAL)
def test_one_special_far_back(where: px.Device, dtype: str, special: float) -> None:
    for op in ("argmax", "argmin"):
        for around in (-1.0, 0.0, 1.0):
            with np.errstate(all="ignore"):
                x = np.full(70_001, around).astype(dtype)
                x[69_999] = special
            views = dense(70_001), dense()
            check(op, x, views, (dtype, "int64"), (where, real_cpu()))


@pytest.mark.parametrize(
    ("op", "dtype"),
    [("sum", "float32"), ("sum", "complex64"), ("prod", "bfloat16"), ("max", "float16"),
     ("argmin", "float32"), ("sum", "int64"), ("count_nonzero", "float32")],
)  # fmt: skip
def test_without_fp64(device: px.Device, op: str, dtype: str) -> None:
    with in_style(device, "single") as single:
        check_all(op, result_of(op, dtype), single, [dense(9000), dense(600, 9), SOURCES[0]])


def test_what_needs_fp64_is_refused(device: px.Device) -> None:
    with in_style(device, "single") as single:
        for op, dtype in (("sum", "float64"), ("mean", "complex128"), ("prod", "complex64")):
            with pytest.raises(UnsupportedOpError, match=op):
                run(op, values(dtype, 9), dense(9), dense(), (dtype, dtype), single)


def test_mean_without_fp64_says_what_it_promises(device: px.Device) -> None:
    with in_style(device, "single") as single:
        x = values("float32", 70_000)
        got = run("mean", x, dense(70_000), dense(), ("float32", "float32"), single)
        want = run("mean", x, dense(70_000), dense(), ("float32", "float32"), real_cpu())
        kernel = next(k for k in px.kernels("mean", single) if k.dtypes == ("float32", "float32"))
        if kernel.determinism == "bitwise":
            assert got == want
        np.testing.assert_allclose(got, want, rtol=4e-7)
