"""The host has no memory left: an op says so, and gives no wrong result."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import HostArray, place, room
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.ulp import differing
from phalanx.driver import DeviceKind, Feature
from phalanx.optable import Structure

_STATM = Path("/proc/self/statm")
#: Ops whose kernels may need memory of their own, with the dtype of the first operand.
_OPS = {
    **dict.fromkeys(("sort", "argsort", "matmul", "sum", "cumulative_sum", "histogram"), "float32"),
    **dict.fromkeys(("segment_sum", "softmax", "eigh", "lu", "householder"), "float64"),
    **{"fft": "complex128", "bincount": "int64", "nonzero": "bool", "compress": "float32"},
}
_CASES = [o for o in overloads(*Structure) if _OPS.get(o.op) == o.inputs[0]]
#: Bytes of operands at most, and of the blocks that the host still has at least none of.
_MOST, _LEFT = 1 << 22, (1 << 17, 1 << 18, 1 << 14, 1 << 16)


@contextmanager
def _starved(left: int) -> Iterator[None]:
    """Take all blocks of memory from ``left`` bytes up, and let the system give no more."""
    import resource  # which not every system has

    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    libc.free.argtypes = (ctypes.c_void_p,)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(_STATM.read_text("ascii").split()[0]) * resource.getpagesize()
    held: list[int] = []
    hole = libc.malloc(3 * left // 4)  # so that one of two blocks may be had
    resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    try:
        block = 1 << 26
        while block >= left:
            found = libc.malloc(block)
            if found:
                held.append(found)
            else:
                block //= 2
        libc.free(hole)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for place in held:
            libc.free(place)


def _largest(case: Case, overload: Overload) -> list[Call]:
    """Return the call of the most elements, and that of the largest result."""
    fitting = [
        call
        for call in calls(overload, case.rng(), quick=False)
        if sum(x.nbytes for x in call.inputs) <= _MOST
    ]
    most = max(fitting, key=lambda call: call.inputs[0].size)
    largest = max(fitting, key=lambda call: math.prod(call.shape))
    return [most] if most is largest else [most, largest]


@pytest.mark.parametrize("overload", _CASES, ids=str)
def test_no_host_memory(case: Case, overload: Overload) -> None:
    """Without memory, there is the right result or OutOfMemoryError; with it, the right one."""
    info = case.device.info
    if info.kind is not DeviceKind.CPU or Feature.HOST_ADDRESSABLE not in info.features:
        pytest.skip("the device has memory of its own")
    if not _STATM.exists() or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("the memory of this system cannot be limited")
    for call in _largest(case, overload):
        want, _ = _result(case, call, None)
        for left in _LEFT[::2] if case.quick else _LEFT:
            got, is_done = _result(case, call, left)
            if is_done:
                wrong = int(np.count_nonzero(differing(got, want)))
                assert not wrong, f"{wrong} elements are wrong with blocks below {left} bytes alone"
        got, _ = _result(case, call, None)
        assert not differing(got, want).any(), "what came after was wrong"


def _result(case: Case, call: Call, left: int | None) -> tuple[HostArray, bool]:
    """Launch with blocks below ``left`` bytes alone; return what is there, and whether it is."""
    names = call.overload.inputs
    placed = [
        place(case.device, x, d, "contiguous") for x, d in zip(call.inputs, names, strict=True)
    ]
    out = room(case.device, call.shape, call.overload.outputs[0], "contiguous")
    px.synchronize(case.device)
    is_done = True
    with nullcontext() if left is None else _starved(left):
        try:
            launch(call.overload.op, tuple(p.array for p in placed), (out.array,), call.params)
            px.synchronize(case.device)
        except (px.OutOfMemoryError, MemoryError):
            is_done = False
    return out.read(), is_done
