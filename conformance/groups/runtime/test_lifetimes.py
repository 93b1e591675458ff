"""How long things live behind the calls: memory of the host, blocks, a process; who may log."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from phalanx.conformance.blocks import read_block, write_block
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, chain, looks_until, need_streams
from phalanx.conformance.overloads import overloads
from phalanx.driver import Feature, OpenDevice, Place
from phalanx.optable import Structure

#: Seconds for what takes milliseconds, after which it hangs.
_PATIENCE = 20


def _streams(case: Case) -> list[px.Stream]:
    return [case.device.default_stream, px.Stream(case.device)]


def _wait(case: Case, stream: px.Stream) -> None:
    """The driver's own wait, which tells that work is done."""
    opened = case.device.ensure_open()
    if case.device.has_streams:
        opened.stream_synchronize(stream.handle, 60.0)
    else:
        opened.synchronize(60.0)


def _host(data: npt.NDArray[np.uint8]) -> Place:
    return Place(None, data.ctypes.data)


def test_host_memory_is_free_behind_the_wait(case: Case) -> None:
    """When a wait has told that a copy is done, nobody touches the host's memory any more."""
    opened = case.device.ensure_open()
    for stream in _streams(case):
        for size in (1, 64, 4097, (1 << 20) + 5):
            data = case.rng().integers(0, 200, size, np.uint8)
            source, target = data.copy(), np.zeros(size, np.uint8)
            blocks = [opened.alloc(size) for _ in range(2)]
            opened.copy(Place(opened, blocks[0]), _host(source), size, stream=stream)
            _wait(case, stream)
            source[:] = 201
            opened.copy(Place(opened, blocks[1]), Place(opened, blocks[0]), size, stream=stream)
            opened.copy(_host(target), Place(opened, blocks[1]), size, stream=stream)
            _wait(case, stream)
            found = target.copy()
            target[:] = 202
            opened.copy(Place(opened, blocks[1]), _host(source), size, stream=stream)
            _wait(case, stream)
            for block in blocks:
                opened.free(block)
            assert (found == data).all(), f"{size} bytes were read after the wait for their copy"
            assert (target == 202).all(), f"{size} bytes were written after the wait for their copy"


def test_a_call_is_copied(case: Case) -> None:
    """Numbers, shapes and params of many queued launches are each launch's own."""
    table = px.asarray(np.arange(60, dtype=np.float32))
    index = px.asarray(np.array([-1, 0]), dtype=px.int64)
    px.synchronize(case.device)
    is_late = case.device.has_streams and not case.device.synchronous
    with px.Stream(case.device):
        sums = [table[:n] + float(n) for n in range(1, 41)]
        taken = [px.take(table[:n], index) for n in range(1, 41 if is_late else 1)]
    for n, total in enumerate(sums, 1):
        assert px.asnumpy(total).tolist() == [n + i for i in range(n)], f"the sum with {n}"
    for n, ends in enumerate(taken, 1):
        assert px.asnumpy(ends).tolist() == [n - 1, 0], f"the ends of {n} elements"


def test_free_beside_queued_work(case: Case) -> None:
    """Blocks that are given back and taken while work is queued do not disturb that work."""
    opened = case.device.ensure_open()
    other = np.full(1 << 16, 0xA5, np.uint8)
    for stream in _streams(case):
        with stream:
            x = px.zeros(1 << 14, dtype=px.float32)
            for number in range(60):
                x = x + 1.0  # the array before is dropped: its block goes back to the pool
                if number % 6 == 0:
                    block = opened.alloc(other.size)
                    opened.free(block)
                if number % 20 == 0:
                    px.empty_cache(case.device)
            block = opened.alloc(other.size)
            assert (px.asnumpy(x) == 60).all(), "work that was queued while blocks were freed"
        opened.free(block)


def test_free_of_what_was_seen_done(case: Case) -> None:
    """A block may be freed when the queue has said that its work is done, though nobody waited."""
    need_streams(case)
    opened = case.device.ensure_open()
    source = np.arange(1 << 16, dtype=np.uint8)
    stream = px.Stream(case.device)
    for _ in range(3):
        block = opened.alloc(source.size)
        opened.copy(Place(opened, block), _host(source), source.size, stream=stream)
        end = time.monotonic() + _PATIENCE
        while not opened.stream_query(stream.handle):
            assert time.monotonic() < end, f"a copy is not done after {_PATIENCE} s"
        opened.free(block)
    stream.synchronize()
    assert px.asnumpy(px.ones(3, dtype=px.int32)).tolist() == [1, 1, 1]


