"""Reductions, scans, sorting, sets."""

from __future__ import annotations

import phalanx as px

from .kit import Mistake

MISTAKES = (
    Mistake("px.sum(m, axis=2)", IndexError, "sum: axis 2 is out of range for shape (2, 3)"),
    Mistake("px.sum(m, axis=(0, -2))", ValueError, "sum: axis -2 is named twice in (0, -2)"),
    Mistake(
        "px.sum(m, axis=1.0)",
        TypeError,
        "sum: axis takes an int, a tuple of ints or None, got 1.0",
    ),
    Mistake(
        "px.sum([1, 2])",
        TypeError,
        "sum takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        'px.sum(c, dtype="float32")',
        TypeError,
        "complex128 to float32 drops the imaginary part: use phalanx.real(x)",
    ),
    Mistake(
        "px.mean(b)",
        TypeError,
        "mean is not defined for bool; use phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.std(c)",
        TypeError,
        "var is not defined for complex128; use phalanx.real(x) and phalanx.imag(x)",
    ),
    Mistake('px.std(x, correction="1")', TypeError, "std: correction is a number, got '1'"),
    Mistake(
        "x.std(correction=1, ddof=1)",
        TypeError,
        "std takes correction or ddof, not both: they are the same",
    ),
    Mistake("px.var(m, axis=5)", IndexError, "var: axis 5 is out of range for shape (2, 3)"),
    Mistake(
        "px.max(px.zeros(0))",
        ValueError,
        "max of shape (0,) over axis 0: no elements, and no identity to give instead",
    ),
    Mistake(
        "px.argmin(px.zeros((2, 0)), axis=1)",
        ValueError,
        "argmin of shape (2, 0) over axis 1: no elements, and no identity to give instead",
    ),
    Mistake(
        "px.max(b)",
        TypeError,
        "max is not defined for bool: it has no order; use phalanx.any(x)",
    ),
    Mistake(
        "px.min(b)",
        TypeError,
        "min is not defined for bool: it has no order; use phalanx.all(x)",
    ),
    Mistake(
        "px.max(c)",
        TypeError,
        "max is not defined for complex128: it has no order; use phalanx.abs(x) or phalanx.real(x)",
    ),
    Mistake(
        "px.max(x, x)",
        TypeError,
        "max: axis takes an int, a tuple of ints or None, got an array; for the max of two "
        "arrays write phalanx.maximum(x, y)",
    ),
    Mistake(
        "px.argmax(b)",
        TypeError,
        "argmax is not defined for bool: it has no order; use phalanx.astype(x, phalanx.uint8)",
    ),
    Mistake(
        "px.argmax(m, axis=(0, 1))",
        TypeError,
        "argmax: axis takes an int or None, got (0, 1)",
    ),
    Mistake(
        "px.sort(c)",
        TypeError,
        "sort is not defined for complex128: complex numbers have no order; use "
        "phalanx.abs(x) or phalanx.real(x)",
    ),
    Mistake("px.sort(s)", ValueError, "sort needs at least one axis, got a 0-d array"),
    Mistake(
        "px.argsort([3, 1])",
        TypeError,
        "argsort takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.cumulative_sum(m)",
        ValueError,
        "cumulative_sum needs an axis for shape (2, 3); write axis=0, for example",
    ),
    Mistake(
        "px.cumulative_prod(s)",
        ValueError,
        "cumulative_prod needs at least one axis, got a 0-d array",
    ),
    Mistake(
        "px.softmax(b)",
        TypeError,
        "softmax is not defined for bool; use phalanx.astype(x, phalanx.float64)",
    ),
    Mistake(
        "px.softmax(c)",
        TypeError,
        "softmax is not defined for complex128; use phalanx.abs(x)",
    ),
    Mistake("px.diff(x, n=-1)", ValueError, "diff takes n >= 0, got -1"),
    Mistake("px.diff(x, n=1.5)", TypeError, "diff: n is an int, got 1.5"),
    Mistake(
        "px.diff(x, prepend=0)",
        TypeError,
        "diff: prepend takes a phalanx array, got int; use phalanx.asarray",
    ),
    Mistake(
        "px.unique_values([1, 1])",
        TypeError,
        "unique_values takes a phalanx array, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.isin(x, [1, 2])",
        TypeError,
        "isin takes arrays and numbers, got list; use phalanx.asarray",
    ),
    Mistake(
        "px.isin(x, other)",
        px.DeviceMismatchError,
        'isin of arrays on {device} and fake:0: move one, for example with y.to_device("{device}")',
    ),
    Mistake(
        "px.any([True])",
        TypeError,
        "any takes a phalanx array, got list; use phalanx.asarray",
    ),
)
