"""What a random program is: the steps of several threads in one order, and nothing that runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

HostArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a program needs to know of a device to be made for it.

    Attributes:
        name: such as ``cpu:0``.
        dtypes: those whose kernels the programs use.
        on_host: the host can address the memory, so it may be borrowed and exported.
        inline: the default stream is done when a call returns, so a forked child can use it.
    """

    name: str
    dtypes: tuple[str, ...]
    on_host: bool
    inline: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of one thread.

    Attributes:
        number: the place in the order in which the reference takes the steps of all threads.
        thread: who does it.
        kind: what it does.
        on: the streams that are entered around it, one inside the other; the last takes the work.
        inputs: the numbers of the values it uses; each value is made once in a program.
        out: the number of the value it makes, or -1.
        args: all else.
    """

    number: int
    thread: int
    kind: str
    on: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    out: int = -1
    args: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        operands = [f"v{n}" for n in self.inputs]
        operands += [f"{name}={value!r}" for name, value in self.args.items()]
        made = f"v{self.out} = " if self.out >= 0 else ""
        where = "".join(f" on stream {n}" for n in self.on)
        return f"#{self.number} {made}{self.kind}({', '.join(operands)}){where}"


@dataclass(frozen=True, slots=True)
class Program:
    """Steps in an order in which they can be taken one by one.

    ``common`` are the streams, by number and device, that are there before the first step and that
    all threads use.
    """

    seed: int
    devices: tuple[Traits, ...]
    threads: int
    common: dict[int, int]
    steps: tuple[Step, ...]

    def of_thread(self, thread: int) -> list[Step]:
        """Return what a thread does."""
        return [step for step in self.steps if step.thread == thread]

    def kinds(self) -> Counter[str]:
        """Count the steps by what they do; calls by the name of their function."""
        return Counter(label(step) for step in self.steps)


def label(step: Step) -> str:
    """Return the name under which the report counts a step."""
    return str(step.args["f"]) if step.kind in ("call", "in_place", "scalar") else step.kind


def host_data(seed: int, shape: tuple[int, ...], dtype: str, low: int, high: int) -> HostArray:
    """Return whole numbers from ``low`` up to and with ``high``, always the same ones."""
    found = np.random.default_rng(seed).integers(low, high, shape, endpoint=True)
    return np.asarray(found).astype(dtype)
