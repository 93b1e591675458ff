"""Factorizations a column at a time, with the steps of ``core/scalar/fused.h`` as programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from phalanx._warm import Array, dtype_from_name, launch, view
from phalanx.driver import Operand
from phalanx.optable import DTYPES

from .elementwise import program_of_function
from .program import Program, part_of, write
from .steps import INT64, apply, cast, casts, full, needs, new, overload, parts, places
from .table import Decomposition


@cache
def _step(name: str, inputs: tuple[str, ...]) -> Program:
    return program_of_function(f"phx_{name}_{DTYPES[inputs[0]].suffix}", *inputs)


def _apply(name: str, *operands: Array, out: Array | None = None) -> Array:
    """Run a step on elements that broadcast, into ``out``, or give its one real result."""
    program = _step(name, tuple(x.dtype.name for x in operands))
    results = program.run(operands, operands[0].device, out)
    if out is None:
        (result,) = results
        assert isinstance(result, Array)
        return result
    write(results, out)
    return out


def _real(dtype: str) -> str:
    return DTYPES[dtype].part or dtype


def _lower(n: int, like: Array) -> Array:
    """Whether an element of a square matrix is in its lower triangle."""
    at = places(n, like)
    rows, columns = view(at, (n, 1), (1, 0)), view(at, (1, n), (0, 1))
    return apply("less_equal", columns, rows)


def _transposed(x: Array) -> Array:
    """A view with the last two axes exchanged."""
    shape, strides = x.shape, x.strides
    order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    found: Array = view(x, tuple(shape[i] for i in order), tuple(strides[i] for i in order))
    return found


def cholesky(dtypes: tuple[str, ...]) -> Decomposition:
    """Each column over the root of its pivot, then its products from those behind it."""
    dtype = dtypes[0]
    real = _real(dtype)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if not out.size:
            return
        n = x.shape[-1]
        held = new(x.shape, dtype, x)
        apply("copy", x, out=held)
        for j in range(n):
            diagonal = held[:, j : j + 1, j : j + 1]
            pivot = part_of(diagonal, dtype_from_name(real))
            root = apply("where", apply("greater", pivot, 0), apply("sqrt", pivot), float("nan"))
            apply("copy", root, out=pivot)
            if real != dtype:
                apply("copy", full((), 0, real, x), out=parts(diagonal)[1])
            if j + 1 < n:
                column = held[:, j + 1 :, j : j + 1]
                _apply("over", column, root, out=column)
                row = apply("conj", _transposed(column))
                rest = held[:, j + 1 :, j + 1 :]
                _apply("minus_product", rest, column, row, out=rest)
        apply("where", _lower(n, x), held, full((), 0, dtype, x), out=out)

    steps = _step("over", (dtype, real)).overloads()
    steps |= _step("minus_product", (dtype,) * 3).overloads() | overload("where", dtype, real)
    steps |= overload("greater", real) | overload("sqrt", real) | overload("conj", dtype)
    steps |= overload("less_equal", INT64) | overload("arange", INT64)
    return Decomposition(needs(steps, casts((dtype, dtype), (real, real))), run)


def solving(dtypes: tuple[str, ...]) -> Decomposition:
    """``triangular_solve``: each row over its pivot, then its products from those below."""
    dtype = dtypes[0]

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (lower, x), (out,) = inputs, outputs
        assert isinstance(lower, Array)
        assert isinstance(x, Array)
        if not out.size:
            return
        n = out.shape[1]
        apply("copy", x, out=out)
        for j in range(n):
            row = out[:, j : j + 1, :]
            if not params[0]:
                _apply("quotient", row, lower[:, j : j + 1, j : j + 1], out=row)
            if j + 1 < n:
                rest = out[:, j + 1 :, :]
                _apply("minus_product", rest, lower[:, j + 1 :, j : j + 1], row, out=rest)

    steps = _step("quotient", (dtype,) * 2).overloads()
    steps |= _step("minus_product", (dtype,) * 3).overloads()
    return Decomposition(needs(steps, casts((dtype, dtype), (_real(dtype),) * 2)), run)


def _exchange(held: Array, j: int, row: Array) -> None:
    """Exchange row j of each matrix with another one."""
    (batch, _, width), (gap, step, one) = held.shape, held.strides
    first = view(held, (width,), (one,))
    starts = apply("multiply", places(batch, held), gap)
    offsets = apply("add", starts, apply("multiply", row, step))
    mine, other = (new((batch, width), held.dtype.name, held) for _ in range(2))
    apply("copy", held[:, j, :], out=mine)
    launch("gather", (first, offsets), (other,))
    apply("copy", other, out=held[:, j, :])
    launch("scatter", (mine, offsets), (first,))


def lu(dtypes: tuple[str, ...]) -> Decomposition:
    """The first row of the largest pivot, the column over it, its products from those behind."""
    dtype = dtypes[0]
    real = _real(dtype)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        m, n = x.shape[1:]
        if not out.size:
            return
        apply("copy", x, out=out[:, :, :n])
        apply("copy", cast(cast(places(m, x), real), dtype), out=out[:, :, n])
        for j in range(min(m, n)):
            sizes = _apply("size", out[:, j:, j])
            known = apply("where", apply("equal", sizes, sizes), sizes, -1)
            best = new((x.shape[0],), INT64, x)
            launch("argmax", (known,), (best,))
            _exchange(out, j, apply("add", best, j))
            if j + 1 == m:
                continue
            pivot, column = out[:, j : j + 1, j : j + 1], out[:, j + 1 :, j : j + 1]
            ratio = new(column.shape, dtype, x)
            _apply("quotient", column, pivot, out=ratio)
            apply("where", apply("not_equal", _apply("size", pivot), 0), ratio, column, out=column)
            if j + 1 < n:
                rest = out[:, j + 1 :, j + 1 : n]
                _apply("minus_product", rest, column, out[:, j : j + 1, j + 1 : n], out=rest)

    steps = _step("quotient", (dtype,) * 2).overloads() | _step("size", (dtype,)).overloads()
    steps |= _step("minus_product", (dtype,) * 3).overloads() | overload("where", dtype, real)
    steps |= overload("equal", real) | overload("not_equal", real) | overload("argmax", real)
    steps |= overload("add", INT64) | overload("multiply", INT64) | overload("arange", INT64)
    steps |= overload("gather", dtype) | overload("scatter", dtype)
    steps |= casts((dtype, dtype), (real, real), (INT64, real), (real, dtype))
    return Decomposition(needs(steps), run)
