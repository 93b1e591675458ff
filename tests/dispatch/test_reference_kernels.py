"""The kernels of the reference device, which drivers are held against."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.reference.conversion import cast as reference
from phalanx.testing.kernels import BFLOAT16, cast


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint64", "uint32", "int32"])
def test_conversion_to_bfloat16_rounds_once(dtype: str) -> None:
    """Places just off the middle of two numbers, which float32 would round to the middle."""
    places = 256 + 1 + 2 * np.arange(128, dtype=np.uint64)  # nine bits: each is a middle
    shift = np.uint64(20 if np.dtype(dtype).itemsize == 4 else 50)
    middle = places << shift
    x = np.concatenate([middle - np.uint64(1), middle, middle + np.uint64(1)]).astype(dtype)
    if np.dtype(dtype).kind != "u":
        x = np.concatenate([x, -x])
    if np.dtype(dtype).kind == "f":
        x = np.concatenate([x, np.array([0.0, -0.0, np.inf, -np.inf], dtype)])
        x = np.concatenate([x, np.nextafter(x, x.dtype.type(0))])
    assert cast(x, BFLOAT16).tobytes() == reference(x, "bfloat16").tobytes()
