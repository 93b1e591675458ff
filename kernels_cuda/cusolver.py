"""Factors of matrices by cuSOLVER: class ``reproducible``. Whole matrices, one after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from phalanx.device_code.dtypes import PART
from phalanx.device_code.recipe import Program, divide_up
from phalanx.device_code.rows import defines
from phalanx.vendor import Array, Kernel, Layout, Operand

from .libraries import LibraryRecipe, provider, run_or_else

if TYPE_CHECKING:
    from phalanx.device_code.env import Env

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_TYPES = {"float32": "f32", "float64": "f64", "complex64": "f32x2", "complex128": "f64x2"}
#: Below so many rows the device's own kernels, which take a stack at once, are better.
_LEAST = 64
#: CUBLAS_FILL_MODE_UPPER: what lies in rows as a lower triangle is an upper one in columns.
#: CUSOLVER_EIG_MODE_VECTOR.
_UPPER, _VECTORS = 1, 1
_MOST = 2**31 - 1
_GROUP = 256

#: What the op promises beyond the library: zeros above, NaN from a bad pivot on; eigenvectors of x,
#: which are the conjugates of those of its transpose, and rows of eigenvalues and of sweeps.
_TEXT = """
PHX_KERNEL(GROUP) cholesky(PHX_OUTPUT(T, y), PHX_INPUT(i32, info), const u64 n, const u64 count) {
    for (u64 i = PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0)) {
        const u64 column = i % n, row = i / n % n;
        const i32 bad = PHX_DATA(info)[i / (n * n)];
        if (column > row) PHX_DATA(y)[i] = MAKE(0);
        else if (bad != 0 && (i64)column + 1 >= (i64)bad) PHX_DATA(y)[i] = MAKE(NOTHING);
    }
}

PHX_KERNEL(GROUP) eigh(PHX_OUTPUT(T, y), PHX_INPUT(REAL, values), PHX_INPUT(i32, info), const u64 n,
                       const u64 count, const u64 wrong) {
    for (u64 i = PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0)) {
        const u64 column = i % n, row = i / n % (n + 2), matrix = i / (n * (n + 2));
        if (wrong) PHX_DATA(y)[i] = MAKE(NOTHING);
        else if (row < n) PHX_DATA(y)[i] = CONJUGATE(PHX_DATA(y)[i]);
        else if (row == n) PHX_DATA(y)[i] = MAKE(PHX_DATA(values)[matrix * n + column]);
        else PHX_DATA(y)[i] = MAKE(PHX_DATA(info)[matrix] ? -1 : 1);
    }
}

PHX_FN u32 is_wild(const REAL x) { return !(x - x == 0); }

PHX_KERNEL(GROUP) wild(PHX_INPUT(T, x), PHX_OUTPUT(u32, found), const u64 n, const u64 count) {
    for (u64 i = PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0))
        if (i % n <= i / n % (n + 2) && i / n % (n + 2) < n && WILD(PHX_DATA(x)[i]))
            PHX_ATOMIC_MAX(&PHX_DATA(found)[0], 1u);
}

