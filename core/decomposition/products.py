"""Matrix products as sums of outer products, and the ops that normalize rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from phalanx._warm import Array
from phalanx.driver import Operand
from phalanx.optable import DTYPES
from phalanx.optable.structured import CHAIN

from .reductions import in_tree, reduced
from .steps import apply, cast, casts, full, needs, overload, part_dtype, parts, tail
from .table import Decomposition


def _wide(dtype: str) -> str:
    return "uint64" if DTYPES[dtype].kind in "iu" else part_dtype(dtype)


def _chain(pairs: list[tuple[Array, Array]], begin: int, end: int, total: Array) -> None:
    """Add products of columns of left with rows of right matrices to a total, in order."""
    for p in range(begin, end):
        for a, b in pairs:
            column, row = a[..., p : p + 1], b[..., p : p + 1, :]
            if total.dtype.name[0] == "f":
                apply("fma", column, row, total, out=total)
            else:
                apply("add", total, apply("multiply", column, row), out=total)


def _product(pairs: list[tuple[Array, Array]], out: Array) -> None:
    """The matrix product of pairs, the terms of each step in their order, into ``out``."""
    k = pairs[0][0].shape[-1]
    wide = pairs[0][0].dtype.name
    blocks = max(1, -(-k // CHAIN))
    totals = full((*out.shape, blocks), 0, wide, out)
    for i in range(blocks):
        _chain(pairs, i * CHAIN, min(k, (i + 1) * CHAIN), tail(totals, (), (), i))
    found = in_tree("add", totals) if blocks > 1 else tail(totals, (), ())
    cast(found, out.dtype.name, out=out)


def multiplying(dtypes: tuple[str, ...]) -> Decomposition:
    """``matmul``: one chain of fma for each element, over k in order."""
    dtype = dtypes[0]
    wide = _wide(dtype)
    kind = DTYPES[dtype].kind

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x, y), (out,) = inputs, outputs
        assert isinstance(x, Array)
        assert isinstance(y, Array)
        if not out.size:
            return
        if kind != "c":
            _product([(cast(x, wide), cast(y, wide))], out)
            return
        (ar, ai), (br, bi), (re, im) = parts(x), parts(y), parts(out)
        _product([(ar, br), (apply("negative", ai), bi)], re)
        _product([(ar, bi), (ai, br)], im)

    steps = overload("add", wide) | casts((wide, wide))
    steps |= overload("fma", wide) if kind in "fc" else overload("multiply", wide)
    steps |= overload("negative", wide) if kind == "c" else casts((dtype, wide), (wide, dtype))
    return Decomposition(needs(steps), run)


def exponentials(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """``softmax`` and ``log_softmax``: their exponential is one of its own in float32."""
    from .elementwise import program_of_function

    dtype = dtypes[0]
    wide = part_dtype(dtype)
    program = program_of_function("phx_softmax_exp_f32", "float32") if wide == "float32" else None

    def power(x: Array) -> Array:
        found = program.run((x,), x.device)[0] if program else apply("exp", x)
        assert isinstance(found, Array)
        return found

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if not out.size:
            return
        x = cast(x, wide)
        shifted = apply("subtract", x, reduced("max", x)[..., None])
        powers = power(shifted)
        total = reduced("sum", powers)
        if op == "softmax":
            found = apply("multiply", powers, apply("reciprocal", total)[..., None])
        else:
            found = apply("subtract", shifted, apply("log", total)[..., None])
        cast(found, dtype, out=out)

    steps = overload("max", wide) | overload("subtract", wide) | overload("sum", wide)
    last = ("reciprocal", "multiply") if op == "softmax" else ("log",)
    steps |= frozenset().union(*(overload(step, wide) for step in last))
    steps |= casts((dtype, wide), (wide, wide), (wide, dtype))
    exponential = program.overloads() if program else overload("exp", wide)
    return Decomposition(needs(steps, exponential), run)


def layer_norm(dtypes: tuple[str, ...]) -> Decomposition:
    """``layer_norm``: mean, squares, their mean, and what the weights make of it."""
    dtype = dtypes[0]
    wide = part_dtype(dtype)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        x, weight, bias = inputs
        (out,) = outputs
        assert isinstance(x, Array)
        assert isinstance(weight, Array)
        assert isinstance(bias, Array)
        if not out.size:
            return
        x = cast(x, wide)
        d = apply("subtract", x, reduced("mean", x)[..., None])
        variance = reduced("mean", apply("multiply", d, d))
        eps = struct.unpack("<d", struct.pack("<q", params[0]))[0]
        root = apply("sqrt", apply("add", variance, eps))
        found = apply("multiply", d, apply("reciprocal", root)[..., None])
        found = apply("multiply", found, cast(weight, wide))
        cast(apply("add", found, cast(bias, wide)), dtype, out=out)

    used = ("subtract", "mean", "multiply", "add", "sqrt", "reciprocal")
    steps = frozenset().union(*(overload(step, wide) for step in used))
    steps |= casts((dtype, wide), (wide, wide), (wide, dtype))
    return Decomposition(needs(steps), run)
