"""interp to the bit: a few places and samples, which the host looks at, and many, by ops."""

from __future__ import annotations

from itertools import product

import numpy as np
import phalanx as px
import pytest
from array_kit import assert_same, generator
from phalanx.conformance.reference.values import HostArray, any_bits, special_values

FEW = 1024


def _by_ops(x: HostArray, xp: HostArray, fp: HostArray, device: px.Device) -> HostArray:
    """What the ops give: behind a few places there are as many as the host leaves to them."""
    rest = FEW + 1 - x.size
    many = np.concatenate([x.ravel(), np.zeros(max(0, rest), x.dtype)])
    found = px.interp(*(px.asarray(a, device=device) for a in (many, xp, fp)))
    return px.asnumpy(found)[: x.size].reshape(x.shape)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_any_samples(name: str, cpu: px.Device) -> None:
    """Sorted or not, equal, infinite or NaN, of zeros of both signs; one sample, and many."""
    rng = generator(name, "interp")
    odd = np.concatenate([special_values(name), any_bits(name, 40, rng)])
    plain = rng.standard_normal(60).astype(name)
    for count, places, samples in product((1, 2, 3, 17, 200), (plain, odd), (plain, odd)):
        xp, fp = rng.choice(places, count), rng.choice(samples, count)
        for ordered in (np.sort(xp), xp, np.sort(xp)[::-1].copy()):
            x = np.concatenate([rng.choice(odd, 60), rng.choice(plain, 60), ordered[:60]])
            got = px.interp(*(px.asarray(a, device=cpu) for a in (x, ordered, fp)))
            assert_same(got, _by_ops(x, ordered, fp, cpu), f"{count} samples at {ordered[:4]}")


@pytest.mark.parametrize("size", [FEW - 1, FEW, FEW + 1])
def test_around_the_limit(size: int, cpu: px.Device) -> None:
    """So many places, and so many samples, are the last that the host looks at."""
    rng = generator("limit", size)
    x, fp = rng.uniform(-1, size + 1, size), rng.standard_normal(size)
    want = np.interp(x, np.arange(size) + 0.25, fp)
    for few in (size, 5):
        args = (x[:few], np.arange(size) + 0.25, fp)
        got = px.asnumpy(px.interp(*(px.asarray(a, device=cpu) for a in args)))
        np.testing.assert_allclose(got, want[:few], rtol=1e-13, atol=1e-13)
        assert_same(px.asarray(got), _by_ops(*args, cpu), f"{few} places, {size} samples")


def test_views_and_shapes(cpu: px.Device) -> None:
    """Places of no axes, none, and three; all arrays with gaps."""
    rng = generator("views")
    xp, fp = px.asarray(np.sort(rng.random(14)), device=cpu), px.asarray(rng.random(14), device=cpu)
    x = px.asarray(rng.random((4, 6, 5)), device=cpu)
    for places in (x[::2, ::-1, 1:4], x[0, 0, 0], x[:0]):
        got = px.interp(places, xp[::2], fp[::-2])
        assert got.shape == places.shape
        host = [px.asnumpy(+a) for a in (places, xp[::2], fp[::-2])]
        assert_same(got, _by_ops(host[0], host[1], host[2], cpu))
    got = px.interp(0.5, xp, fp)
    assert got.shape == ()
    assert float(got) == px.interp(px.asarray([0.5], device=cpu), xp, fp)[0]


def test_values_beyond_the_samples(cpu: px.Device) -> None:
    """left and right on their own, and a period, change nothing inside."""
    xp, fp = (px.asarray([0.0, 1.0, 2.0], device=cpu), px.asarray([3.0, 1.0, 5.0], device=cpu))
    x = px.asarray([-1.0, 0.0, 0.5, 2.0, 2.5, px.nan], device=cpu)
    assert px.asnumpy(px.interp(x, xp, fp)).tolist()[:5] == [3, 3, 2, 5, 5]
    assert px.asnumpy(px.interp(x, xp, fp, left=7)).tolist()[:5] == [7, 3, 2, 5, 5]
    assert px.asnumpy(px.interp(x, xp, fp, right=7)).tolist()[:5] == [3, 3, 2, 5, 7]
    want = np.interp(px.asnumpy(x)[:5], [0, 1, 2], [3, 1, 5], period=3)
    np.testing.assert_array_equal(px.asnumpy(px.interp(x, xp, fp, period=3))[:5], want)
    assert np.isnan(px.asnumpy(px.interp(x, xp, fp))[5])
