"""The reference driver: what its devices are, what fails on purpose, what was launched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from phalanx.driver import DeviceInfo, DeviceKind, Driver, Feature, Layout
from phalanx.runtime.locks import ForkSafeLock

from .device import ReferenceDevice

if TYPE_CHECKING:
    from phalanx import Kernel, Stream


@dataclass
class Faults:
    """What fails on purpose, until it is taken out.

    Attributes:
        launch: what the launches of an op raise, by op; where streams work, when their work runs.
        alloc: the numbers, from 1, of the allocations that find no memory.
        reserve: whether there are no more addresses.
        map: the numbers, from 1, of the calls of ``map`` that find no memory.
        unmap: what ``unmap`` raises.
        release: what ``release`` raises.
        copy: what copies raise.
        open: what opening a device raises.
    """

    launch: dict[str, BaseException] = field(default_factory=dict)
    alloc: set[int] = field(default_factory=set)
    reserve: bool = False
    map: set[int] = field(default_factory=set)
    unmap: BaseException | None = None
    release: BaseException | None = None
    copy: BaseException | None = None
    open: BaseException | None = None


@dataclass(frozen=True)
class Launch:
    """One entry of ``ReferenceDriver.launches``; ``shapes`` are those of the array operands."""

    index: int
    op: str
    dtypes: tuple[str, ...]
    layout: Layout
    shapes: tuple[tuple[int, ...], ...]


class ReferenceDriver(Driver):
    """A driver over host memory of its own with kernels in NumPy; see `ReferenceDevice`.

    Args:
        name: the devices are ``name:0`` and on.
        devices: how many.
        streams: real asynchronous streams with events and timing; else the core emulates them.
        host_addressable: handles are addresses, and the default stream counts as inline.
        kind: what the devices are; a CPU can stand in for others.
        memory: bytes per device.
        page: the granularity of virtual memory in bytes; 0: the devices have none.
        missing: ops without a kernel.
        fp64: whether float64 and complex128 have kernels.
        determinism: class of all kernels.
        delay: seconds before each task of a stream.
        score: of the devices, for the aliases.
        device: the class of the open devices.

    Attributes:
        faults: what fails on purpose.
        launches: what was launched.
        opened: the numbers of the devices that were opened, in order.
        open_devices: those that are open, by number.
        alloc_calls: how many allocations were asked for.
        map_calls: how often memory was to come behind addresses.
        foreign: bytes that somebody else took from each device.
    """

    def __init__(
        self,
        name: str = "reference",
        *,
        devices: int = 2,
        streams: bool = False,
        host_addressable: bool = False,
        kind: DeviceKind = DeviceKind.ACCELERATOR,
        memory: int = 1 << 28,
        page: int = 0,
        missing: Iterable[str] = (),
        fp64: bool = True,
        determinism: str = "bitwise",
        delay: float = 0.0,
        score: int = 0,
        device: type[ReferenceDevice] = ReferenceDevice,
    ) -> None:
        self.name = name
        self.devices = devices
        self.streams = streams
        self.host_addressable = host_addressable
        self.memory = memory
        self.page = page
        self.missing = set(missing)
        self.fp64 = fp64
        self.determinism = determinism
        self.delay = delay
        self.faults = Faults()
        self.launches: list[Launch] = []
        self.opened: list[int] = []
        self.open_devices: dict[int, ReferenceDevice] = {}
        self.alloc_calls = self.map_calls = 0
        self.foreign = 0
        self.next_handle = 0  # 0 is a legal handle
        self.lock = ForkSafeLock()
        self._kind, self._score, self._device = kind, score, device
        self._launched = 0

    def device_count(self) -> int:
        """Return the number that was asked for."""
        return self.devices

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device."""
        features = Feature.SUBNORMALS | (Feature.FP64 if self.fp64 else Feature(0))
        if self.host_addressable:
            features |= Feature.HOST_ADDRESSABLE | Feature.SYNCHRONOUS
        return DeviceInfo(
            f"Reference device {index}",
            self._kind,
            features,
            total_memory=self.memory,
            max_allocation=self.memory,
            score=self._score,
            dlpack_device=(1, 0) if self.host_addressable else (12, index),
            vendor="Phalanx",
        )

    def open(self, index: int) -> ReferenceDevice:
        """Open a device; without memory of an earlier time."""
        if self.faults.open is not None:
            raise self.faults.open
        self.opened.append(index)
        device = self.open_devices[index] = self._device(self, index)
        return device

    def note(self, index: int, kernel: Kernel, shapes: tuple[tuple[int, ...], ...]) -> int:
        """Add to ``launches``; return how many there were since the driver was made."""
        self.launches.append(Launch(index, kernel.op, kernel.dtypes, kernel.layout, shapes))
        self._launched += 1
        return self._launched

    def used(self, index: int = 0) -> int:
        """Return the bytes that the core holds now."""
        device = self.open_devices.get(index)
        return 0 if device is None else device.used()

    @contextmanager
    def paused(self, stream: Stream) -> Iterator[None]:
        """Let a stream take work but not start it until the end of the block."""
        worker = self.open_devices[stream.device.index].stream(stream.handle)
        worker.gate.clear()
        try:
            yield
        finally:
            worker.gate.set()
