"""Launches that come again: a driver may prepare them, with nothing kept but what may be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch_elementwise
from phalanx.conformance.blocks import write_block
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy

#: Rounds on the same signature: the first, the one that is prepared, and some behind it.
_ROUNDS = 6
_COUNT = 37
#: More than the entries of a ring.
_QUEUED = 2500

_Function = Callable[..., Any]


def _numbers(case: Case, seed: int, *shape: int) -> Any:
    """Return small whole numbers, on which every order of evaluation is exact."""
    return case.rng(seed).integers(-9, 10, shape).astype(np.float32)


def _times(x: Any, y: Any) -> Any:
    return x * y


def _shifted(x: Any, y: Any) -> Any:
    return x[:, 1:] + y[:, :-1]


def _with_number(x: Any, y: Any) -> Any:
    del y
    return x * 3.0


def _product(x: Any, y: Any) -> Any:
    return x @ y.T


def _sums(x: Any, y: Any) -> Any:
    return px.sum(x, axis=0) if isinstance(x, px.Array) else np.sum(x + 0 * y, axis=0)


def _taken(x: Any, y: Any) -> Any:
    if isinstance(x, px.Array):
        rows = px.asarray([2, 0, -1], dtype=px.int64, device=x.device)
        return px.take(x, rows, axis=0) + px.take(y, rows, axis=0)
    return x[[2, 0, -1]] + y[[2, 0, -1]]


def _chosen(x: Any, y: Any) -> Any:
    xp = px if isinstance(x, px.Array) else np
    return xp.where(x > y, x, y[::-1])


def _many_axes(x: Any, y: Any) -> Any:
    xp = px if isinstance(x, px.Array) else np
    a, b = (xp.reshape(v[:4, :32], (2,) * 7) for v in (x, y))
    return xp.permute_dims(a, (6, 1, 4, 3, 2, 5, 0))[::-1] * b


_F32 = "float32"
_PRODUCT = ("multiply", (_F32, _F32, _F32))
#: What is computed, and the kernels that it needs.
_FORMS: dict[str, tuple[_Function, tuple[str, tuple[str, ...]]]] = {
    "elementwise": (_times, _PRODUCT),
    "strided": (_shifted, ("add", (_F32, _F32, _F32))),
    "number": (_with_number, _PRODUCT),
    "many axes": (_many_axes, _PRODUCT),
    "product": (_product, ("matmul", (_F32, _F32, _F32))),
    "sum": (_sums, ("sum", (_F32, _F32))),
    "three operands": (_chosen, ("where", ("bool", _F32, _F32, _F32))),
    "take": (_taken, ("gather", (_F32, "int64", _F32))),
}


def _need(case: Case, overload: tuple[str, tuple[str, ...]]) -> None:
    """Skip where the device launches nothing."""
    if case.served[overload].how != "native":
        pytest.skip(f"no kernel of its own for {overload[0]}")


@pytest.mark.parametrize("form", _FORMS)
def test_other_memory(case: Case, form: str) -> None:
    """Each launch works on the memory that it is given; all former results stay."""
    compute, overload = _FORMS[form]
    _need(case, overload)
    pairs = [[_numbers(case, 2 * i + k, 5, _COUNT) for k in (0, 1)] for i in range(_ROUNDS)]
    arrays = [[px.asarray(x, device=case.device) for x in pair] for pair in pairs]
    results = [compute(*pair) for pair in arrays]
    results.append(compute(arrays[0][0], arrays[0][0]))
    results.append(compute(arrays[1][0], arrays[0][1]))
    pairs += [[pairs[0][0], pairs[0][0]], [pairs[1][0], pairs[0][1]]]
    for number, (result, pair) in enumerate(zip(results, pairs, strict=True)):
        assert (px.asnumpy(result) == compute(*pair)).all(), (
            f"{form}: launch {number} of the same shapes computed something else"
        )


@pytest.mark.parametrize("width", [_COUNT, 48])
def test_many_are_queued(case: Case, width: int) -> None:
    """Thousands of one launch behind work that takes long have each its own operands.

    Rows of 48 begin at whole lines of memory, so that not even their alignment differs.
    """
    _need(case, _PRODUCT)
    host = _numbers(case, 7, _QUEUED, width)
    x, y = (px.asarray(v, device=case.device) for v in (host, host[0]))
    px.synchronize(case.device)
    stream = busy(case, 0.3, asks=False) if case.device.has_streams else None
    with stream or nullcontext():
        results = [x[i] * y for i in range(_QUEUED)]
    px.synchronize(case.device)
    for number, result in enumerate(results):
        assert (px.asnumpy(result) == host[number] * host[0]).all(), (
            f"launch {number} of {_QUEUED} that were queued took other operands"
        )


@pytest.mark.parametrize("form", _FORMS)
def test_other_contents(case: Case, form: str) -> None:
    """What the host put into an operand's memory since the last launch counts, however little."""
    compute, overload = _FORMS[form]
    _need(case, overload)
    for width in (_COUNT,) if form == "many axes" else (9, _COUNT):
        hosts = [_numbers(case, k, 5, width) for k in (0, 1)]
        arrays = [px.asarray(host, device=case.device) for host in hosts]
        for number in range(_ROUNDS):
            assert (px.asnumpy(compute(*arrays)) == compute(*hosts)).all(), (
                f"{form}: launch {number} computed with what lay there before an upload"
            )
            turn = number % 2
            hosts[turn] = _numbers(case, number + 2, 5, width)
            raw = np.ascontiguousarray(hosts[turn]).view(np.uint8).ravel()
            write_block(case.device, arrays[turn].buffer.handle, raw, arrays[turn].offset)


