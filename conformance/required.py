"""What a level requires of a device's kernels, whatever its plugin declares.

Declaring what a device lacks keeps the suite honest about it, and must not buy a level: a device
with a dozen ops would be certified for the whole standard by its silence. This is the one list.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from phalanx.optable import ALL, OPS, Signature

from .settings import Level

#: The dtypes of the Array API standard 2025.12 (section "Data types"); it has no short floats.
STANDARD_DTYPES = tuple(d for d in ALL if d not in ("float16", "bfloat16"))
#: The ops through which the functions of the standard and the operators of its arrays compute. What
#: stands in the table besides (random numbers, softmax, ...) may be declared away.
_STANDARD = """
abs add subtract multiply divide floor_divide remainder negative positive reciprocal square sign
copysign nextafter maximum minimum clip ceil floor round trunc sqrt exp expm1 log log1p log2
log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh atan2 logaddexp hypot pow
equal not_equal less less_equal greater greater_equal isfinite isinf isnan signbit
bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift
logical_and logical_or logical_xor logical_not conj real imag where copy cast
sum prod mean max min argmax argmin any all count_nonzero cumulative_sum cumulative_prod
sort argsort searchsorted nonzero compress wrap_index gather scatter arange matmul
"""
STANDARD_OPS = tuple(_STANDARD.split())


_COMMON = ("int32", "int64", "float32")


@dataclass(frozen=True, slots=True)
class Requirement:
    """Ops that a level requires, in all overloads whose operands have these dtypes."""

    level: Level
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]
    reason: str


REQUIREMENTS = (
    Requirement(
        Level.RUNTIME,
        ("copy",),
        STANDARD_DTYPES,
        "an array of every dtype can be filled, and copied from and into a view with gaps",
    ),
    Requirement(
        Level.RUNTIME,
        ("add", "subtract", "multiply", "maximum", "sum", "cumulative_sum"),
        _COMMON,
        "the cases of the group runtime queue them, to see what waits for what",
    ),
    Requirement(
        Level.RUNTIME,
        ("arange", "wrap_index"),
        ("int32", "int64"),
        "an index array is checked on the device, and a wrong one is told when it is waited for",
    ),
    Requirement(
        Level.CORE,
        ("minimum", "less", "bitwise_xor", "bitwise_or"),
        _COMMON,
        "the random programs and the threads of the group programs compute with them besides",
    ),
    Requirement(
        Level.ARRAY_API,
        STANDARD_OPS,
        STANDARD_DTYPES,
        "the functions of the Array API standard compute through them",
    ),
)


@cache
def required(level: Level) -> dict[tuple[str, tuple[str, ...]], Level]:
    """Return the overloads that a level requires, each with the lowest level that does."""
    found: dict[tuple[str, tuple[str, ...]], Level] = {}
    for requirement in REQUIREMENTS:
        if requirement.level > level:
            continue
        for op in requirement.ops:
            for signature in OPS[op].signatures:
                if _is_of(signature, set(requirement.dtypes)):
                    found.setdefault((op, signature.dtypes), requirement.level)
    return found


def _is_of(signature: Signature, dtypes: set[str]) -> bool:
    """Tell whether operands have these dtypes, and results too, but for those of comparisons."""
    return set(signature.inputs) <= dtypes and set(signature.outputs) <= dtypes | {"bool"}


def lacking(
    level: Level, served: Collection[tuple[str, tuple[str, ...]]], outside: Collection[str]
) -> list[str]:
    """Name the required overloads that a device does not serve.

    Args:
        level: the level in question.
        served: the overloads that the device computes itself, by op and dtypes.
        outside: the dtypes that the device's profile leaves out; nothing requires them.
    """
    return [
        f"{op}({', '.join(dtypes[: OPS[op].arity])})"
        for op, dtypes in required(level)
        if (op, dtypes) not in served and not set(dtypes) & set(outside)
    ]
