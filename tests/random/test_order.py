"""Permutations, shuffles, choices: nothing lost, nothing doubled, the right chances."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import phalanx as px
import pytest
from chances import chi_square_is_fine


def test_permutations_keep_everything(device: px.Device) -> None:
    g = px.random.Generator(1)
    for n in (0, 1, 2, 17, 1000):
        assert sorted(g.permutation(n).tolist()) == list(range(n))
    x = px.reshape(px.arange(12), (3, 4))
    rows = px.asnumpy(g.permutation(x))
    assert sorted(map(tuple, rows)) == sorted(map(tuple, px.asnumpy(x)))
    columns = px.asnumpy(g.permutation(x, axis=-1))
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, px.asnumpy(x).T))
    assert px.asnumpy(x).tolist() == np.arange(12).reshape(3, 4).tolist()


def test_shuffles_are_in_place_and_right_for_views(device: px.Device) -> None:
    g = px.random.Generator(2)
    x = px.reshape(px.arange(24), (6, 4))
    g.shuffle(x)
    assert sorted(px.asnumpy(x)[:, 0].tolist()) == list(range(0, 24, 4))
    assert (px.asnumpy(x) % 4 == np.arange(4)).all()
    before = px.asnumpy(x)
    g.shuffle(x[::2, 1])
    after = px.asnumpy(x)
    assert sorted(after[::2, 1]) == sorted(before[::2, 1])
    rest = after.copy()
    rest[::2, 1] = before[::2, 1]
    assert (rest == before).all()
    g.shuffle(x, axis=1)
    assert (np.sort(px.asnumpy(x), axis=1) == np.sort(after, axis=1)).all()


@pytest.mark.needs_cpu
def test_all_orders_have_equal_chances(cpu: px.Device) -> None:
    g = px.random.Generator(3)
    seen = Counter(tuple(g.permutation(4, device=cpu).tolist()) for _ in range(24 * 200))
    counts = [seen[order] for order in itertools.permutations(range(4))]
    assert chi_square_is_fine(counts, [200.0] * 24)


def test_choice_of_arrays(device: px.Device) -> None:
    g = px.random.Generator(4)
    x = px.reshape(px.arange(12), (3, 4))
    assert g.choice(x).shape == (4,)
    assert g.choice(x, 5).shape == (5, 4)
    assert g.choice(x, (2, 5), axis=1).shape == (3, 2, 5)
    assert g.choice(x, 3, replace=False, axis=0).shape == (3, 4)
    assert g.choice(5).shape == ()
    assert g.choice(0, 0).shape == (0,)
    columns = px.asnumpy(g.choice(x, 50, axis=1))
    assert (columns % 4 == columns[0] % 4).all()


@pytest.mark.needs_cpu
def test_chances_with_replacement(cpu: px.Device) -> None:
    g = px.random.Generator(5)
    n = 100_000
    p = np.array([0.1, 0.0, 0.25, 0.6, 0.05, 0.0])
    for given in (p, p.tolist(), px.asarray(p, device=cpu)):
        found = px.asnumpy(g.choice(6, n, p=given, device=cpu))
        counts = np.bincount(found, minlength=6)
        assert counts[p == 0].sum() == 0
        assert chi_square_is_fine(counts[p > 0], n * p[p > 0])
    counts = np.bincount(px.asnumpy(g.choice(7, n, device=cpu)), minlength=7)
    assert chi_square_is_fine(counts, [n / 7] * 7)


@pytest.mark.needs_cpu
def test_chances_without_replacement(cpu: px.Device) -> None:
    """Of two, one after the other: p_i p_j / (1 - p_i)."""
    g = px.random.Generator(6)
    p, n = np.array([0.5, 0.3, 0.2, 0.0]), 4000
    seen = Counter(tuple(g.choice(4, 2, replace=False, p=p, device=cpu).tolist()) for _ in range(n))
    pairs = list(itertools.permutations(range(3), 2))
    assert sum(seen[pair] for pair in pairs) == n
    want = [n * p[i] * p[j] / (1 - p[i]) for i, j in pairs]
    assert chi_square_is_fine([seen[pair] for pair in pairs], want)
    plain = Counter(tuple(g.choice(3, 2, replace=False, device=cpu).tolist()) for _ in range(n))
    assert chi_square_is_fine([plain[pair] for pair in pairs], [n / 6] * 6)
