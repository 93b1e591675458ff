"""Correctly rounded results: double with a margin first (reference.c), mpmath where in doubt."""

from __future__ import annotations

import math
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import mpmath
import numpy as np
import numpy.typing as npt
from phalanx.conformance.reference.formats import FORMATS

Floats = npt.NDArray[np.float32]
Number = Any  # mpmath has no types

_SOURCE = Path(__file__).with_name("reference.c")
#: Of the machine that runs it; contraction or not, the margin holds.
_FLAGS = ("-O3", "-std=gnu11", "-march=native", "-fno-math-errno", "-fno-trapping-math")
_DECLARATIONS = """
const char *reference_name(int which);
int reference_is_exact(int which);
int64_t reference_compare(int which, int digits, int least, int greatest, const float *x,
                          const float *got, int64_t count, int64_t *places, double *values,
                          int64_t room);
float reference_round(double v, int digits, int least, int greatest);
void reference_evaluate(int which, const float *x, double *v, int64_t count);
"""
#: Doubtful inputs of a block that are decided; a function with more of them is broken anyway.
_ROOM = 4096
_MOST_BITS = 1 << 14

_mp = mpmath.MPContext()
#: Its precision is one for all threads.
_mp_lock = threading.Lock()
_EXACTLY: dict[str, Callable[[Number], Number]] = {
    "log2": lambda x: _mp.log(x) / _mp.log(2),
    "lgamma": lambda x: _mp.re(_mp.loggamma(x)),
    "sigmoid": lambda x: 1 / (1 + _mp.exp(-x)),
    "silu": lambda x: x / (1 + _mp.exp(-x)),
    "gelu": lambda x: x / 2 * _mp.erfc(-x / _mp.sqrt(2)),
    "softplus": lambda x: _mp.log1p(_mp.exp(x)),
    "cbrt": lambda x: _mp.sign(x) * _mp.cbrt(abs(x)),
    "exp2": lambda x: _mp.power(2, x),
    "reciprocal": lambda x: 1 / x,
}


@cache
def _compiled() -> tuple[cffi.FFI, Any]:
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "reference.so"
        command = [compiler, *_FLAGS, "-shared", "-fPIC", str(_SOURCE), "-o", str(library)]
        for vector in (["-lmvec"], []):
            done = subprocess.run(
                [*command, *vector, "-lquadmath", "-lm"], capture_output=True, text=True
            )
            if done.returncode == 0:
                return ffi, ffi.dlopen(str(library))
    raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")


@cache
def _numbers() -> dict[str, int]:
    ffi, library = _compiled()
    names: dict[str, int] = {}
    while (name := library.reference_name(len(names))) != ffi.NULL:
        names[ffi.string(name).decode()] = len(names)
    return names


def functions() -> tuple[str, ...]:
    """Return the names of the functions that have a reference, those of analysis first."""
    return tuple(_numbers())


def evaluate(function: str, x: Floats) -> npt.NDArray[np.float64]:
    """Return f(x) of inputs (n,) with a relative error below 2^-44."""
    ffi, library = _compiled()
    v = np.empty(len(x))
    room = ffi.from_buffer("double[]", v, require_writable=True)
    library.reference_evaluate(_numbers()[function], ffi.from_buffer("float[]", x), room, len(x))
    return v


class Verdict:
    """What a comparison of a block found.

    Attributes:
        wrong: places of results that are not correctly rounded.
        decided: how many inputs needed more precision than double.
    """

    def __init__(self, wrong: list[int], decided: int) -> None:
        self.wrong, self.decided = wrong, decided


def compare(function: str, dtype: str, x: Floats, got: Floats) -> Verdict:
    """Compare results (n,) of a function with inputs (n,), both as float32, rounded to a dtype.

    Runs without the GIL but where mpmath decides. Results that are not numbers of the dtype are
    not told from their rounding to float32; those of predicates are 0 and 1.

    Raises:
        RuntimeError: no C compiler, or more results in doubt than a right function has.
    """
    ffi, library = _compiled()
    places, values = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.float64)
    found = library.reference_compare(
        _numbers()[function],
        *FORMATS[dtype],
        ffi.from_buffer("float[]", x),
        ffi.from_buffer("float[]", got),
        len(x),
        ffi.from_buffer("int64_t[]", places, require_writable=True),
        ffi.from_buffer("double[]", values, require_writable=True),
        _ROOM,
    )
    wrong = [
        int(i)
        for i, v in zip(places[:found], values[:found], strict=False)
        if not _same(float(got[i]), nearest(function, dtype, float(x[i]), float(v)))
    ]
    if found > _ROOM:
        raise RuntimeError(
            f"{function} of {dtype}: {found} of {len(x)} results are in doubt, {len(wrong)} of the "
            f"first {_ROOM} are wrong, the first for {x[wrong[0] if wrong else 0]!r}"
        )
    return Verdict(wrong, int(found))


def _same(got: float, want: float) -> bool:
    if math.isnan(want):
        return math.isnan(got)
    return got == want and math.copysign(1.0, got) == math.copysign(1.0, want)


def nearest(function: str, dtype: str, x: float, v: float) -> float:
    """Return f(x), of which v is an approximation, correctly rounded to a dtype.

    Where f(x) is 0, infinite or NaN, v is already right: double is exact there. The precision grows
    until the middle between two numbers is ruled out. That ends: a value of these functions is
    transcendental, or algebraic and no middle, but where it is exact, and exact ones have few bits
    (Lindemann and Weierstrass; Gelfond and Schneider for log2 and log10; Siegel and Shidlovskii for
    erf; a cube of 24 bits and a half has 73).
    """
    library = _compiled()[1]
    digits, least, greatest = FORMATS[dtype]
    exact = library.reference_is_exact(_numbers()[function]) or (
        function == "exp2" and x.is_integer()  # 2^-150 is a middle
    )
    if exact or v == 0 or not math.isfinite(v) or not math.isfinite(x):
        return float(library.reference_round(v, digits, least, greatest))
    bits = 128
    while bits <= _MOST_BITS:
        with _mp_lock, _mp.workprec(bits):
            y = _EXACTLY.get(function, getattr(_mp, function, None))(_mp.mpf(x))
            exponent = max(int(_mp.frexp(y)[1]) - 1, least) - digits + 1
            size = _mp.ldexp(abs(y), -exponent)
            below = int(_mp.floor(size))
            middle = size - below - 0.5
            if abs(middle) > _mp.ldexp(1, digits - bits + 16):
                rounded = math.ldexp(below + (middle > 0), exponent)
                largest = math.ldexp(2.0 - 2.0 ** (1 - digits), greatest)
                return math.copysign(rounded if rounded <= largest else math.inf, y)
        bits *= 2
    raise RuntimeError(f"{function}({x!r}) is too near to the middle of two numbers of {dtype}")
