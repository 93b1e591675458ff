"""Errors reach the caller, name what failed, and leave the device as it was."""

from __future__ import annotations

import gc
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import need_streams
from phalanx.conformance.groups.runtime.failing import let_fail, of_either_kind
from phalanx.driver import Capability


def _works(case: Case) -> None:
    assert px.get_device() is case.device, f"the current device became {px.get_device()}"
    x = px.asarray([1, 2, 3], dtype=px.int32)
    assert x.device is case.device, f"new arrays are made on {x.device}"
    assert px.asnumpy(x + x).tolist() == [2, 4, 6]


def test_index_out_of_range(case: Case) -> None:
    """An index array that is out of range is an IndexError, at the latest when the host waits."""
    x = px.asarray(np.arange(10, dtype=np.float32))
    for bad in (10, -11, 1 << 40):
        index = px.asarray([0, bad, 1], dtype=px.int64)
        with pytest.raises(IndexError):
            px.asnumpy(px.take(x, index))
        _works(case)
    index = px.asarray(np.append(np.zeros(70_000, np.int64), 10))
    with pytest.raises(IndexError):
        px.asnumpy(px.take(x, index))
    _works(case)


@pytest.mark.parametrize("asked", ["stream", "event"])
def test_a_question_takes_no_failure(case: Case, asked: str) -> None:
    """Asking whether work is done leaves its failure to whoever waits, who may be another."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    x, bad = px.arange(10, dtype=px.float32), px.asarray([0, 99], dtype=px.int64)
    stream = px.Stream(device)
    event = opened.event_create(timed=False)
    for _ in range(3):
        px.synchronize(device)
        with stream:
            try:
                taken = px.take(x, bad)
            except IndexError:
                break  # told at the call: nothing is left to tell
        opened.event_record(event, stream.handle)
        end = time.monotonic() + 10.0
        is_done = False
        while not is_done and time.monotonic() < end:
            try:
                if asked == "stream":
                    is_done = opened.stream_query(stream.handle)
                else:
                    is_done = opened.event_query(event)
            except (IndexError, px.PhalanxError):
                is_done = True  # it may be said, as long as it is not taken
        assert is_done, f"the {asked} is not done after 10 s"
        with pytest.raises(IndexError):
            stream.synchronize()
        del taken
    opened.event_destroy(event)
    _works(case)


def test_a_wrong_index_spoils_nothing_else(case: Case) -> None:
    """What is neither taken nor written by a wrong index is as it was, on every stream."""
    x = px.asarray(np.arange(10, dtype=np.float32))
    bad = px.asarray([0, 99], dtype=px.int64)
    first, second = px.Stream(case.device), px.Stream(case.device)
    for told_by in ("stream", "array"):
        with first:
            try:
                taken = px.take(x, bad)
            except IndexError:
                break  # told at the call: there is no array that could be read
            behind = x + 1.0
        with second:
            elsewhere = behind + 1.0
        with pytest.raises(IndexError):
            first.synchronize() if told_by == "stream" else px.asnumpy(taken)
        assert px.asnumpy(behind).tolist() == list(range(1, 11))
        assert px.asnumpy(elsewhere).tolist() == list(range(2, 12))
        assert px.asnumpy(x).tolist() == list(range(10))
    for stream in (first, second):
        stream.synchronize()
    _works(case)


def test_a_wrong_index_is_told_at_each_read(case: Case) -> None:
    """Who reads what was taken by a wrong index, or what comes from it, is told every time."""
    x = px.asarray(np.arange(10, dtype=np.float32))
    good, bad = (px.asarray([0, last], dtype=px.int64) for last in (9, 99))
    stream = px.Stream(case.device)
    px.synchronize(case.device)
    try:
        taken = px.take(x, bad)
    except IndexError:
        _works(case)  # told at the call: there is no array that could be read
        return
    right, derived = px.take(x, good), taken + 1.0
    with stream:
        elsewhere = derived + right
    for array in (elsewhere, derived, taken):
        for _ in range(2):
            with pytest.raises(IndexError):
                px.asnumpy(array)
    for _ in range(2):
        assert px.asnumpy(right).tolist() == [0.0, 9.0]
    _works(case)


@pytest.mark.parametrize("count", [3, 40])
def test_each_stream_tells_its_own_failure(case: Case, count: int) -> None:
    """Of streams that failed before any was waited for, each tells its wrong index."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    x = px.asarray(np.arange(10, dtype=np.float32))
    wrong = {px.Stream(device): number for number in range(97, 97 + count)}
    indices = {number: px.asarray([0, number], dtype=px.int64) for number in wrong.values()}
    px.synchronize(device)
    taken = []
    for stream, number in wrong.items():
        with stream:
            try:
                taken.append(px.take(x, indices[number]))
            except IndexError:
                return  # told at the call
    limit = time.monotonic() + 10
    for stream in wrong:
        with suppress(IndexError, px.PhalanxError):  # it may be said, as long as it is not taken
            while not opened.stream_query(stream.handle) and time.monotonic() < limit:
                time.sleep(0.001)
    for stream, number in wrong.items():
        with pytest.raises(IndexError, match=str(number)):
            stream.synchronize()
    del taken
    _works(case)


