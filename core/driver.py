"""What a vendor implements: the driver of one kind of device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._warm import Array, Kernel, Stream

#: What a kernel takes: an array, or a number for a scalar operand.
Operand: TypeAlias = "Array | bool | int | float | complex"


class DeviceKind(StrEnum):
    """What a device is; the aliases ``cpu`` and ``gpu`` choose by it."""

    CPU = "cpu"
    GPU = "gpu"
    ACCELERATOR = "accelerator"


class Feature(IntFlag):
    """What a device can do; the bits of ``PHX_FEATURE_*`` in the C ABI."""

    HOST_ADDRESSABLE = 1
    FP64 = 2
    FP16 = 4
    SUBNORMALS = 8
    UNIFIED_MEMORY = 16
    #: Work on the default stream is done when the call returns.
    SYNCHRONOUS = 32


class Capability(IntFlag):
    """Which optional calls a driver implements; the bits of ``PHX_CAP_*`` in the C ABI."""

    STREAMS = 1
    EVENT_TIMING = 2
    HOST_CALL = 4
    TRIM = 8


class Direction(IntEnum):
    """Between which memories a copy goes."""

    HOST_TO_DEVICE = 0
    DEVICE_TO_HOST = 1
    DEVICE_TO_DEVICE = 2


class Layout(IntEnum):
    """Which operands a kernel accepts; see ``docs/ops.md`` for the canonical forms."""

    CONTIGUOUS = 0
    STRIDED = 1
    ANY = 2


#: Bytes; what the memory pool can serve (``phx_pool_create``).
MOST_ALIGNMENT = 2**30


def alignment_problem(alignment: int) -> str:
    """Return what is wrong with a device's alignment in bytes; empty if nothing is."""
    if alignment < 1 or alignment & (alignment - 1):
        return f"the alignment {alignment} is not a power of two"
    if alignment > MOST_ALIGNMENT:
        return f"the alignment {alignment} is above {MOST_ALIGNMENT} (2^30), the most there may be"
    return ""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What is known of a device before it is opened.

    Sizes are bytes; ``alignment`` is a power of two up to 2^30. ``uuid`` (16 bytes) and
    ``pci_address`` are empty where the driver cannot tell.
    ``score`` ranks the devices of one kind over all plugins for the aliases; higher is better.
    """

    name: str
    kind: DeviceKind
    features: Feature
    total_memory: int
    max_allocation: int
    alignment: int = 64
    compute_units: int = 0
    score: int = 0
    uuid: bytes = b""
    pci_address: str = ""
    numa_node: int = -1
    dlpack_device: tuple[int, int] = (12, 0)
    vendor: str = ""
    driver_version: str = ""


class Driver(ABC):
    """Access to all devices of one kind, each named by its ``index``.

    The abstract methods are enough for a first green run: the core adds the caching pool, limits,
    statistics, stream order, fallbacks and messages. The others belong to the capability that each
    names; the core calls one only when its bit is set in ``capabilities``.

    A handle is a non-negative integer of up to 64 bits that stands for a block of device memory;
    the core never looks behind it, unless the device is host addressable: then it is an address.
    A stream arrives as the core's ``Stream``; ``stream.handle`` is what ``stream_create`` returned,
    ``None`` for the default stream. Every method may be called from any thread.
    """

    #: Lower-case letters, digits and underscores; the devices are ``name:0``, ``name:1``, ...
    name: str = ""
    capabilities: Capability = Capability(0)

    @abstractmethod
    def device_count(self) -> int:
        """Return how many devices there are; 0 is an answer, not an error.

        Raises:
            DeviceError: with the reason and the remedy if the devices cannot be listed.
        """

    @abstractmethod
    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""

    @abstractmethod
    def alloc(self, index: int, size: int) -> int:
        """Return the handle of ``size`` > 0 bytes, aligned to ``DeviceInfo.alignment``.

        Raises:
            OutOfMemoryError: if the device has no such block; the core trims and tries again.
        """

    @abstractmethod
    def free(self, index: int, handle: int) -> None:
        """Give back what ``alloc`` returned; the device has finished with it."""

    @abstractmethod
    def copy(
        self,
        index: int,
        direction: Direction,
        dst: int,
        dst_offset: int,
        src: int,
        src_offset: int,
        size: int,
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a copy of ``size`` bytes; host ends are addresses, valid until it is done."""

    @abstractmethod
    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        """Return the kernel for an op, the dtypes of its inputs then outputs, and a layout.

        A kernel of ``Layout.ANY`` may be returned for both others. ``None`` if there is none: the
        core then decomposes the op or falls back, as the policy says. May compile and block.

        Raises:
            CompileError: with log and source.
        """

    @abstractmethod
    def synchronize(self, index: int, timeout: float | None = None) -> None:
        """Wait until all work is done; ``timeout`` in seconds, then TimeoutError."""

    # What follows has a default.

    def open(self, index: int) -> None:
        """Prepare a device for use; called once, before any other call that works on it."""

    def close(self, index: int) -> None:
        """Undo ``open``; all memory has been freed."""

    def launch(
        self,
        index: int,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a kernel on a stream.

        ``inputs`` are arrays in the canonical form of the op's structure, or a Python number for a
        scalar operand; their memory is ``array.buffer.handle`` at ``array.offset`` bytes. Never
        called for kernels that carry a native function.
        """
        raise NotImplementedError(f"driver {self.name!r} returned a kernel that it cannot launch")

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        """Enqueue a fill with a repeated pattern; return False if the driver has no such call."""
        return False

    def adopt_host(self, index: int, address: int, size: int, owner: Any) -> tuple[int, int] | None:
        """Return a handle for ``size`` > 0 bytes of host memory, for use in place.

        Beside it the place of the first byte behind the handle's, in bytes. ``None``: the device
        cannot use this memory, and the core copies. Keep ``owner``, which keeps the memory, until
        ``release_host`` and the end of the work before it.
        """
        return None

    def release_host(self, index: int, handle: int) -> None:
        """Undo ``adopt_host`` without blocking: a destructor calls it, and work may still run."""

    def host_address(self, index: int, handle: int) -> int | None:
        """Return where the host reads and writes a block in place when the work on it is done.

        ``None``: the block can only be copied.
        """
        return None

    def memory_info(self, index: int) -> tuple[int, int]:
        """Return the free and the total bytes of device memory; (0, 0) if unknown."""
        return (0, 0)

    def kernels(self, index: int) -> Iterable[Kernel]:
        """List the kernels that are there without compiling any."""
        return ()

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        """Tell without compiling whether ``kernel`` would find one; a string says why not."""
        return any(k.op == op and k.dtypes == dtypes for k in self.kernels(index))

    def check_native_error(self, address: int, context: str) -> None:
        """Raise the Python error for a native ``phx_error`` at an address, and destroy it."""
        raise NotImplementedError(f"driver {self.name!r} has no native kernels")

    # Capability.STREAMS

    def stream_create(self, index: int, priority: int) -> Any:
        """Return a handle for a new in-order stream; lower ``priority`` numbers are more urgent."""
        raise NotImplementedError

    def stream_destroy(self, index: int, handle: Any) -> None:
        """Finish the stream's work and destroy it."""
        raise NotImplementedError

    def stream_query(self, index: int, handle: Any) -> bool:
        """Return whether all work of the stream is done; does not block."""
        raise NotImplementedError

    def stream_synchronize(self, index: int, handle: Any, timeout: float | None = None) -> None:
        """Wait for the stream's work and raise what failed of it, once.

        ``timeout`` in seconds, then TimeoutError.
        """
        raise NotImplementedError

    def stream_wait_event(self, index: int, handle: Any, event: Any) -> None:
        """Let later work of the stream wait for an event; a stream that runs inline blocks."""
        raise NotImplementedError

    def event_create(self, index: int) -> Any:
        """Return a handle for an event that can be recorded again and again."""
        raise NotImplementedError

    def event_destroy(self, index: int, event: Any) -> None:
        """Destroy an event; a pending one stays in force for those that wait."""
        raise NotImplementedError

    def event_record(self, index: int, event: Any, handle: Any) -> None:
        """Put the event behind the stream's work so far.

        Waits that are in a queue keep the recording that they saw.
        """
        raise NotImplementedError

    def event_query(self, index: int, event: Any) -> bool:
        """Return whether the event has been passed; does not block."""
        raise NotImplementedError

    def event_synchronize(self, index: int, event: Any, timeout: float | None = None) -> None:
        """Wait for the event; ``timeout`` in seconds, then TimeoutError.

        Work before it that failed is raised here, or else by the next ``stream_synchronize``.
        """
        raise NotImplementedError

    # Capability.EVENT_TIMING

    def event_elapsed(self, index: int, begin: Any, end: Any) -> float:
        """Return the seconds between two recorded and passed events of one device."""
        raise NotImplementedError

    # Capability.TRIM

    def trim(self, index: int) -> None:
        """Give memory that the driver keeps for itself back to the system."""
        raise NotImplementedError
