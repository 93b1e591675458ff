"""CUDA's compiler takes the texts and fuses nothing: some of them here, all in `make test-all`."""

from __future__ import annotations

import itertools

import pytest
from phalanx import device_code
from phalanx.device_code.recipe import Program
from phalanx.kernels_cuda import cusolver, libraries
from phalanx.optable import OPS, Structure

from device_code.cuda import problem
from device_code.sass import CAPABILITIES
from device_code.texts import all_texts, texts_of

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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_what_stands_around_a_library_compiles(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_version", lambda: "14.2.0")
    (kernel,) = cusolver.kernels_of("eigh", (dtype, dtype))
    (program,) = kernel.handle.programs
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


def test_no_op_is_left_out() -> None:
    """Or a share of nothing would be checked."""
    for row in OPS.values():
        if row.structure in device_code.MODULES:
            assert texts_of(row.name, row.signatures[0].dtypes), row.name
    assert len(list(itertools.islice(all_texts(), 1000))) == 1000
