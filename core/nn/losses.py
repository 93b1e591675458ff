"""Losses, reduced over all elements."""

from __future__ import annotations

from math import prod

from phalanx._warm import Array, cast
from phalanx.arrays.checks import need_array, need_int, need_one_device, need_real
from phalanx.arrays.data_types import astype, int64
from phalanx.namespace import reductions
from phalanx.namespace.elementwise import negative, where
from phalanx.namespace.manipulation import broadcast_shapes, moveaxis, reshape
from phalanx.namespace.taking import take, take_along_axis

from .arguments import (
    need_floating,
    need_labels,
    need_reduction,
    need_same_dtype,
    widened,
)
from .normalisation import log_softmax


def mse_loss(input: Array, target: Array, reduction: str = "mean") -> Array:
    """Return the mean of ``(input - target)**2``, its sum, or each element for ``"none"``.

    The operands broadcast. float16 and bfloat16 are computed in float32 and rounded once.

    Raises:
        TypeError: no floating array, or two dtypes.
        ValueError: shapes that do not broadcast, or another reduction.

    Examples:
        >>> print(px.nn.mse_loss(px.asarray([1.0, 2.0]), px.asarray([1.0, 4.0])))
        2.0
    """
    need_floating(input, "mse_loss")
    need_same_dtype("mse_loss", input, target=target)
    need_reduction(reduction, "mse_loss")
    broadcast_shapes(input.shape, target.shape)
    difference = widened(input) - widened(target)
    return cast(_reduced(difference * difference, reduction), input.dtype)


def _reduced(loss: Array, reduction: str) -> Array:
    if reduction == "none":
        return loss
    return reductions.mean(loss) if reduction == "mean" else reductions.sum(loss)


def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Array:
    """Return minus the log-probabilities ``input`` (n, classes, ...) of the classes ``target``.

    ``input`` is (classes,) for a scalar target, else the target's shape with the classes as axis 1.
    ``weight`` (classes,) multiplies; the mean is over the weights. Elements whose target is
    ``ignore_index`` count nothing. Other targets below 0 count from the last class, as indices do.

    Raises:
        IndexError: a target that is no class, when the result is waited for.
        TypeError: no floating input, or no integer target.
        ValueError: shapes that do not fit, or another reduction.

    Examples:
        >>> p = px.log(px.asarray([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]))
        >>> print(px.nn.nll_loss(p, px.asarray([0, 2]), reduction="none"))
        [0.69314718 2.07944154]
    """
    need_floating(input, "nll_loss")
    return _nll(input, target, weight, ignore_index, reduction, "nll_loss")


def _nll(
    input: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
    name: str,
) -> Array:
    need_labels(target, name)
    need_one_device(name, input, target)
    need_reduction(reduction, name)
    classes = _classes(input, target, name)
    ignored = target == need_int(ignore_index, f"{name}: ignore_index")
    label = where(ignored, 0, astype(target, int64, copy=False))
    scores = moveaxis(input, 1, -1) if input.ndim > 1 else input
    places = reshape(label, (*label.shape, 1))
    loss = negative(reshape(take_along_axis(scores, places), label.shape))
    if weight is None:
        counted = where(ignored, 0.0, _ones(loss))
        loss = where(ignored, 0.0, widened(loss))
    else:
        need_same_dtype(name, input, weight=weight)
        if weight.shape != (classes,):
            raise ValueError(
                f"{name}: weight has the shape {weight.shape}, the input {classes} classes"
            )
        counted = where(ignored, 0.0, widened(take(weight, label)))
        loss = where(ignored, 0.0, widened(loss) * counted)
    if reduction != "mean":
        return cast(_reduced(loss, reduction), input.dtype)
    return cast(reductions.sum(loss) / reductions.sum(counted), input.dtype)


def _ones(x: Array) -> Array:
    from phalanx.namespace.creation import ones_like

    return ones_like(widened(x))


