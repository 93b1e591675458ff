"""Whether a device serves an overload by others, all of which it serves in its turn."""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

from phalanx._warm import Device

from .program import Overload
from .table import Decomposition, decomposition_of

_lock = Lock()
_known: WeakKeyDictionary[Device, dict[Overload, Decomposition | None]] = WeakKeyDictionary()


def decomposition_on(device: Device, op: str, dtypes: tuple[str, ...]) -> Decomposition | None:
    """Return the decomposition of an overload if a device can run it, else ``None``.

    It can if each overload in it has a kernel that the determinism mode lets run, or is decomposed
    itself, and so on down to kernels.
    """
    with _lock:
        known = _known.setdefault(device, {})
    return _found(device, (op, dtypes), known, set())


def lacking(
    device: Device, overload: Overload, seen: dict[Overload, frozenset[Overload]]
) -> frozenset[Overload]:
    """Return what a device would need besides to compute an overload by others.

    Empty if nothing is missing, or if the overload has no decomposition. ``seen`` keeps answers.
    """
    if overload not in seen:
        seen[overload] = frozenset()  # of what comes round again nothing is counted
        found = decomposition_of(*overload)
        missing: set[Overload] = set()
        for part in found.overloads if found else ():
            if not _has(device, part):
                missing |= lacking(device, part, seen) if decomposition_of(*part) else {part}
        seen[overload] = frozenset(missing)
    return seen[overload]


def _has(device: Device, overload: Overload) -> bool:
    from phalanx.dispatch.registry import has_kernel

    return has_kernel(device, *overload)


def forget(device: Device) -> None:
    """Choose anew: the mode is another one, or the device has other kernels."""
    with _lock:
        _known.pop(device, None)


def _found(
    device: Device,
    overload: Overload,
    known: dict[Overload, Decomposition | None],
    above: set[Overload],
) -> Decomposition | None:
    if overload in known:
        return known[overload]
    found = decomposition_of(*overload)
    inner = above | {overload}
    if found is not None and not all(
        _serves(device, other, known, inner) for other in sorted(found.overloads)
    ):
        found = None
    if not above or found is not None:
        known[overload] = found  # that there is none may be due to what is above
    return found


def _serves(
    device: Device,
    overload: Overload,
    known: dict[Overload, Decomposition | None],
    above: set[Overload],
) -> bool:
    if _has(device, overload):
        return True
    return overload not in above and _found(device, overload, known, above) is not None
