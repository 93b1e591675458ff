"""searchsorted against the CPU: every dtype, both sides, NaN, -0 and subnormal numbers."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from along_kit import SPECIAL, values
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import dtype_from_name, empty, launch, view
from phalanx.optable import OPS, kind_of

DTYPES = [signature.inputs[0] for signature in OPS["searchsorted"].signatures]


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("uint8", "bfloat16", "float64")))
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 20), (5, 0), (1000, 700), (4097, 3000)])
@pytest.mark.parametrize("right", [0, 1])
def test_same_as_cpu(device: px.Device, dtype: str, n: int, m: int, right: int) -> None:
    cpu = real_cpu()
    there = dtype_from_name(dtype)
    wanted = values(dtype, m, seed=2)
    if kind_of(dtype) == "f":
        wanted = np.concatenate([wanted, np.array(SPECIAL).astype(wanted.dtype)])
    data = np.concatenate([values(dtype, n), wanted[: n and m // 2]])
    order = px.sort(px.asarray(data, dtype=there, device=cpu))
    answers = []
    for where in (device, cpu):
        s = order.to_device(where)
        v = px.asarray(np.repeat(wanted, 2), dtype=there, device=where)
        v = view(v, (wanted.size,), (2,))  # strided
        out = empty((wanted.size,), dtype_from_name("int64"), where)
        with px.device(where):
            launch("searchsorted", (s, v), (out,), (right,))
        answers.append(px.asnumpy(out))
    np.testing.assert_array_equal(*answers)


def test_public_function(device: px.Device) -> None:
    del device
    x = px.asarray([1.0, 2.0, 2.0, 3.0])
    v = px.asarray([0.0, 2.0, 9.0])
    assert px.asnumpy(px.searchsorted(x, v)).tolist() == [0, 1, 4]
    assert px.asnumpy(px.searchsorted(x, v, side="right")).tolist() == [0, 3, 4]
