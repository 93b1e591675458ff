"""Filling new arrays with what the ops of ``core/optable/random.py`` make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phalanx._warm import Array, Device, DType, launch, view
from phalanx.arrays.data_types import bool as bool_
from phalanx.arrays.data_types import float64, uint64
from phalanx.namespace.creation import empty, full
from phalanx.optable.random import BLOCK_WORDS, WORDS

from .arguments import converted

if TYPE_CHECKING:
    from .source import Source

Shape = tuple[int, ...]


def draw(
    source: Source,
    op: str,
    operands: tuple[tuple[int | float, DType], ...],
    shape: Shape,
    dtype: DType,
    device: Device,
) -> Array:
    """Return a new array of an op's numbers; ``operands`` are its scalars with their dtypes.

    Takes as many blocks of the source as the elements need, the last one whole.
    """
    out = empty(shape, dtype=dtype, device=device)
    if out.size == 0:
        return out
    per = BLOCK_WORDS // WORDS[op][dtype.name]
    scalars = tuple(full((), value, dtype=kind, device=device) for value, kind in operands)
    launch(op, scalars, (view(out, (out.size,), (1,)),), source.take(-(-out.size // per)))
    return out


def uniform(source: Source, shape: Shape, dtype: DType, device: Device) -> Array:
    """Return numbers in [0, 1)."""
    return draw(source, "random_uniform", ((0.0, dtype), (1.0, dtype)), shape, dtype, device)


def scaled(
    source: Source,
    op: str,
    shift: float | Array,
    scale: float | Array,
    shape: Shape,
    dtype: DType,
    device: Device,
) -> Array:
    """Return standard numbers times scale plus shift: at once for numbers, after that for arrays.

    In place for arrays, so that one array is made.
    """
    numbers = isinstance(shift, float) and isinstance(scale, float)
    used: Any = (shift, scale) if numbers else (0.0, 1.0)
    made = draw(source, op, tuple((value, dtype) for value in used), shape, dtype, device)
    if not numbers:
        made *= converted(scale, dtype)
        made += converted(shift, dtype)
    return made


def bits(source: Source, shape: Shape, dtype: DType, device: Device) -> Array:
    """Return random bits as uint32 or uint64."""
    mask = 2 ** (8 * dtype.itemsize) - 1
    return draw(source, "random_bits", ((mask, dtype),), shape, dtype, device)


def coins(source: Source, p: float | Array, shape: Shape, device: Device) -> Array:
    """Return True with probability p, to 2^-64 for a number and 2^-53 for an array."""
    if isinstance(p, Array):
        kind = p.dtype if p.dtype.kind == "f" else float64
        return uniform(source, shape, kind, device) < converted(p, kind)
    threshold = int(p * 2.0**64)
    if threshold < 2**64:
        return draw(source, "random_bernoulli", ((threshold, uint64),), shape, bool_, device)
    made = full(shape, True, dtype=bool_, device=device)
    source.take(-(-made.size // 2))  # what follows does not depend on p
    return made


def number(value: float, dtype: DType, device: Device) -> Array:
    """Return a number as a 0-d array."""
    return full((), value, dtype=dtype, device=device)
