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


def test_covariances_of_too_few_weighted_observations(device: px.Device) -> None:
    """As without weights, no factor below 0 turns the sign."""
    del device
    x, weights, times = (
        px.asarray([1.0, 5.0, 2.0]),
        px.asarray([0.2, 0.9, 0.4]),
        px.asarray([1, 1, 0]),
    )
    assert float(px.cov(x, ddof=4)) == np.inf
    assert float(px.cov(x, ddof=3, aweights=weights)) == np.inf
    assert float(px.cov(x, ddof=3, fweights=times)) == np.inf
    assert np.isnan(float(px.cov(x, aweights=weights * px.nan)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_numbers_for_the_parts_of_complex_ones(dtype: str, device: px.Device) -> None:
    """Each part by itself: no zero changes its sign, and an infinity beside it makes no NaN."""
    del device
    part = [-0.0, 0.0, 1.0, np.inf, -np.inf, np.nan]
    host = np.array([[complex(re, im) for im in part] for re in part], dtype)
    for options in ({}, {"posinf": np.inf}, {"nan": -0.0, "neginf": -np.inf}):
        want = np.nan_to_num(host, **options)
        for layout in LAYOUTS.values():
            x = layout(host, px.get_device())
            _same_bits(px.nan_to_num(x, **options), want)
            assert px.nan_to_num(x, copy=False, **options) is x
            _same_bits(x, want)
        _same_bits(px.nan_to_num(px.asarray(host[5, 3]), **options), want[5, 3])
        assert px.nan_to_num(px.asarray(host[:0]), **options).shape == (0, 6)


def _same_bits(got: px.Array, want: HostArray) -> None:
    assert got.shape == want.shape
    assert px.asnumpy(got).tobytes() == want.tobytes()


def test_booleans_are_numbers_already(device: px.Device) -> None:
    del device
    x = px.asarray([True, False])
    got = px.nan_to_num(x)
    assert got.dtype is px.bool
    assert got.tolist() == [True, False]
    got[0] = False
    assert x.tolist() == [True, False]
    assert px.nan_to_num(x, copy=False) is x


@pytest.mark.parametrize(
    ("start", "stop"), [(1e-200, 1e-150), (-1e-170, -1e-160), (1e-100, 1e-300), (1e300, 1e200)]
)
def test_geometric_steps_between_extremes(start: float, stop: float, device: px.Device) -> None:
    del device
    got = px.asnumpy(px.geomspace(start, stop, num=3))
    np.testing.assert_allclose(got, np.geomspace(start, stop, num=3), rtol=1e-12)
