"""What somebody passes by mistake, and the answer."""

from __future__ import annotations

from typing import Any

import phalanx as px
import pytest

MISTAKES: tuple[tuple[str, type[Exception], str], ...] = (
    ("nn.relu([1.0])", TypeError, "relu takes a phalanx array, got list"),
    ("nn.relu(b)", TypeError, "relu takes an array of real numbers, got bool"),
    ("nn.gelu(i)", TypeError, "gelu takes a floating array, got int64; use phalanx.astype"),
    ("nn.silu(c)", TypeError, "silu takes a floating array, got complex128; use phalanx.real(x)"),
    ("nn.gelu(x, approximate='erf')", ValueError, "gelu: approximate is one of 'none', 'tanh'"),
    ("nn.elu(x, alpha='1')", TypeError, "elu: alpha is a number, got '1'"),
    ("nn.softmax(x, 5)", IndexError, "softmax: axis 5 is out of range for shape (2, 3)"),
    ("nn.log_softmax(x, 2)", IndexError, "log_softmax: axis 2 is out of range"),
    ("nn.logsumexp(x, 2)", IndexError, "logsumexp: axis 2 is out of range"),
    ("nn.layer_norm(x, 2)", ValueError, "normalized_shape (2,) is not the end of the input's"),
    ("nn.layer_norm(x, ())", ValueError, "layer_norm: normalized_shape () is not the end"),
    ("nn.layer_norm(x, 3, px.ones(2))", ValueError, "layer_norm: weight has the shape (2,)"),
    ("nn.layer_norm(x, 3, f)", TypeError, "layer_norm: weight is float32 and the input float64"),
    ("nn.layer_norm(x, 3, eps='1')", TypeError, "layer_norm: eps is a number, got '1'"),
    ("nn.layer_norm(x, 3, eps=10**400)", OverflowError, "int too large to convert to float"),
    ("nn.rms_norm(x, 3.0)", TypeError, "rms_norm: normalized_shape takes an int or a tuple"),
    ("nn.normalize(x, p=0)", ValueError, "normalize: p is positive, got 0"),
    ("nn.mse_loss(x, f)", TypeError, "mse_loss: target is float32 and the input float64"),
    ("nn.mse_loss(x, x, 'avg')", ValueError, "mse_loss: reduction is one of 'mean', 'sum', 'none'"),
    ("nn.mse_loss(x, px.ones(4))", ValueError, "(2, 3)"),
    ("nn.cross_entropy(x, i)", ValueError, "shape (2, 3), classes at axis 1, does not fit to a"),
    ("nn.cross_entropy(x, x[:1])", ValueError, "probabilities of shape (1, 3) for an input of"),
    ("nn.cross_entropy(x, i[:2], label_smoothing=2)", ValueError, "label_smoothing is from 0 to 1"),
    ("nn.cross_entropy(x, b)", TypeError, "cross_entropy: target has integers, got bool"),
    ("nn.nll_loss(x, i[:2], px.ones(2))", ValueError, "weight has the shape (2,), the input 3"),
    ("nn.nll_loss(x, i[:2] + 2).item()", IndexError, "index"),
    ("nn.one_hot(x)", TypeError, "one_hot: tensor has integers, got float64"),
    ("nn.one_hot(i[:0])", ValueError, "one_hot of no elements needs num_classes"),
    ("nn.one_hot(i, 0)", ValueError, "one_hot: num_classes is at least 1, got 0"),
    ("nn.one_hot(i, 2).tolist()", IndexError, "index 2"),
    ("nn.embedding(x, x)", TypeError, "embedding: input has integers, got float64"),
    ("nn.embedding(i, px.ones(3))", ValueError, "embedding: weight is a matrix, got shape (3,)"),
    ("nn.linear(x, px.ones((4, 2)))", ValueError, "an input of shape (2, 3) does not fit to a"),
    ("nn.linear(x, px.ones(3))", ValueError, "linear: a weight (out, in) has two axes, got shape"),
    ("nn.linear(x[0, 0], px.ones((4, 3)))", ValueError, "an input of shape () does not fit to a"),
    ("nn.linear(x, px.ones((4, 3)), x[0])", ValueError, "linear: a bias of shape (3,)"),
    ("nn.dropout(x, 1.5)", ValueError, "dropout: p is from 0 to 1, got 1.5"),
    ("nn.dropout(x, generator=3)", TypeError, "generator is a phalanx.random.Generator, got int"),
    ("nn.topk(x, 4)", ValueError, "topk: k is from 0 to 3 along axis 1 of (2, 3), got 4"),
    ("nn.topk(x, -1)", ValueError, "topk: k is from 0 to 3 along axis 1 of (2, 3), got -1"),
    ("nn.topk(x, 1, dim=2)", IndexError, "topk: axis 2 is out of range"),
    ("nn.topk(c, 1)", TypeError, "topk is not defined for complex128"),
    ("nn.topk(x[0, 0], 1)", ValueError, "topk needs at least one axis"),
    ("nn.conv2d(x, w)", ValueError, "conv2d takes 3 or 4 axes and a weight of 4, got an input of"),
    ("nn.conv2d(m, w[:, :1])", ValueError, "the weight takes 1 channels, the input has 2"),
    ("nn.conv2d(m, w, groups=3)", ValueError, "conv2d: groups=3 does not divide the channels of"),
    ("nn.conv2d(m, w, stride=0)", ValueError, "conv2d: stride is an int or a tuple of 2 ints, at"),
    ("nn.conv2d(m, w, stride=(1, 2, 3))", ValueError, "conv2d: stride is an int or a tuple of 2"),
    ("nn.conv2d(m, w, padding=0.5)", TypeError, "conv2d: padding is an int or a tuple of 2 ints"),
    (
        "nn.conv2d(m, w, padding='full')",
        ValueError,
        "padding is one of 'valid', 'same', got 'full'",
    ),
    (
        "nn.conv2d(m, w, None, 2, 'same')",
        ValueError,
        'padding="same" is for a stride of 1, got (2, 2)',
    ),
    ("nn.conv2d(m, w, dilation=9)", ValueError, "a window of extents (10, 10), dilation counted"),
    ("nn.conv2d(m, w, px.ones(5))", ValueError, "conv2d: a bias of shape (5,) for an input of"),
    ("nn.conv2d(m, px.astype(w, px.float32))", TypeError, "conv2d: weight is float32 and the"),
    ("nn.conv1d(m[0, 0, 0], w)", ValueError, "conv1d takes 2 or 3 axes and a weight of 3"),
    ("nn.max_pool2d(x, 2)", ValueError, "max_pool2d takes 3 or 4 axes, got shape (2, 3)"),
    (
        "nn.max_pool2d(m, 2, padding=2)",
        ValueError,
        "padding (2, 2) is more than half of the window",
    ),
    ("nn.max_pool2d(m, 9)", ValueError, "max_pool2d: a window of extents (9, 9)"),
    ("nn.max_pool1d(c, 1)", TypeError, "max_pool1d takes an array of real numbers, got complex128"),
    ("nn.avg_pool1d(i, 1)", TypeError, "avg_pool1d takes a floating array, got int64"),
    ("nn.avg_pool2d(m, 2, divisor_override=0)", ValueError, "divisor_override is not 0"),
    ("nn.unfold(x, 2)", ValueError, "unfold takes images (n, channels, h, w), got shape (2, 3)"),
    ("att(x, x[:, :2], x)", ValueError, "query (2, 3), key (2, 2) and value (2, 3): query and key"),
    ("att(x[0], x, x)", ValueError, "operands have two axes or more, got query (3,)"),
    ("att(x, x, x, i)", TypeError, "attn_mask is boolean or floating, got int64"),
    ("att(x, x, x, px.ones((3, 2)))", ValueError, "shape"),
    ("att(x, x, x, x[:, :2] > 0, is_causal=True)", ValueError, "attn_mask or is_causal, not both"),
    ("att(x, x, f)", TypeError, "value is float32 and the input float64"),
    ("att(m, t, t, enable_gqa=True)", ValueError, "the heads of a key or value of shape (1, 3, 6"),
    ("nn.batch_norm(x)", AttributeError, "module 'phalanx.nn' has no attribute 'batch_norm'"),
    ("nn.soft_max(x)", AttributeError, "did you mean phalanx.nn.softmax?"),
)


@pytest.mark.parametrize(("text", "error", "message"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistake(text: str, error: type[Exception], message: str, device: px.Device) -> None:
    known: dict[str, Any] = {"px": px, "nn": px.nn, "att": px.nn.scaled_dot_product_attention}
    known["x"] = px.ones((2, 3))
    known["f"] = px.ones((2, 3), dtype=px.float32)
    known["i"] = px.asarray([0, 1, 2])
    known["c"], known["b"] = px.asarray([1j]), px.asarray([True])
    known["m"], known["w"] = px.ones((1, 2, 6, 6)), px.ones((4, 2, 2, 2))
    known["t"] = px.ones((1, 3, 6, 6))
    with pytest.raises(error) as found:
        eval(text, known)
    assert message in str(found.value)
