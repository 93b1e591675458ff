"""Interprets a program with NumPy, one step after another: what each look at a value must show."""

from __future__ import annotations

import numpy as np

from .program import HostArray, Program, Step, host_data
from .semantics import PURE, WRITING, compute

#: Kinds that make a value from numbers of the host.
MAKING = ("upload", "borrow", "borrow_dlpack")
#: Kinds whose result has the elements of their input.
COPYING = ("move", "visitor")
#: Kinds that show a value.
SHOWING = ("check", "fork")


class Mismatch(AssertionError):
    """A value is not what the reference says."""


def interpret(program: Program) -> dict[int, HostArray]:
    """Return what the steps that show a value must show, by their numbers."""
    reference = Reference()
    with np.errstate(all="ignore"):
        for step in program.steps:
            reference.take(step)
    return reference.shown


class Reference:
    """The values, the exports over their memory, and what was shown so far."""

    def __init__(self) -> None:
        self.values: dict[int, HostArray] = {}
        self.exports: dict[int, HostArray] = {}
        self.shown: dict[int, HostArray] = {}

    def take(self, step: Step) -> None:
        """Take one step; kinds that change no value do nothing."""
        operands = tuple(self.values[n] for n in step.inputs)
        args = step.args
        if step.kind in PURE:
            self.values[step.out] = np.asarray(compute(np, step, operands))
        elif step.kind in WRITING:
            compute(np, step, operands)
        elif step.kind in MAKING:
            self.values[step.out] = host_data(**args["data"])
        elif step.kind == "full":
            self.values[step.out] = np.full(**args["data"])
        elif step.kind in COPYING:
            self.values[step.out] = operands[0].copy()
        elif step.kind == "host_write":
            operands[0][args["key"]] = args["number"]
        elif step.kind == "export_write":
            self.exports[args["export"]][args["key"]] = args["number"]
        elif step.kind == "export_keep":
            self.exports[args["export"]] = operands[0]
        elif step.kind in SHOWING:
            self.shown[step.number] = operands[0].copy()
        elif step.kind == "export_check":
            self.shown[step.number] = self.exports[args["export"]].copy()
        elif step.kind == "drop":
            del self.values[step.inputs[0]]


def compare(found: HostArray, want: HostArray) -> None:
    """Compare all elements; numbers must be equal, and so must shapes and dtypes.

    Raises:
        Mismatch: with the first place that is wrong.
    """
    if (found.shape, found.dtype) != (want.shape, want.dtype):
        raise Mismatch(
            f"got {found.dtype} of shape {found.shape}, want {want.dtype} of shape {want.shape}"
        )
    if np.array_equal(found, want):
        return
    wrong = np.argwhere(np.asarray(found != want))
    place = tuple(int(i) for i in wrong[0])
    raise Mismatch(
        f"{len(wrong)} of {want.size} elements are wrong, the first at {place}: "
        f"got {found[place]}, want {want[place]}"
    )
