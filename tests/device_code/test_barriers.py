"""Barriers: each one in the texts is needed, and the emulated devices notice that it is missing."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import phalanx as px
import pytest
from emulated.compiler import DIALECT, Code, program_text
from emulated.driver import TRAITS, EmulatedDriver
from emulated.workloads import WORKLOADS, differs
from phalanx import device_code
from phalanx.device_code.recipe import Program, Traits
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import LaunchError

pytestmark = pytest.mark.needs_cpu
_TEXTS = Path(device_code.__file__).parent
#: Of texts that have more barriers in groups of more than 64 work-items.
_WIDE = {"normalize_rows.h": replace(TRAITS, max_work_group=128)}
_BARRIER = re.compile(r"PHX_BARRIER(?:_GLOBAL)?\(\);")
_BARRIERS = [
    (path.name, number)
    for path in sorted(_TEXTS.glob("*.h"))
    for number, _ in enumerate(_BARRIER.finditer(path.read_text("utf-8")))
]


@pytest.fixture
def emulated(drivers: dict[str, Driver]) -> Iterator[Callable[..., EmulatedDriver]]:
    """Make and register an emulated driver; nothing may run elsewhere meanwhile."""
    made: list[EmulatedDriver] = []

    def make(
        traits: Traits = TRAITS, *, edit: Callable[[str], str] = lambda text: text
    ) -> EmulatedDriver:
        driver = EmulatedDriver("mutant", traits, edit=edit)
        host().register_driver(driver)
        made.append(driver)
        return driver

    with px.fallback_policy("error"):
        yield make
    for driver in made:
        host().unregister_driver(driver)


def test_every_text_with_barriers_has_a_workload() -> None:
    assert {name for name, _ in _BARRIERS} == set(WORKLOADS)


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("text", sorted(WORKLOADS))
def test_with_all_barriers_the_bits_are_those_of_the_cpu(
    emulated: Callable[..., EmulatedDriver], text: str, device: int
) -> None:
    emulated(_WIDE.get(text, TRAITS))
    assert differs(text, f"mutant:{device}") == ""


def test_double_without_matrix_units_has_the_same_bits(
    emulated: Callable[..., EmulatedDriver],
) -> None:
    emulated(replace(TRAITS, matrix_f64=False))
    assert differs("matmul_fragments.h", "mutant:0") == ""


def test_tiles_without_asynchronous_copies_have_the_same_bits(
    emulated: Callable[..., EmulatedDriver],
) -> None:
    edited = []

    def edit(text: str) -> str:
        plain = text.replace("#ifdef PHX_ASYNC_COPY", "#if 0")
        edited.append(plain != text)
        return plain

    emulated(edit=edit)
    assert differs("matmul_tile.h", "mutant:0") == ""
    assert any(edited)


@pytest.mark.parametrize(("text", "number"), _BARRIERS)
def test_a_missing_barrier_is_caught(
    emulated: Callable[..., EmulatedDriver], text: str, number: int
) -> None:
    whole = (_TEXTS / text).read_text("utf-8")
    found = list(_BARRIER.finditer(whole))[number]
    mutant = whole[: found.start()] + ";" + whole[found.end() :]
    emulated(_WIDE.get(text, TRAITS), edit=lambda program: program.replace(whole, mutant))

    def caught(device: str) -> bool:
        try:
            return differs(text, device) != ""
        except LaunchError:
            return True

    line = whole[: found.start()].count("\n") + 1
    assert caught("mutant:0") or caught("mutant:1"), f"nobody misses the barrier {text}:{line}"


#: Kernels with one mistake each, and what is said of it; some of it depends on the order.
_MISTAKES = {
    "room[id] = id; PHX_BARRIER(); room[id] = 9; o[id] = room[3];": "another",
    "room[id] = id; PHX_BARRIER(); o[id] = room[7 - id]; room[id] = 9;": "another",
    "room[id] = id; o[id] = room[id ^ 1];": "reads what",
    "room[0] = id;": "writes what another writes",
    "o[id] = room[id];": "reads what nobody has written",
    "room[id + 8] = id;": "is outside of the array: room",
    "if (id < 4) PHX_BARRIER();": "diverges",
    "if (id < 4) {PHX_BARRIER();} else {\nPHX_BARRIER();}": "diverges",
    "for (u32 k = 0; k < id + 1; k++) PHX_BARRIER();": "diverges",
}


@pytest.mark.parametrize(
    "body", ["room[id] = id; PHX_BARRIER(); o[id] = room[id ^ 1];", *_MISTAKES]
)
@pytest.mark.parametrize("backwards", [False, True])
def test_mistakes_with_local_memory_are_told(body: str, backwards: bool) -> None:
    source = (
        "PHX_KERNEL_OF(8) run(PHX_GLOBAL u32 *o) {\n"
        "PHX_LOCAL_ARRAY(u32, room, 8); const u32 id = (u32)PHX_LOCAL_ID(0);\n"
        f"{body}\n}}\n"
    )
    code = Code(program_text(Program(source), TRAITS), DIALECT.options(TRAITS), "a mistake")
    out = (ctypes.c_uint32 * 8)()
    address = ctypes.addressof(out).to_bytes(8, "little")
    said = code.kernel("run").launch((1,), (8,), [address], backwards=backwards)
    assert _MISTAKES.get(body, "") in said
    assert bool(said) == (body in _MISTAKES)
    if not said:
        assert list(out) == [1, 0, 3, 2, 5, 4, 7, 6]
