"""A time limit for each case, and what a process was doing when it died or was ended."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path

#: Parts of paths whose frames say nothing of the device.
_MACHINERY = ("/_pytest/", "/pluggy/", "/xdist/", "/execnet/", "/_pyrepl/", '"<string>"')
_LINES = 40


class Watch:
    """Ends the process if a case takes too long; the stacks go to a file, as those of a crash do.

    It works while the interpreter is stuck in native code, as its thread is a native one.

    Args:
        limit: in seconds; 0 for none.
        path: of the file; empty for stderr.
    """

    def __init__(self, limit: float, path: str = "") -> None:
        self._limit = limit
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self._file = os.open(path, flags, 0o600) if path else os.dup(2)
        if path:
            faulthandler.enable(self._file)

    def begin(self) -> None:
        """Start the time of a case."""
        if self._limit:
            faulthandler.dump_traceback_later(self._limit, exit=True, file=self._file)

    def end(self) -> None:
        """Stop it."""
        if self._limit:
            faulthandler.cancel_dump_traceback_later()


def how_it_ended(path: Path, limit: float) -> tuple[str, str]:
    """Return in words how a watched process ended, and the stacks it left."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        text = ""
    if text.startswith("Timeout"):
        stacks = _stacks(text.partition("\n")[2])
        return f"the case did not end within {limit:g} s, and its process was ended", stacks
    if text.startswith("Fatal Python error: "):
        signal = text.partition("\n")[0].removeprefix("Fatal Python error: ")
        return f"the process died in this case ({signal})", _stacks(text)
    return "the process ended in this case without a word", ""


def _stacks(text: str) -> str:
    """Return the stacks without the frames that every case has; the last thread, ours, first."""
    kept: list[str] = []
    for thread in text.split("\n\n"):
        head, *frames = thread.strip().splitlines() or [""]
        frames = [f for f in frames if not any(part in f for part in _MACHINERY)]
        if frames and "thread" in head.lower():
            kept = [head, *frames, *kept]
    return "\n".join(kept[:_LINES])
