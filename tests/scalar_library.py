"""core/scalar as a Python callable: what the tests of the scalar functions share.

The headers are compiled by the system's C compiler through cffi, one loop per function, behind one
entry point.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-O1", "-g0", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
NUMPY = {f"{k}{8 * n}": np.dtype(f"{k}{n}") for k in "iu" for n in (1, 2, 4, 8)} | {
    "f32": np.dtype("f4"), "f64": np.dtype("f8"), "c64": np.dtype("c8"), "c128": np.dtype("c16"),
}  # fmt: skip


def _loop(name: str, types: Sequence[str]) -> str:
    """The loop over one function, with a signature which is the same for all."""
    inputs = [f"const {t} *restrict a{i} = in[{i}];" for i, t in enumerate(types[1:])]
    call = ", ".join(f"a{i}[i]" for i in range(len(inputs)))
    return (
        f"static void loop_{name}(void *out, const void *const *in, size_t count) {{\n"
        f"    {types[0]} *restrict o = out;\n    {' '.join(inputs)}\n"
        f"    for (size_t i = 0; i < count; i++) o[i] = phx_{name}({call});\n}}"
    )


class ScalarLibrary:
    """Compiled scalar functions as callables on arrays: library("add_i8", a, b).

    functions: name without ``phx_`` -> C types, the result first. Arrays may be of any dtype of the
    right item size (float16 and bfloat16 are u16); the result has the dtype of the C type.
    """

    def __init__(
        self,
        folder: Path,
        headers: Sequence[str],
        functions: Mapping[str, Sequence[str]],
        flags: Sequence[str] = (),
        define: str = "",
    ) -> None:
        self.functions = functions
        self.index = {name: i for i, name in enumerate(functions)}
        source = ["#include <stddef.h>", '#include "kernels_cpu/src/elementwise/dialect.h"', define]
        source += [f'#include "core/scalar/{h}"' for h in headers]
        source += [_loop(name, types) for name, types in functions.items()]
        source.append("static void (*const loops[])(void *, const void *const *, size_t) = {")
        source += [f"    loop_{name}," for name in functions]
        run = "void run(int which, void *out, const void *const *in, size_t count)"
        source.append(f"}};\nstatic {run} {{ loops[which](out, in, count); }}")
        module = f"_{folder.name}"
        builder = cffi.FFI()
        builder.cdef(f"{run};")
        options = {"include_dirs": [str(ROOT)], "extra_compile_args": [*FLAGS, *flags]}
        builder.set_source(module, "\n".join(source), **options)
        spec = importlib.util.spec_from_file_location(module, builder.compile(tmpdir=str(folder)))
        assert spec is not None
        assert spec.loader is not None
        built = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(built)
        self.ffi, self.lib = built.ffi, built.lib

    def __call__(self, name: str, *args: Array) -> Array:
        result, *types = self.functions[name]
        arrays = [np.ascontiguousarray(a) for a in args]
        assert [a.dtype.itemsize for a in arrays] == [NUMPY[t].itemsize for t in types], name
        assert len({a.shape for a in arrays}) == 1, name
        out = np.empty(arrays[0].shape, NUMPY[result])
        pointers = [self.ffi.cast("void *", a.ctypes.data) for a in (out, *arrays)]
        inputs = self.ffi.new("void *[]", pointers[1:])
        self.lib.run(self.index[name], pointers[0], inputs, out.size)
        return out


COMPLEX_UNARY = (
    "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "reciprocal", "sign",
    "negative", "conj", "round",
)  # fmt: skip
REAL_VALUED = ("abs", "real", "imag")
PREDICATES = ("isnan", "isinf", "isfinite")
BINARY = ("add", "subtract", "multiply", "divide", "pow")
COMPARISONS = ("equal", "not_equal")
OUTLINE = "#undef PHX_OUTLINE\n#define PHX_OUTLINE static __attribute__((noinline, unused))"


def complex_signatures() -> dict[str, tuple[str, ...]]:
    """Function name without phx_ -> C types, result first."""
    table: dict[str, tuple[str, ...]] = {"c64_to_c128": ("c128", "c64")}
    table["c128_to_c64"] = ("c64", "c128")
    for z, part in (("c64", "f32"), ("c128", "f64")):
        table |= {f"{op}_{z}": (z, z) for op in COMPLEX_UNARY}
        table |= {f"{op}_{z}": (part, z) for op in REAL_VALUED}
        table |= {f"{op}_{z}": ("u8", z) for op in PREDICATES}
        table |= {f"{op}_{z}": (z, z, z) for op in BINARY}
        table |= {f"{op}_{z}": ("u8", z, z) for op in COMPARISONS}
        table |= {f"{z}_to_b": ("u8", z)}
        table |= {f"{real}_to_{z}": (z, real) for real in ("f32", "f64")}
    return table


class ComplexLibrary:
    """cplx("exp", z) takes the c64 or the c128 function by the dtype of z."""

    def __init__(self, folder: Path) -> None:
        headers = ["complex_inverse.h"]
        self.call = ScalarLibrary(folder, headers, complex_signatures(), (), OUTLINE)

    def __call__(self, op: str, *args: Array) -> Array:
        kind = "c64" if args[0].dtype == np.complex64 else "c128"
        result: Array = self.call(f"{kind}_{op}" if op[:3] == "to_" else f"{op}_{kind}", *args)
        return result

    def one(self, op: str, *args: complex) -> complex:
        return complex(self(op, *(np.array([a], np.complex128) for a in args))[0])
