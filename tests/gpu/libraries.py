"""NVIDIA's libraries on a card, beside the bitwise kernels: ``python -m gpu.libraries cuda:0``.

Each op that has a kernel of class ``reproducible`` beside its bitwise one runs twice with that and
once with the other: the two must have the same bits, and the result must be right. Sorts must have
the bits of the bitwise kernel. Ends with 1 if that is not so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import phalanx as px
from phalanx import linalg

Host = npt.NDArray[Any]
DTYPES = ("float32", "float64", "complex64", "complex128")
EXACT = ("sort", "argsort")


class Work(NamedTuple):
    """What an op is tried with: operands on the host, and the public function."""

    op: str
    dtype: str
    x: Host
    function: Callable[[px.Array], px.Array]
    #: What must be near 0, made of operand and result; ``None`` where bits are compared.
    gauge: Callable[[Host, Host], Host] | None = None


def _drawn(dtype: str, *shape: int) -> Host:
    rng = np.random.default_rng(11)
    x = rng.standard_normal(shape)
    return (x + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)).astype(dtype)


def works(n: int, rows: int) -> Iterator[Work]:
    """Yield work for square matrices of n rows, and for rows of so many numbers."""
    for dtype in DTYPES:
        x = _drawn(dtype, n, n)
        whole = (x @ x.conj().T / n + 2 * np.eye(n)).astype(dtype)
        yield Work("matmul", dtype, x, lambda a: a @ a, lambda h, y: h @ h - y)
        yield Work("cholesky", dtype, whole, linalg.cholesky, lambda h, y: y @ y.conj().T - h)
        yield Work("eigh", dtype, whole, linalg.eigvalsh, lambda h, y: np.linalg.eigvalsh(h) - y)
        if dtype[0] == "c":
            for axis in (0, 1):
                yield Work(
                    "fft",
                    dtype,
                    _drawn(dtype, 3 * n, 48),
                    lambda a, axis=axis: px.fft.fft(a, axis=axis, norm="ortho"),
                    lambda h, y, axis=axis: np.fft.fft(h, axis=axis, norm="ortho") - y,
                )
    for dtype in ("int32", "float32", "uint64", "float64"):
        x = (np.random.default_rng(12).standard_normal((2, rows)) * 99).astype("int32")
        for op in EXACT:
            yield Work(op, dtype, x.astype(dtype), getattr(px, op))


def problem(work: Work, device: str) -> str:
    """Return what is wrong with an op by a library on a device, empty if nothing is."""
    x = px.asarray(work.x, device=device)
    made = []
    former = px.use_deterministic_algorithms("bitwise")
    try:
        for mode in ("bitwise", "reproducible", "reproducible"):
            px.use_deterministic_algorithms(mode)
            made.append(px.asnumpy(work.function(x)))
    finally:
        px.use_deterministic_algorithms(former)
    bitwise, first, second = made
    if first.tobytes() != second.tobytes():
        return "two runs have different bits"
    if work.gauge is None:
        return "" if first.tobytes() == bitwise.tobytes() else "not the bits of the bitwise kernel"
    error = float(np.abs(work.gauge(work.x, first)).max())
    most = 100 * work.x.shape[0] * float(np.finfo(work.dtype).eps)
    return "" if error <= most else f"an error of {error:.1e}, more than {most:.1e}"


def main(device: str) -> int:
    """Try all; returns the exit code."""
    failed = 0
    with px.device(device):
        for work in works(256, 2**17):
            found = {
                kernel.provider
                for kernel in px.kernels(work.op, device)
                if kernel.dtypes[0] == work.dtype and kernel.determinism == "reproducible"
            }
            wrong = problem(work, device) if found else ""
            failed += bool(wrong)
            by = ", ".join(sorted(found)) or "no library"
            print(f"{work.op}({work.dtype}) by {by}: {wrong or ('right' if found else 'left out')}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
