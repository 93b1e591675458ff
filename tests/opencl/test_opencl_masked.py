"""Devices without fp64 and fp16: an unsupported dtype is a clear error, never a wrong number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes  # noqa: F401 - teaches NumPy bfloat16
import numpy as np
import phalanx as px
import pytest
from conftest import real_cpu
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.discovery.plugins import host
from phalanx.driver import Layout
from phalanx.errors import UnsupportedOpError
from phalanx.namespace.public import public_function
from phalanx.testing.activations import ACTIVATIONS
from phalanx.testing.gamma import digamma, lgamma

#: In float64.
_WIDE = {
    "cbrt": np.cbrt,
    "exp2": np.exp2,
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
    "lgamma": lgamma,
    "digamma": digamma,
    **ACTIVATIONS,
}


class MaskedDriver(OpenCLDriver):
    """The OpenCL devices as if they had neither fp64 nor fp16."""

    name = "masked"

    def list_devices(self) -> Any:
        listing = super().list_devices()
        return replace(
            listing,
            devices=tuple(
                replace(d, traits=replace(d.traits, fp64=False, fp16=False))
                for d in listing.devices
            ),
        )


@pytest.fixture
def masked(device: px.Device) -> Iterator[px.Device]:
    """The device behind such a driver, as the current one."""
    driver = MaskedDriver()
    host().register_driver(driver)
    try:
        with px.device(f"masked:{device.index}") as found:
            found.ensure_open()
            yield found
    finally:
        host().unregister_driver(driver)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_unsupported_dtype_is_named(masked: px.Device, dtype: str) -> None:
    answer = masked.ensure_open().kernel("add", (dtype,) * 3, Layout.CONTIGUOUS)
    assert isinstance(answer, px.Refusal)
    assert dtype in answer.reason
    assert "fp64" in answer.reason
    with pytest.raises(UnsupportedOpError, match=f"{masked.name}.*{dtype}.*fp64"):
        px.ones(3, dtype=dtype) + px.ones(3, dtype=dtype)


def test_float64_still_moves(masked: px.Device) -> None:
    x = px.asarray([0.1, 0.2], dtype=px.float64)
    assert px.asnumpy(x).tolist() == [0.1, 0.2]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    bits = a.view(f"u{a.dtype.itemsize}") == b.view(f"u{b.dtype.itemsize}")
    return bool(np.all(bits | ((a != a) & (b != b))))


FLOATS = ("float32", "float16", "bfloat16")


@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("target", FLOATS)
def test_casts_round_once(masked: px.Device, source: str, target: str) -> None:
    limits = np.iinfo(source)
    rng = np.random.default_rng(1)
    x = rng.integers(limits.min, limits.max, 5000, dtype=source, endpoint=True)
    x >>= rng.integers(0, limits.bits, 5000).astype(source)
    x[:2] = limits.min, limits.max
    got = px.asnumpy(px.astype(px.asarray(x), getattr(px, target)))
    cpu = px.asarray(x, device=real_cpu())
    assert same_bits(got, px.asnumpy(px.astype(cpu, getattr(px, target))))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", ["int64", "uint64", "int32", "uint8"])
def test_casts_to_integers_saturate(masked: px.Device, source: str, target: str) -> None:
    with np.errstate(over="ignore"):
        values = [0.9, -0.9, 1e30, -1e30, np.inf, -np.inf, np.nan, 300.7, -5.5, 2.0**40]
    x = px.astype(px.asarray(values, dtype=px.float32, device=real_cpu()), getattr(px, source))
    want = px.asnumpy(px.astype(x, getattr(px, target)))
    got = px.asnumpy(px.astype(x.to_device(masked), getattr(px, target)))
    assert got.tolist() == want.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["add", "multiply", "divide", "remainder", "maximum", "nextafter"])
def test_exact_ops_keep_their_bits(masked: px.Device, op: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 1e-38]
    raw = np.concatenate([rng.standard_normal(2000) * 100, np.repeat(special, 8)])
    other = np.concatenate([rng.standard_normal(2000), np.tile(special, 8)])
    host_device = real_cpu()
    operands = [
        px.astype(px.asarray(v.astype(np.float32), device=host_device), getattr(px, dtype))
        for v in (raw, other)
    ]
    function = getattr(px, op)
    want = px.asnumpy(function(*operands))
    got = px.asnumpy(function(*(x.to_device(masked) for x in operands)))
    assert same_bits(got, want)


@pytest.mark.parametrize("op", ["exp", "log", "sin", "tanh", "logaddexp", "pow"])
def test_functions_stay_in_their_bound_and_say_so(masked: px.Device, op: str) -> None:
    x = np.linspace(0.01, 20, 5000, dtype=np.float32)
    arity = 2 if op in ("logaddexp", "pow") else 1
    operands = [x, x[::-1] / 4][:arity]
    got = px.asnumpy(getattr(px, op)(*(px.asarray(v.copy()) for v in operands)))
    reference = getattr(np, op)(*(v.astype(np.float64) for v in operands))
    kernel = next(k for k in px.kernels(op, masked) if k.dtypes == ("float32",) * (arity + 1))
    error = np.abs(got - reference) / np.spacing(np.abs(reference).astype(np.float32))
    assert kernel.determinism == "reproducible"
    assert error.max() <= kernel.error_bound


@pytest.mark.parametrize("op", _WIDE)
def test_special_functions_are_opencls_own(masked: px.Device, op: str) -> None:
    x = np.linspace(-110 if op in ACTIVATIONS else 0.01, 8, 5000, dtype=np.float32)
    got = px.asnumpy(public_function(op)(px.asarray(x)))
    reference = _WIDE[op](x.astype(np.float64))
    kernel = next(k for k in px.kernels(op, masked) if k.dtypes == ("float32",) * 2)
    error = np.abs(got - reference) / np.spacing(np.abs(reference).astype(np.float32))
    assert kernel.determinism == "reproducible"
    assert error.max() <= kernel.error_bound


def test_networks_need_no_float64(masked: px.Device) -> None:
    """In float32 there is neither a float64 number nor a fallback on the way."""
    x = px.asarray(np.linspace(-3, 3, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8))
    w = px.ones((4, 3, 3, 3), dtype=px.float32)
    labels = px.asarray([0, 3])
    with px.fallback_policy("error"):
        y = px.nn.gelu(px.nn.conv2d(px.nn.softplus(px.nn.elu(x)), w, padding=1))
        y = px.nn.avg_pool2d(px.nn.max_pool2d(y, 2), 3, 1, 1, count_include_pad=False)
        y = px.nn.layer_norm(px.reshape(y, (2, 4, 16)), 16)
        y = px.nn.scaled_dot_product_attention(y, y, y, is_causal=True)
        loss = px.nn.cross_entropy(y[:, :, 0], labels, label_smoothing=0.1)
        places = px.nn.topk(px.reshape(y, (2, -1)), 3).indices
    assert loss.dtype is px.float32
    assert np.isfinite(px.asnumpy(loss))
    assert places.shape == (2, 3)


def test_complex_arithmetic_is_refused(masked: px.Device) -> None:
    z = px.asarray([1 + 2j], dtype=px.complex64)
    assert px.asnumpy(px.real(z)).tolist() == [1.0]
    with pytest.raises(UnsupportedOpError, match="complex64"):
        z * z
