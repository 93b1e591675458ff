"""Memory behind addresses on CUDA: ranges of the pool over the fake library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from fake_cuda.kit import Card
from fake_cuda.ranges import GRANULARITY
from phalanx.errors import DeviceLostError, OutOfMemoryError

pytestmark = pytest.mark.needs_cpu
MIB = 2**20
CALLS = ("cuMemAddressReserve", "cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemSetAccess")

#: `cuMemRelease` gives back what `cuMemCreate` gave.
UNABLE = tuple(call for call in CALLS if call != "cuMemRelease")


def empty(card: Card, mib: float) -> px.Array:
    return px.empty(int(mib * MIB), dtype=px.uint8, device=card.device)


def reserved(card: Card) -> int:
    """The pool's reserved bytes, which the library agrees with."""
    size: int = px.memory_stats(card.device)["reserved"]
    assert card.library.live() == size
    return size


def memory(card: Card) -> tuple[int, list[str]]:
    """The pool's reserved bytes, and all memory that the library has."""
    return reserved(card), [x for x in card.library.left_behind() if "addresses" not in x]


def emptied(card: Card) -> None:
    """Give all memory back; nothing is left of it."""
    px.synchronize(card.device)
    px.empty_cache(card.device)
    assert card.library.left_behind() == []
    assert px.memory_stats(card.device)["reserved"] == card.library.live() == 0


def test_the_pool_grows_in_place(card: Card) -> None:
    data = np.random.default_rng(1).integers(0, 255, 9 * MIB, np.uint8)
    arrays = [px.asarray(data[n:], device=card.device, copy=True) for n in range(4)]
    assert len({x.buffer.handle for x in arrays}) == 1
    assert card.library.calls["cuMemAlloc_v2"] == 1  # of the self-test
    for n, x in enumerate(arrays):
        assert np.array_equal(px.asnumpy(x ^ x), data[n:] & 0)
        assert np.array_equal(px.asnumpy(x), data[n:])
    assert reserved(card) >= 36 * MIB
    held = card.library.live()
    del arrays[1:3]
    px.synchronize(card.device)
    px.empty_cache(card.device)
    assert card.library.live() < held - 14 * MIB
    assert np.array_equal(px.asnumpy(arrays[1]), data[3:])
    arrays.clear()
    del x
    emptied(card)


def test_a_card_that_cannot_keeps_to_allocations(make_card: Callable[..., Card]) -> None:
    card = make_card(virtual=False)
    assert card.opened.virtual_memory() is None
    x, y = empty(card, 9), empty(card, 9)
    assert x.buffer.handle != y.buffer.handle
    assert not any(card.library.calls[call] for call in CALLS)
    del x, y
    emptied(card)


@pytest.mark.parametrize("call", ["cuMemGetAllocationGranularity", *UNABLE])
@pytest.mark.parametrize("code", [800, 801])
def test_one_that_cannot_after_all_keeps_to_allocations(
    make_card: Callable[..., Card], call: str, code: int
) -> None:
    """As where a virtual machine forbids it: nobody is told, and nobody asks again."""
    card = make_card()
    card.library.faults[call] = code
    arrays = [empty(card, 3) for _ in range(4)]
    assert len({x.buffer.handle for x in arrays}) == 4
    assert card.library.calls[call] <= (1 if call == "cuMemGetAllocationGranularity" else 4)
    assert memory(card) == (16 * MIB, [])
    del arrays
    emptied(card)


def test_pages_of_a_large_card_are_larger(make_card: Callable[..., Card]) -> None:
    """No more than 8192 calls of the driver for all of it."""
    card = make_card(memory=80 * 2**30)
    x, y = empty(card, 0.5), empty(card, 3)
    assert card.library.physical_sizes() == [GRANULARITY, 10 * MIB]
    del x, y
    emptied(card)


@pytest.mark.parametrize("code", [1, 2, 999])
@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("call", CALLS)
def test_each_call_may_fail_on_the_way_in(card: Card, call: str, after: int, code: int) -> None:
    """No page is half there: the same request is served afterwards, and all of it goes back."""
    kept = empty(card, 3)
    before = memory(card)
    card.library.faults[call] = [0] * after + [code]
    told: list[Exception] = []
    arrays = []
    for size in (7, 0.5, 9):
        try:
            arrays.append(empty(card, size))
        except px.PhalanxError as error:
            told.append(error)
            assert code == 999 or memory(card) == before
        if code == 999 and told:
            break
        before = memory(card)
    assert len(told) <= 1
    assert all("CUDA" in str(error) and call in str(error) for error in told)
    if code == 2:
        assert not told  # the pool tries again with less, or takes an allocation
    if code == 999 and told:
        assert isinstance(told[0], DeviceLostError)
        return
    card.library.faults.clear()
    x = px.asarray(np.arange(3 * MIB, dtype=np.uint32), device=card.device, copy=True)
    assert int(x[-1]) == 3 * MIB - 1
    arrays.clear()
    del x, kept, told
    emptied(card)


