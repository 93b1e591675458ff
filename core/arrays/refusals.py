"""Why something is no array or no call, in the words of the caller."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from phalanx._warm import DType

from .data_types import iinfo, int64

_NUMBERS = (bool, int, float, complex)
_DEEPEST = 64  # axes that an array can have, and levels of a sequence that holds itself

_AS_FLOAT = "phalanx.asarray(x.astype('float64'))"
#: What to write for NumPy's dtypes that have none here, by the name without its width.
_CONVERTED = {
    "datetime": "phalanx.asarray(x.view('int64')), and keep the unit",
    "timedelta": "phalanx.asarray(x.view('int64')), and keep the unit",
    "complex": "phalanx.asarray(x.astype('complex128'))",
    "void": "an array of each of its fields, such as phalanx.asarray(x[x.dtype.names[0]])",
    "record": "an array of each of its fields, such as phalanx.asarray(x[x.dtype.names[0]])",
}


def wrong_call(name: str, arity: int, count: int, **keywords: Any) -> TypeError:
    """Return the error for another number of operands, or keywords of NumPy's functions."""
    what = f"phalanx.{name}({', '.join('xyz'[:arity])})"
    hows = {
        "out": f"write result[...] = {what}",
        "where": f"write phalanx.where(mask, {what}, other)",
        "dtype": "convert what it takes, such as phalanx.astype(x, phalanx.float64)",
    }
    for key, value in keywords.items():
        if value is not None:
            return TypeError(f"{name} has no {key}=; {hows[key]}")
    if count != arity:
        arrays = "one array" if arity == 1 else f"{arity} operands"
        how = "for decimals write x.round(2)" if name == "round" else hows["out"]
        more = f"; {how}" if count == arity + 1 else ""
        return TypeError(f"{name} takes {arrays}, got {count}{more}")
    return TypeError(f"{name} takes no casting=, order= or subok=; leave them out")


def need_unmasked(obj: Any, op: str) -> None:
    """Raise ``TypeError`` for a masked array of NumPy's, alone or in a sequence.

    By its type and not by its mask: a program that works until the first value is missing would
    lose that one in silence. So does JAX.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    leaves = _leaves(obj) if isinstance(obj, list | tuple) else (obj,)
    if any(type(x) not in _NUMBERS and isinstance(x, numpy.ma.MaskedArray) for x in leaves):
        raise TypeError(
            f"{op}: a masked array of NumPy's, whose mask no phalanx array can hold: write "
            "phalanx.asarray(x.filled(number)) and keep x.mask"
        )


def odd_message(obj: Any, kind: str) -> str:
    """Return the message for what holds something else than numbers, to NumPy of dtype ``kind``."""
    got, how = _odd(obj, kind)
    return f"asarray takes numbers, got {got}" + (f"; {how}" if how else "")


def _odd(obj: Any, kind: str) -> tuple[str, str]:
    """What it was, and what to do."""
    name = type(obj).__name__
    if type(obj).__module__.partition(".")[0] == "numpy":
        how = _CONVERTED.get(kind.partition("[")[0].rstrip("0123456789"), _AS_FLOAT)
        return f"a NumPy array of {kind}, for which there is no dtype", f"write {how}"
    if isinstance(obj, dict):
        return name, "write phalanx.asarray(list(x.values()))"
    if hasattr(obj, "to_numpy"):  # tables of pandas and others, with texts or missing values
        return f"{name} of {kind}", "write phalanx.asarray(x.to_numpy('float64'))"
    if not isinstance(obj, list | tuple | str | bytes) and hasattr(obj, "__iter__"):
        return name, "write phalanx.asarray(list(x))"
    odd = next((v for v in _leaves(obj) if not isinstance(v, _NUMBERS)), obj)
    return _odd_leaf(odd, f" in a {name}" if odd is not obj else "")


def _odd_leaf(odd: Any, place: str) -> tuple[str, str]:
    if isinstance(odd, str):
        return f"the text {odd[:40]!r}", "convert it with float or int first"
    if isinstance(odd, bytes):
        return "bytes", "write phalanx.asarray(bytearray(x))"
    return ("None" if odd is None else type(odd).__name__) + place, ""


def ragged_message(obj: Any) -> str:
    """Return the message for a nested sequence whose parts differ in length; empty if none do."""
    level = [obj]
    for _ in range(_DEEPEST):
        if not level or not all(isinstance(part, list | tuple) for part in level):
            break
        level = list({id(part): part for whole in level for part in whole}.values())
        lengths = {len(part) if hasattr(part, "__len__") else None for part in level}
        if len(lengths) > 1:
            first, second = sorted(lengths, key=lambda n: -1 if n is None else n)[:2]
            found = f"{'a number' if first is None else f'a part of length {first}'}"
            return (
                f"asarray: the sequence is ragged: {found} stands beside a part of length "
                f"{second}; pad the shorter ones, or make an array of each"
            )
    return ""


def holds_odd(obj: Any) -> bool:
    """Return whether a nested sequence holds texts or ``None``."""
    return any(v is None or isinstance(v, str | bytes) for v in _leaves(obj))


def range_message(obj: Any, dtype: DType | None) -> str:
    """Return the message for a sequence with a Python int that the dtype does not hold."""
    limits = iinfo(dtype if dtype is not None and dtype.kind in "iu" else int64)
    value = next((v for v in _leaves(obj) if not limits.min <= v <= limits.max), "a Python int")
    return (
        f"Python integer {value} is out of bounds for {limits.dtype} ({limits.min} to {limits.max})"
    )


def _leaves(obj: Any, above: frozenset[int] = frozenset()) -> Iterator[Any]:
    """What a nested sequence holds; one that holds itself is passed over there."""
    if not isinstance(obj, list | tuple):
        yield obj
    elif id(obj) not in above:
        for part in obj:
            yield from _leaves(part, above | {id(obj)})
