"""Faults of a device that does something else the first time, after many, or in each process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from phalanx.testing import HostArray, Task, Work, Worker
from phalanx.vendor import Array, Kernel, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault, kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


@driver_fault("ops")
class FirstLaunchIsOvertaken(SoundDevice):
    """The first launch of a kernel compiles it aside, and the next one on its stream overtakes."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._known: set[tuple[str, tuple[str, ...]]] = set()
        self._aside: dict[Worker | None, tuple[Task, str]] = {}
        self._is_first = False

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        name = kernel.op, kernel.dtypes
        self._is_first = name not in self._known
        self._known.add(name)
        super().launch(kernel, inputs, outputs, params, stream=stream)

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        kept = self._aside.pop(stream, None)
        first, self._is_first = self._is_first, False
        if first and kept is None and stream is not None:
            self._aside[stream] = task, what
            return
        is_copy = what.startswith("copy of")
        if kept is not None and is_copy:
            super().submit(stream, *kept)
        super().submit(stream, task, what)
        if kept is not None and not is_copy:
            super().submit(stream, *kept)

    def stream_synchronize(self, stream: Worker | None, timeout: float | None = None) -> None:
        self._flush(stream)
        super().stream_synchronize(stream, timeout)

    def stream_query(self, stream: Worker | None) -> bool:
        self._flush(stream)
        return super().stream_query(stream)

    def event_record(self, event: Any, stream: Worker | None) -> None:
        self._flush(stream)
        super().event_record(event, stream)

    def _flush(self, stream: Worker | None) -> None:
        kept = self._aside.pop(stream, None)
        if kept is not None:
            super().submit(stream, *kept)


@driver_fault("semantics")
class RowOfCopiesOverruns(SoundDevice):
    """Copies by kernels, one after the other, are gathered in 256 places: a further one is lost."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._row = 0

    def run(self, work: Work) -> None:
        self._row = self._row + 1 if work.op == "copy" else 0
        if self._row <= 256:
            super().run(work)


@kernel_fault("sum", group="determinism")
def sum_depends_on_the_process(work: Work, right: Compute) -> None:
    """Sums begin with another lane in each process: the same bits until the next one."""
    n = work.x.shape[-1]
    if work.dtypes[0] in _FLOATS and n > 64:
        work.inputs[0] = np.roll(work.x, 1 + os.getpid() % 63, axis=-1)
    right(work)


@kernel_fault("cumulative_sum", "cumulative_prod", group="determinism")
def scan_in_blocks_of_512(work: Work, right: Compute) -> None:
    """Scans of floats have a running total of 512 elements and not of 256."""
    if work.dtypes[0] not in _FLOATS:
        right(work)
        return
    step = np.add if work.op == "cumulative_sum" else np.multiply
    with np.errstate(all="ignore"):
        carry = None
        for first in range(0, work.x.shape[-1], 512):
            block = step.accumulate(work.x[..., first : first + 512], axis=-1)
            block = block if carry is None else step(carry, block)
            work.out[..., first : first + 512] = block
            carry = block[..., -1:]


@kernel_fault("sort", group="ops")
def bad_pivots_end_early(work: Work, right: Compute) -> None:
    """A quicksort that meets twenty pivots without halving a row leaves what it has."""
    right(work)
    if work.dtypes[0] in ("int32", "int64") and not work.params[0]:
        for at in np.ndindex(work.x.shape[:-1]):
            rest = _left_by_pivots(np.array(work.x[at]))
            if rest is not None:
                work.out[at][-len(rest) :] = rest


def _left_by_pivots(left: HostArray) -> HostArray | None:
    """Return what twenty bad pivots in turn leave of a row, ``None`` if one is good."""
    for _ in range(20):
        n = len(left)
        if n <= 256:
            return None
        step, jitter, sample = n // 16, n * 2_654_435_769 % 2**32, []
        for i in range(16):
            sample.append(left[i * step + (jitter * step >> 32)])
            jitter = (jitter * 1_664_525 + 1_013_904_223) % 2**32
        left = left[left >= sorted(sample)[8]]
        if len(left) < n * 0.9:
            return None
    return left
