"""The ops that factor small matrices: a group of work-items takes a matrix of a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phalanx.optable.factors import SWEEPS, SWEEPS_A_ROW

from .dtypes import PART, STORAGE, SUFFIX
from .recipe import Program, Recipe, Traits, divide_up
from .rows import defines
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

#: Work-items of a group; one where they are turns of a core's loop, which every barrier ends.
_GROUP, _GROUP_CPU = 256, 1
_TEXTS = {
    "cholesky": "factor_cholesky.h",
    "lu": "factor_lu.h",
    "triangular_solve": "factor_solve.h",
    "householder": "factor_householder.h",
    "jacobi": "factor_jacobi.h",
    "eigh": "factor_eigh.h",
    "schur": "factor_schur.h",
}
#: Words of the texts that are functions of core/scalar/fused.h, of the element.
_STEPS = (
    *("plus_product", "minus_product", "plus_inner", "plus_square", "quotient", "over", "turned"),
    *("share", "shift", "size", "largest_part", "conjugate", "sum", "re", "im", "of_parts"),
)
_ARGUMENTS = {
    "re": 1,
    "im": 1,
    "size": 1,
    "conjugate": 1,
    "largest_part": 1,
    "turned": 4,
    "shift": 4,
    "share": 3,
}
_ARGUMENTS |= dict.fromkeys(("plus_product", "minus_product", "plus_inner"), 3)


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op that factors matrices; see ``device_code.find``."""
    del layout  # there is one for all strides
    group = 1
    while group * 2 <= min(_GROUP_CPU if traits.is_cpu else _GROUP, traits.max_work_group):
        group *= 2
    head = defines(_words(dtypes[0], group)) + template("factors.h")
    real_schur = op == "schur" and dtypes[0] not in PART
    program = Program(
        head + _text(op, dtypes[0]), ("fused", "francis") if real_schur else ("fused",)
    )
    launch = _launch_solve if op == "triangular_solve" else _launch_factor
    exact = traits.subnormals and traits.exact_division
    bitwise = "64" in _real(dtypes[0]) or exact
    return Recipe(
        (program,),
        partial(launch, program, op, group, traits),
        "bitwise" if bitwise else "reproducible",
    )


def _text(op: str, dtype: str) -> str:
    if op != "schur":
        return template(_TEXTS[op])
    own = _TEXTS[op] if dtype in PART else "factor_schur_real.h"
    return template("factor_hessenberg.h") + template(own)


def _real(dtype: str) -> str:
    return PART.get(dtype, dtype)


def _words(dtype: str, group: int) -> dict[str, str]:
    """What the texts need defined for elements of a dtype."""
    suffix, real = SUFFIX[dtype], SUFFIX[_real(dtype)]
    f = "f" if real == "f32" else ""
    letters = "abcd"
    words = {"T": STORAGE[dtype], "F": real, "GROUP": str(group), "SWEEPS": str(SWEEPS)}
    words["SWEEPS_A_ROW"] = str(SWEEPS_A_ROW)
    for step in _STEPS:
        names = ", ".join(letters[: _ARGUMENTS.get(step, 2)])
        words[f"{step.upper()}({names})"] = f"phx_{step}_{suffix}({names})"
    if dtype not in PART:
        words |= _words_of_pairs(real)
    words |= {
        "ZERO": "OF_PARTS((F)0, (F)0)",
        "ONE": "OF_PARTS((F)1, (F)0)",
        "ROOT(a)": f"phx_sqrt{f}(a)",
        "FABS(a)": f"phx_fabs{f}(a)",
        "DIVIDE(a, b)": f"phx_divide{f}(a, b)",
        "COPYSIGN(a, b)": f"phx_copysign{f}(a, b)",
        "PLUS_SQUARE_REAL(s, a)": f"phx_fma{f}(a, a, s)",
        "FUSED(a, b, c)": f"phx_fma{f}(a, b, c)",
        "POWER_BELOW(a)": f"phx_power_below_{real}(a)",
        "TO_F(i)": f"PHX_TO_{real.upper()}(i)",
        "NOT_A_NUMBER": "PHX_NANF" if f else "PHX_NAN",
        "EPSILON": "1.1920928955078125e-07f" if f else "2.220446049250313e-16",
        "FAR": "1.152921504606846976e+18f" if f else "3.273390607896142e+150",
    }
    return words


def _words_of_pairs(real: str) -> dict[str, str]:
    """Words of core/scalar/francis.h for a real element F and the complex C of two."""
    pair = {"f32": "c64", "f64": "c128"}[real]
    return {
        "C": pair,
        "MAKE_C(re, im)": f"phx_make_{pair}(re, im)",
        "QUOTIENT_C(a, b)": f"phx_quotient_{pair}(a, b)",
        "APART(d, least)": f"phx_apart_{pair}(d, least)",
        "SOLVE_TWO(y, m, w, least)": f"phx_solve_two_{pair}(y, m, w, least)",
        "LARGER(a, b)": f"phx_larger_{real}(a, b)",
        "REFLECTOR(v)": f"phx_reflector_{real}(v)",
        "TWO_SHIFTS(v, corner, top)": f"phx_two_shifts_{real}(v, corner, top)",
        "TWO_ROWS(m, turn)": f"phx_two_rows_{real}(m, turn)",
        "HALF_GAP(m)": f"phx_half_gap_{real}(m)",
    }


def _strides(x: Array) -> tuple[int, ...]:
    return tuple(x.strides)


def _launch_factor(
    program: Program,
    op: str,
    group: int,
    traits: Traits,
    env: Env,
    inputs: Sequence[Any],
    outputs: Sequence[Array],
    params: tuple[int, ...],
) -> None:
    """Enqueue one call: a group for each matrix, as far as a launch has groups."""
    del params
    x, y = inputs[0], outputs[0]
    if not y.size:
        return
    groups = min(x.shape[0], traits.most_groups)
    kernel = env.kernel(program, op)
    args = (*x.shape, *_strides(x), *_strides(y))
    env.enqueue(kernel, (groups * group,), (group,), x, y, *args)


def _launch_solve(
    program: Program,
    op: str,
    group: int,
    traits: Traits,
    env: Env,
    inputs: Sequence[Any],
    outputs: Sequence[Array],
    params: tuple[int, ...],
) -> None:
    """Enqueue one call: a work-item for each column."""
    lower, x = inputs
    y = outputs[0]
    if not y.size:
        return
    local = min(64, group)
    columns = y.shape[0] * y.shape[2]
    groups = min(divide_up(columns, local), traits.most_groups)
    kernel = env.kernel(program, op)
    strides = (*_strides(lower), *_strides(x), *_strides(y))
    env.enqueue(kernel, (groups * local,), (local,), lower, x, y, *y.shape, *strides, params[0])
