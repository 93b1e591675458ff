"""Copies of all kinds: every offset and size moves just those bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from phalanx._warm import launch
from phalanx.conformance.blocks import check_bytes, place_of
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, chain
from phalanx.driver import Capability, Place

_SPANS = (
    *((0, 1), (1, 1), (3, 5), (0, 63), (1, 64), (7, 65), (64, 4096), (61, 4099), (0, 9000)),
    *((101, 70_001), (128, 67), (64, 4097), (4096, 8190), (16, 70_003)),
)
_ROOM = 150_000
#: Bytes of copies that are done in pieces, if anywhere: beyond 1, 16 and 32 MiB, no whole pages.
_LARGE, _RESULT = (33 << 20) + 67, (34 << 20) + 134
Bytes = npt.NDArray[np.uint8]


@contextmanager
def _blocks(case: Case, count: int) -> Iterator[list[int]]:
    opened = case.device.ensure_open()
    handles = [opened.alloc(_ROOM) for _ in range(count)]
    try:
        yield handles
    finally:
        case.device.synchronize()
        for handle in handles:
            opened.free(handle)


def _move(case: Case, dst: Place, src: Place, size: int) -> None:
    case.device.ensure_open().copy(dst, src, size, stream=case.device.default_stream)


def _block(case: Case, handle: int, offset: int = 0) -> Place:
    return Place(case.device.ensure_open(), handle, offset)


def _host(data: Bytes, offset: int = 0) -> Place:
    return Place(None, data.ctypes.data, offset)


def _upload(case: Case, handle: int, data: Bytes) -> None:
    _move(case, _block(case, handle), _host(data), data.size)
    case.device.synchronize()


def _download(case: Case, handle: int) -> Bytes:
    found = np.zeros(_ROOM, np.uint8)
    _move(case, _host(found), _block(case, handle), _ROOM)
    case.device.synchronize()
    return found


@pytest.mark.parametrize("span", _SPANS, ids=lambda s: f"{s[0]}+{s[1]}")
def test_host_to_device(case: Case, span: tuple[int, int]) -> None:
    """Bytes arrive at the offset, and the others stay."""
    offset, size = span
    rng = case.rng()
    before, source = (rng.integers(0, 256, _ROOM, np.uint8) for _ in range(2))
    with _blocks(case, 1) as (handle,):
        _upload(case, handle, before)
        _move(case, _block(case, handle, offset), _host(source, offset // 2), size)
        case.device.synchronize()
        want = before.copy()
        want[offset : offset + size] = source[offset // 2 : offset // 2 + size]
        check_bytes(_download(case, handle), want, f"{size} bytes to offset {offset}")


@pytest.mark.parametrize("span", _SPANS, ids=lambda s: f"{s[0]}+{s[1]}")
def test_device_to_host(case: Case, span: tuple[int, int]) -> None:
    """Bytes come from the offset, and no more than asked for."""
    offset, size = span
    rng = case.rng()
    source, target = (rng.integers(0, 256, _ROOM, np.uint8) for _ in range(2))
    want = target.copy()
    want[offset // 2 : offset // 2 + size] = source[offset : offset + size]
    with _blocks(case, 1) as (handle,):
        _upload(case, handle, source)
        _move(case, _host(target, offset // 2), _block(case, handle, offset), size)
        case.device.synchronize()
    check_bytes(target, want, f"{size} bytes from offset {offset}")


@pytest.mark.parametrize("span", _SPANS, ids=lambda s: f"{s[0]}+{s[1]}")
def test_device_to_device(case: Case, span: tuple[int, int]) -> None:
    """Bytes go from one offset of a block to another one of another block."""
    offset, size = span
    rng = case.rng()
    source, before = (rng.integers(0, 256, _ROOM, np.uint8) for _ in range(2))
    to = _ROOM - size - offset
    want = before.copy()
    want[to : to + size] = source[offset : offset + size]
    with _blocks(case, 2) as (first, second):
        _upload(case, first, source)
        _upload(case, second, before)
        _move(case, _block(case, second, to), _block(case, first, offset), size)
        case.device.synchronize()
        check_bytes(_download(case, second), want, f"{size} bytes from offset {offset} to {to}")
        check_bytes(_download(case, first), source, "the source of a copy")


@pytest.mark.parametrize("span", _SPANS, ids=lambda s: f"{s[0]}+{s[1]}")
def test_inside_of_a_block(case: Case, span: tuple[int, int]) -> None:
    """Bytes go to the place just behind them, and just before them, of the same block."""
    offset, size = span
    data = case.rng().integers(0, 256, _ROOM, np.uint8)
    size = min(size, (_ROOM - offset) // 2)
    want = data.copy()
    with _blocks(case, 1) as (handle,):
        _upload(case, handle, data)
        for to, at in ((offset + size, offset), (offset, offset + size)):
            want[to : to + size] = want[at : at + size]
            _move(case, _block(case, handle, to), _block(case, handle, at), size)
            case.device.synchronize()
            check_bytes(_download(case, handle), want, f"{size} bytes from offset {at} to {to}")


@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_large_copies(case: Case, of_its_own: bool) -> None:
    """Many mebibytes go to a block, to another one inside the device, and back, on one stream.

    One of its own has them at odd places.
    """
    opened, device = case.device.ensure_open(), case.device
    most = min(device.info.max_allocation, _LARGE)
    stream = px.Stream(device) if of_its_own else device.default_stream
    first, second = (1, 3) if of_its_own else (0, 0)
    size = most - second
    data, found = case.rng().integers(0, 256, size, np.uint8), np.zeros(size, np.uint8)
    blocks = [opened.alloc(most) for _ in range(2)]
    try:
        for dst, src in (
            (_block(case, blocks[0], first), _host(data)),
            (_block(case, blocks[1], second), _block(case, blocks[0], first)),
            (_host(found), _block(case, blocks[1], second)),
        ):
            opened.copy(dst, src, size, stream=stream)
        stream.synchronize()
    finally:
        for block in blocks:
            opened.free(block)
    check_bytes(found, data, f"{size} bytes through two blocks")


def test_copies_far_inside(case: Case) -> None:
    """Offsets of either block are beyond 16 MiB, and copies cross that."""
    opened = case.device.ensure_open()
    size = min(case.device.info.max_allocation, _LARGE)
    data = case.rng().integers(0, 256, size, np.uint8)
    found, want = np.zeros(size, np.uint8), [np.zeros(size, np.uint8) for _ in range(2)]
    blocks = [opened.alloc(size) for _ in range(2)]
    try:
        for block, known in zip(blocks, want, strict=True):
            _move(case, _block(case, block), _host(known), size)
        for number, first in enumerate((size - 4099, size // 2 - 2000, size // 2 + 9001, 4096)):
            to, count = size - first - 5000 if first < size // 2 else first - 5000, 4099
            _move(case, _block(case, blocks[0], first), _host(data, first), count)
            _move(case, _block(case, blocks[1], to), _block(case, blocks[0], first), count)
            want[0][first : first + count] = data[first : first + count]
            want[1][to : to + count] = data[first : first + count]
            _move(case, _host(found), _block(case, blocks[1], to), count)
            case.device.synchronize()
            check_bytes(
                found[:count], data[first : first + count], f"copy {number} from offset {to}"
            )
        for block, known in zip(blocks, want, strict=True):
            _move(case, _host(found), _block(case, block), size)
            case.device.synchronize()
            check_bytes(found, known, "copies far inside of blocks, afterwards")
    finally:
        for block in blocks:
            opened.free(block)


@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_launches_behind_copies(case: Case, of_its_own: bool) -> None:
    """Launches behind copies inside the device read what came, and overwrite what was taken."""
    opened, device = case.device.ensure_open(), case.device
    stream = px.Stream(device) if of_its_own else device.default_stream
    for count in (1 << 10, 1 << 18, min(1 << 22, device.info.max_allocation // 8)):
        host = np.arange(count, dtype=np.float32)
        x, y = px.asarray(host), px.zeros(count, dtype=px.float32)
        found = np.zeros(count, np.float32)
        px.synchronize(device)
        to, source = (place_of(a) for a in (y, x))
        opened.copy(to, source, 4 * count, stream=stream)
        with stream:
            z = y + 1.0
            x += 5.0
            opened.copy(_host(found.view(np.uint8)), to, 4 * count, stream=stream)
            y *= 2.0
        stream.synchronize()
        assert (px.asnumpy(z) == host + 1).all(), f"a launch overtook a copy of {4 * count} bytes"
        assert (found == host).all(), f"what a copy of {4 * count} bytes read was changed before"
        assert (px.asnumpy(x) == host + 5).all(), "a launch on the source of a copy went wrong"


@pytest.mark.parametrize("way", ["inside", "to the device", "to the host"])
def test_many_copies_in_a_queue(case: Case, way: str) -> None:
    """Hundreds of copies behind a wait, to places in another order, and a launch between two."""
    opened, device, count, size = case.device.ensure_open(), case.device, 600, 64
    order = case.rng().permutation(count)
    host = np.arange(count * size // 4, dtype=np.int32)
    source, target = host.copy(), np.zeros_like(host)
    x, y = px.asarray(host), px.zeros(host.size, dtype=px.int32)
    of = _host(source.view(np.uint8)) if way == "to the device" else place_of(x)
    to = _host(target.view(np.uint8)) if way == "to the host" else place_of(y)
    px.synchronize(device)
    stream = px.Stream(device)
    if device.has_streams:
        stream.wait(busy(case, 0.1, asks=False).record())
    for number, place_ in enumerate(order.tolist()):
        if number == count // 2:
            with stream:
                x += 1  # what was copied before is as it was
        opened.copy(_behind(to, size * number), _behind(of, size * place_), size, stream=stream)
    stream.synchronize()
    want = host.reshape(count, -1)[order]
    if way != "to the device":
        want[count // 2 :] += 1
    found = target if way == "to the host" else np.asarray(px.asnumpy(y))
    check_bytes(found.view(np.uint8), want.reshape(-1).view(np.uint8), f"{count} copies {way}")


def _behind(place: Place, more: int) -> Place:
    return place._replace(offset=place.offset + more)


def test_trim_leaves_what_is_queued(case: Case) -> None:
    """Copies from the host that wait in a queue arrive though memory is given back meanwhile."""
    opened, device, count, size = case.device.ensure_open(), case.device, 20, 4000
    if Capability.TRIM not in opened.capabilities or not device.has_streams:
        pytest.skip("the driver keeps no memory, or has no streams of its own")
    host = case.rng().integers(0, 256, (count, size), np.uint8)
    y, stream = px.zeros(host.size, dtype=px.uint8), px.Stream(device)
    px.synchronize(device)
    stream.wait(busy(case, 0.1, asks=False).record())
    for number, row in enumerate(host):
        to = place_of(y, size * number)
        opened.copy(to, _host(row), size, stream=stream)
    opened.trim()
    stream.synchronize()
    check_bytes(px.asnumpy(y), host.reshape(-1), "copies that were queued when trim was called")


def test_neighbours_around_a_launch(case: Case) -> None:
    """A copy that goes on where the last one ended is done behind the launch that lies between."""
    opened, device, half = case.device.ensure_open(), case.device, 4096
    host = np.arange(2 * half, dtype=np.int32)
    x, y = px.asarray(host), px.zeros(2 * half, dtype=px.int32)
    px.synchronize(device)
    stream = px.Stream(device)
    if device.has_streams:
        stream.wait(busy(case, 0.05, asks=False).record())
    for first in (0, half):
        to, source = (place_of(a, 4 * first) for a in (y, x))
        opened.copy(to, source, 4 * half, stream=stream)
        with stream:
            x += 7
    stream.synchronize()
    want = host + np.repeat([0, 7], half).astype(np.int32)
    check_bytes(px.asnumpy(y).view(np.uint8), want.view(np.uint8), "two copies around a launch")


@pytest.mark.parametrize("size", [64, 4096, 70_001], ids=str)
def test_uploads_of_like_bytes(case: Case, size: int) -> None:
    """Of several uploads to one place each counts, though they are alike in sums and ends."""
    first = case.rng().integers(0, 256, size, np.uint8)
    swapped, raised, shifted = first.copy(), first.copy(), first.copy()
    swapped[size // 2 : size // 2 + 8] = np.roll(first[size // 2 : size // 2 + 8], 3)
    raised[size // 3] ^= 1
    shifted[1:-1] = first[1:-1][::-1]
    with _blocks(case, 1) as (handle,):
        for data in (first, swapped, first, raised, shifted, first[::-1].copy()):
            for sent in (first, data):
                _upload(case, handle, sent)
            check_bytes(_download(case, handle)[:size], data, f"{size} bytes like those before")


@pytest.mark.parametrize("by_kernel", [False, True], ids=["copy", "kernel"])
@pytest.mark.parametrize("behind", ["fill", "upload"])
def test_what_was_copied_may_change(case: Case, behind: str, by_kernel: bool) -> None:
    """The source of a copy, or its end, is filled or uploaded to behind it: the copy stays."""
    opened, stream = case.device.ensure_open(), px.Stream(case.device)
    for count, last in ((100, 100), (1 << 16, 1 << 16), (1 << 20, 16)):
        host = np.arange(count, dtype=np.int32)
        x, y = px.asarray(host), px.zeros(count, dtype=px.int32)
        px.synchronize(case.device)
        source, to = (place_of(a) for a in (x, y))
        size = 4 * count
        with stream:
            if by_kernel:
                launch("copy", (x,), (y,))
            else:
                opened.copy(to, source, size, stream=stream)
            if behind == "fill":
                x[-last:] = 0x05050505
            else:
                new = np.full(last, 0x05050505, np.int32).view(np.uint8)
                opened.copy(place_of(x[-last:]), _host(new), new.size, stream=stream)
        stream.synchronize()
        check_bytes(px.asnumpy(y).view(np.uint8), host.view(np.uint8), f"a copy before a {behind}")
        host[-last:] = 0x05050505
        check_bytes(px.asnumpy(x).view(np.uint8), host.view(np.uint8), behind)


#: Mebibytes of copies that are whole chunks, whatever those are: powers of two, and three of them.
_CHUNKS, _CHUNKS_QUICK = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64), (1, 12, 64)


def test_copies_of_whole_chunks(case: Case) -> None:
    """Copies whose size is a multiple of a large power of two have their last bytes, both ways."""
    words = np.arange((_CHUNKS_QUICK if case.quick else _CHUNKS)[-1] << 17)
    for mebibytes in _CHUNKS_QUICK if case.quick else _CHUNKS:
        data = words[: mebibytes << 17].view(np.uint8)
        if data.size <= case.device.info.max_allocation:
            found = px.asnumpy(px.asarray(data))
            check_bytes(found, data, f"{mebibytes} MiB there and back")


def test_large_results(case: Case) -> None:
    """Many mebibytes are computed, from neighbours and from elements two apart."""
    size = min(_RESULT, case.device.info.max_allocation)
    whole = np.arange(size // 8 * 2, dtype=np.int32)
    x = px.asarray(whole)
    for part, want in ((x[: x.size // 2], whole[: x.size // 2]), (x[::2], whole[::2])):
        found = px.asnumpy(part + 1).view(np.uint8)
        check_bytes(found, (want + 1).view(np.uint8), f"{found.size} bytes of sums")


@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_a_few_bytes_of_large_results(case: Case, of_its_own: bool) -> None:
    """The ends of what launches compute, or copy, are read right behind the last of them."""
    for number, size in enumerate((1 << 16, 1 << 20, (1 << 20) + 5, 3 << 20)):
        with px.Stream(case.device) if of_its_own else case.device.default_stream:
            copied = px.zeros(size, dtype=px.float32)
            x = chain(px.zeros(size, dtype=px.float32), 9 + number)
            ends = [px.asnumpy(x[:7]), px.asnumpy(x[-16:])]
            x += 0.0
            copied[:] = x
            ends += [px.asnumpy(copied[:3]), px.asnumpy(copied[-999:])]
        for end in ends:
            assert (end == 9 + number).all(), f"{end.size} of {size} elements, read at once: {end}"


@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_an_event_behind_copies(case: Case, of_its_own: bool) -> None:
    """An event behind nothing but copies is passed when they are done; nor is their stream idle."""
    device, opened = case.device, case.device.ensure_open()
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    size = 4 << 20
    stream = px.Stream(device) if of_its_own else device.default_stream
    event = opened.event_create(timed=False)
    blocks = [opened.alloc(size) for _ in range(2)]
    for number in range(1, 9):
        data, found = np.full(size, number, np.uint8), np.zeros(size, np.uint8)
        opened.copy(_block(case, blocks[0]), _host(data), size, stream=stream)
        opened.copy(_block(case, blocks[1]), _block(case, blocks[0]), size, stream=stream)
        opened.copy(_host(found), _block(case, blocks[1]), size, stream=stream)
        if number % 2:
            opened.event_record(event, stream.handle)
            while not opened.event_query(event):
                pass
        else:
            while not opened.stream_query(stream.handle):
                pass
        seen = found.copy()
        stream.synchronize()
        check_bytes(seen, data, "a copy to the host that was said to be done")
    for block in blocks:
        opened.free(block)
    opened.event_destroy(event)


@pytest.mark.parametrize("to_host", [False, True], ids=["inside", "to the host"])
def test_a_copy_waits_for_events(case: Case, to_host: bool) -> None:
    """A copy is behind what its stream was told to wait for, though no kernel is between."""
    device, opened = case.device, case.device.ensure_open()
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    work, copies = px.Stream(device), px.Stream(device)
    for count in (1 << 16, 3, 1 << 16, 1):
        found = np.zeros(count, np.float32)
        target = px.zeros(count, dtype=px.float32)
        with work:
            whole = px.zeros(1 << 16, dtype=px.float32)
            px.synchronize(device)
            for _ in range(60):
                whole += 1.0
        x = whole[-count:]
        event = opened.event_create(timed=False)
        opened.event_record(event, work.handle)
        opened.stream_wait_event(copies.handle, event)
        source = place_of(x)
        inside = place_of(target)
        opened.copy(
            _host(found.view(np.uint8)) if to_host else inside, source, x.nbytes, stream=copies
        )
        opened.stream_synchronize(copies.handle, 60.0)
        px.synchronize(device)
        opened.event_destroy(event)
        seen = found if to_host else px.asnumpy(target)
        assert (seen == 60).all(), f"a copy overtook what it waits for: {np.unique(seen)}"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float64", "complex128"])
def test_full(case: Case, dtype: str) -> None:
    """``full`` writes its value everywhere, also through a view with gaps."""
    if dtype in ("float64", "complex128") and not case.moves(dtype):
        pytest.skip(f"the device has no {dtype}")
    kind = getattr(px, dtype)
    x = px.full((7, 130), 1, dtype=kind)
    assert (px.asnumpy(x) == 1).all()
    x[1::2, ::3] = False if dtype == "bool" else 0
    want: npt.NDArray[Any] = np.ones((7, 130), dtype)
    want[1::2, ::3] = 0
    assert px.asnumpy(x).tobytes() == want.tobytes()


@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_source_may_change(case: Case, of_its_own: bool) -> None:
    """When ``asarray`` returns, its source may change."""
    for size in (1, 1000, 1 << 20) if case.quick else (1, 1000, 1 << 20, 9 << 20):
        source = np.arange(min(size, case.device.info.max_allocation // 4), dtype=np.int32)
        want = source.copy()
        with px.Stream(case.device) if of_its_own else case.device.default_stream:
            x = px.asarray(source, copy=True)
            source[:] = -1
            assert np.array_equal(px.asnumpy(x), want), f"{size} elements"


def test_large_round_trip(case: Case) -> None:
    """Many mebibytes go to the device and back unchanged."""
    size = min(case.device.info.max_allocation, (5 << 20) + 3 if case.quick else (48 << 20) + 3)
    data = case.rng().integers(0, 256, size, np.uint8)
    check_bytes(px.asnumpy(px.asarray(data)), data, f"{size} bytes there and back")


def test_many_small(case: Case) -> None:
    """Hundreds of copies without a wait between them arrive in order."""
    rng = case.rng()
    sources = [rng.integers(0, 256, int(n), np.uint8) for n in rng.integers(1, 3000, 300)]
    arrays = [px.asarray(source) for source in sources]
    for number, (array, source) in enumerate(zip(arrays, sources, strict=True)):
        check_bytes(px.asnumpy(array), source, f"copy {number} of {source.size} bytes")
