"""The elementwise functions of the Array API standard 2025.12, and those that NumPy has besides."""

from __future__ import annotations

from math import isnan as isnan_number

from phalanx._warm import (
    Array,
    BinaryFunction,
    Device,
    DType,
    UnaryFunction,
    cast,
    chosen,
    no_common_dtype,
    promote_types,
    ternary,
)
from phalanx.arrays.checks import as_operand, need_array, need_real
from phalanx.arrays.data_types import default_dtype, iinfo, result_type
from phalanx.arrays.promotion import need_kept
from phalanx.errors import DeviceMismatchError

abs = UnaryFunction("abs")
acos = UnaryFunction("acos")
acosh = UnaryFunction("acosh")
add = BinaryFunction("add")
asin = UnaryFunction("asin")
asinh = UnaryFunction("asinh")
atan = UnaryFunction("atan")
atan2 = BinaryFunction("atan2")
atanh = UnaryFunction("atanh")
bitwise_and = BinaryFunction("bitwise_and")
bitwise_invert = UnaryFunction("bitwise_invert")
bitwise_left_shift = BinaryFunction("bitwise_left_shift")
bitwise_or = BinaryFunction("bitwise_or")
bitwise_right_shift = BinaryFunction("bitwise_right_shift")
bitwise_xor = BinaryFunction("bitwise_xor")
cbrt = UnaryFunction("cbrt")
ceil = UnaryFunction("ceil")
conj = UnaryFunction("conj")
copysign = BinaryFunction("copysign")
cos = UnaryFunction("cos")
cosh = UnaryFunction("cosh")
divide = BinaryFunction("divide")
equal = BinaryFunction("equal")
exp = UnaryFunction("exp")
exp2 = UnaryFunction("exp2")
expm1 = UnaryFunction("expm1")
floor = UnaryFunction("floor")
floor_divide = BinaryFunction("floor_divide")
greater = BinaryFunction("greater")
greater_equal = BinaryFunction("greater_equal")
hypot = BinaryFunction("hypot")
imag = UnaryFunction("imag")
isfinite = UnaryFunction("isfinite")
isinf = UnaryFunction("isinf")
isnan = UnaryFunction("isnan")
less = BinaryFunction("less")
less_equal = BinaryFunction("less_equal")
log = UnaryFunction("log")
log10 = UnaryFunction("log10")
log1p = UnaryFunction("log1p")
log2 = UnaryFunction("log2")
logaddexp = BinaryFunction("logaddexp")
logical_and = BinaryFunction("logical_and")
logical_not = UnaryFunction("logical_not")
logical_or = BinaryFunction("logical_or")
logical_xor = BinaryFunction("logical_xor")
maximum = BinaryFunction("maximum")
minimum = BinaryFunction("minimum")
multiply = BinaryFunction("multiply")
negative = UnaryFunction("negative")
nextafter = BinaryFunction("nextafter")
not_equal = BinaryFunction("not_equal")
positive = UnaryFunction("positive")
pow = BinaryFunction("pow")
real = UnaryFunction("real")
reciprocal = UnaryFunction("reciprocal")
remainder = BinaryFunction("remainder")
round = UnaryFunction("round")
sign = UnaryFunction("sign")
signbit = UnaryFunction("signbit")
sin = UnaryFunction("sin")
sinh = UnaryFunction("sinh")
sqrt = UnaryFunction("sqrt")
square = UnaryFunction("square")
subtract = BinaryFunction("subtract")
tan = UnaryFunction("tan")
tanh = UnaryFunction("tanh")
trunc = UnaryFunction("trunc")

Number = bool | int | float | complex
_OPERANDS = (Array, bool, int, float, complex)


def fma(x1: Array | float, x2: Array | float, x3: Array | float, /) -> Array:
    """Return ``x1 * x2 + x3``, rounded once, element by element.

    The operands broadcast and are promoted as in a product and a sum, and one or two of them may be
    Python numbers. float16 and bfloat16 are computed in float32 and rounded.

    Raises:
        TypeError: no operand is an array, or they are not real or have no common dtype.
        DeviceMismatchError: the operands lie on different devices.

    Examples:
        >>> x = px.asarray([1 + 2.0**-30])
        >>> print(x * x - 1 - 2.0**-29, px.fma(x, x, -1 - 2.0**-29))  # what the product loses
        [0.] [8.67361738e-19]
    """
    operands = [as_operand(x) for x in (x1, x2, x3)]
    arrays = [x for x in operands if isinstance(x, Array)]
    if not arrays:
        raise TypeError("fma takes phalanx arrays and Python numbers, at least one array")
    device = arrays[0].device
    for x in operands:
        if isinstance(x, Array):
            if x.device is not device:
                raise DeviceMismatchError(
                    f"fma of arrays on {device} and {x.device}",
                    remedy=f'move one, for example with y.to_device("{device}")',
                )
        else:
            need_real(x, "fma: an operand")
    key = _floating_key(operands, device)
    first, second, third = (cast(x, key) if isinstance(x, Array) else x for x in operands)
    result: Array = ternary("fma", first, second, third, key, device)
    return result


