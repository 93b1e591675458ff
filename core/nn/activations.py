"""Activations: functions of each element."""

from __future__ import annotations

from phalanx._warm import Array
from phalanx.arrays.checks import need_array, need_real
from phalanx.arrays.data_types import float64
from phalanx.namespace.elementwise import (
    exp,
    expm1,
    maximum,
    minimum,
    where,
)

from . import elementwise
from .arguments import need_choice, need_floating, rounded_once

#: sqrt(8 / pi), and 0.044715 of it: Hendrycks & Gimpel, Gaussian Error Linear Units, 2016, 2.
_GELU_LINEAR, _GELU_CUBIC = 1.5957691216057308, 0.07135481627260025
#: From here on log(1 + exp(x)) - x, below exp(-18), is less than a quarter of float32's ulp of x.
_SAME_IN_SINGLE = 18.0


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
    slope = float(negative_slope)
    if 0.0 < slope <= 1.0:
        return maximum(input, input * slope)
    return where(input > 0, input, input * slope)


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


def sigmoid(input: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` of each element.

    Correctly rounded in float32, float16 and bfloat16.

    Raises:
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.sigmoid(px.asarray([-1000.0, 0.0, 1.0])))
        [0.         0.5        0.73105858]
    """
    need_floating(input, "sigmoid")
    return elementwise.sigmoid(input)


def silu(input: Array) -> Array:
    """Return ``x * sigmoid(x)`` of each element, also known as swish.

    Correctly rounded in float32, float16 and bfloat16; -0 at -inf, where PyTorch gives NaN.

    Raises:
        TypeError: no floating array.

    Examples:
        >>> print(px.nn.silu(px.asarray([-1.0, 0.0, 1.0])))
        [-0.26894142  0.          0.73105858]
    """
    need_floating(input, "silu")
    return elementwise.silu(input)


def gelu(input: Array, approximate: str = "none") -> Array:
    """Return ``x * P(X <= x)`` of each element for a standard normal X.

    ``approximate="none"`` is correctly rounded in float32, float16 and bfloat16, and -0 at -inf,
    where PyTorch gives NaN; ``"tanh"`` is the approximation
    ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``, computed as
    ``x * sigmoid(2 * ...)``.

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
    need_floating(input, "gelu")
    need_choice(approximate, ("none", "tanh"), "gelu: approximate")
    return elementwise.gelu(input) if approximate == "none" else _gelu_by_tanh(input)


@rounded_once
def _gelu_by_tanh(input: Array) -> Array:
    return input / (1.0 + exp(input * (-_GELU_CUBIC * (input * input) - _GELU_LINEAR)))


def softplus(input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Return ``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x > threshold``.

    With the defaults correctly rounded in float32, float16 and bfloat16.

    Raises:
        TypeError: no floating array, or a parameter that is no number.

    Examples:
        >>> print(px.nn.softplus(px.asarray([-1.0, 0.0, 30.0])))
        [ 0.31326169  0.69314718 30.        ]
    """
    need_floating(input, "softplus")
    need_real(beta, "softplus: beta")
    need_real(threshold, "softplus: threshold")
    if beta == 1.0 and threshold >= _SAME_IN_SINGLE and input.dtype is not float64:
        return elementwise.softplus(input)
    return _softplus_up_to(input, float(beta), float(threshold))


@rounded_once
def _softplus_up_to(input: Array, beta: float, threshold: float) -> Array:
    scaled = input * beta
    return where(scaled > threshold, input, elementwise.softplus(scaled) / beta)
