"""Random numbers, in every layout, against the reference and the published vectors."""

from __future__ import annotations

import math

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch
from phalanx.conformance.calls import random_operands, random_params
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, host_dtype
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.random_numbers import blocks_of
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray, special_values
from phalanx.optable import Structure
from phalanx.optable.random import TRIED

#: Counter, key and words of Philox 4x32-10: ``kat_vectors`` of the paper's authors' Random123.
VECTORS = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)

#: Blocks of key 7 and stream 0 with the least and greatest words among the first 10^8: uniform
#: numbers of 0 and next to 1, normal ones of 6 sigma and more.
_EXTREMES = (13_061_623, 25_266_344, 26_722_579, 92_339_684, 92_634_996, 96_831_956)
#: More numbers than float32 counts, of which these many from some on are looked at.
_BEYOND, _PART = 2**24 + 67, 131
_OUTSIDE = (-1.0, float("nan"), float("inf"))
#: Parameters at the ends of what is allowed and of the methods, and beyond.
_CORNERS = {
    "random_gamma": (((0.0,), (0.05,), (1.0,), (3e4,), *((v,) for v in _OUTSIDE[:2])),),
    "random_poisson": (
        ((0.0,), (1e-9,), (9.999,), (10.0,), (16.5,), (1e6,), (1e12,), *((v,) for v in _OUTSIDE)),
    ),
    "random_binomial": (
        (
            (0.0, 0.5),
            (5.0, 0.0),
            (5.0, 1.0),
            (20.0, 0.5),
            (50.0, 1.0),
            (3e9, 1e-9),
            (2.0**40, 0.5),
            (19.0, 0.5),
            (1e9, 1e-8),
            (1e9, 0.999),
            (2.5, 0.5),
            (12.75, 0.95),
            (100.9, 0.99),
            (2.0**25 + 1, 0.5),
        ),
        ((-1.0, 0.5), (5.0, -0.1), (5.0, 1.1), (float("nan"), 0.5), (5.0, float("nan"))),
    ),
}


@pytest.mark.parametrize("overload", overloads(Structure.RANDOM), ids=str)
def test_random(case: Case, overload: Overload) -> None:
    """Every length and layout; any key, stream and position, also where positions wrap."""
    check = Check(case, overload)
    rng = case.rng()
    for number, n in enumerate([0, *check.sizes(rng, (1, 2, 3, 257, 1025, 2048))]):
        operands = random_operands(overload, rng, n)
        _run(check, operands, random_params(rng), n, NAMES[number % len(NAMES)])
    many = check.large
    _run(check, _standard(overload), random_params(rng), many, "contiguous")
    if not case.quick:
        _beyond(check, rng)
    if overload.op in TRIED:
        _run(check, random_operands(overload, rng, many), random_params(rng), many, "contiguous")
    if overload.op == "random_bernoulli":
        _nearest_chance(check, rng)
    for name in NAMES:
        _run(check, random_operands(overload, rng, 70), random_params(rng), 70, name, name)
    one = random_params(rng)
    for place_ in range(3):  # one after the other, so that what is kept of one is not taken for it
        params = tuple(v ^ (1 << 32 if i == place_ else 0) for i, v in enumerate(one))
        for chosen in (one, params):
            _run(check, _standard(overload), chosen, 70, "contiguous")
    if check.name in FORMATS and overload.op not in TRIED:
        _overflow(check, rng)
    _in_turn(check, rng)
    for position in (-1, -20, 2**32 - 3, 0, *_EXTREMES):
        _run(check, _standard(overload), (7, 0, position), 66, "contiguous")
    if overload.op == "random_integers":
        bits = np.iinfo(host_dtype(check.name)).bits
        for first, span in ((3, 0), (3, 1), (3, 2), (3, 100), (0, 1 << bits - 1), (0, -1)):
            both = np.array([first, span % (1 << bits)], f"u{bits // 8}")
            ends = tuple(np.array(v).view(host_dtype(check.name)) for v in both)
            _run(check, ends, random_params(rng), 66, "contiguous")
    if overload.op in TRIED:
        _parameters(check, rng)
    case.finish()


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_published_vectors(case: Case, dtype: str) -> None:
    """The words that the authors of Philox publish."""
    overload = next(o for o in overloads(Structure.RANDOM) if o.outputs == (dtype,))
    if not case.has(overload.op, *overload.dtypes):
        pytest.skip(f"the device has no {overload} of its own")
    check = Check(case, overload)
    mask = np.array(np.iinfo(dtype).max, dtype)
    for counter, key, words in VECTORS:
        low, high = (counter[i] | counter[i + 1] << 32 for i in (0, 2))
        params = tuple(_signed(v) for v in (key[0] | key[1] << 32, high, low))
        want = np.array(words, "<u4").view(dtype)
        check.run("vector", (mask,), params, want=Only(want))
    case.finish()


