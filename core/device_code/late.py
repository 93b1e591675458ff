"""What the host learns of a launch only later: whether its indices were in range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from phalanx.vendor import ForkSafeLock

#: From the numbers that a kernel wrote to the error that they stand for, if they do.
Explain = Callable[[Sequence[int]], "Exception | None"]


class LateCheck(NamedTuple):
    """Numbers on their way to the host: ``read`` returns them when the work before is done."""

    read: Callable[[], Sequence[int]]
    explain: Explain


class LateChecks:
    """The checks behind a queue's work, from the oldest on. Safe from any thread.

    Only what waits for work may tell them: a question may come from somebody who has nothing to do
    with the work.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._pending: dict[int, LateCheck] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, check: LateCheck) -> None:
        """Note a check that was just enqueued."""
        with self._lock:
            self._made += 1
            self._pending[self._made] = check

    def so_far(self) -> int:
        """Return a number for `tell`: of the checks until now. Take it before the wait."""
        return self._made

    def tell(self, until: int) -> None:
        """Look at the checks up to a number, whose work is done; each is told once.

        Raises:
            Exception: the first that a check stands for; further ones are its notes.
        """
        if not self._pending:
            return
        with self._lock:
            done = [self._pending.pop(n) for n in tuple(self._pending) if n <= until]
        errors = [error for check in done if (error := check.explain(check.read()))]
        if errors:
            for error in errors[1:]:
                errors[0].add_note(f"and then: {error}")
            raise errors[0]
