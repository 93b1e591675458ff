"""What the cases of this group share: values on host and device, and comparison with NumPy.

NumPy's main namespace follows the standard since version 2.1, so most cases run one function in
both namespaces: ``f(np, host)`` says what ``f(px, device)`` must give.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import HostArray, place
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import kind_of

#: Layouts in which an operand of a case may lie.
LAYOUTS = ("contiguous", "transposed", "mixed")


def whole_numbers(case: Case, shape: tuple[int, ...], dtype: str, *labels: object) -> HostArray:
    """Return small whole numbers (not negative in unsigned dtypes), exact in every dtype."""
    kind = kind_of(dtype)
    low, high = {"b": (0, 2), "u": (0, 10)}.get(kind, (-9, 10))
    values = case.rng(shape, dtype, *labels).integers(low, high, shape)
    if kind == "c":
        imaginary = case.rng(shape, dtype, "imaginary", *labels).integers(low, high, shape)
        return np.asarray(values + 1j * imaginary).astype(host_dtype(dtype))
    return np.asarray(values).astype(host_dtype(dtype))


def put(case: Case, values: HostArray, layout: str = "contiguous") -> px.Array:
    """Return values as an array of the device under test, in some layout."""
    name = str(values.dtype)
    return place(case.device, values, name, layout).array


def same(case: Case, got: object, want: npt.ArrayLike, what: str = "result") -> None:
    """Assert that an array lies on the device and has the shape, the dtype and the elements.

    NaN equals NaN, and the sign of a zero counts for nothing.
    """
    assert isinstance(got, px.Array), f"{what} is {type(got).__name__} and not an array"
    wanted = np.asarray(want)
    assert got.device is case.device, f"{what} lies on {got.device} instead of {case.device}"
    assert got.shape == wanted.shape, f"{what} has shape {got.shape} instead of {wanted.shape}"
    assert got.dtype.name == str(wanted.dtype), f"{what} is {got.dtype} instead of {wanted.dtype}"
    found = np.asarray(px.asnumpy(got))
    with np.errstate(invalid="ignore"):
        equal = (found == wanted) | ((found != found) & (wanted != wanted))  # noqa: PLR0124 - NaN
    if not equal.all():
        wrong = np.argwhere(~equal)
        at = tuple(wrong[0].tolist())
        raise AssertionError(
            f"{what} on {case.device}: {len(wrong)} of {wanted.size} elements are wrong; at {at} "
            f"got {found[at]}, want {wanted[at]}"
        )


def close(case: Case, got: object, want: npt.ArrayLike, parts: float, what: str = "result") -> None:
    """Assert shape and device, and that no element is off by more than ``parts`` of the largest.

    The largest magnitude of what is wanted is the measure, but at least 1.
    """
    assert isinstance(got, px.Array), f"{what} is {type(got).__name__} and not an array"
    wanted = np.asarray(want)
    assert got.device is case.device, f"{what} lies on {got.device} instead of {case.device}"
    assert got.shape == wanted.shape, f"{what} has shape {got.shape} instead of {wanted.shape}"
    if wanted.size == 0:
        return
    found = np.asarray(px.asnumpy(got)).astype(np.result_type(wanted, np.float64))
    error = float(np.max(np.abs(found - wanted)))
    limit = parts * max(1.0, float(np.max(np.abs(wanted))))
    assert error <= limit, f"{what} on {case.device}: off by {error:.3g}, at most {limit:.3g} is ok"


def serves(case: Case, *dtypes: str) -> bool:
    """Tell whether the device computes in all of these dtypes itself."""
    return all(
        d == "bool" or case.served["add", (d,) * 3].how in ("native", "decomposed") for d in dtypes
    )


def need(case: Case, *dtypes: str) -> None:
    """Skip a case about dtypes that the device does not compute in."""
    for dtype in dtypes:
        if not serves(case, dtype):
            pytest.skip(f"the device has no {dtype} of its own")


def other_device(case: Case) -> px.Device:
    """Return another usable device; skip the case if there is none."""
    for found in px.devices():
        if found is not case.device and px.why(found).usable:
            return found
    pytest.skip("there is one device only")


def subsets(items: Iterable[int]) -> list[tuple[int, ...]]:
    """Return all tuples of some of the items, in order, the empty one first."""
    every = tuple(items)
    return list(chain.from_iterable(combinations(every, n) for n in range(len(every) + 1)))


def either(case: Case, choices: Iterable[Any], count: int, *labels: object) -> list[Any]:
    """Return all choices, or in a quick run about ``count`` of them at random."""
    every = list(choices)
    if not case.quick or len(every) <= count:
        return every
    picked = case.rng("either", *labels).choice(len(every), count, replace=False)
    return [every[i] for i in sorted(picked.tolist())]
