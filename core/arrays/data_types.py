"""Dtypes: promotion, casting rules, limits."""

from __future__ import annotations

import builtins
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from phalanx._warm import (
    DTYPES,
    Array,
    Device,
    DType,
    ask_default_dtype,
    cast,
    common_type,
    default_complex,
    default_float,
    dtype_from_name,
    no_common_dtype,
    number_dtype,
    promote_types,
)
from phalanx._warm import copy as copy_array
from phalanx.driver import Feature
from phalanx.optable import DTYPES as SCALAR_TYPES
from phalanx.runtime.settings import Change, Setting

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
        return _named(dtype)
    for kind, result in ((_bool, bool), (int, int64), (float, float64), (complex, complex128)):
        if dtype is kind:
            return result
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        is_scalar = isinstance(dtype, type) and issubclass(dtype, numpy.generic)
        if is_scalar or isinstance(dtype, numpy.dtype):
            return _named(numpy.dtype(dtype).name)
    got = "an array: write x.dtype" if isinstance(dtype, Array) else repr(dtype)
    raise TypeError(f"dtype takes a phalanx dtype such as phalanx.float32, got {got}")


#: What others call them, beside NumPy's letters with the number of bytes, such as ``f4``.
_OTHER_NAMES = {
    "byte": "int8",
    "clongdouble": "complex128",
    "complex": "complex128",
    "complex256": "complex128",
    "double": "float64",
    "float": "float64",
    "float128": "float64",
    "half": "float16",
    "int": "int64",
    "long": "int64",
    "longdouble": "float64",
    "short": "int16",
    "single": "float32",
    "uint": "uint64",
}
_OTHER_NAMES |= {f"{d.kind}{d.itemsize}": d.name for d in DTYPES if d.name != "bfloat16"}


def _named(name: str) -> DType:
    """The dtype of a name; raises ``TypeError`` with the name that may be meant."""
    known = [d.name for d in DTYPES]
    if name in known:
        return dtype_from_name(name)
    close = get_close_matches(name, known, n=1, cutoff=0.8)
    meant = _OTHER_NAMES.get(name) or (close[0] if close else None)
    guess = f"did you mean {meant!r}? The" if meant else "the"
    raise TypeError(f"unknown dtype {name!r}; {guess} dtypes are {', '.join(known)}")


def default_dtype(value: Number, device: Device | None = None) -> DType:
    """Return the dtype of a Python number on its own, on a device if one is meant."""
    if isinstance(value, _bool):
        return bool
    if isinstance(value, int):
        return int64
    return default_complex(device) if isinstance(value, complex) else default_float(device)


_default: Setting[str] = Setting("phalanx_default_dtype", lambda: "")


def set_default_dtype(dtype: DType | str) -> Change[str]:
    """Set the dtype of real numbers that have none of their own: float64 at first, or float32.

    It is that of Python floats in ``asarray``, of ``zeros``, ``linspace`` and the like, and of what
    floating functions and means of integers give; complex numbers follow. Arrays of a floating
    dtype, and data of others, keep theirs. Until it is set, it is float32 on devices without fp64.
    Takes effect at once in the whole process, or in the
    block of one thread or task: ``with phalanx.set_default_dtype("float32"): ...``.

    Raises:
        TypeError: no dtype.
        ValueError: a dtype that the Array API standard does not allow as the default.

    Examples:
        >>> with px.set_default_dtype("float32"):
        ...     px.asarray([0.5]).dtype
        phalanx.float32
    """
    target = as_dtype(dtype)
    if target is not float32 and target is not float64:
        raise ValueError(f"the default dtype is float32 or float64, got {dtype}")
    change = _default.set(target.name)
    ask_default_dtype()
    return change


def get_default_dtype(device: str | Device | None = None) -> DType:
    """Return the dtype of real numbers that have none of their own, on the current device.

    Raises:
        DeviceNotFoundError: no such device.

    Examples:
        >>> px.get_default_dtype() == px.zeros(1).dtype
        True
    """
    from phalanx.discovery.devices import find_device, get_device

    name = _default.get()
    if not name:
        where = get_device() if device is None else find_device(device)
        name = "float64" if where.info.features & Feature.FP64 else "float32"
    return dtype_from_name(name)


def astype(
    x: Array, dtype: DType, /, *, copy: _bool = True, device: str | Device | None = None
) -> Array:
    """Return the array in another dtype; ``copy=False`` may return ``x`` itself.

    Floats to integers truncate and saturate, NaN becomes 0; integers wrap; complex to real raises.

    Raises:
        TypeError: complex to real, which would lose the imaginary part unseen.

    Examples:
        >>> print(px.astype(px.asarray([-1.9, px.nan, 1e10]), px.int32))
        [        -1          0 2147483647]
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"astype takes a phalanx array, got {type(x).__name__}; use phalanx.asarray"
        )
    target = as_dtype(dtype)
    if target is None:
        raise TypeError("astype takes a dtype such as phalanx.float32, got None")
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

    Examples:
        >>> px.can_cast(px.uint8, px.int16), px.can_cast(px.int64, px.float64)
        (True, False)
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

    Examples:
        >>> px.finfo(px.bfloat16).eps, px.finfo(px.complex64).dtype
        (0.0078125, phalanx.float32)
    """
    dtype = type.dtype if isinstance(type, Array) else as_dtype(type)
    if dtype is None or dtype.kind not in "fc":
        raise TypeError(f"finfo takes a floating dtype, got {type}; for integers use iinfo")
    return _limits(dtype)


@cache
def _limits(dtype: DType) -> FInfo:
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

    Examples:
        >>> px.iinfo(px.uint8)
        IInfo(bits=8, max=255, min=0, dtype=phalanx.uint8)
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

    Examples:
        >>> px.isdtype(px.float16, ("integral", "real floating"))
        True
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

    Examples:
        >>> px.result_type(px.uint8, px.int8), px.result_type(px.float32, 2.5)
        (phalanx.int16, phalanx.float32)
    """
    if len(arrays_and_dtypes) == 2:
        short: DType | None = common_type(*arrays_and_dtypes)
        if short is not None:
            return short
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array, dtype or number")
    odd = [x for x in arrays_and_dtypes if not isinstance(x, Array | DType | str | Number)]
    if odd:
        raise TypeError(
            f"result_type takes arrays, dtypes and numbers, got {type(odd[0]).__name__}; "
            "use phalanx.asarray"
        )
    strong = [_dtype_of(x) for x in arrays_and_dtypes if isinstance(x, Array | DType | str)]
    numbers = [x for x in arrays_and_dtypes if isinstance(x, Number)]
    device = next((x.device for x in arrays_and_dtypes if isinstance(x, Array)), None)
    if not strong:
        highest = max(numbers, key=lambda v: "bifc".index(default_dtype(v).kind))
        strong = [get_default_dtype() if isinstance(highest, float) else default_dtype(highest)]
    result = strong[0]
    for dtype in strong[1:]:
        common = promote_types(result, dtype)
        if common is None:
            raise TypeError(no_common_dtype(result, dtype))
        result = common
    for number in numbers:
        common = number_dtype(result, number, device)
        if common is None:
            raise TypeError(f"{result.name} does not mix with a Python {type(number).__name__}")
        result = common
    return result


def _dtype_of(x: Array | DType | str) -> DType:
    found = x.dtype if isinstance(x, Array) else as_dtype(x)
    if found is None:
        raise TypeError("a dtype is needed, got None")
    return found
