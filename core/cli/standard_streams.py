"""Standard output as other tools have it: closed, on a full disk, or of few characters."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator


class Output(io.TextIOWrapper):
    """A standard output that keeps the error for which it could not be written."""

    failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write a text, as far as there is room for it."""
        with self._watched():
            return super().write(text)

    def flush(self) -> None:
        """Write what was kept back."""
        with self._watched():
            super().flush()

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failure = error
            raise


def prepare() -> None:
    """Open what the caller has closed, and print as an escape what the encoding has no code for.

    Without the first, the next file that is opened would become the standard output. The second is
    for names of files, which may have halves of pairs.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - until the end
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        sys.stdout = Output(
            out.buffer,
            out.encoding,
            "backslashreplace",
            line_buffering=out.line_buffering,
            write_through=out.write_through,
        )


def finish() -> None:
    """Write what is left; where that cannot be, say so and end the process with exit code 1."""
    out = sys.stdout
    with contextlib.suppress(OSError, ValueError):  # the latter of one that a script has closed
        out.flush()
    failure = out.failure if isinstance(out, Output) else None
    if failure is None:
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, out.fileno())  # the interpreter flushes once more at its end
    os.close(nothing)
    if failure.errno != errno.EPIPE:  # whoever reads has enough
        sys.stderr.write(f"Error: standard output: {failure.strerror}\n")
    raise SystemExit(1) from None
