"""Functions of two operands in pairs of float32 beside those in double: see pairs.py.

``python -m proof.pairs_of_two`` from tests/ draws operands, since 2^64 are too many: any bits; what
programs have; numbers of few bits, whose powers are exact or in the middle of two numbers; numbers
beside 1 and beside each other. A result that passes the rounding test must be that of double.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import cffi
import click
import numpy as np
import numpy.typing as npt

from .pairs import MARK, Edit, library, text_of

Floats = npt.NDArray[np.float32]
#: The header of each.
HEADERS = {"pow": "real_pow", "atan2": "real_trig", "hypot": "real_pow", "logaddexp": "real_log"}
#: Whose common operands never need double.
WITHOUT_DOUBT = {"floor_divide": "real_basic", "remainder": "real_basic"}
HEADERS |= WITHOUT_DOUBT

_LOOPS = """
extern "C" void results(const f32 *x, const f32 *w, u32 *y, u32 *wide, i64 n) {{
    for (i64 i = 0; i < n; i++) {{
        const f32 a = x[i], b = w[i];
        y[i] = phx_bits32(phx_{name}_f32(a, b));
    }}
    for (i64 i = 0; i < n; i++) {{
        const f32 a = x[i], b = w[i];
        wide[i] = phx_bits32(phx_{name}_f32_by_double(a, b));
    }}
}}
"""


@cache
def _compiled(name: str, edit: Edit) -> tuple[cffi.FFI, Any]:
    return library(
        edit(text_of(HEADERS[name])) + _LOOPS.format(name=name),
        "void results(const float *x, const float *w, uint32_t *y, uint32_t *wide, int64_t n);",
    )


def operands(count: int, rng: np.random.Generator) -> dict[str, tuple[Floats, Floats]]:
    """Return operands (count,) by what they are drawn from; ``common`` are what programs have."""
    any_bits = rng.integers(0, 1 << 32, (2, count), np.uint32).view(np.float32)
    common = rng.standard_normal((2, count), np.float32) * np.float32(3)
    whole = rng.integers(-4, 9, count).astype(np.float32) / np.float32(2)
    few_bits = rng.integers(-4100, 4100, count).astype(np.float32) / np.float32(32)
    near_one = (1 + rng.standard_normal(count) * 2.0**-10).astype(np.float32)
    large = (rng.standard_normal(count) * 2.0**10).astype(np.float32)
    same_size = common[0] * near_one
    multiple = (common[1] * rng.integers(-(2**22), 2**22, count)).astype(np.float32)
    return {
        "any": (any_bits[0], any_bits[1]),
        "common": (np.abs(common[0]), common[1]),
        "whole": (few_bits, whole),
        "near one": (near_one, large),
        "of one size": (common[0], same_size),
        "multiples": (multiple, common[1]),
    }


def check(name: str, a: Floats, b: Floats, edit: Edit = str) -> tuple[list[tuple[str, str]], int]:
    """Return the operands whose results pass the test and are not those of double, and how often
    double decided."""
    ffi, compiled = _compiled(name, edit)
    y, wide = np.empty(len(a), np.uint32), np.empty(len(a), np.uint32)
    given = (ffi.from_buffer("float[]", np.ascontiguousarray(x)) for x in (a, b))
    compiled.results(*given, *(ffi.from_buffer("uint32_t[]", x) for x in (y, wide)), len(a))
    decided = y == MARK
    nan = np.isnan(y.view(np.float32)) & np.isnan(wide.view(np.float32))
    wrong = (y != wide) & ~decided & ~nan
    pairs = zip(a[wrong].tolist(), b[wrong].tolist(), strict=True)
    return [(x.hex(), w.hex()) for x, w in pairs], int(decided.sum())


@click.command()
@click.option("--function", "names", multiple=True, type=click.Choice(list(HEADERS)))
@click.option("--count", type=click.IntRange(1), default=1 << 22, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=8, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def main(names: tuple[str, ...], count: int, rounds: int, seed: int) -> None:
    """Check functions of two operands in pairs on operands that are drawn."""
    rng, failed = np.random.default_rng(seed), False
    for name in names or HEADERS:
        found: dict[str, int] = {}
        for _ in range(rounds):
            for kind, (a, b) in operands(count, rng).items():
                wrong, decided = check(name, a, b)
                found[kind] = found.get(kind, 0) + decided
                failed = failed or bool(wrong)
                for each in wrong[:3]:
                    click.echo(f"{name}{each} is wrong")
        shown = ", ".join(f"{count * rounds // max(1, n):,} ({kind})" for kind, n in found.items())
        click.echo(f"{name}: {count * rounds:,} of each kind; double decides 1 of {shown}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
