"""What the command queue of the reference device carries, and what a kernel of it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from phalanx.driver import Layout
from phalanx.optable import OPS, Structure

from .kernels import HostArray


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand without a hold on its memory: what the device's command queue carries.

    ``offset`` is in bytes, ``strides`` are in elements.
    """

    handle: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


#: What the queue carries for the operands of a launch, inputs then outputs.
Operands: TypeAlias = "tuple[Tensor | HostArray, ...]"


@dataclass(slots=True)
class Work:
    """An op with its operands as NumPy views of the device's memory, in their canonical form.

    Scalar operands are 0-d. ``operands`` are what the queue carried, inputs then outputs;
    ``number`` counts the launches of a driver from 1.
    """

    op: str
    dtypes: tuple[str, ...]
    layout: Layout
    inputs: list[HostArray]
    outputs: list[HostArray]
    params: tuple[int, ...]
    number: int
    operands: Operands

    @property
    def elementwise(self) -> bool:
        """Whether each element of the output depends on those at the same place alone."""
        return OPS[self.op].structure is Structure.ELEMENTWISE

    @property
    def out(self) -> HostArray:
        """The first output."""
        return self.outputs[0]

    @property
    def x(self) -> HostArray:
        """The first input."""
        return self.inputs[0]

    def values(self, i: int = 0) -> HostArray:
        """Return a copy of an input in the output's shape: an operand in place is overwritten."""
        return np.array(np.broadcast_to(self.inputs[i], self.out.shape))
