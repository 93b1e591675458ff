"""The queue of a stream under several threads: ``device_plugins/opencl/queue.py``, no runtime."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import phalanx as px
import pytest
from phalanx.device_plugins.opencl.queue import Queue

RUNNING, DONE = 1, 0


class Raw:
    """A queue of the runtime that is told nothing but to begin."""

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        pass


def test_the_last_command_is_the_last_in_the_queue() -> None:
    """A thread that enqueues first and notes last made a busy queue look idle."""
    queue = Queue(SimpleNamespace(Error=RuntimeError), Raw(), "opencl:0")
    order: list[str] = []
    second: list[threading.Thread] = []

    def enqueue_first(_: Any) -> Any:
        order.append("first")
        thread = threading.Thread(target=lambda: queue.put("second", enqueue_second))
        second.append(thread)
        thread.start()
        thread.join(0.2)  # the runtime lets other threads run
        return SimpleNamespace(command_execution_status=DONE)

    def enqueue_second(_: Any) -> Any:
        order.append("second")
        return SimpleNamespace(command_execution_status=RUNNING)

    queue.put("first", enqueue_first)
    second[0].join(60)
    assert order == ["first", "second"]
    assert not queue.is_idle()
    assert queue.last_pending() is not None


def test_a_question_leaves_a_failure_to_the_next_wait() -> None:
    """The core asks on its own behalf, and goes on whatever it hears."""
    cl = pytest.importorskip("pyopencl")
    queue = Queue(cl, Raw(), "opencl:0")
    queue.put("copy of 7 bytes", lambda _: SimpleNamespace(command_execution_status=-5))
    for _ in range(2):
        with pytest.raises(px.PhalanxError, match="copy of 7 bytes"):
            queue.is_idle()
    with pytest.raises(px.PhalanxError, match="copy of 7 bytes"):
        queue.finish(None)
    queue.finish(None)
    assert queue.is_idle()
