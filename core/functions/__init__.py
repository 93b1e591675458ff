"""Functions that the standard lacks, under NumPy's names; docs/functions.md lists them.

They are composed of ops of the table in an order that each states, so their bits are the same on
every device. A module of this folder is imported when one of its functions is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparing import allclose, array_equal, fmod, isclose, nan_to_num, select
    from .contraction import einsum
    from .histograms import digitize, histogram, histogram_bin_edges
    from .nan_reductions import (
        nanargmax,
        nanargmin,
        nancumprod,
        nancumsum,
        nanmax,
        nanmean,
        nanmin,
        nanprod,
        nanstd,
        nansum,
        nanvar,
    )
    from .padding import pad
    from .products import convolve, correlate, dot, inner, kron, outer
    from .quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
    from .samples import geomspace, gradient, interp, trapezoid, unwrap
    from .segments import bincount, scatter_add, segment_sum
    from .splitting import array_split, hstack, rot90, sliding_window_view, split, vstack
    from .statistics import average, corrcoef, cov, cumulative_max, cumulative_min, ptp
    from .triangles import put_along_axis, tril_indices, triu_indices

#: The public functions of each module.
_NAMES = {
    "comparing": ("allclose", "array_equal", "fmod", "isclose", "nan_to_num", "select"),
    "contraction": ("einsum",),
    "histograms": ("digitize", "histogram", "histogram_bin_edges"),
    "nan_reductions": (
        "nanargmax",
        "nanargmin",
        "nancumprod",
        "nancumsum",
        "nanmax",
        "nanmean",
        "nanmin",
        "nanprod",
        "nanstd",
        "nansum",
        "nanvar",
    ),
    "padding": ("pad",),
    "products": ("convolve", "correlate", "dot", "inner", "kron", "outer"),
    "quantiles": ("median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"),
    "samples": ("geomspace", "gradient", "interp", "trapezoid", "unwrap"),
    "segments": ("bincount", "scatter_add", "segment_sum"),
    "splitting": ("array_split", "hstack", "rot90", "sliding_window_view", "split", "vstack"),
    "statistics": ("average", "corrcoef", "cov", "cumulative_max", "cumulative_min", "ptp"),
    "triangles": ("put_along_axis", "tril_indices", "triu_indices"),
}
#: The module of each public function.
MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "allclose",
    "array_equal",
    "array_split",
    "average",
    "bincount",
    "convolve",
    "corrcoef",
    "correlate",
    "cov",
    "cumulative_max",
    "cumulative_min",
    "digitize",
    "dot",
    "einsum",
    "fmod",
    "geomspace",
    "gradient",
    "histogram",
    "histogram_bin_edges",
    "hstack",
    "inner",
    "interp",
    "isclose",
    "kron",
    "median",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "outer",
    "pad",
    "percentile",
    "ptp",
    "put_along_axis",
    "quantile",
    "rot90",
    "scatter_add",
    "segment_sum",
    "select",
    "sliding_window_view",
    "split",
    "trapezoid",
    "tril_indices",
    "triu_indices",
    "unwrap",
    "vstack",
]


def __getattr__(name: str) -> Any:
    """Import the module of a function when it is first asked for."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{MODULES[name]}", __name__), name)
    globals()[name] = found
    return found
