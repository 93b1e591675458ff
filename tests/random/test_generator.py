"""Generators: which words an element takes, states, splits, seeds, threads."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.groups.ops.test_random import VECTORS
from phalanx.conformance.reference.random_numbers import block, words
from phalanx.random.philox import block as host_block

KEYS = (0, 7, 2**32 + 5, 2**63 + 1, 2**64 - 1)


@pytest.mark.parametrize(("counter", "key", "want"), VECTORS)
def test_published_vectors(
    counter: tuple[int, int, int, int], key: tuple[int, int], want: tuple[int, ...]
) -> None:
    """Those of the reference and of the host; `phalanx conformance` has those of devices."""
    assert block(counter, key) == want
    position, stream = (counter[i] | counter[i + 1] << 32 for i in (0, 2))
    low, high = host_block(key[0] | key[1] << 32, stream, position)
    assert (low % 2**32, low >> 32, high % 2**32, high >> 32) == want


@pytest.mark.parametrize("seed", KEYS)
def test_the_key_is_the_seed(seed: int, device: px.Device) -> None:
    got = px.random.Generator(seed).bits(70, dtype="uint32")
    assert got.device is device
    assert got.tolist() == words(seed, 0, 0, 72)[:70].tolist()


def test_a_call_begins_with_a_new_block(device: px.Device) -> None:
    g = px.random.Generator(3)
    assert g.bits(5, dtype="uint32").tolist() == words(3, 0, 0, 5)[:5].tolist()
    low = words(3, 0, 2, 8).tolist()
    assert g.bits(3).tolist() == [low[i] | low[i + 1] << 32 for i in (0, 2, 4)]
    assert g.state["position"] == 4


DRAWS: dict[str, Any] = {
    "bits": lambda g, n: g.bits(n),
    "uniform": lambda g, n: g.uniform(size=n),
    "uniform of float32": lambda g, n: g.uniform(-1, 1, n, dtype="float32"),
    "normal": lambda g, n: g.normal(size=n),
    "normal of bfloat16": lambda g, n: g.normal(size=n, dtype="bfloat16"),
    "exponential": lambda g, n: g.exponential(size=n),
    "integers": lambda g, n: g.integers(10, size=n),
    "bernoulli": lambda g, n: g.bernoulli(0.3, n),
    "bernoulli of arrays": lambda g, n: g.bernoulli(px.asarray(0.3), n),
    "gamma": lambda g, n: g.gamma(2.5, size=n),
    "beta": lambda g, n: g.beta(2, 3, n),
    "beta of tiny parameters": lambda g, n: g.beta(3e-5, 1e-5, n, dtype="float32"),
    "standard_t": lambda g, n: g.standard_t(3, n),
    "poisson": lambda g, n: g.poisson(12.0, n),
    "multivariate_normal": lambda g, n: g.multivariate_normal([1, 2], [[2, 1], [1, 2]], n)[..., 1],
}


@pytest.mark.parametrize("name", DRAWS)
def test_an_element_depends_on_its_place_alone(name: str, device: px.Device) -> None:
    """Not on how many there are, nor on the shape."""
    long = px.asnumpy(DRAWS[name](px.random.Generator(1), 1003))
    for n in (1, 2, 3, 5, 64, 257):
        short = px.asnumpy(DRAWS[name](px.random.Generator(1), n))
        assert short.tobytes() == long[:n].tobytes()
    shaped = px.asnumpy(DRAWS[name](px.random.Generator(1), (17, 59)))
    assert shaped.tobytes() == long.tobytes()


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", DRAWS)
def test_threads_do_not_show(name: str, cpu: px.Device) -> None:
    made = []
    before = px.get_num_threads(cpu)
    for threads in (1, 2, 5):
        px.set_num_threads(threads, cpu)
        with px.device(cpu):
            made.append(px.asnumpy(DRAWS[name](px.random.Generator(1), 300_001)).tobytes())
    px.set_num_threads(before, cpu)
    assert len(set(made)) == 1


def test_one_of_all_is_drawn_for_a_number(device: px.Device) -> None:
    g = px.random.Generator(1)
    assert g.normal().shape == ()
    assert g.normal(size=()).shape == ()
    assert g.normal(size=(2, 0, 3)).shape == (2, 0, 3)
    assert g.normal(size=np.int64(3)).shape == (3,)
    assert g.normal(px.zeros((2, 1)), px.ones(3)).shape == (2, 3)
    assert g.normal(px.zeros(3), size=(4, 3)).shape == (4, 3)
    assert g.bernoulli(px.zeros((2, 2))).shape == (2, 2)


def test_nothing_is_taken_for_nothing(device: px.Device) -> None:
    g = px.random.Generator(1)
    g.uniform(size=0)
    g.permutation(0)
    assert g.state["position"] == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype: str, device: px.Device) -> None:
    g = px.random.Generator(1)
    for made in (
        g.uniform(size=9, dtype=dtype),
        g.normal(2, 3, 9, dtype=dtype),
        g.exponential(size=9, dtype=dtype),
        g.dropout_mask(0.5, 9, dtype=dtype),
        g.normal(px.zeros(9, dtype=dtype)),
        g.uniform(px.zeros(9), 2, dtype=dtype),
    ):
        assert made.dtype.name == dtype
    with px.set_default_dtype(dtype) if dtype in ("float32", "float64") else px.device(device):
        assert dtype in ("float16", "bfloat16") or g.normal().dtype.name == dtype


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_the_whole_range_of_integers(dtype: str, device: px.Device) -> None:
    limits = px.iinfo(dtype)
    whole = px.asnumpy(
        px.random.Generator(1).integers(limits.min, limits.max, 99, dtype=dtype, endpoint=True)
    )
    raw = px.asnumpy(px.random.Generator(1).bits(99))
    moved = raw.astype(np.dtype(dtype)) + np.dtype(dtype).type(limits.min)
    assert whole.tobytes() == moved.tobytes()
    one = px.random.Generator(1).integers(limits.max, limits.max, 9, dtype=dtype, endpoint=True)
    assert set(one.tolist()) == {limits.max}
    wide = px.random.Generator(1).integers(limits.min, limits.max, 9, dtype=dtype)
    span = limits.max - limits.min
    want = [limits.min + (r * span >> 64) for r in raw[:9].tolist()]
    assert wide.tolist() == want


def test_state_goes_through_json_pickle_and_copy(device: px.Device) -> None:
    g = px.random.Generator(2**64 - 1)
    g.normal(size=10)
    saved = json.loads(json.dumps(g.state))
    twins = [pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g)]
    want = g.normal(size=5).tolist()
    restored = px.random.Generator(0)
    restored.set_state(saved)
    for twin in (*twins, restored):
        assert twin.normal(size=5).tolist() == want


def test_children_differ_and_are_repeated(device: px.Device) -> None:
    g = px.random.Generator(5)
    children = g.split(4)
    again = px.random.Generator(5).split(4)
    made = [child.bits(8).tolist() for child in children]
    assert made == [child.bits(8).tolist() for child in again]
    assert len({tuple(m) for m in (*made, g.bits(8).tolist())}) == 5
    grandchild = children[0].split(1)[0]
    assert grandchild.state["key"] != children[0].state["key"]
    assert g.split(0) == []


def test_seed_of_the_default_generator(device: px.Device) -> None:
    px.random.seed(9)
    first = px.random.uniform(size=3).tolist()
    px.random.seed(9)
    assert px.random.uniform(size=3).tolist() == first
    assert px.random.Generator(9).uniform(size=3).tolist() == first
    px.random.seed()
    assert px.random.uniform(size=3).tolist() != first


def test_generators_without_a_seed_differ() -> None:
    states = [px.random.Generator().state for _ in range(3)]
    assert len({(s["key"], s["stream"]) for s in states}) == 3


def test_positions_wrap(device: px.Device) -> None:
    g = px.random.Generator(1)
    g.set_state({**g.state, "position": 2**64 - 1})
    got = g.bits(8, dtype="uint32").tolist()
    assert got == [*words(1, 0, 2**64 - 1, 4)[:4], *words(1, 0, 0, 4)]
    assert g.state["position"] == 1


@pytest.mark.needs_cpu
def test_threads_get_numbers_of_their_own(cpu: px.Device) -> None:
    g = px.random.Generator(4)
    found: list[int] = []

    def work() -> None:
        for _ in range(200):
            found.extend(g.bits(2, device=cpu).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(px.random.Generator(4).bits(1600, device=cpu).tolist())


def test_import_is_lazy() -> None:
    code = "import sys, phalanx; print('phalanx.random' in sys.modules)"
    environment = {**os.environ, "PHALANX_PLUGINS": "none"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "False"