@pytest.mark.parametrize("code", [1, 400, 999])
@pytest.mark.parametrize("call", ["cuMemUnmap", "cuMemAddressFree"])
def test_each_call_may_fail_on_the_way_out(card: Card, call: str, code: int) -> None:
    arrays = [empty(card, 5) for _ in range(6)]
    small = empty(card, 0.25)
    del arrays[::2]
    if call == "cuMemAddressFree":
        arrays.clear()
    px.synchronize(card.device)
    card.library.faults[call] = [code]
    with pytest.raises(px.DeviceError, match=call):
        px.empty_cache(card.device)
    if code == 999:
        return
    reserved(card)
    assert empty(card, 5).size == 5 * MIB
    assert small.size == MIB // 4
    del small
    arrays.clear()
    emptied(card)


def test_a_page_that_cannot_be_taken_back_is_used_by_the_next_request(card: Card) -> None:
    kept = empty(card, 2)
    card.library.faults.update(cuMemSetAccess=[1], cuMemUnmap=[1])
    with pytest.raises(px.DriverCallError, match="cuMemSetAccess"):
        empty(card, 6)
    x = px.asarray(np.arange(MIB, dtype=np.uint64), device=card.device, copy=True)
    assert int(x[-1]) == MIB - 1
    assert reserved(card) == 10 * MIB
    del x, kept
    emptied(card)


def test_addresses_that_still_have_such_a_page_go_back_with_it(card: Card) -> None:
    card.library.faults.update(cuMemSetAccess=[1], cuMemUnmap=[1])
    with pytest.raises(px.DriverCallError, match="cuMemSetAccess"):
        empty(card, 4)
    emptied(card)


def test_no_memory_left_says_so(make_card: Callable[..., Card]) -> None:
    card = make_card(memory=2**26)
    x = empty(card, 30)
    with pytest.raises(OutOfMemoryError, match="genuine") as raised:
        empty(card, 40)
    assert raised.value.verdict == "genuine"
    assert reserved(card) == 30 * MIB
    del x, raised
    assert empty(card, 60).size == 60 * MIB
    emptied(card)


def test_a_lost_card_is_left_alone(card: Card) -> None:
    x = empty(card, 3)
    px.synchronize(card.device)
    card.library._break(700, "a kernel")
    with pytest.raises(DeviceLostError):
        px.synchronize(card.device)
    calls = card.library.calls.copy()
    memory = card.opened.virtual_memory()
    assert memory is not None
    memory.unmap(x.buffer.handle, 0, 4 * MIB)
    memory.release(x.buffer.handle)
    with pytest.raises(DeviceLostError):
        memory.reserve(4 * MIB, 2 * MIB)
    with pytest.raises(DeviceLostError):
        memory.map(x.buffer.handle, 0, 2 * MIB)
    assert card.library.calls == calls


def test_closing_gives_everything_back(card: Card) -> None:
    empty(card, 3)
    card.device.close()
    assert card.library.left_behind() == []
    assert card.library.live() == 0


class TestTwoCards:
    """Another card reaches what is behind addresses, also what comes after it first asked."""

    def test_access_is_given(self, make_card: Callable[..., Card]) -> None:
        library = make_card(devices=2).library
        first, second = px.devices("cudafake")
        x = px.arange(MIB, device=first)
        assert px.asnumpy(x.to_device(second))[-1] == MIB - 1
        assert library.access_at(x.buffer.handle + x.buffer.offset) == {0, 1}
        later = px.arange(5 * MIB, device=first)
        assert library.access_at(later.buffer.handle + later.buffer.offset) == {0, 1}
        other = px.arange(5, device=second)
        assert library.access_at(other.buffer.handle) == {1}
        assert library.calls["cuMemcpyPeerAsync"] == 1
        library.faults["cuMemSetAccess"] = [0, 1]  # for the card itself, and for the other one
        last = px.arange(9 * MIB, device=first)
        assert library.access_at(last.buffer.handle + last.buffer.offset + 70 * MIB) == {0}
        assert px.asnumpy(last.to_device(second))[-1] == 9 * MIB - 1

    def test_without_access_the_driver_finds_a_way(self, make_card: Callable[..., Card]) -> None:
        library = make_card(devices=2).library
        first, second = px.devices("cudafake")
        x = px.arange(MIB, device=first)
        px.empty(3, device=second)
        library.faults["cuMemSetAccess"] = [0, 1]  # the first is for the target's own memory
        assert px.asnumpy(x.to_device(second))[-1] == MIB - 1
        assert library.access_at(x.buffer.handle + x.buffer.offset) == {0}
