"""cumulative_sum and cumulative_prod against the CPU: the same bits in any layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import SPECIAL, STYLES, View, check, dense, in_style, values
from conftest import real_cpu
from exhaustive import some_of
from phalanx.device_plugins.opencl.listing import list_devices
from phalanx.device_plugins.opencl.pocl import is_pocl
from phalanx.optable import OPS

STRIDED = ("int8", "float16", "float32", "complex64", "complex128")
ROUNDED = ("float16", "bfloat16", "float32", "float64", "complex64")
DTYPES = [signature.inputs[0] for signature in OPS["cumulative_sum"].signatures]
OP_NAMES = ("cumulative_sum", "cumulative_prod")
#: Around the blocks of 256; whole cores' worth; rows of different and of equal lengths.
SHAPES = [
    (0,),
    (1,),
    (255,),
    (256,),
    (257,),
    (4096,),
    (70_001,),
    (3, 0),
    (5, 1),
    (7, 300),
    (300, 20),
]
VIEWS = [
    View((40, 300), (1, 40)),  # transposed
    View((3, 9000), (1, 3)),  # transposed, and several tasks of each column
    View((40, 300), (-300, -1), 11_999),  # backwards
    View((3, 4, 5, 100), (8000, 2000, 300, 2), 7),  # with gaps
    View((6, 600), (0, 3)),  # one row for all
]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("int16", "bfloat16", "complex64")))
@pytest.mark.parametrize("op", OP_NAMES)
def test_same_as_cpu(where: px.Device, op: str, dtype: str) -> None:
    both = (where, real_cpu())
    for shape in SHAPES:
        data = values(dtype, int(np.prod(shape)), seed=len(shape))
        check(op, data, (dense(*shape), dense(*shape)), (dtype, dtype), both)


@pytest.mark.parametrize("dtype", some_of(STRIDED, ("int8", "float16", "complex64")))
@pytest.mark.parametrize("op", OP_NAMES)
def test_strides(where: px.Device, op: str, dtype: str) -> None:
    both = (where, real_cpu())
    for source in VIEWS:
        target = View(source.shape, tuple(2 * s for s in dense(*source.shape).strides), 3)
        data = values(dtype, source.size, special=True)
        check(op, data, (source, target), (dtype, dtype), both)


@pytest.mark.parametrize("dtype", some_of(ROUNDED, ("float16", "complex64")))
@pytest.mark.parametrize("op", OP_NAMES)
def test_special_values(where: px.Device, op: str, dtype: str) -> None:
    """Each begins a row, and each stands behind 300 zeros of either sign."""
    both = (where, real_cpu())
    for first in SPECIAL:
        for zero in (0.0, -0.0):
            data = values(dtype, 600)
            data[:300] = zero
            data[0] = data[300] = np.asarray(first).astype(data.dtype)
            for shape in ((600,), (300, 2)):
                check(op, data, (dense(*shape), dense(*shape)), (dtype, dtype), both)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis_and_an_initial_element(where: px.Device, axis: int) -> None:
    data = values("int32", 6 * 300 * 5).reshape(6, 300, 5)
    x = px.asarray(data, device=where)
    got = px.asnumpy(px.cumulative_sum(x, axis=axis, include_initial=True))
    begin = np.zeros_like(np.take(data, [0], axis), dtype=np.int64)
    want = np.concatenate([begin, np.cumsum(data, axis, dtype=np.int64)], axis)
    assert np.array_equal(got, want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_carries_of_carries(where: px.Device, dtype: str) -> None:
    """Rows, few and many, and columns, whose carries are themselves several blocks."""
    both = (where, real_cpu())
    data = values(dtype, 66_051 * 70)
    for n in (65_535, 65_536, 65_537, 66_051):
        check("cumulative_sum", data[:n], (dense(n),) * 2, (dtype, dtype), both)
    check("cumulative_sum", data, (dense(70, 66_051),) * 2, (dtype, dtype), both)
    columns = View((70, 66_051), (1, 70))
    check("cumulative_sum", data, (columns, columns), (dtype, dtype), both)


def test_a_long_row(where: px.Device) -> None:
    n = 2**24 + 1
    data = values("float32", n)
    check("cumulative_sum", data, (dense(n),) * 2, ("float32",) * 2, (where, real_cpu()))


def test_more_axes_than_a_kernel_walks(where: px.Device) -> None:
    shape = (2,) * 9 + (30,)
    strides = tuple(60 * 2**k for k in range(9))
    views = (View(shape, (*strides, 2)), dense(*shape))
    data = values("float32", views[0].size)
    check("cumulative_sum", data, views, ("float32", "float32"), (where, real_cpu()))


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
def test_groups_that_wait_for_each_other(device: px.Device, dtype: str) -> None:
    """Threads of the system go on, whatever the others do."""
    if is_pocl(list_devices().devices[device.index].device):
        pytest.skip("PoCL 3.0 crashes in kernels that wait in a loop between barriers")
    with in_style(device, "waiting") as found:
        for shape in ((70_000,), (3, 9000)):
            data = values(dtype, int(np.prod(shape)), seed=1)
            places = (dense(*shape), dense(*shape))
            check("cumulative_sum", data, places, (dtype, dtype), (found, real_cpu()))
        opened = found.ensure_open()
        texts = {program.source for program, _ in opened.bound}
        assert any("#define AWAITS 1" in text for text in texts)
