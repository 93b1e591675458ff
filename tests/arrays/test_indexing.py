"""Indexing against NumPy: ``core/arrays/indexing.py``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

FAKES = ("fake:0", "fakestream:0", "fakehost:0")
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BASE = np.arange(4 * 5 * 3).reshape(4, 5, 3)


@pytest.fixture
def x(device: px.Device) -> px.Array:
    return px.asarray(BASE)


def same(got: px.Array, want: Any) -> None:
    have = px.asnumpy(got)
    assert have.shape == np.shape(want)
    np.testing.assert_array_equal(have, want)


def _store_and_wait(x: px.Array, key: px.Array) -> None:
    x[key] = 1.0
    px.synchronize()


def _get_and_wait(x: px.Array, key: Any) -> None:
    px.asnumpy(x[key])
    px.synchronize()


def on_device(key: Any, device: px.Device | str) -> Any:
    """The key with its NumPy arrays on a device."""
    if isinstance(key, tuple):
        return tuple(on_device(k, device) for k in key)
    return px.asarray(key, device=device) if isinstance(key, np.ndarray) else key


BASIC = [
    0, -1, (1, 2), (1, -2, 0), slice(1, 3), slice(None, None, -2), (slice(None), 2), (..., 1),
    (1, ...), (slice(3, 0, -1), ..., slice(None, None, 2)), None, (None, 1, None, ..., None), (),
    ..., (slice(10, 20),), (slice(-100, 100), slice(2, 2)), (0, 0, 0),
]  # fmt: skip

I = np.array  # noqa: E741
ADVANCED = [
    I([2, 0]),
    I([[1], [-1]]),
    I(2),
    (I([0, 1]), I([1, -1])),
    (I([[0], [3]]), I([1, 4])),
    (slice(None), I([0, 2, 2])),
    (I([1, 2]), slice(1, 4)),
    (I([1, 2]), slice(None), I([0, 2])),
    (slice(None, None, -1), I([1, 2]), I([0, 1])),
    (0, I([1, 2])),
    (I([1, 2]), 0),
    (slice(None), 0, I([1, 2])),
    (I([1, 0]), None, 2),
    (None, I([1, 0])),
    (..., I([0, 1])),
    (I([0, 1]), ..., I([0, 1])),
    (slice(None), I([0, 1]), ..., I([0, 1])),
    (None, 1, ..., I([0, 1]), slice(None)),
    (0, slice(None), I([0, 1])),
    I([], dtype=np.int64),
    (slice(0, 0), I([0])),
    (I([1, 2]), I(0), slice(None, None, 2)),
]
MASKS = [
    BASE % 3 == 0,
    np.zeros(BASE.shape, bool),
    np.ones(BASE.shape, bool),
    I([True, False, True, True]),
    BASE[..., 0] > 20,
    (slice(None), I([True, False, False, True, True])),
    (I([1, 2, 0]), I([True, False, True, True, False])),
    (slice(1, 3), slice(None), I([False, True, True])),
    (..., I([False, True, True])),
    (BASE[..., 0] > 20, 1),
    (0, BASE[0] > 5),
    I(True),
    I(False),
]


@pytest.mark.parametrize("key", BASIC, ids=str)
class TestBasic:
    def test_get_is_a_view(self, x: px.Array, key: Any) -> None:
        got, want = x[key], BASE[key]
        same(got, want)
        assert got.buffer is x.buffer

    def test_set(self, x: px.Array, key: Any) -> None:
        for value in (7, np.full(np.shape(BASE[key])[-1:], 9), BASE[key] * 2):
            want = BASE.copy()
            fresh = px.asarray(BASE)
            want[key] = value
            fresh[key] = (
                on_device(np.asarray(value), x.device) if not isinstance(value, int) else value
            )
            same(fresh, want)


@pytest.mark.parametrize("key", [*ADVANCED, *MASKS], ids=lambda key: " ".join(str(key).split()))
class TestArrays:
    def test_get_is_a_copy(self, x: px.Array, key: Any) -> None:
        got, want = x[on_device(key, x.device)], BASE[key]
        same(got, want)
        assert got.buffer is not x.buffer

    def test_set_one_value(self, x: px.Array, key: Any) -> None:
        want = BASE.copy()
        want[key] = -1
        x[on_device(key, x.device)] = -1
        same(x, want)

    def test_set_an_array(self, x: px.Array, key: Any) -> None:
        if np.ndim(BASE[key]) and BASE[key].size == 0:
            value = np.full((1,), 5)
        else:
            value = -np.arange(BASE[key].size).reshape(BASE[key].shape)
        want = BASE.copy()
        want[key] = value
        x[on_device(key, x.device)] = px.asarray(value)
        same(x, want)


class TestOnViews:
    """The base of the index may be any view."""

    VIEWS: tuple[Callable[[Any], Any], ...] = (
        lambda a: a[::-1],
        lambda a: a[1:, ::2, ::-1],
        lambda a: a[:, 1],
        lambda a: a[..., 1].T,
    )

    @pytest.mark.parametrize("view", VIEWS)
    def test_get_and_set(self, x: px.Array, view: Callable[[Any], Any]) -> None:
        base = BASE.copy()
        mine, theirs = view(x), view(base)
        rows = np.array([1, 0, -1])
        same(mine[px.asarray(rows)], theirs[rows])
        same(mine[..., px.asarray(rows)], theirs[..., rows])
        same(mine[mine % 2 == 0], theirs[theirs % 2 == 0])
        mine[px.asarray(rows[:2])] = 100
        theirs[rows[:2]] = 100
        mine[mine % 3 == 0] = mine[mine % 3 == 0] + 1
        theirs[theirs % 3 == 0] = theirs[theirs % 3 == 0] + 1
        same(x, base)

    def test_broadcast_view_as_base(self, device: px.Device) -> None:
        wide = px.broadcast_to(px.asarray([1, 2, 3]), (4, 3))
        want = np.broadcast_to([1, 2, 3], (4, 3))
        same(wide[px.asarray([0, 3])], want[[0, 3]])
        same(wide[wide > 1], want[want > 1])


class TestDtypes:
    @pytest.mark.parametrize(
        "name", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"]
    )
    def test_index_arrays_of_every_integer(self, x: px.Array, name: str) -> None:
        same(x[px.asarray([3, 1], dtype=getattr(px, name))], BASE[[3, 1]])

    @pytest.mark.parametrize(
        "name", ["bool", "float16", "bfloat16", "float32", "complex128", "uint8"]
    )
    def test_elements_of_every_size(self, device: px.Device, name: str) -> None:
        data = np.arange(12).reshape(4, 3) % 2
        x = px.asarray(data, dtype=getattr(px, name))
        got = x[px.asarray([2, 1])]
        assert got.dtype is getattr(px, name)
        np.testing.assert_array_equal(px.asnumpy(got).astype(complex), data[[2, 1]])
        x[px.asarray([0])] = x[px.asarray([1])]
        np.testing.assert_array_equal(px.asnumpy(x[0]).astype(complex), data[1])

    def test_values_are_converted(self, device: px.Device) -> None:
        x = px.zeros(4, dtype=px.float32)
        x[1:3] = px.asarray([1, 2])
        x[px.asarray([0])] = px.asarray([2.5], dtype=px.float64)
        x[3] = True
        assert px.asnumpy(x).tolist() == [2.5, 1.0, 2.0, 1.0]
        z = px.zeros(2, dtype=px.complex64)
        z[0] = 1j
        assert px.asnumpy(z).tolist() == [1j, 0]

    def test_values_from_lists_and_numpy(self, device: px.Device) -> None:
        x = px.zeros((2, 2))
        x[0] = [1.0, 2.0]
        x[1] = np.array([3.0, 4.0])
        assert px.asnumpy(x).tolist() == [[1, 2], [3, 4]]

    @pytest.mark.parametrize("value", [[7, 8], (7, 8), np.array([7.0, 8.0]), [7], np.array([7])])
    def test_values_of_the_host_by_any_key(self, device: px.Device, value: Any) -> None:
        mask = np.array([True, False, True, False])
        for key in (mask, (..., mask), [0, 2], slice(None, None, 2)):
            x, want = px.zeros(4), np.zeros(4)
            x[on_device(key, device)] = value
            want[key] = value
            same(x, want)

    @pytest.mark.parametrize("value", [np.array(7.0), np.float32(7), np.int8(7), np.float64(7)])
    def test_one_value_of_the_host_fills_where_a_mask_says(
        self, device: px.Device, value: Any
    ) -> None:
        x = px.zeros(4)
        x[x == 0] = value
        same(x, [7, 7, 7, 7])
        with pytest.raises(TypeError, match="a number or an array, got str"):
            x[x == 7] = "text"
        with pytest.raises(ValueError, match="does not fit into shape"):
            x[x == 7] = [1, 2]

    @pytest.mark.parametrize(
        ("name", "value"),
        [("int32", 1.5), ("int32", 1j), ("bool", 2), ("bool", 1.0), ("float32", 1j)],
    )
    def test_numbers_that_would_lose(self, device: px.Device, name: str, value: Any) -> None:
        x = px.zeros(4, dtype=getattr(px, name))
        for key in (0, slice(None), px.asarray([1]), px.asarray([True, False, False, False])):
            with pytest.raises(TypeError, match="does not go into"):
                x[key] = value
        assert not px.asnumpy(x).any()

    def test_complex_array_into_real(self, device: px.Device) -> None:
        x = px.zeros(2)
        with pytest.raises(TypeError, match="of complex128 does not go into float64"):
            x[...] = px.ones(2, dtype=px.complex128)

    def test_integer_out_of_bounds(self, device: px.Device) -> None:
        x = px.zeros(2, dtype=px.int8)
        with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
            x[0] = 300


FLAGS: list[Any] = [
    (True, 1),
    (0, False),
    (..., True),
    (slice(1, 3), True, 2),
    (None, False, ...),
    (True, [0, 2]),
    (0, True, [1, 0]),
    ([[0], [1]], True, [0, 2]),
    (True, False),
    (True, True, slice(None), 1),
    (slice(None), True, ..., [0, 2], 1),
    (slice(None), slice(None), True, ..., [0, 2]),
    (slice(None), [[0], [1]], slice(None), ..., True),
    (slice(None), True, [0, 2], ..., slice(None)),
]


@pytest.mark.parametrize("key", FLAGS, ids=repr)
@pytest.mark.parametrize("inside", [False, True])
def test_truth_values_among_other_keys(x: px.Array, key: Any, inside: bool) -> None:
    ours = tuple(px.asarray(k) if inside and isinstance(k, bool) else k for k in key)
    same(x[ours], BASE[key])
    want = BASE.copy()
    want[key] = 7
    x[ours] = 7
    same(x, want)


class TestErrors:
    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (4, r"index 4 is out of range for axis 0 of shape \(4, 5, 3\)"),
            (-5, "index -5"),
            ((0, 5), "axis 1"),
            ((0, 0, 0, 0), "4 indices for an array of shape"),
            ((..., ...), "one ellipsis"),
            ("a", "got str"),
            (1.0, "got float"),
            (slice("a"), "a slice takes ints or None, got None, 'a' and None"),
            (np.array([0.5]), "boolean or integer, got float64"),
        ],
    )
    def test_basic(self, x: px.Array, key: Any, words: str) -> None:
        with pytest.raises(IndexError, match=words):
            x[key]
        with pytest.raises(IndexError, match=words):
            x[key] = 1
        same(x, BASE)

    @pytest.mark.parametrize("bad", [4, -5, 2**40, -(2**62)])
    def test_index_array_out_of_range(self, x: px.Array, bad: int) -> None:
        key = px.asarray([0, bad, 1])
        with pytest.raises(IndexError, match=str(bad)):
            px.asnumpy(x[key])
        px.synchronize()
        same(x, BASE)

    @pytest.mark.parametrize("bad", [np.array(99), np.array([99]), np.array([[0], [-5]])])
    def test_out_of_range_beside_an_empty_index(self, x: px.Array, bad: Any) -> None:
        """What broadcasts to nothing is checked all the same."""
        none = px.asarray([], dtype=px.int64)
        for key in (
            (px.asarray(bad), none),
            (none, px.asarray(bad - 1)),
            (px.asarray(bad), none, 0),
        ):
            with pytest.raises(IndexError, match=r"99|98|-5|-6"):
                _get_and_wait(x, key)
        assert x[px.asarray(bad * 0), none].size == 0
        px.synchronize()

    def test_write_out_of_range(self, device: px.Device) -> None:
        x = px.zeros(4)
        with pytest.raises(IndexError, match="7"):
            _store_and_wait(x, px.asarray([0, 7]))

    def test_index_into_nothing(self, device: px.Device) -> None:
        with pytest.raises(IndexError, match="0"):
            px.asnumpy(px.zeros((0, 3))[px.asarray([0])])

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (np.array([1.5]), "boolean or integer, got float64"),
            (np.ones(5, bool), r"mask of shape \(5,\) at axis 0"),
            (np.ones((4, 4), bool), "mask of shape"),
            ((np.ones((4, 5), bool), np.ones((3, 2), bool)), "indices|mask of shape"),
            ((np.array([0, 1]), np.array([0, 1, 2])), "do not broadcast"),
            (np.ones((4, 5, 3, 1), bool), "4 indices"),
        ],
        ids=str,
    )
    def test_arrays(self, x: px.Array, key: Any, words: str) -> None:
        with pytest.raises(IndexError, match=words):
            x[on_device(key, x.device)]

    @pytest.mark.parametrize(
        ("key", "shape"),
        [
            (slice(None), (2,)), (0, (4, 3)), (np.array([0, 1]), (3, 5, 3)), (BASE > 5, (7,)),
            ((slice(0, 0),), (2, 5, 3)),
        ],
        ids=["slice", "int", "array", "mask", "nothing"],
    )  # fmt: skip
    def test_value_of_another_shape(self, x: px.Array, key: Any, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="does not fit into shape"):
            x[on_device(key, x.device)] = px.ones(shape, dtype=px.int64)
        same(x, BASE)

    def test_read_only_memory(self, drivers: object) -> None:
        data = np.arange(6)
        data.flags.writeable = False
        x = px.asarray(data, device="fakehost:0", copy=False)
        for key in (
            0,
            px.asarray([1], device="fakehost:0"),
            px.asarray(data, device="fakehost:0") > 2,
        ):
            with pytest.raises(ValueError, match=r"read-only.*copy=True"):
                x[key] = 1
        with pytest.raises(ValueError, match="read-only"):
            operator.iadd(x, 1)
        assert data.tolist() == list(range(6))


class TestDuplicates:
    def test_last_value_wins(self, device: px.Device) -> None:
        x = px.zeros(3)
        x[px.asarray([1, 1, 1, 2])] = px.asarray([1.0, 2.0, 3.0, 4.0])
        assert px.asnumpy(x).tolist() == [0, 3, 4]

    def test_leading_ones_of_a_value_are_dropped(self, device: px.Device) -> None:
        x = px.zeros(3)
        x[:] = px.ones((1, 1, 3))
        x[px.asarray([0])] = px.full((1, 1), 5.0)
        assert px.asnumpy(x).tolist() == [5, 1, 1]


class TestTake:
    @pytest.mark.parametrize("axis", [0, 1, 2, -1])
    def test_against_numpy(self, x: px.Array, axis: int) -> None:
        for rows in (np.array([1, 0, 2]), np.array(1), np.array([[0, -1]])):
            same(px.take(x, px.asarray(rows), axis=axis), np.take(BASE, rows, axis=axis))

    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_along_axis(self, x: px.Array, axis: int) -> None:
        order = np.argsort(-BASE, axis=axis)
        same(
            px.take_along_axis(x, px.asarray(order), axis=axis),
            np.take_along_axis(BASE, order, axis),
        )
        few = np.array([[[1], [-1]]]) if axis == 1 else np.array([[[2]], [[0]]])
        if axis != -1:
            same(
                px.take_along_axis(x, px.asarray(few), axis=axis),
                np.take_along_axis(BASE, few, axis),
            )

    def test_errors(self, x: px.Array) -> None:
        rows = px.asarray([0])
        with pytest.raises(ValueError, match="needs an axis"):
            px.take(x, rows)
        with pytest.raises(TypeError, match="integer array"):
            px.take(x, px.asarray([0.0]), axis=0)
        with pytest.raises(TypeError, match="integer array"):
            px.take_along_axis(x, [0], axis=0)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="indices with as many axes"):
            px.take_along_axis(x, rows)
        with pytest.raises(IndexError, match="axis 3"):
            px.take(x, rows, axis=3)
        same(px.take(px.asarray([5, 6]), rows), [5])


@SETTINGS
@given(data=st.data())
def test_basic_keys(data: st.DataObject, drivers: object) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))
    base = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    for name in FAKES:
        x = px.asarray(base, device=name)
        same(x[key], base[key])
        want = base.copy()
        want[key] = -5
        x[key] = -5
        same(x, want)


@st.composite
def advanced_keys(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """A shape, and a key that mixes ints, slices, None, integer arrays and masks."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    key: list[Any] = []
    used = False
    for n in shape:
        if draw(st.integers(0, 5)) == 0:
            key.append(None)
        what = draw(st.sampled_from(["array", "slice", "int", "mask", "stop"]))
        if what == "stop":
            break
        if what == "array":
            lead = draw(st.integers(0, len(common)))
            key.append(draw(hnp.arrays(np.int64, common[lead:], elements=st.integers(-n, n - 1))))
            used = True
        elif what == "mask" and not used:
            key.append(draw(hnp.arrays(np.bool_, (n,))))
            used = True
            common = (int(key[-1].sum()),)
            if common[0] == 0:
                common = ()
        elif what == "int":
            key.append(draw(st.integers(-n, n - 1)))
        else:
            key.append(
                slice(
                    *draw(st.tuples(*[st.none() | st.integers(-4, 4)] * 2)),
                    draw(st.sampled_from([None, -1, 2])),
                )
            )
    return shape, tuple(key)


@SETTINGS
@given(case=advanced_keys())
def test_advanced_keys(case: tuple[tuple[int, ...], tuple[Any, ...]], drivers: object) -> None:
    shape, key = case
    base = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        want = base[key]
    except IndexError:
        with pytest.raises(IndexError):
            px.asarray(base, device="fake:0")[on_device(key, "fake:0")]
        return
    for name in FAKES:
        x = px.asarray(base, device=name)
        same(x[on_device(key, name)], want)
        changed = base.copy()
        changed[key] = -1
        x[on_device(key, name)] = -1
        same(x, changed)
        if any(isinstance(k, np.ndarray) for k in key) and np.unique(want).size == want.size:
            changed[key] = want * 10
            x[on_device(key, name)] = px.asarray(want * 10, device=name)
            same(x, changed)


# A bad index that a stream tells only when it is waited for
