"""Small work for each text of `phalanx.device_code` that has barriers, compared with ``cpu:0``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import phalanx as px
from phalanx._warm import factor
from phalanx.optable.structured import BLOCK

Make = Callable[[Any], px.Array]


def _numbers(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def _reduce(make: Make) -> Iterator[px.Array]:
    """Rows and columns; several blocks, more rows than groups, blocks than work-items that join."""
    rows = make(_numbers(9, 2 * BLOCK - 7))
    yield px.sum(rows, axis=1)
    yield px.argmax(rows, axis=1)
    yield px.mean(make(_numbers(300, 70)), axis=1)
    for count in (40, 70, 161):
        long = make(_numbers(count * BLOCK - 9))
        yield px.sum(long)
        yield px.argmin(long)
    yield px.max(make(_numbers(33 * BLOCK + 1, 3)), axis=0)
    yield px.sum(make(_numbers(2, 9 * BLOCK - 5)), axis=1)
    yield px.sum(make(_numbers(600, 20)), axis=0)


def _wrap(make: Make) -> Iterator[px.Array]:
    """One group, and several; all indices in range, and one that is not."""
    x = make(_numbers(50))
    index = np.random.default_rng(3).integers(-50, 50, 20000)
    yield x[make(index[:700])]
    yield x[make(index)]
    index[300] = 50
    try:
        yield make(px.asnumpy(x[make(index[:700])]))
    except IndexError as error:
        numbers = re.search(r"index (\d+) at place (\d+) ", str(error))
        yield make(np.array(numbers.groups() if numbers else (), int))


def _select(make: Make) -> Iterator[px.Array]:
    """Several blocks of several tiles."""
    x = make(_numbers(30000))
    yield px.nonzero(x > 0.5)[0]
    yield x[x > 0]


def _sort(make: Make) -> Iterator[px.Array]:
    """More blocks than groups, merged by several passes."""
    yield px.sort(make(_numbers(5, 1700)))
    yield px.argsort(make(_numbers(2900).round(1)))


def _digits(make: Make) -> Iterator[px.Array]:
    """Codes of each size; parts of several tiles, more of them than groups, digits all alike."""
    x = _numbers(2, 30011)
    yield px.sort(make(x))
    yield px.argsort(make(x.round(1)), descending=True)
    yield px.argsort(make((x[0] * 9).astype("int64")))
    yield px.sort(make(x[0] > 0))
    yield px.argsort(make(np.full(9001, 7, "int16")))


def _scan(make: Make) -> Iterator[px.Array]:
    """Rows and columns; carries of several blocks, and more rows than there are groups."""
    yield px.cumulative_sum(make(_numbers(300, 40)), axis=1)
    yield px.cumulative_sum(make(_numbers(700, 20)), axis=0)
    yield px.cumulative_sum(make(_numbers(70000, 2)), axis=0)


def _scan_tiles(make: Make) -> Iterator[px.Array]:
    """Several rows of a tile, more tiles than groups; rows of many, totals of two levels."""
    yield px.cumulative_sum(make(_numbers(90, 300)), axis=1)
    yield px.cumulative_sum(make(_numbers(2, 2500)), axis=1)
    yield px.cumulative_sum(make(_numbers(2, 70000)), axis=1)
    yield px.cumulative_prod(make(1 + _numbers(3000, dtype="float64") / 99))
    yield px.cumulative_sum(make(np.arange(140000, dtype="int16")))


def _rows(make: Make) -> Iterator[px.Array]:
    """Rows of one block, more of them than groups, short and long; rows of several, and columns."""
    odd = _numbers(70, 100)
    odd[3, 7], odd[5], odd[6, 99], odd[8, 0] = np.nan, -np.inf, np.inf, np.nan
    for function in (px.softmax, px.nn.log_softmax, _layer_norm):
        for shape in ((9, 700), (70, 9), (70, 200), (2, 1), (1, BLOCK), (2, BLOCK + 5)):
            yield function(make(_numbers(*shape)))
        yield function(make(_numbers(40, 90)).T)
        yield function(px.permute_dims(make(_numbers(BLOCK + 5, 3, 4)), (1, 2, 0)))
        yield function(make(odd))


def _layer_norm(x: px.Array) -> px.Array:
    n = x.shape[-1]
    weight, bias = (px.asarray(_numbers(n), device=x.device) for _ in range(2))
    return px.nn.layer_norm(x, n, weight, bias)


def _tiles(make: Make) -> Iterator[px.Array]:
    """More tiles than groups, of more steps than a tile takes at once; large and small tiles."""
    yield px.matmul(make(_numbers(130, 70)), make(_numbers(70, 260)))
    yield px.matmul(make(_numbers(40, 35)), make(_numbers(50, 35)).T)


def _fragments(make: Make) -> Iterator[px.Array]:
    """Products in double: more tiles than groups, steps that do not fill a block, and passes."""
    for dtype in ("float64", "complex128"):
        for m, k, n in ((260, 35, 130), (40, 70, 50), (90, 5, 40)):
            left, right = _numbers(m, k, dtype=dtype), _numbers(k, n, dtype=dtype)
            left[3:20, :4] = 0  # sums that begin by zeros of both signs, and stay what they are
            right[:4, 5:30] *= -1
            left[30:34] *= 1e-300
            right[:, 7] *= -1e-300
            yield px.matmul(make(left), make(right))


def _unpacked(make: Make) -> Iterator[px.Array]:
    """Vectors, few columns and rows, many small matrices; more tiles than groups, several boxes."""
    for left, right in (
        ((300, 150), (150,)),
        ((150,), (150, 300)),
        ((190, 70), (70, 9)),
        ((9, 70), (70, 190)),
        ((12, 40, 20), (12, 20, 19)),
    ):
        for dtype in ("float32", "complex128"):
            yield px.matmul(make(_numbers(*left, dtype=dtype)), make(_numbers(*right, dtype=dtype)))


def _short(make: Make) -> Iterator[px.Array]:
    """Rows of few elements, many more than work-items of all groups."""
    for shape in ((9000, 3), (9000, 9), (1500, 16), (1500, 50)):
        x = make(_numbers(*shape))
        yield px.sum(x, axis=1)
        yield px.argmax(x, axis=1)
    yield px.sum(make(_numbers(9, 9000)), axis=0)


def _factor(
    op: str,
    m: int,
    n: int,
    rows: int,
    columns: int,
    dtypes: tuple[str, ...] = ("float32", "complex128"),
) -> Callable[[Make], Iterator[px.Array]]:
    """More matrices than groups, of more elements than a group; rows out of order, equal ones."""

    def run(make: Make) -> Iterator[px.Array]:
        for dtype in dtypes:
            x = _numbers(9, m, n, dtype="float64").astype(dtype)
            if op == "cholesky":
                x = x @ np.conj(np.swapaxes(x, 1, 2)) + np.eye(n, dtype=dtype)
            x[1] = np.eye(m, n)
            if op == "eigh":  # the last rows are turned, then all others are found to be done
                x[4] = x[1]
                x[4, -1, -2] = x[4, -2, -1] = 0.5
            x[2:4] *= 2.0**-100  # of float32, squares are too small without a scale
            yield factor(op, make(x), rows, columns)

    return run


def _counts(make: Make) -> Iterator[px.Array]:
    """Tables in local memory, with more targets than work-items, and with few."""
    for targets in (3, 500):
        numbers = np.random.default_rng(5).integers(0, targets, 20000)
        yield px.bincount(make(numbers), minlength=targets)


#: By the name of the text.
WORKLOADS: dict[str, Callable[[Make], Iterator[px.Array]]] = {
    "count.h": _counts,
    "factor_cholesky.h": _factor("cholesky", 21, 21, 21, 21),
    "factor_eigh.h": _factor("eigh", 21, 21, 23, 21),
    "factor_householder.h": _factor("householder", 41, 35, 76, 35),
    "factor_jacobi.h": _factor("jacobi", 19, 37, 57, 37),
    "factor_lu.h": _factor("lu", 45, 20, 45, 21),
    "factor_hessenberg.h": _factor("schur", 9, 9, 28, 9),
    "factor_schur.h": _factor("schur", 9, 9, 28, 9, ("complex64", "complex128")),
    "factor_schur_real.h": _factor("schur", 9, 9, 28, 9, ("float32", "float64")),
    "factors.h": _factor("householder", 41, 35, 76, 35),
    "matmul_fragments.h": _fragments,
    "matmul_pack.h": _tiles,
    "matmul_tile.h": _tiles,
    "matmul_unpacked.h": _unpacked,
    "reduce_groups.h": _reduce,
    "reduce_join.h": _reduce,
    "reduce_short.h": _short,
    "scan_groups.h": _scan,
    "scan_tiles.h": _scan_tiles,
    "scan_totals.h": _scan_tiles,
    "selection_groups.h": _select,
    "normalize_rows.h": _rows,
    "sort.h": _sort,
    "sort_radix.h": _digits,
    "wrap_index.h": _wrap,
}


def _one_nan(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same with each NaN as the quiet one: payloads are not defined."""
    if x.dtype.kind == "f":
        x[np.isnan(x)] = np.nan
    return x


def differs(text: str, device: str) -> str:
    """Return how a device's results for a text's workload differ from the CPU's, or nothing."""

    def on(where: str) -> list[np.ndarray[Any, Any]]:
        with px.device(where):
            made = WORKLOADS[text](lambda data: px.asarray(data, device=where))
            return [_one_nan(px.asnumpy(result)) for result in made]

    for number, (got, want) in enumerate(zip(on(device), on("cpu:0"), strict=True)):
        if got.shape != want.shape or got.tobytes() != want.tobytes():
            return f"result {number} of {text} on {device} differs"
    return ""
