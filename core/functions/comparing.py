"""Equality within tolerances, and choosing by it: isclose, allclose, array_equal, select."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from phalanx._warm import Array, cast, default_float
from phalanx._warm import copy as copy_array
from phalanx.arrays.checks import as_operand, need_array, need_one_device, need_real
from phalanx.arrays.data_types import astype, finfo, result_type
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.creation import full
from phalanx.namespace.elementwise import (
    abs,
    clip,
    copysign,
    equal,
    imag,
    isfinite,
    isnan,
    less_equal,
    logical_and,
    logical_or,
    real,
    remainder,
    where,
)
from phalanx.namespace.manipulation import broadcast_shapes, reshape, stack
from phalanx.namespace.reductions import all

Operand = Array | bool | int | float | complex


def _pair(a: Any, b: Any, op: str) -> tuple[Array, Array]:
    """Two operands as arrays of one device and one dtype."""
    if type(a) is Array and type(b) is Array and a.dtype is b.dtype and a.device is b.device:
        return a, b
    a, b = as_operand(a), as_operand(b)
    device = a.device if isinstance(a, Array) else b.device if isinstance(b, Array) else None
    for x in (b, a):
        if device is None or not isinstance(x, Operand):
            odd = next((x for x in (a, b) if not isinstance(x, Array)), a)
            raise TypeError(
                f"{op} takes a phalanx array and another or a number, got {type(odd).__name__}; "
                "use phalanx.asarray"
            )
    dtype = result_type(a, b)
    if not isinstance(a, Array):
        a = full((), a, dtype=dtype, device=device)
    if not isinstance(b, Array):
        b = full((), b, dtype=dtype, device=device)
    need_one_device(op, a, b)
    return cast(a, dtype), cast(b, dtype)


def _tolerance(value: Any, name: str) -> float | Array:
    value = as_operand(value)
    if isinstance(value, Array) and value.dtype.kind in "iuf":
        return value
    need_real(value, f"isclose: {name}")
    return float(value)


def isclose(
    a: Operand,
    b: Operand,
    rtol: float | Array = 1e-05,
    atol: float | Array = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return where two operands are equal within tolerances: |a - b| <= atol + rtol * |b|.

    Infinities are close where they are equal, NaN to NaN only with ``equal_nan``. Integers are
    compared as the default float. A tolerance may be an array of real numbers that broadcasts.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no array among the operands, or a tolerance that is no real number.
        ValueError: shapes that do not broadcast.

    Examples:
        >>> x = px.asarray([1.0, 2.0, px.nan])
        >>> print(px.isclose(x, px.asarray([1.0 + 1e-9, 2.1, px.nan]), equal_nan=True))
        [ True False  True]
    """
    rtol, atol = _tolerance(rtol, "rtol"), _tolerance(atol, "atol")
    x, y = _pair(a, b, "isclose")
    if x.dtype.kind in "biu":
        kind = default_float(x.device)
        x, y = astype(x, kind, copy=False), astype(y, kind, copy=False)
    near = less_equal(abs(x - y), abs(y) * rtol + atol)
    result = logical_or(logical_and(near, isfinite(y)), equal(x, y))
    return logical_or(result, logical_and(isnan(x), isnan(y))) if equal_nan else result


