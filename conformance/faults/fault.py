"""What a fault is, and how the other files add theirs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from phalanx.testing import Work
from phalanx.vendor import Device, Driver

from .device import SoundDevice, SoundDriver

#: The name of the device without a fault.
NONE = "none"


@dataclass(frozen=True, slots=True)
class Fault:
    """A device that lies.

    Attributes:
        name: for the option ``--phalanx-fault``.
        summary: what is wrong with the device, in a sentence.
        group: the group of the suite where one would expect it to be seen.
        build: returns the driver, given the opened ``cpu:0``.
        ops: the ops that are wrong, empty if it is not a few.
    """

    name: str
    summary: str
    group: str
    build: Callable[[Device], Driver]
    ops: tuple[str, ...] = ()


FAULTS: dict[str, Fault] = {}
_Class = TypeVar("_Class", bound=type[SoundDevice] | type[SoundDriver])
#: Computes a work in another way; the second argument is the right way.
Patch = Callable[[Work, Callable[[Work], None]], None]


def _add(
    name: str, doc: str | None, group: str, build: Callable[[Device], Driver], *ops: str
) -> None:
    summary = " ".join((doc or "").split()).removesuffix(".")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", name).lower()
    if name in FAULTS or not summary:
        raise ValueError(f"the fault {name} exists already, or has no docstring")
    FAULTS[name] = Fault(name, summary, group, build, ops)


def driver_fault(group: str, *ops: str) -> Callable[[_Class], _Class]:
    """Add a class as a fault, that of an open device or of a driver.

    The fault has the class's name with dashes; the docstring is the summary.
    """

    def add(cls: _Class) -> _Class:
        if issubclass(cls, SoundDevice):
            build: Callable[[Device], Driver] = partial(SoundDriver, device=cls)
        else:
            build = cls
        _add(cls.__name__, cls.__doc__, group, build, *ops)
        return cls

    return add


def kernel_fault(*ops: str, group: str = "ops") -> Callable[[Patch], Patch]:
    """Add a function that computes some ops, or all if none is named, in a wrong way."""

    def add(patch: Patch) -> Patch:
        class Patched(SoundDevice):
            def run(self, work: Work) -> None:
                if ops and work.op not in ops:
                    super().run(work)
                    return
                with np.errstate(all="ignore"):
                    patch(work, super().run)

        build = partial(SoundDriver, device=Patched)
        _add(patch.__name__, patch.__doc__, group, build, *ops)
        return patch

    return add
