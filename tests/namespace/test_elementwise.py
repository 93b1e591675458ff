"""Every elementwise op of the op table on every signature against an independent reference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import phalanx as px
import pytest
from array_kit import assert_same, generator
from phalanx._warm import cast
from phalanx._warm import copy as copy_array
from phalanx.conformance.reference import complex_numbers
from phalanx.conformance.reference.elementwise import Parts, expected
from phalanx.conformance.reference.formats import PARTS, host_dtype
from phalanx.conformance.reference.values import (
    HostArray,
    combined,
    ordinary_values,
    special_values,
    wild_values,
)
from phalanx.namespace.public import public_function
from phalanx.optable import ALL, FLOATING, INTEGER, OPS, REAL, Op, Signature, Structure

ELEMENTWISE = [row for row in OPS.values() if row.structure is Structure.ELEMENTWISE]
FUNCTIONS = [row for row in ELEMENTWISE if row.name not in ("copy", "cast")]
#: The fake devices run NumPy, which is good to a few units in the last place for everyday values.
LOOSE_ULP = 8.0


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Overflow and NaN are inputs here, not accidents of the reference."""
    with np.errstate(all="ignore"):
        yield


def apply(op: str, args: tuple[HostArray, ...], to: str, device: px.Device) -> HostArray:
    """The public function, or the one that it stands for."""
    arrays = [px.asarray(a, device=device) for a in args]
    if op == "copy":
        return px.asnumpy(copy_array(arrays[0]))
    if op == "cast":
        return px.asnumpy(cast(arrays[0], getattr(px, to)))
    return px.asnumpy(public_function(op)(*arrays))


