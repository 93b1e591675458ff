"""Ops expressed through other ops, for devices without a kernel of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from phalanx._warm import Array, assign
from phalanx.driver import Operand


def _softmax(inputs: list[Operand], outputs: list[Array], params: tuple[int, ...]) -> None:
    """exp(x - max) times the reciprocal of its sum, along the last axis."""
    del params
    from phalanx.namespace import elementwise, reductions

    x = cast(Array, inputs[0])
    powers = elementwise.exp(x - reductions.max(x, axis=-1, keepdims=True))
    total = reductions.sum(powers, axis=-1, keepdims=True)
    assign(outputs[0], powers * elementwise.reciprocal(total))


#: By the name that the op table's ``decomposition`` gives.
DECOMPOSITIONS: Mapping[str, Callable[[list[Operand], list[Array], tuple[int, ...]], None]] = {
    "softmax": _softmax
}
