"""Special values of the complex functions: ISO C11 Annex G.6 and Array API 2025.12."""

from __future__ import annotations

from functools import cache

import numpy as np

from .ulp import WIDE

ODD = ("sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan")
EVEN = ("cosh", "cos")

#: Parts of the input, parts of the result ("~": either sign); the rest follows from
#: f(conj z) = conj f(z) and from f being odd or even. Some exact values on branch cuts are added.
_ROWS = {
    "sqrt": """
        0 0 0 0, -0 0 0 0, 2 inf inf inf, nan inf inf inf, -inf inf inf inf, 3 nan nan nan, -inf
        2 0 inf, inf 2 inf 0, -inf nan nan ~inf, inf nan inf nan, nan 2 nan nan, nan nan nan
        nan, -4 0 0 2, 4 0 2 0, inf inf inf inf""",
    "exp": """
        0 0 1 0, -0 0 1 0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, -inf 2 -0 0, inf 2 -inf
        inf, -inf inf ~0 ~0, inf inf ~inf nan, -inf nan ~0 ~0, inf nan ~inf nan, nan 0 nan 0,
        nan 2 nan nan, nan inf nan nan, nan nan nan nan""",
    "expm1": """
        0 0 0 0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, -inf 2 -1 0, inf 2 -inf inf, -inf
        inf -1 ~0, inf inf ~inf nan, -inf nan -1 ~0, inf nan ~inf nan, nan 0 nan 0, nan 2 nan
        nan, nan inf nan nan, nan nan nan nan""",
    "log": """
        -0 0 -inf pi, 0 0 -inf 0, 2 inf inf pi/2, 2 nan nan nan, -inf 2 inf pi, inf 2 inf 0,
        -inf inf inf 3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan, nan 2 nan nan,
        nan inf inf nan, nan nan nan nan, -1 0 0 pi, 1 0 0 0""",
    "log1p": """
        -1 0 -inf 0, 2 inf inf pi/2, 2 nan nan nan, -inf 2 inf pi, inf 2 inf 0, -inf inf inf
        3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan, nan 2 nan nan, nan inf inf
        nan, nan nan nan nan, -2 0 0 pi, 0 0 0 0""",
    "sinh": """
        0 0 0 0, 0 inf ~0 nan, 0 nan ~0 nan, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, inf 2
        -inf inf, inf inf ~inf nan, inf nan ~inf nan, nan 0 nan 0, nan 2 nan nan, nan nan nan
        nan""",
    "cosh": """
        0 0 1 0, 0 inf nan ~0, 0 nan nan ~0, 2 inf nan nan, 2 nan nan nan, inf 0 inf 0, inf 2
        -inf inf, inf inf ~inf nan, inf nan inf nan, nan 0 nan ~0, nan 2 nan nan, nan nan nan
        nan""",
    "tanh": """
        0 0 0 0, 2 inf nan nan, 0 inf 0 nan, 2 nan nan nan, 0 nan 0 nan, inf 1 1 0, inf 2 1 ~0,
        inf inf 1 ~0, inf nan 1 ~0, nan 0 nan 0, nan 2 nan nan, nan nan nan nan""",
    "acos": """
        0 0 pi/2 -0, -0 0 pi/2 -0, 0 nan pi/2 nan, 2 inf pi/2 -inf, 2 nan nan nan, -inf 2 pi
        -inf, inf 2 0 -inf, -inf inf 3pi/4 -inf, inf inf pi/4 -inf, inf nan nan ~inf, -inf nan
        nan ~inf, nan 2 nan nan, nan inf nan -inf, nan nan nan nan, 1 0 0 -0, -1 0 pi -0""",
    "acosh": """
        0 0 0 pi/2, -0 0 0 pi/2, 2 inf inf pi/2, 2 nan nan nan, 0 nan nan ~pi/2, -inf 2 inf pi,
        inf 2 inf 0, -inf inf inf 3pi/4, inf inf inf pi/4, inf nan inf nan, -inf nan inf nan,
        nan 2 nan nan, nan inf inf nan, nan nan nan nan, 1 0 0 0, 0.5 0 0 pi/3""",
    "asinh": """
        0 0 0 0, 2 inf inf pi/2, 2 nan nan nan, inf 2 inf 0, inf inf inf pi/4, inf nan inf nan,
        nan 0 nan 0, nan 2 nan nan, nan inf ~inf nan, nan nan nan nan, 0 1 0 pi/2""",
    "atanh": """
        0 0 0 0, 0 nan 0 nan, 1 0 inf 0, 2 inf 0 pi/2, 2 nan nan nan, inf 2 0 pi/2, inf inf 0
        pi/2, inf nan 0 nan, nan 2 nan nan, nan inf ~0 pi/2, nan nan nan nan, 2 0 ln3/2 pi/2""",
}
#: What is -i f(iz), and cos z = cosh(iz).
_TURNED = {"sin": "sinh", "tan": "tanh", "asin": "asinh", "atan": "atanh"}
#: Those of log, in units of another base.
_SCALED = {"log2": WIDE(2), "log10": WIDE(10)}

