"""Products of matrices by cuBLAS, without TF32: class ``reproducible``."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from phalanx.device_code.axes import Axes, merged
from phalanx.vendor import Array, Kernel, Layout, Operand

from .libraries import LibraryRecipe, provider, run_or_else

if TYPE_CHECKING:
    from phalanx.device_code.env import Env

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
#: CUBLAS_OP_N, CUBLAS_OP_T; all numbers of a call but strides are ints.
_AS_IT_IS, _TRANSPOSED, _MOST = 0, 1, 2**31 - 1


def kernels_of(op: str, dtypes: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Return the kernel for an op, or none; imports nothing."""
    if op != "matmul" or dtypes[0] not in _LETTERS or not provider("cublas"):
        return ()
    return (_kernel(dtypes, provider("cublas")),)


@cache
def _kernel(dtypes: tuple[str, ...], made_by: str) -> Kernel:
    return Kernel(
        "matmul",
        dtypes,
        Layout.ANY,
        name="cublas_matmul",
        determinism="reproducible",
        provider=made_by,
        handle=LibraryRecipe((), _launch, "reproducible"),
    )


class _Panel(NamedTuple):
    """How BLAS, which goes down columns, reads the transpose of a matrix."""

    op: int
    lead: int

    def flipped(self) -> int:
        """Return the op that gives the matrix itself."""
        return _TRANSPOSED if self.op == _AS_IT_IS else _AS_IT_IS


def _panel(x: Array) -> _Panel | None:
    """Return how a matrix is read, ``None`` if neither of its axes is dense."""
    (rows, columns), (down, right) = x.shape[-2:], x.strides[-2:]
    if (right == 1 or columns == 1) and (rows == 1 or down >= columns):
        return _Panel(_AS_IT_IS, columns if rows == 1 else down)
    if (down == 1 or rows == 1) and (columns == 1 or right >= rows):
        return _Panel(_TRANSPOSED, rows if columns == 1 else right)
    return None


def _launch(
    env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
) -> None:
    """Enqueue the products; those that cuBLAS does not take go to the device's own kernel."""
    del params
    a, b, o = _arrays(inputs, outputs)
    if not o.size:
        return
    batch = merged(o.shape[:-2], *(x.strides[:-2] for x in (a, b, o)))
    panels = [_panel(x) for x in (a, b, o)]
    numbers = (*o.shape[-2:], a.shape[-1], *batch.shape, *(p.lead for p in panels if p))
    takes = a.shape[-1] > 0 and max(numbers) <= _MOST and min(sum(batch.steps, (0,))) >= 0
    if not (takes and all(panels)) or not run_or_else(
        env, "cublas", lambda lib, handle: _multiply(lib, handle, (a, b, o), panels, batch)
    ):
        env.run("matmul", inputs, outputs)


def _arrays(inputs: Sequence[Operand], outputs: Sequence[Array]) -> list[Array]:
    return [x for x in (*inputs, *outputs) if isinstance(x, Array)]


def _multiply(
    library: Any, handle: int, arrays: Sequence[Array], panels: Sequence[Any], batch: Axes
) -> None:
    """Call cuBLAS once for each place of all batch axes but the last."""
    k, o = arrays[0].shape[-1], arrays[-1]
    (m, n), size = o.shape[-2:], o.itemsize
    one, zero = _numbers(o.dtype.name)
    gemm = getattr(library, f"{_LETTERS[o.dtype.name]}gemmStridedBatched")
    count = batch.shape[-1] if batch.shape else 1
    strides = [steps[-1] if steps else 0 for steps in batch.steps]
    for index in itertools.product(*map(range, batch.shape[:-1])):
        at = [
            x.buffer.handle + x.offset + size * sum(map(operator.mul, index, steps))
            for x, steps in zip(arrays, batch.steps, strict=True)
        ]
        left, right = (at[0], panels[0].lead, strides[0]), (at[1], panels[1].lead, strides[1])
        if panels[2].op == _AS_IT_IS:  # the transpose of the result, b^T a^T, is what is dense
            ops, sizes = (panels[1].op, panels[0].op), (n, m, k)
            first, second = right, left
        else:
            ops, sizes = (panels[0].flipped(), panels[1].flipped()), (m, n, k)
            first, second = left, right
        result = (at[2], panels[2].lead, strides[2])
        gemm(handle, *ops, *sizes, one, *first, *second, zero, *result, count)


@cache
def _constants(dtype: str) -> tuple[Any, Any]:
    return np.ones(1, dtype), np.zeros(1, dtype)


def _numbers(dtype: str) -> tuple[int, int]:
    """Return the addresses of one and zero in the host's memory."""
    one, zero = _constants(dtype)
    return int(one.ctypes.data), int(zero.ctypes.data)
