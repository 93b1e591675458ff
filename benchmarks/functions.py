"""Every public function that computes with arrays, on few elements: what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from .workloads import HostArray, Operands, Workload

#: Elements of the largest operand.
FUNCTION_SIZES = (1, 100, 10_000)
Make: TypeAlias = Callable[[int, np.random.Generator], Operands]
#: Makers of operands, each with the functions that take them; an expression names its function
#: first. PyTorch's spelling follows where it differs (empty where it has none), and NumPy's behind
#: that.
Table: TypeAlias = "tuple[tuple[Make, tuple[str | tuple[str, ...], ...]], ...]"


def _floats(count: int, low: float, high: float) -> Make:
    def make(n: int, rng: np.random.Generator) -> Operands:
        return tuple(rng.uniform(low, high, n).astype(np.float32) for _ in range(count))

    return make


def _whole(count: int, low: int = 1, high: int = 30) -> Make:
    def make(n: int, rng: np.random.Generator) -> Operands:
        return tuple(rng.integers(low, high, n) for _ in range(count))

    return make


def _bools(count: int) -> Make:
    return lambda n, rng: tuple(rng.random(n) < 0.5 for _ in range(count))


def _steps(n: int, rng: np.random.Generator) -> Operands:
    """From -2 to 2: sums in every order are exact in float32."""
    return (rng.integers(-2, 3, n).astype(np.float32),)


def _complex(n: int, rng: np.random.Generator) -> Operands:
    return ((rng.random(n) + 1j * rng.random(n)).astype(np.complex64),)


def _square(n: int, rng: np.random.Generator) -> HostArray:
    side = int(n**0.5)
    return rng.random((side, side), dtype=np.float32)


def _matrices(count: int) -> Make:
    return lambda n, rng: tuple(_square(n, rng) for _ in range(count))


def _mask(n: int, rng: np.random.Generator) -> Operands:
    return rng.random(n) < 0.5, *_ONE(n, rng), *_ONE(n, rng)


def _places(n: int, rng: np.random.Generator) -> Operands:
    return *_ONE(n, rng), rng.integers(0, n, n)


def _sorted(n: int, rng: np.random.Generator) -> Operands:
    return np.sort(rng.random(n, dtype=np.float32)), rng.random(n, dtype=np.float32)


_ONE, _TWO = _floats(1, -1.0, 1.0), _floats(2, -1.0, 1.0)
_ABOVE, _ABOVE_TWO = _floats(1, 1.0, 2.0), _floats(2, 1.0, 2.0)

_UNARY = [
    "abs",
    "asin",
    "acos",
    "atan",
    "asinh",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "negative",
    "positive",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "square",
    "tan",
    "tanh",
    "trunc",
]
_REDUCTIONS = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"]
_OF_LARGE = ["acosh", "log", "log1p", "log2", "log10", "reciprocal", "sqrt"]
_BINARY = [
    "add",
    "atan2",
    "copysign",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "maximum",
    "minimum",
    "multiply",
    "nextafter",
    "not_equal",
    "subtract",
]
_BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"]


def _calls(names: Iterable[str], arguments: str = "a") -> tuple[str, ...]:
    return tuple(f"xp.{name}({arguments})" for name in names)


_TABLE: Table = (
    (
        _ONE,
        (
            *_calls(_UNARY),
            *_calls(_REDUCTIONS),
            ("xp.std(a)", "xp.std(a, correction=0)"),
            ("xp.var(a)", "xp.var(a, correction=0)"),
            "xp.count_nonzero(a)",
            ("xp.clip(a, -0.5, 0.5)",),
            ("xp.cumulative_prod(a)", "xp.cumprod(a, 0)"),
            ("xp.sort(a)", "xp.sort(a).values"),
            "xp.argsort(a)",
            ("xp.nonzero(a)[0]", "xp.nonzero(a, as_tuple=True)[0]"),
            ("xp.unique_values(a)", "xp.unique(a)"),
            ("xp.unique_counts(a)[0]", "xp.unique(a, return_counts=True)[0]"),
            ("xp.unique_inverse(a)[0]", "xp.unique(a, return_inverse=True)[0]"),
            (
                "xp.unique_all(a)[0]",
                "xp.unique(a, return_inverse=True, return_counts=True)[0]",
            ),
            ("xp.astype(a, xp.float64)", "a.to(xp.float64)"),
            ("xp.flip(a)", "xp.flip(a, (0,))"),
            "xp.roll(a, 1)",
            ("xp.repeat(a, 2)", "xp.repeat_interleave(a, 2)"),
            ("xp.tile(a, (2,))",),
            ("xp.expand_dims(a, axis=0)", "xp.unsqueeze(a, 0)"),
            "xp.reshape(a, (1, -1))",
            "xp.broadcast_to(a, (3, *a.shape))",
            ("xp.asarray(a, copy=True)",),
            ("xp.softmax(a)", "xp.softmax(a, 0)", "(e := xp.exp(a - xp.max(a))) / xp.sum(e)"),
            *(f"xp.{name}_like(a)" for name in ("zeros", "ones")),
            ("xp.full_like(a, 2.0)",),
            "xp.empty_like(a)",
            *(f"xp.{name}(a.shape, dtype=xp.float32)" for name in ("zeros", "ones", "empty")),
            ("xp.full(a.shape, 2.0, dtype=xp.float32)",),
            "xp.arange(a.shape[0])",
            "xp.linspace(0.0, 1.0, a.shape[0], dtype=xp.float32)",
            "xp.logspace(0.0, 1.0, a.shape[0], dtype=xp.float32)",
            "xp.from_dlpack(a)",
            ("a[::-1][:1]", "xp.flip(a, (0,))[:1]"),
            "a[0]",
            ("xp.asarray(float(a[0]))", "xp.asarray(float(a[0]), dtype=xp.float64)"),
            "-a",
            "a + 1.0",
        ),
    ),
    (_ABOVE, (*_calls(_OF_LARGE), ("xp.cbrt(a)", "xp.pow(a, 1 / 3)"))),
    (_steps, (("xp.cumulative_sum(a)", "xp.cumsum(a, 0)"),)),
    (
        _TWO,
        (
            *_calls(_BINARY, "a, b"),
            ("xp.equal(a, b)", "xp.eq(a, b)"),
            ("xp.vecdot(a, b)", "xp.linalg.vecdot(a, b)"),
            "xp.concat([a, b])",
            "xp.stack([a, b])",
            ("xp.meshgrid(a[:9], b[:9], indexing='ij')[0]",),
            ("xp.broadcast_arrays(a, b)[0]", "xp.broadcast_tensors(a, b)[0]"),
            ("xp.tensordot(a, b, axes=1)", "xp.tensordot(a, b, 1)"),
        ),
    ),
    (
        _ABOVE_TWO,
        tuple(f"xp.{name}(a, b)" for name in ["divide", "floor_divide", "pow", "remainder"]),
    ),
    (
        _whole(2),
        (
            *_calls(_BITS, "a, b"),
            ("xp.bitwise_invert(a)", "xp.bitwise_not(a)"),
            "xp.isin(a, b[:9])",
            ("xp.add(a, b)",),
            "xp.floor_divide(a, b)",
            "xp.sum(a)",
        ),
    ),
    (_bools(2), tuple(f"xp.logical_{name}(a, b)" for name in ("and", "or", "xor"))),
    (_bools(1), ("xp.logical_not(a)",)),
    (_mask, ("xp.where(a, b, c)", "b[a]")),
    (
        _places,
        ("xp.take(a, b)", ("xp.take_along_axis(a, b)", "xp.take_along_dim(a, b)"), "a[b]"),
    ),
    (_sorted, ("xp.searchsorted(a, b)", "xp.diff(a)")),
    (
        _TWO,
        (
            "xp.isclose(a, b)",
            "xp.allclose(a, b)",
            ("xp.array_equal(a, b)", "xp.equal(a, b)"),
            "xp.fmod(a, b)",
            "xp.hstack([a, b])",
            "xp.vstack([a, b])",
            ("xp.kron(a[:99], b[:99])",),
            ("xp.outer(a[:99], b[:99])",),
        ),
    ),
    (
        _ONE,
        (
            ("xp.median(a)", "xp.quantile(a, 0.5)"),
            "xp.nan_to_num(a)",
            "xp.nansum(a)",
            ("xp.nanmax(a)", "xp.max(a)"),
            ("xp.ptp(a)", "xp.max(a) - xp.min(a)"),
            ("xp.histogram(a, bins=10)[0]", "xp.histc(a, 10).to(xp.int64)"),
            ("xp.pad(a, 2)", "xp.nn.functional.pad(a, (2, 2))"),
        ),
    ),
    (_places, (("xp.bincount(b)",),)),
    (_complex, ("xp.real(a)", "xp.imag(a)", "xp.conj(a)")),
    (
        _matrices(2),
        (
            "xp.matmul(a, b)",
            ("xp.matrix_transpose(a)", "a.mT"),
            ("xp.permute_dims(a, (1, 0))", "xp.permute(a, (1, 0))"),
            "xp.moveaxis(a, 0, 1)",
            ("xp.squeeze(a[:1], axis=0)", "xp.squeeze(a[:1], 0)"),
            "xp.diag(a)",
            "xp.tril(a)",
            "xp.triu(a)",
            ("xp.unstack(a)[0]", "xp.unbind(a)[0]"),
            "xp.eye(a.shape[0], dtype=xp.float32)",
            ("xp.sum(a, axis=0)",),
        ),
    ),
)
#: One element is a matrix and a row already; these differ from them by a second axis.
_NAMES = {
    "a[::-1][:1]": "slices",
    "a[0]": "element",
    "xp.asarray(float(a[0]))": "number",
    "-a": "operator -",
}
_NAMES |= {"a + 1.0": "operator + 1.0", "b[a]": "mask", "a[b]": "places"}
_NAMES |= {"(xp.put_along_axis(a, b, 1.0, 0), a)[1]": "put_along_axis"}


def _name(expression: str) -> str:
    if expression in _NAMES:
        return _NAMES[expression]
    name, _, rest = expression.removeprefix("xp.").partition("(")
    return f"{name} of rows" if "axis=0" in rest and name == "sum" else name


def _workload(
    make: Make, spelled: str | tuple[str, ...], name: str, sizes: tuple[int, ...], has_values: bool
) -> Workload:
    spellings = (spelled,) if isinstance(spelled, str) else spelled
    return Workload(
        name,
        spellings[0],
        spellings[0],
        make,
        sizes=sizes,
        quick_sizes=sizes[:2],
        limits=(sizes[0], 2**24),
        has_values=has_values,
        special={f: s for f, s in zip(("torch", "numpy"), spellings[1:], strict=False) if s},
        lacks={} if all(spellings[1:2]) else {"torch": "PyTorch has no such function"},
        is_brief=True,
    )


def timed_functions(
    table: Table, sizes: tuple[int, ...], without_values: Iterable[str] = ()
) -> tuple[Workload, ...]:
    """Return the rows of a table; those named ``without_values`` are compared in shape and dtype.

    A second row of a function is that of integers.
    """
    seen: set[str] = set()
    found = []
    for make, row in table:
        for spelled in row:
            name = _name(spelled if isinstance(spelled, str) else spelled[0])
            name = f"{name} of integers" if name in seen else name
            seen.add(name)
            has_values = name not in without_values
            found.append(_workload(make, spelled, name, sizes, has_values))
    return tuple(found)


FUNCTIONS: tuple[Workload, ...] = timed_functions(_TABLE, FUNCTION_SIZES, ("empty", "empty_like"))

#: Public functions that have no row, and why.
NOT_TIMED: Mapping[str, str] = {
    **dict.fromkeys(
        ("broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"),
        "computes with dtypes or shapes, not with arrays",
    ),
    **dict.fromkeys(
        (
            "get_default_dtype",
            "get_num_threads",
            "get_printoptions",
            "promotion",
            "set_allocator",
            "set_default_dtype",
            "set_memory_limit",
            "set_num_threads",
            "set_printoptions",
            "use_deterministic_algorithms",
        ),
        "reads or changes a setting",
    ),
    **dict.fromkeys(
        (
            "__array_namespace_info__",
            "current_stream",
            "device",
            "device_count",
            "devices",
            "get_device",
            "is_available",
            "set_device",
            "why",
        ),
        "chooses or describes devices",
    ),
    **dict.fromkeys(
        (
            "empty_cache",
            "fallback_policy",
            "fallback_report",
            "hazards",
            "kernels",
            "memory_stats",
            "memory_summary",
            "reset_peak_memory_stats",
            "synchronize",
        ),
        "watches or manages the runtime",
    ),
    **dict.fromkeys(
        (
            "load",
            "load_safetensors",
            "map_location",
            "save",
            "save_safetensors",
            "savez",
            "savez_compressed",
        ),
        "writes or reads files",
    ),
    **dict.fromkeys(("hookimpl", "hookspec"), "declares a plugin's hook"),
    "asnumpy": "the peers on the host have nothing to copy",
    **dict.fromkeys(("fma", "scatter_add", "segment_sum"), "neither NumPy nor PyTorch has it so"),
}
