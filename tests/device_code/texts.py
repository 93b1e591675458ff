"""Every text that `phalanx.device_code` makes: its recipes are launched, and only recorded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import phalanx as px
from phalanx import device_code
from phalanx._warm import Array, current_stream, dtype_from_name, view
from phalanx.conformance.reference.fourier import scale_bits
from phalanx.device_code.env import Env
from phalanx.device_code.recipe import Find, Program, Recipe, Traits
from phalanx.driver import Layout
from phalanx.errors import UnsupportedOpError
from phalanx.optable import OPS, Structure
from phalanx.optable.expressions import expression
from phalanx.optable.fourier import OWN_RADICES, packed
from phalanx.optable.structured import CHAIN

#: A GPU of today, as far as texts depend on it.
GPU = Traits(
    fp64=True,
    fp16=True,
    is_cpu=False,
    compute_units=100,
    local_memory=48 * 2**10,
    max_work_group=1024,
    forward_progress=True,
)

_DEFINED = re.compile(r"^\s*#\s*define (\w+)", re.MULTILINE)


class Text(NamedTuple):
    """A program, and which op it was made for."""

    op: str
    dtypes: tuple[str, ...]
    program: Program


class Make(Protocol):
    """Makes an operand, ``first`` elements into its memory; without strides it is dense.

    Strides of 0 are there to reach far in little memory.
    """

    def __call__(
        self,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        /,
        *,
        first: int = 0,
    ) -> Any: ...


class Call(NamedTuple):
    """One launch of an op on operands in canonical form (docs/ops.md)."""

    inputs: list[Any]
    outputs: list[Any]
    params: tuple[int, ...] = ()


class Recorder(Env):
    """Records the programs that launches ask for, on arrays of the CPU that nobody reads."""

    def __init__(self, traits: Traits, device: px.Device, find: Find) -> None:
        super().__init__(traits, current_stream(device))
        self._find = find
        self.programs: dict[str, Program] = {}

    def kernel(self, program: Program, name: str) -> str:
        self.programs.setdefault(program.source, program)
        return name

    def enqueue(self, kernel: Any, global_size: Any, local_size: Any, *args: Any) -> None:
        assert all(n % m == 0 for n, m in zip(global_size, local_size, strict=True)), kernel
        assert all(n < 2**32 for n in global_size), (kernel, global_size)

    def scratch(self, count: int, dtype: str) -> Array:
        return _array(dtype, (count,), (0,))

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        found = self._find(op, dtypes, layout, self.traits)
        if found is None:
            raise UnsupportedOpError(op)
        return found

    def read_int(self, array: Array, index: int = 0) -> int:
        return 0

    def check_later(self, found: Array, explain: Any) -> None:
        pass

    def group_limit(self, kernel: Any) -> int:
        return self.traits.max_work_group


def all_texts(traits: Traits = GPU) -> Iterator[Text]:
    """Every text of every overload, each once."""
    seen: set[str] = set()
    for row in OPS.values():
        for signature in row.signatures:
            for text in texts_of(row.name, signature.dtypes, traits):
                if text.program.source not in seen:
                    seen.add(text.program.source)
                    yield text


def matrix_texts() -> list[Text]:
    """The texts for devices that have the words of `Traits.matrix_f64`."""
    traits = replace(GPU, matrix_f64=True)
    made = [texts_of("matmul", (dtype,) * 3, traits) for dtype in ("float64", "complex128")]
    return [text for some in made for text in some if "PHX_MATRIX_F64" in text.program.source]


def chosen_texts(traits: Traits = GPU) -> list[Text]:
    """Texts that have between them all that is in any: every expression, every form, all others.

    Elementwise texts are expressions in the forms of `_elementwise`: each expression is taken once,
    in the next form. Of the other structures, every text is taken.
    """
    found: list[Text] = []
    expressions: set[object] = set()
    seen: set[str] = set()
    for row in OPS.values():
        for signature in row.signatures:
            if row.structure is Structure.ELEMENTWISE:
                what = expression(row, signature.dtypes)
                key = (what.text, what.types, what.loads)
                if key in expressions:
                    continue
                expressions.add(key)
                texts = texts_of(row.name, signature.dtypes, traits)
                texts = [texts[len(expressions) % len(texts)]]
            else:
                texts = texts_of(row.name, signature.dtypes, traits)
            found += [text for text in texts if text.program.source not in seen]
            seen.update(text.program.source for text in texts)
    return found


def in_namespace(name: str, source: str) -> str:
    """Return a source of which nothing is seen by another one behind it, in C++."""
    undone = "".join(f"#undef {word}\n" for word in sorted(set(_DEFINED.findall(source))))
    return f"namespace {name} {{\n{source}\n}}\n{undone}"


def layouts_of(op: str) -> tuple[Layout, ...]:
    """The layouts for which an op has recipes of their own."""
    elementwise = OPS[op].structure is Structure.ELEMENTWISE
    return (Layout.CONTIGUOUS, Layout.STRIDED) if elementwise else (Layout.ANY,)


def texts_of(
    op: str, dtypes: tuple[str, ...], traits: Traits = GPU, find: Find = device_code.find
) -> list[Text]:
    """The texts of one overload, for all the forms of operands that make another text."""
    recorder = Recorder(traits, px.devices("cpu")[0], find)
    for layout in layouts_of(op):
        recipe = find(op, dtypes, layout, traits)
        if recipe is None:
            continue
        for program in recipe.programs:
            recorder.programs.setdefault(program.source, program)
        for call in calls(op, layout, dtypes, _array, traits.far):
            recipe.launch(recorder, *call)
    return [Text(op, dtypes, program) for program in recorder.programs.values()]


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array in row-major order."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements of memory an array takes."""
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def _array(
    dtype: str,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    /,
    *,
    first: int = 0,
) -> Array:
    """An array of the CPU; strides may be any that stay inside of little memory."""
    strides = dense(shape) if strides is None else strides
    count = first + reach(shape, strides)
    base = px.zeros(count, dtype=dtype_from_name(dtype), device=px.devices("cpu")[0])
    return view(base, shape, strides, first)


