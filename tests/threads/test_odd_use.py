"""Ctrl-C in waits, objects made by hand, views that repeat, blocks left elsewhere."""

from __future__ import annotations

import contextvars
import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import phalanx as px
import pytest
from threads.steps import values


class TestInterrupt:
    @pytest.fixture(autouse=True)
    def _ctrl_c(self) -> Iterator[None]:
        """Python's own handler: a run in a shell's background begins with the signal ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def interrupted(self, step: Callable[[], Any]) -> None:
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                step()
        finally:
            timer.join()

    def test_waits_end_with_ctrl_c(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        with asynchronous.driver.paused(stream):
            with stream:
                y = px.ones(4) + 1
            self.interrupted(stream.synchronize)
            self.interrupted(stream.record().synchronize)
            self.interrupted(lambda: px.asnumpy(y))
            self.interrupted(px.synchronize)
        assert values(y) == [2.0] * 4

    def test_an_interrupted_copy_keeps_the_hosts_memory(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        data = np.ones(1000)
        alive = weakref.ref(data)
        with asynchronous.driver.paused(stream), stream:
            self.interrupted(partial(px.asarray, data, copy=True))
            del data
            gc.collect()
            assert alive() is not None
        stream.synchronize()
        gc.collect()
        assert alive() is None


class TestOddities:
    def test_with_block_left_in_another_context(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        stream.__enter__()
        try:
            with pytest.raises(RuntimeError, match="thread or task that entered"):
                contextvars.Context().run(stream.__exit__)
        finally:
            stream.__exit__()

    def test_nbytes_of_a_huge_view(self, cpu: px.Device) -> None:
        x = px.broadcast_to(px.zeros((), dtype=px.complex128, device=cpu), (2**59,))
        assert x.nbytes == 2**63

    @pytest.mark.parametrize("name", ["Array", "Buffer", "DType"])
    def test_what_nobody_may_make(self, name: str) -> None:
        import phalanx._warm as warm

        made = getattr(warm, name)
        with pytest.raises(TypeError, match="not made this way"):
            made()
        with pytest.raises(TypeError, match="not made this way"):
            made.__new__(made)
        with pytest.raises(TypeError):
            object.__new__(made)

    def test_streams_and_events_made_without_init_work(self, asynchronous: px.Device) -> None:
        stream = px.Stream.__new__(px.Stream)
        stream.synchronize()
        stream.close()
        assert not px.Event.__new__(px.Event).query()

    @pytest.mark.parametrize("kind", ["Device", "Kernel", "Pool"])
    def test_no_object_without_its_arguments(self, kind: str) -> None:
        import phalanx._warm as warm

        with pytest.raises(TypeError, match="argument"):
            getattr(warm, kind).__new__(getattr(warm, kind))

    def test_views_of_a_broadcast_array_refuse_writing(self, device: px.Device) -> None:
        x = px.zeros((4,))
        spread = px.broadcast_to(x, (3, 4))
        row = spread[0]
        with pytest.raises(ValueError, match="copy=True"):
            row += 1
        with pytest.raises(ValueError, match="copy=True"):
            row[1] = 2
        with pytest.raises(ValueError, match="copy=True"):
            px.reshape(spread, (3, 4))[1, 2] = 5
        assert values(x) == [0.0] * 4
        row = row + 1
        row += 1
        assert values(row) == [2.0] * 4

    def test_export_of_a_broadcast_view_is_read_only(self, cpu: px.Device) -> None:
        row = px.broadcast_to(px.zeros(4, device=cpu), (3, 4))[0]
        assert not np.asarray(row).flags.writeable
