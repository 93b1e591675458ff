"""Launches of every overload on operands in canonical form: for what is compared with itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import phalanx as px
from phalanx._warm import launch, launch_elementwise, view
from phalanx.optable import Structure
from phalanx.optable.random import TRIED

from .fences import Fenced, room_between
from .layouts import LAYOUTS, HostArray, Placed, place, room
from .reference import fourier
from .reference.formats import FORMATS, PARTS, host_dtype
from .reference.hard import hardest_values
from .reference.hard_places import hard_values
from .reference.values import any_bits, ordinary_values, special_values, wild_values

if TYPE_CHECKING:
    from phalanx._warm import Array, Device

    from .overloads import Overload

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One launch: operands on the host, the shape of the result, params.

    ``base`` is the memory that ``scatter`` writes into. ``anywhere`` tells that the operands may
    have any layout.
    """

    overload: Overload
    inputs: tuple[HostArray, ...]
    shape: Shape
    params: tuple[int, ...] = ()
    anywhere: bool = True
    base: HostArray | None = None

    def prepare(self, device: Device, layout: str = "contiguous") -> Callable[[], HostArray]:
        """Put the operands on a device; return what launches, waits and gives the result."""
        if self.overload.op == "scatter":
            return self._prepare_scatter(device)
        return self.prepared(device, layout)[0]

    def prepared(
        self, device: Device, layout: str = "contiguous"
    ) -> tuple[Callable[[], HostArray], list[Placed]]:
        """As `prepare`, with the operands; not of a scatter."""
        layout = layout if self.anywhere else "contiguous"
        placed = [
            place(device, x, d, layout)
            for x, d in zip(self.inputs, self.overload.inputs, strict=True)
        ]
        out = room(device, self.shape, self.overload.outputs[0], layout)
        return self._launching(placed, out), placed

    def with_operand(self, number: int, values: HostArray) -> Call:
        """Return the same launch with other values for an operand."""
        return replace(self, inputs=(*self.inputs[:number], values, *self.inputs[number + 1 :]))

    def fenced(self, device: Device, *, at_end: bool) -> Callable[[], HostArray]:
        """As `prepare`, with operands and a result that end, or begin, where memory does."""
        placed = [Fenced(device, x, at_end=at_end) for x in self.inputs]
        if self.base is not None:
            whole = Fenced(device, self.base, at_end=at_end)
            return lambda: self._scattered(whole.array, *(p.array for p in placed))
        out = room_between(device, self.shape, self.overload.outputs[0], at_end=at_end)
        return self._launching(placed, out)

    def _launching(
        self, placed: Sequence[Placed | Fenced], out: Placed | Fenced
    ) -> Callable[[], HostArray]:
        arrays = tuple(p.array for p in placed)
        if self.overload.op == "gather":  # its first operand is the slice at offset 0 of the whole
            arrays = (view(arrays[0], self.shape[1:], arrays[0].strides[1:]), arrays[1])
        return lambda: self._run(arrays, out)

    def _run(self, arrays: tuple[Array, ...], out: Placed | Fenced) -> HostArray:
        if self.overload.row.structure is Structure.ELEMENTWISE:
            launch_elementwise(self.overload.op, arrays, out.array)
        else:
            launch(self.overload.op, arrays, (out.array,), self.params)
        return out.read()

    def _prepare_scatter(self, device: Device) -> Callable[[], HostArray]:
        assert self.base is not None
        values, offsets = (px.asarray(x, device=device) for x in self.inputs)
        base = self.base
        return lambda: self._scattered(px.asarray(base, device=device), values, offsets)

    def _scattered(self, whole: Array, values: Array, offsets: Array) -> HostArray:
        launch("scatter", (values, offsets), (view(whole, whole.shape[1:], (1,)),), ())
        return np.asarray(px.asnumpy(whole))

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts in which the operands may lie."""
        return tuple(LAYOUTS) if self.anywhere else ("contiguous",)


def calls(overload: Overload, rng: np.random.Generator, *, quick: bool) -> Iterator[Call]:
    """Yield launches of an overload with random operands; fewer and smaller ones if ``quick``."""
    yield from _BY_STRUCTURE[overload.row.structure](overload, rng, quick)


def _wide(name: str, shape: Shape, rng: np.random.Generator) -> HostArray:
    """Values of very different sizes, so that the order of additions shows."""
    values = ordinary_values(name, int(np.prod(shape)), rng)
    if np.dtype(values.dtype).kind in "fcV":
        scale = 2.0 ** rng.integers(-6, 7, values.size)
        with np.errstate(all="ignore"):
            values = (values * scale).astype(host_dtype(name))
    return values.reshape(shape)


def _elementwise(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    count = 200 if quick else 2000
    columns = [wild_values(name, count, rng) for name in overload.inputs]
    yield Call(overload, tuple(columns), (count,))
    hard = hard_values(overload.op, overload.inputs, count, rng)
    rows = len(hard[0]) // 3 * 3
    shaped = tuple(column[:rows].reshape(3, rows // 3) for column in hard)
    yield Call(overload, shaped, (3, rows // 3))
    if len(overload.inputs) == 1:
        hardest = hardest_values(overload.op, overload.inputs[0])
        yield Call(overload, (hardest,), hardest.shape)


def _rows(quick: bool) -> tuple[Shape, ...]:
    few = ((3, 65), (2, 4097))
    return few if quick else (*few, (1, 1), (5, 64), (1, 4096), (7, 257), (1, 70_001))


def _reduction(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    for shape in _rows(quick):
        yield Call(overload, (_wide(overload.inputs[0], shape, rng),), shape[:-1])


def _along(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    for shape in _rows(quick):
        for params in along_params(overload):
            first, *others = overload.inputs
            behind = (_wide(name, shape[-1:], rng) for name in others)
            yield Call(overload, (_wide(first, shape, rng), *behind), shape, params)


#: The bits of 1e-5 and of 0.25 as a float64.
_EPSILONS = ((0x3EE4F8B588E368F1,), (0x3FD0000000000000,))


def along_params(overload: Overload) -> tuple[tuple[int, ...], ...]:
    """Return all params that an op along the last axis is tried with."""
    if overload.row.structure is Structure.SORT:
        return ((0,), (1,))
    return _EPSILONS if overload.op == "layer_norm" else ((),)


def _search(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    name = overload.inputs[0]
    size = 300 if quick else 5000
    table = np.sort(ordinary_values(name, size, rng))
    wanted = np.concatenate([table[::7], ordinary_values(name, size, rng), special_values(name)])
    for right in (0, 1):
        yield Call(overload, (table, wanted), wanted.shape, (right,))


def _selection(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    sizes = (1, 1025, 5000) if quick else (1, 64, 1025, 5000, 100_003)
    for size in (*sizes, 70_001) if overload.op == "nonzero" else sizes:
        mask = rng.random(size) < 0.3
        count = int(mask.sum())
        if overload.op == "nonzero":
            yield Call(overload, (mask,), (count,), anywhere=False)
            continue
        rows = wild_values(overload.inputs[0], size * 3, rng).reshape(size, 3)
        yield Call(overload, (rows, mask), (count, 3), anywhere=False)


def _indexing(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    rows, inner, count = 50, 6, 100 if quick else 1000
    places = rng.integers(-rows, rows, count)
    if overload.op == "wrap_index":
        yield Call(overload, (places,), (count,), (rows, inner))
        return
    name = overload.inputs[0]
    offsets = places % rows * inner
    if overload.op == "gather":
        whole = wild_values(name, rows * inner, rng).reshape(rows, inner)
        yield Call(overload, (whole, offsets), (count, inner), anywhere=False)
        return
    values = wild_values(name, count * inner, rng).reshape(count, inner)
    base = wild_values(name, rows * inner, rng).reshape(rows, inner)
    yield Call(overload, (values, offsets), (inner,), anywhere=False, base=base)


#: Numbers of no target, whose low bits look as if they had one.
_FAR_TARGETS = (2**16, 2**32, 2**32 + 1, 2**40, 2**63 - 1, -(2**16), -(2**32), -(2**40), -(2**63))


def segment_operands(
    overload: Overload, rng: np.random.Generator, m: int, count: int, width: int = 1
) -> tuple[HostArray, ...]:
    """Return operands for sums or counts by target: numbers beyond both ends among them."""
    name = overload.inputs[0]
    if overload.op == "histogram":
        some = ordinary_values(name, 4 * count + 8, rng)
        edges = np.unique(some[np.isfinite(some.astype(np.float64))])[: count + 1]
        near = rng.choice(edges, m // 2) if m else edges[:0]
        return np.concatenate([near, wild_values(name, m - len(near), rng)]), edges
    numbers = rng.integers(-2, count + 2, m)
    far = rng.random(m) < 0.05
    numbers[far] = rng.choice(_FAR_TARGETS, np.count_nonzero(far))
    if overload.op == "bincount":
        return (numbers,)
    return _wide(name, (m, width), rng), numbers


def _segment(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    sizes: tuple[tuple[int, int, int], ...] = ((700, 3, 5), (5000, 40, 1))
    if not quick:
        sizes = (*sizes, (100_003, 2, 3), (70_001, 20_000, 1), (1, 1, 1))
    for m, count, width in sizes:
        operands = segment_operands(overload, rng, m, count, width)
        found = len(operands[1]) - 1 if overload.op == "histogram" else count
        shape = (found, width) if overload.op == "segment_sum" else (found,)
        yield Call(overload, operands, shape, anywhere=False)


def _generation(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    name = overload.inputs[0]
    for count in (1, 1000) if quick else (1, 65, 1000, 100_001):
        ends = tuple(ordinary_values(name, 1, rng).reshape(()) for _ in range(2))
        yield Call(overload, ends, (count,))


def random_operands(
    overload: Overload, rng: np.random.Generator, count: int
) -> tuple[HostArray, ...]:
    """Return operands for an op that makes random numbers: any bits, scales that are not extreme.

    Those of ops that try are for all elements, or (count,).
    """
    if overload.op in TRIED:
        shape = (count,) if rng.random() < 0.5 else ()
        size = 10.0 ** rng.uniform(-1, 3, shape)
        values = {
            "random_gamma": (size / 4,),
            "random_poisson": (size,),
            "random_binomial": (np.floor(10 * size), np.asarray(rng.random(shape))),
        }[overload.op]
        return tuple(np.asarray(v).astype(host_dtype(overload.inputs[0])) for v in values)
    if "float" in overload.inputs[0]:
        chosen = (rng.normal(), rng.exponential() + 0.125)[-len(overload.inputs) :]
        return tuple(np.array(v).astype(host_dtype(overload.inputs[0])) for v in chosen)
    return tuple(any_bits(name, 1, rng).reshape(()) for name in overload.inputs)


def random_params(rng: np.random.Generator) -> tuple[int, ...]:
    """Return key, stream and position, each of 64 bits."""
    return tuple(rng.integers(-(2**63), 2**63, 3).tolist())


def _random(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    for count in (1, 1000) if quick else (1, 65, 1000, 100_001):
        yield Call(overload, random_operands(overload, rng, count), (count,), random_params(rng))


def complex_rows(rng: np.random.Generator, shape: Shape, name: str) -> HostArray:
    """Return complex numbers of either sign; the first row is of ordinary size, others are of any.

    The squares of the others may overflow or underflow.
    """
    most = 70 if name == "complex64" else 700
    powers = rng.integers(-most, most + 1, shape[:-1])
    powers[(0,) * powers.ndim if powers.size else ()] = 0
    sizes = np.ldexp(1.0, powers)[..., None]
    return np.asarray(((rng.normal(size=shape) + 1j * rng.normal(size=shape)) * sizes).astype(name))


def _fourier(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    name = overload.inputs[0]
    if overload.op == "fft":
        long = (4, 8, 8, 8) if quick else (4, 4, 8, 8, 8, 8)
        for radices in ((7, 5, 3, 8), (11, 13), (3,), long):
            n = int(np.prod(radices))
            args = (complex_rows(rng, (5, n), name), fourier.table(radices, name))
            params = (0, fourier.scale_bits(1.0, name), *fourier.packed(radices))
            yield Call(overload, args, (5, n), params, anywhere=False)
        return
    for m in (5, 1000):
        roots = fourier.unit_roots(np.arange(m + 1), 2 * m).astype(name)
        back = overload.op == "fft_to_pairs"
        rows = complex_rows(rng, (3, m + back), name)
        params = () if back else (fourier.scale_bits(0.5, name),)
        yield Call(overload, (rows, roots), (3, m + 1 - back), params, anywhere=False)


def _contraction(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    name = overload.inputs[0]
    sizes: tuple[tuple[Shape, int, int, int], ...] = (((), 5, 7, 9), ((), 33, 65, 17))
    sizes = (*sizes, ((), 9, 1100, 17), ((), 41, 70, 1), ((4,), 1, 30, 1), ((5,), 1, 30, 1))
    if not quick:
        sizes = (*sizes, ((), 1, 300, 1), ((3,), 16, 40, 24), ((), 130, 70, 129), ((2,), 1, 1, 5))
    for batch, m, k, n in sizes:
        a = _wide(name, (*batch, m, k), rng)
        b = _wide(name, (*batch, k, n), rng)
        yield Call(overload, (a, b), (*batch, m, n))
    if name in FORMATS or name in PARTS:
        yield _vanishing(overload, 37, 13, 35, rng)


def _vanishing(overload: Overload, m: int, k: int, n: int, rng: np.random.Generator) -> Call:
    """Return a product of matrices whose sums underflow: zeros, of the signs of what they were."""
    name = overload.inputs[0]
    digits, low, _ = FORMATS[PARTS.get(name, name)]
    factor = 2.0 ** ((low - digits) // 2 - 4)  # so that k products vanish together
    signs = [rng.choice([-factor, factor], (2, count)) for count in (m, n)]
    parts = signs if name in PARTS else [each[:1] for each in signs]
    rows, columns = (each[0] + 1j * each[-1] if name in PARTS else each[0] for each in parts)
    a, b = np.repeat(rows[:, None], k, 1), np.repeat(columns[None], k, 0)
    return Call(overload, tuple(x.astype(host_dtype(name)) for x in (a, b)), (m, n))


def factor_operands(
    overload: Overload, rng: np.random.Generator, shape: Shape
) -> tuple[HostArray, ...]:
    """Return a stack (b, m, n) for an op that factors, and the triangles before it where it solves.

    Square ones take the smaller extent, positive definite for ``cholesky``.
    """
    name = overload.inputs[0]
    b, m, n = shape
    k = min(m, n)

    def values(*shape: int) -> HostArray:
        return ordinary_values(name, int(np.prod(shape)), rng).reshape(shape)

    if overload.op == "cholesky":
        x = values(b, k, k)
        definite = x @ np.conj(np.swapaxes(x, 1, 2)) + np.eye(k) * (1 + np.abs(x).sum())
        return (definite.astype(x.dtype),)
    if overload.op in ("eigh", "schur"):
        k = min(k, 12) if overload.op == "schur" else k
        return (values(b, k, k),)
    if overload.op == "triangular_solve":
        square = values(b, m, m)
        return (square + 8 * np.eye(m, dtype=square.dtype), values(b, m, n))
    return (values(b, m, n),)


def _factorization(overload: Overload, rng: np.random.Generator, quick: bool) -> Iterator[Call]:
    params = (0,) if overload.op == "triangular_solve" else ()
    for shape in ((2, 40, 33),) if quick else ((2, 40, 33), (1, 7, 7), (300, 4, 3), (1, 130, 20)):
        args = factor_operands(overload, rng, shape)
        b, m, n = args[-1].shape
        extra = {"lu": (0, 1), "householder": (n, 0), "jacobi": (n + 1, 0), "eigh": (2, 0)}
        extra["schur"] = (2 * n + 1, 0)
        rows, columns = extra.get(overload.op, (0, 0))
        yield Call(overload, args, (b, m + rows, n + columns), params)


_BY_STRUCTURE: dict[Structure, Callable[[Overload, np.random.Generator, bool], Iterator[Call]]] = {
    Structure.ELEMENTWISE: _elementwise,
    Structure.REDUCTION: _reduction,
    Structure.SCAN: _along,
    Structure.SORT: _along,
    Structure.ROW: _along,
    Structure.SEARCH: _search,
    Structure.SELECTION: _selection,
    Structure.INDEXING: _indexing,
    Structure.GENERATION: _generation,
    Structure.RANDOM: _random,
    Structure.FOURIER: _fourier,
    Structure.CONTRACTION: _contraction,
    Structure.FACTORIZATION: _factorization,
    Structure.SEGMENT: _segment,
}
