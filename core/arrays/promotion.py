"""The promotion table of the Array API standard, extended by float16 and bfloat16."""

from __future__ import annotations

from phalanx.optable import COMPLEX, FLOATING, SIGNED, UNSIGNED

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
