"""Functions in pairs of float32 (core/scalar/real_ff.h) beside those in double, on all inputs.

``python -m proof.pairs`` from tests/ compiles the texts that devices with slow double get for this
processor, in vectors, and looks at all 2^32 inputs of each function: whether a result that the
rounding test lets pass is that of double, which ``make proof`` has proven; how often double has to
decide; and how far pairs are from the value, against the bound that the test takes. Ends with 1 if
a result differs or a bound is passed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import click
import numpy as np
from emulated.compiler import DIALECT
from emulated.driver import TRAITS
from phalanx.device_code.recipe import Program
from phalanx.device_code.source import full_text

from .reference import evaluate

Edit = Callable[[str], str]
SLOW = replace(TRAITS, double_cost=32)
_BLOCK = 1 << 18
#: The result where double has to decide.
MARK = 0x7FC0DEAD
_OPTIONS = ("-std=c++17", "-O3", "-march=native", "-w", "-fno-strict-aliasing", "-fwrapv")
_OPTIONS += ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
_EXP = "phx_exp_of_ff(g.r)"


@dataclass(frozen=True)
class Form:
    """A function in pairs: its header; the pair for ``a``, which may need a reduction ``g``.

    ``scale`` is what the pair is a multiple of, in double; ``bound`` is that of its rounding test,
    and ``least`` to ``most`` are the operands for which the pair is used, ``nearest`` to 0, but
    those that are ``left`` to double. ``bound`` is relative to the result, or to ``size`` where
    that is more.
    """

    header: str
    pair: str
    bound: float
    least: float
    most: float
    reduced: str = ""
    scale: str = "1.0"
    nearest: float = 0.0
    left: str = "0"
    size: str = "0.0"


_SIGN = "(g.q + {} & 2 ? -1.0 : 1.0)"


def _quadrant(pair: str, least: float, left: str, scale: str = "1.0") -> Form:
    return Form("real_trig", pair, 2.0**-42, -51471, 51471, "phx_reduce_ff(a)", scale, least, left)


def _odd(name: str, header: str, bound: float, most: float, nearest: float) -> Form:
    pair, scale = f"phx_{name}_ff(phx_fabsf(a))", "phx_copysign(1.0, (f64)a)"
    return Form(header, pair, bound, -most, most, scale=scale, nearest=nearest)


def _gamma(name: str, bound: float) -> Form:
    pole = "a < 0.0f && a == phx_floorf(a)"
    form = Form("real_gamma", "g.y", bound, -(2.0**22), 1e36, f"phx_{name}_ff(a)")
    return replace(form, nearest=_SMALLEST, left=pole, size="(f64)g.size")


_SMALLEST, _LARGEST = 2.0**-126, float(np.finfo(np.float32).max)

FORMS = {
    "exp": Form("real_exp", _EXP, 2.0**-40, -87.3, 88.7, "phx_exp_ff_reduce(a)", "k"),
    "exp2": Form("real_exp", _EXP, 2.0**-40, -126, 127.9, "phx_exp2_ff_reduce(a)", "k"),
    "expm1": Form("real_exp", "phx_expm1_ff(a)", 2.0**-39, -18, 87),
    "tanh": Form("real_exp", "phx_tanh_ff(a)", 2.0**-39, 2.0**-13, 9.1),
    "sigmoid": Form("real_sigmoid", "phx_times_sigmoid_ff(1.0f, a)", 2.0**-39, -60, 18),
    "silu": Form(
        "real_sigmoid", "phx_times_sigmoid_ff(a, a)", 2.0**-39, -60, 18, nearest=2.0**-120
    ),
    "softplus": Form("real_sigmoid", "phx_softplus_ff(a)", 2.0**-39, -60, 18),
    "erf": _odd("erf", "real_erf", 2.0**-40, 4, 2.0**-100),
    "erfc": Form("real_erf", "phx_erfc_ff(a)", 2.0**-40, -4, 8.2),
    "gelu": Form("real_gelu", "phx_gelu_ff(a)", 2.0**-40, -11.5, 8, nearest=2.0**-26),
    "sin": _quadrant(
        "phx_sin_or_cos_ff(g.r, g.q & 1)", 2.0**-12, "g.near && !(g.q & 1)", _SIGN.format(0)
    ),
    "cos": _quadrant(
        "phx_sin_or_cos_ff(g.r, ~g.q & 1)", 0.0, "g.near && (g.q & 1)", _SIGN.format(1)
    ),
    "tan": _quadrant("phx_tan_ff(g)", 2.0**-13, "g.near"),
    "sinh": _odd("sinh", "real_exp", 2.0**-39, 87, 2.0**-12),
    "cosh": Form("real_exp", "phx_cosh_ff(phx_fabsf(a))", 2.0**-39, -87, 87),
    "asinh": _odd("asinh", "real_log", 2.0**-39, 2.0**60, 2.0**-12),
    "acosh": Form("real_log", "phx_acosh_ff(a)", 2.0**-39, 1, 2.0**60),
    "atanh": _odd("atanh", "real_log", 2.0**-39, 1 - 2.0**-24, 2.0**-13),
    "asin": _odd("asin", "real_trig", 2.0**-40, 1 - 2.0**-24, 2.0**-12),
    "acos": Form("real_trig", "phx_acos_ff(a)", 2.0**-40, -1 + 2.0**-24, 1 - 2.0**-24),
    "atan": _odd("atan", "real_trig", 2.0**-40, 2.0**30, 2.0**-13),
    "lgamma": _gamma("lgamma", 2.0**-39),
    "digamma": _gamma("digamma", 2.0**-40),
    "cbrt": _odd("cbrt", "real_cbrt", 2.0**-41, _LARGEST, _SMALLEST),
    "log": Form("real_log", "phx_log_ff(a)", 2.0**-40, _SMALLEST, _LARGEST),
    "log1p": Form("real_log", "phx_log1p_ff(a)", 2.0**-40, -1, 1e38),
    "log2": Form("real_log", "phx_log2_ff(a)", 2.0**-40, _SMALLEST, _LARGEST),
    "log10": Form("real_log", "phx_log10_ff(a)", 2.0**-38, _SMALLEST, _LARGEST),
}

_LOOPS = """
extern "C" void results(const u32 *x, u32 *y, u32 *wide, i64 n) {{
    for (i64 i = 0; i < n; i++) {{
        const f32 a = phx_from_bits32(x[i]);
        y[i] = phx_bits32(phx_{name}_f32(a));
    }}
    for (i64 i = 0; i < n; i++) {{
        const f32 a = phx_from_bits32(x[i]);
        wide[i] = phx_bits32(phx_{name}_f32_by_double(a));
    }}
}}
extern "C" void pairs(const u32 *x, f64 *y, f64 *size, i64 n) {{
    for (i64 i = 0; i < n; i++) {{
        const f32 a = phx_from_bits32(x[i]);
        {reduce}
        const phx_ff v = {pair};
        size[i] = {size};
        y[i] = {left} ? (f64)PHX_NAN : ((f64)v.hi + (f64)v.lo) * {scale};
    }}
}}
"""
_POWER = "phx_from_bits64((u64)(i64)(1023.0 + (f64)g.k) << 52)"


@dataclass(frozen=True)
class Found:
    """Of some inputs: bits of those that differ, and the largest error of a pair.

    ``used`` is how many have a pair, and ``decided`` how many of these double decided all the same.
    """

    wrong: tuple[int, ...]
    used: int
    decided: int
    error: float


def text_of(header: str) -> str:
    """Return a header for devices with slow double; where double would decide, it returns MARK."""
    text = full_text(Program("", (header,)), DIALECT, SLOW)
    asked = r"return phx_\w+_by_double\(a(?:, b)?\);"
    text = re.sub(asked, f"return phx_from_bits32({MARK:#x}u);", text)
    assert not re.search(r"_by_double\(a\b", text), "the texts have another way to ask double"
    return text


def library(text: str, declarations: str) -> tuple[cffi.FFI, Any]:
    """Compile a text for this processor."""
    ffi = cffi.FFI()
    ffi.cdef(declarations)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "pairs.cpp", Path(folder) / "pairs.so"
        source.write_text(text, encoding="utf-8")
        command = ["g++", *_OPTIONS, "-shared", "-fPIC", str(source), "-o", str(made)]
        subprocess.run(command, check=True, timeout=120)
        return ffi, ffi.dlopen(str(made))


@cache
def _compiled(name: str, edit: Edit) -> tuple[cffi.FFI, Any]:
    form = FORMS[name]
    text = edit(text_of(form.header)) + _LOOPS.format(
        name=name,
        pair=form.pair,
        reduce=f"const auto g = {form.reduced};" if form.reduced else "",
        scale=_POWER if form.scale == "k" else form.scale,
        left=form.left,
        size=form.size,
    )
    return library(
        text,
        "void results(const uint32_t *x, uint32_t *y, uint32_t *wide, int64_t n);"
        "void pairs(const uint32_t *x, double *y, double *size, int64_t n);",
    )


def check(name: str, bits: np.ndarray[Any, Any], edit: Edit = str, *, errors: bool = True) -> Found:
    """Compare a function in pairs with that in double, for inputs (n,) given as their bits.

    ``edit`` changes the text before it is compiled; without ``errors``, none is measured.
    """
    ffi, compiled = _compiled(name, edit)
    form, n = FORMS[name], len(bits)
    y, wide = np.empty(n, np.uint32), np.empty(n, np.uint32)
    value, size = np.empty(n), np.empty(n)
    given = ffi.from_buffer("uint32_t[]", bits)
    compiled.results(
        given, ffi.from_buffer("uint32_t[]", y), ffi.from_buffer("uint32_t[]", wide), n
    )
    if errors:
        compiled.pairs(given, *(ffi.from_buffer("double[]", to) for to in (value, size)), n)
    decided = y == MARK
    wrong = bits[(y != wide) & ~decided]
    if wrong.size:  # any NaN is as good as another
        x = wrong.view(np.float32)
        both = np.isin(bits, wrong) & ~decided
        nan = np.isnan(y[both].view(np.float32)) & np.isnan(wide[both].view(np.float32))
        wrong = x.view(np.uint32)[~nan]
    x = bits.view(np.float32)
    with np.errstate(invalid="ignore"):
        inside = (x >= form.least) & (x <= form.most) & (np.abs(x) >= form.nearest)
    counts = int(inside.sum()), int((inside & decided).sum())
    error = _error(name, x[inside], value[inside], size[inside]) if errors else 0.0
    return Found(tuple(map(int, wrong)), *counts, error)


def _error(
    name: str,
    x: np.ndarray[Any, Any],
    value: np.ndarray[Any, Any],
    size: np.ndarray[Any, Any],
) -> float:
    """The largest relative error of values, but where the result is far from float32's normals."""
    used = ~np.isnan(value)
    value, want = value[used], evaluate(name, np.ascontiguousarray(x[used]))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(value - want) / np.maximum(np.abs(want), size[used])
        error = error[(np.abs(want) >= 2.0**-26) & (np.abs(want) < np.inf)]
    return float(error.max(initial=0.0))