def test_failure_is_told_once(case: Case) -> None:
    """The driver's own call: the wait that tells a failure takes it, and later work is done."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    x = px.asarray(np.arange(10, dtype=np.float32))
    bad = px.asarray([99, 0], dtype=px.int64)
    px.synchronize(device)
    stream = px.Stream(device)
    for _ in range(3):
        with stream:
            try:
                taken = px.take(x, bad)
            except IndexError:
                break
        with pytest.raises(IndexError):
            opened.stream_synchronize(stream.handle, 60.0)
        opened.stream_synchronize(stream.handle, 60.0)
        with stream:
            later = x + 1.0
        opened.stream_synchronize(stream.handle, 60.0)
        del taken
        assert px.asnumpy(later).tolist() == list(range(1, 11)), (
            "work behind a failure that was told"
        )


def test_the_first_failure_is_told(case: Case) -> None:
    """Of two wrong indices on a stream, the first is named."""
    need_streams(case)
    x = px.asarray(np.arange(10, dtype=np.float32))
    indices = [px.asarray(places, dtype=px.int64) for places in ([0, 99], [77, 0], [55])]
    px.synchronize(case.device)
    stream = px.Stream(case.device)
    with pytest.raises(IndexError, match="99"):
        _take(x, indices, stream)
    _works(case)


def _take(x: px.Array, indices: list[px.Array], stream: px.Stream) -> None:
    with stream:
        taken = [px.take(x, index) for index in indices]
    stream.synchronize()
    del taken


@of_either_kind
def test_the_end_of_a_stream_tells_its_failure(case: Case, kind: str) -> None:
    """To destroy a stream tells what failed on it, and the next one begins anew."""
    device, failing = case.device, let_fail(case, kind)
    x = px.asarray(np.arange(10, dtype=np.float32))
    with pytest.raises(failing.error):
        failing.stream.close()
    del failing
    for _ in range(3):
        with px.Stream(device) as another:
            y = x + 1.0
        another.synchronize()
        assert px.asnumpy(y).tolist() == list(range(1, 11))
    _works(case)


@of_either_kind
def test_a_wait_for_an_event_tells_a_failure(case: Case, kind: str) -> None:
    """The driver's own wait for an event tells what failed before it, once."""
    need_streams(case)
    opened = case.device.ensure_open()
    event, failing = opened.event_create(timed=False), let_fail(case, kind)
    opened.event_record(event, failing.stream.handle)
    with pytest.raises(failing.error):
        opened.event_synchronize(event, 60.0)
    opened.event_synchronize(event, 60.0)
    opened.stream_synchronize(failing.stream.handle, 60.0)
    del failing
    opened.event_destroy(event)
    _works(case)