def allclose(
    a: Operand,
    b: Operand,
    rtol: float | Array = 1e-05,
    atol: float | Array = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return whether all elements are close as ``isclose`` has it, as a 0-d bool array.

    The host waits when it is used as a truth value, not before. Errors are those of ``isclose``.

    Examples:
        >>> bool(px.allclose(px.asarray([1e10, 1e-9]), px.asarray([1.00001e10, 1e-10])))
        True
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Array, a2: Array, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and equal elements, as a 0-d bool array.

    The host waits when it is used as a truth value, not before.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: one is no array.

    Examples:
        >>> x = px.asarray([1.0, px.nan])
        >>> bool(px.array_equal(x, x)), bool(px.array_equal(x, x, equal_nan=True))
        (False, True)
    """
    need_array(a1, "array_equal")
    need_array(a2, "array_equal")
    need_one_device("array_equal", a1, a2)
    if a1.shape != a2.shape:
        return full((), False, dtype=bool_, device=a1.device)
    same = equal(a1, a2)
    floats = a1.dtype.kind in "fc" and a2.dtype.kind in "fc"
    if equal_nan and floats:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all(same)


def select(condlist: Sequence[Array], choicelist: Sequence[Operand], default: Operand = 0) -> Array:
    """Return for each place the element of the first choice whose condition is true there.

    Args:
        condlist: bool arrays.
        choicelist: as many arrays or numbers; all broadcast.
        default: where no condition is true.

    The result has the common dtype of choices and default.

    Raises:
        TypeError: a condition that is no bool array.
        ValueError: no condition, or another number of choices.

    Examples:
        >>> x = px.arange(6)
        >>> print(px.select([x < 2, x > 3], [x, x * 10], default=-1))
        [ 0  1 -1 -1 40 50]
    """
    conditions, choices = list(condlist), [as_operand(c) for c in choicelist]
    if not conditions or len(conditions) != len(choices):
        raise ValueError(
            f"select takes as many choices as conditions, at least one, got {len(choices)} and "
            f"{len(conditions)}"
        )
    for condition in conditions:
        need_array(condition, "select: a condition")
        if condition.dtype is not bool_:
            raise TypeError(f"select: a condition is bool, got {condition.dtype}; write x != 0")
    default = as_operand(default)
    dtype = result_type(*choices, default)
    arrays = [x for x in (*conditions, *choices, default) if isinstance(x, Array)]
    need_one_device("select", *arrays)
    shape = broadcast_shapes(*(x.shape for x in arrays))
    device = conditions[0].device

    def operand(value: Any) -> Array:
        if isinstance(value, Array):
            return astype(value, dtype, copy=False)
        return full((), value, dtype=dtype, device=device)

    result = operand(default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, operand(choice), result)
    if result.shape != shape:  # it is not made of all of them
        from phalanx.namespace.manipulation import broadcast_to

        result = broadcast_to(result, shape)
    return result


def fmod(x1: Operand, x2: Operand) -> Array:
    """Return the remainder of the division that is cut toward zero, with the sign of ``x1``; exact.

    C's ``fmod``. (``remainder`` has the sign of the divisor.) Integers over 0 give what
    ``remainder`` gives.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: booleans or complex numbers, or no array among the operands.
        ValueError: shapes that do not broadcast.

    Examples:
        >>> x = px.asarray([-3, 3])
        >>> print(px.fmod(x, 2), px.remainder(x, 2))
        [-1  1] [1 1]
    """
    a, b = _pair(x1, x2, "fmod")
    if a.dtype.kind not in "iuf":
        raise TypeError(f"fmod is not defined for {a.dtype}")
    if a.dtype.kind == "f":  # nothing is added to a remainder that has the sign of the divisor
        return remainder(a, copysign(b, a))
    found = remainder(a, b)
    if a.dtype.kind == "u":
        return found
    turned = logical_and(found != 0, (a < 0) != (b < 0))
    return where(turned, found - b, found)


def nan_to_num(
    x: Array,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Return the array with numbers in place of NaN and the infinities, part by part if complex.

    Args:
        x: of any shape; integers and booleans are returned as they are.
        copy: ``False`` writes into ``x`` and returns it.
        nan: in place of NaN.
        posinf: in place of infinity; without it the largest number of the dtype.
        neginf: in place of minus infinity; without it the lowest one.

    Raises:
        TypeError: no array.

    Examples:
        >>> print(px.nan_to_num(px.asarray([px.nan, px.inf, 1.0]), posinf=9.0))
        [0. 9. 1.]
    """
    need_array(x, "nan_to_num")
    if x.dtype.kind not in "fc":
        return copy_array(x) if copy else x
    if x.dtype.kind == "c":
        parts = stack([_numbers(p, nan, posinf, neginf) for p in (real(x), imag(x))], axis=-1)
        result = reshape(parts.view(x.dtype), x.shape)
    else:
        result = _numbers(x, nan, posinf, neginf)
    if copy:
        return result
    x[...] = result
    return x


def _numbers(x: Array, nan: float, posinf: float | None, neginf: float | None) -> Array:
    limits = finfo(x.dtype)
    if posinf is None and neginf is None:
        return where(isnan(x), float(nan), clip(x, limits.min, limits.max))
    high = limits.max if posinf is None else float(posinf)
    low = limits.min if neginf is None else float(neginf)
    result = where(x == inf, high, where(x == -inf, low, x))
    return where(isnan(x), float(nan), result)
