"""Why data of the host do not become an array, in the words of the caller and not of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phalanx._warm import DType

from .data_types import iinfo, int64

_NUMBERS = bool | int | float | complex
_DEEPEST = 64  # axes that an array can have, and levels of a sequence that holds itself


def odd_message(obj: Any, kind: str) -> str:
    """Return the message for what holds something else than numbers, to NumPy of dtype ``kind``."""
    if type(obj).__module__.partition(".")[0] == "numpy":
        return f"asarray takes numbers, got a NumPy array of {kind}, for which there is no dtype"
    if isinstance(obj, dict):
        return "asarray takes numbers, got dict; write phalanx.asarray(list(x.values()))"
    if not isinstance(obj, list | tuple | str | bytes) and hasattr(obj, "__iter__"):
        return f"asarray takes numbers, got {type(obj).__name__}; write phalanx.asarray(list(x))"
    odd = next((v for v in _leaves(obj) if not isinstance(v, _NUMBERS)), obj)
    if isinstance(odd, str):
        return (
            f"asarray takes numbers, got the text {odd[:40]!r}; convert it with float or int first"
        )
    if isinstance(odd, bytes):
        return "asarray takes numbers, got bytes; write phalanx.asarray(bytearray(x))"
    got = "None" if odd is None else type(odd).__name__
    place = f" in a {type(obj).__name__}" if odd is not obj else ""
    return f"asarray takes numbers, got {got}{place}"


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
