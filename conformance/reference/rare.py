"""Operands at which a formula shows its last bits, by op and dtype of the first operand.

At them one of these is seen in the result, and at others hardly ever: the low part of a number of
twice the digits, a digit that is lost in a sum, the limit itself between two formulas. They were
found by search (2026-11), among 10^7 to 10^9 operands beside such places, with kernels without it.
Of complex numbers, there are the bits of the real and of the imaginary part, in turns.
"""

from __future__ import annotations

import numpy as np

from .formats import PARTS, host_dtype
from .values import HostArray

_OPERANDS: dict[tuple[str, str], tuple[str, ...]] = {
    # the fourth part of a sum of five
    ("log", "complex128"): (
        "3e40671eeecc1588 3ff0000000000000 3e424d4b9ef06b68 3ff0000000000000 "
        "3e402c7980d8d389 3ff0000000000000",
    ),
    ("log10", "complex128"): (
        "3e416795dd3dd674 3ff0000000000000 be40c65ba5e7e53a 3ff0000000000000 "
        "3e45ba477bbff3b7 3ff0000000000000",
    ),
    # 10^300, where powers are no longer multiplied out, and its reciprocal; the axes
    ("pow", "complex128"): (
        "fe37e43c8800759c 0000000000000000 0000000000000000 7e37e43c8800759c "
        "8000000000000000 fe37e43c8800759c",
        "3ff0000000000000 0000000000000000 3ff0000000000000 0000000000000000 "
        "3ff0000000000000 0000000000000000",
    ),
    # the low part of the logarithm's first quotient in more digits than float32 has
    ("pow", "float64"): (
        "3ff6685390e24eb7 3ec2dae009289e73",
        "c0154021d293c54d 403a70079010970c",
    ),
    # the remainder of the first guess in more digits than float32 has
    ("cbrt", "float64"): (
        "bffbd5aef438b9bb c0900ef87c0fdd04 403c00012b129d60 5a981decc62154dc c056000002eecce1 "
        "01a56e1ee14e206e",
    ),
    # 2^-449, the limit below which squares are scaled
    ("hypot", "float64"): (
        "23e0000000000000 0000000000000000 23e0000000000000",
        "0000000000000000 23e0000000000000 23e0000000000000",
    ),
    # a last bit of a coefficient far down the series
    ("asin", "float64"): ("3fdea07ffcd3aaea 3fe06083a70348f4 3fdfffeb3c53522a",),
    # beside the middle of two multiples of ln 2
    ("softmax", "float32"): (
        "c120cf65 c136fda8 c14d2beb c1635a2e c1798871 c1db08d5 c1fc4e39 c22d496b c26a48a3 c2a9d231",
    ),
    # beside the middle of two numbers, from below and from above
    ("hypot", "float32"): (
        "4b405bef 4b511c95 4b42cf00 4b157e40 4b7eb696 4b157db8 4b094631 4b1cf944",
        "455de8e5 45675f00 455f5173 4543a0ba 457f5b16 4543a061 453b7667 4548766f",
    ),
}


def rare_operands(op: str, inputs: tuple[str, ...]) -> tuple[HostArray, ...]:
    """Return operands, each (k,), of an op; empty if none are known."""
    texts = _OPERANDS.get((op, inputs[0]), ())
    return tuple(_column(text, name) for text, name in zip(texts, inputs, strict=False))


def _column(text: str, name: str) -> HostArray:
    kind = host_dtype(PARTS.get(name, name))
    bits = np.array([int(word, 16) for word in text.split()], f"u{kind.itemsize}")
    return np.asarray(bits.view(host_dtype(name)))
