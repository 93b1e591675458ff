"""Errors of elementwise ops on a device without double: the other side of single.cl."""

from __future__ import annotations

from phalanx.optable import Op, kind_of

#: Errors of OpenCL's own functions in ulp of float32: OpenCL C 3.0 specification, section 7.4.
_SINGLE = {
    "exp": 3, "expm1": 3, "log": 3, "log1p": 2, "log2": 3, "log10": 3, "sin": 4, "cos": 4, "tan": 5,
    "asin": 4, "acos": 4, "atan": 5, "sinh": 4, "cosh": 4, "tanh": 5, "asinh": 4, "acosh": 4,
    "atanh": 5, "atan2": 6, "hypot": 4, "pow": 16, "logaddexp": 8, "floor_divide": 1,
}  # fmt: skip


def single_bound(op: Op, dtypes: tuple[str, ...]) -> float:
    """Return the largest error in ulp on a device without double."""
    exact = op.error(dtypes)
    floating = kind_of(dtypes[0]) == "f" and op.name in _SINGLE
    if not floating:
        return exact
    return float(_SINGLE[op.name]) if dtypes[0] == "float32" else max(exact, 1.0)
