"""What the functions beyond the standard say to bad input, to the last word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest

REFUSALS: dict[str, str] = {
    "px.pad([1], 2)": "pad takes a phalanx array, got list; use phalanx.asarray",
    "px.pad(m, -1)": "pad: widths are 0 or more, got -1",
    "px.pad(m, 1.5)": "pad: pad_width is an int, got 1.5",
    "px.pad(m, ((1, 2),) * 3)": "pad: pad_width is a number, (before, after), or such a pair for "
    "each of 2 axes, got ((1, 2), (1, 2), (1, 2))",
    "px.pad(m, {5: 1})": "pad: axis 5 of pad_width is out of range for 2 axes",
    "px.pad(m, 1, mode='mirror')": "pad: mode is one of 'constant', 'edge', 'linear_ramp', "
    "'maximum', 'mean', 'median', 'minimum', 'reflect', 'symmetric', 'wrap', 'empty', got 'mirror'",
    "px.pad(m, 1, mode='edge', constant_values=1)": "pad: mode 'edge' takes no other arguments, "
    "got constant_values",
    "px.pad(m, 1, reflect_type='odd')": "pad: mode 'constant' takes constant_values, got "
    "reflect_type",
    "px.pad(i, 1, constant_values=1.5)": "pad: constant_values: the float 1.5 does not go into "
    "int64, as a cast would cut it; convert it first",
    "px.pad(m[:0], 1, mode='edge')": "pad: axis 0 of shape (0, 3) has no elements to make a border "
    'of; use mode "constant" or "empty"',
    "px.pad(m, 1, mode='mean', stat_length=0)": "pad: stat_length is 1 or more, got 0",
    "px.quantile(m, 1.5)": "quantile: q is from 0 to 1, got 1.5",
    "px.quantile(m, [0.5, -0.1])": "quantile: q is from 0 to 1, got -0.1",
    "px.quantile(m, float('nan'))": "quantile: q is from 0 to 1, got nan",
    "px.percentile(m, 101)": "percentile: q is from 0 to 100, got 101",
    "px.nanquantile(m, 2)": "nanquantile: q is from 0 to 1, got 2",
    "px.quantile(m, 'half')": "quantile: q is made of real numbers, got 'half'",
    "px.median(m > 0)": "median is not defined for bool: it has no order; use "
    "phalanx.astype(x, phalanx.float64)",
    "px.median(m, axis=(0, 0))": "median: axis (0, 0) names an axis twice",
    "px.split(m, 2, axis=1)": "split: axis 1 of shape (2, 3) does not divide into 2 equal parts; "
    "use phalanx.array_split",
    "px.array_split(m, 0)": "array_split: the number of parts is at least 1, got 0",
    "px.sliding_window_view(m, 4, axis=1)": "sliding_window_view: a window of 4 is larger than "
    "axis 1 of shape (2, 3)",
    "px.sliding_window_view(m, 2)": "sliding_window_view: 1 extents of a window for 2 axes; give "
    "one for each",
    "px.hstack(m)": "hstack takes the arrays as one list: write phalanx.hstack([x, y])",
    "px.rot90(m, axes=(1, 1))": "rot90 turns in the plane of two different axes, got (1, 1)",
    "px.isclose(1.0, 2.0)": "isclose takes a phalanx array and another or a number, got float; "
    "use phalanx.asarray",
    "px.select([m > 0], [])": "select takes as many choices as conditions, at least one, got 0 "
    "and 1",
    "px.select([m], [m])": "select: a condition is bool, got float64; write x != 0",
    "px.put_along_axis(m, i, 1, axis=0)": "put_along_axis takes indices with as many axes as arr, "
    "got shapes (3,) and (2, 3)",
    "px.tril_indices(-1)": "tril_indices: extents are 0 or more, got (-1, -1)",
    "px.average(m, weights=i)": "average: weights of shape (3,) for an array of shape (2, 3) over "
    "axes of extents (2, 3); they have one of these shapes",
    "px.cov(px.ones((2, 2, 2)))": "cov takes an array of one or two axes, got shape (2, 2, 2)",
    "px.cov(m, px.ones(4))": "cov: m and y have 3 and 4 observations",
    "px.cov(m, fweights=m[0])": "cov: fweights are integers, got float64; use aweights",
    "px.cov(m, aweights=px.ones(2))": "cov: aweights of shape (2,) for 3 observations; they are "
    "one for each",
    "px.convolve(m, m)": "convolve takes 1-d arrays with elements, got shapes (2, 3) and (2, 3)",
    "px.correlate(i, i, 'all')": 'correlate: mode is "full", "same" or "valid", got \'all\'',
    "px.inner(m, px.ones(2))": "inner: the last extents of (2, 3) and (2,) differ",
    "px.interp(0.5, i, m)": "interp takes samples (n,) at places (n,), got shapes (2, 3) and (3,)",
    "px.interp(0.5, i, i, period=0)": "interp: period is not 0",
    "px.gradient(m[:1])": "gradient needs at least 2 samples along axis 0 of shape (1, 3)",
    "px.gradient(m, edge_order=3)": "gradient: edge_order is 1 or 2, got 3",
    "px.gradient(m, 1, 2, 3)": "gradient takes no distance, one, or one for each of 2 axes, got 3",
    "px.gradient(i, m[:, 0])": "gradient: places of shape (2,) for 3 samples along axis 0",
    "px.trapezoid(m, px.ones(4))": "trapezoid: x of shape (4,) does not fit y of shape (2, 3) "
    "along axis 1",
    "px.unwrap(m, period=0)": "unwrap: period is over 0 and finite, got 0",
    "px.geomspace(-1, 1)": "geomspace: start and stop are not 0 and of one sign, got -1 and 1",
    "px.cumulative_max(m)": "cumulative_max needs an axis for shape (2, 3); write axis=0, for "
    "example",
    "px.nanvar(m, ddof=1, correction=1)": "nanvar takes correction or ddof, not both: they are "
    "the same",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_refused(text: str, device: px.Device) -> None:
    del device
    names = {"px": px, "m": px.ones((2, 3)), "i": px.arange(3)}
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        eval(text, names)
    assert str(caught.value) == REFUSALS[text]


def test_functions_as_modes_of_pad_are_told_the_way() -> None:
    with pytest.raises(TypeError, match=r"pad: mode is a name, got a function, which runs on the"):
        px.pad(px.ones(3), 1, mode=lambda *_: None)  # type: ignore[arg-type]


_CALLS: dict[str, Callable[[Any], Any]] = {
    "median": np.median,
    "einsum": lambda x: np.einsum("ij->i", x),
    "pad": lambda x: np.pad(x, 1),
    "histogram": lambda x: np.histogram(x, bins=3)[0],
    "sliding_window_view": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "add.accumulate": np.add.accumulate,
}


@pytest.mark.parametrize("name", _CALLS)
def test_functions_of_numpy_find_them(name: str, device: px.Device) -> None:
    del device
    x = np.array([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
    got = _CALLS[name](px.asarray(x))
    assert isinstance(got, px.Array)
    np.testing.assert_allclose(px.asnumpy(got), _CALLS[name](x))


def test_windows_are_views_that_refuse_writing(device: px.Device) -> None:
    del device
    x = px.arange(6)
    windows = px.sliding_window_view(x, 3)
    assert windows.strides == (1, 1)
    x[2] = 50
    assert windows[0].tolist() == [0, 1, 50]
    with pytest.raises(ValueError, match="elements of the array share memory"):
        windows[0, 0] = 1