@pytest.mark.parametrize("name", ["add", "multiply", "subtract"])
def test_in_place_behind_others(case: Case, name: str) -> None:
    """What was launched on three arrays goes into one of them later, behind work on it."""
    _need(case, (name, (_F32, _F32, _F32)))
    function = getattr(px, name)
    hosts = [_numbers(case, i, 1 << 17) for i in range(2)]
    with px.Stream(case.device):
        x, y = (px.asarray(h, device=case.device) for h in hosts)
        for _ in range(_ROUNDS):
            function(x, y)
        for _ in range(8):
            x = x + 1.0
        for _ in range(3):
            x = _into_first(name, x, y)
    want = hosts[0] + np.float32(8)
    for _ in range(3):
        want = getattr(np, name)(want, hosts[1])
    assert (px.asnumpy(x) == want).all(), f"{name} in place read what it was before other work"


@pytest.mark.parametrize("into", [0, 1])
def test_in_place_before_others(case: Case, into: int) -> None:
    """That a result went into an operand is no property of the shapes: the next goes elsewhere."""
    _need(case, _PRODUCT)
    hosts = [_numbers(case, i, 61 + into) for i in range(2)]
    arrays = [px.asarray(host, device=case.device) for host in hosts]
    for _ in range(_ROUNDS):
        launch_elementwise("multiply", tuple(arrays), arrays[into])
        hosts[into] = hosts[0] * hosts[1]
        again = px.asnumpy(arrays[into])
        assert (again == hosts[into]).all(), f"a product in place of operand {into}"
    found = [px.asnumpy(arrays[0] * arrays[1]) for _ in range(3)]
    assert all((f == hosts[0] * hosts[1]).all() for f in found), "a product behind those in place"
    for number, (x, host) in enumerate(zip(arrays, hosts, strict=True)):
        assert (px.asnumpy(x) == host).all(), f"operand {number} took a result that is not its own"


def _into_first(name: str, x: px.Array, y: px.Array) -> px.Array:
    if name == "add":
        x += y
    elif name == "multiply":
        x *= y
    else:
        x -= y
    return x


@pytest.mark.parametrize("same_first", [True, False])
def test_one_array_twice(case: Case, same_first: bool) -> None:
    """That both operands were one array, or were not, is no property of the shapes."""
    _need(case, _PRODUCT)
    # a size of its own, so that no other launch like these came before
    hosts = [_numbers(case, i, 41 + same_first) for i in range(4)]
    x, y, z, w = (px.asarray(h, device=case.device) for h in hosts)
    pairs = [(0, 0)] * 3 + [(1, 2)] * 3
    arrays = (x, y, z, w)
    for i, k in pairs if same_first else reversed(pairs):
        got = px.asnumpy(arrays[i] * arrays[k])
        assert (got == hosts[i] * hosts[k]).all(), f"operands {i} and {k} were mixed up"


