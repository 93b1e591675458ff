"""The caching pool behind arrays: reuse, statistics, limits and failures."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import pairwise

import phalanx as px
import pytest
from phalanx.runtime.memory import format_size
from phalanx.testing import ReferenceDevice, ReferenceDriver

MIB = 1 << 20
Make = Callable[..., ReferenceDriver]


def place(x: px.Array) -> tuple[int, int]:
    return x.buffer.handle, x.buffer.offset


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


def own(index: int = 0) -> px.Device:
    return px.devices("own")[index]


class TestReuse:
    def test_freed_block_serves_the_next_request(self, device: px.Device) -> None:
        x = px.empty(1000)
        before = place(x)
        del x
        assert place(px.empty(1000)) == before

    def test_live_blocks_do_not_overlap(self, device: px.Device) -> None:
        arrays = [px.full(n, n, dtype=px.int32) for n in range(1, 200)]
        del arrays[::3]
        arrays += [px.full(n, -n, dtype=px.int32) for n in range(1, 100)]
        spans = sorted((*place(x), x.nbytes) for x in arrays)
        for (handle, offset, size), (next_handle, next_offset, _) in pairwise(spans):
            assert handle != next_handle or offset + size <= next_offset
        assert all(set(values(x)) == {values(x)[0]} for x in arrays)

    def test_memory_of_a_view_lives_as_long_as_the_view(self, device: px.Device) -> None:
        x = px.arange(1000)
        view = x[10:20]
        before = place(x)
        del x
        assert place(px.empty(1000)) != before
        assert values(view) == list(range(10, 20))

    def test_block_is_not_reused_on_another_stream_before_the_work_is_done(
        self, asynchronous: px.Device
    ) -> None:
        first, second = px.Stream(), px.Stream()
        with first:
            x = px.zeros(5000)
        px.synchronize()
        before = place(x)
        with asynchronous.driver.paused(second):
            with second:
                total = px.sum(x + 1)
            del x
            with first:
                other = px.full(5000, 7.0)
            assert place(other) != before, "the block was handed out while a stream still read it"
        assert float(total) == 5000.0
        px.synchronize()
        with first:
            px.empty_cache()  # asks the streams how far they are, as a full pool would
            spans = [(*place(a), a.nbytes) for a in [px.empty(5000) for _ in range(60)]]
            handle, offset = before
            assert any(h == handle and o <= offset < o + size for h, o, size in spans)

    def test_block_of_the_own_stream_is_reused_without_waiting(
        self, asynchronous: px.Device
    ) -> None:
        """In order on one stream: the next use of the memory runs behind the last."""
        stream = px.Stream()
        with asynchronous.driver.paused(stream), stream:
            x = px.full(3000, 2.0)
            total = px.sum(x)
            before = place(x)
            del x
            y = px.full(3000, 3.0)
            assert place(y) == before
        assert float(total) == 6000.0
        assert float(px.sum(y)) == 9000.0

    def test_block_written_by_another_stream_waits_for_it(self, asynchronous: px.Device) -> None:
        x = px.zeros(4000)
        stream = px.Stream()
        px.synchronize()
        before = place(x)
        with asynchronous.driver.paused(stream):
            with stream:
                x += 1
            del x
            assert before not in [place(a) for a in [px.empty(4000) for _ in range(10)]]

    def test_handle_may_be_zero(self, make_driver: Make) -> None:
        make_driver()
        x = px.arange(5, device="own:0")
        assert x.buffer.handle == 0
        assert values(x + x) == [0, 2, 4, 6, 8]


class TestStatistics:
    def test_counts_and_peaks(self, make_driver: Make) -> None:
        make_driver()
        device = own()
        x = px.empty(1000, dtype=px.uint8, device=device)
        y = px.empty(500, dtype=px.uint8, device=device)
        stats = px.memory_stats(device)
        assert stats["requested"] == stats["requested_peak"] == 1500
        assert 1500 <= stats["allocated"] <= 1500 + 2 * 64
        assert stats["reserved"] >= stats["allocated"]
        assert (stats["allocs"], stats["frees"]) == (2, 0)
        assert stats["free"] == stats["reserved"] - stats["allocated"]
        assert stats["largest_free"] == stats["free"]
        del x
        stats = px.memory_stats(device)
        assert (stats["requested"], stats["requested_peak"], stats["frees"]) == (500, 1500, 1)
        px.reset_peak_memory_stats(device)
        assert px.memory_stats(device)["requested_peak"] == 500
        assert y.size == 500

    def test_fragmentation(self, make_driver: Make) -> None:
        make_driver()
        arrays = [px.empty(64 * 1024, dtype=px.uint8, device="own:0") for _ in range(16)]
        px.empty_cache("own:0")
        del arrays[::2]
        stats = px.memory_stats("own:0")
        assert stats["fragmentation"] == pytest.approx(1 - stats["largest_free"] / stats["free"])
        assert stats["fragmentation"] > 0.2

    def test_pending_bytes(self, asynchronous: px.Device) -> None:
        px.synchronize()
        stream = px.Stream()
        x = px.zeros(1 << 14)
        with asynchronous.driver.paused(stream):
            with stream:
                y = x + 1
            before = px.memory_stats()["pending"]
            del x
            assert px.memory_stats()["pending"] - before == 8 << 14
        assert float(y[0]) == 1.0

    def test_summary_shows_state_and_map(self, make_driver: Make) -> None:
        make_driver()
        device = own()
        kept = px.empty(3 * MIB // 8, device=device)
        px.set_memory_limit(64 * MIB, device)
        text = px.memory_summary(device)
        assert "own:0" in text
        assert "Reference device 0" in text
        assert "limit 64.0 MiB" in text
        assert "3.0 MiB" in text
        rows = [line for line in text.splitlines() if line.startswith("segment")]
        assert len(rows) == 1
        assert "#" in rows[0]
        del kept
        assert "#" not in px.memory_summary(device).splitlines()[-1]

    def test_summary_of_many_segments_is_short(self, make_driver: Make) -> None:
        make_driver()
        arrays = [px.empty(17 * MIB, dtype=px.uint8, device="own:0") for _ in range(14)]
        text = px.memory_summary("own:0")
        assert "limit none" in text
        assert len([line for line in text.splitlines() if line.startswith("segment")]) == 12
        assert "and 2 more segments" in text
        assert len(arrays) == 14

    def test_default_device_is_the_current_one(self, fake: px.Device) -> None:
        x = px.empty(777, dtype=px.uint8)
        assert px.memory_stats()["requested"] >= 777
        assert "fake:0" in px.memory_summary()
        assert x.nbytes == 777

    @pytest.mark.parametrize(
        ("size", "text"),
        [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
            (1 << 52, "4096.0 TiB"),
        ],
    )
    def test_format_size(self, size: int, text: str) -> None:
        assert format_size(size) == text


class TestEmptyCache:
    def test_gives_unused_segments_back(self, make_driver: Make) -> None:
        driver = make_driver()
        x = px.empty(3 * MIB, dtype=px.uint8, device="own:0")
        y = px.empty(100, dtype=px.uint8, device="own:0")
        held = driver.used()
        del x
        assert px.empty_cache("own:0") >= 3 * MIB
        assert driver.used() == px.memory_stats("own:0")["reserved"] < held
        del y
        px.empty_cache("own:0")
        assert driver.used() == 0
        assert px.empty_cache("own:0") == 0

    def test_waits_for_running_work(self, make_driver: Make) -> None:
        """A segment whose blocks are free may still be in use on the device."""
        driver = make_driver(streams=True, delay=0.05)
        x = px.ones(MIB, device="own:0")
        y = px.sum(x + x)
        del x
        px.empty_cache("own:0")
        assert float(y) == 2.0 * MIB
        assert driver.used() > 0


class TestEndedStreams:
    def test_their_memory_serves_the_next(self, make_driver: Make) -> None:
        make_driver(streams=True)
        x = px.ones(100, device="own:0")
        for number in range(40):
            stream = px.Stream("own:0")
            with stream:
                y = x * 2
            stream.synchronize()
            if number % 2:
                stream.close()
            del stream
            assert px.memory_stats("own:0")["segments"] <= 3, number
        assert y.tolist() == [2.0] * 100

    def test_an_array_that_all_of_them_read_forgets_them(self, make_driver: Make) -> None:
        make_driver(streams=True)
        x = px.ones(100, device="own:0")

        def read() -> None:
            with px.Stream("own:0") as stream:
                x * 2
            stream.synchronize()

        for _ in range(20):
            read()
        before = sys.getallocatedblocks()
        for _ in range(200):
            read()
        assert sys.getallocatedblocks() - before < 1000  # three objects and more for each one kept
        assert x.tolist() == [1.0] * 100

    def test_several_at_once_need_as_many_segments(self, make_driver: Make) -> None:
        make_driver(streams=True)
        x = px.ones(100, device="own:0")
        for _ in range(10):
            streams = [px.Stream("own:0") for _ in range(4)]
            results = []
            for stream in streams:
                with stream:
                    results.append(x + x)
            assert [float(px.sum(y)) for y in results] == [200.0] * 4
            for stream in streams:
                stream.close()
            del results
        assert px.memory_stats("own:0")["segments"] <= 7


class TestOutOfMemory:
    def test_genuine(self, make_driver: Make) -> None:
        make_driver(memory=16 * MIB)
        kept = px.empty(10 * MIB, dtype=px.uint8, device="own:0")
        with pytest.raises(px.OutOfMemoryError) as caught:
            px.empty(9 * MIB, dtype=px.uint8, device="own:0")
        error = caught.value
        assert (error.verdict, error.size) == ("genuine", 9 * MIB)
        text = str(error)
        assert "own:0 cannot allocate 9.0 MiB" in text
        assert "smaller batches" in text
        assert "segment" in text
        assert px.memory_stats("own:0")["ooms"] == 1
        assert isinstance(error, MemoryError)
        assert kept.nbytes == 10 * MIB

    def test_limit(self, make_driver: Make) -> None:
        make_driver()
        px.set_memory_limit(8 * MIB, "own:0")
        kept = px.empty(5 * MIB, dtype=px.uint8, device="own:0")
        with pytest.raises(
            px.OutOfMemoryError, match=r"limit of 8\.0 MiB.*set_memory_limit"
        ) as caught:
            px.empty(5 * MIB, dtype=px.uint8, device="own:0")
        assert caught.value.verdict == "limit"
        px.set_memory_limit(None, "own:0")
        assert px.empty(5 * MIB, dtype=px.uint8, device="own:0").size == kept.size

    def test_fragmented(self, make_driver: Make) -> None:
        make_driver(memory=16 * MIB)
        arrays = [px.empty(MIB, dtype=px.uint8, device="own:0") for _ in range(16)]
        del arrays[::2]
        with pytest.raises(px.OutOfMemoryError, match="not in one piece") as caught:
            px.empty(4 * MIB, dtype=px.uint8, device="own:0")
        assert caught.value.verdict == "fragmented"

    def test_foreign(self, make_driver: Make) -> None:
        driver = make_driver(memory=16 * MIB)
        driver.foreign = 14 * MIB
        with pytest.raises(px.OutOfMemoryError, match="other processes") as caught:
            px.empty(4 * MIB, dtype=px.uint8, device="own:0")
        assert caught.value.verdict == "foreign"

    def test_pending_verdict(self, make_driver: Make) -> None:
        from phalanx.runtime.memory import out_of_memory

        driver = make_driver(streams=True)
        stream = px.Stream("own:0")
        x = px.ones(MIB, device="own:0")
        px.synchronize("own:0")
        with driver.paused(stream):
            with stream:
                y = px.sum(x)
            del x
            error = out_of_memory(own(), MIB, "")
            assert error.verdict == "pending"
            assert "synchronize" in str(error)
        assert float(y) == MIB

    def test_pending_memory_is_waited_for_before_giving_up(self, make_driver: Make) -> None:
        driver = make_driver(streams=True, memory=16 * MIB)
        stream = px.Stream("own:0")
        x = px.ones(MIB, device="own:0")  # 8 MiB
        px.synchronize("own:0")
        with driver.paused(stream):
            with stream:
                y = px.max(x)
            del x
            threading.Timer(0.1, stream.handle.gate.set).start()
            z = px.ones(MIB + MIB // 2, device="own:0")  # 12 MiB: only after the first 8 came back
        assert float(y) == float(z[0]) == 1.0

    def test_cache_is_trimmed_before_giving_up(self, make_driver: Make) -> None:
        make_driver(memory=16 * MIB)
        for size in (3, 5, 7, 9, 11, 13, 15):
            assert px.empty(size * MIB, dtype=px.uint8, device="own:0").size == size * MIB
        assert px.memory_stats("own:0")["ooms"] == 0

    def test_memory_that_another_stream_has_free_is_taken_over(self, make_driver: Make) -> None:
        make_driver(streams=True, memory=16 * MIB)
        with px.Stream("own:0"):
            x = px.empty(12 * MIB, dtype=px.uint8, device="own:0")
            del x
        assert px.empty(12 * MIB, dtype=px.uint8, device="own:0").size == 12 * MIB

    def test_driver_failure_once_is_survived(self, make_driver: Make) -> None:
        driver = make_driver()
        driver.faults.alloc = {1}
        assert px.empty(1000, device="own:0").size == 1000
        assert driver.alloc_calls == 2

    def test_failure_leaves_everything_usable(self, make_driver: Make) -> None:
        make_driver(memory=4 * MIB)
        x = px.arange(100, device="own:0")
        for _ in range(3):
            with pytest.raises(px.OutOfMemoryError):
                px.empty(64 * MIB, device="own:0")
        assert values(x + x) == [2 * i for i in range(100)]

    @pytest.mark.parametrize("size", [0, -1])
    def test_limit_must_be_positive(self, fake: px.Device, size: int) -> None:
        with pytest.raises(ValueError, match="positive"):
            px.set_memory_limit(size)

    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("1GB", 10**9),
            ("1.5 GiB", 3 * 2**29),
            ("512 MiB", 512 * MIB),
            ("100", 100),
            ("64kib", 2**16),
            (" 7 b ", 7),
        ],
    )
    def test_limit_as_text(self, fake: px.Device, text: str, size: int) -> None:
        px.set_memory_limit(text)
        try:
            assert px.memory_stats()["limit"] == size
        finally:
            px.set_memory_limit(None)

    @pytest.mark.parametrize("text", ["", "GB", "1 GX", "1ib", "-1GB", "0", "1e9", "1,5GB"])
    def test_limit_that_is_no_size(self, fake: px.Device, text: str) -> None:
        with pytest.raises(ValueError, match=r"unit such as|positive"):
            px.set_memory_limit(text)


class TestAbsurdRequests:
    @pytest.mark.parametrize("shape", [-1, (2, -3), (-1, 0)])
    def test_negative_extent(self, device: px.Device, shape: int | tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="negative extent"):
            px.empty(shape)

    @pytest.mark.parametrize(
        "shape",
        [2**58, 2**59, 2**62, 2**63, 2**200, (2**32, 2**32), (2**40, 2**40, 2**40), (3, 2**62)],
    )
    def test_more_than_can_be_addressed(
        self, device: px.Device, shape: int | tuple[int, ...]
    ) -> None:
        with pytest.raises(px.OutOfMemoryError, match=device.name):
            px.empty(shape, dtype=px.complex128)

    def test_more_than_the_device_has(self, make_driver: Make) -> None:
        make_driver()
        with pytest.raises(px.OutOfMemoryError, match=r"TiB.*genuine"):
            px.zeros(2**45, device="own:0")

    def test_overflow_in_broadcast_views(self, device: px.Device) -> None:
        """The number of elements of a view is a product that 64 bits must hold."""
        x = px.ones(1)
        with pytest.raises(px.OutOfMemoryError, match="more elements"):
            px.broadcast_to(x, (2**40, 2**40))

    def test_overflow_in_the_shape_of_a_result(self, device: px.Device) -> None:
        rows = px.broadcast_to(px.ones(1), (2**40, 1))
        with pytest.raises(px.OutOfMemoryError, match=r"more elements"):
            rows + px.broadcast_to(px.ones(1), (2**40,))

    @pytest.mark.parametrize(
        "make",
        [
            lambda x: px.tile(x, (2**40, 2**40)),
            lambda x: px.repeat(x, 2**61),
            lambda x: px.arange(2**61),
            lambda x: px.eye(2**35),
            lambda x: px.linspace(0, 1, 2**61),
        ],
    )
    def test_overflow_in_other_functions(
        self, fake: px.Device, make: Callable[[px.Array], px.Array]
    ) -> None:
        with pytest.raises(px.OutOfMemoryError):
            make(px.ones(1))

    def test_extent_zero_beside_large_ones(self, fake: px.Device) -> None:
        x = px.broadcast_to(px.ones((0, 1)), (0, 2**62))
        assert x.size == 0

    @pytest.mark.parametrize("size", [-1, -(2**70)])
    def test_negative_size_of_a_buffer(self, fake: px.Device, size: int) -> None:
        with pytest.raises(ValueError, match="fake:0"):
            fake.pool.allocate(size, stream=px.current_stream())

    @pytest.mark.parametrize("size", [2**47 + 1, 2**63, 2**64 - 1, 2**64, 2**100])
    def test_absurd_size_of_a_buffer(self, fake: px.Device, size: int) -> None:
        with pytest.raises(px.OutOfMemoryError, match="fake:0"):
            fake.pool.allocate(size, stream=px.current_stream())

    def test_size_zero_is_legal(self, device: px.Device) -> None:
        buffer = device.pool.allocate(0, stream=px.current_stream())
        assert buffer.size == 0
        assert px.empty((0, 5)).nbytes == 0
        assert "0 bytes" in repr(buffer)


def test_a_driver_that_does_not_tell_its_memory(
    fake: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceDevice, "memory_info", lambda _: (0, 0))
    with pytest.raises(px.OutOfMemoryError) as caught:
        px.empty(2**50, dtype="uint8", device=fake)
    assert "device: its driver does not tell how much is free; pool: " in str(caught.value)
