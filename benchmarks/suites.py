"""Which devices are measured against whom: host libraries, or those that compute on the device.

Without further wishes the current device meets the host libraries, and every OpenCL and CUDA device
the peers that compute on itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from .contestants import PEERS, Contestant, PhalanxContestant, open_peers
from .cuda_peers import CUDA_PEERS, open_cuda_peers, why_no_card
from .cuda_workloads import CUDA_WORKLOADS
from .host_workloads import HOST_WORKLOADS
from .opencl_peers import OPENCL_PEERS, open_opencl_peers, why_none
from .opencl_workloads import OPENCL_WORKLOADS
from .workloads import Workload

if TYPE_CHECKING:
    from phalanx import Device

Opened: TypeAlias = "tuple[list[PhalanxContestant], list[Contestant]]"
Found: TypeAlias = "tuple[list[Contestant], dict[str, str]]"


@dataclass(frozen=True, slots=True)
class OwnPeers:
    """Libraries that compute on the devices of one driver.

    ``open`` returns those of some names on a device and why others are missing, ``why_none`` why
    there is no device.
    """

    names: tuple[str, ...]
    workloads: tuple[Workload, ...]
    open: Callable[[Device, Sequence[str]], Found]
    why_none: Callable[[], str]


#: By the driver's name.
OWN_PEERS: Mapping[str, OwnPeers] = {
    "opencl": OwnPeers(tuple(OPENCL_PEERS), OPENCL_WORKLOADS, open_opencl_peers, why_none),
    "cuda": OwnPeers(tuple(CUDA_PEERS), CUDA_WORKLOADS, open_cuda_peers, why_no_card),
}


@dataclass(slots=True)
class Suite:
    """Devices, their peers, the reasons for missing peers, and the workloads that all of them do.

    ``name`` is ``"host"``, ``"programs"``, or that of a driver in `OWN_PEERS`.
    """

    name: str
    devices: list[Device]
    peers: list[str]
    workloads: tuple[Workload, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    def open(self) -> Opened:
        """Open devices and peers; tells in ``missing`` which peers there are not.

        Raises:
            DeviceError: a device does not open.
        """
        runners = [PhalanxContestant(device.name) for device in self.devices]
        if self.name == "host":
            rivals, missing = open_peers(self.peers)
        else:
            rivals, missing = OWN_PEERS[self.name].open(self.devices[0], self.peers)
        self.missing |= missing
        return runners, rivals


def choose_suites(names: Iterable[str], peers: Sequence[str]) -> list[Suite]:
    """Return the suites for named devices and peers; nothing named means the usual ones.

    The first is that of the host's libraries, and has no devices if only others are wanted. A
    device with peers of its own meets host libraries only where these are named.

    Raises:
        DeviceNotFoundError: there is none of a name.
    """
    from phalanx.discovery.devices import devices, find_device, get_device

    host_peers = [name for name in PEERS if not peers or name in peers]
    named = list(dict.fromkeys(find_device(name) for name in names))
    host = Suite("host", [], host_peers, HOST_WORKLOADS)
    if host_peers:
        host.devices = [d for d in named or [get_device()] if peers or not _has_own(d)]
    suites = [host]
    for driver, own in OWN_PEERS.items():
        wanted = [name for name in own.names if not peers or name in peers]
        found = [d for d in named or devices(driver) if d.driver.name == driver] if wanted else []
        if wanted and not named and not found and (peers or driver == "opencl"):
            host.missing |= dict.fromkeys(wanted, own.why_none())
        suites += [Suite(driver, [d], wanted, own.workloads) for d in found]
    return suites


def _has_own(device: Device) -> bool:
    return device.driver.name in OWN_PEERS
