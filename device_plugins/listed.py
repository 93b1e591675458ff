"""What a driver has found and opened, none of which survives a fork of the process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from phalanx.errors import DeviceLostError
from phalanx.vendor import ForkSafeLock


class Forkable(Protocol):
    """An open device that may be told that this process is a child of the one that opened it."""

    is_forked: bool


L = TypeVar("L")
D = TypeVar("D", bound=Forkable)


class Listed(Generic[L, D]):
    """The devices of a driver, asked for once, and those that are open.

    In a child process that was forked after the question nothing can be used: the runtime's threads
    are gone, and its locks may be held for ever. Then calls raise, and open devices get
    ``is_forked``.

    Args:
        driver: the name of the driver.
        runtime: what does not survive a fork, for a message.
        ask: lists the devices.
    """

    def __init__(self, driver: str, runtime: str, ask: Callable[[], L]) -> None:
        self.lock = ForkSafeLock()
        self.opened: WeakSet[D] = WeakSet()
        self._driver = driver
        self._runtime = runtime
        self._ask = ask
        self._found: L | None = None
        self._asking = False  # the runtime is at work just now, and may hold its own locks
        self._forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def __call__(self) -> L:
        """Return the devices.

        Raises:
            DeviceLostError: they were asked for before this process was forked.
        """
        if self._forked:
            raise fork_error(self._driver, self._runtime)
        found = self._found
        if found is None:
            with self.lock:
                found = self._found
                if found is None:
                    self._asking = True
                    try:
                        found = self._found = self._ask()
                    finally:
                        self._asking = False
        return found

    def _after_fork(self) -> None:
        if self._found is not None or self.opened or self._asking:
            self._forked = True
            for device in self.opened:
                device.is_forked = True
            _kept.append((self._found, list(self.opened)))


#: What the parent of a fork had: destroying it in the child would call into the runtime.
_kept: list[Any] = []


def fork_error(name: str, runtime: str) -> DeviceLostError:
    """Return the error of a process that has what its parent opened: a driver, or a device."""
    return DeviceLostError(
        f"{name} was used before this process was forked, and {runtime} does not survive a fork",
        remedy="start processes with the method 'spawn' or 'forkserver' of multiprocessing, or use "
        "its devices in the children only",
    )