def test_other_strides(case: Case) -> None:
    """Operands change their strides with each other, and the result with one of them."""
    _need(case, ("subtract", (_F32, _F32, _F32)))
    # a size of its own, so that no other launch like these came before
    hosts = [_numbers(case, i, 39, 39) for i in range(2)]
    x, y = (px.asarray(host, device=case.device) for host in hosts)
    out = px.zeros((39, 39), dtype=px.float32, device=case.device)
    turns = [turn for turn in np.ndindex(2, 2, 2) for _ in range(3)]
    for turn in [*turns, *turns[::-1]]:
        a, b, to = (v.T if turned else v for v, turned in zip((x, y, out), turn, strict=True))
        launch_elementwise("subtract", (a, b), to)
        want = np.subtract(*(h.T if t else h for h, t in zip(hosts, turn[:2], strict=True)))
        assert (px.asnumpy(to) == want).all(), "the strides of another launch were taken"


def test_other_offsets(case: Case) -> None:
    """Rows of one array lie in one block: only the offset differs."""
    _need(case, _PRODUCT)
    host = _numbers(case, 0, 8, 64)
    x = px.asarray(host, device=case.device)
    y = px.zeros((8, 64), dtype=px.float32, device=case.device)
    for i in range(8):
        px.multiply(x[i, :], x[7 - i, :])
        y[i, :] = x[i, :] * x[7 - i, :]
    assert (px.asnumpy(y) == host * host[::-1]).all(), "an offset was not taken over"
    flat, line = px.reshape(x, (512,)), host.reshape(512)
    for at in (0, 16, 32, 4, 20, 36, 40, 1, 5, 21):  # multiples of 64 bytes, of 16, and others
        got = px.asnumpy(flat[at : at + 60] * flat[at + 128 : at + 188])
        want = line[at : at + 60] * line[at + 128 : at + 188]
        assert (got == want).all(), f"the offset of {4 * at} bytes was not taken over"


def test_far_offsets(case: Case) -> None:
    """Only the offset differs, beyond 16 MiB, in each of three operands."""
    _need(case, ("where", ("bool", _F32, _F32, _F32)))
    if case.device.info.max_allocation < 32 << 20:
        pytest.skip("no array of the device is so large")
    x = px.zeros((5 << 20) + 64, dtype=px.float32, device=case.device)
    mask = px.zeros((17 << 20) + 64, dtype=px.bool, device=case.device)
    places = (0, 13, (1 << 22) + 3, (5 << 20) + 11)
    for number, at in enumerate(places):
        x[at : at + 9] = float(number + 1)
        mask[3 * at : 3 * at + 9] = True
    for turn in range(3):
        for number, at in enumerate(places):
            other = places[number - 1]
            chosen = mask[3 * at : 3 * at + 9] if turn % 2 else mask[3 * at + 20 : 3 * at + 29]
            got = px.asnumpy(px.where(chosen, x[at : at + 9], x[other : other + 9]))
            want = number + 1 if turn % 2 else (number or len(places))
            assert (got == want).all(), f"an offset was not taken over: {got} instead of {want}"


def test_memory_given_back(case: Case) -> None:
    """A handle that is used again may stand for other memory."""
    _need(case, _PRODUCT)
    for i in range(2 * _ROUNDS):
        host = _numbers(case, i, 1 << (18 + i % 2))
        x = px.asarray(host, device=case.device)
        got = px.asnumpy(x * x)
        del x
        px.empty_cache(case.device)
        assert (got == host * host).all(), f"launch {i} worked on other memory than its own"


def test_other_streams(case: Case) -> None:
    """A launch goes into the stream of its call: behind a long wait there, and not elsewhere."""
    _need(case, _PRODUCT)
    host = _numbers(case, 0, 43)
    x = px.asarray(host, device=case.device)
    for _ in range(3):
        px.multiply(x, x)
    px.synchronize(case.device)
    for i in range(_ROUNDS):
        with px.Stream(case.device) as stream:
            y = x + float(i)
            z = y * y
        event = stream.record()
        event.synchronize()
        if case.device.has_streams:
            # what was launched on the stream is done when the stream is
            assert stream.query(), "a stream that was waited for is busy"
        assert (px.asnumpy(z) == (host + np.float32(i)) ** 2).all()
        stream.close()


def test_numbers(case: Case) -> None:
    """Numbers, with their signs of zero, belong to one launch each."""
    _need(case, _PRODUCT)
    host = np.abs(_numbers(case, 0, 47)) + 1
    x = px.asarray(host, device=case.device)
    for _ in range(3):
        for number in (2.0, -2.0, 0.0, -0.0, 0.5, np.inf):
            got = px.asnumpy(x * number)
            assert got.tobytes() == (host * np.float32(number)).tobytes(), (
                f"x * {number} took another number"
            )
