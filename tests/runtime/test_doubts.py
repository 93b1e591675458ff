"""What failed work left without a value is refused whenever it is read, and nothing else is."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx import _warm
from phalanx.testing import ReferenceDriver
from phalanx.testing import device as reference

Make = Callable[..., ReferenceDriver]


@pytest.fixture
def driver(make_driver: Make) -> ReferenceDriver:
    """Real streams, on the device ``own:0``."""
    return make_driver(streams=True)


def ready() -> px.Array:
    x = px.asarray(np.arange(10.0), device="own:0")
    px.synchronize("own:0")
    return x


def fail(driver: ReferenceDriver, x: px.Array) -> px.Array:
    """Enqueue a launch that fails, once."""
    driver.faults.launch["exp"] = RuntimeError("illegal address")
    return px.exp(x)


def refused(*arrays: px.Array) -> None:
    for x in arrays:
        for _ in range(2):
            with pytest.raises(px.LaunchError) as caught:
                px.asnumpy(x)
    assert any("it has no value" in note for note in caught.value.__notes__)


def test_each_read_is_told(driver: ReferenceDriver) -> None:
    x = ready()
    y = fail(driver, x)
    z = y + 1
    refused(y, z)
    assert px.asnumpy(x)[9] == 9


def test_a_launch_on_it_is_told_at_the_call(driver: ReferenceDriver) -> None:
    x = ready()
    y = fail(driver, x)
    with pytest.raises(px.LaunchError):
        px.synchronize("own:0")
    for call in (lambda: y + 1, lambda: px.sum(y), lambda: px.add(x, y), lambda: x - y):
        with pytest.raises(px.LaunchError, match="illegal address"):
            call()
    assert px.asnumpy(x + 1)[9] == 10


def test_what_is_in_doubt(driver: ReferenceDriver) -> None:
    """Nobody knows which launch failed: all since the last wait is in doubt, and nothing before."""
    x = ready()
    before = x + 1
    driver.faults.launch["exp"] = RuntimeError("illegal address")
    y = px.exp(x)
    refused(y, before)
    driver.faults.launch.clear()
    assert px.asnumpy(x + 1)[0] == 1


def test_a_failure_of_work_that_another_stream_waited_for(driver: ReferenceDriver) -> None:
    x = ready()
    driver.faults.launch["exp"] = RuntimeError("illegal address")
    first, second = px.Stream("own:0"), px.Stream("own:0")
    with first:
        y = px.exp(x)
    with second:
        z = y + 1
    refused(z, y)
    driver.faults.launch.clear()
    with second:
        assert px.asnumpy(x + 1)[0] == 1


@pytest.mark.parametrize("known", [True, False], ids=["known to be done", "unknown"])
def test_a_stream_that_takes_from_one_that_failed(driver: ReferenceDriver, known: bool) -> None:
    """A question finds the work done and not that it failed: the event hands that on."""
    x, other = ready(), px.Stream("own:0")
    with px.Stream("own:0") as failing:
        y = fail(driver, x)
    while known and not failing.query():
        pass
    with other:
        z = y + 1
    refused(z)
    refused(y)
    failing.close()
    assert px.asnumpy(x + 1)[9] == 10


def test_what_fails_on_demand(driver: ReferenceDriver) -> None:
    x = ready()
    opened = driver.open_devices[0]
    with px.Stream("own:0") as stream:
        opened.stream_inject_failure(stream.handle)
        y = x + 1
    refused(y)
    with stream:
        assert px.asnumpy(x + 1)[9] == 10


def test_a_wrong_index_spoils_nothing_else(driver: ReferenceDriver) -> None:
    """Threads share streams: what others computed behind it is right, and is not refused."""
    x, places = ready(), px.asarray([3, 99], device="own:0")
    taken = px.take(x, places)
    x[places] = 0.0
    other = x + 1
    with pytest.raises(IndexError):
        px.asnumpy(taken)
    assert px.asnumpy(x).tolist() == list(range(10))
    assert px.asnumpy(other)[9] == 10


class VendorIndexError(IndexError):
    """With two arguments, so that ``copy.copy`` cannot make it anew."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(f"{message} [{status:#x}]")


def test_a_wrong_index_of_a_vendor_stays_one(
    driver: ReferenceDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception that cannot be copied is told by one of the same kind, with its words."""
    x, places = ready(), px.asarray([3, 99], device="own:0")
    right = reference.compute

    def compute(*args: Any) -> None:
        try:
            right(*args)
        except IndexError as error:
            raise VendorIndexError(str(error), 0x2F) from None

    monkeypatch.setattr(reference, "compute", compute)
    taken = px.take(x, places)
    for _ in range(2):
        with pytest.raises(IndexError, match="0x2f"):
            px.asnumpy(taken)
    assert px.asnumpy(x + 1)[9] == 10


def _add(total: px.Array, x: px.Array, times: int) -> px.Array:
    """Add what each time another check of indices has passed."""
    first = px.asarray([0, 1], device="own:0")
    for _ in range(times):
        total = total + px.take(x, first)
    return total


class TestAWrongIndex:
    """What is taken by it is refused at each read, and what comes from that, on any stream."""

    @pytest.fixture
    def x(self, driver: ReferenceDriver) -> px.Array:
        return ready()

    @pytest.fixture
    def bad(self, x: px.Array) -> px.Array:
        return px.asarray([0, 99], device="own:0")

    def is_refused(self, *arrays: px.Array) -> None:
        for array in arrays:
            for _ in range(3):
                with pytest.raises(IndexError, match="99"):
                    px.asnumpy(array)
            with pytest.raises(IndexError, match="99") as caught:
                array + array
            assert any("wrap_index on own:0" in note for note in caught.value.__notes__)

    def test_each_read(self, x: px.Array, bad: px.Array) -> None:
        good = px.asarray([1, 2], device="own:0")
        px.synchronize("own:0")
        taken, right = px.take(x, bad), px.take(x, good)
        both = px.stack([taken, right])
        derived = (taken * 2.0, px.sum(taken), both, both[1:])
        self.is_refused(taken, *derived)
        for _ in range(2):
            assert px.asnumpy(right).tolist() == [1.0, 2.0]
            assert px.asnumpy(right + x[:2]).tolist() == [1.0, 3.0]

    def test_told_by_somebody_else(self, x: px.Array, bad: px.Array) -> None:
        taken = px.take(x, bad)
        with pytest.raises(IndexError):
            px.synchronize("own:0")
        self.is_refused(taken)

    def test_on_another_stream(self, x: px.Array, bad: px.Array) -> None:
        """The stream that reads has not met the failure: it waits for the check of the indices."""
        first, second = px.Stream("own:0"), px.Stream("own:0")
        with first:
            taken = px.take(x, bad)
        with second:
            derived = taken + 1.0
            other = x + 1.0
            with pytest.raises(IndexError, match="99"):
                px.asnumpy(derived)  # told by the stream that reads, though it has met nothing
        self.is_refused(derived, taken)
        assert px.asnumpy(other)[9] == 10

    def test_several_axes(self, x: px.Array, bad: px.Array) -> None:
        square = px.reshape(px.concat([x] * 10), (10, 10))
        zeros = px.zeros(2, dtype=px.int64, device="own:0")
        px.synchronize("own:0")
        self.is_refused(square[zeros, bad])
        self.is_refused(square[bad, zeros])

    def test_an_assignment_leaves_its_array(self, x: px.Array, bad: px.Array) -> None:
        x[bad] = 5.0
        with pytest.raises(IndexError):
            px.synchronize("own:0")
        for _ in range(2):
            assert px.asnumpy(x).tolist() == list(range(10))
        assert px.asnumpy(x + 1.0)[9] == 10

    def test_what_is_assigned_is_refused(self, x: px.Array, bad: px.Array) -> None:
        places = px.asarray([3, 4], device="own:0")
        px.synchronize("own:0")
        x[places] = px.take(x, bad)
        self.is_refused(x)
        x[...] = 7.0
        assert px.asnumpy(x).tolist() == [7.0] * 10

    def test_a_copy_of_it(self, x: px.Array, bad: px.Array) -> None:
        self.is_refused(px.asarray(px.take(x, bad), copy=True))

    def test_of_memory_that_is_lent(self, cpu: px.Device) -> None:
        """Who takes the memory over is refused, too, and what was lent before knows as well."""
        with px.Stream(cpu) as stream:
            x = px.arange(10.0, device=cpu)
            taken = px.take(x, px.asarray([0, 99], device=cpu))
            with pytest.raises(IndexError, match="99"):
                stream.synchronize()
            for _ in range(2):
                with pytest.raises(IndexError, match="99"):
                    np.from_dlpack(taken)
            for _ in range(2):
                with pytest.raises(IndexError, match="99"):
                    px.asnumpy(taken)

    def test_many(self, x: px.Array, bad: px.Array) -> None:
        """One wait for many checks, whose memory is given back."""
        good = px.asarray([1, 2], device="own:0")
        px.synchronize("own:0")
        total = px.zeros(2, dtype=px.float64, device="own:0")
        for _ in range(3 * _warm.MOST_PLACES):
            total = total + px.take(x, good)
        before = px.memory_stats("own:0")["allocated"]
        assert px.asnumpy(total).tolist() == [3 * _warm.MOST_PLACES, 6 * _warm.MOST_PLACES]
        assert px.memory_stats("own:0")["allocated"] <= before
        total = px.take(x, bad)
        for _ in range(_warm.MOST_PLACES - 1):
            total = total + px.take(x, good)
        self.is_refused(total)
        total = px.take(x, bad)
        with pytest.raises(IndexError, match="99"):
            _add(total, px.take(x, good), 2 * _warm.MOST_PLACES)

    def test_indices_that_were_taken_by_it(self, x: px.Array, bad: px.Array) -> None:
        """What a wrong index takes is zeros, which are indices in range."""
        numbers = px.arange(10, device="own:0")
        px.synchronize("own:0")
        taken = px.take(x, px.take(numbers, bad))
        derived = taken + x[:2]
        self.is_refused(derived, taken)

    @pytest.mark.parametrize("wrong_one", [0, 7, 29])
    def test_sums_that_share_checks(self, x: px.Array, bad: px.Array, wrong_one: int) -> None:
        """As a training loop has them: each sum comes from all that was taken so far."""
        good = px.asarray([1, 2], device="own:0")
        sums = [px.zeros(2, dtype=px.float64, device="own:0") for _ in range(4)]
        alone = px.take(x, good) * 2.0
        px.synchronize("own:0")
        for i in range(30):
            taken = px.take(x, bad if i == wrong_one else good)
            slope = taken + sums[0] * 0.0 + sums[3] * 0.0
            for each in sums[:3]:
                each += slope
            if i % 2:
                sums[3] += slope
        self.is_refused(*(sums[::-1] if wrong_one % 2 else sums), taken + sums[1])
        assert px.asnumpy(alone).tolist() == [2.0, 4.0]
        for each in sums:
            each[...] = 3.0
        assert px.asnumpy(sums[0] + sums[3]).tolist() == [6.0, 6.0]


def test_an_array_that_is_written_anew_has_a_value(driver: ReferenceDriver) -> None:
    y = fail(driver, ready())
    refused(y)
    y[...] = 5.0
    assert px.asnumpy(y).tolist() == [5.0] * 10


@pytest.mark.parametrize("wait", ["event", "close", "dropped"])
def test_who_waits_does_not_matter(driver: ReferenceDriver, wait: str) -> None:
    x = ready()
    stream = px.Stream("own:0")
    with stream:
        y = fail(driver, x)
    if wait == "dropped":
        event = stream.record()
        del stream
        with pytest.raises(px.LaunchError):
            event.synchronize()
    else:
        with pytest.raises(px.LaunchError):
            stream.record().synchronize() if wait == "event" else stream.close()
    refused(y)


def test_a_wait_that_is_late_says_nothing_of_the_work(driver: ReferenceDriver) -> None:
    x = ready()
    with px.Stream("own:0") as stream, driver.paused(stream):
        y = x + 1
        with pytest.raises(TimeoutError):
            stream.synchronize(timeout=0.01)
    assert px.asnumpy(y)[0] == 1


def test_the_error_holds_no_arrays(driver: ReferenceDriver) -> None:
    x = ready()
    buffer = weakref.ref(x.buffer)
    refused(fail(driver, x))
    del x
    gc.collect()
    assert buffer() is None


def test_many_failures(driver: ReferenceDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ranges are joined, so that an old array is refused too often rather than too rarely."""
    x = ready()
    arrays = []
    for _ in range(_warm.MOST_DOUBTS + 20):
        arrays.append(fail(driver, x))
        with pytest.raises(px.LaunchError):
            px.synchronize("own:0")
    refused(arrays[0], arrays[10], arrays[-1])
    assert px.asnumpy(x)[9] == 9
