"""What NVIDIA's libraries keep for a stream: handles, or plans and CuPy's view of the stream."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from phalanx.errors import LaunchError, PhalanxError
from phalanx.vendor import ForkSafeLock

from . import libraries

if TYPE_CHECKING:
    from phalanx.device_code.env import Env

#: A plan keeps the memory that it works in.
_MOST_PLANS = 8


class Session(Protocol):
    """What a library keeps for a stream; it is used, and ended, in the device's context."""

    @property
    def stream(self) -> Any:
        """CuPy's view of the stream. CuPy lets a library work on what is current at a call."""

    @property
    def handle(self) -> Any:
        """What calls get."""

    def trim(self) -> None:
        """Give up what can be made again; no work is in flight."""

    def end(self) -> None:
        """Give up everything; the work of the stream has ended."""


class _Stream(NamedTuple):
    """A stream of ours for CuPy, by the protocol ``__cuda_stream__`` of CUDA Python."""

    number: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.number


class ByHandle:
    """A handle of cuBLAS or cuSOLVER."""

    def __init__(self, library: Any, stream: int) -> None:
        self.stream = libraries.cupy_cuda().Stream.from_external(_Stream(stream))
        self.handle: int = library.create()
        self._library = library
        try:
            if hasattr(library, "setMathMode"):  # without TF32
                library.setMathMode(self.handle, library.CUBLAS_DEFAULT_MATH)
        except BaseException:
            self.end()
            raise

    def trim(self) -> None:
        """Keep the handle."""

    def end(self) -> None:
        """Destroy the handle."""
        with contextlib.suppress(RuntimeError):
            self._library.destroy(self.handle)


class OnStream:
    """For CuPy's functions that take no handle, and allocate; keeps the last used plans."""

    def __init__(self, library: Any, stream: int) -> None:
        del library
        self._cuda = libraries.cupy_cuda()
        self.stream = self._cuda.Stream.from_external(_Stream(stream))
        self._plans: OrderedDict[Hashable, Any] = OrderedDict()

    @property
    def handle(self) -> OnStream:
        """Calls get all of it."""
        return self

    @contextlib.contextmanager
    def working(self, env: Env) -> Iterator[None]:
        """Let functions in the block work in memory from the device's pool."""
        cuda = self._cuda
        failed: list[MemoryError] = []

        def allocate(size: int) -> Any:
            try:
                room = env.scratch(max(size, 1), "uint8")
            except MemoryError as error:
                failed.append(error)
                raise
            at = room.buffer.handle + room.offset
            memory = cuda.UnownedMemory(at, size, room, cuda.runtime.getDevice())
            return cuda.MemoryPointer(memory, 0)

        try:
            with cuda.using_allocator(allocate):
                yield
        except (MemoryError, RuntimeError):
            if failed:  # C++ between has made another error of it
                raise failed[0] from None
            raise

    def plan(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the plan of a key, made if it is not kept."""
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _MOST_PLANS:
                self.stream.synchronize()  # its work may still need the oldest one
                self._plans.popitem(last=False)
            found = self._plans[key] = make()
        self._plans.move_to_end(key)
        return found

    def trim(self) -> None:
        """Drop the plans, and with them the memory that they work in."""
        self._plans.clear()

    def end(self) -> None:
        """Drop the plans."""
        self.trim()


_KINDS: dict[str, Callable[[Any, int], Session]] = {
    "cublas": ByHandle,
    "cusolver": ByHandle,
    "cufft": OnStream,
    "thrust": OnStream,
}


class Libraries:
    """What libraries keep for the streams of one device. Safe from any thread.

    NVIDIA promises the same bits from run to run where a handle works on one stream (cuBLAS 12.9,
    "Results Reproducibility"). Calls come in the device's context.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._sessions: dict[tuple[str, int], Session] = {}

    @contextlib.contextmanager
    def use(self, name: str, stream: int, what: str) -> Iterator[tuple[Any, Any]]:
        """Return a library and its handle for a stream; see `LibraryEnv.library`.

        A handle is nobody else's in the block; ``what`` names the launch in errors.
        """
        row = libraries.LIBRARIES[name]
        with self._lock:
            library = libraries.load(name)
            errors = getattr(library, row.error) if row.error else RuntimeError
            try:
                session = self._session(library, name, stream)
                with session.stream:
                    yield library, session.handle
            except PhalanxError:
                raise
            except errors as found:
                raise LaunchError(
                    f"{what} by {row.title}: {found}",
                    remedy="phalanx.empty_cache() helps if it lacks memory, another package of "
                    "CuPy if that is for a newer CUDA than the driver's; or use the mode 'bitwise'",
                ) from found

    def _session(self, library: Any, name: str, stream: int) -> Session:
        found = self._sessions.get((name, stream))
        if found is None:
            found = self._sessions[name, stream] = _KINDS[name](library, stream)
        return found

    def trim(self) -> None:
        """Give up what can be made again; no work is in flight."""
        with self._lock:
            for session in self._sessions.values():
                session.trim()

    def forget(self, stream: int) -> None:
        """End what is kept for a stream that ends."""
        with self._lock:
            for key in [key for key in self._sessions if key[1] == stream]:
                self._sessions.pop(key).end()

    def close(self) -> None:
        """End everything."""
        for _, stream in list(self._sessions):
            self.forget(stream)
