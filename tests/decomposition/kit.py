"""A chip that has the primitives and no other kernel: those of the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import phalanx as px
from phalanx import Kernel, Layout, Refusal
from phalanx._warm import launch, launch_elementwise
from phalanx.abi.library import Library
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray
from phalanx.device_plugins.cpu import CpuDevice, best_library
from phalanx.device_plugins.native import NativeDriver
from phalanx.optable import DTYPES, OPS, Structure, is_primitive


def primitive(op: str, dtypes: tuple[str, ...]) -> bool:
    return op in OPS and is_primitive(op, dtypes[OPS[op].key], dtypes[-1])


class Chip(CpuDevice):
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if not primitive(op, dtypes):
            return Refusal("the chip has primitives only")
        return super().kernel(op, dtypes, layout)

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Sequence[Kernel]:
        return ()


class ChipDriver(NativeDriver):
    def __init__(self) -> None:
        super().__init__("chip", best_library, Chip)

    def _checked(self, library: Library) -> Library:
        return library  # it says that it is of the driver cpu


def canonical(x: HostArray) -> HostArray:
    """The bits, those of all NaNs being the same."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind == "c":
        x = x.view(x.real.dtype)
    if x.dtype.kind not in "fV":
        return x
    bits = x.view(f"u{x.dtype.itemsize}").copy()
    with np.errstate(invalid="ignore"):  # signalling ones
        bits[np.isnan(x)] = 1
    return bits


def on(device: str, x: HostArray) -> px.Array:
    """An array on a device, its axes in memory as those on the host are."""
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    plain = px.asarray(np.array(x.transpose(order), order="C"), device=device)
    back = [order.index(axis) for axis in range(x.ndim)]
    return px.permute_dims(plain, tuple(back))


def result(
    op: str,
    dtypes: tuple[str, ...],
    operands: Sequence[HostArray],
    shape: tuple[int, ...],
    params: tuple[int, ...],
    device: str,
) -> HostArray:
    """What a device gives for operands; that of a scatter is full of zeros before."""
    out = px.zeros(shape, dtype=getattr(px, dtypes[-1]), device=device)
    inputs = tuple(on(device, x) for x in operands)
    if OPS[op].structure is Structure.ELEMENTWISE:
        launch_elementwise(op, inputs, out)
    elif op == "gather":
        launch(op, (inputs[0][0], inputs[1]), (out,), params)
    elif op == "scatter":
        launch(op, inputs, (out[0],), params)
    else:
        launch(op, inputs, (out,), params)
    return px.asnumpy(out)


def assert_same_bits(
    op: str,
    dtypes: tuple[str, ...],
    operands: Sequence[HostArray],
    shape: tuple[int, ...],
    params: tuple[int, ...] = (),
) -> None:
    got, want = (result(op, dtypes, operands, shape, params, d) for d in ("chip:0", "cpu:0"))
    same = canonical(got) == canonical(want)
    if not same.all():
        at = int(np.flatnonzero(~same.ravel())[0]) // (2 if got.dtype.kind == "c" else 1)
        raise AssertionError(f"{op}{dtypes} {params}: {got.flat[at]}, not {want.flat[at]} at {at}")


def numbers(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> HostArray:
    """Everyday numbers whose sums and products stay finite."""
    facts = DTYPES[dtype]
    if facts.kind in "biu":
        return rng.integers(0, 2 if facts.kind == "b" else 100, shape).astype(dtype)
    x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if facts.part else 0)
    return x.astype(host_dtype(dtype))
