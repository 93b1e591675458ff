"""Reading and writing elements."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake("x[3]", IndexError, "index 3 is out of range for axis 0 of shape (3,)"),
    Mistake("x[-4]", IndexError, "index -4 is out of range for axis 0 of shape (3,)"),
    Mistake("m[0, 3]", IndexError, "index 3 is out of range for axis 1 of shape (2, 3)"),
    Mistake("m[0, 0, 0]", IndexError, "3 indices for an array of shape (2, 3): at most 2 fit"),
    Mistake(
        "x[1.0]",
        IndexError,
        "an index is an int, a slice, ..., None, or a phalanx array of bool or integers, got float",
    ),
    Mistake(
        'x["a"]',
        IndexError,
        "an index is an int, a slice, ..., None, or a phalanx array of bool or integers, got str",
    ),
    Mistake("x[..., ...]", IndexError, "an index may have one ellipsis (...), got 2"),
    Mistake("x[1:2.5]", IndexError, "a slice takes ints or None, got 1, 2.5 and None"),
    Mistake(
        "s[0]",
        IndexError,
        "a 0-d array has no axes to index: use x.item(), or x[...] to write",
    ),
    Mistake(
        "x[0][0]",
        IndexError,
        "a 0-d array has no axes to index: use x.item(), or x[...] to write",
    ),
    Mistake("len(s)", TypeError, "len() of a 0-d array: it has no axes"),
    Mistake("list(s)", TypeError, "iteration over a 0-d array: it has no axes"),
    Mistake(
        "x[[0, 5]]",
        IndexError,
        "index 5 at place 1 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "x[np.asarray([0, 9])]",
        IndexError,
        "index 9 at place 1 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "x[px.asarray([0, 3])]",
        IndexError,
        "index 3 at place 1 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "x[px.asarray(-4)]",
        IndexError,
        "index -4 at place 0 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "m[:, [0, 4]]",
        IndexError,
        "index 4 at place 1 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "m[[0, -3]]",
        IndexError,
        "index -3 at place 1 is out of range for an axis of extent 2; valid indices are in [-2, 2)",
    ),
    Mistake(
        "x[[0.5]]",
        IndexError,
        "an index array is boolean or integer, got float64; convert it with "
        "phalanx.astype(key, phalanx.int64)",
    ),
    Mistake(
        "x[px.asarray([0.0])]",
        IndexError,
        "an index array is boolean or integer, got float64; convert it with "
        "phalanx.astype(key, phalanx.int64)",
    ),
    Mistake(
        "x[px.asarray([True, False])]",
        IndexError,
        "a mask of shape (2,) at axis 0 does not fit an array of shape (3,)",
    ),
    Mistake(
        "m[px.asarray([True, False, True])]",
        IndexError,
        "a mask of shape (3,) at axis 0 does not fit an array of shape (2, 3)",
    ),
    Mistake(
        "m[[0, 1], [0, 1, 2]]",
        IndexError,
        "index arrays do not broadcast: shapes (2,), (3,) cannot be broadcast: aligned at "
        "the last axis, extents must be equal or 1",
    ),
    Mistake(
        "x[other]",
        px.DeviceMismatchError,
        'an index on fake:0 for an array on {device}; move it with key.to_device("{device}")',
    ),
    Mistake(
        "x[{0}]",
        IndexError,
        "an index is an int, a slice, ..., None, or a phalanx array of bool or integers, got set",
    ),
    Mistake(
        "x[px.asarray([7])] = 0.0",
        IndexError,
        "index 7 at place 0 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake("x[3] = 1.0", IndexError, "index 3 is out of range for axis 0 of shape (3,)"),
    Mistake(
        'x[0] = "a"',
        TypeError,
        "a value for an array of float64 is a number or an array, got str",
    ),
    Mistake(
        "x[0] = None",
        TypeError,
        "a value for an array of float64 is a number or an array, got None",
    ),
    Mistake("x[0] = 1j", TypeError, "a value: the complex number 1j does not go into float64"),
    Mistake(
        "i[0] = 1.5",
        TypeError,
        "a value: the float 1.5 does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake(
        'i[0] = float("nan")',
        TypeError,
        "a value: the float nan does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake(
        "i[i == 1] = 2.5",
        TypeError,
        "a value: the float 2.5 does not go into int64, as a cast would cut it; convert it first",
    ),
    Mistake(
        "i[0] = 2**70",
        OverflowError,
        "Python integer 1180591620717411303424 is out of bounds for int64 "
        "(-9223372036854775808 to 9223372036854775807)",
    ),
    Mistake("u[0] = -1", OverflowError, "Python integer -1 is out of bounds for uint8 (0 to 255)"),
    Mistake(
        "u[:] = [300, 1, 2]",
        OverflowError,
        "Python integer 300 is out of bounds for uint8 (0 to 255)",
    ),
    Mistake(
        "b[0] = 2",
        TypeError,
        "a value: the number 2 does not go into bool; write True or False",
    ),
    Mistake(
        "i[:] = x",
        TypeError,
        "a value of float64 does not go into int64, as a cast would lose what does not fit: "
        "write phalanx.astype(values, phalanx.int64)",
    ),
    Mistake(
        "i[:] = [1.5, 2, 3]",
        TypeError,
        "a value of float64 does not go into int64, as a cast would lose what does not fit: "
        "write phalanx.astype(values, phalanx.int64)",
    ),
    Mistake("x[:] = [1, 2]", ValueError, "a value of shape (2,) does not fit into shape (3,)"),
    Mistake("x[0] = [1, 2]", ValueError, "a value of shape (2,) does not fit into shape ()"),
    Mistake("m[0] = m", ValueError, "a value of shape (2, 3) does not fit into shape (3,)"),
    Mistake(
        "x[:2] = other",
        px.DeviceMismatchError,
        'a value on fake:0 for an array on {device}; move it with value.to_device("{device}")',
    ),
    Mistake(
        'x.fill("a")',
        TypeError,
        "a value for an array of float64 is a number or an array, got str",
    ),
    Mistake(
        "px.broadcast_to(x, (2, 3))[0, 0] = 1",
        ValueError,
        "elements of the array share memory (it was broadcast, or is a view of what was): "
        "copy it with phalanx.asarray(x, copy=True) before writing",
    ),
    Mistake(
        "px.broadcast_to(x, (2, 3)).sort()",
        ValueError,
        "elements of the array share memory (it was broadcast, or is a view of what was): "
        "copy it with phalanx.asarray(x, copy=True) before writing",
    ),
    Mistake(
        "m.T[0] += px.ones(3)",
        ValueError,
        "shapes (2,), (3,), (2,) cannot be broadcast: aligned at the last axis, extents must "
        "be equal or 1",
    ),
    Mistake(
        "px.take(x, 1)",
        TypeError,
        "take: indices are an integer array, got int; use phalanx.asarray",
    ),
    Mistake(
        "px.take(x, [0, 1])",
        TypeError,
        "take: indices are an integer array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.take(m, i)",
        ValueError,
        "take needs an axis for shape (2, 3); write axis=0, for example",
    ),
    Mistake(
        "px.take(x, px.asarray([1.0]))",
        TypeError,
        "take: indices are an integer array, got float64; convert with "
        "phalanx.astype(indices, phalanx.int64)",
    ),
    Mistake(
        "px.take(x, px.asarray([4]))",
        IndexError,
        "index 4 at place 0 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake("px.take(m, i, axis=2)", IndexError, "take: axis 2 is out of range for shape (2, 3)"),
    Mistake(
        'x.take("a")',
        TypeError,
        "asarray takes numbers, got the text 'a'; convert it with float or int first",
    ),
    Mistake(
        "px.take_along_axis(m, i)",
        ValueError,
        "take_along_axis takes indices with as many axes as x, got shapes (3,) and (2, 3)",
    ),
    Mistake(
        "px.take_along_axis(x, [0])",
        TypeError,
        "take_along_axis: indices are an integer array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.take_along_axis(m, px.asarray([[5]]), axis=1)",
        IndexError,
        "index 5 at place 0 is out of range for an axis of extent 3; valid indices are in [-3, 3)",
    ),
    Mistake(
        "px.nonzero(s)",
        ValueError,
        "nonzero needs at least one axis, got a 0-d array; write x != 0",
    ),
    Mistake(
        "px.where(x, x, x)",
        TypeError,
        "where takes a boolean condition, got float64; write where(x != 0, ...)",
    ),
    Mistake(
        "px.where(True, x, x)",
        TypeError,
        "where takes a boolean condition, got bool; write where(x != 0, ...)",
    ),
    Mistake(
        'px.where(b, "a", x)',
        TypeError,
        "where takes arrays and numbers, got str; use phalanx.asarray",
    ),
    Mistake(
        "px.where(b, x, other)",
        px.DeviceMismatchError,
        "where: the condition is on {device} and a value on fake:0; move it with "
        'x.to_device("{device}")',
    ),
    Mistake(
        "px.searchsorted(m, x)",
        ValueError,
        "searchsorted: x1 is a sorted 1-d array, got shape (2, 3)",
    ),
    Mistake(
        "px.searchsorted([1, 2], 1)",
        ValueError,
        "searchsorted: x1 is a sorted 1-d array, got list",
    ),
    Mistake(
        'px.searchsorted(x, "a")',
        TypeError,
        "searchsorted: x2 is an array or a number, got str; use phalanx.asarray",
    ),
    Mistake(
        'px.searchsorted(x, x, side="middle")',
        ValueError,
        'searchsorted: side is "left" or "right", got \'middle\'',
    ),
    Mistake(
        "px.searchsorted(x, x, sorter=i[:2])",
        ValueError,
        "searchsorted: a sorter of shape (2,) does not order x1 of shape (3,)",
    ),
    Mistake(
        "px.searchsorted(c, 1.0)",
        TypeError,
        "searchsorted is not defined for complex128: it has no order",
    ),
    Mistake(
        "x.item()",
        ValueError,
        "item() needs exactly one element, got shape (3,); index one, or use tolist()",
    ),
)
