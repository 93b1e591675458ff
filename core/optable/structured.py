"""Rows of the ops whose elements depend on each other, with their orders of evaluation."""

from __future__ import annotations

from .dtypes import ALL, BOOLEAN, COMPLEX, FLOATING, INTEGER, NUMERIC, REAL, SIGNED
from .row import Bound, Op, Signature, Structure

#: A reduction of n elements is cut into blocks of BLOCK consecutive elements. In a block, lane j of
#: LANES takes the elements j, j + LANES, ... in turn; the lanes, then the blocks, are combined in a
#: tree: for half = 2**k, 2**(k-1), ... 1, element i takes in element i + half if both exist.
LANES = 64
BLOCK = 4096
#: A scan is cut into blocks of SCAN_BLOCK elements, each summed from the left; the totals of the
#: blocks are scanned in the same way, in blocks again, until there is one. An element is the scan
#: of the totals at the block before its own, plus the running total in its own.
SCAN_BLOCK = 256
#: An element of a matrix product is one chain of fma over CHAIN steps of k; the results of these
#: blocks of k are combined in the tree of a reduction.
CHAIN = 4096
#: The offset of an index out of range; docs/ops.md, "indexing", says how it is told from others.
NO_PLACE = -(2**56)

#: Largest error, in ulp, of the exponential inside of softmax where that computes in float32: over
#: all arguments up to 0 (core/scalar/softmax_exp.h, measured 2026-11).
SOFTMAX_EXP_ULP = 0.892

_TREE = f"tree over lanes of {LANES} in blocks of {BLOCK} elements"
_EXACT = Bound({}, "exact: no rounding takes place")
_LENGTH = Bound({}, "grows with the length: Higham 2002, 4.2, for the tree that the order states")


def _accumulated(dtype: str) -> str:
    """The dtype in which the standard sums: the default integer for integers, else the dtype."""
    if dtype in INTEGER:
        return "int64" if dtype in SIGNED else "uint64"
    return dtype


def _reduce(dtypes: tuple[str, ...], result: str | None = None) -> tuple[Signature, ...]:
    return tuple(Signature((d,), (result or _accumulated(d),)) for d in dtypes)


def _keep(dtypes: tuple[str, ...], arity: int = 1) -> tuple[Signature, ...]:
    return tuple(Signature((d,) * arity, (d,)) for d in dtypes)


def _reduction(
    name: str,
    signatures: tuple[Signature, ...],
    summary: str,
    bound: Bound = _EXACT,
    special: str = "",
) -> Op:
    return Op(
        name,
        Structure.REDUCTION,
        signatures,
        summary,
        bound,
        order=_TREE if bound is _LENGTH else "",
        special=special,
        in_place=False,
    )


_REDUCTIONS = (
    _reduction("sum", _reduce(NUMERIC), "sum over the last axis", _LENGTH),
    _reduction("prod", _reduce(NUMERIC), "product over the last axis", _LENGTH),
    _reduction(
        "mean", _keep(FLOATING + COMPLEX), "sum over the last axis over its length", _LENGTH
    ),
    _reduction(
        "sum_squared_deviations",
        _keep(("float32", "float64")),
        "sum over the last axis of (x - mean)^2, with the op mean",
        _LENGTH,
    ),
    _reduction("max", _keep(REAL), "largest of the last axis", special="NaN propagates; +0 > -0"),
    _reduction("min", _keep(REAL), "smallest of the last axis", special="NaN propagates; -0 < +0"),
    _reduction(
        "argmax", _reduce(REAL, "int64"), "first place of the largest", special="first NaN wins"
    ),
    _reduction(
        "argmin", _reduce(REAL, "int64"), "first place of the smallest", special="first NaN wins"
    ),
    _reduction("any", _reduce(ALL, "bool"), "some element is not zero", special="NaN is true"),
    _reduction("all", _reduce(ALL, "bool"), "no element is zero", special="NaN is true"),
    _reduction("count_nonzero", _reduce(ALL, "int64"), "number of elements that are not zero"),
)


def _structured(
    name: str,
    structure: Structure,
    signatures: tuple[Signature, ...],
    summary: str,
    bound: Bound = _EXACT,
    *,
    order: str = "",
    special: str = "",
) -> Op:
    return Op(
        name,
        structure,
        signatures,
        summary,
        bound,
        order=order,
        special=special,
        in_place=False,
    )


_EXPONENTIALS = (
    "maximum; exp(x - max), in float32 by a chain of fma of its own with at most "
    f"{SOFTMAX_EXP_ULP} ulp; sum as {_TREE}"
)
_OF_EXPONENTIALS = Bound(
    {},
    f"grows with the length: {SOFTMAX_EXP_ULP} ulp of the exponential in float32, over all "
    "arguments up to 0 (2026-11); Higham 2002, 4.2, for the tree that the order states",
)
_SCAN_ORDER = f"from the left in blocks of {SCAN_BLOCK}, block totals in blocks again"
_NAN_LARGEST = "stable; NaN is the largest"

