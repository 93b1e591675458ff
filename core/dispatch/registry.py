"""Which kernel serves an op on a device, and what may serve it at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phalanx._warm import Device, Kernel, fill_unset
from phalanx.driver import Layout, Refusal
from phalanx.errors import DeviceError, UnsupportedOpError
from phalanx.optable import OPS, Structure

_RANK = {"none": 0, "reproducible": 1, "bitwise": 2}
_mode: str | None = None


@dataclass(frozen=True, slots=True)
class Support:
    """How a device serves one overload of an op.

    ``how`` is ``"native"``, ``"decomposed"``, ``"fallback"`` or ``"unsupported"``; ``determinism``
    is the class of the native kernel, empty otherwise. ``lacks`` names what would be needed besides
    for the op's decomposition, where the device has not all of it.
    """

    op: str
    dtypes: tuple[str, ...]
    how: str
    determinism: str = ""
    provider: str = ""
    reason: str = ""
    lacks: tuple[str, ...] = ()


def use_deterministic_algorithms(mode: str | None) -> str | None:
    """Use no kernel below a determinism class, in the whole process.

    Of the device's kernels for an op, the first of just this class is taken, which is the fastest;
    else one of a higher class; then the op's decomposition, if it has one; else the op is refused,
    with what to do instead. Memory of ``empty`` and ``empty_like`` is filled while a mode is in
    force: with NaN, the largest integer, or True.

    Args:
        mode: ``"bitwise"`` (the same bits on every device), ``"reproducible"`` (the same bits
            run to run on one device), or ``None`` for no demand.

    Returns:
        The former mode.

    Raises:
        ValueError: another mode.

    Examples:
        >>> former = px.use_deterministic_algorithms("reproducible")
        >>> px.use_deterministic_algorithms(former)
        'reproducible'
    """
    global _mode
    if mode is not None and mode not in ("bitwise", "reproducible"):
        raise ValueError(f'unknown mode {mode!r}; use "bitwise", "reproducible" or None')
    former, _mode = _mode, mode
    fill_unset(mode is not None)
    forget_choices()
    return former


def forget_choices() -> None:
    """Make every device choose its kernels anew."""
    from phalanx.decomposition.choice import forget
    from phalanx.discovery.devices import listed_devices

    for device in listed_devices():
        device.reset_kernels()
        forget(device)


def choose_kernel(
    device: Device, op: str, dtypes: tuple[str, ...], layout: Layout
) -> Kernel | None:
    """Return the device's own kernel, or ``None`` if the core must look elsewhere.

    Raises:
        UnsupportedOpError: the kernel is below the demanded determinism class.
        DeviceError: the driver answered with something else than what was asked for.
    """
    from phalanx.decomposition.choice import decomposition_on

    kernel = ask_for_kernel(device, op, dtypes, layout)
    if isinstance(kernel, Refusal):
        return None
    if _holds(kernel, _mode):
        return _fastest_in_mode(device, kernel, layout)
    for other in alternatives(device, kernel, layout):
        if _holds(other, _mode):
            return other
    if decomposition_on(device, op, dtypes) is not None:
        return None
    raise UnsupportedOpError(
        f"{op}({', '.join(dtypes)}) on {device}: the kernel is of class "
        f"{kernel.determinism!r}, and use_deterministic_algorithms({_mode!r}) is in force",
        remedy=f"{_elsewhere_in_mode(device, op, dtypes, layout)}, or lower the mode",
    )


def has_kernel(device: Device, op: str, dtypes: tuple[str, ...]) -> bool:
    """Return whether the device has a kernel of an overload that the mode lets run.

    For copies it must take operands of any strides: those of all other ops go through it.
    """
    layouts = (Layout.STRIDED,) if op == "copy" else layouts_of(op)
    for layout in layouts:
        kernel = ask_for_kernel(device, op, dtypes, layout)
        if isinstance(kernel, Kernel) and (
            _holds(kernel, _mode)
            or any(_holds(other, _mode) for other in alternatives(device, kernel, layout))
        ):
            return True
    return False


def _fastest_in_mode(device: Device, kernel: Kernel, layout: Layout) -> Kernel:
    """Return the first kernel of just the mode's class, or the one given.

    A device has kernels of a lower class beside those of a higher one only where they are faster.
    """
    if _mode is None or kernel.determinism == _mode:
        return kernel
    others = alternatives(device, kernel, layout)
    return next((other for other in others if other.determinism == _mode), kernel)


def is_replaced(device: Device, op: str, dtypes: tuple[str, ...]) -> bool:
    """Return whether the mode takes a faster kernel of a lower class than the device's first."""
    if _mode is None:
        return False
    first = ask_for_kernel(device, op, dtypes, Layout.ANY)
    if not isinstance(first, Kernel) or not _holds(first, _mode):
        return False
    return _fastest_in_mode(device, first, Layout.ANY) is not first


def mode_in_force() -> str | None:
    """Return the mode of ``use_deterministic_algorithms``."""
    return _mode


def _holds(kernel: Kernel, mode: str | None) -> bool:
    """Return whether a kernel is of the class that a mode demands, or a higher one."""
    return mode is None or _RANK[kernel.determinism] >= _RANK[mode]


