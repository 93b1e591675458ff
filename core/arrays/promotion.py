"""Promotion: the Array API standard's table with float16 and bfloat16, and mixed kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from phalanx.optable import COMPLEX, DTYPES, FLOATING, SIGNED, UNSIGNED
from phalanx.runtime.settings import Change, Setting

if TYPE_CHECKING:
    from phalanx._warm import Array, DType

Rules = Literal["standard", "mixed"]

#: bool, integers, real and complex numbers: of two kinds the later one wins.
KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}

_rules: Setting[Rules] = Setting("phalanx_promotion", lambda: "mixed")


@overload
def promotion(rules: None = None) -> Rules: ...
@overload
def promotion(rules: Rules) -> Change[Rules]: ...
def promotion(rules: Rules | None = None) -> Change[Rules] | Rules:
    """Set what happens when arrays of different kinds meet; without an argument, return it.

    ``"mixed"``, the first setting: of bool, integer, real and complex the later kind wins, as in
    PyTorch, so that int64 and float32 give float32. ``"standard"`` raises ``TypeError`` where the
    Array API standard leaves the result undefined, for code that others shall run too. Takes
    effect at once in the whole process, or in the block of one thread or task:
    ``with phalanx.promotion("standard"): ...``.

    Raises:
        ValueError: other rules.

    Examples:
        >>> with px.promotion("standard"):
        ...     px.asarray([1]) + px.asarray([0.5])
        Traceback (most recent call last):
        TypeError: ...
    """
    if rules is None:
        return _rules.get()
    if rules not in get_args(Rules):
        raise ValueError(f'unknown rules {rules!r} of promotion; use "mixed" or "standard"')
    return _rules.set(rules)


def is_mixed() -> bool:
    """Return whether arrays of different kinds have a common dtype."""
    return _rules.get() == "mixed"


_NEXT_SIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64"}


def _pairs() -> dict[tuple[str, str], str]:
    table: dict[tuple[str, str], str] = {("bool", "bool"): "bool"}
    for ladder in (SIGNED, UNSIGNED, COMPLEX):
        for i, a in enumerate(ladder):
            for j, b in enumerate(ladder):
                table[a, b] = ladder[max(i, j)]
    for a in FLOATING:
        for b in FLOATING:
            wider = "float64" if "float64" in (a, b) else "float32"
            table[a, b] = a if a == b else wider
        for c in COMPLEX:
            table[a, c] = table[c, a] = "complex128" if a == "float64" else c
    for u in UNSIGNED[:3]:
        for s in SIGNED:
            result = SIGNED[max(SIGNED.index(s), SIGNED.index(_NEXT_SIGNED[u]))]
            table[u, s] = table[s, u] = result
    return table


#: The common dtype of two dtype names; pairs that the standard leaves undefined are absent.
PAIRS: dict[tuple[str, str], str] = _pairs()


def _mixed_pairs() -> dict[tuple[str, str], str]:
    rank = {name: KINDS[facts.kind] for name, facts in DTYPES.items()}
    return {
        (a, b): max(a, b, key=rank.__getitem__) for a in rank for b in rank if rank[a] != rank[b]
    }


#: The common dtype of two dtype names of different kinds; ``PAIRS`` has real and complex ones.
MIXED: dict[tuple[str, str], str] = {k: v for k, v in _mixed_pairs().items() if k not in PAIRS}


def need_kept(values: Array, dtype: DType, what: str) -> None:
    """Refuse values for a dtype of an earlier kind, which would cut them in silence.

    Raises:
        TypeError: for example floats for an array of integers; ``what`` begins the message.
    """
    if KINDS[values.dtype.kind] > KINDS[dtype.kind]:
        lost = "imaginary parts" if values.dtype.kind == "c" else "what does not fit"
        how = "real(values)" if values.dtype.kind == "c" else f"astype(values, phalanx.{dtype})"
        raise TypeError(
            f"{what} of {values.dtype} does not go into {dtype}, as a cast would lose {lost}: "
            f"write phalanx.{how}"
        )


def need_number(value: Any, dtype: DType | None, op: str) -> None:
    """Refuse what is no number, and a number that a dtype would cut in silence.

    Raises:
        TypeError: for example 1.5 for integers.
    """
    if not isinstance(value, bool | int | float | complex):
        raise TypeError(f"{op} takes a number or a 0-d array, got {type(value).__name__}")
    if dtype is None or dtype.kind == "c":
        return
    if dtype.kind == "b":
        if isinstance(value, float | complex) or value not in (0, 1):
            raise TypeError(f"{op}: the number {value} does not go into bool; write True or False")
        return
    if isinstance(value, complex):
        raise TypeError(f"{op}: the complex number {value} does not go into {dtype}")
    if isinstance(value, float) and dtype.kind in "iu" and not value.is_integer():
        raise TypeError(
            f"{op}: the float {value} does not go into {dtype}, as a cast would cut it; "
            "convert it first"
        )
