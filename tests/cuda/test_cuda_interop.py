"""Sharing memory and streams with CuPy and PyTorch, as their protocols have it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import phalanx as px
import pytest
from fake_cuda.kit import Card
from fake_cuda.library import FFI

pytestmark = pytest.mark.needs_cpu


def new_stream(card: Card) -> int:
    """Somebody else's stream."""
    raw = card.opened.context.get("cuStreamCreateWithPriority", "CUstream", 1, 0)
    return int(FFI.cast("uintptr_t", raw))


def read(card: Card, pointer: int, count: int, stream: int) -> np.ndarray[Any, Any]:
    """What a stream of somebody else's finds in memory; nobody waits for another stream."""
    data = np.zeros(count)
    context, raw = card.opened.context, FFI.cast("CUstream", stream)
    where = FFI.cast("void *", data.ctypes.data)
    context.call("cuMemcpyDtoHAsync_v2", where, pointer, data.nbytes, raw)
    context.call("cuStreamSynchronize", raw)
    return data


class Producer:
    """Another library's array: its memory gets its values in a stream of its own."""

    def __init__(self, card: Card, data: np.ndarray[Any, Any]) -> None:
        self.card = card
        self.data = data
        self.inner = px.empty(data.shape, dtype=px.float64, device=card.device)
        px.synchronize(card.device)
        self.stream = new_stream(card)
        self.asked: list[Any] = []
        where = FFI.cast("void *", data.ctypes.data)
        address = self.inner.buffer.handle + self.inner.offset
        raw = FFI.cast("CUstream", self.stream)
        card.opened.context.call("cuMemcpyHtoDAsync_v2", address, where, data.nbytes, raw)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, *, stream: int, **options: Any) -> Any:
        self.asked.append(stream)
        context = self.card.opened.context
        event = context.get("cuEventCreate", "CUevent", 0)
        context.call("cuEventRecord", event, FFI.cast("CUstream", self.stream))
        context.call("cuStreamWaitEvent", FFI.cast("CUstream", stream), event, 0)
        return self.inner.__dlpack__(stream=-1, **options)


class TestExport:
    def test_the_consumers_stream_waits_for_the_work(self, card: Card) -> None:
        x = px.asarray(np.arange(5.0), device=card.device) * 2
        stream = new_stream(card)
        x.__dlpack__(stream=stream)
        assert read(card, x.buffer.handle + x.offset, 5, stream).tolist() == [0, 2, 4, 6, 8]

    def test_without_a_wait_it_would_read_too_early(self, card: Card) -> None:
        x = px.asarray(np.arange(5.0), device=card.device) * 2
        stream = new_stream(card)
        x.__dlpack__(stream=-1)
        assert read(card, x.buffer.handle + x.offset, 5, stream).tolist() != [0, 2, 4, 6, 8]

    def test_the_host_does_not_wait(self, card: Card) -> None:
        x = px.asarray(np.arange(5.0), device=card.device) * 2
        waits = card.library.calls["cuStreamSynchronize"] + card.library.calls["cuEventSynchronize"]
        x.__dlpack__(stream=new_stream(card))
        x.__dlpack__()
        after = card.library.calls["cuStreamSynchronize"] + card.library.calls["cuEventSynchronize"]
        assert after == waits

    def test_the_offset_is_in_the_address(self, card: Card) -> None:
        x = px.asarray(np.arange(5.0), device=card.device)[2:]
        y = px.from_dlpack(x)
        assert px.asnumpy(y).tolist() == [2, 3, 4]
        assert y.buffer.handle + y.offset == x.buffer.handle + x.offset

    @pytest.mark.parametrize(
        ("stream", "error", "text"),
        [
            (0, ValueError, "stream 0 is none"),
            (-2, ValueError, "stream -2"),
            ("s", TypeError, "'s'"),
        ],
    )
    def test_no_stream(self, card: Card, stream: Any, error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=text):
            px.ones(3, device=card.device).__dlpack__(stream=stream)

    def test_the_cuda_array_interface(self, card: Card) -> None:
        x = px.asarray(np.arange(6.0).reshape(2, 3), device=card.device)[:, 1:]
        told = x.__cuda_array_interface__
        assert (told["version"], told["shape"], told["typestr"]) == (3, (2, 2), "<f8")
        assert told["strides"] == (24, 8)
        assert told["data"] == (x.buffer.handle + x.offset, False)
        assert read(card, told["data"][0], 2, told["stream"]).tolist() == [1, 2]

    def test_on_other_devices_there_is_no_such_interface(self) -> None:
        assert not hasattr(px.ones(3, device="cpu:0"), "__cuda_array_interface__")

    def test_bfloat16_has_none(self, card: Card) -> None:
        x = px.ones(3, dtype=px.bfloat16, device=card.device)
        assert not hasattr(x, "__cuda_array_interface__")


class TestImport:
    def test_the_producer_is_told_our_stream(self, card: Card) -> None:
        producer = Producer(card, np.arange(4.0))
        stream = px.Stream(card.device)
        with px.device(card.device), stream:
            x = px.from_dlpack(producer)
            got = px.asnumpy(x + 1)
        assert producer.asked == [int(FFI.cast("uintptr_t", stream.handle.raw))]
        assert got.tolist() == [1, 2, 3, 4]

    def test_a_producer_that_copies_to_the_host_is_told_no_stream(self, card: Card) -> None:
        class Copying:
            def __init__(self) -> None:
                self.wishes: list[dict[str, Any]] = []

            def __dlpack_device__(self) -> tuple[int, int]:
                return card.device.info.dlpack_device or (0, 0)

            def __dlpack__(self, *, dl_device: tuple[int, int], **wish: Any) -> Any:
                self.wishes.append(wish)
                return np.arange(3.0).__dlpack__(dl_device=dl_device, **wish)

        far = Copying()
        assert px.asnumpy(px.from_dlpack(far, device="cpu:0")).tolist() == [0, 1, 2]
        assert "stream" not in far.wishes[0]

    def test_our_other_streams_wait_too(self, card: Card) -> None:
        producer = Producer(card, np.arange(4.0))
        first, second = px.Stream(card.device), px.Stream(card.device)
        with px.device(card.device), first:
            x = px.from_dlpack(producer)
        with second:
            y = x + 1
        second.synchronize()
        data = np.zeros(4)
        ctypes.memmove(data.ctypes.data, y.buffer.handle + y.offset, data.nbytes)
        assert data.tolist() == [1, 2, 3, 4]

    def test_memory_is_shared_and_kept(self, card: Card) -> None:
        x = px.ones(3, device=card.device)
        y = px.from_dlpack(x)
        y[0] = 7.0
        assert px.asnumpy(x).tolist() == [7, 1, 1]
        del x
        assert px.asnumpy(y).tolist() == [7, 1, 1]

    def test_to_the_host_and_back(self, card: Card) -> None:
        x = px.asarray(np.arange(3.0), device=card.device)
        assert px.asnumpy(px.from_dlpack(x, device="cpu:0")).tolist() == [0, 1, 2]
        assert np.from_dlpack(px.from_dlpack(x, device="cpu:0")).tolist() == [0, 1, 2]