PHX_KERNEL(1) clear(PHX_OUTPUT(u32, found)) { PHX_DATA(found)[0] = 0; }
"""


def kernels_of(op: str, dtypes: tuple[str, ...]) -> tuple[Kernel, ...]:
    """Return the kernel for an op, or none; imports nothing."""
    if op not in ("cholesky", "eigh") or not provider("cusolver"):
        return ()
    return (_kernel(op, dtypes, provider("cusolver")),)


@cache
def _kernel(op: str, dtypes: tuple[str, ...], made_by: str) -> Kernel:
    factor = (_Cholesky if op == "cholesky" else _Eigh)(dtypes[0])
    return Kernel(
        op,
        dtypes,
        Layout.ANY,
        name=f"cusolver_{op}",
        determinism="reproducible",
        provider=made_by,
        handle=LibraryRecipe((factor.program,), factor.launch, "reproducible"),
    )


class _Factor(ABC):
    """What one function of the library makes of the matrices of a stack."""

    op = ""
    #: Rows of the result beyond those of the matrix.
    more = 0

    def __init__(self, dtype: str) -> None:
        kind, part = _TYPES[dtype], PART.get(dtype, dtype)
        real = _TYPES[part]
        pair = dtype in PART
        names = {
            "T": kind,
            "REAL": real,
            "GROUP": str(_GROUP),
            "NOTHING": "PHX_NANF" if real == "f32" else "PHX_NAN",
            "MAKE(x)": f"phx_make_{kind}((REAL)(x), 0)" if pair else "((REAL)(x))",
            "CONJUGATE(z)": f"phx_make_{kind}((z).x, -(z).y)" if pair else "(z)",
            "WILD(z)": "(is_wild((z).x) | is_wild((z).y))" if pair else "is_wild(z)",
        }
        self.letter = _LETTERS[dtype]
        self.real = part
        self.program = Program(defines(names) + _TEXT)

    def launch(
        self, env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call; small matrices go to the device's own kernel."""
        del params
        (x,), out = [x for x in inputs if isinstance(x, Array)], outputs[0]
        stack, n, _ = x.shape
        if _LEAST <= n <= _MOST and stack and out.is_contiguous:
            place = (n + self.more) * n
            start = _address(out)
            at = [start + i * place * out.itemsize for i in range(stack)]
            values = env.scratch(stack * n if self.more else 1, self.real)
            sizes: list[int] = []

            def ask(library: Any, handle: int) -> None:
                sizes.append(self.size(library, handle, n, at[0], values))

            if run_or_else(env, "cusolver", ask):
                env.run("copy", (x,), (env.view(out, x.shape, (place, n, 1)),))
                self.factor(env, out, at, values, sizes[0])
                return
        env.run(self.op, inputs, outputs)

    @abstractmethod
    def size(self, library: Any, handle: int, n: int, matrix: int, values: Array) -> int:
        """Return how many elements the library needs besides."""

    @abstractmethod
    def factor(self, env: Env, out: Array, at: list[int], values: Array, size: int) -> None:
        """Let the library factor the matrices at some addresses, and finish what it made."""

    def enqueue(self, env: Env, name: str, count: int, *args: Array | int) -> None:
        """Enqueue a kernel of the text for so many elements."""
        group = min(_GROUP, env.traits.max_work_group)
        groups = min(divide_up(count, group), env.traits.most_groups)
        env.enqueue(env.kernel(self.program, name), (groups * group,), (group,), *args)


class _Cholesky(_Factor):
    """L of x = L L^H: in columns the transpose, the upper factor of the transpose of x."""

    op = "cholesky"

    def size(self, library: Any, handle: int, n: int, matrix: int, values: Array) -> int:
        del values
        found: int = getattr(library, f"{self.letter}potrf_bufferSize")(
            handle, _UPPER, n, matrix, n
        )
        return found

    def factor(self, env: Env, out: Array, at: list[int], values: Array, size: int) -> None:
        del values
        n, info = out.shape[-1], env.scratch(len(at), "int32")
        room = env.scratch(max(size, 1), out.dtype.name)

        def calls(library: Any, handle: int) -> None:
            potrf = getattr(library, f"{self.letter}potrf")
            for i, matrix in enumerate(at):
                potrf(handle, _UPPER, n, matrix, n, _address(room), size, _address(info) + 4 * i)

        run_or_else(env, "cusolver", calls)
        self.enqueue(env, "cholesky", out.size, out, info, n, out.size)


class _Eigh(_Factor):
    """Values and vectors; the host waits to know whether there are NaN, which may never end."""

    op = "eigh"
    more = 2

    @property
    def name(self) -> str:
        """The library's function."""
        return f"{self.letter}{'heevd' if self.letter in 'cz' else 'syevd'}"

    def size(self, library: Any, handle: int, n: int, matrix: int, values: Array) -> int:
        found: int = getattr(library, f"{self.name}_bufferSize")(
            handle, _VECTORS, _UPPER, n, matrix, n, _address(values)
        )
        return found

    def factor(self, env: Env, out: Array, at: list[int], values: Array, size: int) -> None:
        n, info = out.shape[-1], env.scratch(len(at), "int32")
        room, found = env.scratch(max(size, 1), out.dtype.name), env.scratch(1, "uint32")
        env.enqueue(env.kernel(self.program, "clear"), (1,), (1,), found)
        self.enqueue(env, "wild", out.size, out, found, n, out.size)
        wrong = env.read_int(found)

        def calls(library: Any, handle: int) -> None:
            function = getattr(library, self.name)
            for i, matrix in enumerate(at):
                behind = _address(values) + i * n * values.itemsize
                where = behind, _address(room), size, _address(info) + 4 * i
                function(handle, _VECTORS, _UPPER, n, matrix, n, *where)

        if not wrong:
            run_or_else(env, "cusolver", calls)
        self.enqueue(env, "eigh", out.size, out, values, info, n, out.size, wrong)


def _address(x: Array) -> int:
    return x.buffer.handle + x.offset
