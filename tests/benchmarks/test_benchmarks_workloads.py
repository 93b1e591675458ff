"""The further rows: NumPy computes their meaning, and Phalanx and PyTorch the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.benchmarks import measure, results
from phalanx.benchmarks.contestants import Contestant, NumpyPeer, PhalanxContestant, TorchPeer
from phalanx.benchmarks.functions import FUNCTIONS
from phalanx.benchmarks.host_workloads import HOST_WORKLOADS
from phalanx.benchmarks.measure import Entry, Plan
from phalanx.benchmarks.workloads import WORKLOADS, Workload, chosen

FURTHER = [work for work in HOST_WORKLOADS if work not in WORKLOADS]


def product(a: Any, b: Any) -> Any:
    return np.einsum("...ij,...jk->...ik", a.astype(float), b.astype(float))


def shortened(a: Any) -> Any:
    """To bfloat16's 8 digits by arithmetic: frexp has 0.5 <= m < 1, so 2^8 m is to be rounded."""
    digits, exponent = np.frexp(a.astype(float))
    return np.ldexp(np.rint(digits * 256), exponent - 8)


def searched(a: Any, b: Any) -> Any:
    return [sum(x < y for x in a.tolist()) for y in b.tolist()]


def put(a: Any, places: Any, new: Any) -> Any:
    a = a.copy()
    for place, value in zip(places.tolist(), new.tolist(), strict=True):
        a[place] = value
    return a


