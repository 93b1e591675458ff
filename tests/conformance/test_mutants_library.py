"""Mutants of the CPU library: what they change, which cases see it, and a run of some."""

from __future__ import annotations

import ctypes
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from phalanx.conformance.mutants import library
from phalanx.conformance.mutants.calling import Calling
from phalanx.conformance.mutants.choice import evenly
from phalanx.conformance.mutants.crew import Change, Crew, Order
from phalanx.conformance.mutants.functions import Functions
from phalanx.conformance.mutants.library import Workshop
from phalanx.conformance.mutants.markdown import page
from phalanx.conformance.mutants.mutant import Mutant, library_files, of_file
from phalanx.conformance.mutants.tracing import TRACER, Trace
from phalanx.conformance.mutants.trials import run_mutants
from phalanx.device_plugins.cpu import best_library

pytestmark = pytest.mark.usefixtures("sources")

TEXT = """\
static const int table[2] = {1, 2};
static int one(int x) { return x + 1; }
static int two(int x) { return one(x) * table[1]; }
static int three(int x) { return x; }
int four(int x) { return two(x); } int five(int x) { return x - 5; }
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("x + 1", "x - 1", {"one"}),
        ("{1, 2}", "{1, 3}", {"two"}),
        ("return x;", "\n;", {"three"}),
        ("x - 5", "x + 5", {"five"}),
        ("two(x); }", "one(x); }", {"four"}),
    ],
)
def test_the_functions_that_a_change_reaches(old: str, new: str, changed: set[str]) -> None:
    assert Functions(TEXT).changed(TEXT.replace(old, new)) == changed


def test_the_functions_of_a_line_of_a_table() -> None:
    text = TEXT + "static const row rows[] = {\n{1.0, one},\n{2.0, two},\n};\n"
    text += "int offer(void) { return use(rows); }\n"
    assert Functions(text).changed(text.replace("{2.0", "{3.0")) == {"two", "offer"}


def test_the_functions_of_a_row_of_several_lines() -> None:
    text = (
        TEXT + "static const row rows[] = {\n{1.0, \n   }, one, 0},\n{{2.0, \n   }, two, 0},\n};\n"
    )
    assert Functions(text).changed(text.replace("{2.0", "{3.0")) == {"two"}


def test_marks_in_literals_are_none() -> None:
    text = 'void say(void) { tell("{(", \'(\', "\\"{"); }\n' + TEXT
    assert Functions(text).changed(text.replace("x + 1", "x - 1")) == {"one"}


def test_a_directive_before_a_function_is_no_part_of_it() -> None:
    text = '#pragma GCC target("arch=x86-64")\nint one(void) {\n    return 1;\n}\n'
    assert Functions(text).changed(text.replace("return 1", "return 2")) == {"one"}


def test_what_an_object_has() -> None:
    assert Functions(TEXT).live(iter(["four"])) == {"four", "two", "one", "table"}


def test_who_calls() -> None:
    assert Functions(TEXT).callers({"one"}) == {"two"}
    assert Functions(TEXT).callers({"four"}) == set()


def test_a_trace(tmp_path: Path) -> None:
    (tmp_path / "tracer.c").write_text(TRACER)
    (tmp_path / "text.c").write_text(
        "static int help(int x) { return x + 1; }"
        '__attribute__((visibility("default"))) int run(int x) { return x ? help(x) : x; }'
    )
    for name, option in (("text", "-finstrument-functions"), ("tracer", "-w")):
        command = ["cc", "-c", "-fPIC", "-fvisibility=hidden", option, f"{name}.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
    command = ["cc", "-shared", "-o", "both.so", "text.o", "tracer.o"]
    subprocess.run(command, cwd=tmp_path, check=True)
    trace = Trace(tmp_path / "both.so")
    opened = ctypes.CDLL(str(tmp_path / "both.so"))
    assert trace.taken() == []
    opened.run(0)
    assert trace.taken() == ["run"]
    opened.run(3)
    assert trace.taken() == ["run", "text:help"]


def test_the_cases_that_call_a_function(tmp_path: Path) -> None:
    names = ["ops/sort[sort(int8)->int8]", "ops/sort[sort(int16)->int16]"]
    names += ["ops/reduction[sum(int8)->int64]", "semantics/unique"]
    called = [{"sort", "copy"}, {"sort", "copy"}, {"sum", "copy"}, {"sort", "sum"}]
    calling = Calling(
        dict.fromkeys(names, 0.01), {n: frozenset(c) for n, c in zip(names, called, strict=True)}
    )
    assert set(calling.cases_of({"sum"}, 1)) == {names[2], names[3]}
    first, second, third, last = calling.cases_of({"copy", "sort"}, 1)
    assert {first, second} >= {names[2]}
    assert {first, second, last} >= {*names[:2]}
    assert third == "semantics/unique"
    assert calling.cases_of({"lost"}, 1) == ()
    calling.save(tmp_path / "calling.json", "of these")
    assert Calling.load(tmp_path / "calling.json", "of these") == calling
    assert Calling.load(tmp_path / "calling.json", "of others") is None
    assert Calling.load(tmp_path / "nothing.json", "of these") is None


def test_files_and_operators_take_turns() -> None:
    lists = [of_file(name) for name in library_files()[:4]]
    drawn = list(evenly(lists, 20))
    assert sorted(m.name for m in drawn) == sorted(m.name for some in lists for m in some)
    assert len({m.text for m in drawn[:4]}) == len([some for some in lists if some])
    assert len({m.operator for m in drawn[:40]}) > 5
    assert [m.name for m in evenly(lists, 21)] != [m.name for m in drawn]


def test_a_mutant_of_a_source_is_a_file_with_one_other_line(sources: Path) -> None:
    for name in ("kernels_cpu/src/sort/sort.c", "core/scalar/complex_exp.h"):
        right = (sources / name).read_text("utf-8").splitlines()
        for one in of_file(name)[:40]:
            wrong = one.file.splitlines()
            lines = [i for i, (a, b) in enumerate(zip(right, wrong, strict=True), 1) if a != b]
            assert one.place == f"{name}:{lines[0]}"
            assert len(lines) == 1


def test_a_mutant_whose_line_moves(sources: Path) -> None:
    name = "kernels_cpu/src/sort/sort.c"
    lines = (sources / name).read_text("utf-8").splitlines()
    one = next(m for m in of_file(name) if lines.count(m.before) == 1)
    assert one.found() == one
    assert replace(one, line=one.line + 1).found() == one
    assert replace(one, before="no such line").found() is None
    assert replace(one, text="kernels_cpu/src/no_such_file.c").found() is None


def test_there_are_sources_of_the_library() -> None:
    assert {"kernels_cpu/src/sort/sort.c", "core/scalar/real_exp.h"} < set(library_files())


def test_without_sources_or_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(library, "checkout", lambda: None)
        with pytest.raises(ValueError, match="a wheel has none; make a checkout"):
            Workshop(tmp_path, "baseline")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ValueError, match="install gcc or clang"):
        Workshop(tmp_path, "baseline")


def test_a_crew_says_what_failed() -> None:
    path = str(best_library().path)
    with Crew("cpu:0", 20) as crew:
        some = [case for case in crew.cases if case.startswith("ops/sort[")][:3]
        answer = crew.run(Order(Change(library=path), some, True, 60.0, 60.0))
        assert (answer.case, answer.ran, answer.partial) == ("", 3, False)
        answer = crew.run(Order(Change(library=path), some, True, 60.0, 0.0))
        assert (answer.case, answer.ran, answer.partial) == ("", 0, True)
        answer = crew.run(Order(Change(library="/no/such/_cpu_avx2.so"), some, True, 60.0, 60.0))
        assert answer.case == "(before the first case)"
        assert "cpu:0 is not usable" in answer.message
        # what became of one process is nothing to the next
        assert not crew.run(Order(Change(library=path), some, True, 60.0, 60.0)).case


def test_a_crew_that_does_not_start() -> None:
    with pytest.raises(RuntimeError, match="the suite did not run"), Crew("cpu:0", -1):
        pass


def test_the_page() -> None:
    trial = {
        **Mutant("core/scalar/order.h", 1, "sum", "a | b", "a - b").to_dict(),
        **{"place": "core/scalar/order.h:2", "reached": 3, "partial": True, "reason": ""},
    }
    trials = [
        {**trial, "verdict": "killed", "stage": "quick"},
        {**trial, "verdict": "killed", "stage": "full"},
        {**trial, "verdict": "survived", "stage": ""},
        {**trial, "verdict": "equivalent", "stage": "", "reason": "nothing is added"},
    ]
    test = {"device": "cpu:0", "unused": 7, "seed": 20, "date": "today", "mutants": trials}
    text = page([test, {**test, "device": "opencl:0", "mutants": trials[:1]}])
    assert "5 were tried: this does not hold yet." in text
    assert "| **count** | 3 | 1 | 4 |" in text
    assert "| **killed by the full run** | 66.7 % | 100.0 % | 75.0 % |" in text
    assert "| `core/scalar/order.h` | 2/3 | 2/3 |" in text
    assert "| `a \\| b` | `a - b` | in time |" in text
    assert "| nothing is added | 1 |" in text


@pytest.mark.exhaustive
def test_a_run(tmp_path: Path) -> None:
    """A minute to build the library, some to note the cases; then mutants of sorts are caught."""
    told = {"quick": True, "seed": 20, "count": 8, "folder": tmp_path}
    found = run_mutants("cpu:0", of=("kernels_cpu/src/sort/*",), **told)  # type: ignore[arg-type]
    assert len(found.trials) == 8
    assert sum(trial.killed for trial in found.trials) >= 4
    lines = (tmp_path / "trials.jsonl").read_text().splitlines()
    assert sum("unused" not in json.loads(line) for line in lines) == 8


@pytest.mark.exhaustive
@pytest.mark.timeout(1200)
def test_a_header_is_changed_in_few_objects_or_in_all(tmp_path: Path) -> None:
    """What is tried again is in every object that has the line."""
    isa = best_library().path.name.partition(".")[0].removeprefix("_cpu_")
    shop = Workshop(tmp_path, isa)
    mutants = (m for m in of_file("core/scalar/real_common.h") if m.operator == "sum")
    found = ((m, shop.build(m, everywhere=False)) for m in mutants)
    mutant, few = next((m, built) for m, built in found if built.path is not None)
    assert 0 < len(few.functions) < len(shop.build(mutant, everywhere=True).functions)
