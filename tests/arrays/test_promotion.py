"""Which dtype and shape a result gets, and which numbers and shapes are refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import check, dtype, sample
from phalanx.optable import ALL
from phalanx.testing.kernels import numpy_type

#: From https://data-apis.org/array-api/2025.12/API_specification/type_promotion.html; float16 and
#: bfloat16, which it does not have, as NumPy and ml_dtypes promote them. A dot: no common dtype.
_TABLE = """
      b1  i1  i2  i4  i8  u1  u2  u4  u8  f2  bf  f4  f8  c8  c16
 b1   b1  .   .   .   .   .   .   .   .   .   .   .   .   .   .
 i1   .   i1  i2  i4  i8  i2  i4  i8  .   .   .   .   .   .   .
 i2   .   i2  i2  i4  i8  i2  i4  i8  .   .   .   .   .   .   .
 i4   .   i4  i4  i4  i8  i4  i4  i8  .   .   .   .   .   .   .
 i8   .   i8  i8  i8  i8  i8  i8  i8  .   .   .   .   .   .   .
 u1   .   i2  i2  i4  i8  u1  u2  u4  u8  .   .   .   .   .   .
 u2   .   i4  i4  i4  i8  u2  u2  u4  u8  .   .   .   .   .   .
 u4   .   i8  i8  i8  i8  u4  u4  u4  u8  .   .   .   .   .   .
 u8   .   .   .   .   .   u8  u8  u8  u8  .   .   .   .   .   .
 f2   .   .   .   .   .   .   .   .   .   f2  f4  f4  f8  c8  c16
 bf   .   .   .   .   .   .   .   .   .   f4  bf  f4  f8  c8  c16
 f4   .   .   .   .   .   .   .   .   .   f4  f4  f4  f8  c8  c16
 f8   .   .   .   .   .   .   .   .   .   f8  f8  f8  f8  c16 c16
 c8   .   .   .   .   .   .   .   .   .   c8  c8  c8  c16 c8  c16
 c16  .   .   .   .   .   .   .   .   .   c16 c16 c16 c16 c16 c16
