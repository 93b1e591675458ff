"""Which dtype comes of two, written out from the standard (2025.12, "Type Promotion Rules")."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import add, mul, sub
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import need, put, same, serves, whole_numbers
from phalanx.conformance.reference.conversion import cast
from phalanx.conformance.reference.formats import PARTS, host_dtype
from phalanx.conformance.reference.values import conversion_corners
from phalanx.optable import ALL, kind_of

#: The tables of the standard, row by row; "-" is a pair that it leaves undefined. float16 and
#: bfloat16 are not in the standard: they go to the narrowest float that holds both.
_TABLES = (
    """
             int8    int16   int32   int64   uint8   uint16  uint32  uint64
    int8     int8    int16   int32   int64   int16   int32   int64   -
    int16    int16   int16   int32   int64   int16   int32   int64   -
    int32    int32   int32   int32   int64   int32   int32   int64   -
    int64    int64   int64   int64   int64   int64   int64   int64   -
    uint8    int16   int16   int32   int64   uint8   uint16  uint32  uint64
    uint16   int32   int32   int32   int64   uint16  uint16  uint32  uint64
    uint32   int64   int64   int64   int64   uint32  uint32  uint32  uint64
    uint64   -       -       -       -       uint64  uint64  uint64  uint64
    """,
    """
               float16    bfloat16   float32    float64    complex64  complex128
    float16    float16    float32    float32    float64    complex64  complex128
    bfloat16   float32    bfloat16   float32    float64    complex64  complex128
    float32    float32    float32    float32    float64    complex64  complex128
    float64    float64    float64    float64    float64    complex128 complex128
    complex64  complex64  complex64  complex64  complex128 complex64  complex128
    complex128 complex128 complex128 complex128 complex128 complex128 complex128
    """,
)


def _common() -> dict[tuple[str, str], str]:
    found = {("bool", "bool"): "bool"}
    for table in _TABLES:
        head, *rows = (line.split() for line in table.strip().splitlines())
        for name, *results in rows:
            for other, result in zip(head, results, strict=True):
                if result != "-":
                    found[name, other] = result
    return found


_COMMON = _common()


def _dtype(name: str) -> px.DType:
    found: px.DType = getattr(px, name)
    return found


@pytest.mark.parametrize("first", ALL)
def test_result_type(case: Case, first: str) -> None:
    """``result_type`` of dtypes, of arrays and of both is that of the table, in any order."""
    for second in ALL:
        want = _COMMON.get((first, second))
        a, b = _dtype(first), _dtype(second)
        x, y = px.zeros(1, dtype=a), px.zeros((2, 1), dtype=b)
        for pair in ((a, b), (x, y), (a, y), (x, b), (a, b, a), (b, a, a)):
            if want is None:
                with pytest.raises(TypeError):
                    px.result_type(*pair)
            else:
                got = px.result_type(*pair)
                assert got is _dtype(want), f"{first} and {second} give {got} instead of {want}"


@pytest.mark.parametrize("first", ALL)
def test_can_cast(case: Case, first: str) -> None:
    """A dtype can be cast to another if the table gives the other for both."""
    for second in ALL:
        want = _COMMON.get((first, second)) == second
        x = px.zeros(1, dtype=_dtype(first))
        for source in (_dtype(first), x):
            got = px.can_cast(source, _dtype(second))
            assert got is want, f"can_cast({first}, {second}) is {got}"


_JOINS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "equal": lambda xp, x, y: xp.equal(x, y),
    "where": lambda xp, x, y: xp.where(x == x, x, y),  # noqa: PLR0124 - a mask of all elements
    "concat": lambda xp, x, y: xp.concat([x, y]),
    "stack": lambda xp, x, y: xp.stack([x, y]),
}


@pytest.mark.parametrize("first", ALL)
def test_common_dtype(case: Case, first: str) -> None:
    """Functions of two arrays compute in the common dtype; undefined pairs are refused."""
    need(case, first)
    for second, (name, f) in product(ALL, _JOINS.items()):
        if not serves(case, second):
            continue
        want = _COMMON.get((first, second))
        hosts = [whole_numbers(case, (5,), dtype) for dtype in (first, second)]
        x, y = (put(case, host) for host in hosts)
        if want is None:
            with pytest.raises(TypeError):
                f(px, x, y)
        elif serves(case, want):
            wanted = f(np, *(h.astype(host_dtype(want)) for h in hosts))
            same(case, f(px, x, y), wanted, f"{name} with {second}")


@pytest.mark.parametrize("first", [d for d in ALL if d != "bool"])
def test_operators(case: Case, first: str) -> None:
    """``+``, ``-`` and ``*`` convert both operands to the common dtype before they compute."""
    need(case, first)
    for second in ALL:
        want = _COMMON.get((first, second))
        if not serves(case, second):
            continue
        hosts = [whole_numbers(case, (6,), name, second) for name in (first, second)]
        x, y = (put(case, host) for host in hosts)
        for function in (add, sub, mul):
            if want is None:
                with pytest.raises(TypeError):
                    function(x, y)
            elif serves(case, want):
                wide = [h.astype(host_dtype(want)) for h in hosts]
                same(case, function(x, y), function(*wide), f"{function.__name__} with {second}")


@pytest.mark.parametrize("first", [d for d in ALL if d != "bool"])
def test_in_place_promotion(case: Case, first: str) -> None:
    """In place the dtype stays: operands that would change it are refused, and nothing changes."""
    need(case, first)
    for second in ALL:
        host = whole_numbers(case, (6,), first)
        value = whole_numbers(case, (6,), second)
        if not serves(case, second):
            continue
        x, y = put(case, host), put(case, value)
        if _COMMON.get((first, second)) == first:
            x += y
            same(case, x, host + value.astype(host.dtype), f"with {second}")
        else:
            with pytest.raises(TypeError):
                x += y
            same(case, x, host, f"after a refused {second}")


#: What a Python number on the side makes of an array: the kind letter of the array's dtype, the
#: number, and the result ("same", a dtype, or None for what is refused or undefined).
_NUMBERS: tuple[tuple[str, Any, str | None], ...] = (
    ("b", True, "same"),
    ("b", 1, None),
    ("b", 1.0, None),
    ("b", 1j, None),
    ("i", 3, "same"),
    ("i", True, None),
    ("i", 1j, None),
    ("u", 3, "same"),
    ("u", True, None),
    ("u", 1j, None),
    ("f", 2, "same"),
    ("f", 0.5, "same"),
    ("f", 1j, "complex"),
    ("f", True, None),
    ("c", 2, "same"),
    ("c", 0.5, "same"),
    ("c", 2 - 1j, "same"),
    ("c", False, None),
)
_COMPLEX_OF = {"float64": "complex128"}


@pytest.mark.parametrize("dtype", ALL)
def test_python_numbers(case: Case, dtype: str) -> None:
    """A Python number of the same or a lower kind takes the dtype of the array; others do not."""
    need(case, dtype)
    host = whole_numbers(case, (4,), dtype)
    x = put(case, host)
    function: Any = px.logical_and if dtype == "bool" else px.multiply
    compute: Any = np.logical_and if dtype == "bool" else np.multiply
    for kind, number, want in _NUMBERS:
        if kind != kind_of(dtype):
            continue
        for arguments in ((x, number), (number, x)):
            if want is None:
                with pytest.raises(TypeError):
                    function(*arguments)
                continue
            result = dtype if want == "same" else _COMPLEX_OF.get(dtype, "complex64")
            if not serves(case, result):
                continue
            target = host_dtype(result)
            wide = compute(host.astype(target), np.asarray(number).astype(target))
            same(case, function(*arguments), wide, f"with {number}")


@pytest.mark.parametrize("dtype", [d for d in ALL if kind_of(d) in "iu"])
def test_numbers_out_of_range(case: Case, dtype: str) -> None:
    """A Python int that the array's dtype does not hold is refused; its limits are not."""
    limits = np.iinfo(dtype)
    x = px.zeros(3, dtype=_dtype(dtype))
    for number in (limits.max + 1, limits.min - 1, 1 << 70):
        with pytest.raises(OverflowError):
            x + number
    for number in (int(limits.max), int(limits.min)):
        same(case, x + number, np.full(3, number, dtype))
        same(case, px.maximum(number, x), np.maximum(np.zeros(3, dtype), np.asarray(number, dtype)))