@of_either_kind
def test_failure_is_told_in_any_thread(case: Case, kind: str) -> None:
    """Whichever thread waits for a stream is told what failed there, not the one that launched."""
    need_streams(case)
    device = case.device
    opened = device.ensure_open()
    x, good = px.asarray(np.arange(10, dtype=np.float32)), px.asarray([0, 9], dtype=px.int64)
    stream, other = px.Stream(device), px.Stream(device)
    failing = let_fail(case, kind, stream)
    with other:
        _ = px.take(x, good) if kind == "index" else x + 1.0
    opened.stream_synchronize(other.handle, 60.0)  # where nothing failed
    with ThreadPoolExecutor(1) as threads:
        told = threads.submit(opened.stream_synchronize, stream.handle, 60.0).exception()
    assert isinstance(told, failing.error), f"another thread that waited was told {told!r}"
    stream.synchronize()
    _works(case)


@of_either_kind
@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_failure_is_told_by_its_stream(case: Case, of_its_own: bool, kind: str) -> None:
    """A wait for a stream where nothing failed is told nothing, and takes nothing."""
    need_streams(case)
    device = case.device
    opened = device.ensure_open()
    own = [px.Stream(device) for _ in range(2)]
    others, failing = [device.default_stream, own[0]], own[1]
    if not of_its_own:
        others, failing = own, device.default_stream
    event = opened.event_create(timed=False)
    found = let_fail(case, kind, failing)
    opened.event_record(event, failing.handle)
    end = time.monotonic() + 10.0
    while not opened.event_query(event) and time.monotonic() < end:
        time.sleep(1e-3)
    for other in others:
        opened.stream_synchronize(other.handle, 60.0)
    with pytest.raises(found.error):
        opened.stream_synchronize(failing.handle, 60.0)
    del found
    opened.event_destroy(event)
    _works(case)


@of_either_kind
@pytest.mark.parametrize("of_its_own", [False, True], ids=["default stream", "stream"])
def test_other_calls_take_no_failure(case: Case, of_its_own: bool, kind: str) -> None:
    """What failed on a stream is told though other calls failed, or asked, before the wait."""
    need_streams(case)
    device = case.device
    opened = device.ensure_open()
    timed = Capability.EVENT_TIMING in opened.capabilities
    for _ in range(2):
        stream, other = (
            px.Stream(device) if of_its_own else device.default_stream,
            px.Stream(device),
        )
        begin, behind = (opened.event_create(timed=timed) for _ in range(2))
        opened.event_record(begin, stream.handle)
        failing = let_fail(case, kind, stream)
        opened.event_record(behind, stream.handle)
        end = time.monotonic() + 10.0
        while not opened.stream_query(stream.handle) and time.monotonic() < end:
            time.sleep(1e-3)
        for size in (device.info.max_allocation + 1, 1 << 62):
            with pytest.raises(px.OutOfMemoryError):
                opened.alloc(size)
        opened.memory_info()
        opened.kernel("no_such_op", ("float32", "float32"), px.Layout.ANY)
        if timed:
            with suppress(IndexError, px.PhalanxError):  # it may be said, as long as it is kept
                opened.event_elapsed(begin, behind)
        for event in (begin, behind):
            opened.event_record(event, other.handle)
        opened.stream_synchronize(other.handle, 60.0)
        for event in (begin, behind):
            opened.event_destroy(event)
        with pytest.raises(failing.error):
            opened.stream_synchronize(stream.handle, 60.0)
        del failing
    _works(case)


def test_shapes_that_do_not_fit(case: Case) -> None:
    """Shapes that do not broadcast are a ValueError before anything runs."""
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        px.ones(3, dtype=px.int32) + px.ones(4, dtype=px.int32)
    with pytest.raises(ValueError, match=r"shape|matmul|contract|size"):
        px.matmul(px.ones((2, 3), dtype=px.int32), px.ones((4, 2), dtype=px.int32))
    _works(case)


def test_dtypes_that_do_not_fit(case: Case) -> None:
    """A dtype that an op does not take is a TypeError that names it."""
    with pytest.raises(TypeError, match="bool"):
        px.subtract(px.ones(2, dtype=px.bool), px.ones(2, dtype=px.bool))
    _works(case)


