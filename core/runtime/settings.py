"""Settings of the process that a ``with`` block changes for its own thread or task alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Generic, TypeVar
from weakref import ref

from .locks import ForkSafeLock

T = TypeVar("T")


class Change(AbstractContextManager["Change[T]"], Generic[T]):
    """What setting a value returns: in force in the whole process, or in a ``with`` block there.

    A block ends with the value that was in force before it, whatever other threads do meanwhile.
    """

    def __init__(self, setting: Setting[T], value: T, former: T | None) -> None:
        self._setting = setting
        self._value = value
        self._former = former

    def __enter__(self) -> Change[T]:
        self._former = self._setting.enter(self, self._value, self._former)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._setting.leave(self._former)


class Setting(Generic[T]):
    """One value for the process, and others inside the blocks of threads and tasks; none is false.

    Args:
        name: of the context variable.
        first: gives the value as long as nothing was set; asked once.
    """

    def __init__(self, name: str, first: Callable[[], T]) -> None:
        self._first = first
        self._here: ContextVar[T | None] = ContextVar(name, default=None)
        self._lock = ForkSafeLock()
        # The last one is in force. One whose Change is dropped will not become a block any more.
        self._whole: list[tuple[ref[Change[T]] | None, T]] = []

    def get(self) -> T:
        """Return the value in force for the caller."""
        return self._here.get() or self._base()[-1][1]

    def set(self, value: T) -> Change[T]:
        """Set the value of the process, and inside a block the block's; a ``with`` undoes it."""
        former = self._here.get()
        change = Change(self, value, former)
        self._base()
        with self._lock:
            kept = max(i for i, (made, _) in enumerate(self._whole) if not made or not made())
            self._whole = [*self._whole[kept:], (ref(change), value)]
        if former is not None:
            self._here.set(value)
        return change

    def enter(self, change: Change[T], value: T, former: T | None) -> T | None:
        """Make a change one of this block alone; return what was in force in its context."""
        if self._here.get() is None:
            former = None
        with self._lock:
            self._whole = [item for item in self._whole if not item[0] or item[0]() is not change]
        self._here.set(value)
        return former

    def leave(self, former: T | None) -> None:
        """End a block."""
        self._here.set(former)

    def _base(self) -> list[tuple[ref[Change[T]] | None, T]]:
        whole = self._whole
        if not whole:
            value = self._first()
            with self._lock:
                whole = self._whole = self._whole or [(None, value)]
        return whole
