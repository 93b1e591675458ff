"""Matrix products as sums of outer products, and softmax."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array
from phalanx.driver import Operand
from phalanx.optable import DTYPES
from phalanx.optable.structured import CHAIN

from .program import Number
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


def normalizing(dtypes: tuple[str, ...]) -> Decomposition:
    """``softmax``: its exponential is one of its own where it computes in float32."""
    from .elementwise import program_of_function

    dtype = dtypes[0]
    wide = part_dtype(dtype)
    program = program_of_function("phx_softmax_exp_f32", "float32") if wide == "float32" else None

    def power(x: Array) -> Array | Number:
        return program.run((x,), x.device)[0] if program else apply("exp", x)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if not out.size:
            return
        x = cast(x, wide)
        powers = power(apply("subtract", x, reduced("max", x)[..., None]))
        assert isinstance(powers, Array)
        factor = apply("reciprocal", reduced("sum", powers))
        found = apply("multiply", powers, factor[..., None])
        cast(found, dtype, out=out)

    steps = overload("max", wide) | overload("subtract", wide) | overload("sum", wide)
    steps |= overload("reciprocal", wide) | overload("multiply", wide)
    steps |= casts((dtype, wide), (wide, wide), (wide, dtype))
    exponential = program.overloads() if program else overload("exp", wide)
    return Decomposition(needs(steps, exponential), run)