def _classes(input: Array, target: Array, name: str) -> int:
    """The extent of the axis of classes, which the shapes leave over."""
    axis = 1 if input.ndim > 1 else 0
    if input.ndim == 0 or (*input.shape[:axis], *input.shape[axis + 1 :]) != target.shape:
        raise ValueError(
            f"{name}: an input of shape {input.shape}, classes at axis {axis}, does not fit to "
            f"a target of shape {target.shape}"
        )
    return input.shape[axis]


def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Return ``nll_loss(log_softmax(input, dim=1), target)``, of scores (n, classes, ...).

    A floating ``target`` of the input's shape has the probabilities of the classes;
    ``ignore_index`` is of integers alone. ``label_smoothing`` takes that share of a target for all
    classes alike. float16 and bfloat16 are computed in float32 and rounded once.

    Raises:
        IndexError: a target that is no class, when the result is waited for.
        TypeError: no floating input.
        ValueError: shapes that do not fit, another reduction, or a smoothing that is not in [0, 1].

    Examples:
        >>> scores = px.asarray([[2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
        >>> print(f"{px.nn.cross_entropy(scores, px.asarray([0, 1])):.10f}")
        1.6672338613
    """
    name = "cross_entropy"
    need_floating(input, name)
    need_array(target, f"{name}: target")
    need_reduction(reduction, name)
    need_real(label_smoothing, f"{name}: label_smoothing")
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{name}: label_smoothing is from 0 to 1, got {label_smoothing}")
    need_same_dtype(name, input, weight=weight)
    if input.ndim == 0:
        raise ValueError(f"{name}: a 0-d input has no axis of classes")
    axis = 1 if input.ndim > 1 else 0
    logs = log_softmax(widened(input), dim=axis)
    factors = None if weight is None else widened(weight)
    if target.dtype.kind == "f":
        loss = _of_probabilities(logs, target, factors, reduction, label_smoothing)
    else:
        loss = _nll(logs, target, factors, ignore_index, reduction, name)
        if label_smoothing:
            smooth = _smooth(logs, target, factors, ignore_index, reduction, axis)
            loss = loss * (1.0 - label_smoothing) + smooth * label_smoothing
    return cast(loss, input.dtype)


def _along(weight: Array, logs: Array, axis: int) -> Array:
    return reshape(weight, (-1, *[1] * (logs.ndim - axis - 1)))


def _smooth(
    logs: Array, target: Array, weight: Array | None, ignore: int, reduction: str, axis: int
) -> Array:
    """The loss of a target that is all classes alike."""
    classes = logs.shape[axis]
    weighted = logs if weight is None else logs * _along(weight, logs, axis)
    loss = reductions.sum(weighted, axis=axis) * (-1.0 / classes)
    ignored = target == ignore
    loss = where(ignored, 0.0, loss)
    if reduction != "mean":
        return _reduced(loss, reduction)
    label = where(ignored, 0, astype(target, int64, copy=False))
    ones = _ones(loss) if weight is None else take(weight, label)
    return reductions.sum(loss) / reductions.sum(where(ignored, 0.0, ones))


def _of_probabilities(
    logs: Array, target: Array, weight: Array | None, reduction: str, smoothing: float
) -> Array:
    if target.shape != logs.shape:
        raise ValueError(
            f"cross_entropy: probabilities of shape {target.shape} for an input of shape "
            f"{logs.shape}"
        )
    axis = 1 if logs.ndim > 1 else 0
    shares = cast(target, logs.dtype)
    if smoothing:
        shares = shares * (1.0 - smoothing) + smoothing / logs.shape[axis]
    weighted = logs * shares
    if weight is not None:
        weighted = weighted * _along(weight, logs, axis)
    loss = negative(reductions.sum(weighted, axis=axis))
    if reduction != "mean":
        return _reduced(loss, reduction)
    return reductions.sum(loss) / float(prod(loss.shape))
