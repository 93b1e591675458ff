"""Ops that are no programs of scalars, by the functions that make their decompositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from phalanx.optable.random import WORDS

from . import factors, generation, moving, products, reductions, searching, sorting
from .table import Decomposition

#: Returns how an overload is made of others, ``None`` if it is a primitive.
Maker = Callable[[tuple[str, ...]], "Decomposition | None"]

STRUCTURED: Mapping[str, Maker] = {
    "copy": moving.copying,
    "gather": moving.gathering,
    "scatter": moving.scattering,
    "arange": moving.counting,
    **{op: partial(reductions.folding, op) for op in ("sum", "prod", "mean", "max", "min")},
    "sum_squared_deviations": reductions.deviating,
    **{op: partial(reductions.logical, op) for op in ("any", "all", "count_nonzero")},
    **{op: partial(reductions.placing, op) for op in ("argmax", "argmin")},
    **{op: partial(reductions.scanning, op) for op in ("cumulative_sum", "cumulative_prod")},
    "sort": partial(sorting.sorting, "sort"),
    "argsort": partial(sorting.sorting, "argsort"),
    "searchsorted": searching.searching,
    "nonzero": searching.selecting_places,
    "compress": searching.selecting_rows,
    "bincount": searching.counting_numbers,
    "histogram": searching.counting_intervals,
    "matmul": products.multiplying,
    **{op: partial(products.exponentials, op) for op in ("softmax", "log_softmax")},
    "layer_norm": products.layer_norm,
    "cholesky": factors.cholesky,
    "lu": factors.lu,
    "triangular_solve": factors.solving,
    **{op: partial(generation.drawing, op) for op in WORDS},
}