ROWS: tuple[Op, ...] = (
    *_REDUCTIONS,
    _structured(
        "cumulative_sum",
        Structure.SCAN,
        _keep(NUMERIC),
        "running sum along the last axis",
        _LENGTH,
        order=_SCAN_ORDER,
    ),
    _structured(
        "cumulative_prod",
        Structure.SCAN,
        _keep(NUMERIC),
        "running product along the last axis",
        _LENGTH,
        order=_SCAN_ORDER,
    ),
    _structured(
        "sort",
        Structure.SORT,
        _keep(BOOLEAN + REAL),
        "the last axis in order; params: descending",
        special=f"{_NAN_LARGEST}; -0 is less than +0",
    ),
    _structured(
        "argsort",
        Structure.SORT,
        tuple(Signature((d,), ("int64",)) for d in BOOLEAN + REAL),
        "places that sort the last axis; params: descending",
        special=f"{_NAN_LARGEST}; -0 equals +0",
    ),
    _structured(
        "searchsorted",
        Structure.SEARCH,
        tuple(Signature((d, d), ("int64",)) for d in REAL),
        "place of each value of the second operand (m,) in the sorted first (n,); params: right",
        special="NaN is after every number",
    ),
    _structured(
        "nonzero",
        Structure.SELECTION,
        (Signature(("bool",), ("int64",)),),
        "flat places (count,) of the true elements of a mask (n,)",
    ),
    _structured(
        "compress",
        Structure.SELECTION,
        tuple(Signature((d, "bool"), (d,)) for d in ALL),
        "rows (count, inner) of the first operand (n, inner) where the mask (n,) is true",
    ),
    _structured(
        "wrap_index",
        Structure.INDEXING,
        (Signature(("int64",), ("int64",)),),
        "index i in [-n, n) as element offset (i mod n) * stride; params: n, stride",
        special="an index out of range is an error, and all offsets are -2^56 then",
    ),
    _structured(
        "gather",
        Structure.INDEXING,
        tuple(Signature((d, "int64"), (d,)) for d in ALL),
        "slices (m, inner...) of an array whose slice at element offset 0 is the first operand "
        "(inner...), at the element offsets (m,) of the second",
        special="zeros at an offset below -2^55",
    ),
    _structured(
        "scatter",
        Structure.INDEXING,
        tuple(Signature((d, "int64"), (d,)) for d in ALL),
        "write slices (m, inner...) at the element offsets (m,) from the output (inner...)",
        special="of equal offsets the last one wins; nothing at an offset below -2^55",
    ),
    _structured(
        "segment_sum",
        Structure.SEGMENT,
        tuple(Signature((d, "int64"), (d,)) for d in NUMERIC),
        "for each target t of (n, k) the sum of the rows of the first operand (m, k) whose number "
        "in the second (m,) is t",
        _LENGTH,
        order=f"the rows of a target in their order, from the left in runs of {SCAN_BLOCK}, the "
        "totals of runs in runs again; in float32 for float16 and bfloat16",
        special="a number outside of [0, n) counts for nothing; 0 without rows",
    ),
    _structured(
        "bincount",
        Structure.SEGMENT,
        (Signature(("int64",), ("int64",)),),
        "how often each target t of (n,) is among the numbers (m,)",
        special="a number outside of [0, n) counts for nothing",
    ),
    _structured(
        "histogram",
        Structure.SEGMENT,
        tuple(Signature((d, d), ("int64",)) for d in FLOATING),
        "how many elements (m,) lie in each interval (n,) between ascending edges (n + 1,)",
        special="an interval holds its left edge, the last one both; NaN lies in none",
    ),
    _structured(
        "arange",
        Structure.GENERATION,
        _keep(NUMERIC, 2),
        "start + i * step for i in (n,), from the scalars start and step",
        Bound(dict.fromkeys(FLOATING + COMPLEX, 1.0), "one product, one sum, each rounded"),
        order="i * step rounded, then + start rounded",
    ),
    _structured(
        "matmul",
        Structure.CONTRACTION,
        _keep(NUMERIC, 2),
        "(b..., m, k) times (b..., k, n)",
        _LENGTH,
        order=f"fma over k in order from 0 in blocks of {CHAIN}, the blocks in a tree; "
        "in float32 for float16 and bfloat16",
    ),
    _structured(
        "softmax",
        Structure.ROW,
        _keep(FLOATING),
        "exp(x - max) over its sum, along the last axis",
        _OF_EXPONENTIALS,
        order=f"{_EXPONENTIALS}; times the reciprocal of the sum",
    ),
    _structured(
        "log_softmax",
        Structure.ROW,
        _keep(FLOATING),
        "x - max less the logarithm of the sum of exp(x - max), along the last axis",
        _OF_EXPONENTIALS,
        order=f"{_EXPONENTIALS}; log of the sum, taken from x - max",
        special="NaN in a row without a finite maximum",
    ),
    _structured(
        "layer_norm",
        Structure.ROW,
        _keep(FLOATING, 3),
        "(x - mean) / sqrt(variance + eps) * weight + bias along the last axis of the first "
        "operand (..., n); weight and bias are (n,); params: the bits of eps as a float64",
        _LENGTH,
        order=f"mean; d = x - mean; mean of d d, both sums as {_TREE}; d times the reciprocal of "
        "the root, times weight, plus bias; in float32 for float16 and bfloat16",
    ),
)
