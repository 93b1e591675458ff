"""Results that are known bit by bit: their operands, their digests, and what tells them apart."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.groups.determinism.known_bits import (
    digest,
    is_known,
    known_calls,
    known_digests,
)
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference import rare
from phalanx.conformance.reference.elementwise import expected
from phalanx.conformance.reference.patterns import corners, pattern, plain, words
from phalanx.conformance.reference.random_flips import PARAMS, flips
from phalanx.optable import COMPLEX, FLOATING, OPS, Structure

KNOWN = [overload for overload in overloads(*Structure) if is_known(overload)]
_RARE = [key for key in rare._OPERANDS if OPS[key[0]].structure is Structure.ELEMENTWISE]


def test_words_are_those_of_splitmix64() -> None:
    # the first numbers of the generator with the seed 0, as its authors' program prints them
    assert [hex(w) for w in words(3, 0).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]
    assert not np.intersect1d(words(1000, 0), words(1000, 1)).size


@pytest.mark.parametrize("name", FLOATING + COMPLEX)
def test_patterns_hold_all_kinds(name: str) -> None:
    x = pattern(name, 20_000, 0)
    parts = x.view(x.real.dtype) if name in COMPLEX else x
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        wide = parts.astype(np.float64)
    assert x.shape == (20_000,)
    assert np.isnan(wide).any()
    assert np.isinf(wide).any()
    assert {1.0, -1.0, 0.0} <= set(wide.tolist())
    finite = np.abs(wide[np.isfinite(wide)])
    assert 0.3 < np.count_nonzero((finite >= 0.5) & (finite < 2)) / finite.size < 0.8
    assert np.array_equal(x.view(np.uint8), pattern(name, 20_000, 0).view(np.uint8))
    size = np.abs(plain(name, 1000, 0, 4).view(parts.dtype).astype(np.float64))
    assert 2.0**-3 <= size.min() <= size.max() < 2


def test_corners_are_all_combinations_or_some() -> None:
    x, y = corners(("float32", "float64"), 400)
    assert len({(a.tobytes(), b.tobytes()) for a, b in zip(x, y, strict=True)}) == 400
    assert corners(("complex128", "complex128"), 500)[1].shape == (500,)


def test_a_digest_is_of_bits_but_for_nans() -> None:
    one = np.array([1.0, np.nan])
    assert digest(one) == digest(np.array([1.0, -np.nan]))
    assert digest(one) != digest(np.array([np.nextafter(1.0, 2), np.nan]))
    assert digest(np.zeros(1)) != digest(-np.zeros(1))


def test_every_overload_has_digests() -> None:
    assert list(known_digests()) == [str(overload) for overload in KNOWN]
    for overload in KNOWN[::17]:
        quick, full = (list(known_calls(overload, quick=q)) for q in (True, False))
        assert len(known_digests()[str(overload)]) == len(full)
        for one, other in zip(quick, full, strict=False):
            pairs = zip(one.inputs, other.inputs, strict=True)
            assert all(a.tobytes() == b.tobytes() for a, b in pairs), overload


@pytest.mark.parametrize(("op", "dtype"), _RARE)
def test_results_of_rare_operands_are_within_bounds(op: str, dtype: str) -> None:
    overload = next(o for o in KNOWN if o.op == op and o.inputs[0] == dtype)
    operands = rare.rare_operands(op, overload.inputs)
    (call, *_) = known_calls(overload, quick=True)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(call.inputs, operands, strict=True))
    want = expected(op, operands, overload.outputs[0])
    got = call.prepare(px.devices("cpu")[0])()
    allowed = OPS[op].bound.ulp[dtype] + want.slack
    assert want.errors(got, np.arange(got.size)).max() <= allowed


@pytest.mark.parametrize("op", ["random_poisson", "random_binomial"])
def test_flips_are_between_neighbours(op: str) -> None:
    overload = next(o for o in overloads(Structure.RANDOM) if o.op == op)
    sides = [_numbers(overload, operands, count) for operands, count in flips(op)]
    assert sides
    # of each group of places, those below and those above, for an array and for single numbers
    groups = np.arange(len(sides)).reshape(-1, 2, 4)
    changed = [
        np.count_nonzero(sides[below] != sides[above])
        for lower, upper in groups
        for below, above in zip(lower, upper, strict=True)
    ]
    assert all(changed)
    assert sum(changed) > 20


def _numbers(overload: Overload, operands: tuple[np.ndarray, ...], count: int) -> np.ndarray:
    from phalanx.conformance.calls import Call

    return Call(overload, operands, (count,), PARAMS).prepare(px.devices("cpu")[0])()
