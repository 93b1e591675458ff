"""sort and argsort against the CPU: stable, NaN last, the zeros in their order, any layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import SPECIAL, STYLES, View, dense, in_style, values, wrong
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import dtype_from_name, launch, view
from phalanx.optable import OPS, kind_of

DTYPES = [signature.inputs[0] for signature in OPS["sort"].signatures]
SHAPES = [(1,), (2,), (9,), (1024,), (1025,), (5000,), (40_001,), (50, 3), (7, 1500), (2000, 1)]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


def check(
    op: str, data: np.ndarray, views: tuple[View, View], where: px.Device, descending: int
) -> None:
    """Assert the same result as on the CPU, and that nothing else is touched."""
    dtype = data.dtype.name
    answers = []
    for place in (where, real_cpu()):
        x = px.asarray(data, dtype=dtype_from_name(dtype), device=place)
        result = dtype_from_name(dtype if op == "sort" else "int64")
        out = px.zeros(views[1].size, dtype=result, device=place)
        with px.device(place):
            launch(op, (view(x, *views[0]),), (view(out, *views[1]),), (descending,))
        answers.append(np.ascontiguousarray(px.asnumpy(out)))
    bad = np.flatnonzero(wrong(*answers))
    assert not bad.size, f"{op} {dtype} {views}: {bad.size} differ, first at {bad[0]}"


def mixed(dtype: str, count: int) -> np.ndarray:
    """Few different values beside many, and every special one."""
    x = values(dtype, count, seed=count)
    rng = np.random.default_rng(count)
    few = rng.random(count) < 0.5
    x[few] = x[rng.integers(0, min(count, 4), count)][few]
    if kind_of(dtype) == "f":
        at = rng.random(count) < 0.1
        with np.errstate(all="ignore"):
            x[at] = rng.choice(SPECIAL, int(at.sum())).astype(x.dtype)
    return x


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("uint8", "bfloat16", "float64")))
@pytest.mark.parametrize("op", ["sort", "argsort"])
def test_same_as_cpu(where: px.Device, dtype: str, op: str) -> None:
    for shape in SHAPES:
        data = mixed(dtype, int(np.prod(shape)))
        views = (dense(*shape), dense(*shape))
        for descending in (0, 1):
            check(op, data, views, where, descending)


@pytest.mark.parametrize("op", ["sort", "argsort"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64"])
def test_long_rows(where: px.Device, op: str, dtype: str) -> None:
    for shape in [(4095,), (4096,), (20, 255), (20, 256), (3, 9001), (70_000,)]:
        views = (dense(*shape), dense(*shape))
        check(op, mixed(dtype, int(np.prod(shape))), views, where, len(shape) - 1)


@pytest.mark.parametrize("op", ["sort", "argsort"])
@pytest.mark.parametrize("dtype", ["int8", "float32", "uint64"])
def test_strides(where: px.Device, op: str, dtype: str) -> None:
    sources = [
        View((40, 300), (1, 40)),  # transposed
        View((40, 300), (-300, -1), 11_999),  # backwards
        View((3, 4, 5, 100), (8000, 2000, 300, 2), 7),  # with gaps
        View((6, 200), (0, 3)),  # one row for all
    ]
    for source in sources:
        target = View(source.shape, tuple(2 * s for s in dense(*source.shape).strides), 3)
        check(op, mixed(dtype, source.size), (source, target), where, 0)


def test_more_axes_than_a_program_takes(where: px.Device) -> None:
    shape = (2,) * 17 + (3,)
    data = mixed("int16", 2 * 3 * 2**17)
    strides = tuple(6 * 2**k for k in range(17))  # in an order that cannot be merged
    views = (View(shape, (*strides, 2)), dense(*shape))
    check("sort", data, views, where, 1)


def test_rows_of_no_elements(where: px.Device) -> None:
    x = px.zeros((3, 0), dtype=dtype_from_name("float32"), device=where)
    out = px.zeros((3, 0), dtype=dtype_from_name("float32"), device=where)
    with px.device(where):
        launch("sort", (x,), (out,), (0,))
    assert out.shape == (3, 0)
