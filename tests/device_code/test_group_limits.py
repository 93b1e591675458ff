"""Kernels that can run with smaller groups than the device: each gets what it can."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from emulated.compiler import Kernel
from emulated.driver import EmulatedDriver
from emulated.workloads import WORKLOADS, differs
from phalanx.device_code.launch import fitted
from phalanx.device_code.recipe import group_shape, round_up
from phalanx.discovery.plugins import host
from phalanx.driver import Driver

pytestmark = pytest.mark.needs_cpu
_LIMIT = 8
_FIXED = re.compile(r"PHX_KERNEL_OF\([^()]*(?:\([^()]*\))*[^()]*\)\s+(\w+)\s*\(")


@pytest.fixture
def limited(
    drivers: dict[str, Driver], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, set[int]]]:
    """A device whose kernels have a limit of their own; returns the sizes of groups by kernel."""
    fixed: set[str] = set()
    sizes: dict[str, set[int]] = {}
    launch = Kernel.launch

    def noted(self: Kernel, groups: tuple[int, ...], size: tuple[int, ...], *a, **o) -> str:
        sizes.setdefault(self.name, set()).add(int(np.prod(size)))
        return launch(self, groups, size, *a, **o)

    def noting(text: str) -> str:
        fixed.update(_FIXED.findall(text))
        return text

    def limit(self: Kernel) -> int:
        return 64 if self.name in fixed else _LIMIT

    monkeypatch.setattr(Kernel, "limit", property(limit, lambda *_: None), raising=False)
    monkeypatch.setattr(Kernel, "launch", noted)
    driver = EmulatedDriver("limited", edit=noting)
    host().register_driver(driver)
    with px.fallback_policy("error"):
        yield sizes
    host().unregister_driver(driver)
    assert all(max(found) <= _LIMIT for name, found in sizes.items() if name not in fixed), sizes


@pytest.mark.parametrize("text", ["count.h", "sort.h", "normalize_rows.h", "wrap_index.h"])
def test_workloads_have_the_bits_of_the_cpu(limited: dict[str, set[int]], text: str) -> None:
    assert differs(text, "limited:0") == ""
    assert text in WORKLOADS
    assert limited


def test_other_kernels_have_the_bits_of_the_cpu(limited: dict[str, set[int]]) -> None:
    x = np.random.default_rng(1).standard_normal((70, 300)).astype(np.float32)

    def work(device: str) -> list[np.ndarray]:
        a = px.asarray(x, device=device)
        some = [
            a + a,
            a.T + 1,
            px.fft.rfft(a),
            px.searchsorted(px.sort(a[0]), a[1]),
            a @ a.T,
            a[::3, 7:9],
        ]
        return [px.asnumpy(each) for each in (*some, px.take(a, px.asarray([3, 1, 3]), axis=0))]

    with px.device("limited:0"):
        got = work("limited:0")
    with px.device("cpu:0"):
        want = work("cpu:0")
    assert [each.tobytes() for each in got] == [each.tobytes() for each in want]
    assert max(limited["run"]) == _LIMIT


@pytest.mark.parametrize(
    ("limit", "size", "want"),
    [(8, (64,), (8,)), (100, (64, 4), (16, 4)), (1, (2, 2, 2), (1, 1, 1)), (64, (64,), (64,)),
     (2, None, None), (4, (5,), (5,)), (8, (3, 8), (3, 2))],
)  # fmt: skip
def test_a_group_is_halved_along_its_longest_axis(
    limit: int, size: tuple[int, ...] | None, want: tuple[int, ...] | None
) -> None:
    assert fitted(limit, size) == want


@pytest.mark.parametrize("items", [64, 256, 384])
@pytest.mark.parametrize("widest", [16, 256])
def test_groups_of_narrow_rows_idle_little(items: int, widest: int) -> None:
    for columns in range(1, 600):
        width, height = group_shape(columns, items, widest)
        assert width * height <= items < 2 * width * height
        assert width <= widest
        idle = round_up(columns, width) / columns
        assert idle <= 1.5
    assert group_shape(64, 256, 256) == (64, 4)
    assert group_shape(1, 256, 256) == (1, 256)
    assert group_shape(2**20, 256, 256) == (256, 1)
