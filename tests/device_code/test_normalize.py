"""Rows that a group holds, of one block or several: one kernel, the bits of the CPU, no spills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import phalanx as px
import pytest
from emulated.driver import TRAITS, EmulatedDriver
from exhaustive import some_of
from phalanx.device_code.normalize import Normalize
from phalanx.device_code.recipe import Traits
from phalanx.device_code.reduction import Form
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.optable.structured import BLOCK, LANES

from device_code.sass import kernels, row
from device_code.texts import GPU

pytestmark = pytest.mark.needs_cpu
_OPS = ("softmax", "log_softmax", "layer_norm")
_WIDE = replace(TRAITS, max_work_group=512)


@pytest.fixture
def opened(drivers: dict[str, Driver]) -> Iterator[Callable[[Traits], px.Device]]:
    """Make an emulated device of some traits."""
    made: list[EmulatedDriver] = []

    def make(traits: Traits) -> px.Device:
        driver = EmulatedDriver("wide", traits)
        host().register_driver(driver)
        made.append(driver)
        return px.devices("wide")[0]

    with px.fallback_policy("error"):
        yield make
    for driver in made:
        host().unregister_driver(driver)


def _compute(op: str, x: np.ndarray, device: px.Device | str) -> np.ndarray:
    a = px.asarray(x, device=device)
    if op != "layer_norm":
        return px.asnumpy(px.softmax(a) if op == "softmax" else px.nn.log_softmax(a))
    n = x.shape[-1]
    weights = (np.random.default_rng(n + k).standard_normal(n).astype(x.dtype) for k in (0, 1))
    return px.asnumpy(px.nn.layer_norm(a, n, *(px.asarray(w, device=device) for w in weights)))


def _kernels(device: px.Device) -> set[str]:
    return {name for _, name in device.ensure_open().bound} - {"probe"}


@pytest.mark.parametrize("op", _OPS)
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (4, BLOCK + 1)),
        ("float32", (2, 3 * BLOCK + 7)),
        ("float32", (1, 8 * BLOCK)),
        ("float16", (2, 2 * BLOCK - 1)),
        ("float64", (1, 4 * BLOCK - 63)),
    ],
)
def test_one_kernel_has_the_bits_of_the_cpu(
    opened: Callable[[Traits], px.Device], op: str, dtype: str, shape: tuple[int, int]
) -> None:
    device = opened(_WIDE)
    x = np.random.default_rng(shape[1]).standard_normal(shape).astype(dtype)
    if shape[0] > 1:
        x[1, -1] = np.nan
    if shape[0] > 2:
        x[2, 0], x[3, BLOCK] = -np.inf, np.inf
    assert np.array_equal(_compute(op, x, device), _compute(op, x, "cpu:0"), equal_nan=True)
    assert _kernels(device) == {"normalize_rows"}


@pytest.mark.parametrize(
    ("limit", "n"), [(512, 8 * BLOCK + 1), (128, 2 * BLOCK + 1), (64, BLOCK + 1)]
)
def test_longer_rows_are_reduced_first(
    opened: Callable[[Traits], px.Device], limit: int, n: int
) -> None:
    device = opened(replace(TRAITS, max_work_group=limit))
    x = np.random.default_rng(n).standard_normal((1, n)).astype(np.float32)
    assert np.array_equal(_compute("softmax", x, device), _compute("softmax", x, "cpu:0"))
    assert "normalize_elements" in _kernels(device)
    assert "normalize_rows" not in _kernels(device)


@pytest.mark.parametrize(
    ("op", "dtype"),
    some_of(
        [(op, dtype) for op in _OPS for dtype in ("float32", "float64")],
        [("softmax", "float32"), ("layer_norm", "float64")],
    ),
)
def test_the_longest_rows_that_are_held_are_not_spilt(op: str, dtype: str) -> None:
    rows = Normalize(op, dtype, GPU)
    assert rows.most_held == (8 if dtype == "float32" else 4) * BLOCK
    program = rows.rows_program(rows.most_held, Form(by_row=True, slots=1, items=LANES))
    found = row(kernels(program)["normalize_rows"])
    assert found["spills"] == found["stack"] == 0
