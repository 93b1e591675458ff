"""Operators, promotion, truth, Python numbers."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake(
        "x + px.ones(2)",
        ValueError,
        "shapes (3,), (2,) cannot be broadcast: aligned at the last axis, extents must be "
        "equal or 1",
    ),
    Mistake(
        "m + m.T",
        ValueError,
        "shapes (2, 3), (3, 2) cannot be broadcast: aligned at the last axis, extents must "
        "be equal or 1",
    ),
    Mistake(
        "x + [1, 2, 3]",
        TypeError,
        "add of a phalanx array and a list: write phalanx.asarray(...) around it, with "
        "device='{device}' if it shall be there",
    ),
    Mistake(
        "[1, 2, 3] + x",
        TypeError,
        "add of a phalanx array and a list: write phalanx.asarray(...) around it, with "
        "device='{device}' if it shall be there",
    ),
    Mistake(
        "x + np.ones(3)",
        TypeError,
        "add of a phalanx array and a numpy.ndarray: write phalanx.asarray(...) around it, "
        "with device='{device}' if it shall be there",
    ),
    Mistake(
        "np.ones(3) + x",
        TypeError,
        "add of a phalanx array and a numpy.ndarray: write phalanx.asarray(...) around it, "
        "with device='{device}' if it shall be there",
    ),
    Mistake(
        "x == [1, 2, 3]",
        TypeError,
        "equal of a phalanx array and a list: write phalanx.asarray(...) around it, with "
        "device='{device}' if it shall be there",
    ),
    Mistake(
        "x != np.ones(3)",
        TypeError,
        "not_equal of a phalanx array and a numpy.ndarray: write phalanx.asarray(...) around "
        "it, with device='{device}' if it shall be there",
    ),
    Mistake("px.exp(x, out=x)", TypeError, "exp has no out=; write result[...] = phalanx.exp(x)"),
    Mistake(
        "px.add(x, x, x)",
        TypeError,
        "add takes 2 operands, got 3; write result[...] = phalanx.add(x, y)",
    ),
    Mistake(
        "px.round(x, 2)", TypeError, "round takes one array, got 2; for decimals write x.round(2)"
    ),
    Mistake("px.sqrt()", TypeError, "sqrt takes one array, got 0"),
    Mistake(
        "px.exp(x, dtype=px.float64)",
        TypeError,
        "exp has no dtype=; convert what it takes, such as phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.divide(x, x, where=x > 0)",
        TypeError,
        "divide has no where=; write phalanx.where(mask, phalanx.divide(x, y), other)",
    ),
    Mistake(
        "px.add(x, x, casting='unsafe')",
        TypeError,
        "add takes no casting=, order= or subok=; leave them out",
    ),
    Mistake(
        "x + other",
        px.DeviceMismatchError,
        "add of arrays on {device} (shape (3,)) and fake:0 (shape (3,)): move one, for "
        'example with y.to_device("{device}")',
    ),
    Mistake(
        "x @ other",
        px.DeviceMismatchError,
        "matmul of arrays on {device} and fake:0: move one, for example with "
        'y.to_device("{device}")',
    ),
    Mistake(
        "i += 0.5",
        TypeError,
        "add in place: a Python float does not go into int64 without a cast; write x = x op y",
    ),
    Mistake(
        "i /= 2",
        TypeError,
        "divide in place: a Python int does not go into int64 without a cast; write x = x op y",
    ),
    Mistake(
        "x += c",
        TypeError,
        "add in place: complex128 does not go into float64 without a cast; write x = x op y, "
        "or convert the operand",
    ),
    Mistake(
        "x += 1j",
        TypeError,
        "add in place: a Python complex does not go into float64 without a cast; write x = x op y",
    ),
    Mistake(
        "x += px.ones((2, 3))",
        ValueError,
        "the result of shape (2, 3) does not fit into the array of shape (3,)",
    ),
    Mistake(
        "b += i",
        TypeError,
        "add in place: int64 does not go into bool without a cast; write x = x op y, or "
        "convert the operand",
    ),
    Mistake(
        "b -= b",
        TypeError,
        "subtract is not defined for bool; it takes int8, int16, int32, int64, uint8, uint16, "
        "uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    Mistake(
        "u += i",
        TypeError,
        "add in place: int64 does not go into uint8 without a cast; write x = x op y, or "
        "convert the operand",
    ),
    Mistake(
        "-b",
        TypeError,
        "negative is not defined for bool; it takes int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    Mistake(
        "b - b",
        TypeError,
        "subtract is not defined for bool; it takes int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    Mistake(
        "~x",
        TypeError,
        "bitwise_invert is not defined for float64; it takes bool, int8, int16, int32, "
        "int64, uint8, uint16, uint32, uint64",
    ),
    Mistake(
        "x & x",
        TypeError,
        "bitwise_and is not defined for float64; it takes bool, int8, int16, int32, int64, "
        "uint8, uint16, uint32, uint64",
    ),
    Mistake(
        "x << 1",
        TypeError,
        "bitwise_left_shift is not defined for float64; it takes int8, int16, int32, int64, "
        "uint8, uint16, uint32, uint64",
    ),
    Mistake(
        "c < c",
        TypeError,
        "less is not defined for complex128; it takes int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64",
    ),
    Mistake(
        "c // c",
        TypeError,
        "floor_divide is not defined for complex128; it takes int8, int16, int32, int64, "
        "uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64",
    ),
    Mistake(
        'px.asarray([1], dtype="uint64") + i',
        TypeError,
        "add: uint64 and int64 have no common dtype: no integer holds both; convert one, for "
        "example with phalanx.astype(x, phalanx.uint64)",
    ),
    Mistake("u + 300", OverflowError, "Python integer 300 is out of bounds for uint8 (0 to 255)"),
    Mistake("u * -1", OverflowError, "Python integer -1 is out of bounds for uint8 (0 to 255)"),
    Mistake(
        "i + 2**70",
        OverflowError,
        "Python integer 1180591620717411303424 is out of bounds for int64 "
        "(-9223372036854775808 to 9223372036854775807)",
    ),
    Mistake(
        "i ** -1",
        ValueError,
        "pow: int64 to the power -1 is no integer; convert first, for example with "
        "phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "i ** -i",
        ValueError,
        "pow: int64 to the power -2 is no integer; convert first, for example with "
        "phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "2 ** -i",
        ValueError,
        "pow: int64 to the power -2 is no integer; convert first, for example with "
        "phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "x and x",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake(
        "not x",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake(
        "if x == x: pass",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake(
        "0 < x < 2",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake(
        "sorted(m)",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake(
        "x in [px.zeros(3), x]",
        TypeError,
        "the truth of an array of shape (3,) is ambiguous: use phalanx.any or phalanx.all, "
        "and & | ~ for `and`, `or`, `not`",
    ),
    Mistake("int(x)", TypeError, "only 0-d arrays convert to int, got shape (3,); index one first"),
    Mistake(
        "float(m)",
        TypeError,
        "only 0-d arrays convert to float, got shape (2, 3); index one first",
    ),
    Mistake("int(c[0])", TypeError, "a complex array does not convert to int: use phalanx.real(x)"),
    Mistake(
        "float(c[0])",
        TypeError,
        "a complex array does not convert to float: use phalanx.real(x)",
    ),
    Mistake('int(px.asarray(float("nan")))', ValueError, "cannot convert float NaN to integer"),
    Mistake(
        'int(px.asarray(float("inf")))',
        OverflowError,
        "cannot convert float infinity to integer",
    ),
    Mistake(
        "[1, 2, 3][x[0]]",
        TypeError,
        "only integer arrays are indices, got float64; write int(x)",
    ),
    Mistake(
        "round(x)",
        TypeError,
        "round() takes a 0-d array, got shape (3,); use x.round(decimals)",
    ),
    Mistake(
        "math.trunc(x)",
        TypeError,
        "trunc() takes a 0-d array, got shape (3,); use phalanx.trunc(x)",
    ),
    Mistake(
        "math.sqrt(x)",
        TypeError,
        "only 0-d arrays convert to float, got shape (3,); index one first",
    ),
    Mistake(
        'with px.promotion("standard"): b + i',
        TypeError,
        "add: bool and int64 have no common dtype in the Array API standard; convert one, "
        'for example with phalanx.astype(x, phalanx.int64), or use phalanx.promotion("mixed")',
    ),
    Mistake(
        'with px.promotion("standard"): b += i',
        TypeError,
        "add: bool and int64 have no common dtype in the Array API standard; convert one, "
        'for example with phalanx.astype(x, phalanx.int64), or use phalanx.promotion("mixed")',
    ),
    Mistake(
        'with px.promotion("standard"): i += x',
        TypeError,
        "add: int64 and float64 have no common dtype in the Array API standard; convert one, "
        "for example with phalanx.astype(x, phalanx.float64), or use "
        'phalanx.promotion("mixed")',
    ),
    Mistake(
        'with px.promotion("standard"): b + 1',
        TypeError,
        "add: a Python int does not mix with bool in the Array API standard; convert with "
        "phalanx.astype(x, phalanx.int64)",
    ),
    Mistake(
        'px.promotion("numpy")',
        ValueError,
        'unknown rules \'numpy\' of promotion; use "mixed" or "standard"',
    ),
    Mistake(
        "px.add(1, 2)",
        TypeError,
        "add takes phalanx arrays and Python numbers, at least one array, got int and int",
    ),
    Mistake(
        "px.sin(1.0)",
        TypeError,
        "sin takes a phalanx array, got float; make one with phalanx.asarray",
    ),
    Mistake(
        "px.sqrt([1.0])",
        TypeError,
        "sqrt takes a phalanx array, got list; make one with phalanx.asarray",
    ),
    Mistake(
        "px.sin(b)",
        TypeError,
        "sin is not defined for bool; it takes float16, bfloat16, float32, float64, "
        "complex64, complex128",
    ),
    Mistake("px.logical_not(i)", TypeError, "logical_not is not defined for int64; it takes bool"),
    Mistake(
        "px.floor(c)",
        TypeError,
        "floor is not defined for complex128; it takes int8, int16, int32, int64, uint8, "
        "uint16, uint32, uint64, float16, bfloat16, float32, float64",
    ),
    Mistake('px.clip(x, "a", 1)', TypeError, "clip: a bound is a number, got 'a'"),
    Mistake(
        "px.clip(i, 0.5, 2)",
        TypeError,
        "clip: the bound 0.5 does not go into int64, as a cast would cut it; round it, or "
        "convert x with phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.clip(c, 0, 1)",
        TypeError,
        "clip is not defined for complex128: complex numbers have no order",
    ),
    Mistake(
        "px.clip(x, other, None)",
        px.DeviceMismatchError,
        "clip of an array on {device} with a bound on fake:0; move it with "
        'bound.to_device("{device}")',
    ),
    Mistake(
        'px.clip(i, float("nan"), 2)',
        ValueError,
        "clip: a bound is NaN, which an integer array cannot hold",
    ),
    Mistake(
        "np.add(x, x, out=x)",
        TypeError,
        "numpy.add with out does not take phalanx arrays; write phalanx.add(...) without",
    ),
    Mistake(
        "np.add(x, [1, 2, 3])",
        TypeError,
        "add of a phalanx array and a list: write phalanx.asarray(...) around it, with "
        "device='{device}' if it shall be there",
    ),
    Mistake("x.round(1.5)", TypeError, "round: decimals is an int, got 1.5"),
)
