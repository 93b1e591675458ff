"""Calls of the functions beyond the standard, which NumPy and every device understand alike.

``xp`` is NumPy or Phalanx; ``arrays`` says what the names are.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from phalanx.conformance.reference.values import HostArray

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp")
_STATISTICS = ("maximum", "minimum", "mean", "median")
_METHODS = (
    *("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "hazen", "weibull"),
    *("averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("median_unbiased", "normal_unbiased"),
)

#: By function: expressions. Those after ``real:`` are for real floating dtypes, after ``float:``
#: for complex ones too, after ``number:`` for integers and real ones; all others need no dtype.
CASES: dict[str, tuple[str, ...]] = {
    "allclose": ("float: xp.allclose(m, m)", "real: xp.allclose(v, v + 1)"),
    "array_equal": (
        "number: xp.array_equal(m, m)",
        "number: xp.array_equal(m, v)",
        "float: xp.array_equal(g, g)",
        "float: xp.array_equal(g, g, equal_nan=True)",
    ),
    "array_split": ("number: xp.array_split(v, 4)", "number: xp.array_split(t, 3, axis=-1)"),
    "average": (
        "float: xp.average(m)",
        "xp.average(i, weights=w)",
        "real: xp.average(m, axis=0, weights=v[:5] * v[:5])",
        "real: xp.average(t, axis=(0, 2), weights=t * t, returned=True)",
        "real: xp.average(m, 1, returned=True, keepdims=True)",
    ),
    "bincount": (
        "xp.bincount(i)",
        "xp.bincount(i, minlength=40)",
        "xp.bincount(i[:0], None, 3)",
        "xp.bincount(i, weights=w)",
        "xp.bincount(i, w, 40)",
    ),
    "convolve": (
        *(f"number: xp.convolve(v, m[0], mode='{m}')" for m in ("full", "same", "valid")),
        *(f"number: xp.convolve(m[0], v, '{m}')" for m in ("full", "same", "valid")),
        *(f"number: xp.convolve(v, v[:4], '{m}')" for m in ("full", "same", "valid")),
        "float: xp.convolve(v, v)",
    ),
    "corrcoef": (
        "float: xp.corrcoef(m)",
        "real: xp.corrcoef(m, rowvar=False)",
        "real: xp.corrcoef(v, v * v)",
        "real: xp.corrcoef(v)",
    ),
    "correlate": (
        *(f"number: xp.correlate(v, m[0], mode='{m}')" for m in ("full", "same", "valid")),
        *(f"number: xp.correlate(m[0], v, '{m}')" for m in ("full", "same", "valid")),
        *(f"number: xp.correlate(v[:4], v, '{m}')" for m in ("full", "same", "valid")),
        "float: xp.correlate(v, m[1], 'full')",
        "float: xp.correlate(m[1], v, 'full')",
    ),
    "cov": (
        "float: xp.cov(m)",
        "real: xp.cov(m, rowvar=False, bias=True)",
        "real: xp.cov(v, -v, ddof=3)",
        "real: xp.cov(v)",
        "xp.cov(w, fweights=i)",
        "xp.cov(w, i, fweights=i, aweights=w * w, ddof=0)",
        "xp.cov(w, i, aweights=w * w)",
    ),
    "cumulative_max": ("number: running(xp, 'max', v, 0)", "number: running(xp, 'max', t, 1)"),
    "cumulative_min": ("number: running(xp, 'min', v, 0)", "real: running(xp, 'min', g, 1)"),
    "digitize": (
        "real: xp.digitize(v, [-1.0, 0.0, 0.5])",
        "real: xp.digitize(m, [0.5, 0.0, -1.0], right=True)",
        "number: xp.digitize(m, xp.asarray([1, 3, 3, 4]))",
        "number: xp.digitize(x=m, bins=xp.asarray([4, 3, 3, 1]))",
        "real: xp.digitize(g, [0.0, 1.0])",
    ),
    "dot": ("number: xp.dot(m, m[0])", "float: xp.dot(v, v)", "number: xp.dot(m, 3)"),
    "einsum": (
        "number: xp.einsum('aij,bj->abi', t, m)",
        "float: xp.einsum('ij,kj,k->i', m, m, m[:, 0], optimize=True)",
        "float: xp.einsum('...j,j->...', t, m[0])",
    ),
    "fmod": (
        "real: xp.fmod(m, m + 0.25)",
        "number: xp.fmod(m, 3)",
        "real: xp.fmod(-v, 0.3)",
        "real: xp.fmod(v, -0.3)",
    ),
    "geomspace": (
        "xp.geomspace(1, 256, num=9)",
        "xp.geomspace(-1000.0, -1, 4, endpoint=False)",
        "xp.geomspace(2, 3, 1)",
    ),
    "gradient": (
        "real: xp.gradient(v)",
        "float: xp.gradient(m)",
        "real: xp.gradient(t, 0.5, axis=1, edge_order=2)",
        "real: xp.gradient(m, 2.0, xp.asarray([0.0, 1.0, 3.0, 4.0, 4.5, 9.0]), edge_order=2)",
        "real: xp.gradient(m, xp.asarray([0.0, 1.0, 3.0, 4.0, 4.5, 9.0]), axis=(-1,))",
        "xp.gradient(i, 2)",
    ),
    "histogram": (
        "real: xp.histogram(v)",
        "real: xp.histogram(m, bins=3, range=(-1.0, 1.0))",
        "real: xp.histogram(a=v, bins=[-1.0, 0.0, 0.25, 2.0])",
        "real: xp.histogram(v[:0], bins=2)",
        "real: xp.histogram(v[:1], bins=4)",
        "real: xp.histogram(v, 5, density=True)",
        "xp.histogram(i, bins=7)",
        "xp.histogram(i, bins=4, weights=w)",
        "xp.histogram(w, bins=[0.0, 0.5, 1.0], weights=w, density=True)",
    ),
    "histogram_bin_edges": ("real: xp.histogram_bin_edges(v, 7)", "xp.histogram_bin_edges(i)"),
    "hstack": ("number: xp.hstack([v, v])", "number: xp.hstack([m, m, m])"),
    "inner": ("number: xp.inner(m, m)", "float: xp.inner(v, v)", "number: xp.inner(t, t[0, 0])"),
    "interp": (
        "xp.interp(w * 40 - 5, xp.asarray([0.0, 1.0, 10.0, 30.0]), w[:4])",
        "xp.interp(i, xp.asarray([1, 5, 20]), xp.asarray([3, 1, 2]), left=-1.0, right=9.0)",
        "xp.interp(w * 90 - 20, xp.asarray([3.0, 30.0, 11.0]), w[:3], period=25.0)",
        "xp.interp(g[0], xp.asarray([0.0, 1.0]), xp.asarray([2.0, 5.0]))",
        "xp.interp(0.5, xp.asarray([0.0, 2.0]), xp.asarray([1 + 1j, 3 - 1j]))",
    ),
    "isclose": (
        "float: xp.isclose(m, m + 1e-9)",
        "real: xp.isclose(m, m + 0.25, atol=xp.abs(m), rtol=xp.abs(m[..., :1]))",
        "real: xp.isclose(g, g, equal_nan=True)",
        "real: xp.isclose(v, 0.5, rtol=0.3, atol=0.1)",
        "xp.isclose(i, i + 1, atol=1.0)",
    ),
    "kron": ("number: xp.kron(m, m[:2, :3])", "float: xp.kron(v, m)", "number: xp.kron(t, v[:2])"),
    "median": (
        "real: xp.median(v)",
        "real: xp.median(m, axis=0)",
        "real: xp.median(t, axis=(0, 2), keepdims=True)",
        "real: xp.median(g, axis=1)",
        "xp.median(i)",
        "real: xp.median(a=m, axis=-1)",
    ),
    "nan_to_num": (
        "real: xp.nan_to_num(g)",
        "real: xp.nan_to_num(g / 0, nan=2.0, posinf=3.0, neginf=-3.0)",
        "xp.nan_to_num(i)",
        "xp.nan_to_num(c)",
    ),
    **{
        f"nanarg{m}": (f"real: xp.nanarg{m}(g, axis=1)", f"real: xp.nanarg{m}(g)")
        for m in ("max", "min")
    },
    **{
        f"nan{op}": (
            f"real: xp.nan{op}(g)",
            f"real: xp.nan{op}(g, axis=0)",
            f"real: xp.nan{op}(a=g, axis=1, keepdims=True)",
            f"xp.nan{op}(i)",
        )
        for op in ("max", "min", "mean", "prod", "sum", "std", "var", "median")
    },
    "nancumprod": ("real: xp.nancumprod(g, axis=1)", "real: xp.nancumprod(g)"),
    "nancumsum": ("real: xp.nancumsum(g, axis=1)", "real: xp.nancumsum(g)"),
    "nanpercentile": ("real: xp.nanpercentile(g, [10, 50.5], axis=0)",),
    "nanquantile": tuple(
        f"real: xp.nanquantile(g, [0.0, 0.3, 1.0], axis={axis}) * 1" for axis in (0, 1, None)
    ),
    "nanvar": ("real: xp.nanvar(g, axis=1, ddof=1)", "real: xp.nanvar(g)", "xp.nanvar(i)"),
    "outer": ("number: xp.outer(v, m)", "float: xp.outer(v, 2)"),
    "pad": (
        *(f"number: xp.pad(m, 2, mode='{mode}')" for mode in _MODES if mode != "linear_ramp"),
        *(f"number: xp.pad(v, (40, 23), mode='{mode}')" for mode in _MODES if mode[0] != "l"),
        *(f"real: xp.pad(t, ((1, 0), (0, 2), (3, 3)), mode='{mode}')" for mode in _MODES),
        *(f"real: xp.pad(m, 2, mode='{mode}')" for mode in _STATISTICS),
        *(f"real: xp.pad(m, (1, 2), mode='{mode}', stat_length=3)" for mode in _STATISTICS),
        "xp.pad(i, 3, mode='mean')",
        "xp.pad(i, (2, 5), mode='linear_ramp', end_values=(-7, 20))",
        "number: xp.pad(m, ((1, 2),), constant_values=((1, 2), (3, 4)))",
        "real: xp.pad(v, (30, 5), 'reflect', reflect_type='odd')",
        "xp.pad(i, (30, 5), 'symmetric', reflect_type='odd')",
        "number: xp.pad(array=m, pad_width={-1: (1, 2)})",
        "number: xp.pad(m[:, :1], 3, 'reflect')",
        "number: xp.pad(m[:0], ((2, 1), (0, 0)))",
    ),
    "percentile": ("real: xp.percentile(m, [5, 50, 99.5], axis=1)",),
    "ptp": ("number: xp.ptp(m)", "number: xp.ptp(t, axis=(0, 2), keepdims=True)"),
    "put_along_axis": (
        "number: put(xp, m, xp.asarray([[1], [0], [2], [1], [1]]), 3, 1)",
        "number: put(xp, m, xp.asarray([[4, -1, 0, 2, 2, 1]]), m[:1], 0)",
        "number: put(xp, v, xp.asarray([7, 0]), 1, None)",
    ),
    "quantile": (
        *(f"real: xp.quantile(v, [0.0, 0.21, 0.5, 1.0], method='{m}') * 1" for m in _METHODS),
        "real: xp.quantile(m, 0.3, axis=0)",
        "real: xp.quantile(t, [[0.1, 0.2], [0.3, 0.9]], axis=(0, 1), keepdims=True)",
        "real: xp.quantile(g, 0.3, axis=1)",
        "real: xp.quantile(a=m, q=xp.asarray([0.25, 0.5]))",
        "xp.quantile(i, 0.3)",
    ),
    "rot90": tuple(f"number: xp.rot90(t, {k}, axes=(2, 0))" for k in (-1, 0, 1, 2, 3)),
    "scatter_add": (),
    "segment_sum": (),
    "select": (
        "number: xp.select([m > 2, m > 1], [m, m * 2])",
        "real: xp.select([v > 0, v < -1], [v, 1.5], default=-1.0)",
    ),
    "sliding_window_view": (
        "number: windows(xp)(v, 3)",
        "number: windows(xp)(m, (2, 3))",
        "number: windows(xp)(t, 2, axis=1)",
        "number: windows(xp)(m, (2, 3), axis=(1, 1))",
    ),
    "split": ("number: xp.split(m, 2, axis=1)", "number: xp.split(v, [3, 9, 40])"),
    "unwrap": (
        "real: xp.unwrap(m * 3)",
        "real: xp.unwrap(t, axis=0, period=1.5)",
        "real: xp.unwrap(m * 4, 5.0, 0)",
        "xp.unwrap(i, period=3)",
        "xp.unwrap(i, period=4)",
        "float: xp.unwrap(i)",
        "float: xp.unwrap(xp.asarray([0.0, 0.5, 0.0, 1.0, 0.5, 1.5]), period=1.0)",
    ),
    "trapezoid": (
        "float: xp.trapezoid(m)",
        "real: xp.trapezoid(t, dx=0.5, axis=1)",
        "real: xp.trapezoid(y=m, x=xp.asarray([0.0, 1.0, 3.0, 4.0, 4.5]), axis=0)",
        "real: xp.trapezoid(m, m * 2)",
        "xp.trapezoid(i)",
    ),
    "tril_indices": tuple(
        f"xp.tril_indices({n}, {k}, {m})"
        for n, m in ((4, None), (3, 6), (6, 3), (0, 2), (2, 0))
        for k in (*range(-7, 8), -(10**15), 10**15)
    ),
    "triu_indices": tuple(
        f"xp.triu_indices({n}, {k}, {m})"
        for n, m in ((4, None), (3, 6), (6, 3), (0, 2), (2, 0))
        for k in (*range(-7, 8), -(10**15), 10**15)
    ),
    "vstack": ("number: xp.vstack([v, v])", "number: xp.vstack([m, m])"),
}
CASES["nanstd"] = tuple(case.replace("nanvar", "nanstd") for case in CASES["nanvar"])


def put(xp: Any, x: Any, *args: Any) -> Any:
    """What ``put_along_axis`` leaves in a copy of an array."""
    made = xp.asarray(x, copy=True)
    xp.put_along_axis(made, *args)
    return made


def running(xp: Any, name: str, x: Any, axis: int) -> Any:
    """Running extremes, which NumPy has as methods of functions."""
    if xp is np:
        return getattr(np, f"{name}imum").accumulate(x, axis=axis)
    return getattr(xp, f"cumulative_{name}")(x, axis=axis)


def windows(xp: Any) -> Any:
    """The function, which NumPy has elsewhere."""
    return np.lib.stride_tricks.sliding_window_view if xp is np else xp.sliding_window_view


def arrays(dtype: str, rng: np.random.Generator) -> SimpleNamespace:
    """The operands: v (17,), m (5, 6), t (3, 4, 6), g (5, 6) with NaN, i, w, c (50,)."""
    kind = np.dtype(dtype)

    def made(*shape: int) -> HostArray:
        if kind.kind in "iu":
            return rng.integers(0, 9, shape).astype(kind)
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if kind.kind == "c" else x).astype(kind)

    g = made(5, 6)
    if kind.kind in "fc":
        g[rng.random(g.shape) < 0.3] = np.nan
        g[:, 0] = 1.5
    i, w = rng.integers(0, 30, 50), rng.random(50)
    c = np.array([complex(np.nan, 1), complex(np.inf, -np.inf), 1 - 2j] * 3)
    return SimpleNamespace(v=made(17), m=made(5, 6), t=made(3, 4, 6), g=g, i=i, w=w, c=c)


def expressions(dtype: str) -> list[str]:
    """What is defined for a dtype, without the labels; those without a label for float64."""
    kind = np.dtype(dtype).kind
    found = []
    for case in (case for cases in CASES.values() for case in cases):
        label, mark, text = case.partition(": xp" if ": xp" in case else ": ")
        known = label in ("real", "float", "number")
        wanted = {"real": "f", "float": "fc", "number": "iuf"}.get(label, "")
        if (known and kind in wanted) or (not known and dtype == "float64"):
            found.append(("xp" if mark == ": xp" else "") + text if known else case)
    return found


def value(text: str, xp: Any, operands: SimpleNamespace) -> Any:
    """What an expression gives."""
    names = {"xp": xp, "put": put, "running": running, "windows": windows, **vars(operands)}
    return eval(text, names)


def flat(result: Any) -> list[Any]:
    """The arrays of a result."""
    return list(result) if isinstance(result, tuple | list) else [result]
