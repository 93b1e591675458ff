"""Copies of chance sizes between chance places, most of them near an edge that hardware knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from phalanx.conformance.blocks import place_of
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import need_streams
from phalanx.driver import Place

_ROOM = 1 << 20
_GUARD = 64
_UP, _DOWN, _INSIDE = "host to device", "device to host", "device to device"
Bytes = npt.NDArray[np.uint8]


def _edge(rng: np.random.Generator, room: int) -> int:
    """Return a number below ``room``, within some bytes of a multiple of a power of two."""
    step = 1 << int(rng.integers(2, 17))
    near = step * int(rng.integers(0, room // step)) + int(rng.integers(-20, 21))
    return min(max(near, 0), room - 1)


def _span(rng: np.random.Generator) -> tuple[int, int, int]:
    """Return two places and how many bytes fit behind both: few, or about a round number."""
    one, other = _edge(rng, _ROOM), _edge(rng, _ROOM)
    size = int(rng.integers(1, 40)) if rng.random() < 0.4 else 1 + _edge(rng, 1 << 17)
    return one, other, min(size, _ROOM - max(one, other))


def _on_a_page(rng: np.random.Generator) -> Bytes:
    """Return chance bytes that begin where a page of the host's memory does."""
    data = rng.integers(0, 256, _ROOM + 4096, np.uint8)
    return data[-data.ctypes.data % 4096 :][:_ROOM]


def _on_host(data: npt.NDArray[Any], offset: int = 0) -> Place:
    return Place(None, data.ctypes.data + offset)


@pytest.mark.parametrize("way", [_UP, _DOWN, _INSIDE])
def test_chance_copies(case: Case, way: str) -> None:
    """Just the bytes that were asked for arrive, over words, lines and pages of either side."""
    opened, rng = case.device.ensure_open(), case.rng()
    host = [_on_a_page(rng) for _ in range(2)]
    want = [data.copy() for data in host]  # of the source, and of the target
    blocks = [opened.alloc(_ROOM) for _ in host]

    def move(dst: Place, src: Place, size: int) -> None:
        opened.copy(dst, src, size, stream=case.device.default_stream)
        case.device.synchronize()

    try:
        for block, data in zip(blocks, want, strict=True):
            move(Place(opened, block), _on_host(data), _ROOM)
        for _ in range(150 if case.quick else 600):
            of, to, size = _span(rng)
            source = _on_host(host[0], of) if way == _UP else Place(opened, blocks[0], of)
            target = _on_host(host[1], to) if way == _DOWN else Place(opened, blocks[1], to)
            move(target, source, size)
            want[1][to : to + size] = want[0][of : of + size]
            low, high = max(to - _GUARD, 0), min(to + size + _GUARD, _ROOM)
            found = host[1][low:high]
            if way != _DOWN:
                found = np.zeros(high - low, np.uint8)
                move(_on_host(found), Place(opened, blocks[1], low), high - low)
            assert (found == want[1][low:high]).all(), f"{size} bytes from {of} to {to}, {way}"
    finally:
        case.device.synchronize()
        for block in blocks:
            opened.free(block)


def test_neighbours_at_once(case: Case) -> None:
    """Two streams copy side by side into one block, whose halves meet at any byte."""
    need_streams(case)
    device, opened, rng = case.device, case.device.ensure_open(), case.rng()
    data, half = rng.integers(0, 256, 1 << 14, np.uint8), 1 << 13
    blocks = [opened.alloc(data.size) for _ in range(2)]
    streams = [px.Stream(device) for _ in range(2)]
    source, target = (Place(opened, block) for block in blocks)
    opened.copy(source, _on_host(data), data.size, stream=device.default_stream)
    device.synchronize()
    try:
        for number in range(16):
            edge = half // 2 - 8 + number
            spans = ((0, edge), (edge, half))
            for stream, (begin, end) in zip(streams, spans[:: 1 - number % 2 * 2], strict=True):
                of, to = Place(opened, blocks[0], begin + number), Place(opened, blocks[1], begin)
                opened.copy(to, of, end - begin, stream=stream)
            for stream in streams:
                opened.stream_synchronize(stream.handle, 60.0)
            found = np.zeros(half, np.uint8)
            opened.copy(_on_host(found), target, half, stream=device.default_stream)
            device.synchronize()
            wrong = np.flatnonzero(found != data[number : half + number])
            assert not wrong.size, f"copies that meet at {edge}: byte {wrong[0]} is wrong"
    finally:
        device.synchronize()
        for block in blocks:
            opened.free(block)