def wild_arguments(op: str, signature: Signature) -> tuple[HostArray, ...]:
    """All combinations of special values, and random ones over the whole range."""
    rng = generator(op, signature)
    kinds = signature.inputs
    if kinds[-1] in PARTS and complex_numbers.is_analytic(op):
        return tuple(ordinary_values(name, 48, rng) for name in kinds)
    specials = [special_values(name) for name in kinds]
    if len(kinds) == 3:
        specials = [s[:: max(1, len(s) // 12)] for s in specials]
    count = 400 if len(kinds) == 1 else 500
    columns = [
        np.concatenate([special, wild_values(name, count, rng)])
        for name, special in zip(kinds, combined(specials), strict=True)
    ]
    return tuple(columns)


def check(
    row: Op, signature: Signature, args: tuple[HostArray, ...], got: HostArray, slack: float
) -> None:
    """Compare with the reference: to the bit where the op is exact, else within the row's bound."""
    want = expected(row.name, args, signature.outputs[0])
    if slack and isinstance(want, Parts):
        want = replace(want, normed=True)  # NumPy's complex functions cancel
    stated = 0.0 if want.is_exact else row.bound.ulp[signature.inputs[-1]] + want.slack
    errors = want.errors(got, np.arange(got.size))
    worst = int(errors.argmax())
    assert errors[worst] <= max(stated, slack), (
        f"{row.name} {signature} of {[a[worst] for a in args]}: got {got[worst]!r}, "
        f"want {want.text(worst)}, error {errors[worst]} ulp, bound {max(stated, slack)}"
    )


@pytest.mark.needs_cpu
@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_whole_domain(row: Op, cpu: px.Device) -> None:
    """Special values in all combinations and random bits, on the real kernels."""
    for signature in row.signatures:
        args = wild_arguments(row.name, signature)
        check(row, signature, args, apply(row.name, args, signature.outputs[0], cpu), 0.0)


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_everyday_values(row: Op, device: px.Device) -> None:
    """Every signature reaches its kernel on every device and gives the right numbers."""
    for signature in row.signatures:
        rng = generator("everyday", row.name, signature)
        args = tuple(ordinary_values(name, 24, rng) for name in signature.inputs)
        if row.name in ("asin", "acos", "atanh", "log1p", "acosh"):
            scale = (1.0, 4.0) if row.name == "acosh" else (-0.9, 0.9)
            if signature.inputs[0] in FLOATING:
                args = (rng.uniform(*scale, 24).astype(args[0].dtype),)
        if row.name in ("log", "log2", "log10", "pow") and signature.inputs[0] in FLOATING:
            args = (np.abs(args[0]), *args[1:])
        got = apply(row.name, args, signature.outputs[0], device)
        check(row, signature, args, got, 0.0 if device.name == "cpu:0" else LOOSE_ULP)


@pytest.mark.parametrize(
    "op", ["exp", "log", "sin", "tan", "atan2", "pow", "hypot", "logaddexp", "tanh"]
)
@pytest.mark.needs_cpu
def test_float64_against_mpmath(op: str, cpu: px.Device) -> None:
    """The reference of the other tests is the C library; here it is 40 digits."""
    import mpmath

    rng = generator("mpmath", op)
    args = tuple(rng.uniform(0.01, 20.0, 60) for _ in range(OPS[op].arity))
    functions = {
        "pow": mpmath.power,
        "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
    }
    function = functions.get(op) or getattr(mpmath, op)
    got = apply(op, args, "float64", cpu)
    with mpmath.workdps(40):
        for i, row in enumerate(zip(*args, strict=True)):
            exact = function(*map(mpmath.mpf, row))
            error = abs(mpmath.mpf(got[i]) - exact) / math.ulp(float(exact))
            assert error <= OPS[op].bound.ulp["float64"], (
                f"{op}{row}: {got[i]!r}, error {error} ulp"
            )


# ---- what differs from NumPy by decision ---------------------------------------------------------


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", INTEGER)
def test_integer_division_by_zero_is_zero(name: str, cpu: px.Device) -> None:
    x = px.asarray(special_values(name), device=cpu)
    zero = px.zeros_like(x)
    assert px.asnumpy(x // zero).tolist() == [0] * x.size
    assert px.asnumpy(x % zero).tolist() == [0] * x.size


@pytest.mark.needs_cpu
def test_least_over_minus_one_wraps(cpu: px.Device) -> None:
    for name in ("int8", "int16", "int32", "int64"):
        least = px.asarray([np.iinfo(name).min], dtype=getattr(px, name), device=cpu)
        assert int((least // -1)[0]) == np.iinfo(name).min
        assert int((least % -1)[0]) == 0
        assert int(abs(least)[0]) == np.iinfo(name).min


@pytest.mark.needs_cpu
def test_shifts_beyond_the_width(cpu: px.Device) -> None:
    x = px.asarray([-128, -1, 1, 127], dtype=px.int8, device=cpu)
    for count in (8, 9, 127, -1, -128):
        assert px.asnumpy(x << count).tolist() == [0, 0, 0, 0]
        assert px.asnumpy(x >> count).tolist() == [-1, -1, 0, 0]


@pytest.mark.needs_cpu
def test_floats_to_integers_saturate(cpu: px.Device) -> None:
    values = [math.nan, math.inf, -math.inf, 1e30, -1e30, 300.7, -300.7, 2.9, -2.9]
    for source in (px.float32, px.float64):
        x = px.asarray(values, dtype=source, device=cpu)
        assert px.asnumpy(px.astype(x, px.int8)).tolist() == [
            0,
            127,
            -128,
            127,
            -128,
            127,
            -128,
            2,
            -2,
        ]
        assert px.asnumpy(px.astype(x, px.uint8)).tolist() == [0, 255, 0, 255, 0, 255, 0, 2, 0]
        assert px.asnumpy(px.astype(x, px.int64))[:3].tolist() == [0, 2**63 - 1, -(2**63)]
        assert px.asnumpy(px.astype(x, px.uint64))[:3].tolist() == [0, 2**64 - 1, 0]


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_signed_zeros_and_infinite_quotients(name: str, cpu: px.Device) -> None:
    dtype = getattr(px, name)

    def one(value: float) -> px.Array:
        return px.asarray([value], dtype=dtype, device=cpu)

    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert not bool(px.signbit(px.maximum(one(a), one(b)))[0])
        assert bool(px.signbit(px.minimum(one(a), one(b)))[0])
    assert float((one(math.inf) // one(2.0))[0]) == math.inf
    below = (one(1.0) // one(-math.inf))[0]
    assert float(below) == 0.0
    assert bool(px.signbit(below))
    assert float((one(-5.0) % one(math.inf))[0]) == math.inf
    assert float((one(5.0) % one(math.inf))[0]) == 5.0
    assert math.isnan(float((one(5.0) % one(0.0))[0]))
    assert bool(px.signbit((one(6.0) % one(-3.0))[0]))


# ---- Python numbers, promotion, operators --------------------------------------------------------

OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "pow": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "bitwise_left_shift": "<<", "bitwise_right_shift": ">>", "equal": "==", "not_equal": "!=",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip


@pytest.mark.parametrize(("op", "sign"), OPERATORS.items())
def test_operator_is_the_function(op: str, sign: str, device: px.Device) -> None:
    for name in ("int32", "float32", "bool", "uint8", "complex64"):
        if not any(s.inputs[0] == name for s in OPS[op].signatures):
            continue
        rng = generator(op, name)
        x, y = (px.asarray(ordinary_values(name, 7, rng)) for _ in range(2))
        scope = {"x": x, "y": y}
        want = px.asnumpy(public_function(op)(x, y))
        assert_same(eval(f"x {sign} y", scope), want, f"x {sign} y")
        number = y[3].item()
        scope["n"] = number
        full = px.asarray(np.full(7, number, host_dtype(name)))
        assert_same(
            eval(f"x {sign} n", scope), px.asnumpy(public_function(op)(x, full)), f"x {sign} n"
        )
        assert_same(
            eval(f"n {sign} x", scope), px.asnumpy(public_function(op)(full, x)), f"n {sign} x"
        )
        if sign not in ("==", "!=", "<", "<=", ">", ">="):
            exec(f"x {sign}= y", scope)
            assert scope["x"] is x
            assert_same(x, want, f"x {sign}= y")


def test_unary_operators(device: px.Device) -> None:
    x = px.asarray([-1.5, 2.0])
    assert (-x).tolist() == [1.5, -2.0]
    assert (+x).tolist() == [-1.5, 2.0]
    assert abs(x).tolist() == [1.5, 2.0]
    assert (~px.asarray([0, 5])).tolist() == [-1, -6]
    assert (~px.asarray([True, False])).tolist() == [False, True]


def test_promotion_of_pairs(device: px.Device) -> None:
    from phalanx.arrays.promotion import PAIRS

    arrays = {name: px.ones((2,), dtype=name) for name in ALL if name != "bool"}
    for a, b in itertools.product(arrays, repeat=2):
        if (a, b) in PAIRS:
            result = arrays[a] + arrays[b]
            assert result.dtype.name == PAIRS[a, b]
            assert px.asnumpy(px.astype(px.real(result), px.float32)).tolist() == [2.0, 2.0]
        else:
            with (
                px.promotion("standard"),
                pytest.raises(TypeError, match=f"add: {a} and {b} have no common dtype.*astype"),
            ):
                arrays[a] + arrays[b]


def test_integers_in_float_functions(device: px.Device) -> None:
    """An extension: what the standard leaves open is computed in float64."""
    x = px.asarray([1, 4, 9], dtype=px.uint8)
    assert px.sqrt(x).dtype is px.float64
    assert px.sqrt(x).tolist() == [1.0, 2.0, 3.0]
    assert (x / px.asarray([2], dtype=px.uint8)).tolist() == [0.5, 2.0, 4.5]


def test_python_numbers_take_the_dtype(device: px.Device) -> None:
    half = px.ones((2,), dtype=px.float16)
    assert (half + 1).dtype is px.float16
    assert (half + 1.5).dtype is px.float16
    assert (px.ones((2,), dtype=px.bfloat16) * 2.5).tolist() == [2.5, 2.5]
    assert (px.ones((2,), dtype=px.float32) + 1j).dtype is px.complex64
    assert (px.ones((2,), dtype=px.float64) + 1j).dtype is px.complex128
    assert (px.ones((2,), dtype=px.int8) + 1).dtype is px.int8
    assert (px.ones((2,), dtype=px.int8) * 0.5).dtype is px.float64
    assert px.pow(2.0, px.asarray([1.0, 3.0])).tolist() == [2.0, 8.0]


def test_numbers_out_of_range_are_refused(device: px.Device) -> None:
    x = px.ones((2,), dtype=px.int8)
    for number in (128, -129, 10**30):
        with pytest.raises(OverflowError, match="int8"):
            x + number
    with pytest.raises(OverflowError, match="uint64"):
        px.ones((2,), dtype=px.uint64) + (-1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: px.ones((2,)) + True, "add: a Python bool does not mix with float64"),
        (lambda: px.asarray([True]) + 1, "add: a Python int does not mix with bool.*astype"),
        (
            lambda: px.asarray([True]) * 1.0,
            "multiply: a Python float does not mix with bool.*astype",
        ),
        (lambda: px.asarray([1]) + 1j, "add: a Python complex does not mix with int64"),
        (
            lambda: px.exp(1.0),
            "exp takes a phalanx array, got float; make one with phalanx.asarray",
        ),
        (lambda: px.add(1, 2), "add takes phalanx arrays and Python numbers, at least one array"),
        (
            lambda: px.add(px.ones(2), np.ones(2)),
            "add of a phalanx array and a numpy.ndarray: write phalanx.asarray",
        ),
        (lambda: px.exp(px.asarray([True])), "exp is not defined for bool; it takes .*float32"),
        (lambda: px.imag(px.ones(2)), "imag is not defined for float64; it takes complex64"),
        (
            lambda: px.logical_and(px.asarray([1]), px.asarray([2])),
            "logical_and is not defined for int64",
        ),
        (lambda: px.asarray([1j]) < px.asarray([1j]), "less is not defined for complex128"),
        (lambda: px.ones(2) & px.ones(2), "bitwise_and is not defined for float64"),
        (lambda: px.ones(2) + "x", "unsupported operand"),
    ],
)
def test_wrong_types(make: object, message: str, device: px.Device) -> None:
    with px.promotion("standard"), pytest.raises(TypeError, match=message):
        make()


def test_shapes_that_do_not_broadcast(device: px.Device) -> None:
    with pytest.raises(
        ValueError, match=r"\(2, 3\), \(4,\) cannot be broadcast: aligned at the last axis"
    ):
        px.ones((2, 3)) + px.ones((4,))


def test_in_place_keeps_the_dtype(device: px.Device) -> None:
    x = px.ones((2,), dtype=px.float32)
    with (
        px.promotion("standard"),
        pytest.raises(TypeError, match="add in place: float64 does not go into float32"),
    ):
        x += px.ones((2,))
    y = px.asarray([1])
    with pytest.raises(
        TypeError, match="a Python float does not go into int64 without a cast; write x"
    ):
        y *= 0.5
    with pytest.raises(
        ValueError, match=r"shape \(2, 2\) does not fit into the array of shape \(2,\)"
    ):
        x += px.ones((2, 2), dtype=px.float32)
    x += px.ones((1,), dtype=px.float16)
    assert x.tolist() == [2.0, 2.0]


def test_arrays_of_two_devices(drivers: object) -> None:
    a, b = px.ones((2,), device="fake:0"), px.ones((2,), device="fake:1")
    with pytest.raises(
        px.DeviceMismatchError, match=r'add of arrays on fake:0.*y\.to_device\("fake:0"\)'
    ):
        a + b
    with pytest.raises(px.DeviceMismatchError, match=r"add of arrays on fake:0"):
        a += b
    with pytest.raises(px.DeviceMismatchError, match="where"):
        px.where(a > 0, a, b)
    with pytest.raises(px.DeviceMismatchError):
        px.clip(a, b, None)
    with pytest.raises(px.DeviceMismatchError):
        px.clip(a, b, b)


# ---- clip and where ------------------------------------------------------------------------------


def test_clip(device: px.Device) -> None:
    x = px.asarray([-5, 0, 3, 9], dtype=px.int8)
    assert px.clip(x, 0, 4).tolist() == [0, 0, 3, 4]
    assert px.clip(x, min=1).tolist() == [1, 1, 3, 9]
    assert px.clip(x, max=1).tolist() == [-5, 0, 1, 1]
    assert px.clip(x).tolist() == x.tolist()
    assert px.clip(x, -1000, 1000).tolist() == x.tolist()
    assert px.clip(x, 5, 2).tolist() == [2, 2, 2, 2]
    assert px.clip(x, px.asarray([[0], [1]], dtype=px.int8), 4).tolist() == [
        [0, 0, 3, 4],
        [1, 1, 3, 4],
    ]
    assert px.clip(px.asarray([1.5, math.nan]), 0.0, 1.0)[0].item() == 1.0
    assert math.isnan(px.clip(px.asarray([math.nan]), 0.0, 1.0)[0].item())
    assert px.clip(x, 0, 4).dtype is px.int8


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.clip(3, 0, 1), TypeError, "clip takes a phalanx array, got int"),
        (lambda: px.clip(px.asarray([1]), math.nan, 1), ValueError, "a bound is NaN"),
        (
            lambda: px.clip(px.asarray([1]), px.ones(1), 2),
            TypeError,
            "clip: int64 and float64 have no common",
        ),
        (lambda: px.clip(px.asarray([1j]), 0, 1), TypeError, "clip is not defined for complex128"),
        (
            lambda: px.clip(px.asarray([True]), px.asarray([True]), px.asarray([True])),
            TypeError,
            "clip is not def",
        ),
        (
            lambda: px.where(px.asarray([1]), 1, 2),
            TypeError,
            r"boolean condition, got int64; write where\(x != 0",
        ),
        (lambda: px.where(True, px.ones(1), 2), TypeError, "boolean condition"),
        (
            lambda: px.where(px.asarray([True]), px.asarray([1]), px.ones(1)),
            TypeError,
            "no common dtype",
        ),
    ],
)
def test_clip_and_where_errors(
    make: object, error: type[Exception], message: str, device: px.Device
) -> None:
    with px.promotion("standard"), pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("name", ALL)
def test_where_broadcasts_and_takes_numbers(name: str, device: px.Device) -> None:
    rng = generator("where", name)
    mask = rng.integers(0, 2, (3, 1)).astype(bool)
    a, b = ordinary_values(name, 4, rng), ordinary_values(name, 12, rng).reshape(3, 4)
    got = px.where(px.asarray(mask), px.asarray(a), px.asarray(b))
    assert_same(got, np.where(mask, a, b).astype(a.dtype), name)
    number = a[0].item() if name != "bfloat16" else float(a[0])
    got = px.where(px.asarray(mask), number, px.asarray(b))
    assert_same(got, np.where(mask, a[0], b).astype(a.dtype), name)
    got = px.where(px.asarray(mask), px.asarray(b), number)
    assert_same(got, np.where(mask, b, a[0]).astype(a.dtype), name)


def test_where_promotes(device: px.Device) -> None:
    got = px.where(
        px.asarray([True, False]),
        px.asarray([1, 2], dtype=px.int8),
        px.asarray([3, 4], dtype=px.uint8),
    )
    assert got.dtype is px.int16
    assert got.tolist() == [1, 4]
    assert px.where(px.asarray([True, False]), 1, 2.5).dtype is px.float64


def test_functions_describe_themselves() -> None:
    import inspect
    import pickle

    for row in FUNCTIONS:
        function = public_function(row.name)
        assert function.__name__ == row.name
        assert function.__doc__
        parameters = list(inspect.signature(function).parameters)
        assert len(parameters) == row.arity
        assert pickle.loads(pickle.dumps(function)) is function
    assert repr(px.exp) == "<function phalanx.exp>"
    assert REAL[0] in (s.inputs[0] for s in px.add.row.signatures)
