"""Offsets of indices, and slices at offsets, against the reference."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch, view
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import MANY_ROWS
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import broadcast, place, room
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.structured import expected, gathered, scattered
from phalanx.conformance.reference.values import HostArray, wild_values
from phalanx.optable import Structure
from phalanx.optable.structured import NO_PLACE

Shape = tuple[int, ...]
#: Sums of offsets with an index out of range among them: one, beside elements far away, all of 64.
_LOST = (NO_PLACE, NO_PLACE + 2**48, NO_PLACE - 2**48, 64 * NO_PLACE)
_BY_OP = {
    name: [o for o in overloads(Structure.INDEXING) if o.op == name]
    for name in ("wrap_index", "gather", "scatter")
}
_LARGE = ("float32", "bool", "complex128")
_INNER: tuple[Shape, ...] = ((), (5,), (1,), (3, 4), (2, 3, 2), (70,), (0,))
#: More axes than a kernel may have by itself, and slices of whole vectors that begin between two.
_MORE_INNER: tuple[tuple[Shape, str], ...] = (
    ((2, 3, 2, 2), "strided"),
    ((16,), "padded"),
    ((3, 4), "padded"),
    ((2, 1, 2, 3, 2, 2, 2), "mixed"),
    ((2,) * 9, "mixed"),
)


@pytest.mark.parametrize("overload", _BY_OP["wrap_index"], ids=str)
def test_wrap_index(case: Case, overload: Overload) -> None:
    """Every index of small extents, random ones of large, in every layout; negative strides."""
    check = Check(case, overload)
    rng = case.rng()
    for number, (extent, stride) in enumerate(((1, 1), (7, 3), (50, -6), (2**40, 2**20), (9, 0))):
        places = rng.integers(-extent, extent, 300)
        places[:4] = [0, -1, extent - 1, -extent]
        for name in NAMES:
            shape = ((300,), (3, 100))[number % 2]
            for to in dict.fromkeys((name, "contiguous")):
                label = f"{name} {shape} to {to}"
                check.run(label, (places.reshape(shape),), (extent, stride), (name,), to)
    for n in [0, *check.sizes(rng, (1, 65, 4097)), check.large]:
        check.run(f"{n} indices", (rng.integers(-5, 5, n),), (5, 2), ("offset",), "strided")
    check.run("one index", (np.array(-2),), (5, 2))
    case.finish()


@pytest.mark.parametrize("overload", _BY_OP["wrap_index"], ids=str)
def test_index_out_of_range(case: Case, overload: Overload) -> None:
    """An index outside of [-n, n) is an error that names it and the extent, at any place."""
    for count in (1, 70, 5000):
        for bad, extent in ((7, 7), (-8, 7), (2**62, 7), (-(2**63), 7), (0, 0), (2**40, 2**40)):
            for at in {0, count // 2, count - 1}:
                places = np.zeros(count, np.int64) if extent else np.full(count, bad)
                places[at] = bad
                with pytest.raises(IndexError) as raised:
                    _offsets_of(case, overload, places, (extent, 1))
                words = str(raised.value)
                assert str(bad) in words, f"{case.device}: {words!r} does not name index {bad}"
                assert str(extent) in words, f"{case.device}: {words!r} does not name {extent}"
    good = _offsets_of(case, overload, np.array([-1, 6]), (7, 2))
    assert good.tolist() == [12, 12], f"{case.device}: wrong offsets after an error: {good}"


@pytest.mark.parametrize("overload", _BY_OP["wrap_index"], ids=str)
def test_no_place(case: Case, overload: Overload) -> None:
    """What waits behind a bad index finds the offset of no element, whatever stride and extent."""
    check = Check(case, overload)
    rng = case.rng()
    for extent, stride in ((7, 3), (1, 0), (50, -6), (2**20, 2**20), (0, 5)):
        ends = [extent, -extent - 1, 2**62, 2**63 - 1, -(2**63)]
        for count, share in ((5, 0.3), (70, 0.3), (5000, 0.3), (5000, 0.0)):
            places = rng.integers(-extent, extent or 1, count)
            chosen = rng.random(count) < (share if extent else 1.0)
            places[chosen] = rng.choice(ends, int(chosen.sum()))
            if share:
                places[:5] = ends
            else:  # one, in any block of them
                places[rng.integers(count)] = ends[0]
            inside = place(case.device, places, "int64", "offset")
            out = room(case.device, places.shape, "int64", "strided")
            try:
                launch(overload.op, (inside.array,), (out.array,), (extent, stride))
            except IndexError:
                continue  # told at the call: nothing is queued behind it
            with pytest.raises(IndexError):
                px.synchronize(case.device)
            want = expected(overload.op, (places,), "int64", (extent, stride))
            check.judge(f"{count} indices, {share:.0%} of them bad", out, want, (places,))
    case.finish()


def _offsets_of(case: Case, overload: Overload, places: HostArray, params: Shape) -> HostArray:
    inside = place(case.device, places, "int64", "contiguous")
    out = room(case.device, places.shape, "int64", "contiguous")
    launch(overload.op, (inside.array,), (out.array,), params)
    px.synchronize(case.device)
    return out.read()


@pytest.mark.parametrize("overload", _BY_OP["gather"], ids=str)
def test_gather(case: Case, overload: Overload) -> None:
    """Slices of every rank out of arrays of every layout, at many and at no offsets."""
    check = Check(case, overload)
    rng = case.rng()
    counts = check.sizes(rng, (1, 66))
    for number, inner in enumerate(_INNER):
        for layout in _some(check, number):
            _gather(check, 11, inner, int(rng.choice(counts)), layout, rng)
    for count in (0, 1, 257, 4097, *_beyond(check)):
        _gather(check, 5, (3,), count, "mixed", rng)
    _gather_one_element(check, rng)
    for inner, layout in _MORE_INNER:
        _gather(check, 9, inner, 20, layout, rng)
    for inner, layout in (((), "strided"), ((5,), "negative"), ((3, 4), "transposed")):
        for count, share in ((1, 1.0), (66, 0.5), (4097, 0.1)):
            _gather(check, 11, inner, count, layout, rng, lost=share)
    if check.name in _LARGE:
        _gather(check, 1000, (3,), check.large // 3, "transposed", rng)
        _gather(check, 70, (1031,), 67, "offset", rng)
    _gather(check, 70_001, (), 300, "contiguous", rng)
    _gather(check, 3, (5003,), 4, "contiguous", rng)
    for order in _ORDERS:
        _gather(check, 301, (3,), 60, "contiguous", rng, order=order)
    case.finish()


def _some(check: Check, number: int) -> tuple[str, ...]:
    """Return all layouts, or if quick two of them in turn."""
    if not check.case.quick:
        return NAMES
    return NAMES[number % len(NAMES)], NAMES[(number + 2) % len(NAMES)]


def _beyond(check: Check) -> tuple[int, ...]:
    """Return counts around 2**16; if quick, the largest for one dtype."""
    if not check.case.quick:
        return MANY_ROWS
    return MANY_ROWS[-1:] if check.name == _LARGE[0] else ()


#: Orders of indices that a device might take for something simpler.
_ORDERS = ("ascending", "descending", "neighbours", "nearly neighbours")


def _indices(count: int, extent: int, rng: np.random.Generator, order: str = "") -> HostArray:
    """Return indices, the first and the last place among them if there is room.

    With an order they are distinct.
    """
    if order:
        chosen = np.sort(rng.choice(extent, count, replace=False))
        chosen = np.arange(count) + 1 if order.endswith("neighbours") else chosen
        if order.startswith("nearly"):
            chosen[2 : count - 1] = rng.permutation(chosen[2 : count - 1])
        return np.array(chosen[::-1] if order == "descending" else chosen)
    chosen = rng.integers(0, extent, count)
    chosen[-2:] = [extent - 1, 0][-min(count, 2) :] if count else []
    return chosen


def _lose(offsets: HostArray, reference: HostArray, share: float, rng: np.random.Generator) -> None:
    """Let a share of the offsets, and of those for the reference, name no element."""
    lost = np.flatnonzero(rng.random(offsets.size) < share)
    offsets[lost] = reference[lost] = rng.choice(_LOST, lost.size)


def _gather(
    check: Check,
    extent: int,
    inner: Shape,
    count: int,
    layout: str,
    rng: np.random.Generator,
    *,
    lost: float = 0.0,
    order: str = "",
) -> None:
    """Read slices of an array; a share of the offsets, ``lost``, names no element."""
    elements = int(np.prod(inner, dtype=int))
    whole = wild_values(check.name, extent * elements, rng).reshape(extent, *inner)
    rows = _indices(count, extent, rng, order)
    memory = place(check.case.device, whole, check.name, layout).array
    slice_ = view(memory, inner, memory.strides[1:])
    starts, reference = rows * memory.strides[0], rows * elements
    _lose(starts, reference, lost, rng)
    offsets = place(check.case.device, starts, "int64", "offset").array
    places = np.arange(elements).reshape(inner)
    want = Only(gathered(whole.ravel(), places, reference))
    label = f"{layout} {whole.shape} at {count} offsets" + " with no-places" * (lost > 0)
    check.run_arrays(label, [slice_, offsets], (whole, rows), (), "offset", want)


def _gather_one_element(check: Check, rng: np.random.Generator) -> None:
    """Slices that repeat one element by strides of 0."""
    values = wild_values(check.name, 9, rng)
    source = place(check.case.device, values, check.name, "contiguous").array
    slice_ = view(source, (4, 3), (0, 0))
    rows = rng.integers(0, 9, 20)
    offsets = place(check.case.device, rows, "int64", "contiguous").array
    want = Only(gathered(values, np.zeros((4, 3), int), rows))
    check.run_arrays("strides of 0", [slice_, offsets], (values, rows), (), "contiguous", want)


@pytest.mark.parametrize("overload", _BY_OP["scatter"], ids=str)
def test_scatter(case: Case, overload: Overload) -> None:
    """Slices of every rank into arrays of every layout; of equal offsets the last one stays."""
    check = Check(case, overload)
    rng = case.rng()
    counts = check.sizes(rng, (1, 66))
    for number, inner in enumerate(_INNER):
        for layout in _some(check, number):
            _scatter(check, 11, inner, int(rng.choice(counts)), layout, rng)
    for count in (0, 1, 257, 4097, *_beyond(check)):
        _scatter(check, 5, (3,), count, "mixed", rng)
        _scatter(check, 3000, (), count, "strided", rng)
    _scatter(check, 7, (5,), 40, "contiguous", rng, one_value=True)
    _scatter(check, 1, (6,), 100, "negative", rng)
    _scatter(check, 9, (3, 4), 20, "padded", rng)
    for inner, layout in (((), "strided"), ((5,), "negative"), ((3, 4), "transposed")):
        for count, share in ((1, 1.0), (66, 0.5), (4097, 0.1)):
            _scatter(check, 11, inner, count, layout, rng, lost=share)
    if check.name in _LARGE:
        _scatter(check, 20_000, (2,), check.large // 3, "contiguous", rng)
        _scatter(check, 70, (1031,), 67, "offset", rng)
    _scatter(check, 70_001, (), 300, "contiguous", rng)
    _scatter(check, 3, (5003,), 4, "contiguous", rng)
    for order in _ORDERS:
        _scatter(check, 301, (3,), 60, "contiguous", rng, order=order)
    case.finish()


def _scatter(
    check: Check,
    extent: int,
    inner: Shape,
    count: int,
    layout: str,
    rng: np.random.Generator,
    *,
    one_value: bool = False,
    lost: float = 0.0,
    order: str = "",
) -> None:
    """Write into the slices of an array.

    ``one_value`` is for all, by strides of 0; a share of the offsets, ``lost``, names no element.
    """
    device, elements = check.case.device, int(np.prod(inner, dtype=int))
    before = wild_values(check.name, extent * elements, rng).reshape(extent, *inner)
    shape = (count, *inner)
    source = wild_values(check.name, count * elements, rng).reshape(shape)
    if one_value:
        source = source.ravel()[:1].reshape((1,) * len(shape))
        values = broadcast(device, source, shape, check.name)
        source = np.broadcast_to(source, shape).copy()
    else:
        values = place(device, source, check.name, "offset").array
    rows = _indices(count, extent, rng, order)
    out = place(device, before, check.name, layout)
    target = view(out.array, inner, out.array.strides[1:])
    starts, reference = rows * out.array.strides[0], rows * elements
    _lose(starts, reference, lost, rng)
    offsets = place(device, starts, "int64", "offset").array
    launch("scatter", (values, offsets), (target,))
    places = np.arange(elements).reshape(inner)
    after = scattered(before.ravel(), places, source, reference).reshape(before.shape)
    label = f"{count} slices into {layout} {before.shape}" + " with no-places" * (lost > 0)
    check.judge(label, out, Only(after), (source, rows))