#: Elements on both sides of an edge, and the last offsets that are tried, as powers of two.
_SIDE, _FARTHEST, _FARTHEST_QUICK = 1500, 32, 28


def _large_array(case: Case) -> px.Array:
    """Return unset memory that reaches as far as the device's allows, a quarter at most."""
    free = case.device.ensure_open().memory_info()[0] or 1 << 29
    farthest = 1 << (_FARTHEST_QUICK if case.quick else _FARTHEST)
    size = min(case.device.info.max_allocation, free // 4, farthest + 8 * _SIDE)
    while True:
        try:
            return px.empty(size // 4, dtype=px.float32)
        except px.OutOfMemoryError:
            size //= 2


def test_offsets_at_edges(case: Case) -> None:
    """Kernels and copies write and read before, over and behind offsets at which counters end."""
    opened, rng = case.device.ensure_open(), case.rng()
    x, known = _large_array(case), []
    for power in range(20, _FARTHEST + 1):
        edge = (1 << power) // 4
        if edge + _SIDE > x.size:
            break
        host = rng.integers(-(1 << 20), 1 << 20, 2 * _SIDE).astype(np.float32)
        before, behind = x[edge - _SIDE : edge], x[edge : edge + _SIDE]
        by_kernel, by_copy = (before, behind) if power % 2 else (behind, before)
        by_kernel[...] = px.asarray(host[_SIDE:] if by_kernel is behind else host[:_SIDE])
        data = host[_SIDE:] if by_copy is behind else host[:_SIDE]
        opened.copy(
            place_of(by_copy), _on_host(data), data.nbytes, stream=case.device.default_stream
        )
        known.append((power, x[edge - _SIDE : edge + _SIDE], host))
    case.device.synchronize()
    if not known:
        pytest.skip("the device has no room for such an array")
    for power, whole, host in known:  # only now, lest it was written where it is read
        for part in (slice(None), slice(_SIDE, None)):
            assert (px.asnumpy(whole[part] + 1) == host[part] + 1).all(), f"a sum at 2**{power}"
            assert (px.asnumpy(whole[part]) == host[part]).all(), f"a copy at 2**{power} bytes"


#: Bytes, words and more: what a fill does elements at a time has other ends in each.
_FILLED = ("bool", "int8", "float16", "int32", "float32", "int64")


@pytest.mark.parametrize("dtype", _FILLED)
def test_large_fills(case: Case, dtype: str) -> None:
    """A fill ends with the last element of many, and of each row though rows are far apart."""
    most = case.device.info.max_allocation // np.dtype(dtype).itemsize
    for count in ((1 << 16) + 1, (1 << 16) + 6, (1 << 20) + 1, (1 << 20) + 6):
        if count > most:
            break
        found = px.asnumpy(px.full(count, 1, dtype=dtype))
        assert (found == 1).all(), f"element {np.flatnonzero(found != 1)[0]} of {count} is unset"
    for pitch in (1 << 16, (1 << 16) + 24, 1 << 18):
        if 4 * pitch > most:
            break
        x = px.zeros((4, pitch), dtype=dtype)
        x[:, 3:8] = 1
        want = np.zeros(x.shape, np.bool)
        want[:, 3:8] = True
        wrong = np.argwhere((px.asnumpy(x) != 0) != want)
        assert not wrong.size, f"row {wrong[0][0]}, element {wrong[0][1]} of rows of {pitch}"


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_narrow_rows(case: Case, dtype: str) -> None:
    """Of rows that are narrower than a line each has all its elements, on either side."""
    rng, width = case.rng(), 40
    for rows in (1023, 1025) if case.quick else (255, 1023, 1024, 1025, 4097):
        host = rng.integers(1, 100, (rows, width)).astype(dtype)
        x = px.asarray(host)
        for part in (slice(0, 1), slice(0, 3), slice(2, 9), slice(1, 14), slice(0, 31)):
            dense = px.asnumpy(px.asarray(x[:, part], copy=True))
            assert (dense == host[:, part]).all(), f"{rows} rows, {part}"
            y = px.zeros(host.shape, dtype=dtype)
            y[:, part] = x[:, part]
            want = np.zeros_like(host)
            want[:, part] = host[:, part]
            assert (px.asnumpy(y) == want).all(), f"{rows} rows into rows, {part}"
