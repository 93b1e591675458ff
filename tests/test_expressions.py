"""One text per element for all dialects: ``core/optable/expressions.py`` and ``headers.py``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from phalanx.optable import OPS, Op, Structure
from phalanx.optable.expressions import Expression, expression
from phalanx.optable.headers import SCALAR, headers_of

ROOT = Path(__file__).parents[1]
DEVICES = "core/device_code/prelude.h"
PRELUDES = {
    "cpu": ("kernels_cpu/src/elementwise/dialect.h",),
    "cuda": ("kernels_cuda/dialect.cuh", DEVICES),
    "opencl": ("kernels_opencl/dialect.cl", DEVICES),
}
ELEMENTWISE = [row for row in OPS.values() if row.structure is Structure.ELEMENTWISE]


def calls(text: Expression) -> set[str]:
    return set(
        re.findall(r"\b(phx_\w+)\(", " ".join((*text.loads, text.text, text.main, text.rare)))
    )


@pytest.mark.parametrize("prelude", PRELUDES.values(), ids=PRELUDES)
@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_every_function_is_in_a_header_or_in_the_prelude(row: Op, prelude: tuple[str, ...]) -> None:
    text = "".join((ROOT / part).read_text("utf-8") for part in prelude)
    words = set(re.findall(r"\b(phx_\w+)\(", text))
    for signature in row.signatures:
        found = expression(row, signature.dtypes)
        missing = {name for name in calls(found) if not headers_of(f"{name}(")} - words
        assert missing == set(), signature
        assert all((SCALAR / f"{header}.h").is_file() for header in found.headers)


@pytest.mark.parametrize(
    ("function", "header"),
    [
        ("phx_exp_f64", "real_exp"),
        ("phx_floor_f32", "real_basic"),  # by a macro
        ("phx_add_u16", "integer"),  # by a macro in a macro
        ("phx_asinh_c64", "complex_inverse"),  # by another header's macro
        ("phx_multiply_main_c64", "complex"),
        ("phx_nextafter_bf16", "convert"),
    ],
)
def test_headers_of_functions(function: str, header: str) -> None:
    assert headers_of(f"1 + {function}(a)") == (header,)


def test_headers_come_once_and_unknown_functions_not_at_all() -> None:
    assert headers_of("phx_exp_f32(a) + phx_expm1_f32(a)", "phx_fma(a, b, c)") == ("real_exp",)
    assert headers_of("a + b") == ()


def test_half_numbers_are_converted_around_the_arithmetic() -> None:
    text = expression(OPS["add"], ("float16",) * 3)
    assert text.types == ("u16",) * 3
    assert text.values == ("f32",) * 2
    assert text.loads == ("phx_f16_to_f32({})",) * 2
    assert text.text == "phx_f32_to_f16(a + b)"


def test_float16_calls_functions_of_its_own_where_it_has_them() -> None:
    text = expression(OPS["sin"], ("float16",) * 2)
    assert text.text == "phx_f32_to_f16(phx_sin_for_f16(a))"
    assert text.headers == ("convert", "real_half")
    assert not text.rare


def test_neighbours_of_half_numbers_are_found_on_their_bits() -> None:
    text = expression(OPS["nextafter"], ("bfloat16",) * 3)
    assert text.values == ("u16",) * 2
    assert text.text == "phx_nextafter_bf16(a, b)"
    assert expression(OPS["nextafter"], ("float32",) * 3).values == ("f32",) * 2


@pytest.mark.parametrize("dtype", ["uint64", "float64", "complex64"])
def test_elements_that_are_passed_on_share_a_text(dtype: str) -> None:
    copy, where = OPS["copy"], OPS["where"]
    assert expression(copy, (dtype, dtype)) == expression(copy, ("int64", "int64"))
    text = expression(where, ("bool", dtype, dtype, dtype))
    assert text.moves
    assert text.types == ("u8", "u64", "u64", "u64")
    assert not expression(OPS["negative"], (dtype, dtype)).moves


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        ("float32", "int8", "phx_f32_to_i8(a)"),
        ("complex64", "float32", "a.re"),
        ("complex128", "bool", "(u8)(phx_f64_to_b(a.re) | phx_f64_to_b(a.im))"),
        ("complex64", "complex128", "phx_make_c128(phx_f32_to_f64(a.re), phx_f32_to_f64(a.im))"),
        ("float64", "complex128", "phx_make_c128(a, 0)"),
        ("bfloat16", "complex64", "phx_make_c64(phx_bf16_to_f32(a), 0)"),
    ],
)
def test_casts(source: str, target: str, text: str) -> None:
    assert expression(OPS["cast"], (source, target)).text == text


def test_a_guard_looks_at_each_operand_and_at_each_part() -> None:
    text = expression(OPS["multiply"], ("complex128",) * 3)
    assert text.main == "phx_multiply_main_c128(a, b)"
    operands = ("a.re", "a.im", "b.re", "b.im")
    assert text.rare == " | ".join(f"!phx_is_moderate({x})" for x in operands)
    assert expression(OPS["sin"], ("bfloat16",) * 2).rare == "phx_trig_needs_big_f32(a)"
    assert expression(OPS["exp"], ("float32",) * 2).rare == ""


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_every_guard_belongs_to_an_overload_with_a_main_part(row: Op) -> None:
    texts = [expression(row, signature.dtypes) for signature in row.signatures]
    assert set(row.guards) <= {value for text in texts for value in text.values}
    for text in texts:
        assert bool(text.guard) == bool(text.main) == bool(text.rare)
        for name in calls(text):
            if "_main_" in name:
                assert headers_of(f"{name}(")
