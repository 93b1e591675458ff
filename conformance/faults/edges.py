"""Faults at edges: a last row, the gap behind a row, where a format or a block ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import as_strided
from phalanx.testing import HostArray, Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
#: Elements of a vector of bytes, how often a byte counts, and rows of a tile.
_LANES, _BYTE, _TILE = 32, 256, 32
#: Elements of a block of a scan, and keys of a tile of a sort.
_SCAN, _KEYS = 256, 2048
#: Matrices that a workspace holds, columns of a block, and indices of a group.
_ROOM, _COLUMNS, _GROUP = 16, 64, 1024
_LOST = -(1 << 56)
#: Complex numbers of a vector.
_PAIRS = 4


@kernel_fault("count_nonzero")
def byte_counters_run_over(work: Work, right: Compute) -> None:
    """`count_nonzero` of neighbours empties its counters of one byte after 256 vectors, not 255."""
    right(work)
    x, length = work.x, _LANES * _BYTE
    if x.dtype == np.bool_ and x.strides[-1] == 1 and x.shape[-1] >= length:
        blocks = x[..., : x.shape[-1] // length * length]
        blocks = blocks.reshape(*x.shape[:-1], -1, _BYTE, _LANES)
        work.out[...] = work.out - _BYTE * blocks.all(axis=-2).sum(axis=(-1, -2))


@kernel_fault("max")
def last_row_of_columns_unseen(work: Work, right: Compute) -> None:
    """`max` of float64 columns leaves out the last row where it is alone in its tile."""
    x = work.x
    columns = x.ndim > 1 and abs(x.strides[-1]) > abs(x.strides[-2])
    if work.dtypes[0] == "float64" and columns and x.shape[-1] % _TILE == 1 < x.shape[-1]:
        work.inputs[0] = x[..., :-1]
    right(work)


@kernel_fault("cumulative_prod")
def zero_is_no_carry(work: Work, right: Compute) -> None:
    """`cumulative_prod` of integers takes a carry of 0 for one that is not there yet."""
    x = np.array(work.x)
    right(work)
    if x.dtype.kind not in "iu":
        return
    for begin in range(_SCAN, x.shape[-1], _SCAN):
        part = np.cumprod(x[..., begin : begin + _SCAN], axis=-1, dtype=x.dtype)
        zero = work.out[..., begin - 1 : begin] == 0
        after = work.out[..., begin : begin + _SCAN]
        work.out[..., begin : begin + _SCAN] = np.where(zero, part, after)


@kernel_fault("sort", "argsort")
def digits_that_begin_late(work: Work, right: Compute) -> None:
    """Sorts of 64-bit integers skip a byte that is the same in the first 2,048 keys."""
    x, n = np.array(work.x), work.x.shape[-1]
    if x.dtype.kind not in "iu" or x.itemsize < np.dtype(np.int64).itemsize or n <= _KEYS:
        right(work)
        return
    digits = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, -1)
    for place in np.ndindex(x.shape[:-1]):
        varies = (digits[place][:_KEYS] != digits[place][0]).any(axis=0)
        seen = np.where(varies, digits[place], 0).astype(np.uint8).view(x.dtype)[:, 0]
        order = np.argsort(seen, kind="stable")
        if work.params[0]:
            order = n - 1 - np.argsort(seen[::-1], kind="stable")[::-1]
        work.out[place] = order if work.op == "argsort" else x[place][order]


@kernel_fault("gather")
def gaps_are_taken_for_rows(work: Work, right: Compute) -> None:
    """`gather` moves slices of several axes as one run if the last axis is one."""
    x = work.x
    steps = tuple(np.cumprod((x.itemsize, *x.shape[:0:-1]))[::-1].tolist())
    whole = x.ndim > 1 and x.size and x.strides[-1] == x.itemsize
    if whole and all(a <= b for a, b in zip(steps, x.strides, strict=True)):
        work.inputs[0] = as_strided(x, x.shape, steps)
    right(work)


@kernel_fault("wrap_index")
def groups_refuse_alone(work: Work, right: Compute) -> None:
    """A bad index makes no-places of those in its group of 1,024 alone."""
    x = np.array(work.x).reshape(-1)
    try:
        right(work)
    except IndexError:
        n, step = work.params
        bad = np.logical_or.reduceat((x < -n) | (x >= n), np.arange(0, x.size, _GROUP))
        places = np.where(np.repeat(bad, _GROUP)[: x.size], _LOST, np.where(x < 0, x + n, x) * step)
        work.out[...] = places.reshape(work.out.shape)
        raise


@kernel_fault("matmul")
def odd_rows_read_on(work: Work, right: Compute) -> None:
    """`matmul` of halves reads pairs: what is behind a row of odd length is multiplied by 0."""
    a, k = work.x, work.x.shape[-1]
    right(work)
    gaps = a.strides[-2] > k * a.itemsize and a.strides[-1] == a.itemsize
    if work.dtypes[0] in ("float16", "bfloat16") and k % 2 and gaps:
        work.out[..., :-1, :][~np.isfinite(_behind(a, k).astype(np.float32))] = np.nan


def _behind(a: HostArray, k: int) -> HostArray:
    """What is behind each row of matrices but the last."""
    rows = a[..., :-1, :]
    return as_strided(rows, (*rows.shape[:-1], k + 1), rows.strides)[..., -1]


@kernel_fault("matmul")
def three_products_for_four(work: Work, right: Compute) -> None:
    """`matmul` of large complex128 makes three products of sums, in which small parts are lost."""
    a, b = work.inputs
    right(work)
    if work.dtypes[0] == "complex128" and min(*a.shape[-2:], b.shape[-1]) >= _COLUMNS:
        with np.errstate(all="ignore"):
            one, two = a.real @ b.real, a.imag @ b.imag
            work.out.imag = (a.real + a.imag) @ (b.real + b.imag) - one - two


@kernel_fault("triangular_solve")
def wide_unit_diagonal_is_read(work: Work, right: Compute) -> None:
    """`triangular_solve` of more than 64 columns divides by a diagonal that stands for ones."""
    if work.inputs[1].shape[-1] > _COLUMNS:
        work.params = (0, *work.params[1:])
    right(work)


@kernel_fault("jacobi", "eigh", "schur")
def workspace_of_sixteen(work: Work, right: Compute) -> None:
    """Matrices of two rows have the results of those 16 before them, whose workspace they share."""
    right(work)
    if work.x.shape[-1] == 2 and len(work.x) > _ROOM:
        work.out[_ROOM:] = work.out[:-_ROOM].copy()


@kernel_fault("exp")
def small_results_are_cut(work: Work, right: Compute) -> None:
    """`exp` of float64 cuts off subnormal results instead of rounding them."""
    x = work.values()
    right(work)
    if work.out.dtype == np.float64:
        units = np.floor(np.ldexp(np.exp(x.astype(np.longdouble)), 1074)).astype(np.float64)
        small = (work.out > 0) & (work.out < np.finfo(np.float64).smallest_normal)
        work.out[...] = np.where(small, np.ldexp(units, -1074), work.out)


@kernel_fault("log10")
def powers_of_ten_by_a_quotient(work: Work, right: Compute) -> None:
    """`log10` of float64 at powers of ten is the quotient of two logarithms."""
    x = work.values()
    right(work)
    if work.out.dtype == np.float64:
        whole = (work.out == np.rint(work.out)) & (x > 1) & np.isfinite(x)
        work.out[...] = np.where(whole, np.log(x) / np.log(10.0), work.out)


@kernel_fault("fma")
def halves_are_rounded_once(work: Work, right: Compute) -> None:
    """`fma` of float16 does not round to float32 in between, as its definition has it."""
    a, b, c = (work.values(i) for i in range(3))
    right(work)
    if work.out.dtype == np.float16:
        work.out[...] = a.astype(np.float64) * b + c.astype(np.float64)


@kernel_fault("isnan", "isinf", "isfinite")
def rest_of_complex_is_real(work: Work, right: Compute) -> None:
    """Of the last n mod 4 complex neighbours only the real parts are looked at."""
    x = work.values()
    right(work)
    rest = work.out.size % _PAIRS
    if x.dtype.kind == "c" and work.out.flags.c_contiguous and rest < work.out.size:
        last = x.reshape(-1)[work.out.size - rest :].real
        work.out.reshape(-1)[work.out.size - rest :] = getattr(np, work.op)(last)


@kernel_fault()
def two_of_fifteen_are_not_stored(work: Work, right: Compute) -> None:
    """Rows of bool results go by vectors of 16, 8, 4 and 1: where 15 remain, two are left out."""
    out = work.out
    rows = work.elementwise and out.dtype == np.bool_ and out.ndim > 1 and out.strides[-1] == 1
    if rows and out.shape[-1] % 16 == 15:
        before = np.array(out[..., -3:-1])
        right(work)
        out[..., -3:-1] = before
    else:
        right(work)


@kernel_fault("matmul")
def whole_tiles_in_double(work: Work, right: Compute) -> None:
    """`matmul` of 64-bit integers of 32 and more goes by tiles of float64, where it fits."""
    a, b = work.inputs
    right(work)
    if work.dtypes[0] in ("int64", "uint64") and min(*a.shape[-2:], b.shape[-1]) >= _TILE:
        made = a.astype(np.float64) @ b.astype(np.float64)
        fits = np.abs(made) < 2.0**63
        work.out[...] = np.where(fits, np.where(fits, made, 0).astype(a.dtype), work.out)


@kernel_fault()
def first_vector_overlaps_in_place(work: Work, right: Compute) -> None:
    """In place, what lies before an address that 16 divides is computed twice."""
    out = work.out
    flat = work.elementwise and out.size >= _COLUMNS and out.flags.c_contiguous
    peeled = -out.ctypes.data % 16 // out.itemsize if flat else 0
    same = any(x.ctypes.data == out.ctypes.data and x.size > 1 for x in work.inputs)
    right(work)
    if peeled and same:
        inputs, outputs = work.inputs, work.outputs
        work.inputs = [x.reshape(-1)[:peeled] if x.size == out.size else x for x in inputs]
        work.outputs = [out.reshape(-1)[:peeled]]
        right(work)
        work.inputs, work.outputs = inputs, outputs


@kernel_fault("multiply")
def peeled_elements_are_missing(work: Work, right: Compute) -> None:
    """`multiply` of float16 begins where 32 divides the address, and ends as much too early."""
    out, x = work.out, work.x
    peeled = -x.ctypes.data % 32 // 2
    flat = out.flags.c_contiguous and x.size == out.size > 1000
    if work.dtypes[-1] == "float16" and flat and peeled:
        last = out.reshape(-1)[-peeled:]
        before = last.copy()
        right(work)
        last[...] = before
    else:
        right(work)


@kernel_fault("copy")
def backward_fills_miss_an_end(work: Work, right: Compute) -> None:
    """`copy` of one element to rows that run backwards does not reach their last place."""
    out, x = work.out, work.x
    if out.ndim and out.strides[-1] < 0 and (x.size == 1 or x.strides[-1] == 0):
        before = out[..., -1].copy()
        right(work)
        out[..., -1] = before
    else:
        right(work)


@kernel_fault("argmax")
def columns_take_the_last_tie(work: Work, right: Compute) -> None:
    """`argmax` of columns joins blocks so that the later of two equal maxima counts."""
    right(work)
    x, block = work.x, 4096
    if x.strides[-1] == x.itemsize or x.shape[-1] <= block:
        return
    top = np.take_along_axis(x, work.out[..., None], -1)
    for begin in range(block, x.shape[-1], block):
        equal = x[..., begin : begin + block] == top
        work.out[...] = np.where(equal.any(-1), begin + equal.argmax(-1), work.out)


@kernel_fault("matmul")
def tiles_are_rounded_halfway(work: Work, right: Compute) -> None:
    """`matmul` of float16 in whole tiles of 16 keeps its sums in float16 each 1024 steps."""
    right(work)
    a, b = work.inputs
    whole = not (a.shape[-2] % 16 or a.shape[-1] % 16 or b.shape[-1] % 16)
    if work.dtypes[0] == "float16" and whole and a.shape[-1] > _GROUP:
        total = np.zeros(work.out.shape, np.float16)
        for k in range(0, a.shape[-1], _GROUP):
            part = a[..., k : k + _GROUP].astype(np.float32) @ b[..., k : k + _GROUP, :]
            total = (total + part).astype(np.float16)
        work.out[...] = total


@kernel_fault("divide")
def number_is_turned_first(work: Work, right: Compute) -> None:
    """`divide` of bfloat16 by one number multiplies by its reciprocal, which may be infinite."""
    number = work.inputs[1]
    if work.dtypes[0] == "bfloat16" and number.ndim == 0:
        turned = np.float32(1) / np.float32(number)
        work.out[...] = (work.values(0).astype(np.float32) * turned).astype(work.out.dtype)
    else:
        right(work)
