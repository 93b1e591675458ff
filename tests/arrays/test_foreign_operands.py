"""Operators with what is none of ours: scalars of NumPy count as numbers, arrays are refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import phalanx as px
import pytest

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.fixture
def x(device: px.Device) -> px.Array:
    """Small floats."""
    return px.asarray([1.0, 2.0, 3.0], dtype=px.float32, device=device)


class TestScalarsOfNumPy:
    @pytest.mark.parametrize("operation", OPERATORS)
    @pytest.mark.parametrize(
        "kind", ["int8", "uint8", "int64", "float16", "float32", "float64", "longdouble"]
    )
    def test_they_count_as_python_numbers(
        self, x: px.Array, operation: Callable[[Any, Any], px.Array], kind: str
    ) -> None:
        scalar = getattr(np, kind)(2)
        number = float(scalar) if "float" in kind or kind == "longdouble" else int(scalar)
        for ours, want in (
            (operation(x, scalar), operation(x, number)),
            (operation(scalar, x), operation(number, x)),
        ):
            assert isinstance(ours, px.Array)
            assert ours.dtype is want.dtype
            assert ours.device is x.device
            assert px.asnumpy(ours).tobytes() == px.asnumpy(want).tobytes()

    @pytest.mark.parametrize("operation", OPERATORS)
    def test_arrays_without_axes_are_scalars(
        self, x: px.Array, operation: Callable[[Any, Any], px.Array]
    ) -> None:
        for scalar in (np.array(2.0), np.asarray(2), np.array(2, ml_dtypes.bfloat16)):
            number = float(scalar)
            for ours, want in (
                (operation(x, scalar), operation(x, number)),
                (operation(scalar, x), operation(number, x)),
            ):
                assert ours.dtype is want.dtype
                assert ours.tolist() == want.tolist()

    def test_comparison_is_elementwise(self) -> None:
        i = px.asarray([1, 2, 3])
        assert px.asnumpy(i == np.int64(3)).tolist() == [False, False, True]
        assert px.asnumpy(np.int64(3) != i).tolist() == [True, True, False]
        assert px.asnumpy(i[i == np.int64(3)]).tolist() == [3]

    def test_booleans_and_complex_numbers(self, x: px.Array) -> None:
        mask = px.asarray([True, False])
        assert px.asnumpy(mask & np.bool_(True)).tolist() == [True, False]
        assert (x * np.complex64(1j)).dtype is px.complex64
        assert px.asnumpy(x + np.bool_(True)).tolist() == [2.0, 3.0, 4.0]
        with px.promotion("standard"), pytest.raises(TypeError, match="bool"):
            x + np.bool_(True)

    def test_in_place_and_by_function(self, x: px.Array) -> None:
        x += np.float64(1)
        assert px.asnumpy(px.add(x, np.int32(1))).tolist() == [3.0, 4.0, 5.0]
        with pytest.raises(TypeError, match="in place"):
            x += np.complex64(1)

    def test_scalars_without_a_number_are_no_operands(self, x: px.Array) -> None:
        for scalar in (np.datetime64("2026-01-01"), np.str_("a")):
            with pytest.raises(TypeError):
                x + scalar


class TestArraysOfOthers:
    @pytest.mark.parametrize("operation", OPERATORS)
    @pytest.mark.parametrize(
        "other", [np.ones(3, np.float32), np.ones(1), [1, 2, 3], (1, 2, 3)], ids=repr
    )
    def test_they_are_refused_with_what_to_write(
        self, x: px.Array, operation: Callable[[Any, Any], px.Array], other: Any
    ) -> None:
        for first, second in ((x, other), (other, x)):
            with pytest.raises(TypeError, match=r"write phalanx\.asarray\(\.\.\.\) around it"):
                operation(first, second)

    def test_the_message_names_both(self, x: px.Array) -> None:
        with pytest.raises(TypeError, match=r"add of a phalanx array and a numpy\.ndarray"):
            x + np.ones(3)
        with pytest.raises(TypeError, match=rf"device='{x.device.name}'"):
            x += [1, 2, 3]

    def test_an_array_with_dlpack(self, x: px.Array) -> None:
        class Foreign:
            def __dlpack__(self) -> None: ...

        with pytest.raises(TypeError, match=r"Foreign: write phalanx\.asarray"):
            x == Foreign()  # noqa: B015

    def test_whoever_knows_arrays_is_asked(self, x: px.Array) -> None:
        class Wrapper:
            def __radd__(self, other: px.Array) -> str:
                return "mine"

        assert x + Wrapper() == "mine"
        assert (x == None) is False  # noqa: E711
        assert x != "text"


class TestNames:
    def test_dtypes_compare_by_name(self) -> None:
        assert px.float32 == "float32"
        assert "int64" == px.int64  # noqa: SIM300
        assert px.float32 != "float64"
        assert px.float32 != px.float64
        assert px.float32 != 7
        assert {px.float32: 1}["float32"] == 1
        assert len({px.float32, "float32"}) == 1

    def test_devices_compare_by_name(self, x: px.Array) -> None:
        assert x.device == x.device.name
        assert x.device != "nowhere:0"
        assert x.device != 7
        assert {x.device: 1}[x.device.name] == 1


class TestPowersOfIntegers:
    @pytest.mark.parametrize("exponent", [-1, np.int8(-2)])
    def test_a_negative_exponent_is_refused(self, exponent: int) -> None:
        i = px.asarray([1, 2, 3])
        with pytest.raises(ValueError, match="int64 to the power -"):
            i**exponent
        assert px.asnumpy(px.astype(i, px.float64) ** int(exponent))[0] == 1.0
        assert px.asnumpy(i**2).tolist() == [1, 4, 9]
        assert px.asnumpy((-1) ** i).tolist() == [-1, 1, -1]