@pytest.mark.parametrize("dtype", [d for d in ALL if kind_of(d) in "fc"])
def test_numbers_are_rounded_once(case: Case, dtype: str) -> None:
    """A Python number beside a tie, a limit or a zero of the array's dtype reaches it exactly."""
    need(case, dtype)
    part = PARTS.get(dtype, dtype)
    numbers = conversion_corners("float64")
    numbers = case.rng().permutation(numbers[~np.isnan(numbers)])
    if case.flushes:
        numbers = numbers[(numbers == 0) | (np.abs(numbers) >= np.finfo(np.float32).tiny)]
    if case.quick:
        numbers = numbers[:80]
    wanted = cast(numbers, part)
    minus_zero = complex(-0.0, -0.0) if dtype in PARTS else -0.0
    x = px.full(3, minus_zero, dtype=_dtype(dtype))  # with which a sum is the number
    wrong = []
    for number, want in zip(numbers.tolist(), wanted, strict=True):
        given = complex(number, -number) if dtype in PARTS else number
        got = np.asarray(px.asnumpy(x + given))[1]
        parts = (got.real, -got.imag) if dtype in PARTS else (got,)
        if any(np.asarray(p).tobytes() != np.asarray(want).tobytes() for p in parts):
            wrong.append(f"{given!r} became {got}, not {want}")
    assert not wrong, f"numbers for {dtype} on {case.device}: {len(wrong)} wrong: {wrong[0]}"


