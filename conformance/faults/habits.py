"""Faults of a device that does something else after many times, or in each process."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work

from .device import SoundDevice, SoundDriver
from .fault import driver_fault, kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


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
