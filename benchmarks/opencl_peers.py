"""The peers of an OpenCL device: ``pyopencl.array``, and kernels written by hand for pyopencl.

Both work on the device in Phalanx's own context, each in a queue and in memory of its own. pyopencl
is imported when a peer is opened.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .contestants import Contestant, open_on
from .opencl_kernels import ELEMENTWISE, GROUPS, SERIAL, SORT
from .workloads import HostArray

if TYPE_CHECKING:
    from phalanx import Device

ARRAY, HAND_WRITTEN = "pyopencl.array", "hand-written"
_REMEDY = 'pip install "phalanx[opencl]"'
#: Times that each variant of a hand-written kernel is tried before the fastest is kept.
_TRIES = 5

Launch = Callable[[], object]


class _OpenCLPeer(Contestant):
    """What both share: the device's context, a queue, and waiting for it."""

    def __init__(self, device: Device) -> None:
        """Make a queue in the context of an OpenCL device.

        Raises:
            ImportError: pyopencl is not installed.
            DeviceError: the device does not open.
        """
        from phalanx.device_plugins.opencl import context_of

        self.cl: Any = import_module("pyopencl")
        self.context = context_of(device)
        self.queue = self.cl.CommandQueue(self.context)

    def about(self) -> dict[str, str]:
        """Return the version of pyopencl."""
        return {"version": self.cl.VERSION_TEXT}

    def synchronize(self) -> None:
        """Wait for the queue."""
        self.queue.finish()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Hide the logs of compilers, which some runtimes write about every success."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.cl.CompilerWarning)
            yield


class PyopenclArrayPeer(_OpenCLPeer):
    """``pyopencl.array`` with a memory pool; an op that it lacks is unsupported."""

    name = ARRAY
    family = "pyopencl"

    def __init__(self, device: Device) -> None:
        """Make queue and pool; raises as `_OpenCLPeer` does."""
        super().__init__(device)
        self._array: Any = import_module("pyopencl.array")
        tools: Any = import_module("pyopencl.tools")
        self._pool = tools.MemoryPool(tools.ImmediateAllocator(self.queue))
        self.xp = _ArrayFunctions(self._array, import_module("pyopencl.clmath"))

    def array(self, host: HostArray) -> Any:
        """Copy to the device."""
        return self._array.to_device(self.queue, host, allocator=self._pool)

    def to_numpy(self, result: Any) -> HostArray:
        """Copy to the host."""
        return np.asarray(result.get(self.queue))

    def release(self) -> None:
        """Empty the pool."""
        self._pool.free_held()


class _ArrayFunctions:
    """The functions of ``pyopencl.array`` by our names."""

    def __init__(self, array: Any, clmath: Any) -> None:
        self.exp = clmath.exp
        self.sum = _needing_mako(array.sum)
        self.cumulative_sum = _needing_mako(array.cumsum)

    def __getattr__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"pyopencl.array has no {name}")


