"""How many threads of this process kernels use, on devices that compute on the host's cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.driver import Capability
from phalanx.errors import UnsupportedOpError

if TYPE_CHECKING:
    from phalanx._warm import Device

_MOST = 2**16


def set_num_threads(count: int, device: str | Device | None = None) -> int:
    """Set how many threads a kernel of a device (default: the current one) uses at most.

    The caller is one of them, and results do not depend on it. 0 is one thread for each core that
    the process may use, the first setting unless the driver says otherwise (``cpu:0`` reads
    ``PHALANX_NUM_THREADS``). Holds in the whole process for kernels that begin later. Returns what
    is set, which may be less.

    Raises:
        TypeError: ``count`` is no int.
        ValueError: it is negative.
        UnsupportedOpError: the device's kernels do not run on threads of this process, or its
            driver does not let them be counted.

    Examples:
        >>> px.set_num_threads(1, "cpu:0")
        1
        >>> px.set_num_threads(0, "cpu:0") == px.get_num_threads("cpu:0")
        True
    """
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"set_num_threads takes an int, got {count!r}")
    wanted = int(count)
    if wanted < 0:
        raise ValueError(
            f"set_num_threads takes 1 or more, or 0 for one thread per usable core, got {wanted}"
        )
    return _threads(device, min(wanted, _MOST))


def get_num_threads(device: str | Device | None = None) -> int:
    """Return how many threads a kernel of a device (default: the current one) uses at most.

    Raises:
        UnsupportedOpError: as ``set_num_threads`` does.

    Examples:
        >>> px.get_num_threads("cpu:0") >= 1
        True
    """
    return _threads(device, None)


def _threads(device: str | Device | None, count: int | None) -> int:
    from phalanx.discovery.devices import find_device, get_device

    where = get_device() if device is None else find_device(device)
    opened = where.ensure_open()
    if Capability.THREADS not in opened.capabilities:
        raise UnsupportedOpError(
            f"{where} does not tell how many threads its kernels use",
            remedy="the runtime below it may have a variable of its own",
        )
    return opened.threads(count)
