"""The mutants of the self-test: their operators, where they are applied, and how they are drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from phalanx.conformance.mutants import hook
from phalanx.conformance.mutants.choice import Chooser
from phalanx.conformance.mutants.hook import LIST, changed, noted
from phalanx.conformance.mutants.mutant import WRITTEN, Mutant, bodies, of_file, of_program
from phalanx.conformance.mutants.operators import OPERATORS, changes
from phalanx.conformance.mutants.reach import reached, used
from phalanx.conformance.mutants.trial import equivalents
from phalanx.device_code import programs
from phalanx.device_code.recipe import Program

PROGRAM = """
#define TWICE(x) ((x) + (x))
static inline __attribute__((always_inline)) int help(int a) { return TWICE(a); }
static inline int other(int a) { return a - 1; }
__kernel void run(__global int *o, const int n) {
    if (n < 4) o[0] = help(n);
}
"""


@pytest.mark.parametrize(
    ("line", "operator", "after"),
    [
        ("for (u64 i = 0; i < n; i++) {", "compare", "for (u64 i = 0; i <= n; i++) {"),
        ("if (a == b) x++;", "equal", "if (a != b) x++;"),
        ("x = a + b;", "sum", "x = a - b;"),
        ("x = a % b;", "product", "x = a / b;"),
        ("if (a && b) {", "logic", "if (a || b) {"),
        ("x = a << 3;", "shift", "x = a >> 3;"),
        ("x = a << 3;", "constant", "x = a << 4;"),
        ("    0.5,", "ulp", "    0.5000000000000001,"),
        ("    0.5f,", "ulp", "    0.5000000596046448f,"),
        ("    0x3fe0000000000000,", "ulp", "    0x3fe0000000000001,"),
        ("const u64 at = i;", "narrow", "const u32 at = i;"),
        ("if (x == 0) return y;", "branch", "if (0) return y;"),
        ("r = a < b ? c : d;", "branch", "r = a < b && 0 ? c : d;"),
        ("at = row * shape[i];", "swap", "at = row * stride[i];"),
        ("x = max(a, b);", "swap", "x = min(a, b);"),
        ("    carry += x;", "drop", "    ;"),
        ("    PHX_BARRIER();", "drop", "    ;"),
        ("y = (f64)x;", "cast", "y = x;"),
        ("return -x;", "negation", "return x;"),
    ],
)
def test_operators(line: str, operator: str, after: str) -> None:
    assert (operator, after) in changes(line)


def test_what_is_no_code_has_no_mutants() -> None:
    assert not changes("/* a < b */")
    assert not changes(" * a < b")
    assert not changes("#if A < B")
    assert all(" /* b < c */" in after for _, after in changes("x = a + 1; /* b < c */"))
    assert all(after.startswith("#define F(n) ") for _, after in changes("#define F(n) (n + 1)"))
    assert "drop" not in dict(changes("    const u32 a = 5;"))


def test_each_operator_has_mutants_of_the_kernels() -> None:
    found = {mutant.operator for name in bodies() for mutant in of_file(name)}
    assert found == set(OPERATORS)


def test_a_mutant_of_a_file() -> None:
    mutant = next(m for m in of_file("core/device_code/gather.h") if m.operator == "sum")
    text = f"head\n{bodies()[mutant.text]}tail\n"
    after = mutant.applied(text)
    assert [a for a, b in zip(after.splitlines(), text.splitlines(), strict=True) if a != b] == [
        mutant.after
    ]
    assert mutant.applied("another text") == "another text"
    assert mutant.place.startswith("core/device_code/gather.h:")
    assert mutant.difference.startswith("- ")


def test_a_mutant_of_a_written_program() -> None:
    body = bodies()["core/device_code/gather.h"]
    source = f"x = a + b;\n{body}x = a + b;\n"
    first, second = (m for m in of_program(source) if m.operator == "sum")
    assert first.text == WRITTEN
    assert first.applied(source) == f"x = a - b;\n{body}x = a + b;\n"
    assert second.applied(source) == f"x = a + b;\n{body}x = a - b;\n"
    assert second.applied("x = a + b;\n") == "x = a + b;\n"


def test_names_stay_when_lines_move() -> None:
    mutant = of_file("core/scalar/order.h")[0]
    assert mutant.name == Mutant(**{k: v for k, v in mutant.to_dict().items() if k != "name"}).name
    assert len({m.name for m in of_file("core/scalar/order.h")}) == len(
        of_file("core/scalar/order.h")
    )
    assert replace(mutant, operator="other").name != mutant.name


def test_what_kernels_use() -> None:
    whole = used(PROGRAM)
    assert used(PROGRAM.replace("(x) + (x)", "(x) - (x)")) != whole
    assert used(PROGRAM.replace("n < 4", "n <= 4")) != whole
    assert used(PROGRAM.replace("a - 1", "a + 1")) == whole
    assert used(PROGRAM.replace("#define", "/* a comment */\n#define")) == whole


def test_tables_and_types_are_used() -> None:
    text = "typedef struct { int a; } t; static const int table[2] = {1, 2};"
    text += "__kernel void run(t x) { x.a = table[0]; }"
    assert "table" in reached(text)
    assert "typedef" in reached(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two noted programs; the second has a file's text in its head."""
    name = "test_elementwise.py::test_elementwise[{}]"
    rows = []
    for op, head in (
        ("abs(int8)->int8", ""),
        ("sign(int8)->int8", bodies()["core/scalar/order.h"]),
    ):
        source = PROGRAM if op.startswith("abs") else PROGRAM.replace("4", "5")
        for kind, text in (("head", head), ("source", source)):
            (tmp_path / f"{kind}-{op[:3]}").write_text(text)
        node = f"conformance/groups/ops/{name.format(op)}"
        rows.append({"node": node, "head": f"head-{op[:3]}", "source": f"source-{op[:3]}"})
    (tmp_path / LIST).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_the_choice_is_that_of_the_seed(folder: Path) -> None:
    drawn = [
        [m.name for m in Chooser.of_folder(folder, seed).candidates()] for seed in (20, 20, 21)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert sorted(drawn[0]) == sorted(drawn[2])


def test_mutants_have_the_cases_whose_programs_they_change(folder: Path) -> None:
    chooser = Chooser.of_folder(folder, 20)
    choices = [chooser.choice(mutant) for mutant in chooser.candidates()]
    cases = {c.mutant.before.strip(): c.cases for c in choices if c}
    assert cases["if (n < 4) o[0] = help(n);"] == ("ops/elementwise[abs(int8)->int8]",)
    assert set(cases["#define TWICE(x) ((x) + (x))"]) == {
        "ops/elementwise[abs(int8)->int8]",
        "ops/elementwise[sign(int8)->int8]",
    }
    assert not any("a - 1" in line for line in cases)
    assert None in choices


def test_the_hook_changes_texts_and_notes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = Mutant(WRITTEN, 0, "sum", "x = a + b;", "x = a - b;")

    def right(program: Program, *_: object) -> str:
        return f"head\n{program.source}"

    program = Program("x = a + b;\n", ())
    assert changed(right, mutant)(program, None, None) == "head\nx = a - b;\n"  # type: ignore[arg-type]
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "groups/ops/test_x.py::test_x[1] (call)")
    assert noted(right, tmp_path)(program, None, None) == "head\nx = a + b;\n"  # type: ignore[arg-type]
    line = json.loads((tmp_path / LIST).read_text())
    assert line["node"] == "groups/ops/test_x.py::test_x[1]"
    assert (tmp_path / line["head"]).read_text() == "head\n"
    before = programs.full_text
    try:
        hook.wrap(lambda whole: lambda *args: whole(*args) + "more")
        assert programs.full_text is not before
    finally:
        programs.__dict__["full_text"] = before


@pytest.mark.usefixtures("sources")
def test_each_equivalent_mutant_is_one_of_these_texts() -> None:
    path = Path(hook.__file__).with_name("equivalents.json")
    entries = json.loads(path.read_text("utf-8"))
    texts = {entry["text"] for entry in entries} - {WRITTEN}
    names = {m.name for name in texts for m in of_file(name)}
    for entry in entries:
        assert entry["reason"].strip()
        assert entry["text"] == WRITTEN or entry["name"] in names, entry
    assert all(equivalents().values())
