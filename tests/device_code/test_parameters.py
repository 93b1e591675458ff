"""CUDA's compiler has parameters where g++ has them, whose layout the fake driver insists on."""

from __future__ import annotations

import pytest
from emulated.compiler import DIALECT, Code
from fake_cuda.library import places
from phalanx.device_code.source import full_text, kernel_names

from device_code.sass import parameters
from device_code.texts import GPU, texts_of

pytestmark = pytest.mark.needs_cpu


@pytest.mark.parametrize(
    ("op", "dtypes"),
    [
        ("add", ("int8",) * 3),
        ("where", ("bool", "complex64", "complex64", "complex64")),
        ("arange", ("int16",) * 3),
        ("arange", ("complex64",) * 3),
        ("arange", ("complex128",) * 3),
        ("sort", ("float32",) * 2),
        ("matmul", ("float64",) * 3),
        ("softmax", ("float16",) * 2),
    ],
    ids=str,
)
def test_both_compilers_agree(op: str, dtypes: tuple[str, ...]) -> None:
    seen: set[tuple[int, ...]] = set()
    for text in texts_of(op, dtypes)[::3]:
        names = kernel_names(text.program)
        entries = "".join(f"PHX_ENTRY({name})\n" for name in names)
        source = full_text(text.program, DIALECT, GPU) + entries
        code = Code(source, DIALECT.options(GPU), op)
        told = parameters(text.program)
        for name in names:
            kernel = code.kernel(name)
            assert told[name] == list(zip(places(kernel), kernel.sizes, strict=True)), name
            seen.add(kernel.sizes)
    assert seen
