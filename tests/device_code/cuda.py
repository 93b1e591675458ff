"""Kernel texts through CUDA's compiler, and what their PTX must not contain.

``python -m device_code.cuda`` from tests/ compiles every text on all cores, to the code of each of
`CAPABILITIES`; `make test-all` does. ``--quick`` compiles every text to PTX for the oldest or the
newest one in turn, many at a time, which takes a third of the time each, and `chosen_texts` to the
code of one of them, of both where the dialect has words that depend on it; `.ci/run` does.
"""

from __future__ import annotations

import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import click
from phalanx.device_code.recipe import Program
from phalanx.device_code.source import full_text
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.kernels_cuda.nvrtc import NvrtcError

from .sass import CAPABILITIES, compiler
from .texts import GPU, Text, all_texts, chosen_texts, in_namespace, matrix_texts

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


_ENDS = (CAPABILITIES[0], CAPABILITIES[-1])
#: Texts of a compilation: 32 take 16 ms each, 8 take 21 ms, one alone 48 ms (2026-11).
_TOGETHER = 32


class Task(NamedTuple):
    """Texts with the same headers that are compiled at once, to code or only to PTX."""

    texts: list[Text]
    capability: tuple[int, int]
    to_code: bool


def problem(
    program: Program,
    options: tuple[str, ...] = DIALECT.options(GPU),
    capability: tuple[int, int] = (9, 0),
    *,
    to_code: bool = True,
) -> str:
    """Return what is wrong with a program for a compute capability, or nothing."""
    kind = "sm" if to_code else "compute"
    architecture = f"--gpu-architecture={kind}_{capability[0]}{capability[1]}"
    try:
        ptx = compiler().ptx(full_text(program, _DIALECT, GPU), (*options, architecture))
    except NvrtcError as error:
        return next((line for line in str(error).splitlines() if "error" in line), str(error))
    found = _FORBIDDEN.search(_WRITTEN.sub("", ptx))
    return f"PTX has {found[0]}, which nobody wrote" if found else ""


def joined(texts: list[Text]) -> Program:
    """Return texts with the same headers as one program."""
    # kernels with the linkage of C would share one name in spite of the namespaces
    words = "".join(
        f"#undef {word}\n#define {word}(n) __global__ void __launch_bounds__(n)\n"
        for word in ("PHX_KERNEL", "PHX_KERNEL_OF")
    )
    source = "".join(
        in_namespace(f"text_{number}", text.program.source) for number, text in enumerate(texts)
    )
    return Program(words + source, texts[0].program.headers)


def checked(task: Task) -> list[str]:
    """Return what is wrong with texts: if something is with all at once, they are tried alone."""
    texts, capability, to_code = task
    if len(texts) > 1 and not problem(joined(texts), capability=capability, to_code=to_code):
        return []
    found = [
        f"{text.op}({', '.join(text.dtypes)}) for {capability}: {said}"
        for text in texts
        if (said := problem(text.program, capability=capability, to_code=to_code))
    ]
    if len(texts) > 1 and not found:
        found.append(f"{len(texts)} texts like {texts[0].op} for {capability}: only together wrong")
    return found


def tasks(*, quick: bool) -> Iterator[Task]:
    """Yield what there is to compile."""
    yield from (Task([text], (9, 0), True) for text in matrix_texts())
    every = list(all_texts())
    if not quick:
        for capability in CAPABILITIES:
            yield from (Task([text], capability, True) for text in every)
        return
    for number, text in enumerate(chosen_texts()):
        both = "PHX_ASYNC_COPY" in text.program.source
        for capability in _ENDS if both else (_ENDS[number % 2],):
            yield Task([text], capability, True)
    for number, part in enumerate(_parts(every)):
        yield Task(part, _ENDS[number % 2], False)


def _parts(texts: Iterable[Text]) -> Iterator[list[Text]]:
    """Cut texts into some with the same headers."""
    by_headers: defaultdict[tuple[str, ...], list[Text]] = defaultdict(list)
    for text in texts:
        by_headers[text.program.headers].append(text)
    for same in by_headers.values():
        yield from (same[i : i + _TOGETHER] for i in range(0, len(same), _TOGETHER))


@click.command()
@click.option("--quick", is_flag=True, help="Every text to PTX, a share of them to code.")
def main(*, quick: bool) -> None:
    """Compile every text; end with 1 if one does not compile."""
    begin = time.perf_counter()
    work = list(tasks(quick=quick))
    done = failed = 0
    with ProcessPoolExecutor() as pool:
        for number, said in enumerate(pool.map(checked, work, chunksize=4), 1):
            failed += len(said)
            done += len(work[number - 1].texts)
            print(*said, sep="\n", end="\n" * bool(said))
            if number % 500 == 0 or number == len(work):
                seconds = time.perf_counter() - begin
                print(
                    f"{number} of {len(work)} compilations, {done} times a text, {failed} wrong, "
                    f"{seconds:.0f} s",
                    flush=True,
                )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
