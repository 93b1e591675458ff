"""dask.array with chunks that are Phalanx arrays.

Ran as a suite, not with the other tests: ``make compatibility ARGS='--suite dask'``.
"""

import dask
import dask.array as da
import numpy as np
import phalanx as px
import pytest
from dask.array.dispatch import concatenate_lookup, numel_lookup, tensordot_lookup

VALUES = np.arange(48, dtype="float64").reshape(8, 6) / 5


def count(x: px.Array, **options) -> px.Array:
    """How many elements go into a reduction, as an array of the kind that is reduced."""
    return px.sum(px.ones_like(x), axis=options["axis"], keepdims=options["keepdims"])


# What dask wants to know of a kind of array.
da.register_chunk_type(px.Array)
concatenate_lookup.register(px.Array, px.concat)
tensordot_lookup.register(px.Array, px.tensordot)
numel_lookup.register(px.Array, count)


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked() -> da.Array:
    return da.from_array(px.asarray(VALUES), chunks=(4, 3), asarray=False)


def check(got: da.Array, want, *, exact: bool = True) -> None:
    result = got.compute()
    assert type(result) is px.Array
    assert result.device is px.get_device()
    compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    compare(px.asnumpy(result), want)


PROGRAMS = {
    "nothing": (lambda x: x, VALUES),
    "arithmetic": (lambda x: (x + 1) * 2 - x / 4, (VALUES + 1) * 2 - VALUES / 4),
    "between chunked arrays": (lambda x: x - x[::-1], VALUES - VALUES[::-1]),
    "slice": (lambda x: x[1:7:2, 2:5], VALUES[1:7:2, 2:5]),
    "transpose": (lambda x: x.T, VALUES.T),
    "map_blocks": (lambda x: x.map_blocks(px.sqrt), np.sqrt(VALUES)),
    "comparison": (lambda x: x > 3, VALUES > 3),
    "max": (lambda x: x.max(axis=0), VALUES.max(axis=0)),
    "rechunk": (lambda x: x.rechunk((3, 6)), VALUES),
    "concatenate": (lambda x: da.concatenate([x, x]), np.concatenate([VALUES, VALUES])),
    "stack": (lambda x: da.stack([x, x]), np.stack([VALUES, VALUES])),
    "reshape": (lambda x: x.rechunk((4, 6)).reshape(48), VALUES.reshape(48)),
    "persist": (lambda x: x.persist() * 2, VALUES * 2),
    "overlap": (
        lambda x: x.map_overlap(lambda b: b * 2, depth=1, boundary="none"),
        VALUES * 2,
    ),
}


@pytest.mark.parametrize(("program", "want"), PROGRAMS.values(), ids=PROGRAMS)
def test_program(program, want):
    check(program(chunked()), want)


ROUNDED = {
    "sum": (lambda x: x.sum(axis=1), VALUES.sum(axis=1)),
    "mean": (lambda x: x.mean(axis=0), VALUES.mean(axis=0)),
    "std": (lambda x: x.std(axis=0), VALUES.std(axis=0)),
    "exp": (lambda x: np.exp(-x), np.exp(-VALUES)),
    "matmul": (lambda x: x @ x.T, VALUES @ VALUES.T),
    "tensordot": (lambda x: da.tensordot(x, x, axes=(0, 0)), VALUES.T @ VALUES),
}


@pytest.mark.parametrize(("program", "want"), ROUNDED.values(), ids=ROUNDED)
def test_program_that_rounds(program, want):
    check(program(chunked()), want, exact=False)


def test_threads_give_the_same():
    x = chunked()
    alone = (x @ x.T).compute()
    with dask.config.set(scheduler="threads", num_workers=4):
        together = (x @ x.T).compute()
    np.testing.assert_array_equal(px.asnumpy(alone), px.asnumpy(together))


def test_name_tells_the_data():
    assert chunked().name == chunked().name
    other = da.from_array(px.asarray(VALUES + 1), chunks=(4, 3), asarray=False)
    assert chunked().name != other.name
