"""The cold side of dispatch: what happens when a device has no kernel of its own."""

from __future__ import annotations

from phalanx._warm import Array, Device, Stream
from phalanx.driver import Operand
from phalanx.errors import PhalanxError

from .launches import counted


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
    from phalanx.decomposition.choice import decomposition_on

    found = decomposition_on(device, op, dtypes)
    if found is None:
        from .fallback import run_on_host

        run_on_host(device, op, dtypes, inputs, outputs, params, stream)
        return
    try:
        with counted(device, op, dtypes, stream):
            found.run(inputs, outputs, params)
    except PhalanxError as error:
        error.add_note(f"while {device} computed {op}({', '.join(dtypes)}) by other ops")
        raise