def calls(op: str, layout: Layout, dtypes: tuple[str, ...], make: Make, far: int) -> Iterator[Call]:
    """Operands that ask for each form of text, where `Traits.far` is ``far``."""
    structure = OPS[op].structure
    if structure is Structure.ELEMENTWISE:
        yield from _elementwise(layout, dtypes, make, far)
    elif structure in (Structure.REDUCTION, Structure.SCAN, Structure.ROW):
        kept = structure is not Structure.REDUCTION
        forms = (
            ((3, 9000), (9000, 1)),
            ((3, 1000), (1000, 1)),
            ((3, 400), (400, 1)),
            ((3, 40), (40, 1)),
            ((2000, 40), (40, 1)),
            ((2000, 90), (90, 1)),
            ((5000, 3), (1, 5000)),
            ((50, 9), (9, 1)),
            ((50, 9), (1, 50)),
        )
        if structure is Structure.ROW:  # beyond what a group holds
            forms += (((3, 40000), (40000, 1)),)
        for shape, strides in forms:
            x, y = (make(dtype, shape, strides) for dtype in (dtypes[0], dtypes[-1]))
            behind = [make(dtype, shape[-1:]) for dtype in dtypes[1:-1]]
            out = y if kept else make(dtypes[-1], shape[:-1])
            yield Call([x, *behind], [out], (0,) * (op == "layer_norm"))
    elif structure is Structure.SORT:
        for shape in ((3, 5000), (3, 7, 5), (2,) * 8):
            yield Call([make(dtypes[0], shape)], [make(dtypes[1], shape)], (0,))
        for shape in ((2, far // 2), (1, 2 * far + 1)):
            strides = (0, 0)
            arrays = [make(dtype, shape, strides) for dtype in dtypes]
            yield Call(arrays[:1], arrays[1:], (0,))
    elif structure is Structure.SEARCH:
        arrays = [make(dtype, (9,)) for dtype in dtypes]
        yield Call(arrays[:2], arrays[2:], (0,))
    elif structure is Structure.SELECTION and op == "nonzero":
        yield Call([make("bool", (999,))], [make("int64", (50,))])
    elif structure is Structure.SELECTION:
        x, out = make(dtypes[0], (999, 1)), make(dtypes[0], (50, 1))
        yield Call([x, make("bool", (999,))], [out])
    elif structure is Structure.GENERATION:
        yield Call([make(dtype, ()) for dtype in dtypes[:2]], [make(dtypes[2], (99,))])
    elif structure is Structure.RANDOM:
        inputs = [make(dtype, ()) for dtype in dtypes[:-1]]
        for strides in ((1,), (2,)):
            yield Call(inputs, [make(dtypes[-1], (99,), strides)], (7, -1, 2**40))
    elif structure is Structure.FACTORIZATION:
        extra = {"lu": (5, 5), "householder": (9, 4), "jacobi": (10, 4)}
        extra |= {"eigh": (6, 4), "schur": (13, 4)}
        rows = 4 if op in ("eigh", "schur") else 5
        shapes = [(2, rows, 4)] * (len(dtypes) - 1) + [(2, *extra.get(op, (5, 4)))]
        arrays = [make(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
        yield Call(arrays[:-1], arrays[-1:], (0,))
    elif structure is Structure.FOURIER:
        yield from _fourier(op, dtypes[0], make, far)
    elif structure is Structure.SEGMENT:
        for count in (9, 5000):
            out = (count, 3) if op == "segment_sum" else (count,)
            first = make(dtypes[0], (99, 3) if op == "segment_sum" else (99,))
            second = make(dtypes[1], (count + 1 if op == "histogram" else 99,))
            yield Call([first, second][: len(dtypes) - 1], [make(dtypes[-1], out)])
    elif structure is Structure.CONTRACTION:
        squares = ((2, 3, 3), (2, 20, 20), (200, 60, 60), (2, 200, 200), (200, 200, 200))
        for count, m, n in (*squares, (2, 90, 1), (2, 1, 90), (2, 90, 9), (2, 9, 90), (200, 90, 9)):
            k = max(m, n)
            shapes = (count, m, k), (count, k, n), (count, m, n)
            pairs = zip(dtypes, shapes, strict=True)
            arrays = [make(dtype, shape, (0, shape[2], 1)) for dtype, shape in pairs]
            yield Call(arrays[:2], arrays[2:])
        long = CHAIN + 1  # sums of two blocks, which are joined
        arrays = [make(dtypes[0], (2, 2, long)), make(dtypes[1], (2, long, 2))]
        yield Call(arrays, [make(dtypes[2], (2, 2, 2))])
        arrays = [make(dtypes[0], (70, 1, 99)), make(dtypes[1], (70, 99, 1))]
        yield Call(arrays, [make(dtypes[2], (70, 1, 1))])
    else:
        assert structure is Structure.INDEXING
        yield from _indexing(op, dtypes, make, far)


def _elementwise(layout: Layout, dtypes: tuple[str, ...], make: Make, far: int) -> Iterator[Call]:
    """Arrays, single elements and numbers; strides along the columns, axes, far elements."""
    inputs, output = dtypes[:-1], dtypes[-1]
    if layout is Layout.CONTIGUOUS:
        out = make(output, (5,))
        yield Call([make(dtype, (5,)) for dtype in inputs], [out])
        odd = [make(dtype, (5,), first=1) for dtype in dtypes]
        yield Call(odd[:-1], odd[-1:])
        yield Call([make(dtype, (1,)) for dtype in inputs], [out])
        yield Call([1 for _ in inputs], [out])
        return
    forms = (
        ((9, 9), (10, 1)),
        ((9, 9), (30, 3)),
        ((9, 9), (1, 0)),
        ((3,) * 3, (27, 9, 1)),
        ((2,) * 6, (128, 64, 32, 16, 8, 2)),
        ((2, far), (0, 0)),
    )
    for shape, strides in forms:
        arrays = [make(dtype, shape, strides) for dtype in dtypes]
        yield Call(arrays[:-1], arrays[-1:])


def _fourier(op: str, dtype: str, make: Make, far: int) -> Iterator[Call]:
    """A row for each radix, few rows and many."""
    table = make(dtype, (200,))
    one = (scale_bits(1.0, dtype),)
    if op != "fft":
        lengths = (5, 6) if op == "fft_from_pairs" else (6, 5)
        for count in (3, far // 5 + 1):
            arrays = [make(dtype, (count, n), (0, 1)) for n in lengths]
            yield Call([arrays[0], table], arrays[1:], one if op == "fft_from_pairs" else ())
        return
    for radix in (*OWN_RADICES, 11):
        n = radix * radix
        for count in (3, far // n + 1):
            arrays = [make(dtype, (count, n), (0, 1)) for _ in range(2)]
            yield Call([arrays[0], table], arrays[1:], (0, *one, *packed((radix, radix))))


def _indexing(op: str, dtypes: tuple[str, ...], make: Make, far: int) -> Iterator[Call]:
    """Axes of slices, few and many slices, more elements than 32 bits count."""
    for shape in ((5,), (5, 3, 2), (2,) * 8, (far + 2,)):
        steps = tuple(3 ** (len(shape) - i) for i in range(len(shape)))
        x = make(dtypes[0], shape, (0,) if shape[0] > far else steps)
        if op == "wrap_index":
            yield Call([x], [make("int64", shape, (0,) * len(shape))], (4, 1))
            continue
        for m in (3, 200) if shape[0] < far else (3,):
            places = make("int64", (m,))
            slices = make(dtypes[0], (m, *shape), (0,) * (1 + len(shape)))
            inputs, out = ([x, places], slices) if op == "gather" else ([slices, places], x)
            yield Call(inputs, [out])
