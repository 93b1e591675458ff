"""The header as Python reads it: golden layout, constants, negotiation, the check of a table."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest
from phalanx import driver
from phalanx.abi import build as abi_build
from phalanx.abi import structs as abi
from phalanx.abi.kernel_table import TableRead, read_row, read_table
from phalanx.abi.structs import Capability, ffi
from phalanx.driver import Feature, Layout
from phalanx.optable import DTYPES


def test_the_layout_is_the_released_one() -> None:
    golden = json.loads(abi.golden_path().read_text())
    if golden["pointer_size"] != ffi().sizeof("void *"):
        pytest.skip("the golden table is that of 64-bit machines")
    assert abi.layout() == golden


def test_every_struct_begins_with_its_size() -> None:
    for name, struct in abi.layout()["structs"].items():
        if name.startswith("phx_") and name not in ("phx_str", "phx_place"):  # passed by value
            assert struct["fields"][0] == ["struct_size", 0, 8], name


def constants() -> dict[str, int]:
    library = ffi().dlopen(None)
    return {
        name: getattr(library, name)
        for line in abi_build.declarations().splitlines()
        if line.startswith("#define PHX_") and (name := line.split()[1])
    }


def test_the_enumerations_of_python_are_those_of_the_header() -> None:
    header = constants()
    assert (header["PHX_ABI_MAJOR"], header["PHX_ABI_MINOR"]) == (abi.ABI_MAJOR, abi.ABI_MINOR)
    expected: dict[str, int] = {f"PHX_{code.name}": code for code in abi.ErrorCode}
    expected |= {f"PHX_CAP_{bit.name}": bit for bit in Capability}
    expected |= {f"PHX_FEATURE_{bit.name}": bit for bit in Feature}
    expected |= {f"PHX_LAYOUT_{layout.name}": layout for layout in Layout}
    expected |= {f"PHX_{facts.name.upper()}": facts.code for facts in DTYPES.values()}
    assert {name: header[name] for name in expected} == expected
    families = ("PHX_CAP_", "PHX_FEATURE_", "PHX_LAYOUT_")
    assert {n for n in header if n.startswith(families)} == {
        n for n in expected if n.startswith(families)
    }


def test_the_functions_of_the_table_are_all_accounted_for() -> None:
    fields = {n for n, f in ffi().typeof("phx_api").fields if f.type.kind == "function"}
    assert fields == {*abi.REQUIRED, *(name for names in abi.OPTIONAL.values() for name in names)}
    assert set(abi.OPTIONAL) == set(Capability)
    assert {(bit.name, bit.value) for bit in driver.Capability} < {
        (bit.name, bit.value) for bit in Capability
    }


@pytest.mark.parametrize(
    ("built", "needs", "problem"),
    [
        ((1, 0), 0, ""),
        ((1, 9), 0, ""),
        ((1, 9), 9, "upgrade phalanx"),
        ((1, 0), 9, "upgrade phalanx"),
        ((1, 0), abi.ABI_MINOR, "newer than itself"),
        ((2, 0), 0, "install a newer phalanx"),
        ((0, 3), 0, "newer release of the plugin"),
    ],
)
def test_negotiation(built: tuple[int, int], needs: int, problem: str) -> None:
    found = abi.negotiate(built, needs)
    assert (problem in found) if problem else not found


def test_a_minimum_newer_than_the_plugin_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi, "ABI_MINOR", 5)
    assert "min_host_abi_minor is wrong" in abi.negotiate((1, 2), 4)
    assert abi.negotiate((1, 4), 4) == ""


SIZE = ffi().sizeof("phx_api")
VERSION = f"{abi.ABI_MAJOR}.{abi.ABI_MINOR}"
SYNC = abi.end_of("phx_api", abi.REQUIRED[-1])


def table(**fields: Any) -> Any:
    """Return a correct table of tier sync, changed."""
    any_function = ffi().cast("void *", 8)
    api = ffi().new("phx_api *")
    api.struct_size = ffi().sizeof("phx_api")
    api.built_abi_major, api.built_abi_minor = abi.ABI_MAJOR, abi.ABI_MINOR
    for name in abi.REQUIRED:
        setattr(api, name, ffi().cast(ffi().typeof(getattr(api, name)), any_function))
    for name, value in fields.items():
        current = getattr(api, name)
        if not isinstance(current, int):
            value = ffi().cast(ffi().typeof(current), value)
        setattr(api, name, value)
    return api


#: That of ABI 1.0, whose tables end with ``stream_default``.
FIRST_SIZE = abi.end_of("phx_api", "stream_default")


def streams(**fields: Any) -> dict[str, Any]:
    names = abi.OPTIONAL[Capability.STREAMS]
    return {"capabilities": Capability.STREAMS.value, **dict.fromkeys(names, 8), **fields}


def test_correct_tables() -> None:
    assert abi.check_api(table()) == []
    assert abi.check_api(table(**streams())) == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"struct_size": 0}, "too small to hold the versions"),
        ({"struct_size": SYNC - 1}, f"tier 'sync' alone takes {SYNC}"),
        ({"struct_size": SYNC + 6}, "ends inside a field"),
        ({"struct_size": SIZE + 8}, f"that of ABI {VERSION} is {SIZE}"),
        ({"struct_size": 2**63}, f"that of ABI {VERSION} is {SIZE}"),
        ({"built_abi_minor": 0}, f"it is {SIZE}, and that of ABI 1.0 is {FIRST_SIZE}"),
        ({"built_abi_major": 2}, f"built for ABI 2.{abi.ABI_MINOR}"),
        ({"min_host_abi_minor": 9}, "needs a host of at least 1.9"),
        ({"flags": 1}, "phx_api.flags: it is 0x1"),
        ({"capabilities": 1 << 40}, "unknown bits 0x10000000000"),
        ({"alloc": 0}, "phx_api.alloc: it is null; tier 'sync' requires it"),
        ({"device_trim": 8}, "phx_api.device_trim: it is there, but PHX_CAP_TRIM is not set"),
        ({"capabilities": 4}, "phx_api.device_trim: it is null, but PHX_CAP_TRIM is set"),
        (streams(event_query=0), "phx_api.event_query: it is null, but PHX_CAP_STREAMS is"),
        ({"capabilities": 2, "event_elapsed": 8}, "without PHX_CAP_STREAMS"),
        ({"capabilities": 128, "stream_default": 8}, "without PHX_CAP_STREAMS"),
        ({"capabilities": 256, "stream_inject_failure": 8}, "without PHX_CAP_STREAMS"),
        (
            streams(built_abi_minor=0, struct_size=FIRST_SIZE, capabilities=1 | 256),
            "phx_api.stream_inject_failure: it is null, but PHX_CAP_FAULT_INJECTION",
        ),
        (
            {"capabilities": 64, "host_adopt": 8},
            "phx_api.host_release: it is null, but PHX_CAP_HOST",
        ),
        (streams(struct_size=SYNC), "phx_api.stream_create: it is null, but PHX_CAP_STREAMS"),
    ],
)
def test_faulty_tables(fields: dict[str, Any], problem: str) -> None:
    assert any(problem in str(line) for line in abi.check_api(table(**fields)))


def test_a_null_table() -> None:
    (problem,) = abi.check_api(ffi().NULL)
    assert str(problem) == "phalanx_plugin_get_api: the plugin returned no error and no table"


def test_nothing_behind_the_size_is_read() -> None:
    """Of a table that ends early only its own bytes exist; the rest here is poison."""
    api = table(built_abi_minor=0, struct_size=SYNC, stream_create=8, capabilities=0)
    assert abi.check_api(api) == []
    assert abi.function(api, "stream_create") is None
    assert abi.function(api, "alloc") is not None


def test_a_newer_minor_version_may_have_more_bits_fields_and_flags() -> None:
    later = {"built_abi_minor": abi.ABI_MINOR + 3, "struct_size": SIZE + 152}
    assert abi.check_api(table(**later, capabilities=1 << 30, flags=2)) == []


def row(**fields: Any) -> Any:
    """Return a correct row of a kernel table, changed, and what must stay alive."""
    name = ffi().new("char[]", fields.pop("name", b"add"))
    dtypes = ffi().new("uint8_t[]", fields.pop("dtypes", [11, 11, 11]))
    made = ffi().new("phx_kernel *")
    made.struct_size = ffi().sizeof("phx_kernel")
    made.op.data, made.op.size = name, len(ffi().string(name))
    made.dtypes = dtypes
    made.n_inputs, made.n_outputs = 2, 1
    made.determinism, made.error_bound = 2, 0.5
    made.run = ffi().cast("phx_run_fn", 8)
    for field, value in fields.items():
        setattr(made, field, value)
    return made, name, dtypes


def read(*rows: Any, newer: bool = False) -> TableRead:
    array = ffi().new("const phx_kernel *[]", [r[0] if r else ffi().NULL for r in rows])
    return read_table(array, len(rows), newer=newer)


def problem(*rows: Any, newer: bool = False) -> str:
    return str(read(*rows, newer=newer).problems[0])


def test_a_correct_row() -> None:
    kept = row()
    read_back = read(kept)
    (found,) = read_back.rows
    assert read_back.problems == read_back.unknown == []
    assert found.key == ("add", ("float32",) * 3, Layout.CONTIGUOUS)
    assert (found.determinism, found.error_bound, found.run) == ("bitwise", 0.5, 8)
    assert found.address == int(ffi().cast("uintptr_t", kept[0]))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"struct_size": 8}, "struct_size: it is 8"),
        ({"name": b""}, "name is missing"),
        ({"name": b"multiplyy"}, "has no op 'multiplyy'; did you mean 'multiply'?"),
        ({"name": b"\xff\xfe"}, "has no op"),
        ({"dtypes": [11, 11, 12]}, "no signature float32,float32->float64"),
        ({"dtypes": [11, 11, 77]}, "unknown element types [77]"),
        ({"n_inputs": 1, "n_outputs": 2}, "no signature float32->float32,float32"),
        ({"n_outputs": 0}, "2 inputs and 0 outputs"),
        ({"n_inputs": 9999}, "9999 inputs"),
        ({"n_inputs": 2**32 - 1, "n_outputs": 2}, "4294967295 inputs"),
        ({"layout": 3}, "layout: add(float32, float32, float32): unknown layout 3"),
        ({"determinism": -1}, "unknown determinism class -1"),
        ({"error_bound": float("nan")}, "error_bound: add(float32, float32, float32): it is nan"),
        ({"run": ffi().NULL}, "run: add(float32, float32, float32): it is null"),
    ],
)
def test_faulty_rows(fields: dict[str, Any], problem: str) -> None:
    good, bad = row(dtypes=[12, 12, 12]), row(**fields)
    found = read(good, bad)
    assert len(found.rows) == 1
    (line,) = found.problems
    assert line.field.startswith("kernel_table[1].")
    assert problem in str(line)
    if fields not in ({"name": b"multiplyy"}, {"name": b"\xff\xfe"}):
        return
    single, why = read_row(bad[0])
    assert single is None
    assert problem in str(why)


def test_null_rows_tables_and_duplicates() -> None:
    one = row()
    assert problem(None) == "kernel_table[0].struct_size: the pointer to the row is null"
    assert "the same key" in problem(one, one)
    assert "null pointer" in str(read_table(ffi().NULL, 3).problems[0])
    assert read_table(ffi().NULL, 0) == TableRead()
    far = ffi().cast("const phx_kernel *const *", 8)
    assert "more than" in str(read_table(far, 2**40).problems[0])


@pytest.mark.parametrize(
    "fields",
    [
        {"name": b"later_op"},
        {"layout": 9},
        {"determinism": 7},
        {"dtypes": [11, 11, 15]},
        {"dtypes": [0, 0, 0]},
    ],
)
def test_a_newer_plugin_may_have_rows_that_we_do_not_know(fields: dict[str, Any]) -> None:
    """They are left out and told; from a plugin of our version they are mistakes."""
    later = row(**fields)
    found = read(row(), later, newer=True)
    assert (len(found.rows), found.problems, len(found.unknown)) == (1, [], 1)
    assert len(read(row(), later).problems) == 1


def test_a_newer_plugin_may_not_have_broken_rows() -> None:
    assert "run: " in problem(row(name=b"later_op", run=ffi().NULL), newer=True)
    assert "n_inputs" in problem(row(n_inputs=9999), newer=True)


def test_a_stale_build_of_the_declarations_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = types.ModuleType("phalanx._abi")
    stale.ffi = types.SimpleNamespace(integer_const=lambda name: 1)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "phalanx._abi", stale)
    monkeypatch.setattr(abi, "_ffi", None)
    assert abi.ffi().sizeof("phx_api") == SIZE


def test_the_builder_writes_the_same_declarations(tmp_path: Any) -> None:
    builder = abi_build.builder()
    target = tmp_path / "_abi.py"
    builder.emit_python_code(str(target))
    made: dict[str, Any] = {}
    exec(compile(target.read_text(), str(target), "exec"), made)
    assert made["ffi"].sizeof("phx_api") == ffi().sizeof("phx_api")
    crc = constants_crc()
    assert made["ffi"].integer_const("PHX_DECLARATIONS_CRC") == crc


def constants_crc() -> int:
    return int(abi_build.declarations().rsplit(maxsplit=1)[1])
