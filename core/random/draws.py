"""Filling new arrays with what the ops of ``core/optable/random.py`` make."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from phalanx._warm import Array, Device, DType, empty, launch, number_on, view
from phalanx.arrays.data_types import astype, float32, float64, int64, uint64
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.conversion import asarray
from phalanx.namespace.creation import full
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_to, permute_dims, reshape
from phalanx.optable.random import BLOCK_WORDS, TRIES, WORDS

from .arguments import converted

if TYPE_CHECKING:
    from .covariance import HostArray
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
    out: Array = empty(shape, dtype, device)
    if out.size == 0:
        return out
    per = BLOCK_WORDS // WORDS[op][dtype.name]
    scalars = tuple([number_on(device, kind, value) for value, kind in operands])
    count = out.size
    flat = out if out.ndim == 1 else view(out, (count,), (1,))
    launch(op, scalars, (flat,), source.take(-(-count // per)))
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
    """Return True with probability p, to 2^-64 for a number.

    For arrays to 2^-53, or to 2^-24 for those of a shorter dtype than float64.
    """
    if isinstance(p, Array):
        kind = float32 if p.dtype.kind == "f" and p.dtype.itemsize < 8 else float64
        made: Array = uniform(source, shape, kind, device) < converted(p, kind)
        return made
    threshold = int(p * 2.0**64)
    if threshold < 2**64:
        return draw(source, "random_bernoulli", ((threshold, uint64),), shape, bool_, device)
    sure = full(shape, True, dtype=bool_, device=device)
    source.take(-(-sure.size // 2))  # what follows does not depend on p
    return sure


def number(value: float, dtype: DType, device: Device) -> Array:
    """Return a number as a 0-d array."""
    made: Array = number_on(device, dtype, value)
    return made


def tries(shape: Shape) -> int:
    """Return how many blocks `tried` takes for an array."""
    return TRIES * prod(shape)


def tried(
    source: Source,
    op: str,
    parameters: tuple[tuple[float | Array, DType], ...],
    shape: Shape,
    dtype: DType,
    device: Device,
) -> Array:
    """Return numbers that may need more than one try, each element with its own parameters."""
    out: Array = empty(shape, dtype, device)
    if out.size == 0:
        return out
    operands = []
    for value, kind in parameters:
        if isinstance(value, Array) and value.ndim:
            each = astype(broadcast_to(value, shape), kind, copy=False)
            operands.append(reshape(each, (out.size,)))
        elif isinstance(value, Array):
            operands.append(astype(value, kind, copy=False))
        else:
            operands.append(number(value, kind, device))
    launch(op, tuple(operands), (view(out, (out.size,), (1,)),), source.take(tries(shape)))
    return out


def counted(
    source: Source, op: str, parameters: tuple[float | Array, ...], shape: Shape, device: Device
) -> Array:
    """Return counts as int64; parameters are float64 for the op."""
    operands = tuple((value, float64) for value in parameters)
    return tried(source, op, operands, shape, int64, device)


def turned(made: Array, lower: HostArray, center: HostArray) -> Array:
    """Return vectors (..., d) of standard numbers times a triangular matrix (d, d), plus (d,)."""
    count = made.shape[-1]
    kind, device = made.dtype, made.device
    if not made.size:
        return made
    flat = reshape(made, (made.size // count, count))
    matrix = asarray(lower, dtype=kind, device=device)
    result = matmul(flat, permute_dims(matrix, (1, 0)))
    result += asarray(center, dtype=kind, device=device)
    return reshape(result, made.shape)
