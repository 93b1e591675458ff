"""xarray over arrays of the device: what goes in as a Phalanx array comes out as one.

Ran as a suite, not with the other tests: ``make compatibility ARGS='--suite xarray'``.
"""

import numpy as np
import phalanx as px
import pytest
import xarray as xr

VALUES = np.arange(24, dtype="float64").reshape(4, 3, 2) / 7


def labelled(make) -> xr.DataArray:
    coordinates = {"time": [0, 1, 2, 3], "place": ["a", "b", "c"]}
    return xr.DataArray(make(VALUES), dims=("time", "place", "layer"), coords=coordinates)


@pytest.fixture
def ours() -> xr.DataArray:
    return labelled(px.asarray)


@pytest.fixture
def numpys() -> xr.DataArray:
    return labelled(np.asarray)


def check(got: xr.DataArray, want: xr.DataArray, *, exact: bool = True) -> None:
    """The same labels and values, and data that are still Phalanx's, where they were made."""
    assert type(got.data) is px.Array
    assert got.data.device is px.get_device()
    assert got.dims == want.dims
    assert list(got.coords) == list(want.coords)
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    compare(px.asnumpy(got.data), want.data)


PROGRAMS = {
    "arithmetic": lambda x: (x * 2 - 1) / (x + 1),
    "power": lambda x: x**2,
    "negative": lambda x: -abs(x),
    "comparison": lambda x: x > 1,
    "broadcasting": lambda x: x - x.isel(time=0),
    "alignment": lambda x: x.isel(time=slice(0, 3)) + x.isel(time=slice(1, 4)),
    "position": lambda x: x.isel(time=2, layer=slice(None, None, -1)),
    "several positions": lambda x: x.isel(time=[3, 0]),
    "label": lambda x: x.sel(place="b"),
    "several labels": lambda x: x.sel(place=["c", "a"]),
    "mask": lambda x: x[x.time > 1],
    "where": lambda x: x.where(x > 1, 0.0),
    "concat": lambda x: xr.concat([x, x + 1], dim="time"),
    "transpose": lambda x: x.transpose("layer", "time", "place"),
    "stack": lambda x: x.stack(both=("time", "place")).reset_index("both", drop=True),
    "expand": lambda x: x.expand_dims("run"),
    "squeeze": lambda x: x.isel(layer=[0]).squeeze("layer"),
    "clip": lambda x: x.clip(0.5, 2.0),
    "astype": lambda x: x.astype("float32"),
    "roll": lambda x: x.roll(time=1),
    "maximum": lambda x: x.max("time", skipna=False),
    "argmax": lambda x: x.argmax("time", skipna=False),
    "any": lambda x: (x > 3).any("place"),
    "fillna": lambda x: x.fillna(0.0),
    "isnull": lambda x: x.isnull(),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program, ours, numpys):
    check(program(ours), program(numpys))


ROUNDED = {
    "sum": lambda x: x.sum("place"),
    "mean": lambda x: x.mean(skipna=False),
    "mean along an axis": lambda x: x.mean("layer", skipna=False),
    "std": lambda x: x.std("time", skipna=False),
    "cumsum": lambda x: x.cumsum("time", skipna=False),
    "difference": lambda x: x.diff("time"),
    "exp": np.exp,
    "without NaN: sum": lambda x: x.sum("time"),
    "without NaN: mean": lambda x: x.mean("time"),
    "without NaN: max": lambda x: x.max("time"),
    "without NaN: std": lambda x: x.std("time"),
    "group": lambda x: x.groupby("place").mean(),
    "where, else NaN": lambda x: x.where(x > 1).sum("time"),
    "dot": lambda x: x.dot(x, dim="layer"),
    "weighted": lambda x: x.weighted(x.isel(place=0, layer=0, drop=True)).mean("time"),
}


@pytest.mark.parametrize("program", ROUNDED.values(), ids=ROUNDED)
def test_program_that_rounds(program, ours, numpys):
    check(program(ours), program(numpys), exact=False)


def test_dataset(ours, numpys):
    def summary(x):
        data = xr.Dataset({"level": x, "square": x**2})
        return data.isel(time=slice(1, None)).mean("time", skipna=False)["square"] - 1

    check(summary(ours), summary(numpys), exact=False)


def test_assignment(ours, numpys):
    for x in (ours, numpys):
        x.loc[{"place": "b"}] = -1.0
        x[0, :, 1] += 2
    check(ours, numpys)


def test_repr(ours):
    assert repr(ours).startswith("<xarray.DataArray (time: 4, place: 3, layer: 2)>")
