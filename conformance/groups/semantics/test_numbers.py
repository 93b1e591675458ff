"""Python numbers beside arrays: zeros of both signs, subnormal ones, the parts of complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import need, put
from phalanx.conformance.layouts import HostArray

_REAL = ("float32", "float64")


def _parts(x: Any) -> HostArray:
    whole = np.ascontiguousarray(x)
    return whole.view(whole.real.dtype).reshape(-1) if whole.dtype.kind == "c" else whole


def _results(xp: Any, x: Any, mask: Any, number: Any) -> dict[str, Any]:
    """Return what comes of an array and a number without any rounding."""
    found = {
        "x + n": x + number,
        "n + x": number + x,
        "where(mask, x, n)": xp.where(mask, x, number),
        "where(mask, n, x)": xp.where(mask, number, x),
        "full_like(x, n)": xp.full_like(x, number),
    }
    if not isinstance(number, complex):
        found |= {
            "x * n": x * number,
            "copysign(x, n)": xp.copysign(x, number),
            "x < n": x < number,
            "n < x": number < x,
        }
    return found


def _compare(case: Case, host: HostArray, numbers: tuple[complex, ...]) -> None:
    """Assert that all results are NumPy's, with the signs of the parts of zeros."""
    mask = np.arange(host.size) % 2 == 0
    x, chosen = put(case, host), put(case, mask)
    for number in numbers:
        with np.errstate(all="ignore"):
            want = _results(np, host, mask, number)
        for what, got in _results(px, x, chosen, number).items():
            found, wanted = _parts(px.asnumpy(got)), _parts(want[what])
            right = found == wanted
            if found.dtype.kind == "f":
                right &= np.signbit(found) == np.signbit(wanted)
            assert right.all(), f"{what} with n = {number}: {found.tolist()}, not {wanted.tolist()}"


@pytest.mark.parametrize("dtype", _REAL)
def test_zeros_of_both_signs(case: Case, dtype: str) -> None:
    """A zero keeps its sign, though the number before it was equal."""
    need(case, dtype)
    _compare(case, np.array([1.0, -0.0, 0.0, -2.0, 0.5], dtype), (0.0, -0.0, 0.0))


@pytest.mark.parametrize("dtype", _REAL)
def test_subnormal(case: Case, dtype: str) -> None:
    """A number below the normal ones is none of them, and not zero."""
    need(case, dtype)
    if case.flushes:
        pytest.skip("the device takes subnormal numbers for zero, and says so")
    least = float(np.finfo(dtype).smallest_subnormal)
    numbers = (3 * least, -least, float(np.finfo(dtype).tiny) - least)
    _compare(case, np.array([1.0, 0.0, -4.0, 2 * least, -1.0], dtype), numbers)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "int64", "complex128"])
def test_fills(case: Case, dtype: str) -> None:
    """A number fills as many elements as there are, from any place, and no others."""
    need(case, dtype)
    kind = getattr(px, dtype)
    number = 3 - 4j if dtype == "complex128" else dtype == "bool" or 77
    for n in (1, 2, 3, 5, 17, 63, 64, 65, 66, 67, 130, 1001):
        found = px.asnumpy(px.full(n, number, dtype=kind))
        assert (found == number).all(), f"full({n}, {number})"
        for begin in range(4):
            x = px.zeros(n + 9, dtype=kind)
            x[begin : begin + n] = number
            want = np.zeros(n + 9, dtype)
            want[begin : begin + n] = number
            wrong = np.flatnonzero(px.asnumpy(x) != want)
            assert not wrong.size, f"x[{begin}:{begin + n}] = {number}: element {wrong[0]} is wrong"


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_numbers(case: Case, dtype: str) -> None:
    """Both parts keep the signs of their zeros."""
    need(case, dtype)
    numbers = (complex(1, -0.0), complex(-0.0, 2), complex(0, -0.0), complex(-0.0, -0.0), 0j)
    _compare(case, np.array([1 + 1j, complex(-0.0, -0.0), complex(0, -0.0), 2], dtype), numbers)
