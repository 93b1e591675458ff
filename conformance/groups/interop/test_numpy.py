"""Round trips through NumPy: every dtype, shape and order of memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import DTYPES
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import LAYOUTS, HostArray, place
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import any_bits, special_values

_NAMES = [dtype.name for dtype in DTYPES]
_SHAPES = ((), (0,), (1,), (5,), (3, 4), (2, 0, 3), (2, 3, 5), (1, 1, 1, 7))


def _values(case: Case, dtype: str, shape: tuple[int, ...]) -> HostArray:
    count = int(np.prod(shape))
    return any_bits(dtype, count, case.rng(dtype, shape)).reshape(shape)


def _same_bits(a: HostArray, b: HostArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("size", [1000, 1 << 16, (1 << 20) + 40], ids=str)
def test_read_only_pages(case: Case, size: int, tmp_path: Path) -> None:
    """Files in memory that nobody may write to are uploaded like other arrays."""
    host = case.rng().integers(0, 256, size, np.uint8)
    host.tofile(tmp_path / "data")
    pages = np.memmap(tmp_path / "data", np.uint8, "r")
    assert np.array_equal(px.asnumpy(px.asarray(pages, copy=True)), host)


@pytest.mark.parametrize("dtype", _NAMES)
def test_round_trip(case: Case, dtype: str) -> None:
    """``asarray`` and ``asnumpy`` give back the same bits, NaN payloads included."""
    for shape in _SHAPES:
        values = _values(case, dtype, shape)
        x = px.asarray(values)
        assert (x.shape, x.dtype.name, x.device) == (shape, dtype, case.device)
        assert _same_bits(np.asarray(px.asnumpy(x)), values), f"{dtype} of shape {shape} changed"


@pytest.mark.parametrize("dtype", _NAMES)
def test_host_layouts(case: Case, dtype: str) -> None:
    """Host arrays of any order, step and direction arrive as they are."""
    whole = _values(case, dtype, (6, 7, 5))
    views = (whole.T, whole[::2], whole[:, ::-1], whole[1:, 2:, ::3], np.asfortranarray(whole))
    for view in (*views, np.broadcast_to(whole[0, 0], (4, 5))):
        found = np.asarray(px.asnumpy(px.asarray(view)))
        assert _same_bits(found, np.ascontiguousarray(view)), f"{dtype}, strides {view.strides}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_device_layouts(case: Case, layout: str) -> None:
    """A device array of any layout arrives on the host in order."""
    dtypes = ("bool", "int8", "bfloat16", "float32", "complex64")
    for dtype in filter(case.moves, dtypes):
        values = _values(case, dtype, (5, 3, 7))
        found = np.asarray(px.asnumpy(place(case.device, values, dtype, layout).array))
        assert _same_bits(found, values), f"{dtype} in layout {layout}"


@pytest.mark.parametrize("dtype", _NAMES)
def test_elements(case: Case, dtype: str) -> None:
    """Python numbers come out of an array as they went in."""
    values = special_values(dtype)
    x = px.asarray(values)
    with np.errstate(all="ignore"):
        for place_, want in enumerate(values.tolist()):
            got = x[place_].item()
            same = got == want or (got != got and want != want)  # noqa: PLR0124 - NaN
            assert same, f"element {place_} of {dtype}: got {got}, want {want}"


def test_result_is_a_copy(case: Case) -> None:
    """What ``asnumpy`` returns does not change when the array does."""
    x = px.zeros(100, dtype=px.int32)
    before = np.array(px.asnumpy(x))
    x += 1
    case.device.synchronize()
    assert before.tolist() == [0] * 100
    assert px.asnumpy(x).tolist() == [1] * 100


def test_devices(case: Case) -> None:
    """``to_device`` to every other usable device and back keeps all bits."""
    values = _values(case, "float32", (33, 5))
    x = px.asarray(values)
    for other in px.devices():
        moved = x.to_device(other)
        assert moved.device is other
        assert _same_bits(np.asarray(px.asnumpy(moved.to_device(case.device))), values), str(other)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
def test_wrong_byte_order(case: Case, dtype: str) -> None:
    """Host arrays of the other byte order arrive with their values, or are refused."""
    values = special_values(dtype)
    swapped = values.astype(host_dtype(dtype).newbyteorder(">"))
    try:
        x = px.asarray(swapped)
    except TypeError:
        return
    assert _same_bits(np.asarray(px.asnumpy(x)), values)
