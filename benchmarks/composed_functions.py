"""Functions beyond the standard under NumPy's names, which are composed of several launches."""

from __future__ import annotations

import numpy as np

from .functions import FUNCTION_SIZES, Table, timed_functions
from .workloads import HostArray, Operands, Workload


def _vectors(n: int, rng: np.random.Generator) -> Operands:
    """Two vectors of which no sum of products is near 0."""
    return tuple(rng.uniform(0.5, 1.5, n).astype(np.float32) for _ in range(2))


def _matrix(n: int, rng: np.random.Generator) -> Operands:
    side = int(n**0.5)
    return (rng.random((side, side), dtype=np.float32),)


def _sorted(n: int, rng: np.random.Generator) -> Operands:
    """Places in order, where to look, and samples: in float64, which NumPy's interp gives."""
    return np.sort(rng.random(n)), rng.random(n), rng.random(n)


def _chosen(n: int, rng: np.random.Generator) -> Operands:
    indices: HostArray = rng.integers(0, n, n)
    return rng.random(n, dtype=np.float32), indices


def _ours(calls: str) -> tuple[tuple[str, ...], ...]:
    """Functions that PyTorch has not, by what they are called with: calls with a line each."""
    return tuple((f"xp.{call.strip()}", "") for call in calls.strip().splitlines())


def _of_one(names: str) -> str:
    return "\n".join(f"{name}(a)" for name in names.split())


#: PyTorch's spelling is the second one, NumPy's the third.
_ANY: Table = (
    (
        _vectors,
        (
            "xp.nanmean(a)",
            ("xp.nanmedian(a)", "xp.nanquantile(a, 0.5)"),
            "xp.trapezoid(a)",
            ("xp.cumulative_max(a)", "xp.cummax(a, 0)[0]", "xp.maximum.accumulate(a)"),
            ("xp.cumulative_min(a)", "xp.cummin(a, 0)[0]", "xp.minimum.accumulate(a)"),
            *(f"xp.{name}(a, 0.3)" for name in ("quantile", "nanquantile")),
            ("xp.array_split(a, 3)[0]", "xp.tensor_split(a, 3)[0]"),
            ("xp.split(a, 1)[0]", "xp.tensor_split(a, 1)[0]"),
            "xp.dot(a, b)",
            "xp.inner(a, b)",
            "xp.einsum('i,i->', a, b)",
            (
                "xp.sliding_window_view(a, 1)",
                "a.unfold(0, 1, 1)",
                "xp.lib.stride_tricks.sliding_window_view(a, 1)",
            ),
            *_ours(
                _of_one("nanargmax nanargmin nancumprod nancumsum nanmin nanprod nanstd nanvar")
            ),
            *_ours(
                """
                unwrap(a)
                percentile(a, 30.0)
                nanpercentile(a, 30.0)
                average(a, weights=b)
                convolve(a, b[:7])
                correlate(a[:99], b[:99])
                geomspace(1.0, 10.0, a.shape[0])
                histogram_bin_edges(a, 10)
                select([a > b, a < b], [a, b], 0.0)
                """
            ),
        ),
    ),
    (_sorted, _ours("digitize(b, a)\ninterp(b, a, c)")),
    (_chosen, (("(xp.put_along_axis(a, b, 1.0, 0), a)[1]", "a.scatter_(0, b, 1.0)"),)),
    (
        _matrix,
        (
            "xp.rot90(a)",
            ("xp.tril_indices(a.shape[0])[0]", "xp.tril_indices(*a.shape)[0]"),
            ("xp.triu_indices(a.shape[0])[0]", "xp.triu_indices(*a.shape)[0]"),
        ),
    ),
)
#: What one element is too few for; NumPy's results of the last two are of float64.
_SEVERAL: Table = (
    (_vectors, (("xp.gradient(a)", "xp.gradient(a)[0]"),)),
    (
        _matrix,
        (
            ("xp.cov(a)", "xp.cov(a)", "xp.cov(a, dtype=xp.float32)"),
            ("xp.corrcoef(a)", "xp.corrcoef(a)", "xp.corrcoef(a, dtype=xp.float32)"),
        ),
    ),
)

COMPOSED: tuple[Workload, ...] = (
    *timed_functions(_ANY, FUNCTION_SIZES),
    *timed_functions(_SEVERAL, FUNCTION_SIZES[1:]),
)