#: From the operands, by other means than the expression.
MEANINGS: dict[str, Callable[..., Any]] = {
    "matmul tall": product,
    "matmul thin": product,
    "matmul batched": product,
    "matmul a.T @ b": lambda a, b: np.einsum("ji,jk->ik", a.astype(float), b.astype(float)),
    "matmul float64": product,
    "matrix @ vector": lambda a, b: [math.fsum(row * b) for row in a.astype(float)],
    "tensordot": lambda a, b: np.einsum("nij,ijk->nk", a.astype(float), b.astype(float)),
    "complex64 mul": lambda a, b: (
        (a.real * b.real - a.imag * b.imag) + 1j * (a.real * b.imag + a.imag * b.real)
    ),
    "complex128 mul": lambda a, b: (
        (a.real * b.real - a.imag * b.imag) + 1j * (a.real * b.imag + a.imag * b.real)
    ),
    "to float16": lambda a: a.astype("float16"),
    "from float16": lambda a: a,
    "to bfloat16": shortened,
    "from bfloat16": lambda a: a,
    "log": lambda a: [math.log(x) for x in a.tolist()],
    "tanh": lambda a: [math.tanh(x) for x in a.tolist()],
    "tanh float64": lambda a: [math.tanh(x) for x in a.tolist()],
    "power": lambda a, b: [x**y for x, y in zip(a.tolist(), b.tolist(), strict=True)],
    "int floor_divide": lambda a, b: [x // y for x, y in zip(a.tolist(), b.tolist(), strict=True)],
    "less": lambda a, b: [x < y for x, y in zip(a.tolist(), b.tolist(), strict=True)],
    "logical_and": lambda a, b: [x and y for x, y in zip(a.tolist(), b.tolist(), strict=True)],
    "take": lambda a, b: [a[i] for i in b],
    "put": put,
    "put by mask": lambda a, b: [0.0 if m else x for x, m in zip(a, b, strict=True)],
    "cumulative sum": lambda a: [sum(a[: i + 1].tolist()) for i in range(a.size)],
    "argsort": lambda a: sorted(range(a.size), key=a.tolist().__getitem__),
    "sort int32": lambda a: sorted(a.tolist()),
    "sort float64": lambda a: sorted(a.tolist()),
    "unique_values": lambda a: sorted(set(a.tolist())),
    "searchsorted": searched,
    "argmax": lambda a: a.tolist().index(max(a.tolist())),
    "var": lambda a: math.fsum((a.astype(float) - a.astype(float).mean()) ** 2) / a.size,
    "all": lambda a: all(a.tolist()),
    "any": lambda a: any(a.tolist()),
    "sum columns": lambda a: [math.fsum(column) for column in a.T.tolist()],
    "max short rows": lambda a: [max(row) for row in a.tolist()],
    "concat": lambda a, b: a.tolist() + b.tolist(),
    "stack": lambda a, b: list(zip(a.tolist(), b.tolist(), strict=True)),
}


def small(work: Workload) -> int:
    return max(work.limits[0], 64 // work.width) if work.width > 1 else max(work.limits[0], 64)


def operands(work: Workload) -> tuple[Any, ...]:
    return work.operands(small(work), np.random.default_rng(3))


@pytest.mark.parametrize("work", FURTHER, ids=lambda work: work.name)
class TestRows:
    def test_numpy_computes_the_meaning(self, work: Workload) -> None:
        given = operands(work)
        assert max(x.size for x in given) == work.elements(small(work))
        got = np.asarray(measure.prepare(work, NumpyPeer(), given, float).once())
        np.testing.assert_allclose(got, MEANINGS[work.name](*given), rtol=2e-5, atol=1e-5)

    def contest(self, work: Workload, contestant: Contestant) -> None:
        given = operands(work)
        want = np.asarray(measure.prepare(work, NumpyPeer(), given, float).once())
        entry = results._admit(work, contestant, given, want, float)
        assert isinstance(entry, Entry), entry
        with contestant.scope():
            again = contestant.to_numpy(entry.once())
        assert not measure.fault(again, want)

    def test_phalanx_computes_the_same(self, work: Workload, device: px.Device) -> None:
        self.contest(work, PhalanxContestant(device.name))

    def test_pytorch_computes_the_same(self, work: Workload) -> None:
        pytest.importorskip("torch")
        self.contest(work, TorchPeer())

    def test_its_sizes_exist_and_its_name_fits(self, work: Workload) -> None:
        assert all(work.accepts(size) for size in (*work.sizes, *work.quick_sizes))
        assert len(work.name) <= 16
        assert work.effort(work.sizes[0]) > 0.0


def test_names_are_given_once() -> None:
    names = [work.name for work in HOST_WORKLOADS]
    assert len(set(names)) == len(names)


def test_the_table_is_twice_as_long_and_a_quick_run_is_not() -> None:
    whole, quick = (chosen(quick=is_quick, among=HOST_WORKLOADS) for is_quick in (False, True))
    first = chosen(), chosen(quick=True)
    assert len(whole) >= 2 * len(first[0])
    assert len(quick) <= len(first[1]) + 3


def test_a_named_row_is_timed_in_a_quick_run_too() -> None:
    found = chosen(["tanh float64"], quick=True, among=HOST_WORKLOADS)
    assert [(work.name, size) for work, size in found] == [("tanh float64", 2**20)]


def test_a_row_of_two_tables_is_timed_once_at_a_size() -> None:
    (own,) = (work for work in FUNCTIONS if work.name == "add")
    among = (*HOST_WORKLOADS, *FUNCTIONS)
    found = [pair for pair in chosen(["add"], [1, 100], among=among) if pair[0].name == "add"]
    assert [size for _, size in found] == [100, 1]
    assert found[1][0] is own
    assert found[0][0] is not own


class TestWhatAFamilyLacks:
    def test_it_is_said_and_others_are_timed(self, fake: px.Device) -> None:
        (work,) = (work for work in FURTHER if work.name == "to bfloat16")
        plan = Plan(2, 2, 1e-6, 0.01, attempts=1)
        contestants = [PhalanxContestant(fake.name), NumpyPeer()]
        case = results.measure_case(work, 64, contestants, plan, rest=lambda: None)
        assert case.outcomes["numpy"].status == "unsupported"
        assert case.outcomes["numpy"].reason == "NumPy has no bfloat16"
        assert case.outcomes[fake.name].status == "ok"
        assert case.cost is not None
        assert case.cost.moved == 6 * 64