"""


def _name(short: str) -> str:
    return "bfloat16" if short == "bf" else "bool" if short == "b1" else np.dtype(short).name


def _promotion() -> dict[tuple[str, str], str]:
    columns, *rows = (line.split() for line in _TABLE.strip().splitlines())
    cells = (
        (row[0], a, common) for row in rows for a, common in zip(columns, row[1:], strict=True)
    )
    return {(_name(a), _name(b)): _name(common) for a, b, common in cells if common != "."}


PROMOTION = _promotion()


def test_the_table_is_numpys_where_numpy_has_a_common_dtype() -> None:
    for (a, b), common in PROMOTION.items():
        if {a, b} != {"float16", "bfloat16"}:
            assert np.promote_types(numpy_type(a), numpy_type(b)) == numpy_type(common), (a, b)


class TestPromotion:
    @pytest.mark.parametrize("pair", list(itertools.product(ALL, ALL)), ids="-".join)
    def test_of_two_arrays(self, fake: px.Device, pair: tuple[str, str]) -> None:
        a, b = (px.ones(2, dtype=dtype(d)) for d in pair)
        want = PROMOTION.get(pair)
        if want is None:
            with px.promotion("standard"), pytest.raises(TypeError, match="no common dtype"):
                px.equal(a, b)
            return
        assert px.result_type(a, b) is dtype(want)
        assert px.equal(a, b).dtype is px.bool
        if want != "bool":
            assert (a + b).dtype is dtype(want)

    @pytest.mark.parametrize(
        ("name", "number", "want"),
        [
            ("int8", 3, "int8"),
            ("uint64", 3, "uint64"),
            ("float16", 3, "float16"),
            ("float32", 2.5, "float32"),
            ("bfloat16", 2.5, "bfloat16"),
            ("complex64", 2.5, "complex64"),
            ("int32", 2.5, "float64"),
            ("float32", 1j, "complex64"),
            ("float64", 1j, "complex128"),
            ("float16", 1j, "complex64"),
            ("bool", True, "bool"),
        ],
    )
    def test_with_a_number(self, device: px.Device, name: str, number: Any, want: str) -> None:
        x = px.ones(3, dtype=dtype(name))
        function = px.logical_and if name == "bool" else px.multiply
        for result in (function(x, number), function(number, x)):
            assert result.dtype is dtype(want)
        if name != "bool":
            check(x * number, np.full(3, number).astype(numpy_type(want)))

    @pytest.mark.parametrize(
        ("name", "number", "words"),
        [
            ("bool", 1, "int does not mix with bool"),
            ("bool", 1.0, "float does not mix with bool"),
            ("int8", True, "bool does not mix with int8"),
            ("float32", True, "bool does not mix with float32"),
            ("int64", 1j, "complex does not mix with int64"),
            ("bool", 1j, "complex does not mix with bool"),
        ],
    )
    def test_numbers_that_do_not_mix(
        self, fake: px.Device, name: str, number: Any, words: str
    ) -> None:
        x = px.ones(3, dtype=dtype(name))
        for call in (lambda: px.equal(x, number), lambda: px.equal(number, x)):
            with px.promotion("standard"), pytest.raises(TypeError, match=words):
                call()

    def test_division_of_integers_is_floating(self, device: px.Device) -> None:
        check(px.asarray([1, 2]) / px.asarray([2, 2]), np.array([0.5, 1.0]))
        check(px.exp(px.asarray([0])), np.array([1.0]))

    @pytest.mark.parametrize(
        ("name", "call"),
        [
            ("bool", px.add),
            ("float32", px.bitwise_and),
            ("bool", px.exp),
            ("complex64", px.less),
            ("int8", px.logical_and),
            ("complex64", px.floor),
        ],
    )
    def test_undefined_dtype(
        self, fake: px.Device, name: str, call: Callable[..., px.Array]
    ) -> None:
        x = px.ones(2, dtype=dtype(name))
        arguments = (x,) * call.row.arity
        words = rf"{call.name} is not defined for {name}; it takes"
        with px.promotion("standard"), pytest.raises(TypeError, match=words):
            call(*arguments)

    @pytest.mark.parametrize("other", ["a", None, object(), {}])
    def test_foreign_objects(self, fake: px.Device, other: object) -> None:
        x = px.ones(2)
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            other + x  # type: ignore[operator]
        assert (x == other) is False
        assert (x != other) is True

    def test_numpy_does_not_take_over(self, device: px.Device) -> None:
        x = px.ones(2)
        for call in (lambda: np.ones(2) + x, lambda: x + np.ones(2)):
            with pytest.raises(TypeError):
                call()


class TestScalars:
    @pytest.mark.parametrize("name", [d for d in ALL if numpy_type(d).kind in "iu"])
    def test_out_of_bounds(self, fake: px.Device, name: str) -> None:
        info = px.iinfo(dtype(name))
        x = px.zeros(2, dtype=dtype(name))
        check(x + info.max, np.full(2, info.max, name))
        check(x + info.min, np.full(2, info.min, name))
        for value in (info.max + 1, info.min - 1, 10**30):
            with pytest.raises(OverflowError, match=rf"{value} is out of bounds for {name}"):
                x + value

    def test_floats_too_large(self, fake: px.Device) -> None:
        with pytest.raises(OverflowError):
            px.ones(2) + 10**400
        assert float((px.ones(1, dtype=px.float32) * 1e300)[0]) == math.inf
        assert float((px.ones(1, dtype=px.float16) * 1e6)[0]) == math.inf

    @pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
    def test_nan_and_infinities(self, device: px.Device, name: str) -> None:
        x = px.asarray([1.0, math.inf, -math.inf, math.nan], dtype=dtype(name))
        assert px.asnumpy(px.isnan(x + math.nan)).tolist() == [True] * 4
        assert px.asnumpy(px.isnan(x - x)).tolist() == [False, True, True, True]
        assert px.asnumpy(x == math.inf).tolist() == [False, True, False, False]
        assert px.asnumpy(px.isfinite(x)).tolist() == [True, False, False, False]
        assert px.asnumpy(
            x * -math.inf == px.asarray([-math.inf, -math.inf, math.inf, 0], dtype=dtype(name))
        ).tolist() == [True, True, True, False]
        assert px.asnumpy(px.maximum(x, 0.0))[:3].astype(float).tolist() == [1.0, math.inf, 0.0]

    @pytest.mark.parametrize("value", [0.1, 65504.0, 65520.0, 1e-8, 6e-8, -0.0, 3.0e38, 1 / 3])
    @pytest.mark.parametrize("name", ["float16", "bfloat16"])
    def test_half_numbers_are_rounded_once(self, fake: px.Device, name: str, value: float) -> None:
        with np.errstate(over="ignore"):
            want = np.float64(value).astype(numpy_type(name))
        got = px.asnumpy(px.full((), value, dtype=dtype(name)))
        assert got.tobytes() == want.tobytes()

    def test_numpy_scalars_that_are_python_floats(self, fake: px.Device) -> None:
        check(px.ones(2) * 2.0, np.full(2, 2.0))


class TestBroadcast:
    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ((3, 1), (4,)),
            ((1,), (5,)),
            ((), (2, 3)),
            ((2, 1, 3), (4, 1)),
            ((0,), (1,)),
            ((3, 0), (1,)),
            ((1, 1), (1,)),
        ],
    )
    def test_shapes(self, device: px.Device, a: tuple[int, ...], b: tuple[int, ...]) -> None:
        left, right = sample("float64", a), sample("float64", b, 1)
        check(px.asarray(left) - px.asarray(right), left - right)
        check(px.asarray(right) - px.asarray(left), right - left)

    @pytest.mark.parametrize(
        ("a", "b"), [((3,), (4,)), ((2, 3), (2,)), ((0,), (2,)), ((5, 1, 2), (3, 3))]
    )
    def test_errors_show_the_shapes(
        self, fake: px.Device, a: tuple[int, ...], b: tuple[int, ...]
    ) -> None:
        with pytest.raises(ValueError, match="cannot be broadcast") as caught:
            px.ones(a) + px.ones(b)
        assert f"{a}, {b}" in str(caught.value)

    def test_three_operands(self, device: px.Device) -> None:
        c = np.array([[True], [False]])
        check(
            px.where(px.asarray(c), px.asarray([1.0, 2.0, 3.0]), 0.5),
            np.where(c, [1.0, 2.0, 3.0], 0.5),
        )
        with pytest.raises(ValueError, match=r"\(2, 1\), \(3,\), \(4,\)"):
            px.where(px.asarray(c), px.ones(3), px.ones(4))
