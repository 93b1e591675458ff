"""What NVIDIA's assembler makes of kernels: nothing is spilt, fused or loaded piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from exhaustive import some_of
from phalanx.device_code.recipe import Program

from device_code.flow import shortest
from device_code.sass import (
    CAPABILITIES,
    GOLDEN,
    PAIRS,
    PAIRS_OF_TWO,
    SLOW_CAPABILITIES,
    TABLE,
    VERSION,
    compiler,
    kernels,
    name_of,
    pair_row,
    rows,
)
from device_code.texts import matrix_texts, texts_of

pytestmark = pytest.mark.needs_cpu
_TABLE: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
#: Arrays of which a work-item loads 16 bytes or more at once, and loads and stores of that.
_PACKED = {
    ("add", "float32"): (2, 1),
    ("add", "float64"): (2, 1),
    ("add", "float16"): (2, 1),
    ("add", "int8"): (2, 1),
    ("multiply", "complex64"): (2, 1),
    ("where", "bool"): (2, 1),
    ("cast", "float32"): (0, 1),
}
#: Sums and products that nobody wrote as one, in the order of float32 and float64.
_UNFUSED = ("add", "where", "sum", "cumulative_sum", "sort")
#: A few values once per tile of 4,096 elements, or once per long row: the assembler likes more
#: groups at once better.
_MAY_SPILL = {"scan_tiles", "reduce_blocks"}


@pytest.mark.parametrize("number", some_of(range(len(CAPABILITIES)), [CAPABILITIES.index((9, 0))]))
@pytest.mark.parametrize(("op", "dtypes"), TABLE, ids=str)
def test_kernels_are_as_they_were(op: str, dtypes: tuple[str, ...], number: int) -> None:
    capability = CAPABILITIES[number]
    found = rows(op, dtypes, capability)
    for kernel in found.values():
        if op in _UNFUSED:
            assert (kernel["FFMA"], kernel["DFMA"]) == (0, 0)
        if (op, dtypes[0]) in _PACKED:
            loads, stores = _PACKED[op, dtypes[0]]
            assert (kernel["loads of 128 bits"], kernel["stores of 128 bits"]) == (loads, stores)
    spilt = {name for name, kernel in found.items() if kernel["spills"]}
    assert spilt <= _MAY_SPILL
    if compiler().version == VERSION:
        assert found == _TABLE["kernels"][name_of(op, dtypes, capability)]


def test_the_table_is_of_the_compiler_that_the_tests_bring() -> None:
    """Or nothing would be compared."""
    assert tuple(_TABLE["NVRTC"]) == VERSION
    assert compiler().version == VERSION


@pytest.mark.parametrize("number", some_of(range(len(SLOW_CAPABILITIES)), [1]))
@pytest.mark.parametrize("op", [*PAIRS, *PAIRS_OF_TWO])
def test_most_operands_of_functions_in_pairs_meet_no_double(op: str, number: int) -> None:
    capability = SLOW_CAPABILITIES[number]
    found = pair_row(op, capability)
    assert found["double on the way"] == found["spills"] == 0
    assert found["DFMA"] > 5, "double decides where pairs cannot"
    if compiler().version == VERSION:
        assert found == _TABLE["pairs"][f"{op} for {capability[0]}.{capability[1]}"]


def test_double_on_the_way_is_seen() -> None:
    (kernel,) = kernels(texts_of("exp", ("float32",) * 2)[0].program).values()
    assert shortest(kernel.body).double >= 14


def test_a_spill_would_be_seen() -> None:
    source = """
PHX_KERNEL(1024) run(PHX_OUTPUT(f32, o), const u64 n) {
    f32 x[40];
    for (u64 i = 0; i < n; i++) x[i % 40] = PHX_DATA(o)[i];
    for (u64 i = 0; i < n; i++) PHX_DATA(o)[i] = x[(i * 7) % 40];
}"""
    (kernel,) = kernels(Program(source)).values()
    assert kernel.count("LDL|STL") > 0
    assert kernel.stack >= 160


@pytest.mark.parametrize("capability", [each for each in CAPABILITIES if each >= (9, 0)])
def test_matrix_units_work_without_spills(capability: tuple[int, int]) -> None:
    """16 products a block of steps; each work-item reads what it needs 16 bytes at a time."""
    for text in matrix_texts():
        tile = kernels(text.program, capability)["tile"]
        assert tile.count("DMMA") in (16, 32, 64), text.dtypes  # of 8, 4 or 2 steps at a time
        assert tile.count(r"LDS\.128") >= 12, text.dtypes
        assert (tile.stack, tile.local) == (0, 0), text.dtypes
