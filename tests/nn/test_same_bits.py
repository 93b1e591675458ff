"""Every function of `phalanx.nn` gives the bits of the CPU on OpenCL, and nothing falls back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from exhaustive import some_of

Call = Callable[[Any], Any]
RNG = np.random.default_rng(2)
X = RNG.standard_normal((4, 6, 65)) * 3
IMAGES, FILTERS = RNG.standard_normal((3, 4, 11, 9)), RNG.standard_normal((6, 2, 3, 3))
ROWS, MASK = RNG.standard_normal((5, 6, 3)), RNG.random((6, 6)) < 0.6
LABELS = RNG.integers(0, 6, (4, 65))


def _attention(put: Any) -> Any:
    q, mask = put(X), put(MASK)
    attention = px.nn.scaled_dot_product_attention
    return attention(q, q, q), attention(q, q, q, mask), attention(q, q, q, is_causal=True)


CALLS: dict[str, Call] = {
    **{
        name: lambda put, name=name: getattr(px.nn, name)(put(X))  # type: ignore[misc]
        for name in (
            *("relu", "leaky_relu", "elu", "sigmoid", "silu", "gelu", "softplus", "softmax"),
            *("log_softmax", "normalize"),
        )
    },
    **{
        name: lambda put, name=name: getattr(px.special, name)(put(X))  # type: ignore[misc]
        for name in px.special.__all__
    },
    "gelu tanh": lambda put: px.nn.gelu(put(X), "tanh"),
    "logsumexp": lambda put: px.nn.logsumexp(put(X), (0, 2)),
    "layer_norm": lambda put: px.nn.layer_norm(put(X), 65, put(X[0, 0]), put(X[0, 1])),
    "rms_norm": lambda put: px.nn.rms_norm(put(X), (6, 65), put(X[0])),
    "cross_entropy": lambda put: px.nn.cross_entropy(
        put(X), put(LABELS), put(np.abs(X[0, :, 0])), label_smoothing=0.1
    ),
    "nll_loss": lambda put: px.nn.nll_loss(put(X), put(LABELS)),
    "mse_loss": lambda put: px.nn.mse_loss(put(X), put(X[::-1])),
    "one_hot": lambda put: px.nn.one_hot(put(LABELS)),
    "embedding": lambda put: px.nn.embedding(put(LABELS), put(X[0])),
    "linear": lambda put: px.nn.linear(put(X), put(X[0]), put(X[0, :, 0])),
    "dropout": lambda put: px.nn.dropout(put(X), 0.3, generator=px.random.Generator(1)),
    "topk": lambda put: (*px.nn.topk(put(X), 7), *px.nn.topk(put(X.reshape(-1)), 9, largest=False)),
    "conv1d": lambda put: px.nn.conv1d(put(X), put(ROWS), padding=2, dilation=2),
    "conv2d": lambda put: px.nn.conv2d(put(IMAGES), put(FILTERS), stride=2, padding=1, groups=2),
    "unfold": lambda put: px.nn.unfold(put(IMAGES), 3, padding=1),
    "max_pool1d": lambda put: px.nn.max_pool1d(put(X), 3, 2, 1),
    "max_pool2d": lambda put: px.nn.max_pool2d(put(IMAGES), 3, 2, 1, ceil_mode=True),
    "avg_pool1d": lambda put: px.nn.avg_pool1d(put(X), 3, 2, 1),
    "avg_pool2d": lambda put: px.nn.avg_pool2d(put(IMAGES), 3, 2, 1, count_include_pad=False),
    "scaled_dot_product_attention": _attention,
}


def bits(call: Call, dtype: str, device: str) -> list[bytes]:
    def put(host: Any) -> px.Array:
        kept = host.dtype.kind != "f"
        return px.asarray(host if kept else host.astype(dtype), device=device)

    results = call(put)
    results = results if isinstance(results, tuple) else (results,)
    assert {str(result.device) for result in results} == {device}
    return [px.asnumpy(r).tobytes() for r in results]


def test_every_function_is_called() -> None:
    assert {*px.nn.__all__, *px.special.__all__} <= CALLS.keys()


@pytest.mark.needs_cpu
@pytest.mark.parametrize("dtype", some_of(["float16", "float32", "float64"], ["float32"]))
@pytest.mark.parametrize("name", CALLS)
def test_bits_of_the_cpu(name: str, dtype: str, cpu: px.Device) -> None:
    if not px.is_available("opencl:1"):
        pytest.skip("there is no opencl:1; `phalanx why opencl:1` says why")
    with px.fallback_policy("error"):
        there = bits(CALLS[name], dtype, "opencl:1")
    assert there == bits(CALLS[name], dtype, "cpu:0")