_PI = WIDE("3.14159265358979323846264338327950288419716939937511")
_NAMED = {
    "pi": _PI,
    "pi/2": _PI / 2,
    "pi/3": _PI / 3,
    "pi/4": _PI / 4,
    "3pi/4": _PI * 3 / 4,
    "ln3/2": np.log(WIDE(3)) / 2,
}

#: A part of a result in the wide format, and whether its sign is left open.
Part = tuple[np.longdouble, bool]
#: Parts of the input, as text, because NaN is not equal to itself and 0 is equal to -0.
Key = tuple[str, str]


def key(real: float, imag: float) -> Key:
    """Return the key of an input."""
    return repr(real), repr(imag)


def _part(word: str) -> Part:
    text = word.removeprefix("~")
    return WIDE(_NAMED.get(text, text)), text != word


def _minus(part: Part) -> Part:
    return -part[0], part[1]


@cache
def special_results(op: str) -> dict[Key, tuple[Part, Part]]:
    """Return the real and imaginary parts of the results that are defined, by the input."""
    if op in _SCALED:
        base = np.log(_SCALED[op])
        found = special_results("log")
        return {k: ((a[0] / base, a[1]), (b[0] / base, b[1])) for k, (a, b) in found.items()}
    if op in _TURNED:
        turned = special_results(_TURNED[op])
        return {key(*_turn(k)): (im, _minus(re)) for k, (re, im) in turned.items()}
    if op == "cos":
        return {key(*_turn(k)): parts for k, parts in special_results("cosh").items()}
    results: dict[Key, tuple[Part, Part]] = {}
    for row in _ROWS[op].split(","):
        words = row.split()
        x, y = float(words[0]), float(words[1])
        re, im = _part(words[2]), _part(words[3])
        if op in ODD:
            results[key(-x, -y)] = (_minus(re), _minus(im))
            results[key(-x, y)] = (_minus(re), im)
        if op in EVEN:
            results[key(-x, -y)] = (re, im)
            results[key(-x, y)] = (re, _minus(im))
        results[key(x, -y)] = (re, _minus(im))
        results[key(x, y)] = (re, im)
    return results


def _turn(k: Key) -> tuple[float, float]:
    """Return z for iz = k: iz = -b + ai, so a is the imaginary part and b minus the real one."""
    return float(k[1]), -float(k[0])


def special_points(op: str) -> list[complex]:
    """Return the inputs that have a defined result; none for an op that is not in the table."""
    if not has_special_results(op):
        return []
    return [complex(float(a), float(b)) for a, b in special_results(op)]


def has_special_results(op: str) -> bool:
    """Tell whether there are rows for an op."""
    return op in _ROWS or op in _TURNED or op in _SCALED or op == "cos"
