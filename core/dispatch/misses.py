"""The cold side of dispatch: what happens when a device has no kernel of its own."""

from __future__ import annotations

from phalanx._warm import Array, Device, Stream
from phalanx.driver import Operand
from phalanx.optable import OPS


def run_elsewhere(
    device: Device,
    op: str,
    dtypes: tuple[str, ...],
    inputs: list[Operand],
    outputs: list[Array],
    params: tuple[int, ...],
    stream: Stream,
) -> None:
    """Compute ``outputs`` without a kernel of the device: by other ops, else as the policy says.

    Raises:
        UnsupportedOpError: neither is possible or allowed.
    """
    name = OPS[op].decomposition
    if name:
        from . import decompositions

        decompositions.DECOMPOSITIONS[name](inputs, outputs, params)
        return
    from .fallback import run_on_host

    run_on_host(device, op, dtypes, inputs, outputs, params, stream)
