"""A stream of a device, which remembers what was put into it since the last wait."""

from __future__ import annotations

from collections import deque
from typing import Any

from phalanx.device_code.late import LateChecks
from phalanx.vendor import check_timeout, wait_until

from .api import NOT_READY, Context

#: Launches that the message of a failure can name.
_REMEMBERED = 4
#: Seconds of a wait in which the driver is asked without pause: most kernels end in them.
_SPIN = 200e-6
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: not in order with the legacy default stream


def settle(context: Context, call: str, raw: Any, timeout: float | None, what: str) -> None:
    """Wait for a stream or an event; ``call`` without its end ``Query`` or ``Synchronize``.

    Raises:
        CudaError: the work failed, or some before it in this context.
        TimeoutError: after ``timeout`` seconds; the work goes on.
    """
    timeout = check_timeout(timeout)
    if timeout is None:
        context.call(f"{call}Synchronize", raw)
    else:
        wait_until(lambda: is_passed(context, f"{call}Query", raw), timeout, what, spin=_SPIN)


def is_passed(context: Context, call: str, raw: Any) -> bool:
    """Return whether a stream or an event has been passed; does not block.

    Raises:
        CudaError: the work failed.
    """
    code = context.code(context.api.function(call), raw)
    if code in (0, NOT_READY):
        return code == 0
    raise context.api.error(code, call)


class Queue:
    """An in-order stream of the driver's.

    Failures come late and name no launch: the labels of the last ones stand in their message.
    """

    __slots__ = (
        "__weakref__",
        "_context",
        "_device",
        "checks",
        "is_ours",
        "labels",
        "number",
        "raw",
    )

    def __init__(self, context: Context, raw: Any, device: str, *, is_ours: bool) -> None:
        self.raw = raw
        #: The address of the driver's stream.
        self.number = context.api.number(raw)
        self.is_ours = is_ours
        #: What the host has to look at behind its work.
        self.checks = LateChecks()
        self._context = context
        self._device = device
        #: What it was given since the last wait, the latest of it.
        self.labels: deque[Any] = deque(maxlen=_REMEMBERED)

    @classmethod
    def create(cls, context: Context, device: str, priority: int = 0) -> Queue:
        """Return a new queue; a lower ``priority`` is more urgent, cut to what the device has."""
        raw = context.get(
            "cuStreamCreateWithPriority", "CUstream", _NON_BLOCKING, _clipped(context, priority)
        )
        return cls(context, raw, device, is_ours=True)

    def put(self, label: Any, function: Any, *args: Any) -> int:
        """Enqueue by a function of the driver, remember what it was, and return its code."""
        self.labels.append(label)
        return self._context.code(function, *args)

    def is_idle(self) -> bool:
        """Return whether all work is done; does not block, and leaves `checks` to the next wait."""
        return is_passed(self._context, "cuStreamQuery", self.raw)

    def finish(self, timeout: float | None) -> None:
        """Wait for all work; ``timeout`` in seconds, then TimeoutError.

        Raises:
            CudaError: the work failed.
            IndexError: of `checks`.
        """
        checks = self.checks.so_far()
        settle(
            self._context, "cuStream", self.raw, timeout, f"the work of a stream of {self._device}"
        )
        self.labels.clear()
        self.checks.tell(checks)

    def destroy(self) -> None:
        """Give the stream back to the driver, unless it is somebody else's."""
        if self.is_ours:
            self._context.call("cuStreamDestroy_v2", self.raw)

    def recent(self) -> str:
        """Return what the queue was last given, for a message; empty if it was waited for since."""
        labels = [label_text(label) for label in tuple(self.labels)]
        if len(labels) < 2:
            return "".join(labels)
        return f"one of the last: {', '.join(labels)}"


def label_text(label: Any) -> str:
    """Return what a command is: kernels are noted as themselves, since text costs time."""
    if isinstance(label, str):
        return label
    return f"launch of {label.op}({', '.join(label.dtypes)})"


def _clipped(context: Context, priority: int) -> int:
    least, greatest = (context.api.ffi.new("int *") for _ in range(2))
    context.call("cuCtxGetStreamPriorityRange", least, greatest)
    return max(int(greatest[0]), min(int(least[0]), priority))