def test_number_of_arrays_does_not_matter(case: Case) -> None:
    """``result_type`` of many arguments is that of the pairs, with Python numbers at any place."""
    int8, int32, float32 = px.int8, px.int32, px.float32
    assert px.result_type(int8, px.uint8, px.int16) is px.int16
    assert px.result_type(px.uint8, int8, px.uint16) is int32
    assert px.result_type(3, int8, 4) is int8
    assert px.result_type(float32, 3, 2.5) is float32
    assert px.result_type(2.5, px.float16, px.bfloat16) is float32
    assert px.result_type(1j, float32) is px.complex64
    assert px.result_type(px.zeros((), dtype=px.int16), int8) is px.int16
    with pytest.raises(TypeError):
        px.result_type(int8, 3, float32)
    with pytest.raises(ValueError, match="at least one"):
        px.result_type()


#: Pairs of kinds of which the second one wins.
_LATER = {"b": "iufc", "i": "fc", "u": "fc", "f": "", "c": ""}


@pytest.mark.parametrize("first", [d for d in ALL if _LATER[kind_of(d)]])
def test_mixed_kinds(case: Case, first: str) -> None:
    """By the rules that hold unless a program asks for others, the later kind of two wins."""
    need(case, first)
    for second in (d for d in ALL if kind_of(d) in _LATER[kind_of(first)]):
        if not serves(case, second):
            continue
        hosts = [whole_numbers(case, (6,), name, second) for name in (first, second)]
        x, y = (put(case, host) for host in hosts)
        wide = [host.astype(host_dtype(second)) for host in hosts]
        with px.promotion("mixed"):
            assert px.result_type(x, y) is _dtype(second)
            for got in (x * y, y * x):
                assert got.dtype is _dtype(second), f"{first} and {second} give {got.dtype}"
                same(case, got, wide[0] * wide[1], f"with {second}")
