"""The CUDA driver's own logic on a library without a card: memory, copies, streams, launches."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from emulated.workloads import WORKLOADS, differs
from fake_cuda.kit import Card
from fake_cuda.library import FFI
from phalanx.driver import Layout
from phalanx.errors import CompileError, DeviceLostError, LaunchError, OutOfMemoryError
from phalanx.optable import OPS
from phalanx.runtime.staging import LEAST_STAGED, MOST_PAIRS, SLOT_SIZE

pytestmark = pytest.mark.needs_cpu


class TestKernels:
    @pytest.mark.parametrize("text", sorted(WORKLOADS))
    def test_the_bits_are_those_of_the_cpu(self, card: Card, text: str) -> None:
        assert differs(text, "cudafake:0") == ""
        assert card.library.said == ""

    def test_no_op_of_the_table_falls_back(self, card: Card) -> None:
        lacking = [
            (op, signature.dtypes, layout)
            for op, row in OPS.items()
            for signature in row.signatures
            for layout in (Layout.CONTIGUOUS, Layout.STRIDED)
            if not hasattr(card.opened.kernel(op, signature.dtypes, layout), "handle")
        ]
        assert lacking == []

    def test_arguments_of_every_size_arrive(self, card: Card) -> None:
        for dtype in ("bool", "int8", "int16", "float32", "float64", "complex64", "complex128"):
            x = px.asarray(np.arange(5) % 2, dtype=getattr(px, dtype), device=card.device)
            assert px.asnumpy(px.where(x == x, x, x)).tolist() == px.asnumpy(x).tolist()
            if dtype != "bool":
                assert px.asnumpy(x * 3 + 1).tolist() == (px.asnumpy(x) * 3 + 1).tolist()

    def test_options_name_the_architecture_and_forbid_contraction(self, card: Card) -> None:
        card.device.ensure_open()
        assert "--gpu-architecture=sm_90" in card.compiler.options
        assert "-fmad=false" in card.compiler.options

    def test_a_program_is_compiled_once_and_then_read_from_disk(
        self, make_card: Callable[..., Card]
    ) -> None:
        first = make_card()
        px.asnumpy(px.ones(3, device=first.device) + 1)
        compiled = first.compiler.compiled
        px.asnumpy(px.ones(4, device=first.device) + 1)
        assert first.compiler.compiled == compiled > 0
        first.opened.programs._built.clear()
        first.opened.bound.clear()
        px.asnumpy(px.ones(5, device=first.device) + 1)
        assert first.compiler.compiled == compiled
        assert first.opened.programs.loaded > 0

    def test_an_image_that_the_driver_refuses_is_compiled_anew(self, card: Card) -> None:
        px.asnumpy(px.ones(3, device=card.device) + 1)
        compiled = card.compiler.compiled
        card.opened.programs._built.clear()
        card.opened.bound.clear()
        card.library.faults["cuModuleLoadData"] = [200]
        assert px.asnumpy(px.ones(3, device=card.device) + 1).tolist() == [2, 2, 2]
        assert card.compiler.compiled > compiled

    def test_a_new_image_that_the_driver_refuses_is_a_compile_error(self, card: Card) -> None:
        x = px.ones(3, device=card.device)
        px.synchronize(card.device)
        card.library.faults["cuModuleLoadData"] = 218
        with pytest.raises(CompileError, match="the driver refuses the code"):
            px.sqrt(x)


class TestMemory:
    @pytest.mark.parametrize("size", [1, LEAST_STAGED - 1, LEAST_STAGED, 3 * SLOT_SIZE + 7])
    def test_copies_arrive_whole(self, card: Card, size: int) -> None:
        data = np.random.default_rng(1).integers(0, 255, size, np.uint8)
        x = px.asarray(data, device=card.device, copy=True)
        y = x + px.asarray(1, dtype=px.uint8, device=card.device)
        data_later = px.asnumpy(y)
        assert np.array_equal(data_later, data + np.uint8(1))
        assert (card.library.pinned > 0) == (size >= LEAST_STAGED)

    def test_pinned_memory_is_bounded_and_given_back(self, card: Card) -> None:
        data = np.arange(LEAST_STAGED, dtype=np.uint8)
        errors: list[str] = []

        def work() -> None:
            for _ in range(5):
                x = px.asarray(data, device=card.device, copy=True)
                if not np.array_equal(px.asnumpy(x), data):
                    errors.append("differs")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert 0 < card.library.pinned <= 2 * MOST_PAIRS * SLOT_SIZE
        px.empty_cache(card.device)
        card.opened.trim()
        assert card.library.pinned == 0

    def test_without_pinned_memory_copies_go_as_they_are(self, card: Card) -> None:
        card.device.ensure_open()
        card.library.faults["cuMemHostAlloc"] = [0, 2, 2]
        data = np.arange(2 * LEAST_STAGED, dtype=np.uint8)
        for _ in range(3):
            assert np.array_equal(px.asnumpy(px.asarray(data, device=card.device)), data)

    def test_out_of_memory_says_so_and_nothing_is_lost(
        self, make_card: Callable[..., Card]
    ) -> None:
        card = make_card(memory=2**26)
        x = px.ones(1000, device=card.device)
        with pytest.raises(OutOfMemoryError, match="cudafake:0"):
            px.empty(2**27, dtype=px.uint8, device=card.device)
        assert float(px.sum(x)) == 1000

    def test_memory_goes_back_at_the_end(self, card: Card) -> None:
        x = px.ones(10**6, device=card.device)
        px.synchronize(card.device)
        assert card.library.live() > 0
        del x
        px.empty_cache(card.device)
        assert card.library.live() == 0

    def test_memory_info_is_the_drivers(self, card: Card) -> None:
        free, total = card.opened.memory_info()
        assert 0 < free <= total == 2**30


class TestStreams:
    def test_streams_are_in_order_where_they_share_arrays(self, card: Card) -> None:
        first, second = px.Stream(card.device), px.Stream(card.device, priority=-1)
        x = px.asarray(np.arange(1000.0), device=card.device)
        for _ in range(5):
            with first:
                y = x + 1
            with second:
                x = y * 2
        want = np.arange(1000.0)
        for _ in range(5):
            want = (want + 1) * 2
        assert np.array_equal(px.asnumpy(x), want)

    def test_threads_with_streams_of_their_own(self, card: Card) -> None:
        errors: list[str] = []
        shared = px.asarray(np.arange(300.0), device=card.device)

        def work(number: int) -> None:
            stream = px.Stream(card.device)
            with stream:
                for turn in range(20):
                    y = shared * number + turn
                    if not np.array_equal(px.asnumpy(y), np.arange(300.0) * number + turn):
                        errors.append(f"{number} {turn}")
            stream.close()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    def test_somebody_elses_stream_is_used_and_never_destroyed(self, card: Card) -> None:
        raw = card.opened.context.get("cuStreamCreateWithPriority", "CUstream", 1, 0)
        stream = px.Stream.from_handle(card.device, int(FFI.cast("uintptr_t", raw)))
        with stream:
            x = px.ones(10, device=card.device) + 1
        stream.close()
        assert card.library.calls["cuStreamDestroy_v2"] == 0
        assert px.asnumpy(x).tolist() == [2.0] * 10

    def test_events_are_timed(self, card: Card) -> None:
        stream = px.Stream(card.device)
        with stream:
            begin = stream.record()
            px.ones(10, device=card.device) + 1
            end = stream.record()
        end.synchronize()
        assert begin.elapsed_time(end) > 0

    def test_a_wait_with_a_limit_ends(self, card: Card) -> None:
        stream = px.Stream(card.device)
        with stream:
            for _ in range(3):
                px.ones(10, device=card.device)
        card.library.faults["cuStreamQuery"] = 600
        with pytest.raises(TimeoutError):
            stream.synchronize(timeout=0.01)
        card.library.faults.clear()
        stream.synchronize()

    def test_a_wait_for_the_device_is_for_all_its_streams(self, card: Card) -> None:
        opened = card.device.ensure_open()
        streams = [px.Stream(card.device) for _ in range(2)]
        for limit in (60.0, None):
            for stream in streams:
                with stream:
                    px.ones(10, device=card.device) + 1
            opened.synchronize(limit)
            assert all(opened.stream_query(stream.handle) for stream in streams)
        streams[1].close()
        with streams[0]:
            px.ones(10, device=card.device) + 1
        card.library.faults["cuEventQuery"] = 600
        with pytest.raises(TimeoutError):
            opened.synchronize(0.01)
        card.library.faults.clear()
        opened.synchronize(60.0)

    def test_a_stream_that_is_collected_during_such_a_wait_goes_behind_it(
        self, card: Card, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = card.device.ensure_open()
        handles = [opened.stream_create(0) for _ in range(3)]
        record, collected = type(opened).event_record, []

        def and_collect(self: object, event: object, queue: object) -> None:
            if not collected:
                collected.extend(handles)
                for handle in handles:
                    opened.stream_destroy(handle)
            record(self, event, queue)

        monkeypatch.setattr(type(opened), "event_record", and_collect)
        before = opened.streams - set(handles)
        opened.synchronize(60.0)
        assert collected == handles
        assert opened.streams == before
        assert card.library.said == ""

    def test_another_context_of_the_thread_is_left_alone(self, card: Card) -> None:
        card.device.ensure_open()
        other = FFI.cast("CUcontext", 77)
        card.library.cuCtxPushCurrent_v2(other)
        assert float(px.sum(px.ones(10, device=card.device))) == 10
        now = FFI.new("CUcontext *")
        card.library.cuCtxGetCurrent(now)
        assert now[0] == other
        card.library.cuCtxPopCurrent_v2(now)


class TestFaults:
    def test_a_refused_launch_is_named_and_nothing_is_lost(self, card: Card) -> None:
        x = px.ones(10, device=card.device)
        y = x + 1
        card.library.faults["cuLaunchKernel"] = [701]
        with pytest.raises(LaunchError, match=r"add\(float64, float64, float64\).*cuLaunchKernel"):
            x + 1
        assert px.asnumpy(y).tolist() == px.asnumpy(x + 1).tolist()

    def test_an_illegal_address_is_told_once_with_the_launch(self, card: Card) -> None:
        x = px.ones(10, device=card.device)
        px.synchronize(card.device)
        px.sqrt(x)
        card.library._break(700, "a kernel")
        with pytest.raises(DeviceLostError, match=r"launch of sqrt\(float64, float64\).*ILLEGAL"):
            px.synchronize(card.device)
        with pytest.raises(DeviceLostError, match="was lost before"):
            x + 1

    @pytest.mark.parametrize(
        "call",
        ["cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuEventCreate", "cuEventRecord",
         "cuStreamWaitEvent", "cuStreamCreateWithPriority", "cuCtxPushCurrent_v2",
         "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuStreamSynchronize", "cuEventQuery",
         "cuStreamQuery", "cuMemFree_v2", "cuMemHostAlloc", "cuEventSynchronize",
         "cuModuleGetFunction", "cuFuncGetAttribute", "cuStreamDestroy_v2", "cuMemGetInfo_v2"],
    )  # fmt: skip
    @pytest.mark.parametrize("code", [1, 400, 999])
    def test_each_call_may_fail_and_the_process_goes_on(
        self, make_card: Callable[..., Card], call: str, code: int
    ) -> None:
        card = make_card()
        base = px.asarray(np.arange(10.0), device=card.device)
        px.synchronize(card.device)
        card.library.faults[call] = [code]
        told: list[str] = []
        for _ in range(3):
            try:
                stream = px.Stream(card.device)
                with stream:
                    y = px.asarray(base + 1, copy=True)
                got = px.asnumpy(px.asarray(np.arange(5.0), device=card.device))
                assert got.tolist() == [0, 1, 2, 3, 4]
                assert px.asnumpy(y).tolist() == (np.arange(10.0) + 1).tolist()
                stream.close()
                px.empty_cache(card.device)
            except px.PhalanxError as error:
                told.append(str(error))
        assert all("CUDA" in text or "lost" in text for text in told), told
        if code != 999:
            assert len(told) <= 1
            assert float(px.sum(base)) == 45


class TestTwoCards:
    """Copies from card to card."""

    @pytest.fixture
    def cards(self, make_card: Callable[..., Card]) -> tuple[Card, list[px.Device]]:
        """Two cards of one library."""
        card = make_card(devices=2)
        return card, px.devices("cudafake")

    def test_a_copy_goes_straight(self, cards: tuple[Card, list[px.Device]]) -> None:
        card, (first, second) = cards
        data = np.arange(1000, dtype=np.float32).reshape(20, 50)
        x = px.asarray(data, device=first)
        second.ensure_open()
        before = card.library.calls["cuMemcpyDtoHAsync_v2"]
        y = (x.T + 0).to_device(second)
        assert y.device is second
        assert card.library.calls["cuMemcpyDtoHAsync_v2"] == before
        assert card.library.calls["cuMemcpyPeerAsync"] == 1
        assert len(card.library.peers) == 1
        assert (px.asnumpy(y) == data.T).all()
        assert (px.asnumpy((y + 1).to_device(first)) == data.T + 1).all()
        assert len(card.library.peers) == 2

    def test_on_a_stream(self, cards: tuple[Card, list[px.Device]]) -> None:
        _, (first, second) = cards
        with px.Stream(first):
            x = px.arange(5000, device=first) * 3
        stream = px.Stream(second)
        y = x.to_device(second, stream=stream)
        assert px.asnumpy(y).tolist() == list(range(0, 15000, 3))

    def test_without_a_straight_way_the_driver_finds_one(
        self, cards: tuple[Card, list[px.Device]]
    ) -> None:
        card, (first, second) = cards
        card.library.faults["cuCtxEnablePeerAccess"] = 217  # CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
        x = px.asarray([1, 2, 3], device=first)
        assert px.asnumpy(x.to_device(second)).tolist() == [1, 2, 3]
        assert not card.library.peers

    def test_a_failed_copy_is_told(self, cards: tuple[Card, list[px.Device]]) -> None:
        card, (first, second) = cards
        x = px.asarray([1, 2, 3], device=first)
        card.library.faults["cuMemcpyPeerAsync"] = [1]
        with pytest.raises(px.errors.DeviceError, match="copy of 24 bytes on cudafake:1"):
            x.to_device(second)
        assert px.asnumpy(x.to_device(second)).tolist() == [1, 2, 3]
