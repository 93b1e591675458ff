"""What eigenvectors and singular vectors have in common: rotations, and the choice of a phase."""

from __future__ import annotations

from phalanx._warm import Array, every, factor, some
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.taking import take_along_axis
from phalanx.optable.factors import SWEEPS

from .operands import conjugate


def orthogonal_columns(a: Array, x: Array, op: str) -> tuple[Array, Array]:
    """Return A V, whose columns are orthogonal, and the unitary V, for a stack (b, m, n).

    Waits for the check; ``x`` is what the caller was given.

    Raises:
        ValueError: elements that are NaN or infinite, or columns that did not become orthogonal.
    """
    _, m, n = a.shape
    made = factor("jacobi", a.mT.mT, m + n + 1, n)
    need_finite(made, x, op)
    sweeps = made[:, m + n, :1]
    if some(elementwise.real(sweeps) < 0 if a.dtype.kind == "c" else sweeps < 0):
        raise ValueError(f"{op} of shape {x.shape} did not converge in {SWEEPS} sweeps")
    return made[:, :m], made[:, m : m + n]


def need_finite(a: Array, x: Array, op: str) -> None:
    """Wait, and refuse ``x``, which the caller was given, if elements of ``a`` are not finite."""
    if not every(elementwise.isfinite(a)):
        raise ValueError(f"{op} of shape {x.shape}: elements are NaN, infinite, or their sum is")


def turned_real(vectors: Array) -> tuple[Array, Array]:
    """Return the columns of a stack times phases (b, 1, n), and the phases.

    So that the element of largest magnitude of each, the first of several, is real and positive.
    """
    sizes = elementwise.abs(vectors)
    place = reductions.argmax(sizes, axis=-2, keepdims=True)
    largest = take_along_axis(vectors, place, axis=-2)
    phases = conjugate(elementwise.sign(largest))
    return vectors * phases, phases
