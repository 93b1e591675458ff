"""What a device's compiler makes of arithmetic, tried out when the device is opened.

A dialect and its options say what is wanted; a compiler may do otherwise. `measured` runs one small
kernel and compares bits: where they are others the traits change, and with them the class of the
kernels; where no kernel could be right the device is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from phalanx.errors import DeviceError

from .recipe import Program, Traits

#: Runs the kernel ``probe`` of a program with one work-item: on an input of these bytes and an
#: output of so many, both at offset 0; returns the output.
Run: TypeAlias = Callable[[Program, bytes, int], bytes]

# (1 + h)^2 - (1 + 2 h) is h^2 exactly, which is lost if the product is rounded before the sum.
_TEXT = """
#define PROBE(T, B, BITS, FMA, DIVIDE, SQRT)                                   \\
    PHX_FN void probe_##T(PHX_GLOBAL const T *x, PHX_GLOBAL B *o) {            \\
        T sum = 0;                                                             \\
        o[0] = BITS(x[0] * x[0] + x[1]);                                       \\
        o[1] = BITS(FMA(x[0], x[0], x[1]));                                    \\
        o[2] = BITS(x[2] * x[3]);                                              \\
        o[3] = BITS(x[4] + x[4]);                                              \\
        for (int i = 0; i < 4; i++) o[4 + i] = BITS(DIVIDE(x[5], x[6 + i]));   \\
        for (int i = 0; i < 4; i++) o[8 + i] = BITS(SQRT(x[6 + i]));           \\
        o[12] = (B)(x[10] != x[10]) + 2 * (B)(x[10] == x[10]);                 \\
        for (int i = 0; i < 4; i++) sum += x[11 + i];                          \\
        o[13] = BITS(sum);                                                     \\
    }
PROBE(f32, u32, phx_bits32, phx_fmaf, phx_dividef, phx_sqrtf)
#if PHX_FP64
PROBE(f64, u64, phx_bits64, phx_fma, phx_divide, phx_sqrt)
#endif

PHX_KERNEL(1) probe(PHX_INPUT(u64, x), PHX_OUTPUT(u64, o)) {
    probe_f32((PHX_GLOBAL const f32 *)PHX_DATA(x), (PHX_GLOBAL u32 *)PHX_DATA(o));
#if PHX_FP64
    probe_f64((PHX_GLOBAL const f64 *)(PHX_DATA(x) + 8), (PHX_GLOBAL u64 *)(PHX_DATA(o) + 7));
#endif
}
"""
_PROGRAM = Program(_TEXT)
_NAN = float("nan")
_DIVIDEND, _DIVISORS = 5.0, (3.0, 7.0, 41.0, 49.0)
_SUMMANDS = (1.0, 2.0**60, -(2.0**60), 1.0)
#: Per type: what `struct` calls it and its bits; h, the smallest normal and the smallest number.
_SINGLE = ("f", "I", 2.0**-12, 2.0**-126, 2.0**-149)
_DOUBLE = ("d", "Q", 2.0**-27, 2.0**-1022, 2.0**-1074)


def measured(run: Run, traits: Traits, name: str) -> Traits:
    """Return the traits as they are found; ``name`` is the device's in errors. Blocks.

    Raises:
        DeviceError: the device adds in another order, confuses NaN with numbers, or rounds ``fma``,
            or arithmetic in double, otherwise than IEEE 754: no kernel would be right.
    """
    given = _input(*_SINGLE) + b"\0" * 4 + _input(*_DOUBLE)
    raw = run(_PROGRAM, given, 21 * 8)
    wrong = _wrong(struct.unpack_from("<14I", raw), *_SINGLE)
    double = _wrong(struct.unpack_from("<14Q", raw, 56), *_DOUBLE) if traits.fp64 else set()
    fatal = (wrong - {"contraction", "subnormals", "division", "square root"}) | (
        double - {"contraction"}
    )
    if fatal:
        raise DeviceError(
            f"{name}: the compiler breaks {' and '.join(sorted(fatal))} (found by the self-test), "
            "so no kernel would be right; correct the dialect's text or its compiler options"
        )
    return replace(
        traits,
        contracts=traits.contracts or "contraction" in wrong | double,
        subnormals=traits.subnormals and "subnormals" not in wrong,
        exact_division=traits.exact_division and not wrong & {"division", "square root"},
    )


def _input(form: str, bits: str, h: float, normal: float, least: float) -> bytes:
    del bits
    values = (1 + h, -(1 + 2 * h), normal, 0.5, least, _DIVIDEND, *_DIVISORS, _NAN, *_SUMMANDS)
    return struct.pack(f"<{len(values)}{form}", *values)


def _wrong(
    got: tuple[int, ...], form: str, bits: str, h: float, normal: float, least: float
) -> set[str]:
    """Return what is computed otherwise than IEEE 754 says."""

    def exact(value: float) -> int:
        # Quotients and roots in double, rounded to single: innocuous (Figueroa, 1995).
        (found,) = struct.unpack(f"<{bits}", struct.pack(f"<{form}", value))
        return int(found)

    want = {
        "contraction": [exact(0.0)],
        "fma": [exact(h * h)],
        "subnormals": [exact(normal / 2), exact(2 * least)],
        "division": [exact(_DIVIDEND / d) for d in _DIVISORS],
        "square root": [exact(d**0.5) for d in _DIVISORS],
        "comparisons of NaN": [1],
        "the order of sums": [exact(1.0)],
    }
    found, at = set(), 0
    for name, values in want.items():
        if list(got[at : at + len(values)]) != values:
            found.add(name)
        at += len(values)
    return found