def test_current_device_after_error(case: Case) -> None:
    """An exception inside ``with device`` leaves the device outside as it was."""
    before = px.get_device()
    with pytest.raises(ValueError, match="on purpose"), px.device(case.device):
        raise ValueError("on purpose")
    assert px.get_device() is before
    _works(case)


def test_out_of_memory_leaves_all(case: Case) -> None:
    """After OutOfMemoryError the current device, old arrays and new launches are sound."""
    kept = px.asarray(np.arange(1000, dtype=np.int64))
    for _ in range(3):
        with pytest.raises(px.OutOfMemoryError):
            px.empty(case.device.info.total_memory * 8, dtype=px.uint8)
        _works(case)
    assert px.asnumpy(kept).tolist() == list(range(1000))


def test_unknown_kernel(case: Case) -> None:
    """A device that is asked for what is no op refuses and does not fail."""
    opened = case.device.ensure_open()
    answer = opened.kernel("no_such_op", ("float32", "float32"), px.Layout.ANY)
    assert isinstance(answer, px.Refusal)


def test_read_only(case: Case) -> None:
    """An array over memory that may not be written refuses to be written."""
    source = np.arange(5, dtype=np.int32)
    source.flags.writeable = False
    x = px.asarray(source, copy=True)
    x[0] = 7
    assert px.asnumpy(x).tolist() == [7, 1, 2, 3, 4]
    assert source.tolist() == [0, 1, 2, 3, 4]


def test_thousand_errors(case: Case) -> None:
    """Many failed calls do not wear the device out."""
    x = px.asarray(np.arange(10, dtype=np.float32))
    index = px.asarray([99], dtype=px.int64)
    for _ in range(50 if case.quick else 1000):
        with pytest.raises(IndexError):
            px.asnumpy(px.take(x, index))
    _works(case)


def test_texts_can_be_written(case: Case) -> None:
    """The texts of errors are whole and can be written in UTF-8."""
    texts = []
    for size in (case.device.info.max_allocation + 1, 1 << 62):
        with pytest.raises(px.OutOfMemoryError) as caught:
            case.device.ensure_open().alloc(size)
        texts.append(str(caught.value))
    x = px.asarray(np.arange(10, dtype=np.float32))
    with pytest.raises(IndexError) as bad:
        px.asnumpy(px.take(x, px.asarray([0, 99], dtype=px.int64)))
    texts.append(str(bad.value))
    for text in texts:
        assert text.strip(), "an error has no text"
        try:
            text.encode("utf-8")
            assert text.replace("\n", " ").isprintable(), f"an error has more than text: {text!r}"
        except UnicodeEncodeError:
            pytest.fail(f"the text of an error is no UTF-8: {text!a}")
        assert "\ufffd" not in text, f"the text of an error was cut inside a character: {text!r}"
    _works(case)


#: Elements of an array that nobody keeps by chance, as the arguments of the last launch may be.
_LARGE = 1 << 16


def test_a_told_failure_keeps_no_arrays(case: Case) -> None:
    """When a failure was told, nobody keeps it with the arrays of whoever was told."""
    case.device.synchronize()
    gc.collect()
    before = px.memory_stats(case.device)["requested"]
    _tell_of_a_wrong_index(case)
    _works(case)  # who keeps the last launch keeps a small one
    gc.collect()
    case.device.synchronize()
    kept = px.memory_stats(case.device)["requested"] - before
    assert kept < 4 * _LARGE, f"{kept} bytes of arrays stay behind a failure"


def _tell_of_a_wrong_index(case: Case) -> None:
    x, bad = px.ones(_LARGE, dtype=px.float32), px.zeros(_LARGE, dtype=px.int64)
    bad[1] = -2 * _LARGE
    first, second = px.Stream(case.device), px.Stream(case.device)
    for told_by in ("stream", "array"):
        with first:
            try:
                taken = px.take(x, bad)
            except IndexError:
                return  # told at the call
        with second:
            later = taken + 1.0
        with pytest.raises(IndexError):
            first.synchronize() if told_by == "stream" else px.asnumpy(taken)
        del later
