"""What the tests of threads share: a step in another thread, also inside a call of a driver."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import phalanx as px
from phalanx.testing import ReferenceDriver


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


def in_thread(step: Callable[[], Any]) -> Any:
    """Run a step in a thread of its own, to its end, and return what it returns."""
    got: list[Any] = []

    def run() -> None:
        try:
            got.append(step())
        except BaseException as error:  # noqa: BLE001 - it travels to the test
            got.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join(60)
    assert got, "the step did not end"
    if isinstance(got[0], BaseException):
        raise got[0]
    return got[0]


@contextmanager
def during(
    driver: ReferenceDriver, call: str, step: Callable[[], Any], *, after: bool = False
) -> Iterator[None]:
    """Let another thread make a step inside the next call of a function of a driver's device 0."""
    opened = driver.open_devices[0]
    inner = getattr(opened, call)

    def outer(*args: Any, **options: Any) -> Any:
        setattr(opened, call, inner)
        if after:
            result = inner(*args, **options)
            in_thread(step)
            return result
        in_thread(step)
        return inner(*args, **options)

    setattr(opened, call, outer)
    try:
        yield
        assert getattr(opened, call) is not outer, f"{call} was not called"
    finally:
        delattr(opened, call)
