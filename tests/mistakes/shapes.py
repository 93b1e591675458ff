"""Shapes and joining."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake("x.reshape(2, 2)", ValueError, "3 elements of shape (3,) do not reshape to (2, 2)"),
    Mistake(
        "px.reshape(m, (-1, -1))",
        ValueError,
        "reshape: (-1, -1) may have one -1 and no other negative extent",
    ),
    Mistake(
        "px.reshape(m, (4, -1))",
        ValueError,
        "6 elements of shape (2, 3) do not reshape to (4, -1)",
    ),
    Mistake(
        "px.reshape(m, (2.0, 3))",
        TypeError,
        "reshape takes an int or a tuple of ints, got (2.0, 3)",
    ),
    Mistake(
        "px.reshape(m.T, (6,), copy=False)",
        ValueError,
        "reshape of (3, 2) to (6,): strides (1, 3) need a copy; leave copy=False out",
    ),
    Mistake(
        "px.reshape([1, 2], (2, 1))",
        TypeError,
        "reshape takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake("m.reshape(None)", TypeError, "reshape takes an int or a tuple of ints, got (None,)"),
    Mistake("px.concat([])", ValueError, "concat needs at least one array, got none"),
    Mistake(
        "px.concat(x, x)",
        TypeError,
        "concat takes the arrays as one list: write phalanx.concat([x, y])",
    ),
    Mistake(
        "px.concat([x, m])",
        ValueError,
        "concat along axis 0: the other extents differ in (3,), (2, 3)",
    ),
    Mistake(
        "px.concat([x, 1.0])",
        TypeError,
        "concat takes a phalanx array, got float; use phalanx.asarray",
    ),
    Mistake(
        "px.concat([x, [1, 2]])",
        TypeError,
        "concat takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.concat([x, x], axis=1)",
        IndexError,
        "concat: axis 1 is out of range for shape (3,)",
    ),
    Mistake("px.concat([s, s])", ValueError, "concat: 0-d arrays have no axis to join; use stack"),
    Mistake(
        "px.concat([x, other])",
        px.DeviceMismatchError,
        "concat of arrays on {device} and fake:0: move one, for example with "
        'y.to_device("{device}")',
    ),
    Mistake("px.stack([])", ValueError, "stack needs at least one array, got none"),
    Mistake("px.stack([x, px.ones(2)])", ValueError, "stack: shapes differ: (3,), (2,)"),
    Mistake("px.stack([x, x], axis=3)", IndexError, "stack: axis 3 is out of range for 2 axes"),
    Mistake(
        "px.stack(x, x)",
        TypeError,
        "stack takes the arrays as one list: write phalanx.stack([x, y])",
    ),
    Mistake(
        "px.stack(5)",
        TypeError,
        "stack takes the arrays as one list: write phalanx.stack([x, y])",
    ),
    Mistake(
        "px.squeeze(m, axis=0)",
        ValueError,
        "squeeze: axis 0 of shape (2, 3) has more than one element",
    ),
    Mistake("px.squeeze(x, axis=1)", IndexError, "squeeze: axis 1 is out of range for shape (3,)"),
    Mistake(
        "px.expand_dims(x, axis=3)",
        IndexError,
        "expand_dims: axis 3 is out of range for 2 axes",
    ),
    Mistake(
        "px.expand_dims(x, axis=(0, 0))",
        ValueError,
        "expand_dims: axis (0, 0) names a place twice",
    ),
    Mistake(
        "px.expand_dims(x, axis=1.5)",
        TypeError,
        "expand_dims: axis takes an int or a tuple of ints, got 1.5",
    ),
    Mistake(
        "px.permute_dims(m, (0, 0))",
        ValueError,
        "permute_dims: (0, 0) is not a permutation of the axes of (2, 3)",
    ),
    Mistake(
        "m.transpose(0, 1, 2)",
        IndexError,
        "permute_dims: axis 2 is out of range for shape (2, 3)",
    ),
    Mistake(
        "t.T",
        ValueError,
        "T needs at most two axes, got shape (2, 2, 2); use mT or permute_dims for stacks of "
        "matrices",
    ),
    Mistake("x.mT", ValueError, "mT needs two axes or more, got shape (3,)"),
    Mistake(
        "px.broadcast_to(m, (3,))",
        ValueError,
        "an array of shape (2, 3) does not broadcast to (3,)",
    ),
    Mistake(
        "px.broadcast_to(x, (-1, 3))",
        ValueError,
        "broadcast_to: the extents of a shape are 0 or more, got (-1, 3)",
    ),
    Mistake(
        "px.broadcast_arrays(x, px.ones(2))",
        ValueError,
        "shapes (3,), (2,) cannot be broadcast: aligned at the last axis, extents must be "
        "equal or 1",
    ),
    Mistake(
        "px.broadcast_shapes((2, 3), (4,))",
        ValueError,
        "shapes (2, 3), (4,) cannot be broadcast: aligned at the last axis, extents must be "
        "equal or 1",
    ),
    Mistake("px.flip(x, axis=1)", IndexError, "flip: axis 1 is out of range for shape (3,)"),
    Mistake(
        'px.flip(x, axis="a")',
        TypeError,
        "flip: axis takes an int, a tuple of ints or None, got 'a'",
    ),
    Mistake(
        "px.roll(x, (1, 2), axis=0)",
        ValueError,
        "roll: shift (1, 2) and axis 0 differ in length",
    ),
    Mistake("px.roll(x, 1.5)", TypeError, "roll: shift takes an int or a tuple of ints, got 1.5"),
    Mistake(
        "px.moveaxis(m, 0, 5)",
        IndexError,
        "moveaxis: axis 5 is out of range for shape (2, 3)",
    ),
    Mistake("px.moveaxis(m, (0, 1), 0)", ValueError, "moveaxis: (0, 1) and 0 differ in length"),
    Mistake("px.tile(x, -1)", ValueError, "tile: repetitions must not be negative, got (-1,)"),
    Mistake("px.tile(x, 1.5)", TypeError, "tile takes an int or a tuple of ints, got 1.5"),
    Mistake("px.repeat(x, -1)", ValueError, "repeat: a count must not be negative, got -1"),
    Mistake(
        "px.repeat(x, [1, 2])",
        TypeError,
        "repeat: the counts are an int or an integer array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.repeat(x, px.asarray([1, 2]))",
        ValueError,
        "repeat: 2 counts for 3 slices; give one count, or one for each",
    ),
    Mistake("px.unstack(s)", ValueError, "unstack needs at least one axis, got a 0-d array"),
    Mistake(
        'px.asarray([1, 2, 3], dtype="int8").view("int16")',
        ValueError,
        "view of (3,) int8 as int16: rows of 3 bytes do not divide",
    ),
    Mistake(
        'x.view("bool")',
        TypeError,
        "view of float64 as bool: its bytes may be other than 0 and 1; use x != 0",
    ),
)