def _elsewhere_in_mode(device: Device, op: str, dtypes: tuple[str, ...], layout: Layout) -> str:
    """Say which open device has a kernel that holds the mode."""
    from phalanx.discovery.devices import listed_devices

    for other in listed_devices():
        if other is not device and other.is_open:
            answer = ask_for_kernel(other, op, dtypes, layout)
            if isinstance(answer, Kernel) and _holds(answer, _mode):
                return (
                    f"that of {other} is {answer.determinism}: move the operands with "
                    f'x.to_device("{other}")'
                )
    return 'run it on another device, such as x.to_device("cpu:0")'


def alternatives(device: Device, kernel: Kernel, layout: Layout) -> Sequence[Kernel]:
    """Return what else the device has for the key of a kernel.

    Raises:
        DeviceError: the driver answered with something else than what was asked for.
    """
    found = device.ensure_open().alternatives(kernel.op, kernel.dtypes, layout)
    for other in found:
        _need_kernel(device, kernel.op, kernel.dtypes, layout, other, "alternatives")
    return tuple(found)


def ask_for_kernel(
    device: Device, op: str, dtypes: tuple[str, ...], layout: Layout
) -> Kernel | Refusal:
    """Return what the driver answers; opens the device, compiles nothing.

    Raises:
        DeviceError: the driver answered with something else than what was asked for.
    """
    found: object = device.ensure_open().kernel(op, dtypes, layout)
    if isinstance(found, Refusal):
        return found
    return _need_kernel(device, op, dtypes, layout, found, "kernel")


def _need_kernel(
    device: Device,
    op: str,
    dtypes: tuple[str, ...],
    layout: Layout,
    found: object,
    call: str,
) -> Kernel:
    """Return an answer that is a kernel for just what was asked.

    Raises:
        DeviceError: it is not.
    """
    if (
        isinstance(found, Kernel)
        and (found.op, found.dtypes) == (op, dtypes)
        and found.layout in (layout, Layout.ANY)
    ):
        if found.determinism in _RANK and found.error_bound < math.inf:
            return found
        raise DeviceError(
            f"{device}: {call}({op!r}, ...) returned a kernel with determinism="
            f"{found.determinism!r} and error_bound={found.error_bound}",
            remedy=f"a class is one of {', '.join(_RANK)}, a bound a number of ulp",
        )
    raise DeviceError(
        f"{device}: {call}({op!r}, {dtypes!r}, {layout.name}) returned {found!r}",
        remedy="return a phalanx.Kernel for just these, or a phalanx.Refusal with the reason",
    )


def layouts_of(op: str) -> tuple[Layout, ...]:
    """Return the layouts that the core asks for: two for elementwise ops, else ``ANY``."""
    elementwise = OPS[op].structure is Structure.ELEMENTWISE
    return (Layout.CONTIGUOUS, Layout.STRIDED) if elementwise else (Layout.ANY,)


def find_kernel(device: Device, op: str, dtypes: tuple[str, ...]) -> Kernel | Refusal:
    """Return the first kernel of an op of the table in any layout, else the first refusal."""
    answers = [ask_for_kernel(device, op, dtypes, layout) for layout in layouts_of(op)]
    return next((answer for answer in answers if isinstance(answer, Kernel)), answers[0])


def kernels(op: str | None = None, device: str | Device | None = None) -> tuple[Kernel, ...]:
    """List kernels with their provenance and class, without compiling any.

    Args:
        op: a name of the op table, or ``None`` for all.
        device: a device or its name (default: the current one).

    Raises:
        ValueError: no such op.
        DeviceNotFoundError: no such device.

    Examples:
        >>> {(kernel.dtypes, kernel.determinism) for kernel in px.kernels("logical_not", "cpu:0")}
        {(('bool', 'bool'), 'bitwise')}
    """
    from phalanx.discovery.devices import find_device, get_device

    check_op(op)
    where = get_device() if device is None else find_device(device)
    rows = [OPS[op]] if op is not None else list(OPS.values())
    found = [
        ask_for_kernel(where, row.name, signature.dtypes, layout)
        for row in rows
        for signature in row.signatures
        for layout in layouts_of(row.name)
    ]
    own = [
        kernel
        for answer in found
        if isinstance(answer, Kernel)
        for kernel in (answer, *alternatives(where, answer, answer.layout))
    ]
    return tuple(dict.fromkeys(own))  # one of Layout.ANY may be the answer for both layouts


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
    from phalanx.decomposition.choice import lacking

    from .fallback import fallback_device

    check_op(op)
    rows = [OPS[op]] if op is not None else list(OPS.values())
    other = fallback_device(device)
    seen: dict[tuple[str, tuple[str, ...]], frozenset[tuple[str, tuple[str, ...]]]] = {}
    for row in rows:
        for signature in row.signatures:
            name, dtypes = row.name, signature.dtypes
            answer = find_kernel(device, name, dtypes)
            if isinstance(answer, Kernel):
                yield Support(name, dtypes, "native", answer.determinism, answer.provider)
            else:
                how = _elsewhere(device, name, dtypes, other)
                missing = () if how == "decomposed" else lacking(device, (name, dtypes), seen)
                lacks = tuple(sorted(f"{part}({', '.join(kinds)})" for part, kinds in missing))
                yield Support(name, dtypes, how, reason=answer.reason, lacks=lacks)


def _elsewhere(device: Device, op: str, dtypes: tuple[str, ...], other: Device | None) -> str:
    from phalanx.decomposition.choice import decomposition_on

    if decomposition_on(device, op, dtypes) is not None:
        return "decomposed"
    if other is not None and isinstance(find_kernel(other, op, dtypes), Kernel):
        return "fallback"
    return "unsupported"
