"""joblib hashes, stores and sends Phalanx arrays, which come back on the device they were on.

Ran as a suite, not with the other tests: ``make compatibility ARGS='--suite joblib'``.
"""

import joblib
import numpy as np
import phalanx as px
import pytest

VALUES = np.arange(100, dtype="float32").reshape(20, 5)


def same(got, want) -> bool:
    assert type(got) is px.Array
    assert got.device is px.get_device()
    return np.array_equal(px.asnumpy(got), want)


def total(x: px.Array) -> px.Array:
    return px.sum(x * 2, axis=0)


def test_hash_is_of_the_contents():
    x = px.asarray(VALUES)
    assert joblib.hash(x) == joblib.hash(px.asarray(VALUES))
    assert joblib.hash(x) == joblib.hash(px.asarray(VALUES.T.copy()).T)
    others = [x + 1, x.reshape(5, 20), x.astype("int32"), x.astype("float64")]
    assert len({joblib.hash(y) for y in (x, *others)}) == 5


def test_dump_and_load(tmp_path):
    joblib.dump({"x": px.asarray(VALUES)}, tmp_path / "file")
    assert same(joblib.load(tmp_path / "file")["x"], VALUES)


def test_compressed_dump(tmp_path):
    joblib.dump(px.asarray(VALUES), tmp_path / "file", compress=3)
    assert same(joblib.load(tmp_path / "file"), VALUES)


def test_memory_calls_once(tmp_path):
    calls = []

    def twice(x):
        calls.append(x.shape)
        return x * 2

    cached = joblib.Memory(tmp_path, verbose=0).cache(twice)
    for _ in range(2):
        assert same(cached(px.asarray(VALUES)), VALUES * 2)
    assert len(calls) == 1
    assert same(cached(px.asarray(VALUES + 1)), (VALUES + 1) * 2)
    assert len(calls) == 2


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_parallel(backend):
    parts = [px.asarray(VALUES + i) for i in range(4)]
    work = (joblib.delayed(total)(x) for x in parts)
    results = joblib.Parallel(n_jobs=2, backend=backend)(work)
    for i, result in enumerate(results):
        assert same(result, (2 * (VALUES + i)).sum(axis=0))