def _floating_key(operands: list[Array | Number], device: Device) -> DType:
    """The dtype of arithmetic for operands of which one at least is an array."""
    key = result_type(*operands)
    return default_dtype(0.0, device) if key.kind in "iu" else key


def clip(
    x: Array, /, min: Array | int | float | None = None, max: Array | int | float | None = None
) -> Array:
    """Limit each element to [``min``, ``max``]; ``None`` leaves a side open.

    The bounds broadcast against ``x``, and the result has the dtype of ``x``. NaN propagates; where
    ``min`` is greater than ``max`` the result is ``max``.

    Raises:
        TypeError: ``x`` is no real array, or a bound has no dtype in common with it.
        DeviceMismatchError: a bound lies on another device.

    Examples:
        >>> print(px.clip(px.asarray([-5, 3, 300]), 0, 255), px.clip(px.asarray([-5, 3]), max=0))
        [  0   3 255] [-5  0]
    """
    need_array(x, "clip")
    if x.dtype.kind == "c":
        raise TypeError(f"clip is not defined for {x.dtype}: complex numbers have no order")
    low = _bound(x, min)
    high = _bound(x, max)
    if low is None:
        return positive(x) if high is None else minimum(x, high)
    if high is None:
        return maximum(x, low)
    result: Array = ternary("clip", x, low, high, x.dtype, x.device)
    return result


def _bound(x: Array, bound: Array | int | float | None) -> Array | int | float | None:
    """A bound in the dtype of ``x``; integers out of its range become its ends."""
    if isinstance(bound, Array):
        if bound.device is not x.device:
            raise DeviceMismatchError(
                f"clip of an array on {x.device} with a bound on {bound.device}",
                remedy=f'move it with bound.to_device("{x.device}")',
            )
        if promote_types(x.dtype, bound.dtype) is None:
            raise TypeError(f"clip: {no_common_dtype(x.dtype, bound.dtype)}")
        need_kept(bound, x.dtype, "clip: a bound")
        return cast(bound, x.dtype)
    if bound is not None:
        bound = as_operand(bound)
        need_real(bound, "clip: a bound")
    if bound is not None and x.dtype.kind in "iu":
        info = iinfo(x.dtype)
        if isinstance(bound, float) and isnan_number(bound):
            raise ValueError("clip: a bound is NaN, which an integer array cannot hold")
        kept = sorted((info.min, bound, info.max))[1]
        if kept != int(kept):
            raise TypeError(
                f"clip: the bound {bound} does not go into {x.dtype}, as a cast would cut it; "
                "round it, or convert x with phalanx.astype(x, phalanx.float64)"
            )
        return int(kept)
    return bound


def where(condition: Array, x1: Array | Number, x2: Array | Number, /) -> Array:
    """Return the elements of ``x1`` where ``condition`` is true and of ``x2`` elsewhere.

    All three broadcast; ``x1`` and ``x2`` are promoted, and one of them may be a Python number.

    Raises:
        TypeError: the condition is not boolean, or the values have no common dtype.

    Examples:
        >>> x = px.asarray([-1.0, 4.0, 9.0])
        >>> print(px.where(x >= 0, px.sqrt(x), 0))
        [0. 2. 3.]
    """
    plain: Array | None = chosen(condition, x1, x2)
    if plain is not None:
        return plain
    if not isinstance(condition, Array) or condition.dtype.kind != "b":
        got = condition.dtype if isinstance(condition, Array) else type(condition).__name__
        raise TypeError(f"where takes a boolean condition, got {got}; write where(x != 0, ...)")
    x1, x2 = as_operand(x1), as_operand(x2)
    key = _common(x1, x2, condition)
    first = cast(x1, key) if isinstance(x1, Array) else x1
    second = cast(x2, key) if isinstance(x2, Array) else x2
    result: Array = ternary("where", condition, first, second, key, condition.device)
    return result


def _common(x1: Array | Number, x2: Array | Number, condition: Array) -> DType:
    for x in (x1, x2):
        if not isinstance(x, _OPERANDS):
            raise TypeError(
                f"where takes arrays and numbers, got {type(x).__name__}; use phalanx.asarray"
            )
        if isinstance(x, Array) and x.device is not condition.device:
            raise DeviceMismatchError(
                f"where: the condition is on {condition.device} and a value on {x.device}",
                remedy=f'move it with x.to_device("{condition.device}")',
            )
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        return result_type(*(default_dtype(x, condition.device) for x in (x1, x2)))
    return result_type(x1, x2)
