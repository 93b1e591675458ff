"""What elementwise kernels promise on devices without double, where single.cl computes."""

from __future__ import annotations

from dataclasses import replace

from phalanx.device_code.recipe import Recipe, Traits
from phalanx.optable import Op, kind_of

#: Errors of OpenCL's own functions in ulp of float32: OpenCL C 3.0 specification, section 7.4.
_SINGLE = {
    "exp": 3, "expm1": 3, "log": 3, "log1p": 2, "log2": 3, "log10": 3, "sin": 4, "cos": 4, "tan": 5,
    "asin": 4, "acos": 4, "atan": 5, "sinh": 4, "cosh": 4, "tanh": 5, "asinh": 4, "acosh": 4,
    "atanh": 5, "cbrt": 2, "exp2": 3, "erf": 16, "erfc": 16, "lgamma": 64, "digamma": 64,
    "sigmoid": 8, "silu": 12, "softplus": 8, "gelu": 128,
    "atan2": 6, "hypot": 4, "pow": 16, "logaddexp": 8, "floor_divide": 1,
}  # fmt: skip


def single_bound(op: Op, dtypes: tuple[str, ...]) -> float:
    """Return the largest error in ulp on a device without double."""
    exact = op.error(dtypes)
    floating = kind_of(dtypes[0]) == "f" and op.name in _SINGLE
    if not floating:
        return exact
    return float(_SINGLE[op.name]) if dtypes[0] == "float32" else max(exact, 1.0)


def as_single(op: Op, dtypes: tuple[str, ...], recipe: Recipe, traits: Traits) -> Recipe:
    """Return an elementwise recipe with the bound and the class that it has without double."""
    error = single_bound(op, dtypes)
    kept = traits.subnormals or all(kind_of(d) in "biu" for d in dtypes)
    same = kept and error <= op.error(dtypes)
    return replace(recipe, determinism="bitwise" if same else "reproducible", error_bound=error)
