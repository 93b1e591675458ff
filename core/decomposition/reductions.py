"""Reductions and scans as ops on pairs of elements, in the order that docs/ops.md defines."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, launch
from phalanx.driver import Operand
from phalanx.optable import BLOCK, DTYPES, LANES, SCAN_BLOCK

from .program import Number
from .steps import (
    INT64,
    apply,
    cast,
    casts,
    full,
    needs,
    new,
    overload,
    part_dtype,
    parts,
    places,
    run_of,
    tail,
)
from .table import Decomposition

_OF_TWO = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_OF_TWO |= {"cumulative_sum": "add", "cumulative_prod": "multiply"}
_IDENTITY: dict[str, Number] = {"sum": 0, "prod": 1, "any": False, "all": True}


def halved(op: str, x: Array) -> Array:
    """Reduce the last axis of at least one element by an op that does not mind the order."""
    n = x.shape[-1]
    while n > 1:
        rest = (n + 1) // 2
        low = new((*x.shape[:-1], rest), x.dtype.name, x)
        apply(op, run_of(x, 0, n - rest), run_of(x, rest, n), out=run_of(low, 0, n - rest))
        if n % 2:
            apply("copy", run_of(x, rest - 1, rest), out=run_of(low, rest - 1, rest))
        x, n = low, rest
    return tail(x, (), ())


def _joined(op: str, x: Array, n: int) -> Array:
    """Combine the last axis, of ``n`` elements that may be overwritten, in the tree."""
    half = 1 << max(n - 1, 0).bit_length()
    while half := half // 2:
        count = min(half, n - half)
        if count > 0:
            low = run_of(x, 0, count)
            apply(op, low, run_of(x, half, half + count), out=low)
            n = half
    return tail(x, (), ())


def _blocks(op: str, x: Array, begin: int, blocks: int, size: int) -> Array:
    """Reduce blocks of the same size: ``(..., blocks)``."""
    lanes = min(size, LANES)
    held = new((*x.shape[:-1], blocks, lanes), x.dtype.name, x)
    apply("copy", tail(x, (blocks, lanes), (BLOCK, 1), begin), out=held)
    for first in range(LANES, size, LANES):
        width = min(LANES, size - first)
        low = run_of(held, 0, width)
        apply(op, low, tail(x, (blocks, width), (BLOCK, 1), begin + first), out=low)
    return _joined(op, held, lanes)


def in_tree(op: str, x: Array) -> Array:
    """Reduce the last axis of at least one element in the order of the op table."""
    n = x.shape[-1]
    whole, rest = divmod(n, BLOCK)
    if whole == 0:
        return tail(_blocks(op, x, 0, 1, rest), (), ())
    count = whole + (rest > 0)
    totals = new((*x.shape[:-1], count), x.dtype.name, x)
    apply("copy", _blocks(op, x, 0, whole, BLOCK), out=run_of(totals, 0, whole))
    if rest:
        last = _blocks(op, x, whole * BLOCK, 1, rest)
        apply("copy", last, out=run_of(totals, whole, count))
    return _joined(op, totals, count)


def reduced(op: str, x: Array) -> Array:
    """Reduce the last axis by an op of the table that keeps the dtype."""
    made = new(x.shape[:-1], x.dtype.name, x)
    launch(op, (x,), (made,))
    return made


def folding(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """Sums, products, means and extremes; what is not in the dtype of its sum goes by another."""
    source, result = dtypes
    kind = DTYPES[source].kind
    by_parts = kind == "c" and op != "prod"
    wide = source if kind == "c" and op == "prod" else part_dtype(source)
    if op in ("max", "min"):
        wide = source
    elif kind in "iu":
        wide = result
    inner = "sum" if op == "mean" else op
    is_tree = (inner, wide, wide) == (op, source, result)
    exact = kind in "iu" or op in ("max", "min")

    def found(x: Array) -> Array:
        if not is_tree:
            return reduced(inner, x)
        return (halved if exact else in_tree)(_OF_TWO[op], x)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        pairs = zip(parts(x), parts(out), strict=True) if by_parts else ((x, out),)
        for one, target in pairs:
            n = one.shape[-1]
            if n == 0:
                empty = full((), float("nan") if op == "mean" else _IDENTITY[op], wide, out)
                cast(empty, target.dtype.name, out=target)
                continue
            total = found(cast(one, wide))
            if op == "mean":
                total = apply("divide", total, n)
            cast(total, target.dtype.name, out=target)

    steps = overload(_OF_TWO[op] if is_tree else inner, wide) | casts((wide, wide))
    steps |= overload("divide", wide) if op == "mean" else set()
    if not by_parts:
        steps |= casts((source, wide), (wide, result))
    return Decomposition(needs(steps), run)


def deviating(dtypes: tuple[str, ...]) -> Decomposition:
    """``sum_squared_deviations``: the mean, differences, their squares and the sum."""
    dtype = dtypes[0]

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if x.shape[-1]:
            x = apply("subtract", x, reduced("mean", x)[..., None])
            x = apply("multiply", x, x)
        launch("sum", (x,), (out,))

    steps = frozenset().union(
        *(overload(step, dtype) for step in ("mean", "subtract", "multiply", "sum"))
    )
    return Decomposition(needs(steps), run)


def logical(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """``any``, ``all`` and ``count_nonzero``."""
    source = dtypes[0]
    combine = {"any": "bitwise_or", "all": "bitwise_and", "count_nonzero": "sum"}[op]
    held = "int64" if op == "count_nonzero" else "bool"

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if x.shape[-1] == 0:
            apply("copy", full((), _IDENTITY.get(op, 0), held, out), out=out)
            return
        truth = cast(x, "bool")
        if op == "count_nonzero":
            apply("copy", reduced("sum", cast(truth, INT64)), out=out)
        else:
            apply("copy", halved(combine, truth), out=out)

    steps = overload(combine, held) | casts((source, "bool"), (held, held), ("bool", held))
    return Decomposition(needs(steps), run)


def placing(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """The first place of the largest or smallest: the first that equals it, or that is NaN."""
    source = dtypes[0]
    floats = DTYPES[source].kind == "f"

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        best = reduced(op[3:], x)[..., None]
        there = apply("equal", x, best)
        if floats:
            there = apply("bitwise_or", there, apply("not_equal", x, x))
        n = x.shape[-1]
        first = apply("where", there, places(n, x), full((), n, INT64, x))
        apply("copy", reduced("min", first), out=out)

    steps = overload(op[3:], source) | overload("equal", source)
    steps |= overload("where", INT64) | overload("min", INT64) | overload("arange", INT64)
    steps |= casts((source, source), (INT64, INT64))
    if floats:
        steps |= overload("not_equal", source) | overload("bitwise_or", "bool")
    return Decomposition(needs(steps), run)


def _scanned(op: str, x: Array, out: Array) -> None:
    """Scan the last axis in the order of the op table."""
    n = x.shape[-1]
    whole, rest = divmod(n, SCAN_BLOCK)
    apply("copy", x, out=out)
    for begin, blocks, size in ((0, whole, SCAN_BLOCK), (whole * SCAN_BLOCK, 1, rest)):
        for i in range(1, size if blocks else 0):
            before = tail(out, (blocks,), (SCAN_BLOCK,), begin + i - 1)
            here = tail(out, (blocks,), (SCAN_BLOCK,), begin + i)
            apply(op, before, here, out=here)
    if n <= SCAN_BLOCK:
        return
    totals = tail(out, (whole,), (SCAN_BLOCK,), SCAN_BLOCK - 1)
    carries = new(totals.shape, x.dtype.name, x)
    _scanned(op, totals, carries)
    if whole > 1:
        inner = tail(out, (whole - 1, SCAN_BLOCK), (SCAN_BLOCK, 1), SCAN_BLOCK)
        apply(op, tail(carries, (whole - 1, SCAN_BLOCK), (1, 0)), inner, out=inner)
    if rest:
        last = run_of(out, whole * SCAN_BLOCK, n)
        apply(op, tail(carries, (rest,), (0,), whole - 1), last, out=last)


def scanned_freely(op: str, x: Array) -> Array:
    """Scan the last axis by an op that does not mind the order: Hillis & Steele 1986."""
    n, far = x.shape[-1], 1
    while far < n:
        after = new(x.shape, x.dtype.name, x)
        apply("copy", run_of(x, 0, far), out=run_of(after, 0, far))
        apply(op, run_of(x, 0, n - far), run_of(x, far, n), out=run_of(after, far, n))
        x, far = after, 2 * far
    return x


def scanning(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """Running sums and products."""
    dtype = dtypes[0]
    kind = DTYPES[dtype].kind
    by_parts = kind == "c" and op == "cumulative_sum"
    wide = dtype if kind == "c" and not by_parts else part_dtype(dtype)
    combine = _OF_TWO[op]

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if not out.size:
            return
        for one, target in zip(parts(x), parts(out), strict=True) if by_parts else ((x, out),):
            if kind in "iu":
                apply("copy", scanned_freely(combine, one), out=target)
            elif wide == target.dtype.name:
                _scanned(combine, one, target)
            else:
                held = new(one.shape, wide, one)
                _scanned(combine, cast(one, wide), held)
                cast(held, target.dtype.name, out=target)

    steps = overload(combine, wide) | casts((wide, wide))
    if not by_parts:
        steps |= casts((dtype, wide), (wide, dtype))
    return Decomposition(needs(steps), run)
