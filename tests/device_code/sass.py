"""What NVIDIA's assembler makes of kernels: registers, spills, widths of loads, fused operations.

No card is needed: NVRTC compiles, ``cuobjdump`` and ``nvdisasm`` read (packages
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm). ``python -m device_code.sass`` from tests/ writes
golden_sass.json anew, the table of what some kernels were when somebody last looked.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.source import full_text, kernel_names
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.kernels_cuda.nvrtc import Compiler, compilers

from .flow import shortest
from .texts import GPU, texts_of

#: A function in the disassembler's text, and an instruction of it with its predicate before it.
_FUNCTION = re.compile(r"^\.text\.(\w+):", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.MULTILINE)
_USAGE = re.compile(r"Function (\w+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
#: What an image tells of a kernel; each of its parameters there.
_INFORMATION = re.compile(r"^\.nv\.info\.(\w+)\s*$", re.MULTILINE)
_PARAMETER = re.compile(
    r"EIATTR_KPARAM_INFO.*?Ordinal : (0x\w+)\s+Offset\s+: (0x\w+)\s+Size\s+: (0x\w+)", re.DOTALL
)
GOLDEN = Path(__file__).with_name("golden_sass.json")
#: The last of CUDA 12, which the tests bring: the table is of its code.
VERSION = (12, 9)
CAPABILITIES = ((7, 5), (8, 0), (9, 0), (12, 0))
#: The overloads of the table.
TABLE = [
    ("add", ("float32",) * 3),
    ("add", ("float64",) * 3),
    ("add", ("float16",) * 3),
    ("add", ("int8",) * 3),
    ("multiply", ("complex64",) * 3),
    ("where", ("bool", "float32", "float32", "float32")),
    ("cast", ("float32", "float64")),
    ("exp", ("float32",) * 2),
    ("tanh", ("float32",) * 2),
    ("sum", ("float32",) * 2),
    ("cumulative_sum", ("float32",) * 2),
    ("softmax", ("float32",) * 2),
    ("log_softmax", ("float32",) * 2),
    ("layer_norm", ("float32",) * 4),
    ("sort", ("float32",) * 2),
    ("matmul", ("float32",) * 3),
    ("matmul", ("float64",) * 3),
]
#: Functions that are computed in pairs of float32 where double is slow, and cards where it is.
PAIRS = ("exp", "exp2", "expm1", "tanh", "sigmoid", "silu", "softplus", "erf", "erfc", "gelu")
PAIRS += ("log", "log1p", "log2", "log10", "sin", "cos", "tan")
PAIRS += ("sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan", "cbrt")
PAIRS += ("lgamma", "digamma")
PAIRS_OF_TWO = ("pow", "atan2", "hypot", "logaddexp", "floor_divide", "remainder")
SLOW_CAPABILITIES = ((7, 5), (8, 9), (12, 0))
SLOW = replace(GPU, double_cost=64)


@dataclass(frozen=True)
class Kernel:
    """One kernel as it would run.

    ``registers`` are a work-item's, ``stack`` and ``local`` its bytes in memory, ``shared`` those
    of a group; ``counts`` are of instructions by their names, ``body`` is the disassembler's text.
    """

    registers: int
    stack: int
    local: int
    shared: int
    counts: Counter[str]
    body: str

    def count(self, pattern: str) -> int:
        """Return how many instructions have a name that begins with a pattern."""
        return sum(n for name, n in self.counts.items() if re.match(pattern, name))


@cache
def compiler() -> Compiler:
    """The NVRTC of CUDA 12 that the tests bring, or another one; skips where there is none."""
    found = sorted(compilers(), key=lambda each: each.version)
    if not found:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
    return next((each for each in found if each.version == VERSION), found[-1])


@cache
def _tool(name: str) -> str:
    spec = find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for path in Path(root).rglob(name):
            return str(path)
    pytest.skip(f"no {name}: pip install nvidia-cuda-{name}")


def kernels(
    program: Program, capability: tuple[int, int] = (9, 0), traits: Traits = GPU
) -> dict[str, Kernel]:
    """Return the kernels of a program by their names, compiled for a compute capability."""
    with _compiled(program, capability, traits) as path:
        usage = _output(_tool("cuobjdump"), "-res-usage", path)
        text = _output(_tool("nvdisasm"), "-c", path)
    names = _FUNCTION.findall(text)
    bodies = dict(zip(names, _FUNCTION.split(text)[2::2], strict=True))
    return {
        name: Kernel(
            int(registers),
            int(stack),
            int(local),
            int(shared),
            Counter(_INSTRUCTION.findall(bodies[name])),
            bodies[name],
        )
        for name, registers, stack, shared, local in _USAGE.findall(usage)
    }


def parameters(
    program: Program, capability: tuple[int, int] = (9, 0), traits: Traits = GPU
) -> dict[str, list[tuple[int, int]]]:
    """Return where each kernel of a program expects its parameters: offset and size of each."""
    with _compiled(program, capability, traits) as path:
        text = _output(_tool("cuobjdump"), "-elf", path)
    parts = _INFORMATION.split(text)
    found = {}
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        numbers = [tuple(int(x, 16) for x in each) for each in _PARAMETER.findall(part)]
        found[name] = [(offset, size) for _, offset, size in sorted(numbers)]
    return found


@contextlib.contextmanager
def _compiled(program: Program, capability: tuple[int, int], traits: Traits) -> Iterator[str]:
    options = (*DIALECT.options(traits), f"--gpu-architecture=sm_{capability[0]}{capability[1]}")
    image = compiler().cubin(full_text(program, DIALECT, traits), options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        yield file.name


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def row(kernel: Kernel) -> dict[str, int]:
    """Return what the table says of a kernel."""
    return {
        "registers": kernel.registers,
        "stack": kernel.stack,
        "shared": kernel.shared,
        "loads of 128 bits": kernel.count(r"LDG.*\.128"),
        "other loads": kernel.count("LDG") - kernel.count(r"LDG.*\.128"),
        "stores of 128 bits": kernel.count(r"STG.*\.128"),
        "spills": kernel.count("LDL|STL"),
        "FFMA": kernel.count("FFMA"),
        "DFMA": kernel.count("DFMA"),
        "instructions": kernel.counts.total(),
    }


def rows(
    op: str, dtypes: tuple[str, ...], capability: tuple[int, int]
) -> dict[str, dict[str, int]]:
    """Return the rows of the kernels of an overload, each from the commonest text that has it."""
    found: dict[str, dict[str, int]] = {}
    for text in texts_of(op, dtypes):
        if not found.keys() >= set(kernel_names(text.program)):
            for name, kernel in kernels(text.program, capability).items():
                found.setdefault(name, row(kernel))
    return dict(sorted(found.items()))


def pair_row(op: str, capability: tuple[int, int]) -> dict[str, int]:
    """Return what the table says of a function in pairs of float32."""
    dtypes = ("float32",) * (3 if op in PAIRS_OF_TWO else 2)
    (kernel,) = kernels(texts_of(op, dtypes)[0].program, capability, SLOW).values()
    way = shortest(kernel.body)
    return {
        "registers": kernel.registers,
        "double on the way": way.double,
        "instructions on the way": way.all,
        "spills": kernel.count("LDL|STL"),
        "DFMA": kernel.count("DFMA"),
        "instructions": kernel.counts.total(),
    }


def name_of(op: str, dtypes: tuple[str, ...], capability: tuple[int, int]) -> str:
    """Return the name of an overload in the table."""
    return f"{op}({', '.join(dtypes)}) for {capability[0]}.{capability[1]}"


def main() -> None:
    """Write the table."""
    table = {name_of(*case, cap): rows(*case, cap) for cap in CAPABILITIES for case in TABLE}
    ops = (*PAIRS, *PAIRS_OF_TWO)
    pairs = {f"{op} for {c[0]}.{c[1]}": pair_row(op, c) for c in SLOW_CAPABILITIES for op in ops}
    found = {"NVRTC": list(compiler().version), "kernels": table, "pairs": pairs}
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
