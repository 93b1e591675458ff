"""SciPy's LAPACK for matrices in the host's memory, if it is there: ``reproducible`` kernels.

They take matrices of any extents at once, with threads of their own, and block until they are done.
Only what is faster than the kernels of this room is here: LU, QR and singular values are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module, metadata
from typing import Any

import numpy as np
import numpy.typing as npt
from phalanx.vendor import Array, Kernel, Layout, Operand

_HostArray = npt.NDArray[Any]
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


@cache
def _provider() -> str:
    """The name and version of SciPy, empty where it is not installed."""
    try:
        return f"scipy {metadata.version('scipy')}"
    except metadata.PackageNotFoundError:
        return ""


def kernels_of(op: str, dtypes: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Return the kernel for an op that factors, or none; imports nothing."""
    if op not in _FACTORS or not _provider():
        return ()
    kernel = Kernel(
        op,
        dtypes,
        Layout.ANY,
        name=f"lapack_{op}",
        determinism="reproducible",
        provider=_provider(),
        handle=_FACTORS[op],
    )
    return (kernel,)


def launch(kernel: Kernel, inputs: Sequence[Operand], outputs: Sequence[Array]) -> None:
    """Factor every matrix of the stacks; the streams that they are on have nothing left to do.

    Raises:
        RuntimeError: LAPACK says that it was called wrongly.
    """
    (stack,) = (_view(x) for x in inputs if isinstance(x, Array))
    out = _view(outputs[0])
    for number in range(len(out)) if out.size else ():
        out[number] = kernel.handle(stack[number])


class _Memory:
    """What NumPy asks of an array that lies in the host's memory."""

    def __init__(self, x: Array) -> None:
        dtype = np.dtype(str(x.dtype))
        self.__array_interface__ = {
            "version": 3,
            "data": (x.buffer.handle + x.offset, False),
            "shape": x.shape,
            "strides": tuple(stride * dtype.itemsize for stride in x.strides),
            "typestr": dtype.str,
        }


def _view(x: Array) -> _HostArray:
    if not x.size:
        return np.empty(x.shape, str(x.dtype))
    return np.asarray(_Memory(x))


def _call(name: str, x: _HostArray, *args: Any, **options: Any) -> Any:
    """Call a function of LAPACK for the dtype of a matrix; its last result is an error's number."""
    letter = _LETTERS[x.dtype.name]
    if letter in "cz" and name == "syevd":
        name = "heevd"
    function: Callable[..., Any] = getattr(import_module("scipy.linalg.lapack"), letter + name)
    *made, info = function(x, *args, **options)
    if info < 0:
        raise RuntimeError(f"LAPACK's {letter}{name} refuses its argument {-info}")
    return (*made, info)


def _cholesky(x: _HostArray) -> _HostArray:
    """By the upper factor of the transpose, which lies in memory as LAPACK has it."""
    made, info = _call("potrf", np.array(x, order="C").T, lower=0, clean=1, overwrite_a=1)
    factor: _HostArray = made.T
    if info > 0:
        bad = np.tril(np.ones(factor.shape, bool))
        bad[:, : info - 1] = False
        factor[bad] = np.nan
    return factor


def _eigh(x: _HostArray) -> _HostArray:
    n = len(x)
    if not np.isfinite(np.tril(x)).all():
        return np.full((n + 2, n), np.nan, x.dtype)
    values, vectors, info = _call("syevd", np.array(x, order="F"), lower=1, overwrite_a=1)
    rows = (vectors.T, values[None].astype(x.dtype), np.full((1, n), -1 if info else 1, x.dtype))
    return np.concatenate(rows)


_FACTORS: dict[str, Callable[[_HostArray], _HostArray]] = {
    "cholesky": _cholesky,
    "eigh": _eigh,
}
