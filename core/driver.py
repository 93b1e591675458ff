"""What a vendor implements: a driver, and the open device with the calls that work on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .steps import Status, Step

if TYPE_CHECKING:
    from ._warm import Array, Kernel, Stream
    from .virtual_memory import VirtualMemory

#: What a kernel takes: an array, or a number for a scalar operand.
Operand: TypeAlias = "Array | bool | int | float | complex"

#: A launch that a driver has prepared; see `OpenDevice.prepare`.
PreparedLaunch: TypeAlias = "Callable[[bytes, Stream], None]"


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
    """Which optional calls an open device has; the bits of ``PHX_CAP_*`` in the C ABI."""

    STREAMS = 1
    EVENT_TIMING = 2
    TRIM = 4
    THREADS = 8
    FAULT_INJECTION = 256


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


class Place(NamedTuple):
    """Where the bytes of a copy begin: in a block of a device, or in the host's memory.

    ``handle`` is what ``alloc`` returned and ``offset`` the bytes from there on. Without a
    ``device``, ``handle`` is an address of the host.
    """

    device: OpenDevice | None
    handle: int
    offset: int = 0

    @property
    def on_host(self) -> bool:
        """Whether this is an address of the host."""
        return self.device is None

    @property
    def address(self) -> int:
        """``handle`` and ``offset`` added up, where handles are addresses."""
        return self.handle + self.offset


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a device has no kernel; ``reason`` may be empty if there is nothing to say."""

    reason: str = ""


