"""Which kernel serves an op on a device, and what may serve it at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ._warm import Device, Kernel
from .driver import Layout
from .errors import UnsupportedOpError
from .optable import OPS, Determinism

_RANK = {"none": 0, "reproducible": 1, "bitwise": 2}
_mode: str | None = None


@dataclass(frozen=True, slots=True)
class Support:
    """How a device serves one overload of an op.

    ``how`` is ``"native"``, ``"decomposed"``, ``"fallback"`` or ``"unsupported"``; ``determinism``
    is the class of the native kernel, empty otherwise.
    """

    op: str
    dtypes: tuple[str, ...]
    how: str
    determinism: str = ""
    provider: str = ""
    reason: str = ""


def use_deterministic_algorithms(mode: str | None) -> str | None:
    """Refuse kernels below a determinism class, in the whole process.

    Args:
        mode: ``"bitwise"`` (the same bits on every device), ``"reproducible"`` (the same bits
            run to run on one device), or ``None`` for no demand.

    Returns:
        The former mode.

    Raises:
        ValueError: another mode.
    """
    global _mode
    if mode is not None and mode not in ("bitwise", "reproducible"):
        raise ValueError(f'unknown mode {mode!r}; use "bitwise", "reproducible" or None')
    former, _mode = _mode, mode
    forget_choices()
    return former


def forget_choices() -> None:
    """Make every device choose its kernels anew."""
    from .devices import listed_devices

    for device in listed_devices():
        device.reset_kernels()


def find_kernel(device: Device, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
    """Return the device's own kernel, or ``None`` if the core must look elsewhere.

    Raises:
        UnsupportedOpError: the kernel is below the demanded determinism class.
        CompileError: the driver cannot compile it.
    """
    device.ensure_open()
    kernel = device.driver.kernel(device.index, op, dtypes, layout)
    if kernel is None:
        return None
    if _mode is not None and _RANK[kernel.determinism] < _RANK[_mode]:
        raise UnsupportedOpError(
            f"{op}({', '.join(dtypes)}) on {device}: the kernel is of class "
            f"{kernel.determinism!r}, and use_deterministic_algorithms({_mode!r}) is in force. "
            f"Run it on another device (x.to_device('cpu:0')), or lower the mode."
        )
    return kernel


def kernels(op: str | None = None, device: str | Device | None = None) -> tuple[Kernel, ...]:
    """List kernels with their provenance and class, without compiling any.

    Args:
        op: a name of the op table, or ``None`` for all.
        device: a device or its name (default: the current one).

    Raises:
        ValueError: no such op.
        DeviceNotFoundError: no such device.
    """
    from .devices import find_device, get_device

    check_op(op)
    where = get_device() if device is None else find_device(device)
    where.ensure_open()
    found = where.driver.kernels(where.index)
    return tuple(k for k in found if op is None or k.op == op)


def check_op(op: str | None) -> None:
    """Raise ``ValueError`` with close matches if a name is not in the op table."""
    if op is None or op in OPS:
        return
    from difflib import get_close_matches

    close = get_close_matches(op, OPS, 3)
    hint = f"did you mean {', '.join(close)}?" if close else "see `phalanx ops`"
    raise ValueError(f"no op {op!r} in the op table; {hint}")


def support(device: Device, op: str | None = None) -> Iterator[Support]:
    """Tell for each overload how a device serves it."""
    from .fallback import fallback_device

    check_op(op)
    device.ensure_open()
    rows = [OPS[op]] if op is not None else list(OPS.values())
    native = {(k.op, k.dtypes): k for k in device.driver.kernels(device.index)}
    other = fallback_device(device)
    if other is not None:
        other.ensure_open()
    for row in rows:
        for signature in row.signatures:
            kernel = native.get((row.name, signature.dtypes))
            if kernel is not None:
                yield Support(
                    row.name, signature.dtypes, "native", kernel.determinism, kernel.provider
                )
                continue
            answer = device.driver.supports(device.index, row.name, signature.dtypes)
            reason = answer if isinstance(answer, str) else ""
            if answer is True:
                how, cls = "native", str(Determinism.NONE)
            else:
                how, cls = _elsewhere(row.name, row.decomposition, signature.dtypes, other), ""
            yield Support(row.name, signature.dtypes, how, cls, reason=reason)


def _elsewhere(op: str, decomposition: str, dtypes: tuple[str, ...], other: Device | None) -> str:
    if decomposition:
        return "decomposed"
    if other is not None and other.driver.supports(other.index, op, dtypes) is True:
        return "fallback"
    return "unsupported"
