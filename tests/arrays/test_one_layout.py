"""Devices that have an elementwise kernel for one layout only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from phalanx import Kernel
from phalanx.discovery.plugins import host
from phalanx.driver import Layout, Refusal
from phalanx.testing import ReferenceDevice, ReferenceDriver


class OneLayout(ReferenceDevice):
    """A device without elementwise kernels of one layout; ``copy`` keeps both."""

    lacks: Layout

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if layout is self.lacks and op != "copy":
            return Refusal(f"no kernel is {layout.name.lower()}")
        return super().kernel(op, dtypes, layout)


@pytest.fixture(params=[Layout.CONTIGUOUS, Layout.STRIDED], ids=["no_contiguous", "no_strided"])
def device(request: pytest.FixtureRequest, drivers: object) -> Iterator[str]:
    class Lacking(OneLayout):
        lacks = request.param

    driver = ReferenceDriver("onelayout", device=Lacking)
    host().register_driver(driver)
    yield "onelayout:0"
    host().unregister_driver(driver)


@pytest.mark.parametrize("turn", ["plain", "transposed", "strided", "broadcast", "scalar"])
def test_the_other_layout_is_served_without_fallback(device: str, turn: str) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x, y = px.asarray(a, device=device), px.asarray(a + 1, device=device)
    before = px.fallback_report()
    got, want = {
        "plain": lambda: (x + y, a + (a + 1)),
        "transposed": lambda: (x.T + y.T[:, ::-1], a.T + (a + 1).T[:, ::-1]),
        "strided": lambda: (x[:, ::2] * y[:, 1::2], a[:, ::2] * (a + 1)[:, 1::2]),
        "broadcast": lambda: (x + y[0], a + (a + 1)[0]),
        "scalar": lambda: (x[:, ::3] - 2.0, a[:, ::3] - 2.0),
    }[turn]()
    np.testing.assert_array_equal(px.asnumpy(got), want)
    assert px.fallback_report() == before


def test_in_place_through_a_strided_view(device: str) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = px.asarray(a, device=device)
    part = x[:, ::2]
    part += 10.0
    a[:, ::2] += 10
    np.testing.assert_array_equal(px.asnumpy(x), a)