def check_all(name: str, jobs: int, stride: int, measured: int) -> list[Found]:
    """Check all blocks of inputs, or one of so many; errors of one of ``measured`` of these."""
    _compiled(name, str)

    def block(at: int) -> Found:
        bits = np.arange(at, at + _BLOCK, dtype=np.int64).astype(np.uint32)
        return check(name, bits, errors=at // _BLOCK // stride % measured == 0)

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(block, range(0, 1 << 32, _BLOCK * stride)))


@click.command()
@click.option("--function", "names", multiple=True, type=click.Choice(list(FORMS)))
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
@click.option("--stride", type=click.IntRange(1), default=1, help="Every so many blocks only.")
@click.option("--measured", type=click.IntRange(1), default=1, help="Errors of so many of these.")
def main(names: tuple[str, ...], jobs: int, stride: int, measured: int) -> None:
    """Check functions in pairs on all inputs."""
    failed = False
    for name in names or FORMS:
        begin, form = time.monotonic(), FORMS[name]
        found = check_all(name, jobs, stride, measured)
        wrong = [bits for each in found for bits in each.wrong]
        used, decided = (sum(n) for n in zip(*((e.used, e.decided) for e in found), strict=True))
        error = max(each.error for each in found)
        failed = failed or bool(wrong) or error > form.bound
        shown = ", ".join(f"{bits:#x}" for bits in wrong[:9]) or "none"
        click.echo(
            f"{name}: {len(found) * _BLOCK:,} inputs, {len(wrong):,} wrong ({shown}); of {used:,} "
            f"with a pair double decides 1 in {used // max(1, decided):,}; error "
            f"{f'2^{np.log2(error):.2f}' if error else '0'} of 2^{np.log2(form.bound):.0f} "
            f"({time.monotonic() - begin:.0f} s)",
        )
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
