"""One launch on host memory, computed by the kernels of ``cpu:0``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from phalanx._warm import Array, Device, dtype_from_name, launch, launch_elementwise, wrap_host
from phalanx.optable import OPS, Structure

HostArray = npt.NDArray[Any]
#: The names of the reductions.
REDUCTIONS = tuple(row.name for row in OPS.values() if row.structure is Structure.REDUCTION)


@dataclass(slots=True)
class Work:
    """An op with its operands as NumPy views of the device's memory, in their canonical form.

    Scalar operands are 0-d. ``number`` counts the launches of a device from 1.
    """

    op: str
    dtypes: tuple[str, ...]
    inputs: list[HostArray]
    outputs: list[HostArray]
    params: tuple[int, ...]
    number: int

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


def compute(work: Work, cpu: Device) -> None:
    """Run a work's kernel of ``cpu:0`` in this thread."""
    count = len(work.inputs)
    arrays = [
        _wrap(x, name, cpu)
        for x, name in zip((*work.inputs, *work.outputs), work.dtypes, strict=True)
    ]
    if work.elementwise:
        launch_elementwise(work.op, tuple(arrays[:count]), arrays[count])
    else:
        launch(work.op, tuple(arrays[:count]), tuple(arrays[count:]), work.params)


def _wrap(operand: HostArray, name: str, cpu: Device) -> Array:
    x = np.asarray(operand)  # NumPy's functions of 0-d arrays return scalars
    strides = tuple(s // x.itemsize for s in x.strides)
    return wrap_host(x, x.ctypes.data, dtype_from_name(name), x.shape, strides, cpu)
