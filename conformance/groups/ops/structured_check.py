"""One structured overload on one device: operands in place, a launch, and the comparison."""

from __future__ import annotations

import numpy as np
import phalanx as px
from phalanx._warm import Array, launch
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.stated import stated_bounds
from phalanx.conformance.layouts import LAYOUTS, Placed, broadcast, place, room
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload
from phalanx.conformance.reference.near import Expectation, Near
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.ulp import differing
from phalanx.conformance.reference.values import HostArray
from phalanx.conformance.subnormals import flushed, lost
from phalanx.optable.row import Structure

NAMES = tuple(LAYOUTS)
#: Around the widths of vectors, the lanes of a reduction, work-groups and blocks.
SIZES = (
    *(1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513),
    *(1023, 1024, 1025, 3072, 4095, 4096, 4097, 6144),
)
#: More than 2**20, and more than 2**16.
LARGE, LARGE_QUICK = 1_050_003, 70_001
_SHOWN = 6
#: Ulp by which a stated bound may be passed, as the reference is rounded, too.
_SLACK = 0.5


class Check:
    """Launches an overload and notes what is wrong in the case.

    Attributes:
        to: the dtype of the result.
        name: the dtype of the first operand, by which errors are noted.
    """

    def __init__(self, case: Case, overload: Overload) -> None:
        self.case = case
        self.overload = overload
        self.to = overload.outputs[0]
        self.name = overload.inputs[0]
        self._is_first = True
        # Where the op table states no bound in ulp, a kernel that states one is held to it.
        stated = stated_bounds(case, overload)
        known = bool(overload.row.bound.ulp)
        self._stated = np.inf if known else min(stated, default=np.inf)
        allowed = overload.row.error(overload.dtypes) if known else np.inf
        if max(stated, default=0.0) > allowed:
            self.note("stated bounds", f"{max(stated)!r} ulp", f"{allowed!r} ulp at most")
        elif stated and overload.row.structure is Structure.FACTORIZATION:
            why = "none, as errors grow with the extents"
            self.note("stated bounds", f"{max(stated)!r} ulp", why)

    @property
    def large(self) -> int:
        """How many elements are many."""
        return LARGE_QUICK if self.case.quick else LARGE

    def sizes(self, rng: np.random.Generator, always: tuple[int, ...]) -> list[int]:
        """Return all sizes, or if quick some always and some by chance."""
        if not self.case.quick:
            return list(SIZES)
        return [*always, *rng.choice(SIZES, 2, replace=False).tolist()]

    def expected(self, args: tuple[HostArray, ...], params: tuple[int, ...] = ()) -> Expectation:
        """Return what the reference gives for the operands and params."""
        return expected(self.overload.op, args, self.to, params)

    def run(
        self,
        label: str,
        args: tuple[HostArray, ...],
        params: tuple[int, ...] = (),
        layouts: tuple[str, ...] = ("contiguous",),
        out_layout: str = "contiguous",
        want: Expectation | None = None,
    ) -> None:
        """Launch on operands in layouts, the first in the first and so on, round.

        ``want`` is what the reference gives for the operands and params, unless told.
        """
        if want is None:
            if self.case.flushes:
                args = tuple(flushed(x) for x in args)
            want = self.expected(args, params)
        inputs = [
            place(self.case.device, x, name, layouts[i % len(layouts)])
            for i, (x, name) in enumerate(zip(args, self.overload.inputs, strict=True))
        ]
        self.run_arrays(label, [p.array for p in inputs], args, params, out_layout, want)
        for i, (placed, x) in enumerate(zip(inputs, args, strict=True)):
            if not placed.is_unchanged(x):
                self.note(label, f"operand {i} changed", "operands are only read")

    def run_arrays(
        self,
        label: str,
        inputs: list[Array],
        args: tuple[HostArray, ...],
        params: tuple[int, ...],
        out_layout: str,
        want: Expectation,
    ) -> None:
        """Launch on arrays that have the elements ``args``."""
        out = room(self.case.device, want.shape, self.to, out_layout)
        if self._is_first and self.case.moves(self.to):
            self._is_first = False
            with px.Stream(self.case.device):
                launch(self.overload.op, tuple(inputs), (out.array,), params)
                behind = px.asarray(out.array, copy=True)
            if differing(np.array(px.asnumpy(behind)), out.read()).any():
                self.note(label, "a copy that is queued behind it is another", "its result")
        else:
            launch(self.overload.op, tuple(inputs), (out.array,), params)
        label = f"{label} to {out_layout}" + (f", params {params}" if params else "")
        self.judge(label, out, want, args)

    def run_broadcast(
        self,
        x: HostArray,
        shape: tuple[int, ...],
        params: tuple[int, ...],
        others: tuple[HostArray, ...] = (),
    ) -> None:
        """Launch on an operand that fills a shape by strides of 0; the others are contiguous."""
        device, names = self.case.device, self.overload.inputs[1:]
        array = broadcast(device, x, shape, self.name)
        behind = [
            place(device, a, name, "contiguous").array
            for a, name in zip(others, names, strict=True)
        ]
        args = (np.broadcast_to(x, shape).copy(), *others)
        want = expected(self.overload.op, args, self.to, params)
        label = f"broadcast {x.shape} as {shape}"
        self.run_arrays(label, [array, *behind], args, params, "contiguous", want)

    def judge(
        self, label: str, out: Placed, want: Expectation, args: tuple[HostArray, ...]
    ) -> None:
        """Compare a result with what it should be, and the memory around it."""
        got, intact = out.read_all()
        self.compare(label, got, want, args)
        if not intact:
            self.note(label, "elements outside of the result changed", "they stay as they are")

    def compare(
        self, label: str, got: HostArray, want: Expectation, args: tuple[HostArray, ...]
    ) -> None:
        """Compare the elements of a result with what they should be."""
        if got.shape != want.shape or got.dtype.name != self.to:
            self.note(label, f"{got.dtype.name} {got.shape}", f"{self.to} {want.shape}")
            return
        if got.size == 0:
            return
        op = self.overload.op
        errors = want.errors(got)
        if isinstance(want, Near):
            if self._stated < np.inf:
                errors = np.maximum(errors, want.in_ulp(got) / (self._stated + _SLACK))
            if self.case.flushes:
                errors = np.where(lost(got, want.values), 0.0, errors)
        self.case.judge(op, self.name, float(errors.max()), want.bound)
        allowed = self.case.allowed(op, self.name, want.bound)
        wrong = int(np.count_nonzero(~(errors <= allowed)))
        if wrong:
            at = tuple(int(i) for i in np.unravel_index(np.argmax(errors), errors.shape))
            self.case.mistake(
                Mistake(
                    label,
                    str(at),
                    "; ".join(_row_text(x, at) for x in args),
                    str(got[at]),
                    f"{want.text(at)}{self._own_bound(want, got, at)}",
                    wrong=wrong,
                    size=got.size,
                )
            )

    def _own_bound(self, want: Expectation, got: HostArray, at: tuple[int, ...]) -> str:
        """Say which bound of the kernel's own is passed, if one is."""
        if not isinstance(want, Near) or self._stated == np.inf:
            return ""
        return f", {want.in_ulp(got)[at]:.3g} ulp away where the kernel states {self._stated:g}"

    def note(self, label: str, got: str, want: str) -> None:
        """Note what is wrong with no element of its own."""
        self.case.mistake(Mistake(label, "", "", got, want))


def _row_text(x: HostArray, at: tuple[int, ...]) -> str:
    """Return the row of an operand that an element of the result may come from."""
    lead = at[: max(0, x.ndim - 1)]
    inside = len(lead) == x.ndim - 1 and all(i < n for i, n in zip(lead, x.shape, strict=False))
    row = np.atleast_1d(x[lead] if inside else x).ravel()
    shown = ", ".join(map(str, row[:_SHOWN]))
    return f"[{shown}{', ...' if row.size > _SHOWN else ''}] of {x.shape}"
