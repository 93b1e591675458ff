"""What decompositions of whole arrays are written with: ops by name, views, new arrays."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from phalanx._warm import Array, DType, compute, dtype_from_name, empty, fill, launch, view
from phalanx.optable import DTYPES, OPS

from .program import Number, Overload, part_of

INT64 = "int64"


@cache
def _signature(op: str, key: str) -> tuple[DType, ...]:
    row = OPS[op]
    found = next(s for s in row.signatures if s.inputs[row.key] == key)
    return tuple(map(dtype_from_name, found.dtypes))


def apply(op: str, *inputs: Array | Number, out: Array | None = None) -> Array:
    """Run an elementwise op on arrays and numbers, into ``out`` if it is given."""
    row = OPS[op]
    arrays = [x for x in inputs if isinstance(x, Array)]
    key = inputs[row.key]
    if not isinstance(key, Array):
        key = out if out is not None and op == "where" else arrays[-1]
    result: Array = compute(op, inputs, _signature(op, key.dtype.name), arrays[0].device, out)
    return result


def cast(x: Array, dtype: str, out: Array | None = None) -> Array:
    """Return an array in a dtype, itself if it has it and no place is given."""
    if x.dtype.name == dtype:
        return x if out is None else apply("copy", x, out=out)
    kinds = (x.dtype, dtype_from_name(dtype))
    result: Array = compute("cast", (x,), kinds, x.device, out)
    return result


def overload(op: str, *keys: str) -> set[Overload]:
    """Return the overloads of an op for operands of these dtypes."""
    row = OPS[op]
    return {(op, s.dtypes) for s in row.signatures if s.inputs[row.key] in keys}


def casts(*pairs: tuple[str, str]) -> set[Overload]:
    """Return the casts from each dtype to the other, copies where they are one."""
    return {("cast", p) if p[0] != p[1] else ("copy", p) for p in pairs}


def needs(*parts: Iterable[Overload]) -> frozenset[Overload]:
    """Return all of these overloads."""
    return frozenset(one for part in parts for one in part)


def new(shape: tuple[int, ...], dtype: str, like: Array) -> Array:
    """Return an array of unset memory on the device of another."""
    made: Array = empty(shape, dtype_from_name(dtype), like.device)
    return made


def full(shape: tuple[int, ...], value: complex, dtype: str, like: Array) -> Array:
    """Return an array of one number."""
    made = new(shape, dtype, like)
    fill(made, value)
    return made


def places(n: int, like: Array) -> Array:
    """Return 0, 1, ... n - 1 as int64."""
    made = new((n,), INT64, like)
    if n:
        ends = (full((), 0, INT64, like), full((), 1, INT64, like))
        launch("arange", ends, (made,))
    return made


def tail(x: Array, shape: tuple[int, ...], steps: tuple[int, ...], first: int = 0) -> Array:
    """Return a view that has several axes in place of the last one.

    ``steps`` count elements of that axis, and ``first`` is where along it the view begins.
    """
    stride = x.strides[-1]
    lead, gaps = x.shape[:-1], x.strides[:-1]
    found: Array = view(x, (*lead, *shape), (*gaps, *(s * stride for s in steps)), first * stride)
    return found


def run_of(x: Array, begin: int, end: int) -> Array:
    """Return a view of a run of the last axis."""
    return tail(x, (end - begin,), (1,), begin)


def parts(x: Array) -> tuple[Array, Array]:
    """Return the real and the imaginary parts of complex elements."""
    part = dtype_from_name(DTYPES[x.dtype.name].part)
    return part_of(x, part, 0), part_of(x, part, 1)


def part_dtype(dtype: str) -> str:
    """Return the dtype of the parts of complex numbers, that of accumulation for others."""
    facts = DTYPES[dtype]
    return facts.part or ("float32" if facts.is_half else dtype)
