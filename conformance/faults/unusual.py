"""Sound devices that are unusual: the suite must pass each, at the level that is said here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import phalanx as px
from phalanx.conformance.coverage import MOVES, PROFILES
from phalanx.conformance.required import required
from phalanx.conformance.settings import Level
from phalanx.conformance.subnormals import flushed
from phalanx.decomposition.table import decomposition_of
from phalanx.discovery.declarations import Declarations, Unsupported
from phalanx.driver import DeviceInfo, Feature, Layout, Refusal
from phalanx.optable import ALL, COMPLEX, FLOATING, OPS, WHOLE, is_primitive
from phalanx.testing import Work
from phalanx.vendor import Device, Kernel

from .device import NAME, SoundDevice, SoundDriver
from .pages import PagedDriver


@dataclass(frozen=True, slots=True)
class Unusual:
    """A sound device that differs from most.

    Attributes:
        name: for the option ``--phalanx-fault``.
        summary: what is unusual, in a sentence.
        level: the highest level that it passes.
        build: returns the driver, given the opened ``cpu:0``.
        declared: returns what its plugin declares.
    """

    name: str
    summary: str
    level: Level
    build: Callable[[Device], SoundDriver]
    declared: Callable[[], Declarations]


UNUSUAL: dict[str, Unusual] = {}


def _unusual(
    level: Level, unsupported: Callable[[], tuple[Unsupported, ...]] = tuple
) -> Callable[[type[SoundDriver]], type[SoundDriver]]:
    """Add a driver; its name in words is that of the class, its summary the docstring."""

    def add(cls: type[SoundDriver]) -> type[SoundDriver]:
        name = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).strip("-")
        summary = " ".join((cls.__doc__ or "").split()).removesuffix(".")
        UNUSUAL[name] = Unusual(name, summary, level, cls, lambda: Declarations(unsupported()))
        return cls

    return add


def declare(unusual: Unusual) -> None:
    """Let the process know what the device's plugin declares."""
    from phalanx.discovery.plugins import host

    class Plugin:
        @px.hookimpl
        def phalanx_conformance(self, device: Device) -> Declarations | None:
            return unusual.declared() if device.driver.name == NAME else None

    host().manager().register(Plugin())


class _Contiguous(SoundDevice):
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if layout is Layout.STRIDED and op != "copy":
            return Refusal("operands lie without gaps")
        return super().kernel(op, dtypes, layout)


@_unusual(Level.BITWISE)
class MemoryInPages(PagedDriver):
    """Memory comes and goes behind addresses, in pages of 64 KiB."""


@_unusual(Level.BITWISE)
class ContiguousOperandsOnly(SoundDriver):
    """All kernels but that for copies take contiguous operands only."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _Contiguous)


def _without(computes: tuple[str, ...]) -> type[SoundDevice]:
    """Return a device that moves some dtypes and does not compute in them."""

    class Without(SoundDevice):
        def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
            if set(dtypes) & set(computes) and op not in MOVES:
                return Refusal(f"the unit has no {computes[0]}")
            return super().kernel(op, dtypes, layout)

    return Without


@_unusual(Level.BITWISE)
class WithoutFp64(SoundDriver):
    """The device states no fp64, and moves elements of float64 and complex128 all the same."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _without(PROFILES["no-fp64"]))

    def device_info(self, index: int) -> DeviceInfo:
        info = super().device_info(index)
        return replace(info, features=info.features & ~Feature.FP64)


class _Real(SoundDevice):
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if set(dtypes) & set(COMPLEX) and op not in WHOLE:
            return Refusal("the unit has no complex numbers")
        return super().kernel(op, dtypes, layout)


@_unusual(Level.BITWISE)
class WithoutComplexKernels(SoundDriver):
    """Complex numbers have kernels for transforms and factors alone; the core takes their parts."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _Real)


class _Primitive(SoundDevice):
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        if op in WHOLE or (op in OPS and is_primitive(op, dtypes[OPS[op].key], dtypes[-1])):
            return super().kernel(op, dtypes, layout)
        return Refusal("the unit has the primitives")


@_unusual(Level.BITWISE)
class OnlyPrimitives(SoundDriver):
    """The device has the primitives, and what is made of no other op; the core does the rest."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _Primitive)