def _in_child(work: Callable[[], int]) -> int:
    """Return what work gives in a forked process, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_PATIENCE)
            status = work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


_CHILD = {
    -signal.SIGALRM: f"hangs for {_PATIENCE} s",
    1: "reads other values",
    2: "raises another error than DeviceLostError when it reads",
    3: "cannot free or destroy: these calls do nothing there",
    4: "forks another, which neither computes nor says that the device is lost",
    99: "ends by an error",
}


def _use(x: px.Array) -> int:
    try:
        return 0 if px.asnumpy(x + x).tolist() == [0, 2, 4, 6, 8] else 1
    except px.DeviceLostError:
        return 0
    except Exception:  # noqa: BLE001 - the status tells
        return 2


def _use_and_let_go(x: px.Array, opened: OpenDevice, block: int, queue: object) -> int:
    if status := _use(x):
        return status
    try:
        opened.free(block)
        if queue is not None:
            opened.stream_destroy(queue)
    except Exception:  # noqa: BLE001 - the status tells
        return 3
    return 4 if _in_child(lambda: _use(x)) else 0


def test_fork(case: Case) -> None:
    """In a forked child a device works, or says that it is lost; the parent's goes on."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    opened, device = case.device.ensure_open(), case.device
    block = opened.alloc(4096)
    queue = opened.stream_create(0) if device.has_streams else None
    x, data = px.asarray(np.arange(5, dtype=np.int32)), np.arange(4096, dtype=np.uint8)
    with px.Stream(device) as stream:
        y = x + x
    write_block(device, block, data)
    px.synchronize(device)
    status = _in_child(lambda: _use_and_let_go(x, opened, block, queue))
    assert status == 0, f"a forked child {_CHILD.get(status, f'ends with {status}')}"
    with stream:
        assert px.asnumpy(y + x).tolist() == [0, 3, 6, 9, 12], "the parent, after a fork"
    found = read_block(device, block, data.size)
    assert (found == data).all(), "a block that a forked child gave back is none of the parent's"
    if queue is not None:
        opened.stream_destroy(queue)
    opened.free(block)


