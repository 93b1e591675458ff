"""Giving memory back is safe from anywhere: finalisers, other threads, the collector, hooks."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver
from plugin_kit import run_python

Make = Callable[..., ReferenceDriver]


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


class TestRelease:
    """Giving memory back is safe from anywhere."""

    def test_from_a_finaliser(self, device: px.Device) -> None:
        class Owner:
            def __init__(self) -> None:
                self.array = px.ones(5000)

        before = px.memory_stats()["requested"]
        owner = Owner()
        weakref.finalize(owner, lambda array: None, owner.array[:3])
        del owner
        gc.collect()
        assert px.memory_stats()["requested"] == before

    def test_from_a_reference_cycle(self, device: px.Device) -> None:
        class Node:
            pass

        gc.collect()
        before = px.memory_stats()["requested"]
        for _ in range(50):
            a, b = Node(), Node()
            a.other, b.other, a.array = b, a, px.ones(1000)
        del a, b
        gc.collect()
        assert px.memory_stats()["requested"] == before

    def test_during_collection_inside_an_allocation(self, fake: px.Device) -> None:
        """The collector may run while the pool is at work on this thread."""

        class Node:
            pass

        before = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for i in range(300):
                node = Node()
                node.me, node.array = node, px.full(i % 50 + 1, i)
        finally:
            gc.set_threshold(*before)
        del node
        gc.collect()
        assert values(px.ones(3)) == [1.0] * 3

    def test_from_other_threads(self, device: px.Device) -> None:
        px.synchronize()
        before = px.memory_stats()["requested"]
        shared: list[list[px.Array]] = [[px.full(i + 1, i) for i in range(200)] for _ in range(8)]

        def drop(mine: list[px.Array]) -> None:
            while mine:
                x = mine.pop()
                assert float(x[0]) == len(mine)
                del x
                px.empty(len(mine) + 1, device=device)

        threads = [threading.Thread(target=drop, args=(mine,)) for mine in shared]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert all(not mine for mine in shared)
        px.synchronize()
        assert px.memory_stats()["requested"] == before

    def test_after_the_driver_is_gone(self, make_driver: Make) -> None:
        from phalanx.discovery.plugins import host

        driver = make_driver("shortlived")
        x = px.arange(10, device="shortlived:0")
        host().unregister_driver(driver)
        try:
            with pytest.raises(px.DeviceNotFoundError):
                px.ones(1, device="shortlived:0")
            assert values(x + x) == [2 * i for i in range(10)]
            del x
            gc.collect()
        finally:
            host().register_driver(driver)

    def test_release_hooks_run_once_and_may_fail(self, fake: px.Device) -> None:
        code = (
            "import phalanx as px\n"
            "from phalanx.discovery.plugins import host\n"
            "from phalanx.testing import ReferenceDriver\n"
            "host().register_driver(ReferenceDriver('fake'))\n"
            "x = px.ones(3, device='fake:0')\n"
            "def fail(): raise KeyError('hook failed')\n"
            "x.buffer.on_release(fail)\n"
            "x.buffer.on_release(lambda: print('second hook'))\n"
            "del x\n"
            "print('alive')\n"
        )
        result = run_python("-c", code, PHALANX_PLUGINS="none")
        assert result.returncode == 0, result.stderr
        assert result.stdout.split("\n")[:2] == ["second hook", "alive"]
        assert "hook failed" in result.stderr
        assert "UnraisableHookArgs" not in result.stderr

    def test_buffers_are_not_made_by_hand(self, fake: px.Device) -> None:
        with pytest.raises(TypeError, match="allocator"):
            px.Buffer()
        with pytest.raises(TypeError, match="asarray"):
            px.Array()

    def test_borrowed_memory_is_not_freed(self, make_driver: Make) -> None:
        make_driver()
        opened = px.devices("own")[0].ensure_open()
        handle = opened.alloc(64)
        owner = type("Owner", (), {})()
        gone = weakref.ref(owner)
        buffer = px.Buffer.from_handle(px.devices("own")[0], handle, 64, owner=owner, readonly=True)
        del owner
        gc.collect()
        assert gone() is not None
        assert (buffer.handle, buffer.size, buffer.readonly) == (handle, 64, True)
        del buffer
        gc.collect()
        assert gone() is None
        opened.free(handle)
