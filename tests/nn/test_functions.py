"""Activations, norms, losses and classes against NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest

HostArray = npt.NDArray[Any]
#: Largest difference, relatively: a few roundings of the dtype.
SLACK = {"float64": 1e-14, "float32": 4e-6, "float16": 2e-3}
RNG = np.random.default_rng(11)
X = RNG.standard_normal((6, 4, 9)) * 4

_erf = np.vectorize(math.erf)


def _logs(x: HostArray, axis: int) -> HostArray:
    return np.asarray(x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True)))


def _normal(x: HostArray) -> HostArray:
    mean = x.mean(axis=(1, 2), keepdims=True)
    return np.asarray((x - mean) / np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-5))


ELEMENTS: dict[str, tuple[Callable[[px.Array], px.Array], Callable[[HostArray], HostArray]]] = {
    "relu": (px.nn.relu, lambda x: np.where(x > 0, x, 0)),
    "leaky_relu": (px.nn.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x)),
    "elu": (lambda x: px.nn.elu(x, 0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "sigmoid": (px.nn.sigmoid, lambda x: 0.5 + 0.5 * np.tanh(x / 2)),
    "silu": (px.nn.silu, lambda x: x / 2 * (1 + np.tanh(x / 2))),
    "gelu": (px.nn.gelu, lambda x: x / 2 * (1 + _erf(x / math.sqrt(2)))),
    "gelu tanh": (
        lambda x: px.nn.gelu(x, approximate="tanh"),
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "softplus": (px.nn.softplus, lambda x: np.log1p(np.exp(x))),
    "softplus beta": (
        lambda x: px.nn.softplus(x, 3.0, 2.0),
        lambda x: np.where(3 * x > 2, x, np.log1p(np.exp(3 * x)) / 3),
    ),
    "softmax": (lambda x: px.nn.softmax(x, 1), lambda x: np.exp(_logs(x, 1))),
    "log_softmax": (lambda x: px.nn.log_softmax(x, dim=1), lambda x: _logs(x, 1)),
    "logsumexp": (
        lambda x: px.nn.logsumexp(x, (0, 2), keepdim=True),
        lambda x: np.log(np.sum(np.exp(x), axis=(0, 2), keepdims=True)),
    ),
    "layer_norm": (lambda x: px.nn.layer_norm(x, (4, 9)), _normal),
    "rms_norm": (
        lambda x: px.nn.rms_norm(x, 9, eps=0.25),
        lambda x: x / np.sqrt(np.mean(x * x, axis=2, keepdims=True) + 0.25),
    ),
    "normalize": (
        px.nn.normalize,
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    ),
    "normalize p": (
        lambda x: px.nn.normalize(x, 3.0, dim=2),
        lambda x: x / np.linalg.norm(x, ord=3, axis=2, keepdims=True),
    ),
}  # fmt: skip


def close(got: px.Array, want: Any, dtype: str) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype.name == dtype
    slack = SLACK[dtype]
    assert np.allclose(px.asnumpy(got).astype(float), want, rtol=slack, atol=slack)


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("dtype", SLACK)
def test_functions_of_one_array(name: str, dtype: str, device: px.Device) -> None:
    host = X.astype(dtype)
    function, reference = ELEMENTS[name]
    close(function(px.asarray(host, device=device)), reference(host.astype(float)), dtype)


@pytest.mark.parametrize("name", ELEMENTS)
def test_float16_and_bfloat16_are_rounded_once(name: str, device: px.Device) -> None:
    """Computed in float32: the result is that of the float32 input, converted."""
    function = ELEMENTS[name][0]
    for dtype in (px.float16, px.bfloat16):
        x = px.astype(px.asarray(X, device=device), dtype)
        if name == "softmax":  # a row of the table, which says how it rounds
            continue
        want = px.astype(function(px.astype(x, px.float32)), dtype)
        assert px.asnumpy(function(x)).tobytes() == px.asnumpy(want).tobytes(), name


def test_weights_of_norms(device: px.Device) -> None:
    w, b = RNG.standard_normal((2, 4, 9))
    x, weight, bias = (px.asarray(a, device=device) for a in (X, w, b))
    close(px.nn.layer_norm(x, (4, 9), weight, bias), _normal(X) * w + b, "float64")
    want = X / np.sqrt(np.mean(X * X, axis=(1, 2), keepdims=True) + np.finfo(float).eps) * w
    close(px.nn.rms_norm(x, (4, 9), weight), want, "float64")


def test_large_and_special_values(device: px.Device) -> None:
    def of(*values: float) -> px.Array:
        return px.asarray(values, dtype=px.float64, device=device)

    assert px.nn.logsumexp(of(-math.inf, -math.inf), 0).item() == -math.inf
    assert px.nn.logsumexp(of(1e308, math.inf), 0).item() == math.inf
    assert px.nn.logsumexp(px.zeros((0, 3), device=device), 0).tolist() == [-math.inf] * 3
    assert px.nn.log_softmax(of(2000.0, 0.0)).tolist() == [0.0, -2000.0]
    assert px.nn.sigmoid(of(-math.inf, math.inf)).tolist() == [0.0, 1.0]
    assert px.nn.softplus(of(-math.inf, 1e300)).tolist() == [0.0, 1e300]
    for function in (px.nn.gelu, px.nn.silu):
        assert str(function(of(-math.inf, -0.0, math.inf)).tolist()) == "[-0.0, -0.0, inf]"
    for function in (px.nn.relu, px.nn.gelu, px.nn.silu, px.nn.elu, px.nn.softplus):
        assert math.isnan(function(of(math.nan)).item())
    assert px.nn.relu(px.asarray([-3, 4], device=device)).tolist() == [0, 4]
    assert px.nn.normalize(px.zeros((2, 3), device=device)).tolist() == [[0.0] * 3] * 2


# ---- losses --------------------------------------------------------------------------------------


def _reduce(loss: HostArray, weights: HostArray, reduction: str) -> Any:
    if reduction == "none":
        return loss
    return loss.sum() / weights.sum() if reduction == "mean" else loss.sum()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("has_weight", [False, True])
def test_cross_entropy_of_classes(
    reduction: str, smoothing: float, has_weight: bool, device: px.Device
) -> None:
    target = RNG.integers(0, 4, (6, 9))
    target[0, :2] = -100
    w = np.abs(RNG.standard_normal(4)) if has_weight else np.ones(4)
    logs = np.moveaxis(_logs(X, 1), 1, -1) * w
    counted = np.where(target >= 0, w[np.maximum(target, 0)], 0.0)
    picked = np.take_along_axis(logs, np.maximum(target, 0)[..., None], -1)[..., 0]
    loss = np.where(target >= 0, -(1 - smoothing) * picked - smoothing * logs.mean(-1), 0.0)
    want = _reduce(loss, counted, reduction)
    x, t = px.asarray(X, device=device), px.asarray(target, device=device)
    weight = px.asarray(w, device=device) if has_weight else None
    got = px.nn.cross_entropy(x, t, weight, reduction=reduction, label_smoothing=smoothing)
    close(got, want, "float64")
    if not smoothing:
        got = px.nn.nll_loss(px.nn.log_softmax(x, 1), t, weight, reduction=reduction)
        close(got, want, "float64")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_probabilities(reduction: str, device: px.Device) -> None:
    shares = RNG.random(X.shape)
    w = np.abs(RNG.standard_normal(4))
    smooth = shares * 0.75 + 0.25 / 4
    loss = -(_logs(X, 1) * smooth * w[:, None]).sum(axis=1)
    want = _reduce(loss, np.ones_like(loss), reduction)
    x, t, weight = (px.asarray(a, device=device) for a in (X, shares, w))
    got = px.nn.cross_entropy(x, t, weight, reduction=reduction, label_smoothing=0.25)
    close(got, want, "float64")


def test_cross_entropy_of_nothing(device: px.Device) -> None:
    scores = px.zeros((0, 4), device=device)
    for target in (px.zeros(0, dtype=px.int64, device=device), scores):
        assert math.isnan(px.nn.cross_entropy(scores, target).item())
        assert px.nn.cross_entropy(scores, target, reduction="sum").item() == 0
        assert px.nn.cross_entropy(scores, target, reduction="none").shape == (0,)


def test_loss_of_one_row_and_of_squares(device: px.Device) -> None:
    x = px.asarray([1.0, 2.0, 3.0], device=device)
    want = math.log(sum(map(math.exp, (1, 2, 3)))) - 2
    close(px.nn.cross_entropy(x, px.asarray(1, device=device)), want, "float64")
    y = px.asarray([[1.0], [2.0]], device=device)
    assert px.nn.mse_loss(y, x, reduction="none").tolist() == [[0.0, 1.0, 4.0], [1.0, 0.0, 1.0]]
    assert px.nn.mse_loss(y, x, reduction="sum").item() == 7.0


# ---- classes, linear maps, dropout ---------------------------------------------------------------


def test_one_hot_and_embedding(device: px.Device) -> None:
    labels = np.array([[0, 3], [2, 3]], np.int16)
    x = px.asarray(labels, device=device)
    hot = px.nn.one_hot(x)
    assert hot.dtype is px.int64
    assert np.array_equal(px.asnumpy(hot), np.eye(4)[labels])
    assert np.array_equal(px.asnumpy(px.nn.one_hot(x, 6)), np.eye(6)[labels])
    assert px.nn.one_hot(x[:0], 3).shape == (0, 2, 3)
    table = RNG.standard_normal((4, 5))
    got = px.nn.embedding(x, px.asarray(table, device=device))
    assert np.array_equal(px.asnumpy(got), table[labels])


def test_linear(device: px.Device) -> None:
    w, b = RNG.standard_normal((3, 9)), RNG.standard_normal(3)
    x, weight, bias = (px.asarray(a, device=device) for a in (X, w, b))
    close(px.nn.linear(x, weight, bias), X @ w.T + b, "float64")
    close(px.nn.linear(x[0, 0], weight), w @ X[0, 0], "float64")


def test_dropout(device: px.Device) -> None:
    x = px.ones(10_000, dtype=px.float32, device=device)
    got = px.asnumpy(px.nn.dropout(x, 0.25, generator=px.random.Generator(3)))
    mask = px.random.Generator(3).dropout_mask(0.25, size=10_000, dtype=px.float32)
    assert np.array_equal(got, px.asnumpy(mask))
    assert set(np.unique(got)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(np.mean(got == 0) - 0.25) < 0.02
    assert px.nn.dropout(x, 0.25, training=False) is x
    assert px.nn.dropout(x, 0.0) is x
    assert not px.asnumpy(px.nn.dropout(x, 1.0)).any()
    state = px.random.get_state()
    first = px.asnumpy(px.nn.dropout(x, 0.5))
    px.random.set_state(state)
    assert np.array_equal(first, px.asnumpy(px.nn.dropout(x, 0.5)))