class Driver(ABC):
    """What reaches all devices of one kind, each named by its ``index``.

    It lists the devices and opens them; the calls that work on one belong to `OpenDevice`. Every
    method may be called from any thread.
    """

    #: Lower-case letters, digits and underscores; the devices are ``name:0``, ``name:1``, ...
    name: str = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        misplaced = sorted(name for name in vars(cls) if name in _CALLS)
        if misplaced:
            raise TypeError(
                f"the driver {cls.__qualname__} has {', '.join(misplaced)}, which belong to the "
                "phalanx.OpenDevice that Driver.open(index) returns: move them there, without the "
                "argument index"
            )

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
    def open(self, index: int) -> OpenDevice:
        """Prepare a device for use; the caller owns the result and closes it. May block.

        Called again after ``OpenDevice.close``, and never while the core has the device open.

        Raises:
            DeviceError: with the reason and the remedy if it cannot be used.
        """

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``; opens no device.

        ``Status.ABSENT`` tells that an optional library is not installed; ``device_count`` then
        raises ``DeviceError`` with the same words.
        """
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        return (
            Step("ABI", Status.OK, f"Python driver {kind}"),
            Step("library", Status.SKIPPED, "the driver does not tell of a library"),
        )


class OpenDevice(ABC):
    """A device in use: memory, copies, kernels, and what else its ``capabilities`` promise.

    The abstract methods are enough for a first green run: the core adds the caching pool, limits,
    statistics, stream order, fallbacks and messages. The others have a default, or belong to the
    capability that each names; the core calls one of those only when its bit is set.

    A handle is a non-negative integer of up to 64 bits that stands for a block of device memory;
    the core never looks behind it, unless the device is host addressable: then it is an address.
    A stream arrives as the core's ``Stream``; ``stream.handle`` is what ``stream_create`` returned,
    ``None`` for the default stream. Every method may be called from any thread; each may raise
    ``DeviceError`` and, after ``close``, ``ClosedError``.
    """

    capabilities: Capability = Capability(0)
    #: For kernels with a native function: the addresses of the ``phx_device`` and of its default
    #: ``phx_stream``, 0 for none.
    native: tuple[int, int] = (0, 0)

    @abstractmethod
    def alloc(self, size: int) -> int:
        """Return the handle of ``size`` > 0 bytes, aligned to ``DeviceInfo.alignment``.

        Raises:
            OutOfMemoryError: for want of memory alone; the core trims and tries again.
        """

    @abstractmethod
    def free(self, handle: int) -> None:
        """Give back what ``alloc`` returned; the device has finished with it."""

    @abstractmethod
    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        """Enqueue a copy of ``size`` bytes from ``src`` to ``dst``; the ranges do not overlap.

        At least one place is on this device, none on another, unless this device `reaches` it:
        then ``src`` may be there. The host's memory stays valid until the copy is done.
        """

    @abstractmethod
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return the kernel for an op, the dtypes of its inputs then outputs, and a layout.

        A kernel of ``Layout.ANY`` may be returned for both others. After a `Refusal` the core
        decomposes the op or falls back, as the policy says. Every listing of kernels comes from
        this call, so nothing is compiled here: that is for the first launch or `compile_ahead`.
        """

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until all work is done; ``timeout`` in seconds, then TimeoutError."""

    # What follows has a default.

    def close(self) -> None:
        """Undo ``Driver.open``; all work is done, and memory and streams were given back.

        Events that somebody still holds go with the device. Not called at the end of the process.
        """

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Sequence[Kernel]:
        """Return further kernels for what ``kernel`` has one for, of other determinism classes.

        ``kernel`` returns what serves where no mode is in force. Under
        ``use_deterministic_algorithms`` the core takes the first of just the mode's class, so have
        one of a lower class only if it is faster; else the first that holds the mode.
        """
        del op, dtypes, layout
        return ()

    def reaches(self, other: OpenDevice) -> bool:
        """Return whether ``copy`` to this device takes memory of another one of the same driver.

        ``False``, the default: the core copies through the host.
        """
        return False

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a kernel on a stream; may compile it first, and block for that.

        ``inputs`` are arrays in the canonical form of the op's structure, or a Python number for a
        scalar operand; their memory is ``array.buffer.handle`` at ``array.offset`` bytes. Never
        called for kernels that carry a native function.

        Raises:
            CompileError: with log and source.
        """
        raise NotImplementedError(f"{type(self).__qualname__} cannot launch its own {kernel}")

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch | None:
        """Return what takes the place of ``launch`` for operands like these; enqueues nothing.

        The core asks when a launch comes again: with arrays of the same shapes and strides, whose
        handles and offsets are the same modulo 16, and the same numbers and ``params``. From then
        on it calls ``prepared(places, stream)`` for all such operands, in any thread: ``places``
        has the handle and the offset in bytes of each array, inputs first, as 64-bit words of the
        host. ``None``, the default: such launches go through ``launch``. So do all launches of a
        subclass, or an object, that has a ``launch`` of its own.
        """
        return None

    def compile_ahead(self, kernel: Kernel) -> tuple[int, int] | None:
        """Compile what a kernel needs in the commonest case, for ``phalanx warm``; blocks.

        Returns how many programs were compiled and how many were read from a cache; ``None`` if
        kernels need no compiler here.

        Raises:
            CompileError: with log and source.
        """
        return None

    def sources(self, kernel: Kernel) -> Iterable[str]:
        """Return the texts that the compiler gets for a kernel in the commonest case.

        Empty where kernels come compiled. ``phalanx kernels --source`` shows them.
        """
        return ()

    def adopt_host(self, address: int, size: int, owner: Any) -> Place | None:
        """Return where the device finds ``size`` > 0 bytes of host memory, for use in place.

        ``None``: the device cannot use this memory, and the core copies. Keep ``owner``, which
        keeps the memory, until ``release_host`` and the end of the work before it.
        """
        return None

    def release_host(self, handle: int) -> None:
        """Undo ``adopt_host`` without blocking: a destructor calls it, and work may still run."""

    def host_address(self, handle: int) -> int | None:
        """Return where the host reads and writes a block in place when the work on it is done.

        ``None``: the block can only be copied.
        """
        return None

    def virtual_memory(self) -> VirtualMemory | None:
        """Return how memory is put behind addresses; ``None``, the default: the device cannot.

        The core then takes memory from here, and from ``alloc`` only where addresses run out or a
        limit leaves less than a page. The same object each time.
        """
        return None

    def memory_info(self) -> tuple[int, int]:
        """Return the free bytes, all that were freed 0.3 s ago, and the total; (0, 0): unknown."""
        return (0, 0)

    def check_native_error(self, address: int, context: str) -> None:
        """Raise the Python error for a native ``phx_error`` at an address, and destroy it."""
        raise NotImplementedError(f"{type(self).__qualname__} has no native kernels")

    def _lacking(self, call: str) -> NotImplementedError:
        """Return the error of a call whose capability is not there, or is claimed wrongly."""
        return NotImplementedError(f"{type(self).__qualname__} has no {call}()")

    # Capability.STREAMS

    def stream_create(self, priority: int) -> Any:
        """Return a handle for a new in-order stream; lower ``priority`` numbers are more urgent.

        Any 32 bits; numbers beyond the device's are its ends. At least 128 streams live at a time.
        """
        raise self._lacking("stream_create")

    def stream_destroy(self, handle: Any) -> None:
        """Finish the stream's work and destroy it."""
        raise self._lacking("stream_destroy")

    def stream_query(self, handle: Any) -> bool:
        """Return whether all work of the stream is done; does not block.

        What failed of it is still raised by the next wait.
        """
        raise self._lacking("stream_query")

    def stream_synchronize(self, handle: Any, timeout: float | None = None) -> None:
        """Wait for the stream's work so far and raise what failed of it, once.

        What others enqueue meanwhile is not waited for. ``timeout`` in seconds, then TimeoutError.
        """
        raise self._lacking("stream_synchronize")

    def stream_wait_event(self, handle: Any, event: Any) -> None:
        """Let later work of the stream wait for an event.

        It does not block the host, unless the stream runs inline.
        """
        raise self._lacking("stream_wait_event")

    def event_create(self, timed: bool) -> Any:
        """Return a handle for an event that can be recorded again and again.

        Only one that is ``timed`` is given to ``event_elapsed``; the others should cost nothing for
        it. All are not where the driver has no ``Capability.EVENT_TIMING``.
        """
        raise self._lacking("event_create")

    def event_destroy(self, event: Any) -> None:
        """Destroy an event; a pending one stays in force for those that wait. Does not block."""
        raise self._lacking("event_destroy")

    def event_record(self, event: Any, handle: Any) -> None:
        """Put the event behind the stream's work so far.

        Waits that are in a queue keep the recording that they saw.
        """
        raise self._lacking("event_record")

    def event_query(self, event: Any) -> bool:
        """Return whether the event has been passed; does not block, and takes no failure."""
        raise self._lacking("event_query")

    def event_synchronize(self, event: Any, timeout: float | None = None) -> None:
        """Wait for the event, not for work behind it; ``timeout`` in seconds, then TimeoutError.

        The failure of work before it is raised here, unless another wait has told it.
        """
        raise self._lacking("event_synchronize")

    def stream_number(self, handle: Any) -> int | None:
        """Return the number by which other libraries know a stream: ``stream`` in DLPack.

        For those, the calls above take such a number of a stream of theirs as a handle. ``None``,
        the default: other libraries know no streams here, so memory is handed over when the work on
        it is done.
        """
        return None

    # Capability.EVENT_TIMING

    def event_elapsed(self, begin: Any, end: Any) -> float:
        """Return the seconds between two recorded and passed events of one device.

        Where the second was passed first, they are negative, or it is an error.
        """
        raise self._lacking("event_elapsed")

    # Capability.TRIM

    def trim(self) -> None:
        """Give memory that the driver keeps for itself back to the system; takes no failure."""
        raise self._lacking("trim")

    # Capability.THREADS

    def threads(self, count: int | None = None) -> int:
        """Return how many threads of this process a kernel uses at most.

        A ``count`` sets it for the kernels that begin later; 0 is one for each usable core.
        """
        raise self._lacking("threads")

    # Capability.FAULT_INJECTION

    def stream_inject_failure(self, handle: Any) -> None:
        """Enqueue a command that fails when the stream comes to it, for tests of what follows.

        It fails as a kernel that the device stops, see ``docs/asynchronous-drivers.md``, with
        ``LaunchError`` or ``DriverCallError``. Where the default stream runs inline, it is
        raised here.
        """
        raise self._lacking("stream_inject_failure")


#: What belongs to an open device: a driver that has one of these is not written for this interface.
_CALLS = frozenset(name for name in vars(OpenDevice) if not name.startswith("_")) | {
    "kernels",
    "supports",
}
