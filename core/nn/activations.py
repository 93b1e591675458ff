"""Activations: functions of each element."""

from __future__ import annotations

from phalanx._warm import Array
from phalanx.arrays.checks import need_array, need_real
from phalanx.namespace.elementwise import (
    exp,
    expm1,
    logaddexp,
    maximum,
    minimum,
    negative,
    reciprocal,
    where,
)
from phalanx.special import erfc

from .arguments import need_choice, rounded_once

_ROOT_HALF = 0.7071067811865476
#: sqrt(8 / pi), and 0.044715 of it: Hendrycks & Gimpel, Gaussian Error Linear Units, 2016, 2.
_GELU_LINEAR, _GELU_CUBIC = 1.5957691216057308, 0.07135481627260025


def relu(input: Array) -> Array:
    """Return the larger of each element and 0, in the dtype of a real ``input``; NaN stays.

    Raises:
        TypeError: no array, or one of booleans or complex numbers.

    Examples:
        >>> print(px.nn.relu(px.asarray([-1.5, 0.0, 2.0])))
        [0. 0. 2.]
    """
    need_array(input, "relu")
    if input.dtype.kind not in "iuf":
        raise TypeError(f"relu takes an array of real numbers, got {input.dtype}")
    return maximum(input, 0)


@rounded_once
def leaky_relu(input: Array, negative_slope: float = 0.01) -> Array:
    """Return each element, those below 0 times ``negative_slope``.

    Raises:
        TypeError: no floating array, or a slope that is no number.

    Examples:
        >>> print(px.nn.leaky_relu(px.asarray([-1.5, 0.0, 2.0]), 0.5))
        [-0.75  0.    2.  ]
    """
    need_real(negative_slope, "leaky_relu: negative_slope")
    return where(input > 0, input, input * float(negative_slope))


@rounded_once
def elu(input: Array, alpha: float = 1.0) -> Array:
    """Return each element, those below 0 as ``alpha * (exp(x) - 1)``.

    Raises:
        TypeError: no floating array, or an ``alpha`` that is no number.

    Examples:
        >>> print(px.nn.elu(px.asarray([-px.inf, -1.0, 2.0])))
        [-1.         -0.63212056  2.        ]
    """
    need_real(alpha, "elu: alpha")
    return where(input > 0, input, expm1(minimum(input, 0.0)) * float(alpha))


@rounded_once
def sigmoid(input: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` of each element.

    Computed as written, with the table's ``exp``, sum and quotient; float16 and bfloat16 in
    float32. Below -88 in float32 the result is 0, or subnormal.

    Raises:
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.sigmoid(px.asarray([-1000.0, 0.0, 1.0])))
        [0.         0.5        0.73105858]
    """
    return reciprocal(1.0 + exp(negative(input)))


@rounded_once
def silu(input: Array) -> Array:
    """Return ``x * sigmoid(x)`` of each element, also known as swish; as ``x / (1 + exp(-x))``.

    Raises:
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.silu(px.asarray([-1.0, 0.0, 1.0])))
        [-0.26894142  0.          0.73105858]
    """
    return input / (1.0 + exp(negative(input)))


@rounded_once
def gelu(input: Array, approximate: str = "none") -> Array:
    """Return ``x * P(X <= x)`` of each element for a standard normal X.

    ``approximate="none"`` computes ``x / 2 * erfc(-x / sqrt(2))``, in which nothing cancels;
    ``"tanh"`` the approximation ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`` as
    ``x / (1 + exp(-2 * ...))``.

    Raises:
        TypeError: no floating array.
        ValueError: another approximation.

    Examples:
        >>> x = px.asarray([-1.0, 0.0, 1.0])
        >>> print(px.nn.gelu(x))
        [-0.15865525  0.          0.84134475]
        >>> print(px.nn.gelu(x, approximate="tanh"))
        [-0.15880801  0.          0.84119199]
    """
    need_choice(approximate, ("none", "tanh"), "gelu: approximate")
    if approximate == "none":
        return (input * 0.5) * erfc(input * -_ROOT_HALF)
    twice = input * (_GELU_CUBIC * (input * input) + _GELU_LINEAR)
    return input / (1.0 + exp(negative(twice)))


@rounded_once
def softplus(input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return ``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x > threshold``.

    Raises:
        TypeError: no floating array, or a parameter that is no number.

    Examples:
        >>> print(px.nn.softplus(px.asarray([-1.0, 0.0, 30.0])))
        [ 0.31326169  0.69314718 30.        ]
    """
    need_real(beta, "softplus: beta")
    need_real(threshold, "softplus: threshold")
    scaled = input * float(beta)
    return where(scaled > float(threshold), input, logaddexp(scaled, 0.0) / float(beta))
