"""One launch on host memory, computed by the kernels of ``cpu:0``."""

from __future__ import annotations

import numpy as np
from phalanx._warm import Array, Device, dtype_from_name, launch, launch_elementwise, wrap_host
from phalanx.optable import OPS, Structure
from phalanx.testing import HostArray, Work

#: The names of the reductions.
REDUCTIONS = tuple(row.name for row in OPS.values() if row.structure is Structure.REDUCTION)


def is_number(x: HostArray) -> bool:
    """Tell whether an operand came by value."""
    return x.ndim == 0 and x.base is None


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
