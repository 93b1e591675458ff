"""Functions that NumPy computes on the host: those of ``linalg`` without own kernels.

On a device whose memory the host addresses the operands are shared, not copied. Elsewhere it is a
fallback: the policy decides, and the ledger counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phalanx._warm import Array, wait_for_host

from .transfer import asnumpy, from_numpy, to_numpy_protocol


def on_host(name: str, function: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
    """Apply a NumPy function to arrays of one device and bring its results to that device.

    Tuples of results become tuples. Waits for the operands.

    Raises:
        UnsupportedOpError: the device is not host addressable and the policy is ``"error"``.
        TypeError: a dtype that NumPy's function does not take.
    """
    from phalanx.errors import DeviceMismatchError

    for x in arrays:
        if not isinstance(x, Array):
            raise TypeError(f"{name} takes phalanx arrays, got {type(x).__name__}")
        if x.device is not arrays[0].device:
            raise DeviceMismatchError(
                f"{name} of arrays on {arrays[0].device} and {x.device}: "
                f'move one with x.to_device("{arrays[0].device}")'
            )
        if x.dtype.itemsize == 2 and x.dtype.kind == "f":
            raise TypeError(f"{name} is not defined for {x.dtype}; convert to float32")
    device = arrays[0].device
    if device.host_addressable:
        for x in arrays:
            wait_for_host(x.buffer)
        operands = [to_numpy_protocol(x, None, None) for x in arrays]
    else:
        from phalanx.dispatch.fallback import permit

        permit(device, name, tuple(x.dtype.name for x in arrays))
        operands = [asnumpy(x) for x in arrays]
    results = function(*operands, **options)
    if not device.host_addressable:
        from phalanx.dispatch.fallback import record

        sizes = [o.nbytes for o in (results if isinstance(results, tuple) else (results,))]
        moved = sum(x.nbytes for x in arrays) + sum(sizes)
        record(device, name, tuple(x.dtype.name for x in arrays), moved)
    return _brought(results, arrays[0])


def _brought(results: Any, like: Array) -> Any:
    import numpy as np

    if isinstance(results, tuple):
        return tuple(_brought(r, like) for r in results)
    data = np.asarray(results)
    if not data.flags.writeable or not like.device.host_addressable:
        return from_numpy(data, like.device, copy=True)
    return from_numpy(data, like.device, copy=False)
