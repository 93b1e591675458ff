"""Launches that a driver prepares: when the core asks for them, and what it hands over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.testing import ReferenceDevice, ReferenceDriver
from phalanx.vendor import Array, Kernel, PreparedLaunch, Stream


class Preparing(ReferenceDevice):
    """Notes what is prepared, and what is launched so."""

    def __init__(self, driver: ReferenceDriver, index: int) -> None:
        super().__init__(driver, index)
        self.prepared: list[tuple[str, tuple[Any, ...]]] = []
        self.places: list[tuple[int, ...]] = []
        self.refused = False
        self.error: Exception | None = None

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch | None:
        numbers = tuple(x for x in inputs if not isinstance(x, Array))
        self.prepared.append((kernel.op, (*numbers, *params)))
        if self.refused:
            return None
        right = super().prepare(kernel, inputs, outputs, params, stream=stream)

        def launch(places: bytes, stream: Stream) -> None:
            if self.error is not None:
                raise self.error
            self.places.append(tuple(memoryview(places).cast("Q")))
            right(places, stream)

        return launch


class Launching(Preparing):
    """Has a launch of its own below the class that prepares."""

    def launch(self, *args: Any, **options: Any) -> None:
        super().launch(*args, **options)


@pytest.fixture
def opened(make_driver: Callable[..., ReferenceDriver]) -> Iterator[Preparing]:
    """A device that prepares, as the current one."""
    make_driver("prepares", device=Preparing)
    with px.device("prepares:0") as device:
        found = device.ensure_open()
        assert isinstance(found, Preparing)
        yield found


def _numbers(count: int, first: float = 0.0) -> Any:
    return px.arange(first, first + count, dtype=px.float32)


class TestWhen:
    """The second launch of a signature is prepared, and all behind it are."""

    def test_the_second_time(self, opened: Preparing) -> None:
        x = _numbers(5)
        opened.prepared.clear()
        results = []
        for number in range(4):
            results.append(x + x)
            assert len(opened.prepared) == (number > 0)
            assert len(opened.places) == number
        assert opened.prepared == [("add", ())]
        for result in results:
            assert (px.asnumpy(result) == 2 * np.arange(5)).all()

    def test_a_refusal_is_kept(self, opened: Preparing) -> None:
        opened.refused = True
        x = _numbers(6)
        opened.prepared.clear()
        for _ in range(4):
            y = x * x
        assert opened.prepared == [("multiply", ())]
        assert not opened.places
        assert px.asnumpy(y).tolist() == [0, 1, 4, 9, 16, 25]

    @pytest.mark.parametrize(
        "change",
        [
            lambda x: x[:-1],
            lambda x: x[::2],
            lambda x: x[::-1],
            lambda x: px.astype(x, px.float64),
            lambda x: px.reshape(x, (3, 4))[:, :2],
            lambda x: x[1:],
        ],
    )
    def test_another_signature_is_another_launch(
        self, opened: Preparing, change: Callable[[Any], Any]
    ) -> None:
        """Extents, strides, dtype, and the place modulo 16."""
        x = _numbers(12)
        for _ in range(3):
            px.negative(x)
        other = change(x)
        want = -px.asnumpy(other)
        before = len(opened.places)
        y = px.negative(other)
        assert len(opened.places) == before, "taken for a launch that came before"
        assert (px.asnumpy(y) == want).all()

    def test_numbers_and_parameters_belong_to_it(self, opened: Preparing) -> None:
        x = px.reshape(_numbers(6), (2, 3))
        opened.prepared.clear()
        for _ in range(2):
            results = [x * number for number in (0.0, -0.0, 2.5)]
            assert [str(float(y[1, 2])) for y in results] == ["0.0", "-0.0", "12.5"]
            for axis in (0, 1):
                px.take(x, px.asarray([1, 0]), axis=axis)
        assert [str(p[1][0]) for p in opened.prepared if p[0] == "multiply"] == [
            "0.0",
            "-0.0",
            "2.5",
        ]
        wraps = [params for op, params in opened.prepared if op == "wrap_index"]
        assert len(wraps) == len(set(wraps)) == 2

    def test_many_signatures_do_not_pile_up(self, opened: Preparing) -> None:
        for count in range(1, 700):
            px.abs(_numbers(3 * count)[:count])
        x = _numbers(4)
        for _ in range(3):
            assert px.asnumpy(px.abs(x)).tolist() == [0, 1, 2, 3]

    def test_a_subclass_with_a_launch_of_its_own_is_asked_for_none(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        make_driver("launches", device=Launching)
        with px.device("launches:0") as device:
            x = _numbers(5)
            for _ in range(4):
                x + x
            assert not device.ensure_open().prepared

    def test_an_object_with_a_launch_of_its_own_is_asked_for_none(
        self, opened: Preparing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A wrapper that somebody sets sees every launch."""
        x = _numbers(5)
        for _ in range(3):
            x + x
        seen, right = [], opened.launch

        def watched(kernel: Kernel, *args: Any, **options: Any) -> None:
            seen.append(kernel.op)
            right(kernel, *args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(opened, "launch", watched)
            for _ in range(3):
                x + x
        assert seen == ["add"] * 3
        before = len(opened.places)
        assert px.asnumpy(x + x).tolist() == [0, 2, 4, 6, 8]
        assert len(opened.places) == before + 1

    def test_a_device_that_is_opened_anew_prepares_anew(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        make_driver("prepares", device=Preparing)
        for _ in range(2):
            with px.device("prepares:0") as device:
                x = _numbers(5)
                for _ in range(3):
                    y = x + x
                assert ("add", ()) in device.ensure_open().prepared
                assert px.asnumpy(y).tolist() == [0, 2, 4, 6, 8]
                del x, y
                device.close()
                assert not device.is_open


class TestWhat:
    """Handles and offsets of the arrays, inputs first; errors as those of a launch."""

    def test_places(self, opened: Preparing) -> None:
        x, y = _numbers(8), _numbers(8, 8.0)
        for _ in range(2):
            kept = x - y
        opened.places.clear()
        z = y - x
        (places,) = opened.places
        assert places == tuple(word for a in (y, x, z) for word in (a.buffer.handle, a.offset))
        assert px.asnumpy(z).tolist() == [8] * 8
        assert px.asnumpy(kept).tolist() == [-8] * 8

    def test_numbers_have_no_place(self, opened: Preparing) -> None:
        x = _numbers(8)
        for _ in range(2):
            z = 3 - x
        assert [len(places) for places in opened.places[-1:]] == [4]
        assert px.asnumpy(z).tolist() == [3, 2, 1, 0, -1, -2, -3, -4]

    def test_an_array_of_many_axes_is_launched(self, opened: Preparing) -> None:
        """Its signature would be long; nothing is prepared, and nothing goes wrong."""
        shape = (2, 1) * 5 + (1,) * 20
        x = px.reshape(_numbers(32), shape)
        order = tuple(reversed(range(len(shape))))
        want = px.asnumpy(x).transpose(order) * 2
        for _ in range(4):
            y = px.permute_dims(x, order)
            assert (px.asnumpy(y + y) == want).all()

    def test_errors_come_through_and_later_launches_work(self, opened: Preparing) -> None:
        x = _numbers(7)
        for _ in range(2):
            x + 1
        opened.error = px.LaunchError("the queue is full")
        for _ in range(2):
            with pytest.raises(px.LaunchError, match="the queue is full"):
                x + 1
        opened.error = None
        assert px.asnumpy(x + 1).tolist() == [1, 2, 3, 4, 5, 6, 7]

    def test_hazards_between_streams(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        """A prepared launch waits for other streams, and others wait for it."""
        driver = make_driver("prepares", device=Preparing, streams=True)
        with px.device("prepares:0") as device:
            first, second = px.Stream(device), px.Stream(device)
            x = _numbers(9)
            for _ in range(3):
                x + x
            device.synchronize()
            with driver.paused(first):
                with first:
                    y = x + x
                with second:
                    z = y + y
                assert not second.query()
            assert px.asnumpy(z).tolist() == [4 * i for i in range(9)]
            first.close()
            second.close()

    def test_threads(self, opened: Preparing) -> None:
        """Eight threads launch the same at once, on arrays of their own."""
        wrong: list[int] = []

        def work(number: int) -> None:
            with px.device("prepares:0"):
                x = px.full(33, float(number), dtype=px.float32)
                results = [px.asnumpy(x * x) for _ in range(50)]
            wrong.extend(number for y in results if (y != number * number).any())

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not wrong
        assert len([op for op, _ in opened.prepared if op == "multiply"]) >= 1
