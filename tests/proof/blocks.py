"""One block of inputs, computed by a device and compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import phalanx as px
from phalanx.conformance.reference.formats import host_dtype
from phalanx.namespace.public import public_function
from phalanx.optable import OPS

from .reference import Floats, compare, functions

#: Inputs of a block: the kernel and the comparison stay in the second cache.
BLOCK = 1 << 18
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What is checked: a function of a dtype on a device."""

    function: str
    dtype: str
    device: str

    @property
    def inputs(self) -> int:
        """The number of its inputs: all bits of the dtype."""
        return 1 << 8 * host_dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.function} of {self.dtype} on {self.device}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a block gave: bits of the inputs with wrong results, and how many mpmath decided."""

    end: int
    wrong: tuple[int, ...]
    decided: int


def unary_ops() -> tuple[str, ...]:
    """Return the ops of one floating operand, but ``cast`` and ``copy``: those of analysis first.

    Raises:
        RuntimeError: an op has no reference.
    """
    rows = {
        name
        for name, op in OPS.items()
        if op.structure == "elementwise" and op.arity == 1 and name not in ("cast", "copy")
        if any(signature.inputs[0] == "float32" for signature in op.signatures)
    }
    missing = rows - set(functions())
    if missing:
        raise RuntimeError(f"no reference in reference.c for {', '.join(sorted(missing))}")
    return tuple(name for name in functions() if name in rows)


def check_inputs(subject: Subject, bits: np.ndarray) -> Finding:
    """Compute and compare inputs (n,), given as their bits; blocks until that is done."""
    x = bits.view(host_dtype(subject.dtype))
    y = public_function(subject.function)(px.asarray(x, device=subject.device))
    verdict = compare(subject.function, subject.dtype, _widened(x), _widened(px.asnumpy(y)))
    wrong = tuple(int(bits[place]) for place in verdict.wrong)
    return Finding(0, wrong, verdict.decided)


def check_block(subject: Subject, begin: int, end: int) -> Finding:
    """Check the inputs whose bits are begin to end."""
    word = np.dtype(f"u{host_dtype(subject.dtype).itemsize}")
    found = check_inputs(subject, np.arange(end - begin, dtype=word) + word.type(begin))
    return Finding(end, found.wrong, found.decided)


def _widened(x: np.ndarray) -> Floats:
    """Numbers of at most 32 bits as float32, exactly."""
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(x.astype(np.float32, copy=False))
