"""softmax against the CPU: the same bits in any layout, and what a device without double gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import SPECIAL, STYLES, View, check, dense, in_style, values
from conftest import real_cpu
from exhaustive import some_of
from phalanx.optable import OPS

DTYPES = [signature.inputs[0] for signature in OPS["softmax"].signatures]
#: Around the lanes and the blocks of the sum; rows one by one, and columns side by side.
SHAPES = [(0,), (1,), (15,), (16,), (63,), (64,), (65,), (4095,), (4096,), (4097,), (70_001,)]
SHAPES += [(3, 0), (5, 1), (50, 17), (300, 9), (3, 5000)]
VIEWS = [
    View((40, 300), (1, 40)),  # transposed
    View((3, 9000), (1, 3)),  # transposed, with rows of several blocks
    View((40, 300), (-300, -1), 11_999),  # backwards
    View((3, 4, 5, 100), (8000, 2000, 300, 2), 7),  # with gaps
    View((6, 200), (0, 3)),  # one row for all
]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("float16", "float32")))
def test_same_as_cpu(where: px.Device, dtype: str) -> None:
    both = (where, real_cpu())
    for shape in SHAPES:
        data = values(dtype, int(np.prod(shape)), seed=len(shape)) * 10
        check("softmax", data, (dense(*shape), dense(*shape)), (dtype, dtype), both)


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("float32",)))
def test_strides(where: px.Device, dtype: str) -> None:
    both = (where, real_cpu())
    for source in VIEWS:
        target = View(source.shape, tuple(2 * s for s in dense(*source.shape).strides), 3)
        check("softmax", values(dtype, source.size), (source, target), (dtype, dtype), both)


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("float32",)))
def test_special_values(where: px.Device, dtype: str) -> None:
    """One among others, at the begin and later; rows of nothing else."""
    both = (where, real_cpu())
    for special in SPECIAL:
        for length in (3, 70, 5000):
            for views in ((dense(4, length),) * 2, (View((4, length), (1, 4)), dense(4, length))):
                data = values(dtype, 4 * length)
                rows = (
                    data.reshape(4, length) if views[0] == views[1] else data.reshape(length, 4).T
                )
                rows[0, 0] = rows[1, length - 1] = rows[2, :] = special
                check("softmax", data, views, (dtype, dtype), both)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_axis(where: px.Device, axis: int) -> None:
    data = values("float32", 6 * 70 * 5).reshape(6, 70, 5)
    got = px.asnumpy(px.softmax(px.asarray(data, device=where), axis=axis))
    want = px.asnumpy(px.softmax(px.asarray(data, device=real_cpu()), axis=axis))
    assert np.array_equal(got, want)