def _needing_mako(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that is called by itself, or is unsupported where Mako is missing."""
    try:
        import_module("mako")
    except ImportError as error:
        reason = f"{function.__name__} needs Mako: {error}; pip install mako"

        def unsupported(_: Any) -> NoReturn:
            raise NotImplementedError(reason)

        return unsupported
    return function


@dataclass(frozen=True, eq=False, slots=True)
class _Array:
    """A buffer of float32 with a shape."""

    buffer: Any
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count


class HandWrittenPeer(_OpenCLPeer):
    """Kernels for exactly the job, called with their results and temporaries already there.

    Where an op has several variants, such as one element or eight per work-item, each is tried when
    the op first meets its operands, and the fastest is kept.
    """

    name = family = HAND_WRITTEN

    def __init__(self, device: Device, *, is_cpu: bool | None = None) -> None:
        """Make the queue; raises as `_OpenCLPeer` does. A program is built when it is needed.

        ``is_cpu`` chooses the kernels for CPUs or those for GPUs, ``None`` by the device's type.
        """
        super().__init__(device)
        self._device = self.context.devices[0]
        found = bool(self._device.type & self.cl.device_type.CPU)
        self._is_cpu = found if is_cpu is None else is_cpu
        self._group = 1 if self._is_cpu else min(256, self._device.max_work_group_size)
        self._bits = 8 if self._is_cpu else 4
        self._kernels: dict[str, Any] = {}
        self._plans: dict[tuple[Any, ...], tuple[Sequence[Launch], _Array]] = {}
        makers: dict[str, Callable[..., Any]] = {
            "add": self._add,
            "add_strided": self._add_strided,
            "add_row": self._add_row,
            "exp": self._exp,
            "copy": self._copy,
            "sum": self._sum,
            "mean_rows": self._mean_rows,
            "softmax_rows": self._softmax_rows,
            "cumulative_sum": self._cumulative_sum,
            "sort": self._sort,
            "matmul": self._matmul,
        }
        self.xp = SimpleNamespace(**{name: partial(self._run, m) for name, m in makers.items()})

    def array(self, host: HostArray) -> Any:
        """Copy to the device."""
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        return _Array(self.cl.Buffer(self.context, flags, hostbuf=host), host.shape)

    def to_numpy(self, result: Any) -> HostArray:
        """Copy to the host."""
        host = np.empty(result.shape, np.float32)
        self.cl.enqueue_copy(self.queue, host, result.buffer)
        return host

    def release(self) -> None:
        """Drop results and temporaries."""
        self._plans.clear()

    # Plans

    def _run(self, maker: Callable[..., Any], *operands: _Array) -> _Array:
        key = (maker, *operands)
        plan = self._plans.get(key)
        if plan is None:
            result, *variants = maker(*operands)
            plan = self._plans[key] = (self._fastest(variants), result)
        for launch in plan[0]:
            launch()
        return plan[1]

    def _fastest(self, variants: list[list[Launch]]) -> list[Launch]:
        if len(variants) == 1:
            return variants[0]
        best = [float("inf")] * len(variants)
        for _ in range(_TRIES):
            for place, launches in enumerate(variants):
                begin = time.perf_counter()
                for launch in launches:
                    launch()
                self.queue.finish()
                best[place] = min(best[place], time.perf_counter() - begin)
        return variants[best.index(min(best))]

    def _empty(self, *shape: int) -> _Array:
        size = 4 * _Array(None, shape).size
        return _Array(self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, size), shape)

    def _launch(
        self,
        name: str,
        size: tuple[int, ...],
        *args: _Array | np.generic,
        group: tuple[int, ...] | None = None,
    ) -> Launch:
        """Return the call of a kernel; the runtime chooses the group if there is none."""
        kernel = self._kernel(name)
        kernel.set_scalar_arg_dtypes([None if isinstance(a, _Array) else a.dtype for a in args])
        values = (a.buffer if isinstance(a, _Array) else a for a in args)
        return partial(kernel, self.queue, size, group, *values)

    def _kernel(self, name: str) -> Any:
        if not self._kernels:
            source = ELEMENTWISE + (SERIAL if self._is_cpu else GROUPS) + SORT
            options = [f"-DGROUP={self._group}", f"-DBITS={self._bits}"]
            program = self.cl.Program(self.context, source).build(options)
            self._kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}
        return self._kernels[name]

    def _chunks(self, count: int) -> tuple[int, int]:
        """Cut elements into chunks, some for each compute unit; return their number and length."""
        length = max(4096, -(-count // (8 * self._device.max_compute_units)))
        return -(-count // length), length

    # Ops: each returns its result, then the launches of each variant

    def _each(
        self, name: str, vector: str, o: _Array, *operands: _Array, width: int = 8
    ) -> tuple[Any, ...]:
        """One work-item per element, or per vector where these fit."""
        args = (*operands, o)
        variants = [[self._launch(name, (o.size,), *args)]]
        if all(x.size % width == 0 for x in operands):
            variants.append([self._launch(vector, (o.size // 8,), *args)])
        return (o, *variants)

    def _add(self, a: _Array, b: _Array) -> tuple[Any, ...]:
        return self._each("add", "add8", self._empty(*a.shape), a, b)

    def _add_strided(self, a: _Array, b: _Array) -> tuple[Any, ...]:
        o = self._empty(-(-a.size // 2))
        return self._each("add_strided", "add_strided8", o, a, b, width=16)

    def _add_row(self, a: _Array, b: _Array) -> tuple[Any, ...]:
        rows, columns = a.shape
        o = self._empty(rows, columns)
        one = self._launch("add_row", (columns, rows), a, b, o)
        return o, [one], [self._launch("add_row8", (columns // 8, rows), a, b, o)]

    def _exp(self, a: _Array) -> tuple[Any, ...]:
        return self._each("exp1", "exp8", self._empty(*a.shape), a)

    def _copy(self, a: _Array) -> tuple[Any, ...]:
        o = self._empty(*a.shape)
        by_runtime = partial(self.cl.enqueue_copy, self.queue, o.buffer, a.buffer)
        return (*self._each("copy", "copy8", o, a), [by_runtime])

    def _sum_chunks(
        self, a: _Array, o: _Array, chunks: int, length: int, scale: float = 1.0
    ) -> Launch:
        numbers = (np.uint64(a.size), np.uint64(length), np.float32(scale))
        group = (self._group,)
        return self._launch("sum_chunks", (chunks * group[0],), a, o, *numbers, group=group)

    def _sum(self, a: _Array) -> tuple[Any, ...]:
        chunks, length = self._chunks(a.size)
        totals, o = self._empty(chunks), self._empty()
        first = self._sum_chunks(a, totals, chunks, length)
        return o, [first, self._sum_chunks(totals, o, 1, chunks)]

    def _mean_rows(self, a: _Array) -> tuple[Any, ...]:
        rows, columns = a.shape
        o = self._empty(rows)
        return o, [self._sum_chunks(a, o, rows, columns, 1.0 / columns)]

    def _softmax_rows(self, a: _Array) -> tuple[Any, ...]:
        rows, columns = a.shape
        o, group = self._empty(rows, columns), (self._group,)
        size = (rows * group[0],)
        return o, [self._launch("softmax", size, a, o, np.uint64(columns), group=group)]

    def _cumulative_sum(self, a: _Array) -> tuple[Any, ...]:
        chunks, length = self._chunks(a.size)
        totals, ends, o = self._empty(chunks), self._empty(chunks), self._empty(a.size)
        return o, [
            self._sum_chunks(a, totals, chunks, length),
            self._scan_chunks(totals, ends, ends, 1, chunks),
            self._scan_chunks(a, ends, o, chunks, length),
        ]

    def _scan_chunks(self, a: _Array, ends: _Array, o: _Array, chunks: int, length: int) -> Launch:
        numbers = (np.uint64(a.size), np.uint64(length))
        group = (self._group,)
        return self._launch("scan_chunks", (chunks * group[0],), a, ends, o, *numbers, group=group)

    def _sort(self, a: _Array) -> tuple[Any, ...]:
        chunks, length = self._chunks(a.size) if self._is_cpu else (-(-a.size // 64), 64)
        counts = self._empty(chunks << self._bits)
        o, other = self._empty(a.size), self._empty(a.size)
        sizes = (np.uint64(a.size), np.uint64(length))
        group = (self._group,)
        launches, source, target = [], a, other
        for shift in range(0, 32, self._bits):
            at = np.uint32(shift)
            launches += [
                self._launch("count_digits", (chunks,), source, counts, *sizes, at),
                self._launch("place_digits", group, counts, np.uint64(counts.size), group=group),
                self._launch("move", (chunks,), source, counts, target, *sizes, at),
            ]
            source, target = target, (o if target is other else other)
        return o, launches

    def _matmul(self, a: _Array, b: _Array) -> tuple[Any, ...]:
        n = a.shape[0]
        o = self._empty(n, n)
        return o, [self._launch("matmul", (n, n), a, b, o, np.uint64(n))]


#: The peers of each OpenCL device by name.
OPENCL_PEERS: dict[str, Callable[[Device], Contestant]] = {
    ARRAY: PyopenclArrayPeer,
    HAND_WRITTEN: HandWrittenPeer,
}


def open_opencl_peers(
    device: Device, names: Sequence[str]
) -> tuple[list[Contestant], dict[str, str]]:
    """Return the peers on an OpenCL device, and for each that is missing the reason with remedy."""
    return open_on(device, OPENCL_PEERS, names, dict.fromkeys(OPENCL_PEERS, _REMEDY))


def why_none() -> str:
    """Return why there is no OpenCL device to measure, with the remedy."""
    try:
        import_module("pyopencl")
    except ImportError as error:
        return f"{error}; {_REMEDY}"
    return "there is no OpenCL device; `phalanx why opencl:0` says why"
