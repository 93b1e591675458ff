"""Sums, products and scans bit by bit, in the order of evaluation that docs/ops.md states.

Each step is one operation of NumPy in the dtype, or an fma, rounded once (IEEE 754-2019, 5.4.1), so
the bits are those that a kernel of class bitwise promises.
"""

from __future__ import annotations

import numpy as np
from phalanx.optable.structured import BLOCK, LANES, SCAN_BLOCK

from .formats import PARTS
from .near import ACCUMULATOR
from .steps import Parts, Steps, numbers_of
from .values import HostArray

#: Rows of a target that are added from the left.
RUN = 256

_STEPS = {
    **{"sum": np.add, "cumulative_sum": np.add, "sum_squared_deviations": np.add},
    **{"prod": np.multiply, "cumulative_prod": np.multiply},
}
#: Ops whose order is known here.
ORDERED = tuple(_STEPS)


def in_stated_order(op: str, x: HostArray) -> HostArray:
    """Return the result of an op of `ORDERED` for rows (..., n), n > 0, of float32 or float64.

    Sums may be those of any floating dtype: float16 and bfloat16 stay in float32, complex numbers
    are added part by part.
    """
    step, name = _STEPS[op], x.dtype.name
    with np.errstate(all="ignore"):
        if name in PARTS:
            parts = [in_stated_order(op, np.ascontiguousarray(p)) for p in (x.real, x.imag)]
            return np.asarray(np.stack(parts, axis=-1).view(x.dtype)[..., 0])
        wide = x.astype(ACCUMULATOR[name])
        if op == "sum_squared_deviations":
            mean = _reduce(wide, step) / wide.dtype.type(x.shape[-1])
            wide = np.square(wide - mean[..., None])
        found = _scan(wide, step) if op.startswith("cumulative") else _reduce(wide, step)
        return found.astype(x.dtype)


def product_in_stated_order(a: HostArray, b: HostArray) -> HostArray:
    """Return the matrix product (m, n) of (m, k) and (k, n), k > 0; not of the short dtypes."""
    steps = Steps(a.dtype.name)
    found = np.empty((len(a), b.shape[1]), a.dtype)
    for i, j in np.ndindex(found.shape):
        blocks = [slice(first, first + BLOCK) for first in range(0, len(b), BLOCK)]
        totals = [_chain(steps, a[i, block], b[block, j]) for block in blocks]
        found[i, j] = _tree(np.array(totals, a.dtype), np.add)
    return found


def _chain(steps: Steps, a: HostArray, b: HostArray) -> complex:
    """The inner product as one chain of fma, or one for each part."""
    total = steps.zero
    for x, y in zip(_numbers(a), _numbers(b), strict=True):
        total = steps.plus(total, x, y)
    return complex(*total) if steps.is_complex else total[0]


def _numbers(x: HostArray) -> list[Parts]:
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    return numbers_of([p.tolist() for p in parts])


def runs_in_stated_order(rows: HostArray) -> HostArray:
    """Return the sum (k,) of the rows (m, k) of one target, m > 0, of float32 or float64."""
    while len(rows) > 1:
        runs = [rows[at : at + RUN] for at in range(0, len(rows), RUN)]
        rows = np.stack([np.add.accumulate(run, axis=0)[-1] for run in runs])
    return np.asarray(rows[0])


def _reduce(x: HostArray, step: np.ufunc) -> HostArray:
    totals = [_block(x[..., at : at + BLOCK], step) for at in range(0, x.shape[-1], BLOCK)]
    return _tree(np.stack(totals, axis=-1), step)


def _block(x: HostArray, step: np.ufunc) -> HostArray:
    lanes = x[..., :LANES].copy()
    for at in range(LANES, x.shape[-1], LANES):
        part = x[..., at : at + LANES]
        lanes[..., : part.shape[-1]] = step(lanes[..., : part.shape[-1]], part)
    return _tree(lanes, step)


def _tree(parts: HostArray, step: np.ufunc) -> HostArray:
    parts = parts.copy()
    half = 1 << max(0, parts.shape[-1] - 1).bit_length() >> 1
    while half:
        right = parts[..., half:]
        count = right.shape[-1]
        parts = np.concatenate([step(parts[..., :count], right), parts[..., count:half]], axis=-1)
        half //= 2
    return parts[..., 0]


def _scan(x: HostArray, step: np.ufunc) -> HostArray:
    blocks = [x[..., at : at + SCAN_BLOCK] for at in range(0, x.shape[-1], SCAN_BLOCK)]
    running = [step.accumulate(block, axis=-1) for block in blocks]
    if len(running) == 1:
        return running[0]
    carries = _scan(np.stack([block[..., -1] for block in running[:-1]], axis=-1), step)
    behind = [step(carries[..., i : i + 1], block) for i, block in enumerate(running[1:])]
    return np.concatenate([running[0], *behind], axis=-1)
