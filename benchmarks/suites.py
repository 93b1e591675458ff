"""Which devices are measured against whom: one suite against host libraries, one per OpenCL device.

Without further wishes the current device meets the host libraries, and every OpenCL device the
peers that compute on itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .contestants import PEERS, Contestant, PhalanxContestant, open_peers
from .opencl_peers import OPENCL_PEERS, open_opencl_peers, why_none
from .opencl_workloads import OPENCL_WORKLOADS
from .workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from phalanx import Device


@dataclass(slots=True)
class Suite:
    """Devices, their peers, the reasons for missing peers, and the workloads that all of them do.

    ``name`` is ``"host"`` or ``"opencl"``.
    """

    name: str
    devices: list[Device]
    peers: list[str]
    workloads: tuple[Workload, ...]
    missing: dict[str, str] = field(default_factory=dict)

    def open(self) -> tuple[list[PhalanxContestant], list[Contestant]]:
        """Open devices and peers; tells in ``missing`` which peers there are not.

        Raises:
            DeviceError: a device does not open.
        """
        runners = [PhalanxContestant(device.name) for device in self.devices]
        if self.name == "host":
            rivals, missing = open_peers(self.peers)
        else:
            rivals, missing = open_opencl_peers(self.devices[0], self.peers)
        self.missing |= missing
        return runners, rivals


def choose_suites(names: Iterable[str], peers: Sequence[str]) -> list[Suite]:
    """Return the suites for named devices and peers; nothing named means the usual ones.

    The first is that of the host's libraries, and has no devices if only OpenCL ones are wanted. An
    OpenCL device meets host libraries only where these are named.

    Raises:
        DeviceNotFoundError: there is none of a name.
    """
    from phalanx.discovery.devices import devices, find_device, get_device

    host_peers = [name for name in PEERS if not peers or name in peers]
    own_peers = [name for name in OPENCL_PEERS if not peers or name in peers]
    named = list(dict.fromkeys(find_device(name) for name in names))
    host = Suite("host", [], host_peers, WORKLOADS)
    if host_peers:
        host.devices = [d for d in named or [get_device()] if peers or not _is_opencl(d)]
    own = [d for d in named or devices("opencl") if _is_opencl(d)] if own_peers else []
    if own_peers and not named and not own:
        host.missing = dict.fromkeys(own_peers, why_none())
    return [host, *(Suite("opencl", [d], own_peers, OPENCL_WORKLOADS) for d in own)]


def _is_opencl(device: Device) -> bool:
    return device.driver.name == "opencl"
