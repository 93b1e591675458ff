"""What NVIDIA's assembler makes of kernels: registers, spills, widths of loads, fused operations.

No card is needed: NVRTC compiles, ``cuobjdump`` and ``nvdisasm`` read (packages
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm). ``python -m device_code.sass`` from tests/ writes
golden_sass.json anew, the table of what some kernels were when somebody last looked.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from phalanx.device_code.recipe import Program
from phalanx.device_code.source import full_text, kernel_names
from phalanx.kernels_cuda.dialect import DIALECT
from phalanx.kernels_cuda.nvrtc import Compiler, compilers

from .texts import GPU, texts_of

#: A function in the disassembler's text, and an instruction of it with its predicate before it.
_FUNCTION = re.compile(r"^\.text\.(\w+):", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.MULTILINE)
_USAGE = re.compile(r"Function (\w+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
GOLDEN = Path(__file__).with_name("golden_sass.json")
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
    ("sort", ("float32",) * 2),
    ("matmul", ("float32",) * 3),
    ("matmul", ("float64",) * 3),
]


@dataclass(frozen=True)
class Kernel:
    """One kernel as it would run.

    ``registers`` are a work-item's, ``stack`` and ``local`` its bytes in memory, ``shared`` those
    of a group; ``counts`` are of instructions by their names.
    """

    registers: int
    stack: int
    local: int
    shared: int
    counts: Counter[str]

    def count(self, pattern: str) -> int:
        """Return how many instructions have a name that begins with a pattern."""
        return sum(n for name, n in self.counts.items() if re.match(pattern, name))


@cache
def compiler() -> Compiler:
    """The newest NVRTC; skips where there is none."""
    found = compilers()
    if not found:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
    return max(found, key=lambda each: each.version)


@cache
def _tool(name: str) -> str:
    spec = find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for path in Path(root).rglob(name):
            return str(path)
    pytest.skip(f"no {name}: pip install nvidia-cuda-{name}")


def kernels(program: Program, capability: tuple[int, int] = (9, 0)) -> dict[str, Kernel]:
    """Return the kernels of a program by their names, compiled for a compute capability."""
    options = (*DIALECT.options(GPU), f"--gpu-architecture=sm_{capability[0]}{capability[1]}")
    image = compiler().cubin(full_text(program, DIALECT, GPU), options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        usage = _output(_tool("cuobjdump"), "-res-usage", file.name)
        text = _output(_tool("nvdisasm"), "-c", file.name)
    names = _FUNCTION.findall(text)
    bodies = dict(zip(names, _FUNCTION.split(text)[2::2], strict=True))
    return {
        name: Kernel(
            int(registers),
            int(stack),
            int(local),
            int(shared),
            Counter(_INSTRUCTION.findall(bodies[name])),
        )
        for name, registers, stack, shared, local in _USAGE.findall(usage)
    }


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


def name_of(op: str, dtypes: tuple[str, ...], capability: tuple[int, int]) -> str:
    """Return the name of an overload in the table."""
    return f"{op}({', '.join(dtypes)}) for {capability[0]}.{capability[1]}"


def main() -> None:
    """Write the table."""
    table = {name_of(*case, cap): rows(*case, cap) for cap in CAPABILITIES for case in TABLE}
    found = {"NVRTC": list(compiler().version), "kernels": table}
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
