"""Dtypes: promotion, casting rules, limits."""

from __future__ import annotations

import builtins
import sys
from dataclasses import dataclass
from typing import Any

from phalanx._warm import (
    DTYPES,
    Array,
    Device,
    DType,
    cast,
    dtype_from_name,
    no_common_dtype,
    number_dtype,
    promote_types,
)
from phalanx._warm import copy as copy_array
from phalanx.optable import DTYPES as SCALAR_TYPES

from .promotion import PAIRS

bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64 = DTYPES[:9]
float16, bfloat16, float32, float64, complex64, complex128 = DTYPES[9:]

_bool = builtins.bool
Number = int | float | complex


def as_dtype(dtype: Any) -> DType | None:
    """Return the dtype for a dtype, its name, a Python type or one of NumPy's; ``None`` stays.

    Raises:
        TypeError: nothing of the kind.
    """
    if dtype is None or isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str):
        return dtype_from_name(dtype)
    for kind, result in ((_bool, bool), (int, int64), (float, float64), (complex, complex128)):
        if dtype is kind:
            return result
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        is_scalar = isinstance(dtype, type) and issubclass(dtype, numpy.generic)
        if is_scalar or isinstance(dtype, numpy.dtype):
            return dtype_from_name(numpy.dtype(dtype).name)
    raise TypeError(f"dtype takes a phalanx dtype such as phalanx.float32, got {dtype!r}")


def default_dtype(value: Number) -> DType:
    """Return the dtype of a Python number on its own."""
    if isinstance(value, _bool):
        return bool
    if isinstance(value, int):
        return int64
    return complex128 if isinstance(value, complex) else float64


def astype(
    x: Array, dtype: DType, /, *, copy: _bool = True, device: str | Device | None = None
) -> Array:
    """Return the array in another dtype; ``copy=False`` may return ``x`` itself.

    Floats to integers truncate and saturate, NaN becomes 0; integers wrap; complex to real raises.

    Raises:
        TypeError: complex to real, which would lose the imaginary part unseen.
    """
    if not isinstance(x, Array):
        raise TypeError(f"astype takes a phalanx array, got {type(x).__name__}")
    target = as_dtype(dtype)
    if target is None:
        raise TypeError("astype needs a dtype")
    if x.dtype.kind == "c" and target.kind not in "cb":
        raise TypeError(f"{x.dtype} to {target} drops the imaginary part: use phalanx.real(x)")
    if device is not None:
        moved = x.to_device(device)
        copy, x = copy and moved is x, moved
    if x.dtype is target:
        return copy_array(x) if copy else x
    return cast(x, target)


def can_cast(from_: DType | str | Array, to: DType | str, /) -> _bool:
    """Return whether a dtype (or an array's) converts to another by the standard's promotion rules.

    Raises:
        TypeError: neither a dtype nor an array.
    """
    source, target = _dtype_of(from_), _dtype_of(to)
    return PAIRS.get((source.name, target.name)) == target.name


@dataclass(frozen=True, slots=True)
class FInfo:
    """Limits of a floating dtype; for a complex one, of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: DType | Array, /) -> FInfo:
    """Return the limits of a floating or complex dtype, or of an array's.

    Raises:
        TypeError: another dtype.
    """
    dtype = type.dtype if isinstance(type, Array) else as_dtype(type)
    if dtype is None or dtype.kind not in "fc":
        raise TypeError(f"finfo takes a floating dtype, got {type}; for integers use iinfo")
    facts = SCALAR_TYPES[SCALAR_TYPES[dtype.name].part or dtype.name]
    bias = 2 ** (facts.exponent - 1) - 1
    eps = 2.0**-facts.fraction
    largest = (2.0 - eps) * 2.0**bias
    smallest = 2.0 ** (1 - bias)
    return FInfo(8 * facts.size, eps, largest, -largest, smallest, dtype_from_name(facts.name))


def iinfo(type: DType | Array, /) -> IInfo:
    """Return the limits of an integer dtype, or of an array's.

    Raises:
        TypeError: another dtype.
    """
    dtype = type.dtype if isinstance(type, Array) else as_dtype(type)
    if dtype is None or dtype.kind not in "iu":
        raise TypeError(f"iinfo takes an integer dtype, got {type}; for floats use finfo")
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return IInfo(bits, 2**bits - 1, 0, dtype)
    return IInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: DType | str, kind: DType | str | tuple[DType | str, ...]) -> _bool:
    """Return whether a dtype is of a kind: a dtype, ``"integral"`` ..., or any of a tuple.

    Raises:
        ValueError: an unknown kind name.
    """
    dtype = _dtype_of(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in _KINDS:
        raise ValueError(f"unknown kind {kind!r}; the kinds are {', '.join(map(repr, _KINDS))}")
    return dtype.kind in _KINDS[kind]


def result_type(*arrays_and_dtypes: Array | DType | Number) -> DType:
    """Return the dtype that the rules of ``promotion`` give for arrays, dtypes and Python numbers.

    Raises:
        TypeError: there is no common dtype.
        ValueError: no argument.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array, dtype or number")
    strong = [_dtype_of(x) for x in arrays_and_dtypes if isinstance(x, Array | DType | str)]
    numbers = [x for x in arrays_and_dtypes if isinstance(x, Number)]
    if len(strong) + len(numbers) != len(arrays_and_dtypes):
        odd = next(x for x in arrays_and_dtypes if not isinstance(x, Array | DType | str | Number))
        raise TypeError(f"result_type takes arrays, dtypes and numbers, got {type(odd).__name__}")
    if not strong:
        strong = [default_dtype(max(numbers, key=lambda v: "bifc".index(default_dtype(v).kind)))]
    result = strong[0]
    for dtype in strong[1:]:
        common = promote_types(result, dtype)
        if common is None:
            raise TypeError(no_common_dtype(result, dtype))
        result = common
    for number in numbers:
        common = number_dtype(result, number)
        if common is None:
            raise TypeError(f"{result.name} does not mix with a Python {type(number).__name__}")
        result = common
    return result


def _dtype_of(x: Array | DType | str) -> DType:
    found = x.dtype if isinstance(x, Array) else as_dtype(x)
    if found is None:
        raise TypeError("a dtype is needed, got None")
    return found