def test_work_goes_on_beside_a_fork(case: Case) -> None:
    """What is queued when the process forks is done, though the child does nothing with it."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    need_streams(case)
    opened, waiting = case.device.ensure_open(), px.Stream(case.device)
    stream = busy(case, 0.1, asks=False)
    with stream:
        x = chain(px.zeros(5, dtype=px.float32), 60)
    long, end = (opened.event_create(timed=False) for _ in range(2))
    opened.event_record(long, stream.handle)
    opened.stream_wait_event(waiting.handle, long)
    opened.event_record(end, waiting.handle)
    assert _in_child(lambda: 0) == 0
    looks_until(case, long, (end,), "a stream does not wait any more, behind a fork")
    for event in (long, end):
        opened.event_destroy(event)
    assert px.asnumpy(x).tolist() == [60] * 5, "work that was queued before a fork is not done"


class _Caller(logging.Handler):
    """A user's handler that calls Phalanx; it never waits for work."""

    def __init__(self, case: Case, x: px.Array) -> None:
        super().__init__(logging.DEBUG)
        self.opened, self.x = case.device.ensure_open(), x
        self.inside = threading.local()

    def createLock(self) -> None:  # noqa: N802 - the name is logging's
        """Have none: a device that hangs in here must not hold the end of the process, too."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - what it says is no matter
        if getattr(self.inside, "busy", False):
            return
        self.inside.busy = True
        try:
            self.opened.free(self.opened.alloc(64))
            self.x + self.x
        finally:
            self.inside.busy = False


def test_a_handler_of_the_log_may_call(case: Case) -> None:
    """Whatever a device logs, in its threads too, a handler may allocate and launch on it."""
    x = px.asarray(np.arange(5, dtype=np.int32))
    px.synchronize(case.device)
    logger = logging.getLogger("phalanx")
    handler, level = _Caller(case, x), logger.level
    failures: list[BaseException] = []

    def work() -> None:
        opened = case.device.ensure_open()
        try:
            with px.Stream(case.device) as stream:
                for _ in range(3):
                    opened.free(opened.alloc(4096))
                    assert px.asnumpy(x + x).tolist() == [0, 2, 4, 6, 8]
                    with pytest.raises(px.OutOfMemoryError):
                        opened.alloc(1 << 62)
                    chain(px.zeros(1 << 20, dtype=px.float32, device=case.device), 20)
                    if case.device.has_streams:
                        with suppress(TimeoutError):
                            opened.stream_synchronize(stream.handle, 1e-4)
                    with suppress(TimeoutError):
                        opened.synchronize(1e-4)
            stream.close()
        except BaseException as error:  # noqa: BLE001 - it is raised where the case waits
            failures.append(error)

    thread = threading.Thread(target=work, daemon=True)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        thread.start()
        thread.join(_PATIENCE)
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
    assert not thread.is_alive(), f"hangs for {_PATIENCE} s while a handler of the log calls"
    for failure in failures:
        raise failure


def _rounded(case: Case) -> list[bytes]:
    """Return the bits of sums whose order shows, on a device that promises to keep one."""
    rng = case.rng("sums")
    host = rng.standard_normal((3, 70_001)).astype(np.float32)
    x = px.asarray(host)
    found = []
    for op, function in (("sum", px.sum), ("mean", px.mean)):
        if case.served[op, ("float32", "float32")].determinism in ("bitwise", "reproducible"):
            found.append(px.asnumpy(function(x, axis=1)).tobytes())
    return found


def test_closed_and_opened_again(case: Case) -> None:
    """A device that was closed serves anew, on its default stream and on others."""
    before, kernels = _rounded(case), _kernels(case)
    driver, index = case.device.driver, case.device.index
    info = driver.device_info(index)
    gc.collect()
    case.device.close()
    if case.device.is_open:
        pytest.skip("arrays lie on the device")
    values = np.arange(1000, dtype=np.float32)
    assert _kernels(case) == kernels, "there are other kernels when the device is opened again"
    told = driver.device_info(index)
    assert told == info, f"opened again, the device is another one: {told}, it was {info}"
    assert _rounded(case) == before, "sums have other bits when the device is opened again"
    for stream in _streams(case):
        with stream:
            first = px.asarray(values) + 1.0
            passed = stream.record()
            second = first + first
        passed.synchronize()
        assert (px.asnumpy(first) == values + 1).all(), "the first launch gave something else"
        assert (px.asnumpy(second) == 2 * values + 2).all(), "the second gave something else"


def _kernels(case: Case) -> list[bool]:
    """Tell which overloads of the table the device has kernels for."""
    opened = case.device.ensure_open()
    asked = [(o.op, o.dtypes) for structure in Structure for o in overloads(structure)]
    return [not isinstance(opened.kernel(*one, px.Layout.ANY), px.Refusal) for one in asked]


def _take(case: Case, size: int) -> None:
    """Take so many bytes, in the largest blocks that there are, and give them back."""
    opened, blocks = case.device.ensure_open(), []
    try:
        while size > 0:
            blocks.append(opened.alloc(min(size, case.device.info.max_allocation)))
            size -= case.device.info.max_allocation
    finally:
        for block in blocks:
            opened.free(block)


def test_memory_is_free_when_opened_again(case: Case) -> None:
    """What was given back before the device was closed can be had when it is open again."""
    gc.collect()
    px.empty_cache(case.device)
    before, total = case.device.ensure_open().memory_info()
    if total == 0:
        pytest.skip("the driver does not tell how much memory is free")
    size, found = before // 8 * 5, []
    _take(case, size)
    for attempt in range(4):  # others may use the memory, too
        time.sleep(0.1 * attempt)
        case.device.close()
        if case.device.is_open:
            pytest.skip("arrays lie on the device")
        lost = before - case.device.ensure_open().memory_info()[0]
        try:
            _take(case, size)
        except px.OutOfMemoryError as error:
            found.append(str(error))
            continue
        if lost < size / 2:
            return
        found.append(f"{lost} bytes less are free")
    pytest.fail(f"since the device was opened again: {found[0]}")


def test_memory_is_shared_with_a_child_only_if_it_says_so(case: Case) -> None:
    """A device whose memory has host addresses gives a forked child what was there at the fork."""
    if Feature.HOST_ADDRESSABLE not in case.device.info.features or not hasattr(os, "fork"):
        pytest.skip("the device's memory is not the child's")
    with px.Stream(case.device):
        x = px.zeros(1 << 20, dtype=px.float32)
        for _ in range(60):
            x = x + 1.0  # not waited for: the fork waits
    status = _in_child(lambda: 0 if (px.asnumpy(x) == 60).all() else 1)
    assert status == 0, f"a forked child {_CHILD.get(status, f'ends with {status}')}"
