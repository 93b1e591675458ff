"""What belongs to a launch or a copy stays its own until it runs, whatever is queued behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, take_wrongly
from phalanx.conformance.overloads import overloads
from phalanx.driver import Place
from phalanx.namespace.public import public_function
from phalanx.optable import Structure
from phalanx.vendor import Array

#: More than rings of slots have.
_MANY, _MANY_QUICK = 4_200, 2_300
_OPS = (
    *("abs", "negative", "positive", "square", "sign", "exp", "sqrt", "floor", "bitwise_invert"),
    *("add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "less", "less_equal", "equal", "not_equal", "greater"),
)
_DTYPES = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32"}


@contextmanager
def _behind_work(case: Case) -> Iterator[px.Stream]:
    """A stream whose work waits for that of another one; all is done at the end."""
    stream = px.Stream(case.device)
    if case.device.has_streams:
        stream.wait(busy(case, 0.1, asks=False).record())
    with stream:
        yield stream
    stream.synchronize()


def _offsets(x: Array, n: int, stride: int) -> Array:
    out = px.empty(x.shape, dtype=px.int64, device=x.device)
    launch("wrap_index", (x,), (out,), (n, stride))
    return out


def test_queued_params(case: Case) -> None:
    """Each of thousands of queued launches has its own params."""
    many = _MANY_QUICK if case.quick else _MANY
    host = np.array([-1, 0, -3, 2])
    x = px.asarray(host)
    with _behind_work(case):
        found = [_offsets(x, number + 4, number % 7 + 1) for number in range(many)]
    for number, offsets in enumerate(found):
        want = host % (number + 4) * (number % 7 + 1)
        assert px.asnumpy(offsets).tolist() == want.tolist(), f"launch {number} had other params"


def test_queued_numbers(case: Case) -> None:
    """Each of thousands of queued launches has its own number, on two streams in turn."""
    many = _MANY_QUICK if case.quick else _MANY
    x = px.asarray(np.arange(3, dtype=np.float32))
    other = px.Stream(case.device)
    px.synchronize(case.device)
    with _behind_work(case) as stream:
        other.wait(stream.record())
        found = []
        for number in range(many):
            with other if number % 2 else stream:
                found.append(x + float(number))
    other.synchronize()
    for number, result in enumerate(found):
        want = np.arange(number, number + 3, dtype=np.float32)
        assert (px.asnumpy(result) == want).all(), f"launch {number} had another number"


def test_numbers_of_64_bits(case: Case) -> None:
    """Numbers that differ in their lowest bits alone, queued and again, are kept apart."""
    name = next((t for t in ("float64", "int64") if case.has("subtract", t, t, t)), None)
    if name is None:
        pytest.skip("the device subtracts no numbers of 64 bits")
    one = 1.0 if name == "float64" else 1 << 40
    least = 2.0**-50 if name == "float64" else 1
    x = px.asarray([one, 2 * one], dtype=getattr(px, name))
    turns = [*range(50), *range(49, -1, -7)]
    with _behind_work(case):
        found = [x - (one + turn * least) for turn in turns]
    for turn, result in zip(turns, found, strict=True):
        want = [-turn * least, one - turn * least]
        assert px.asnumpy(result).tolist() == want, f"a number of {name} was another one's"


def test_params_of_64_bits(case: Case) -> None:
    """Params that leave 31 and 32 bits, at the first launch of a kind and at those behind it."""
    x = px.asarray([-1, 0, -2])
    for n in (5, 2**31 + 3, 2**32 + 5, 7, 2**47 + 1, 3):
        for stride in (1, 2**9 + 1, 3):
            want = [(n - 1) * stride, 0, (n - 2) * stride]
            for _ in range(3):  # the second is prepared
                assert px.asnumpy(_offsets(x, n, stride)).tolist() == want, f"of {n} by {stride}"


def test_queued_kernels(case: Case) -> None:
    """Each of many kernels in one queue runs, those that few others are behind, too."""
    pairs = []
    for overload in overloads(Structure.ELEMENTWISE):
        dtypes = set(overload.inputs)
        if overload.op in _OPS and dtypes <= _DTYPES and case.has(overload.op, *overload.dtypes):
            host = np.arange(1, 70).astype(overload.inputs[0])
            both = px.asarray(host), px.asarray(host[::-1].copy())
            pairs.append((overload.op, both[: len(overload.inputs)]))
    if not pairs:
        pytest.skip("the device has none of these ops")
    want = [px.asnumpy(public_function(op)(*args)).tobytes() for op, args in pairs]
    with _behind_work(case):
        found = [public_function(op)(*args) for op, args in pairs]
    for (op, args), result, right in zip(pairs, found, want, strict=True):
        assert px.asnumpy(result).tobytes() == right, f"{op} of {args[0].dtype} in a long queue"


def test_copies_behind_a_wrong_index(case: Case) -> None:
    """A wrong index stops nothing: copies behind it are done, also in front of the failure."""
    opened, device, size = case.device.ensure_open(), case.device, 4096
    stream = px.Stream(device)
    data, found = case.rng().integers(0, 256, size, np.uint8), np.zeros(size, np.uint8)
    blocks = [opened.alloc(size) for _ in range(2)]
    try:
        taken = take_wrongly(case, stream)
        here, there = (Place(opened, block) for block in blocks)
        of, to = (Place(None, array.ctypes.data) for array in (data, found))
        for dst, src in ((here, of), (there, here), (to, there)):
            opened.copy(dst, src, size, stream=stream)
        if taken is None:
            stream.synchronize()
        else:
            with pytest.raises(IndexError):
                stream.synchronize()
        px.synchronize(device)
    finally:
        for block in blocks:
            opened.free(block)
    assert (found == data).all(), "copies behind a wrong index were left out"
