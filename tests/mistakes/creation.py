"""Making arrays: shapes, fill values, ranges, data that are none."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake("px.zeros(-3)", ValueError, "negative extent in shape (-3,): extents are 0 or more"),
    Mistake(
        "px.ones((2, -1))",
        ValueError,
        "negative extent in shape (2, -1): extents are 0 or more",
    ),
    Mistake("px.zeros(2.5)", TypeError, "a shape is an int or a tuple of ints, got 2.5"),
    Mistake("px.zeros((2, 3.0))", TypeError, "a shape is an int or a tuple of ints, got (2, 3.0)"),
    Mistake('px.zeros("3")', TypeError, "a shape is an int or a tuple of ints, got '3'"),
    Mistake("px.zeros(None)", TypeError, "a shape is an int or a tuple of ints, got None"),
    Mistake("px.eye(-2)", ValueError, "negative extent in shape (-2, -2): extents are 0 or more"),
    Mistake("px.eye(3, k=1.5)", TypeError, "eye: k is an int, got 1.5"),
    Mistake(
        "px.empty(10**30)",
        px.OutOfMemoryError,
        "an array of shape (1000000000000000000000000000000,) and dtype float64 on {device} "
        "cannot be addressed",
    ),
    *(
        Mistake(
            text,
            px.OutOfMemoryError,
            "an array of shape (18446744073709551616,) and dtype float64 on {device} "
            "cannot be addressed",
        )
        for text in (
            "px.linspace(0, 1, 2**64)",
            "px.arange(2.0**64)",
            "px.broadcast_to(px.ones(1), (2**64,))",
        )
    ),
    Mistake('px.full(3, "a")', TypeError, "full takes a number or a 0-d array, got str"),
    Mistake("px.full(3, None)", TypeError, "full takes a number or a 0-d array, got NoneType"),
    Mistake("px.full(3, [1, 2, 3])", TypeError, "full takes a number or a 0-d array, got list"),
    Mistake("px.full(3, x)", ValueError, "full takes a number or a 0-d array, got shape (3,)"),
    Mistake(
        'px.full(3, 1.5, dtype="int32")',
        TypeError,
        "full: the float 1.5 does not go into int32, as a cast would cut it; convert it first",
    ),
    Mistake(
        'px.full(3, 1j, dtype="float32")',
        TypeError,
        "full: the complex number 1j does not go into float32",
    ),
    Mistake(
        'px.full(3, 300, dtype="int8")',
        OverflowError,
        "Python integer 300 is out of bounds for int8 (-128 to 127)",
    ),
    Mistake(
        "px.full(3, 2, dtype=bool)",
        TypeError,
        "full: the number 2 does not go into bool; write True or False",
    ),
    Mistake(
        "px.full_like(b, 0.5)",
        TypeError,
        "full: the number 0.5 does not go into bool; write True or False",
    ),
    Mistake(
        "px.full_like(i, 0.5)",
        TypeError,
        "full: the float 0.5 does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake(
        "px.zeros_like([1, 2])",
        TypeError,
        "zeros_like takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.asarray([[1, 2], [3]])",
        ValueError,
        "asarray: the sequence is ragged: a part of length 1 stands beside a part of length "
        "2; pad the shorter ones, or make an array of each",
    ),
    Mistake(
        "px.asarray([[1, 2], 3])",
        ValueError,
        "asarray: the sequence is ragged: a number stands beside a part of length 2; pad the "
        "shorter ones, or make an array of each",
    ),
    Mistake(
        "px.asarray([np.ones(2), np.ones(3)])",
        ValueError,
        "asarray: the sequence is ragged: a part of length 2 stands beside a part of length "
        "3; pad the shorter ones, or make an array of each",
    ),
    Mistake(
        'px.asarray(["1", "2"])',
        TypeError,
        "asarray takes numbers, got the text '1'; convert it with float or int first",
    ),
    Mistake(
        'px.asarray([[1, 2], "ab"])',
        TypeError,
        "asarray takes numbers, got the text 'ab'; convert it with float or int first",
    ),
    Mistake("px.asarray(None)", TypeError, "asarray takes numbers, got None"),
    Mistake("px.asarray([1, None])", TypeError, "asarray takes numbers, got None in a list"),
    Mistake(
        "px.asarray({1, 2})",
        TypeError,
        "asarray takes numbers, got set; write phalanx.asarray(list(x))",
    ),
    Mistake(
        'px.asarray({"a": 1})',
        TypeError,
        "asarray takes numbers, got dict; write phalanx.asarray(list(x.values()))",
    ),
    Mistake(
        "px.asarray(v * v for v in range(3))",
        TypeError,
        "asarray takes numbers, got generator; write phalanx.asarray(list(x))",
    ),
    Mistake(
        'px.asarray(b"abc")',
        TypeError,
        "asarray takes numbers, got bytes; write phalanx.asarray(bytearray(x))",
    ),
    Mistake("px.asarray(object())", TypeError, "asarray takes numbers, got object"),
    Mistake(
        "px.asarray(np.array([1, None]))",
        TypeError,
        "asarray takes numbers, got a NumPy array of object, for which there is no dtype; write "
        "phalanx.asarray(x.astype('float64'))",
    ),
    Mistake(
        'px.asarray(np.array([1, 2], dtype="datetime64[s]"))',
        TypeError,
        "asarray takes numbers, got a NumPy array of datetime64[s], for which there is no dtype; "
        "write phalanx.asarray(x.view('int64')), and keep the unit",
    ),
    Mistake(
        'px.asarray([1.5, 2.0], dtype="int32")',
        TypeError,
        "asarray: 1.5 is no integer and does not go into int32; to cut it, write "
        "phalanx.astype(phalanx.asarray(x), phalanx.int32)",
    ),
    Mistake(
        'px.asarray([float("nan")], dtype="int64")',
        TypeError,
        "asarray: nan is no integer and does not go into int64; to cut it, write "
        "phalanx.astype(phalanx.asarray(x), phalanx.int64)",
    ),
    Mistake(
        'px.asarray(1.5, dtype="int8")',
        TypeError,
        "asarray: the float 1.5 does not go into int8, as a cast would cut it; convert it first",
    ),
    Mistake(
        'px.asarray([1, 300], dtype="int8")',
        OverflowError,
        "Python integer 300 is out of bounds for int8 (-128 to 127)",
    ),
    Mistake(
        'px.asarray([-1], dtype="uint8")',
        OverflowError,
        "Python integer -1 is out of bounds for uint8 (0 to 255)",
    ),
    Mistake(
        "px.asarray([2**70])",
        OverflowError,
        "Python integer 1180591620717411303424 is out of bounds for int64 "
        "(-9223372036854775808 to 9223372036854775807)",
    ),
    Mistake(
        'px.asarray(np.array([300]), dtype="int8")',
        OverflowError,
        "asarray: 300 is out of bounds for int8 (-128 to 127); to cut it, write "
        "phalanx.astype(phalanx.asarray(x), phalanx.int8)",
    ),
    Mistake(
        "px.asarray(x + 0.5, dtype=int)",
        TypeError,
        "asarray of float64: the array holds what does not go into int64, fractions or numbers out "
        "of its range; to cut them, write phalanx.astype(x, phalanx.int64)",
    ),
    Mistake(
        "px.asarray(c, dtype=float)",
        TypeError,
        "asarray of complex128 does not go into float64, as a cast would lose imaginary parts: "
        "write phalanx.real(values)",
    ),
    Mistake(
        "px.asarray(np.ma.masked_array([1.0, 2.0], mask=[True, False]))",
        TypeError,
        "asarray: a masked array of NumPy's, whose mask no phalanx array can hold: write "
        "phalanx.asarray(x.filled(number)) and keep x.mask",
    ),
    Mistake(
        "px.asarray([1.0, np.ma.masked])",
        TypeError,
        "asarray: a masked array of NumPy's, whose mask no phalanx array can hold: write "
        "phalanx.asarray(x.filled(number)) and keep x.mask",
    ),
    Mistake(
        "px.from_dlpack(np.ma.masked_array([1.0, 2.0]))",
        TypeError,
        "from_dlpack: a masked array of NumPy's, whose mask no phalanx array can hold: write "
        "phalanx.asarray(x.filled(number)) and keep x.mask",
    ),
    Mistake(
        "x[...] = np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False])",
        TypeError,
        "asarray: a masked array of NumPy's, whose mask no phalanx array can hold: write "
        "phalanx.asarray(x.filled(number)) and keep x.mask",
    ),
    Mistake(
        'px.asarray(np.ones(2, dtype="timedelta64[s]"))',
        TypeError,
        "asarray takes numbers, got a NumPy array of timedelta64[s], for which there is no dtype; "
        "write phalanx.asarray(x.view('int64')), and keep the unit",
    ),
    Mistake(
        "i[0] = np.timedelta64(5, 's')",
        TypeError,
        "asarray takes numbers, got a NumPy array of timedelta64[s], for which there is no dtype; "
        "write phalanx.asarray(x.view('int64')), and keep the unit",
    ),
    Mistake(
        'px.asarray(np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]))',
        TypeError,
        "asarray takes numbers, got a NumPy array of void96, for which there is no dtype; write an "
        "array of each of its fields, such as phalanx.asarray(x[x.dtype.names[0]])",
    ),
    Mistake(
        'px.asarray([1j], dtype="float64")',
        TypeError,
        "asarray: complex128 to float64 drops the imaginary part: use its real part",
    ),
    Mistake(
        "px.asarray([1, 2], copy=False)",
        ValueError,
        "a list cannot become an array without a copy",
    ),
    Mistake("px.asarray([x, px.ones(2)])", ValueError, "stack: shapes differ: (3,), (2,)"),
    Mistake(
        "px.asarray([x, other])",
        px.DeviceMismatchError,
        "stack of arrays on {device} and fake:0: move one, for example with "
        'y.to_device("{device}")',
    ),
    Mistake("px.arange(0, 10, 0)", ValueError, "arange: step must not be 0"),
    Mistake('px.arange("3")', TypeError, "arange takes ints and floats, got str"),
    Mistake("px.arange(1j)", TypeError, "arange takes ints and floats, got complex"),
    Mistake(
        'px.arange(float("inf"))',
        ValueError,
        "arange: start, stop and step must be finite, got inf",
    ),
    Mistake(
        'px.arange(3, dtype="bool")',
        TypeError,
        "arange is not defined for bool; compare with a number instead",
    ),
    Mistake(
        'px.arange(0, 300, dtype="int8")',
        OverflowError,
        "arange: 299 is out of bounds for int8",
    ),
    Mistake(
        'px.arange(0, 1, 0.1, dtype="int64")',
        TypeError,
        "arange: the float 0.1 does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake("px.linspace(0, 1, -2)", ValueError, "linspace: num must not be negative, got -2"),
    Mistake("px.linspace(0, 1, 2.5)", TypeError, "linspace: num is an int, got 2.5"),
    Mistake('px.linspace("a", 1, 3)', TypeError, "linspace takes a number or a 0-d array, got str"),
    Mistake("px.logspace(0, 1, -1)", ValueError, "logspace: num must not be negative, got -1"),
    Mistake("px.meshgrid(x, m)", ValueError, "meshgrid takes 1-d arrays, got shape (2, 3)"),
    Mistake(
        "px.meshgrid(x, i)",
        ValueError,
        "meshgrid takes arrays of one dtype, got float64, int64; use phalanx.astype",
    ),
    Mistake(
        "px.meshgrid(x, other)",
        px.DeviceMismatchError,
        "meshgrid of arrays on {device} and fake:0: move one, for example with "
        'y.to_device("{device}")',
    ),
    Mistake(
        "px.meshgrid([1, 2], [3])",
        TypeError,
        "meshgrid takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        'px.meshgrid(x, x, indexing="yx")',
        ValueError,
        'meshgrid: indexing is "xy" or "ij", got \'yx\'',
    ),
    Mistake("px.tril(x)", ValueError, "tril takes an array of two axes or more, got shape (3,)"),
    Mistake("px.triu(m, k=0.5)", TypeError, "triu: k is an int, got 0.5"),
    Mistake(
        "px.diag(t)",
        ValueError,
        "diag takes an array of one or two axes, got shape (2, 2, 2)",
    ),
)