class _WithoutRoot(SoundDevice):
    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        return Refusal("no unit") if op == "sqrt" else super().kernel(op, dtypes, layout)


@_unusual(Level.CORE, lambda: (Unsupported("no unit for sqrt", op="sqrt"),))
class WithoutOneOp(SoundDriver):
    """There is no kernel for `sqrt`, a primitive, and the plugin says so."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _WithoutRoot)


#: Ops that add or multiply along an axis, and those that work on the bits of a number.
_SUMS = ("sum", "mean", "prod", "cumulative_sum", "cumulative_prod", "matmul")
_ON_BITS = ("negative", "abs", "positive", "copysign", "nextafter")


class _Flushing(SoundDevice):
    def wrapped(self, found: Kernel) -> Kernel:
        return self.made(found.op, found.dtypes, found.layout, "reproducible", found.error_bound)

    def run(self, work: Work) -> None:
        arithmetic = work.op in _SUMS or (work.elementwise and work.op not in (*MOVES, *_ON_BITS))
        if not arithmetic or not set(work.dtypes) & set(FLOATING + COMPLEX):
            super().run(work)
            return
        inputs = [flushed(np.asarray(x)) for x in work.inputs]
        super().run(replace(work, inputs=inputs))
        work.out[...] = flushed(work.out)


@_unusual(Level.ARRAY_API)
class SubnormalsFlushed(SoundDriver):
    """Subnormal numbers count as zero in the arithmetic of float32, and the features say so."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _Flushing)

    def device_info(self, index: int) -> DeviceInfo:
        info = super().device_info(index)
        return replace(info, features=info.features & ~Feature.SUBNORMALS)


#: What an asynchronous device needs besides: a wrong index comes to light behind the call.
_BEHIND = {
    ("gather", ("float32", "int64", "float32")),
    ("gather", ("int64", "int64", "int64")),  # a declaration by dtype cannot tell it from the other
    ("arange", ("float32", "float32", "float32")),
}


def _few(level: Level) -> set[tuple[str, tuple[str, ...]]]:
    """Return the overloads that a level requires of an asynchronous device."""
    return {*required(level), *_BEHIND}


def _with_few(level: Level) -> type[SoundDevice]:
    """Return a device that has these and no others."""
    few = _few(level)

    class Few(SoundDevice):
        def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
            if (op, dtypes) not in few:
                return Refusal("the unit does not do that")
            return super().kernel(op, dtypes, layout)

    return Few


def _all_but_few(level: Level) -> tuple[Unsupported, ...]:
    """Declare what neither is there nor made of that, op by op and dtype by dtype."""
    there: dict[str, set[str]] = {}
    for op, dtypes in _made_of(_few(level)):
        there.setdefault(op, set()).update(dtypes)
    why = "the unit does not do that"
    whole = tuple(Unsupported(why, op=op) for op in OPS if op not in there)
    return whole + tuple(
        Unsupported(why, op=op, dtype=dtype)
        for op, dtypes in there.items()
        for dtype in ALL
        if dtype not in dtypes and any(dtype in s.dtypes for s in OPS[op].signatures)
    )


def _made_of(few: set[tuple[str, tuple[str, ...]]]) -> set[tuple[str, tuple[str, ...]]]:
    """Return the overloads, and those that the core makes of them."""
    found = set(few)
    rest = {(op, s.dtypes) for op, row in OPS.items() for s in row.signatures} - found
    made = {key: decomposition_of(*key) for key in rest}
    while more := {k for k, d in made.items() if d and k not in found and d.overloads <= found}:
        found |= more
    return found


@_unusual(Level.CORE, lambda: _all_but_few(Level.CORE))
class FewOps(SoundDriver):
    """Fourteen ops in a few dtypes are there; what they do not make is declared as unsupported."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _with_few(Level.CORE))


@_unusual(Level.RUNTIME, lambda: _all_but_few(Level.RUNTIME))
class FewestOps(SoundDriver):
    """There is what the level `runtime` requires and nothing else: its cases need no more."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _with_few(Level.RUNTIME))


@_unusual(Level.RUNTIME)
class LittleMemory(SoundDriver):
    """There are 32 MiB, of which a block has four at most: too few for the cases of ops."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self.memory = 32 << 20

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device; the largest block is stated."""
        return replace(super().device_info(index), max_allocation=4 << 20)