def _signed(value: int) -> int:
    """Return the int64 with the bits of an unsigned number."""
    return value - 2**64 if value >= 2**63 else value


def _nearest_chance(check: Check, rng: np.random.Generator) -> None:
    """Chances that are the random word itself and the one above it: by bisection."""
    params = random_params(rng)
    low, high = 0, 2**64 - 1
    while high - low > 1:
        middle = (low + high) // 2
        want = expected(check.overload.op, (np.array(middle, np.uint64),), check.to, (*params, 1))
        assert isinstance(want, Only)
        low, high = (low, middle) if want.values[0] else (middle, high)
    for chance in (low, high):
        _run(check, (np.array(chance, np.uint64),), params, 5, "contiguous")


def _overflow(check: Check, rng: np.random.Generator) -> None:
    """Numbers beyond the format are infinite, and near its end are not."""
    top = float(special_values(check.name)[np.isfinite(special_values(check.name))].max())
    for part in (0.3, 0.9):
        ends = (0.0, top * part)[-len(check.overload.inputs) :]
        args = tuple(np.array(v).astype(host_dtype(check.name)) for v in ends)
        _run(check, args, random_params(rng), 300, "contiguous")


def _in_turn(check: Check, rng: np.random.Generator) -> None:
    """Each behind the one before, whose last block is not used up."""
    key, stream, position = random_params(rng)
    for n in (5, 7, 1, 66):
        _run(check, _standard(check.overload), (key, stream, position), n, "contiguous")
        position += math.ceil(n * blocks_of(check.overload.op, check.to))


def _beyond(check: Check, rng: np.random.Generator) -> None:
    """One launch makes so many numbers; parts of them are what a launch from there on makes."""
    op, ends = check.overload.op, _standard(check.overload)
    key, stream, position = random_params(rng)
    device = check.case.device
    named = zip(ends, check.overload.inputs, strict=True)
    inputs = [place(device, x, name, "contiguous").array for x, name in named]
    out = px.empty(_BEYOND, dtype=getattr(px, check.to), device=device)
    launch(op, tuple(inputs), (out,), (key, stream, position))
    chance = 4 * rng.integers(0, _BEYOND // 4, 6)
    for first in (2**16 - 64, 2**20 - 64, 2**24 - 64, *chance.tolist()):
        last = min(first + _PART, _BEYOND)
        there = position + int(first * blocks_of(op, check.to))
        want = expected(op, ends, check.to, (key, stream, there, last - first))
        label = f"of {', '.join(map(str, ends))}, numbers {first} to {last} of {_BEYOND}"
        check.compare(label, np.asarray(px.asnumpy(out[first:last])), want, ends)


def _parameters(check: Check, rng: np.random.Generator) -> None:
    """One parameter for all beside one for each, and both at the ends of what they may be."""
    overload = check.overload
    if len(overload.inputs) == 2:
        for shapes in (((), (70,)), ((70,), ())):
            ends = tuple(
                np.asarray(values).astype(host_dtype(check.name))
                for values in (rng.integers(1, 30, shapes[0]), rng.random(shapes[1]))
            )
            _run(check, ends, random_params(rng), 70, "contiguous")
    for values in _CORNERS[overload.op]:
        columns = zip(*values, strict=True)
        ends = tuple(np.array(column, host_dtype(check.name)) for column in columns)
        _run(check, ends, random_params(rng), len(values), "contiguous")
        for one in values:  # for all numbers, so that tables may be made once
            ends = tuple(np.array(v, host_dtype(check.name)) for v in one)
            _run(check, ends, random_params(rng), 20, "contiguous")


#: Of other ops it is 0 and 1.
_STANDARD = {
    "random_bits": (-1,),
    "random_bernoulli": (2**63,),
    "random_integers": (0, 0),
    "random_binomial": (20, 0.5),
}


def _standard(overload: Overload) -> tuple[HostArray, ...]:
    """Operands that leave the numbers as they are made, or show all of them."""
    values = _STANDARD.get(overload.op, (0, 1)[-len(overload.inputs) :])
    return tuple(
        np.array(v).astype(host_dtype(name))
        for v, name in zip(values, overload.inputs, strict=True)
    )


def _run(
    check: Check,
    ends: tuple[HostArray, ...],
    params: tuple[int, ...],
    count: int,
    layout: str,
    of_ends: str = "offset",
) -> None:
    want = expected(check.overload.op, ends, check.to, (*params, count))
    label = f"of {', '.join(map(str, ends))}, {count} numbers"
    check.run(label, ends, params, (of_ends,), layout, want)
