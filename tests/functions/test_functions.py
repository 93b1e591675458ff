"""The functions beyond the standard against NumPy, over dtypes, shapes, axes and layouts."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, generator
from function_cases import CASES, arrays, expressions, flat, value
from phalanx.conformance.reference.values import HostArray
from phalanx.functions import MODULES

DTYPES = ("float64", "float32", "float16", "int64", "int16", "uint8", "complex128", "complex64")


def test_every_function_is_tried() -> None:
    """Each function of the folder has expressions, or a test of its own."""
    assert set(CASES) == set(MODULES)


@pytest.mark.parametrize("dtype", DTYPES)
def test_against_numpy(dtype: str, device: px.Device) -> None:
    del device
    host = arrays(dtype, generator("functions", dtype))
    layouts = list(LAYOUTS.values())
    for number, text in enumerate(expressions(dtype)):
        layout = layouts[number % len(layouts)]
        here = SimpleNamespace(
            **{name: layout(x, px.get_device()) for name, x in vars(host).items()}
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means of nothing
            want = flat(value(text, np, host))
        got = flat(value(text, px, here))
        assert len(got) == len(want), text
        for g, w in zip(got, want, strict=True):
            _same(g, np.asarray(w), text, dtype)


def _same(got: px.Array, want: HostArray, text: str, dtype: str) -> None:
    host = px.asnumpy(got)
    assert host.shape == want.shape, text
    assert host.dtype.kind == want.dtype.kind, (text, host.dtype, want.dtype)
    if want.dtype.kind in "fc":
        rounded = np.dtype(dtype) if np.dtype(dtype).kind in "fc" else want.dtype
        eps = float(np.finfo(rounded).eps)
        scale = min(float(np.nanmax(np.abs(want[np.isfinite(want)]), initial=0.0)), 1e300)
        with np.errstate(all="ignore"):  # a tolerance may be infinite
            host, want = (x.astype(complex if x.dtype.kind == "c" else float) for x in (host, want))
        np.testing.assert_allclose(host, want, rtol=40 * eps, atol=20 * eps * scale, err_msg=text)
    else:
        np.testing.assert_array_equal(host, want, err_msg=text)


def test_split_by_a_number_that_is_an_array(device: px.Device) -> None:
    x = px.arange(6)
    for function in (px.split, px.array_split):
        assert [part.tolist() for part in function(x, px.asarray(3))] == [[0, 1], [2, 3], [4, 5]]
        assert [len(part) for part in function(x, px.asarray([1, 5]))] == [1, 4, 1]


_METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf", "weibull")


@pytest.mark.parametrize("method", _METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_beside_infinities(name: str, method: str, device: px.Device) -> None:
    """An element itself stays as it is; between a number and an infinity lies the infinity."""
    del device
    inf = np.inf

    def at(values: list[float], q: float) -> float:
        return float(getattr(px, name)(px.asarray(values), q, method=method))

    assert at([1.0, 2.0, inf], 0.5) == 2.0
    assert at([-inf, 1.0, 2.0], 0.0) == -inf
    assert at([1.0, 2.0, inf], 1.0) == inf
    assert at([-inf, -inf, inf, inf], 0.01) == -inf
    assert np.signbit(at([-0.0, 1.0], 0.0))
    steps = {"lower": (1.0, -inf, -inf), "higher": (inf, 1.0, inf)}
    steps["inverted_cdf"] = steps["nearest"] = (inf, 1.0, inf)
    finite_up, finite_down, both = steps.get(method, (inf, -inf, np.nan))
    assert at([1.0, inf], 0.6) == finite_up
    assert at([-inf, 1.0], 0.6) == finite_down
    np.testing.assert_equal(at([-inf, inf], 0.6), both)


def test_quantiles_and_medians_of_huge_numbers(device: px.Device) -> None:
    """No step between two elements and no sum of them overflows."""
    del device
    assert float(px.quantile(px.asarray([-1.5e308, 1.5e308]), 0.25)) == -0.75e308
    inf, top = np.inf, 1.5e308
    cases = (
        [top, top],
        [top, 1e308],
        [-top, -top],
        [top, -top],
        [1.0, inf],
        [-inf, inf],
        [inf, inf],
    )
    short = [60000, 40000, 60000, 40000]
    for function in (px.median, px.nanmedian):
        wanted = (top, 1.25e308, -top, 0.0, inf, np.nan, inf)
        for values, want in zip(cases, wanted, strict=True):
            np.testing.assert_equal(float(function(px.asarray(values))), want)
        assert (
            float(function(px.asarray(short, dtype=px.float16))) == 49984
        )  # the even neighbour of 50000
        assert float(function(px.asarray([5e-324, 5e-324]))) == 5e-324
