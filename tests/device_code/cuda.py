"""Kernel texts through CUDA's compiler, and what their PTX must not contain.

``python -m device_code.cuda`` from tests/ compiles every text on all cores, for each of
`CAPABILITIES`; `make test-all` does. ``--chosen`` takes `chosen_texts` for the oldest or the newest
one in turn, and for both where the dialect has words that depend on it; `.ci/run` does.
"""

from __future__ import annotations

import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import click
from phalanx.device_code.recipe import Program
from phalanx.device_code.source import full_text
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.kernels_cuda.nvrtc import NvrtcError

from .sass import CAPABILITIES, compiler
from .texts import GPU, Text, all_texts, chosen_texts

#: The dialect with each written fma marked: PTX tells what the compiler made of text, and what not.
_MARKED = DIALECT.text
for _call, _type, _letter in (("__fmaf_rn", "f32", "f"), ("__fma_rn", "f64", "d")):
    _operands = ", ".join(f'"{_letter}"({name})' for name in "abc")
    _asm = f'asm("fma.rn.{_type} %0, %1, %2, %3;" : "={_letter}"(r) : {_operands});'
    assert f"return {_call}(a, b, c);" in _MARKED, "the dialect has another word for fma"
    _MARKED = _MARKED.replace(f"return {_call}(a, b, c);", f"{_type} r; {_asm} return r;")
_DIALECT = replace(DIALECT, text=_MARKED)
_WRITTEN = re.compile(r"// begin inline asm.*?// end inline asm", re.DOTALL)
#: Fused, flushed or approximate: none of the texts asks for it.
_FORBIDDEN = re.compile(r"\b(?:fma|\w+\.ftz|\w+\.approx|\w+\.full)\.[\w.]*f(?:32|64)\b")


def problem(
    program: Program,
    options: tuple[str, ...] = DIALECT.options(GPU),
    capability: tuple[int, int] = (9, 0),
) -> str:
    """Return what is wrong with a program for a compute capability, or nothing."""
    architecture = f"--gpu-architecture=sm_{capability[0]}{capability[1]}"
    try:
        ptx = compiler().ptx(full_text(program, _DIALECT, GPU), (*options, architecture))
    except NvrtcError as error:
        return next((line for line in str(error).splitlines() if "error" in line), str(error))
    found = _FORBIDDEN.search(_WRITTEN.sub("", ptx))
    return f"PTX has {found[0]}, which nobody wrote" if found else ""


def _checked(text: Text, capabilities: tuple[tuple[int, int], ...] = CAPABILITIES) -> str:
    for capability in capabilities:
        if said := problem(text.program, capability=capability):
            return f"{text.op}({', '.join(text.dtypes)}) for {capability}: {said}"
    return ""


def _some(texts: list[Text]) -> list[tuple[tuple[int, int], ...]]:
    """The capabilities for which chosen texts are compiled: what depends on them, for both ends."""
    ends = (CAPABILITIES[0], CAPABILITIES[-1])
    return [
        ends if "PHX_ASYNC_COPY" in text.program.source else (ends[number % 2],)
        for number, text in enumerate(texts)
    ]


@click.command()
@click.option("--chosen", is_flag=True, help="Those that have between them all that is in any.")
def main(*, chosen: bool) -> None:
    """Compile every text; end with 1 if one does not compile."""
    begin = time.perf_counter()
    texts = chosen_texts() if chosen else list(all_texts())
    capabilities = _some(texts) if chosen else [CAPABILITIES] * len(texts)
    compilations, failed = sum(map(len, capabilities)), 0
    with ProcessPoolExecutor() as pool:
        for number, said in enumerate(pool.map(_checked, texts, capabilities, chunksize=8), 1):
            if said:
                failed += 1
                print(said)
            if number % 500 == 0 or number == len(texts):
                seconds = time.perf_counter() - begin
                print(
                    f"{number} of {len(texts)} texts, {failed} wrong, {seconds:.0f} s", flush=True
                )
    print(f"{compilations} compilations")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
