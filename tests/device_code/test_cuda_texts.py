"""CUDA's compiler takes the texts and fuses nothing: some of them here, all in `make test-all`."""

from __future__ import annotations

import itertools
import re

import pytest
from emulated.driver import TRAITS
from phalanx import device_code
from phalanx.device_code.recipe import Program
from phalanx.kernels_cuda import cub, cusolver, libraries
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.optable import OPS, Structure

from device_code.cuda import Task, checked, problem, tasks
from device_code.sass import CAPABILITIES
from device_code.texts import Text, all_texts, chosen_texts, matrix_texts, texts_of

pytestmark = pytest.mark.needs_cpu
#: One overload of each kind of text; the elementwise ones have all headers between them.
_OVERLOADS = [
    ("add", ("float16",) * 3),
    ("where", ("bool", "complex128", "complex128", "complex128")),
    ("multiply", ("complex64",) * 3),
    ("atan2", ("bfloat16",) * 3),
    ("pow", ("float64",) * 3),
    ("logaddexp", ("float32",) * 3),
    ("acosh", ("complex64",) * 2),
    ("floor_divide", ("int8",) * 3),
    ("cast", ("float64", "uint64")),
    *(
        (row.name, row.signatures[number % len(row.signatures)].dtypes)
        for number, row in enumerate(OPS.values())
        if row.structure in set(device_code.MODULES) - {Structure.ELEMENTWISE}
    ),
]


@pytest.mark.parametrize(("op", "dtypes"), _OVERLOADS, ids=lambda value: str(value))
def test_compiles_without_contraction(op: str, dtypes: tuple[str, ...]) -> None:
    texts = texts_of(op, dtypes)
    for text, capability in zip(texts[:: max(1, len(texts) // 3)], CAPABILITIES, strict=False):
        assert problem(text.program, capability=capability) == "", text.program.source


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *(("eigh", dtype) for dtype in ("float32", "float64", "complex64", "complex128")),
        *(("argsort", dtype) for dtype in ("float32", "int64", "float64")),
    ],
)
def test_what_stands_around_a_library_compiles(
    op: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "_version", lambda: "14.2.0")
    (kernel,) = (
        cusolver.kernels_of(op, (dtype, dtype))
        if op == "eigh"
        else cub.kernels_of(op, (dtype, "int64"), TRAITS)
    )
    for program in kernel.handle.programs:
        for capability in CAPABILITIES:
            assert problem(program, capability=capability) == ""


@pytest.mark.parametrize("number", [0, 1])
def test_contraction_would_be_seen(number: int) -> None:
    program = texts_of("arange", (("float32", "complex128")[number],) * 3)[0].program
    assert "fma" in problem(program, ("-fmad=true",))


def test_flushed_subnormals_and_approximations_would_be_seen() -> None:
    source = "PHX_KERNEL(1) run(PHX_OUTPUT(f32, o)) { *PHX_DATA(o) = *PHX_DATA(o) / 3.0f; }"
    assert problem(Program(source)) == ""
    assert "ftz" in problem(Program(source), ("-ftz=true",))
    assert "f32" in problem(Program(source), ("-prec-div=false",))


def test_a_mistake_would_be_seen() -> None:
    assert "undefined" in problem(Program("PHX_KERNEL(1) run() { get_global_id(0); }"))


def test_what_is_chosen_for_every_run_has_each_expression_in_some_form() -> None:
    """And each form: a text in place of another, or none, would not be compiled."""
    texts = chosen_texts()
    assert {OPS[text.op].structure for text in texts} == set(device_code.MODULES)
    sources = [text.program.source for text in texts]
    assert len(set(sources)) == len(sources) > 1000
    elementwise = [s for text, s in zip(texts, sources, strict=True) if _is_elementwise(text.op)]
    for mark in ("o_pack", "place rest", "typedef i64 place", "i < count", "[0];", "shape[7]"):
        assert 10 < sum(mark in source for source in elementwise) < len(elementwise), mark
    others = {text.program.source for text in all_texts() if not _is_elementwise(text.op)}
    assert others <= set(sources)


def _is_elementwise(op: str) -> bool:
    return OPS[op].structure is Structure.ELEMENTWISE


def test_every_run_compiles_every_text_for_the_oldest_or_the_newest() -> None:
    quick, units = list(tasks(quick=True)), {text.program.source for text in matrix_texts()}
    every = {text.program.source for text in all_texts()}
    assert {text.program.source for task in quick for text in task.texts} == every | units
    assert units
    ends = [task.capability for task in quick if not task.to_code]
    assert abs(ends.count(CAPABILITIES[0]) - ends.count(CAPABILITIES[-1])) <= 1
    code = {task.texts[0].program.source for task in quick if task.to_code}
    assert code == units | {text.program.source for text in chosen_texts()}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("get_global_id(0);", "get_global_id"),
        ("const u64 n = BLOCK;", "BLOCK"),  # another text defines it
        ("*PHX_DATA(o) = __fdividef(3, *PHX_DATA(o));", "approx"),
    ],
)
def test_a_mistake_among_texts_that_are_compiled_at_once_is_named(body: str, said: str) -> None:
    texts = texts_of("sum", ("float32",) * 2)[:2]
    assert "#define BLOCK" in texts[0].program.source
    assert checked(Task(texts, (7, 5), to_code=False)) == []
    source = f"PHX_KERNEL(1) run(PHX_OUTPUT(f32, o)) {{ {body} }}"
    wrong = Text("wrong", (), Program(source, texts[0].program.headers))
    (found,) = checked(Task([*texts, wrong], (7, 5), to_code=False))
    assert found.startswith("wrong() for (7, 5)")
    assert said in found


def test_what_depends_on_the_capability_is_marked() -> None:
    """`cuda.tasks` looks for this word."""
    guards = r"#if __CUDA_ARCH__ >= (\d+)\n(.*?)#endif"
    found = dict(re.findall(guards, DIALECT.text, re.DOTALL))
    assert DIALECT.text.count("__CUDA_ARCH__") == len(found)
    words = {each: re.findall(r"#define PHX_(\w+)", text) for each, text in found.items()}
    copies = ["ASYNC_COPY", "ASYNC_WAIT", "ASYNC_MARK", "ASYNC_WAIT_BUT"]
    assert words == {"800": copies, "900": ["MATRIX_F64"]}


def test_no_op_is_left_out() -> None:
    """Or a share of nothing would be checked."""
    for row in OPS.values():
        if row.structure in device_code.MODULES:
            assert texts_of(row.name, row.signatures[0].dtypes), row.name
    assert len(list(itertools.islice(all_texts(), 1000))) == 1000
