"""Search in sorted numbers, selection under masks, and counting by sorting."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, launch, view
from phalanx.driver import Operand
from phalanx.optable.structured import NO_PLACE

from .program import Overload
from .reductions import scanned_freely
from .sorting import key_dtype, key_steps, keys_of
from .steps import INT64, apply, cast, casts, full, needs, new, overload, places, run_of
from .table import Decomposition


def searching(dtypes: tuple[str, ...]) -> Decomposition:
    """The number of keys before each value, a power of two at a time from the largest down."""
    dtype = dtypes[0]
    word = key_dtype(dtype)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (ordered, values), (out,) = inputs, outputs
        assert isinstance(ordered, Array)
        assert isinstance(values, Array)
        (n,), right = ordered.shape, bool(params[0])
        if not out.size:
            return
        keys, wanted = (keys_of(x, one_zero=True) for x in (ordered, values))
        row = new(keys.shape, word, out)
        apply("copy", keys, out=row)
        found = full(out.shape, 0, INT64, out)
        step = 1 << (n.bit_length() - 1) if n else 0
        while step:
            ahead = apply("add", found, step)
            at = apply("subtract", apply("minimum", ahead, n), 1)
            key = new(out.shape, word, out)
            launch("gather", (view(row, (), ()), at), (key,))
            before = apply("less_equal" if right else "less", key, wanted)
            goes = apply("bitwise_and", before, apply("less_equal", ahead, n))
            found = apply("where", goes, ahead, found)
            step //= 2
        apply("copy", found, out=out)

    steps = key_steps(dtype) | casts((word, word), (INT64, INT64)) | overload("gather", word)
    steps |= overload("less", word) | overload("less_equal", word, INT64)
    steps |= overload("bitwise_and", "bool") | overload("where", INT64)
    steps |= overload("add", INT64) | overload("subtract", INT64) | overload("minimum", INT64)
    return Decomposition(needs(steps), run)


def _targets(mask: Array, stride: int) -> Array:
    """The offset that each true element of a mask goes to, and no place for the others."""
    before = scanned_freely("add", cast(mask, INT64))
    offsets = apply("multiply", apply("subtract", before, 1), stride)
    return apply("where", mask, offsets, NO_PLACE)


_TARGET_STEPS: set[Overload] = (
    casts(("bool", INT64), (INT64, INT64))
    | overload("add", INT64)
    | overload("subtract", INT64)
    | overload("multiply", INT64)
    | overload("where", INT64)
)


def selecting_places(dtypes: tuple[str, ...]) -> Decomposition:
    """The places of true elements go to where their turn is."""
    del dtypes

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (mask,), (out,) = inputs, outputs
        assert isinstance(mask, Array)
        if out.size:
            offsets = _targets(mask, out.strides[0])
            launch("scatter", (places(mask.size, out), offsets), (view(out, (), ()),))

    steps = _TARGET_STEPS | overload("arange", INT64) | overload("scatter", INT64)
    return Decomposition(needs(steps), run)


def selecting_rows(dtypes: tuple[str, ...]) -> Decomposition:
    """Rows go to where their turn is."""

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x, mask), (out,) = inputs, outputs
        assert isinstance(x, Array)
        assert isinstance(mask, Array)
        if out.size:
            offsets = _targets(mask, out.strides[0])
            row = view(out, out.shape[1:], out.strides[1:])
            launch("scatter", (x, offsets), (row,))

    return Decomposition(needs(_TARGET_STEPS, overload("scatter", dtypes[0])), run)


def _sorted(x: Array) -> Array:
    made = new(x.shape, x.dtype.name, x)
    launch("sort", (x,), (made,), (0,))
    return made


def _before(ordered: Array, values: Array, right: int) -> Array:
    made = new(values.shape, INT64, values)
    launch("searchsorted", (ordered, values), (made,), (right,))
    return made


def counting_numbers(dtypes: tuple[str, ...]) -> Decomposition:
    """``bincount``: how many of the sorted numbers lie between both sides of each target."""
    del dtypes

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (ids,), (out,) = inputs, outputs
        assert isinstance(ids, Array)
        if not out.size:
            return
        if not ids.size:
            apply("copy", full((), 0, INT64, out), out=out)
            return
        ordered, targets = _sorted(ids), places(out.size, out)
        ends = [_before(ordered, targets, right) for right in (1, 0)]
        apply("subtract", *ends, out=out)

    steps = overload("sort", INT64) | overload("searchsorted", INT64) | overload("arange", INT64)
    return Decomposition(needs(steps, overload("subtract", INT64), casts((INT64, INT64))), run)


def counting_intervals(dtypes: tuple[str, ...]) -> Decomposition:
    """``histogram``: how many of the sorted elements lie between two edges."""
    dtype = dtypes[0]

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x, edges), (out,) = inputs, outputs
        assert isinstance(x, Array)
        assert isinstance(edges, Array)
        n = out.size
        if not n:
            return
        if not x.size:
            apply("copy", full((), 0, INT64, out), out=out)
            return
        ordered = _sorted(x)
        below = _before(ordered, edges, 0)
        last = _before(ordered, run_of(edges, n, n + 1), 1)
        apply("copy", last, out=run_of(below, n, n + 1))
        apply("subtract", run_of(below, 1, n + 1), run_of(below, 0, n), out=out)

    steps = overload("sort", dtype) | overload("searchsorted", dtype)
    return Decomposition(needs(steps, overload("subtract", INT64), casts((INT64, INT64))), run)
