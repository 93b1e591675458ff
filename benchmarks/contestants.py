"""Who is timed: Phalanx on a device, and its peers, each a class with a row in ``PEERS``."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from .workloads import HostArray

if TYPE_CHECKING:
    from phalanx import Device


def usable_cores() -> int:
    """Return on how many processors this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Contestant(ABC):
    """An array library, ready to compute.

    ``name`` is the column's, ``family`` chooses the spelling of an expression and ``xp`` is the
    namespace in which it runs. Every contestant holds operands of its own in memory of its own.
    """

    name: str
    family: ClassVar[str]
    xp: Any

    @abstractmethod
    def array(self, host: HostArray) -> Any:
        """Return a copy of host data in the contestant's memory."""

    @abstractmethod
    def to_numpy(self, result: Any) -> HostArray:
        """Return a result as a NumPy array; waits for it."""

    @abstractmethod
    def about(self) -> dict[str, str]:
        """Return the version and what else the speed depends on."""

    def synchronize(self) -> None:  # noqa: B027 - nothing to wait for is the usual case
        """Wait for all work; part of a timed sample unless the workload counts the host's time."""

    def release(self) -> None:  # noqa: B027 - most peers keep no memory back
        """Give cached memory back; called between workloads."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Make this contestant the one that computes; entered outside the timed region."""
        yield


class PhalanxContestant(Contestant):
    """Phalanx on one device; an op that would run elsewhere is unsupported here, never timed."""

    family = "phalanx"

    def __init__(self, device: str) -> None:
        """Open a device.

        Raises:
            DeviceNotFoundError: there is none of this name.
            DeviceError: it does not open.
        """
        import phalanx
        from phalanx.discovery.devices import find_device

        self.xp = phalanx
        self.device = find_device(device)
        self.device.ensure_open()
        self.name = self.device.name

    def array(self, host: HostArray) -> Any:
        """Copy to the device."""
        return self.xp.asarray(host, device=self.device, copy=True)

    def to_numpy(self, result: Any) -> HostArray:
        """Copy to the host; bfloat16, which NumPy lacks, as float32."""
        if result.dtype == self.xp.bfloat16:
            result = self.xp.astype(result, self.xp.float32)
        return np.asarray(self.xp.asnumpy(result))

    def about(self) -> dict[str, str]:
        """Return version, hardware, and the libraries that the kernels come from."""
        info = self.device.info
        found = self.xp.kernels(device=self.device)
        return {
            "version": self.xp.__version__,
            "hardware": info.name,
            "kind": info.kind.value,
            "driver": f"{self.device.driver.name} {info.driver_version}",
            "kernels": ", ".join(sorted({kernel.provider for kernel in found if kernel.provider})),
            "threads": os.environ.get("PHALANX_NUM_THREADS", "") or str(usable_cores()),
        }

    def synchronize(self) -> None:
        """Wait for the device."""
        self.device.synchronize()

    def release(self) -> None:
        """Empty the device's pool."""
        self.xp.empty_cache(self.device)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Make the device current and refuse fallbacks."""
        with self.xp.device(self.device), self.xp.fallback_policy("error"):
            yield


class NumpyPeer(Contestant):
    """NumPy, with the threads that its BLAS takes by default."""

    name = family = "numpy"

    def __init__(self) -> None:
        self.xp = np

    def array(self, host: HostArray) -> Any:
        """Copy."""
        return host.copy()

    def to_numpy(self, result: Any) -> HostArray:
        """Return the result."""
        return np.asarray(result)

    def about(self) -> dict[str, str]:
        """Return version and BLAS."""
        config: Any = np.show_config(mode="dicts")
        blas = config.get("Build Dependencies", {}).get("blas", {})
        return {
            "version": np.__version__,
            "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        }


class TorchPeer(Contestant):
    """PyTorch on the CPU, with as many threads as there are usable cores."""

    name = family = "torch"

    def __init__(self) -> None:
        """Import PyTorch.

        Raises:
            ImportError: it is not installed, or does not load.
        """
        self.xp = self.torch = import_module("torch")
        self.torch.set_num_threads(usable_cores())

    def array(self, host: HostArray) -> Any:
        """Copy into memory aligned by PyTorch."""
        return self.torch.tensor(host)

    def to_numpy(self, result: Any) -> HostArray:
        """View the result; bfloat16, which NumPy lacks, as float32, and a bool as an array."""
        if isinstance(result, bool):
            return np.asarray(result)
        if result.dtype == self.torch.bfloat16:
            result = result.float()
        return np.asarray(result.resolve_conj().numpy())

    def about(self) -> dict[str, str]:
        """Return version, threads and instruction set."""
        return {
            "version": self.torch.__version__,
            "threads": str(self.torch.get_num_threads()),
            "isa": str(self.torch.backends.cpu.get_cpu_capability()),
        }


Known: TypeAlias = "dict[str, tuple[Callable[[], Contestant], str]]"
#: Peers by name, each with what installs it; all that are installed take part by default.
PEERS: Known = {
    "numpy": (NumpyPeer, "pip install numpy"),
    "torch": (TorchPeer, 'pip install "phalanx[bench]"'),
}


def open_peers(names: list[str], known: Known = PEERS) -> tuple[list[Contestant], dict[str, str]]:
    """Return the peers that are installed, and for each other the reason with the remedy."""
    present: list[Contestant] = []
    missing: dict[str, str] = {}
    for name in names:
        make, remedy = known[name]
        try:
            present.append(make())
        except ImportError as error:
            missing[name] = f"{error}; {remedy}"
    return present, missing


def open_on(
    device: Device,
    peers: Mapping[str, Callable[[Device], Contestant]],
    names: Iterable[str],
    remedies: Mapping[str, str],
) -> tuple[list[Contestant], dict[str, str]]:
    """Return the peers of some names on a device, and for each that is missing why, with remedy."""
    present: list[Contestant] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            present.append(peers[name](device))
        except ImportError as error:
            missing[name] = f"{error}; {remedies[name]}"
    return present, missing
