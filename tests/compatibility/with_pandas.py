"""pandas keeps its data in NumPy's arrays: it takes ours of the host's memory, others by request.

Ran as a suite, not with the other tests: ``make compatibility ARGS='--suite pandas'``.
"""

import numpy as np
import pandas as pd
import phalanx as px
import pytest

VALUES = np.arange(12, dtype="float64").reshape(4, 3) / 3
on_host = pytest.mark.skipif(
    not px.get_device().host_addressable, reason="the host does not see the memory"
)
elsewhere = pytest.mark.skipif(px.get_device().host_addressable, reason="the host sees the memory")


@on_host
def test_series():
    x = px.asarray(VALUES[:, 0])
    pd.testing.assert_series_equal(pd.Series(x), pd.Series(VALUES[:, 0]))


@on_host
def test_frame():
    got = pd.DataFrame(px.asarray(VALUES), columns=["a", "b", "c"])
    pd.testing.assert_frame_equal(got, pd.DataFrame(VALUES, columns=["a", "b", "c"]))


@on_host
def test_columns():
    x = px.asarray(VALUES)
    got = pd.DataFrame({"a": x[:, 0], "b": x[:, 1] > 1})
    want = pd.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1] > 1})
    pd.testing.assert_frame_equal(got, want)


@on_host
def test_a_new_column():
    got = pd.DataFrame({"a": VALUES[:, 0]})
    got["b"] = px.asarray(VALUES[:, 1])
    pd.testing.assert_frame_equal(got, pd.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}))


@on_host
def test_index():
    got = pd.Series(VALUES[:, 0], index=px.asarray([4, 3, 2, 1]))
    assert list(got.index) == [4, 3, 2, 1]
    assert got[3] == VALUES[1, 0]


@elsewhere
@pytest.mark.parametrize("take", [pd.Series, pd.DataFrame, lambda x: pd.DataFrame({"a": x})])
def test_memory_that_the_host_does_not_see_is_asked_for(take):
    x = px.asarray(VALUES[:, 0])
    with pytest.raises(TypeError, match=r"phalanx\.asnumpy\(x\)"):
        take(x)
    np.testing.assert_array_equal(take(px.asnumpy(x)).to_numpy().ravel(), VALUES[:, 0])


def test_back():
    frame = pd.DataFrame(VALUES)
    x = px.asarray(frame.to_numpy())
    assert x.device is px.get_device()
    np.testing.assert_array_equal(px.asnumpy(x), VALUES)
    np.testing.assert_array_equal(px.asnumpy(px.asarray(frame[0])), VALUES[:, 0])
    np.testing.assert_array_equal(px.asnumpy(px.asarray(frame)), VALUES)
