"""Shared by the tests of ops along one axis: data, strided views, and comparison with the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import ml_dtypes  # teaches NumPy bfloat16
import numpy as np
import phalanx as px
from phalanx._warm import Array, dtype_from_name, launch, view
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.discovery.plugins import host
from phalanx.optable import kind_of

#: As the device is, and as if it were a GPU: the other set of kernels.
STYLES = ("own", "groups")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40]


#: What a device pretends to be in each style.
_PRETENCES: dict[str, dict[str, Any]] = {
    "own": {},
    "groups": {"is_cpu": False},
    "single": {"fp64": False, "fp16": False},
    "waiting": {"is_cpu": False, "forward_progress": True},
    "slow": {"is_cpu": False, "double_cost": 32},
}


class StyledDriver(OpenCLDriver):
    """The OpenCL devices as if they were others."""

    def __init__(self, style: str) -> None:
        super().__init__()
        self.name = style

    def list_devices(self) -> Any:
        listing = super().list_devices()
        changes = _PRETENCES[self.name]
        devices = (replace(d, traits=replace(d.traits, **changes)) for d in listing.devices)
        return replace(listing, devices=tuple(devices))


@contextmanager
def in_style(device: px.Device, style: str) -> Iterator[px.Device]:
    """The device as it is, or as if it were another one: `_PRETENCES`."""
    if style == "own":
        yield device
        return
    driver = StyledDriver(style)
    host().register_driver(driver)
    try:
        with px.device(f"{style}:{device.index}") as found:
            found.ensure_open()
            yield found
    finally:
        host().unregister_driver(driver)


class View(NamedTuple):
    """A view of a flat buffer, the reduced or scanned axis last."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    shift: int = 0

    @property
    def size(self) -> int:
        """Elements of a buffer that has room for it."""
        reach = sum((n - 1) * max(s, 0) for n, s in zip(self.shape, self.strides, strict=True))
        return self.shift + max(reach, 0) + 1


def dense(*shape: int) -> View:
    """A C-contiguous view."""
    strides = tuple(int(np.prod(shape[i + 1 :], dtype=int)) for i in range(len(shape)))
    return View(shape, strides)


def values(dtype: str, count: int, *, special: bool = False, seed: int = 1) -> np.ndarray:
    """Numbers of all sizes near 1, with a few special ones if asked for."""
    rng = np.random.default_rng(seed)
    kind = kind_of(dtype)
    if kind == "b":
        return rng.random(count) < 0.7
    if kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        z = np.empty(count, dtype)
        z.real = values(part, count, special=special, seed=seed)
        z.imag = values(part, count, special=special, seed=seed + 1)
        return z
    x = np.exp(rng.standard_normal(count) * 0.3) * rng.choice([-1.0, 1.0, 1.0], count)
    if special and count:
        x[rng.integers(0, count, len(SPECIAL))] = SPECIAL
    with np.errstate(all="ignore"):
        return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def wrong(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The places where bits differ; a NaN equals any other."""
    if got.dtype.kind == "c":
        return wrong(got.real.copy(), want.real.copy()) | wrong(got.imag.copy(), want.imag.copy())
    same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
    with np.errstate(invalid="ignore"):
        return ~(same | ((got != got) & (want != want)))


def run(
    op: str, data: np.ndarray, source: View, result: View, dtypes: Sequence[str], where: px.Device
) -> np.ndarray:
    """Launch an op on a view of data; return the whole buffer that holds the result."""
    base = px.asarray(data, dtype=dtype_from_name(dtypes[0]), device=where)
    out = px.zeros(result.size, dtype=dtype_from_name(dtypes[1]), device=where)
    x: Array = view(base, *source)
    with px.device(where):
        launch(op, (x,), (view(out, *result),))
    return np.ascontiguousarray(px.asnumpy(out))


def check(
    op: str,
    data: np.ndarray,
    views: tuple[View, View],
    dtypes: Sequence[str],
    devices: tuple[px.Device, px.Device],
) -> None:
    """Assert that an op gives the same bits on two devices, and touches nothing else."""
    got, want = (run(op, data, *views, dtypes, where) for where in devices)
    bad = np.flatnonzero(wrong(got, want))
    assert not bad.size, (
        f"{op} {dtypes} {views}: {bad.size} of {got.size} differ, first at {bad[0]}: "
        f"{got[bad[0]]} instead of {want[bad[0]]}"
    )


__all__ = ["STYLES", "View", "check", "dense", "in_style", "run", "values", "wrong"]
