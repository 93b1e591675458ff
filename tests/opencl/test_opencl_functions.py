"""The functions beyond the standard have the bits of the CPU, and nothing runs on the host."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import phalanx as px
import pytest
from array_kit import generator
from conftest import real_cpu
from exhaustive import some_of
from function_cases import arrays, expressions, flat, value
from phalanx.conformance.reference.ulp import differing

#: Each costs the compilers a minute.
DTYPES = some_of(
    ["float64", "float32", "float16", "int64", "uint8", "complex64"], ["float32", "int64"]
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_as_cpu(device: px.Device, dtype: str) -> None:
    host = arrays(dtype, generator("functions", dtype))
    wrong = []
    for text in expressions(dtype):
        results = []
        for where in (device, real_cpu()):
            with px.device(where), px.fallback_policy("error"):
                here = {name: px.asarray(x) for name, x in vars(host).items()}
                results.append(flat(value(text, px, SimpleNamespace(**here))))
        for got, want in zip(*results, strict=True):
            a, b = px.asnumpy(got), px.asnumpy(want)
            if a.dtype != b.dtype or a.shape != b.shape or np.any(differing(a, b)):
                wrong.append(text)
    assert not wrong
