"""Linear maps and attention."""

from __future__ import annotations

from math import inf, sqrt

from phalanx._warm import Array, cast
from phalanx.arrays.checks import need_array, need_one_device, need_real
from phalanx.namespace import reductions
from phalanx.namespace.creation import arange
from phalanx.namespace.elementwise import where
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_shapes, expand_dims, matrix_transpose, reshape

from .arguments import need_floating, need_same_dtype
from .regularisation import dropout

_NAME = "scaled_dot_product_attention"


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return ``input @ weight.T + bias`` for ``input`` (..., in) and ``weight`` (out, in).

    The product is that of ``matmul``, the bias (out,) is added to what was rounded.

    Raises:
        TypeError: operands that are no arrays of one floating dtype.
        ValueError: extents that do not fit.

    Examples:
        >>> w = px.asarray([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]])
        >>> print(px.nn.linear(px.asarray([3.0, 4.0]), w, px.asarray([0.5, 0.0, 0.0])))
        [11.5  4.   3. ]
    """
    need_floating(input, "linear")
    need_same_dtype("linear", input, weight=weight, bias=bias)
    if weight.ndim != 2:
        raise ValueError(f"linear: a weight (out, in) has two axes, got shape {weight.shape}")
    if input.ndim == 0 or input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear: an input of shape {input.shape} does not fit to a weight of shape "
            f"{weight.shape}; the last extents are equal"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"linear: a bias of shape {bias.shape} does not fit to a weight of shape {weight.shape}"
        )
    result = matmul(input, matrix_transpose(weight))
    return result if bias is None else result + bias


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """Return ``softmax(query @ key.mT * scale + attn_mask) @ value``.

    ``query`` is (..., l, e), ``key`` (..., s, e), ``value`` (..., s, v); leading axes broadcast,
    and the result is (..., l, v). A boolean mask says what takes part, a floating one is added;
    ``is_causal`` lets row i see the columns up to i. Rows that see nothing are 0. ``scale`` is
    1 / sqrt(e) if left out. With ``enable_gqa`` there are as many heads of keys, at axis -3, as
    divide those of the query. The order: the query is scaled, then product, mask, ``softmax``,
    dropout of ``phalanx.random``, product.

    Raises:
        DeviceMismatchError: operands on several devices.
        TypeError: operands that are no arrays of one floating dtype, or a mask of integers.
        ValueError: shapes that do not fit, or a mask beside ``is_causal``.

    Examples:
        >>> q, k = px.asarray([[8.0, 0.0], [0.0, 8.0]]), px.asarray([[9.0, 0.0], [0.0, 9.0]])
        >>> v = px.asarray([[1.0, 2.0], [3.0, 4.0]])
        >>> print(px.nn.scaled_dot_product_attention(q, k, v))
        [[1. 2.]
         [3. 4.]]
        >>> print(px.nn.scaled_dot_product_attention(q * 0, k, v, is_causal=True))
        [[1. 2.]
         [2. 3.]]
    """
    need_floating(query, _NAME)
    need_same_dtype(_NAME, query, key=key, value=value)
    need_one_device(_NAME, query, key, value)
    _check_shapes(query, key, value)
    if enable_gqa:
        key, value = _repeated(key, query), _repeated(value, query)
    if scale is not None:
        need_real(scale, f"{_NAME}: scale")
    factor = 1.0 / sqrt(query.shape[-1]) if scale is None else float(scale)
    scores = matmul(query * factor, matrix_transpose(key))
    mask = _mask(attn_mask, is_causal, scores)
    if mask is None:
        weights = reductions.softmax(scores)
    elif mask.dtype.kind == "b":
        weights = reductions.softmax(where(mask, scores, -inf))
        # a causal row sees its own column at least
        weights = weights if is_causal else where(_any(mask), weights, 0.0)
    else:
        weights = where(_any(mask > -inf), reductions.softmax(scores + mask), 0.0)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return matmul(weights, value)


def _any(seen: Array) -> Array:
    return reductions.any(seen, axis=-1, keepdims=True)


def _check_shapes(query: Array, key: Array, value: Array) -> None:
    shapes = f"query {query.shape}, key {key.shape} and value {value.shape}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"{_NAME}: operands have two axes or more, got {shapes}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"{_NAME} of {shapes}: query and key have the same last extent, key and value the "
            "same last but one"
        )
    if query.shape[-1] == 0 or key.shape[-2] == 0:
        raise ValueError(f"{_NAME} of {shapes}: the last two axes of a key have elements")


def _repeated(x: Array, query: Array) -> Array:
    """Each head as often as the query has heads for it."""
    if x.ndim < 3 or query.ndim < 3 or x.shape[-3] == 0 or query.shape[-3] % x.shape[-3]:
        raise ValueError(
            f"{_NAME}: the heads of a key or value of shape {x.shape} do not divide those of a "
            f"query of shape {query.shape}"
        )
    from phalanx.namespace.repeating import repeat

    return repeat(x, query.shape[-3] // x.shape[-3], axis=-3)


def _mask(mask: Array | None, is_causal: bool, scores: Array) -> Array | None:
    if mask is None:
        return _causal(scores) if is_causal else None
    if is_causal:
        raise ValueError(f"{_NAME} takes attn_mask or is_causal, not both")
    need_array(mask, f"{_NAME}: attn_mask")
    need_one_device(_NAME, scores, mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(f"{_NAME}: attn_mask is boolean or floating, got {mask.dtype}")
    if broadcast_shapes(mask.shape, scores.shape) != scores.shape:
        raise ValueError(
            f"{_NAME}: attn_mask of shape {mask.shape} for scores of shape {scores.shape}"
        )
    return mask if mask.dtype.kind == "b" else cast(mask, scores.dtype)


def _causal(scores: Array) -> Array:
    rows, columns = (arange(n, device=scores.device) for n in scores.shape[-2:])
    return expand_dims(rows, axis=1) >= reshape(columns, (1, -1))
