"""A time limit for each case, and what a process was doing when it died or was ended."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

#: Parts of paths whose frames say nothing of the device.
_MACHINERY = ("/_pytest/", "/pluggy/", "/xdist/", "/execnet/", "/_pyrepl/", '"<string>"')
_LINES = 40


class Watch:
    """Ends the process if a case takes too long; the stacks go to a file, as those of a crash do.

    It works while the interpreter is stuck in native code: a signal's handler, which is none of
    Python's, writes the stacks, and then the signal ends the process.

    Args:
        limit: in seconds; 0 for none.
        path: of the file; empty for stderr.
    """

    def __init__(self, limit: float, path: str = "") -> None:
        self._limit = limit
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(path, flags, 0o600) if path else os.dup(2)
        if path:
            faulthandler.enable(file)
        if limit:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            faulthandler.register(signal.SIGALRM, file=file, chain=True)

    def begin(self) -> None:
        """Start the time of a case."""
        if self._limit:  # else the timer may be somebody else's
            signal.setitimer(signal.ITIMER_REAL, self._limit)

    def end(self) -> None:
        """Stop it."""
        if self._limit:
            signal.setitimer(signal.ITIMER_REAL, 0)


def how_it_ended(path: Path, limit: float, code: int | None = None) -> tuple[str, str]:
    """Return in words how a watched process ended, and the stacks it left.

    Args:
        path: of the file with its stacks; it may be missing.
        limit: in seconds, for a case.
        code: as :attr:`subprocess.Popen.returncode` has it.
    """
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        text = ""
    if text.startswith("Fatal Python error: "):
        error = text.partition("\n")[0].removeprefix("Fatal Python error: ")
        return f"the process died in this case ({error})", _stacks(text)
    if text:
        words = f"the case did not end within {limit:g} s, and its process was ended"
        return words, _stacks(text)
    return f"the process ended in this case without a word{_code(code)}", ""


def _code(code: int | None) -> str:
    if code is None:
        return ""
    if code >= 0:
        return f" (exit status {code})"
    known = {int(s): s.name for s in signal.Signals}
    name = known.get(-code, f"signal {-code}")
    killed = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f" ({name}{killed})"


def _stacks(text: str) -> str:
    """Return the stacks without the frames that every case has; the last thread, ours, first."""
    kept: list[str] = []
    for thread in text.split("\n\n"):
        head, *frames = thread.strip().splitlines() or [""]
        frames = [f for f in frames if not any(part in f for part in _MACHINERY)]
        if frames and "thread" in head.lower():
            kept = [head, *frames, *kept]
    return "\n".join(kept[:_LINES])
