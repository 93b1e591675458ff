"""What happens when a device has no kernel of its own: the policy and the ledger."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, get_args, overload

from phalanx._warm import Array, Device, Stream, empty, launch, launch_elementwise
from phalanx.driver import DeviceKind, Operand, Refusal
from phalanx.errors import FallbackWarning, SettingError, UnsupportedOpError
from phalanx.optable import OPS, Structure
from phalanx.runtime.locks import ForkSafeLock
from phalanx.runtime.settings import Change, Setting

from .registry import find_kernel

Policy = Literal["error", "warn", "allow"]

_POLICIES: tuple[Policy, ...] = get_args(Policy)
_lock = ForkSafeLock()
_ledger: dict[tuple[str, tuple[str, ...], str, str], Entry] = {}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger: an overload that ran elsewhere.

    ``bytes_moved`` counts both directions.
    """

    op: str
    dtypes: tuple[str, ...]
    device: str
    ran_on: str
    calls: int
    bytes_moved: int


def _from_environment() -> Policy:
    name = os.environ.get("PHALANX_FALLBACK", "").strip() or "error"
    for known in _POLICIES:
        if name == known:
            return known
    raise SettingError(f"PHALANX_FALLBACK={name!r}", remedy="use error, warn or allow")


_policy: Setting[Policy] = Setting("phalanx_fallback_policy", _from_environment)


@overload
def fallback_policy(policy: None = None) -> Policy: ...
@overload
def fallback_policy(policy: Policy) -> Change[Policy]: ...
def fallback_policy(policy: Policy | None = None) -> Change[Policy] | Policy:
    """Set what happens when a device lacks a kernel; without an argument, return the setting.

    The first setting is ``PHALANX_FALLBACK``, else ``"error"``. ``"error"`` raises
    ``UnsupportedOpError``, ``"warn"`` runs the op on the host and warns once per place with
    ``FallbackWarning``, ``"allow"`` runs it silently. The ledger counts in both cases. Takes
    effect at once in the whole process, or in the block of one thread or task:
    ``with phalanx.fallback_policy("allow"): ...``.

    Raises:
        ValueError: another policy, here or in the environment.

    Examples:
        >>> with px.fallback_policy("allow"):
        ...     px.fallback_policy()
        'allow'
    """
    if policy is None:
        return _policy.get()
    if policy not in _POLICIES:
        raise ValueError(f'unknown fallback policy {policy!r}; use "error", "warn" or "allow"')
    return _policy.set(policy)


def fallback_report(*, reset: bool = False) -> tuple[Entry, ...]:
    """Return the ledger, most bytes first; ``reset`` empties it.

    Examples:
        >>> before = px.fallback_report(reset=True)
        >>> x = px.asarray([1.0, 2.0]) * 3
        >>> px.fallback_report()  # the product ran where its operand is
        ()
    """
    with _lock:
        entries = sorted(_ledger.values(), key=lambda e: -e.bytes_moved)
        if reset:
            _ledger.clear()
    return tuple(entries)


@contextmanager
def recorded() -> Iterator[list[Entry]]:
    """Collect in a list what is added to the ledger inside the block."""
    before = {(e.op, e.dtypes, e.device, e.ran_on): e for e in fallback_report()}
    added: list[Entry] = []
    try:
        yield added
    finally:
        for e in fallback_report():
            old = before.get((e.op, e.dtypes, e.device, e.ran_on))
            calls, moved = (old.calls, old.bytes_moved) if old else (0, 0)
            if e.calls > calls:
                added.append(replace(e, calls=e.calls - calls, bytes_moved=e.bytes_moved - moved))


def fallback_device(device: Device) -> Device | None:
    """Return the device that stands in: the first CPU device that is another one."""
    from phalanx.discovery.devices import devices

    for other in devices():
        if other.kind == DeviceKind.CPU and other is not device:
            return other
    return None


def run_on_host(
    device: Device,
    op: str,
    dtypes: tuple[str, ...],
    inputs: list[Operand],
    outputs: list[Array],
    params: tuple[int, ...],
    stream: Stream,
) -> None:
    """Copy the operands to the stand-in, run the op there, copy the results back.

    Raises:
        UnsupportedOpError: the policy is ``"error"``, or there is no stand-in.
    """
    other = permit(device, op, dtypes)
    moved = _run_copied(other, op, dtypes, inputs, outputs, params, stream)
    record(device, op, dtypes, moved)


def permit(device: Device, op: str, dtypes: tuple[str, ...]) -> Device:
    """Return the stand-in if the policy lets an op run there; warn if it says so.

    Raises:
        UnsupportedOpError: the policy is ``"error"``, or there is no stand-in.
    """
    other = fallback_device(device)
    what = f"{op}({', '.join(dtypes)})"
    policy = fallback_policy()
    if policy == "allow" and other is not None:
        return other
    answer = find_kernel(device, op, dtypes) if op in OPS else Refusal()
    reason = f" ({answer.reason})" if isinstance(answer, Refusal) and answer.reason else ""
    if policy == "error" or other is None:
        remedy = (
            f'allow it to run on {other} with phalanx.fallback_policy("allow") or move the arrays '
            f'with x.to_device("{other}")'
            if other is not None
            else "no other device is there to run it"
        )
        raise UnsupportedOpError(f"{device} has no kernel for {what}{reason}", remedy=remedy)
    if policy == "warn":
        warnings.warn(
            f"{what}: {device} has no kernel{reason}, so it runs on {other} and its operands are "
            "copied",
            FallbackWarning,
            stacklevel=5,
        )
    return other


def record(device: Device, op: str, dtypes: tuple[str, ...], moved: int) -> None:
    """Count one call that ran elsewhere in the ledger."""
    key = (op, dtypes, str(device), str(fallback_device(device)))
    with _lock:
        old = _ledger.get(key)
        calls, before = (old.calls, old.bytes_moved) if old else (0, 0)
        _ledger[key] = Entry(*key, calls=calls + 1, bytes_moved=before + moved)


def _run_copied(
    other: Device,
    op: str,
    dtypes: tuple[str, ...],
    inputs: list[Operand],
    outputs: list[Array],
    params: tuple[int, ...],
    stream: Stream,
) -> int:
    from phalanx.arrays.transfer import mirror, scalar_array, write_back

    # The offsets of gather and scatter count from anywhere in the buffer.
    reads_anywhere, writes_anywhere = op == "gather", op == "scatter"
    moved = 0
    local_inputs = []
    for place, operand in enumerate(inputs):
        if isinstance(operand, Array):
            local_inputs.append(mirror(operand, other, whole=reads_anywhere and place == 0))
            moved += local_inputs[-1].buffer.size
        else:
            local_inputs.append(scalar_array(operand, dtypes[place], other))
    with stream:
        local_outputs = []
        for output in outputs:
            # What lies between the elements of an output must come back as it was.
            gaps = writes_anywhere or not output.is_contiguous
            room = (
                mirror(output, other, whole=writes_anywhere)
                if gaps
                else empty(output.shape, output.dtype, other)
            )
            moved += room.buffer.size if gaps else 0
            local_outputs.append(room)
        if OPS[op].structure is Structure.ELEMENTWISE:
            launch_elementwise(op, tuple(local_inputs), local_outputs[0])
        else:
            launch(op, tuple(local_inputs), tuple(local_outputs), params)
        for target, result in zip(outputs, local_outputs, strict=True):
            moved += write_back(target, result, whole=writes_anywhere)
    return moved
