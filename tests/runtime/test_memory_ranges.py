"""The pool over a device that puts memory behind addresses: it grows in place."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver

MIB = 1 << 20
Make = Callable[..., ReferenceDriver]
STATES = ("allocated", "pending", "free")


@pytest.fixture
def grown(make_driver: Make) -> Iterator[Make]:
    """Make a driver with virtual memory; afterwards every page and address has been given back."""
    made: list[ReferenceDriver] = []

    def make(memory: int = 256 * MIB, **options: object) -> ReferenceDriver:
        made.append(make_driver(memory=memory, page=2 * MIB, **options))
        return made[-1]

    yield make
    gc.collect()  # what raised keeps its arrays
    for driver in made:
        driver.faults.unmap = driver.faults.release = None
        px.synchronize("own:0")
        px.empty_cache("own:0")
        assert driver.used() == px.memory_stats("own:0")["reserved"] == 0
        assert px.memory_stats("own:0")["segments"] == 0
        assert driver.open_devices[0].blocks == {}


def empty(mib: float) -> px.Array:
    return px.empty(int(mib * MIB), dtype=px.uint8, device="own:0")


def stats(driver: ReferenceDriver) -> dict[str, int]:
    """The statistics, which agree with the driver and with one another."""
    found = px.memory_stats("own:0")
    assert found["reserved"] == driver.used()
    assert sum(found[state] for state in STATES) == found["reserved"] <= found["reserved_peak"]
    blocks = px.devices("own")[0].pool.snapshot()
    assert sum(block["size"] for block in blocks) == found["reserved"]
    return found


class TestGrowth:
    def test_a_range_grows_at_its_end(self, grown: Make) -> None:
        driver = grown()
        arrays = [empty(12) for _ in range(10)]
        assert len({x.buffer.handle for x in arrays}) == 1
        assert [x.buffer.offset for x in arrays] == [12 * MIB * n for n in range(10)]
        assert driver.alloc_calls == 0
        found = stats(driver)
        assert found["segments"] == 1
        assert 120 * MIB <= found["reserved"] < 136 * MIB  # with an eighth at a time

    def test_the_free_tail_is_part_of_what_serves_a_request(self, grown: Make) -> None:
        driver = grown()
        kept = empty(9)
        large = empty(21)  # a MiB is there
        assert large.buffer.offset == 9 * MIB
        assert stats(driver)["reserved"] == 30 * MIB
        assert kept.size < large.size

    def test_small_and_large_requests_have_ranges_of_their_own(self, grown: Make) -> None:
        driver = grown()
        small, large = empty(0.5), empty(2)
        assert small.buffer.handle != large.buffer.handle
        assert stats(driver)["reserved"] == 4 * MIB

    def test_each_stream_has_its_own(self, grown: Make) -> None:
        driver = grown(streams=True)
        arrays = []
        for _ in range(2):
            with px.Stream("own:0"):
                arrays.append(px.full(MIB, 3.0, device="own:0"))
        assert len({x.buffer.handle for x in arrays}) == 2
        assert float(px.sum(arrays[0] + arrays[1])) == 6.0 * MIB
        px.synchronize("own:0")
        stats(driver)

    def test_what_fragments_segments_does_not_fragment_ranges(
        self, make_driver: Make, grown: Make
    ) -> None:
        """Of a memory that is full, every other array goes: 185 of 252 MiB, in pieces of 4.5."""
        make_driver("plain", memory=256 * MIB)
        driver = grown()

        def program(name: str, size: int) -> int:
            device = px.devices(name)[0]
            kept, dropped = [], []
            for _ in range(41):
                kept.append(px.empty(3 * MIB // 2, dtype=px.uint8, device=device))
                dropped.append(px.empty(9 * MIB // 2, dtype=px.uint8, device=device))
            del dropped
            return px.empty(size * MIB, dtype=px.uint8, device=device).size + kept[0].size

        with pytest.raises(px.OutOfMemoryError) as raised:
            program("plain", 60)
        assert raised.value.verdict == "fragmented"
        assert program("own", 120) > 120 * MIB
        assert stats(driver)["ooms"] == 0

    def test_arrays_that_grow_do_so_in_place(self, grown: Make) -> None:
        """A quarter more each time: their places come together, and addresses are never used up."""
        driver = grown()
        size, last = 1.5, empty(1)
        while size < 80:
            last = empty(size)
            size *= 1.25
        assert last.size > 60 * MIB
        assert stats(driver)["segments"] <= 2  # one of them for small requests
        assert driver.alloc_calls == 0


class TestGivingBack:
    def test_pages_that_nobody_uses_go_back_from_anywhere(self, grown: Make) -> None:
        driver = grown()
        arrays = [empty(4) for _ in range(8)]
        held = driver.used()
        del arrays[1:7:2]
        assert px.empty_cache("own:0") >= 12 * MIB
        assert stats(driver)["reserved"] <= held - 12 * MIB
        text = px.memory_summary("own:0")
        (line,) = [line for line in text.splitlines() if line.startswith("segment")]
        assert line.split("[")[1] == "#" * 48 + "]"
        again = empty(4)
        assert driver.used() == stats(driver)["reserved"]
        assert again.buffer.handle == arrays[0].buffer.handle

    def test_less_than_a_page_stays(self, grown: Make) -> None:
        driver = grown()
        first, _second, third = empty(1.25), empty(1.25), empty(1.5)
        px.empty_cache("own:0")
        before = driver.used()
        del _second
        assert px.empty_cache("own:0") == 0
        assert stats(driver)["reserved"] == before
        assert stats(driver)["free"] >= MIB
        assert first.size < third.size

    def test_pages_that_two_streams_have_free_go_back(self, grown: Make) -> None:
        driver = grown(streams=True)
        stream = px.Stream("own:0")
        with stream:
            arrays = [px.full(MIB, 1.0, dtype=px.uint8, device="own:0") for _ in range(5)]
        total = [px.sum(x) for x in arrays]
        px.synchronize("own:0")
        arrays.clear()
        del total
        stream.close()
        px.empty_cache("own:0")
        assert driver.used() == 0

    def test_work_that_still_runs_is_waited_for(self, grown: Make) -> None:
        driver = grown(streams=True, delay=0.05)
        x = px.ones(MIB, device="own:0")
        y = px.sum(x + x)
        del x
        px.empty_cache("own:0")
        assert float(y) == 2.0 * MIB
        stats(driver)

    def test_memory_moves_to_where_it_is_needed(self, grown: Make) -> None:
        """Full twice, with arrays of other sizes and on other streams."""
        driver = grown(memory=32 * MIB, streams=True)
        for size in (3, 5, 7, 11, 15, 30):
            with px.Stream("own:0"):
                assert empty(size).size == size * MIB
        assert stats(driver)["ooms"] == 0


class TestLimits:
    def test_a_limit_counts_what_has_memory(self, grown: Make) -> None:
        driver = grown()
        px.set_memory_limit(8 * MIB, "own:0")
        kept = empty(5)
        with pytest.raises(px.OutOfMemoryError) as raised:
            empty(4)
        assert raised.value.verdict == "limit"
        assert stats(driver)["reserved"] <= 8 * MIB
        px.set_memory_limit(None, "own:0")
        assert empty(4).size < kept.size

    def test_less_than_a_page_below_the_limit_comes_from_alloc(self, grown: Make) -> None:
        driver = grown()
        px.set_memory_limit(MIB, "own:0")
        x = empty(0.5)
        assert (driver.map_calls, driver.alloc_calls) == (0, 1)
        assert stats(driver)["reserved"] <= MIB
        del x
        px.set_memory_limit(None, "own:0")

    def test_more_than_the_device_has_is_genuine(self, grown: Make) -> None:
        driver = grown(memory=32 * MIB)
        kept = empty(10)
        for size in (24, 33, 2**20):
            with pytest.raises(px.OutOfMemoryError) as raised:
                empty(size)
            assert raised.value.verdict == "genuine"
        assert kept.size == 10 * MIB
        stats(driver)


class TestFaults:
    def test_without_addresses_segments_serve(self, grown: Make) -> None:
        driver = grown()
        driver.faults.reserve = True
        x = empty(5)
        assert driver.alloc_calls == 1
        driver.faults.reserve = False
        assert empty(20).buffer.handle != x.buffer.handle
        assert stats(driver)["segments"] == 2

    def test_memory_that_does_not_come_leaves_a_hole(self, grown: Make) -> None:
        """The first try is for more than is needed, the second for just that."""
        driver = grown()
        kept = [empty(16) for _ in range(4)]  # from here on 8 MiB are wished at a time
        driver.faults.map = {driver.map_calls + 1}
        kept.append(empty(3))
        assert stats(driver)["reserved"] == 68 * MIB
        assert stats(driver)["ooms"] == 0
        assert driver.alloc_calls == 0

    def test_none_that_comes_is_out_of_memory(self, grown: Make) -> None:
        driver = grown()
        driver.faults.map = set(range(1, 100))
        driver.faults.alloc = set(range(1, 100))
        with pytest.raises(px.OutOfMemoryError):
            empty(3)
        driver.faults.map.clear()
        assert empty(3).size == 3 * MIB
        stats(driver)

    def test_memory_that_does_not_go_stays_in_the_books(self, grown: Make) -> None:
        driver = grown()
        arrays = [empty(4) for _ in range(8)]
        del arrays[::2]
        driver.faults.unmap = px.DriverCallError("no", code=1, name="NO", call="unmap")
        with pytest.raises(px.DriverCallError, match="no"):
            px.empty_cache("own:0")
        found = stats(driver)
        assert found["pending"] >= 16 * MIB
        driver.faults.unmap = None
        assert px.empty_cache("own:0") >= 16 * MIB
        stats(driver)

    def test_addresses_that_do_not_go_stay_in_the_books(self, grown: Make) -> None:
        driver = grown()
        empty(4)
        driver.faults.release = px.DriverCallError("no", code=1, name="NO", call="release")
        with pytest.raises(px.DriverCallError, match="no"):
            px.empty_cache("own:0")
        assert stats(driver)["reserved"] == 0
        assert len(driver.open_devices[0].blocks) == 1
        assert empty(4).size == 4 * MIB  # in the same range
        assert len(driver.open_devices[0].blocks) == 1

    def test_closing_gives_addresses_back(self, make_driver: Make) -> None:
        driver = make_driver(page=2 * MIB)
        empty(4)
        opened = px.devices("own")[0].ensure_open()
        px.devices("own")[0].close()
        assert opened.blocks == {}
        assert driver.used() == 0


def test_threads_grow_and_trim_at_once(grown: Make) -> None:
    driver = grown(memory=64 * MIB, streams=True)
    wrong: list[str] = []

    def work(number: int) -> None:
        stream = px.Stream("own:0")
        with stream:
            for turn in range(25):
                value = number * 100 + turn
                arrays = [
                    px.full(n * MIB // 8, value, dtype=px.int32, device="own:0") for n in (1, 5, 3)
                ]
                del arrays[turn % 3]
                if turn % 7 == number:
                    px.empty_cache("own:0")
                if any((px.asnumpy(x) != value).any() for x in arrays):
                    wrong.append(f"{number} {turn}")
        stream.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    px.synchronize("own:0")
    stats(driver)
