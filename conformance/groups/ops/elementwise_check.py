"""One elementwise overload on one device: operands in place, a launch, and the comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import phalanx as px
from phalanx._warm import Array, compute, launch_elementwise, view
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.elementwise_data import Data
from phalanx.conformance.groups.ops.stated import stated_bounds
from phalanx.conformance.layouts import Placed, Steps, place, room, steps_in, window
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.ulp import differing, same_bytes
from phalanx.conformance.reference.values import HostArray
from phalanx.conformance.subnormals import forgiven
from phalanx.namespace.public import public_function

#: The first result, beside the numbers of operands.
_FIRST = -1
#: Rounds begin at a chance multiple of as many elements as keep what is aligned so.
_ALIGNED, _BEGINNINGS = 64, 512
#: Elements of the widest vectors, or of a group, and of many of them.
_VECTOR, _WHOLE = 64, 33 * 64


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Places that an array in a layout has in a run, which is the operands again and again."""

    shape: tuple[int, ...]
    layout: str
    steps: Steps

    @property
    def end(self) -> int:
        """Behind the last of the places, as if the operands never ended."""
        return self.steps.low + self.steps.count


Places = HostArray | Round


class Check:
    """Launches an overload on selected operands and notes what is wrong in the case.

    The first result of all operands is judged against the reference. Later results are held
    against the first one, and against the reference where an element is another.

    Attributes:
        bound: the largest error in ulp; 0 where only one value is right.
    """

    def __init__(self, case: Case, overload: Overload, data: Data) -> None:
        self.case = case
        self.overload = overload
        self.data = data
        self.to = overload.outputs[0]
        # A conversion rounds to the format of its result.
        self._dtype = self.to if overload.op == "cast" else overload.inputs[-1]
        stated = overload.row.bound.ulp.get(self._dtype, 0.0)
        stated = min(stated, *stated_bounds(case, overload), stated)
        self.bound = 0.0 if data.expected.is_exact else stated + data.expected.slack
        self._first: HostArray | None = None
        self._to_host = host_dtype(self.to)
        self._places: Places | None = None
        self._taken: dict[int, HostArray] = {}
        #: Operands, and the first result, again and again: all rounds are parts of them.
        self._runs: dict[int, HostArray] = {}
        self._runs_there: dict[int, Array] = {}

    def places(self, shape: tuple[int, ...], first: int = 0) -> HostArray:
        """Return the places of consecutive operands, round and round, in a shape."""
        return np.resize(np.arange(first, first + self.data.size) % self.data.size, shape)

    def round(
        self, shape: tuple[int, ...], rng: np.random.Generator, layout: str = "contiguous"
    ) -> Round:
        """Return the same from a chance one on, as an array in a layout picks them from memory."""
        steps = steps_in(layout, shape)
        first = _ALIGNED * int(rng.integers(min(self.data.size, _BEGINNINGS)))
        return Round(shape, layout, steps.moved_to(first + steps.low))

    def _numbers(self, places: Places) -> HostArray:
        if not isinstance(places, Round):
            return places
        numbers = np.resize(np.arange(self.data.size, dtype=np.int32), places.end)
        return window(numbers, places.shape, places.steps)

    def operand(self, number: int, places: Places, layout: str) -> Placed:
        """Return an operand at places, in a layout on the device."""
        values = self._at(places, number)
        return place(self.case.device, values, self.overload.inputs[number], layout)

    def arrays(self, places: Places, layouts: tuple[str, ...]) -> list[Array]:
        """Return the arrays of `all_operands`, which must only be read.

        Those in the layout of a round are parts of a run on the device, not copies.
        """
        found = []
        for i in range(len(self.overload.inputs)):
            layout = layouts[i % len(layouts)]
            if isinstance(places, Round) and layout == places.layout:
                found.append(
                    view(
                        self._run_there(i, places.end),
                        places.shape,
                        places.steps.strides,
                        places.steps.first,
                    )
                )
            else:
                found.append(self.operand(i, places, layout).array)
        return found

    def all_operands(self, places: Places, layouts: tuple[str, ...]) -> list[Placed]:
        """Return all operands at places, the first in the first layout and so on, round."""
        return [
            self.operand(i, places, layouts[i % len(layouts)])
            for i in range(len(self.overload.inputs))
        ]

    def run(self, label: str, inputs: list[Array], places: Places, layout: str) -> None:
        """Launch into a fresh array in a layout; the result is that of the operands at places."""
        self.run_into(label, inputs, room(self.case.device, places.shape, self.to, layout), places)

    def run_into(self, label: str, inputs: list[Array], out: Placed, places: Places) -> None:
        """Launch into an array, which may be an input."""
        if self.overload.op == "cast":
            launch_elementwise("cast", (inputs[0],), out.array)
        else:
            launch_elementwise(self.overload.op, tuple(inputs), out.array)
        self._judge_all(label, out, places)

    def run_numbers(
        self, numbers: tuple[int, ...], places: Places, layout: str, *, in_place: bool
    ) -> None:
        """Launch with Python numbers instead of some operands, whose value is one at all places.

        ``in_place`` puts the result into the last operand that is an array of its dtype; it does
        nothing where there is none.
        """
        placed = self.all_operands(places, (layout,))
        first = int(self._numbers(places).flat[0])
        args, out = [], None
        for i, name in enumerate(self.overload.inputs):
            args.append(self.number(i, first) if i in numbers else placed[i].array)
            if in_place and i not in numbers and name == self.to:
                out = placed[i]
        if in_place and out is None:
            return
        if out is None:
            out = room(self.case.device, places.shape, self.to, layout)
        dtypes = tuple(getattr(px, name) for name in self.overload.dtypes)
        compute(self.overload.op, tuple(args), dtypes, self.case.device, out=out.array)
        told = " and ".join(f"operand {i} is {args[i]}" for i in numbers)
        where = f"{layout} {places.shape}" + (", in place" if in_place else "")
        self._judge_all(f"{told}, {where}", out, places)

    def _judge_all(self, label: str, out: Placed, places: Places) -> None:
        """Compare a result with that of the operands at places, and what is around it."""
        if self._is_as_before(out, places):
            return
        got, intact = out.read_all()
        self.judge(label, got, places)
        if not intact:
            self._note(label, "elements outside of the result changed", "they stay as they are")

    def _is_as_before(self, out: Placed, places: Places) -> bool:
        """Tell whether a result is that of the first run, and nothing around it has changed."""
        alike = out.array.shape == places.shape and self._first is not None
        return alike and out.holds(self._at(places, _FIRST))

    def judge(self, label: str, got: HostArray, places: Places) -> None:
        """Compare a result with that of the operands at places."""
        if got.shape != places.shape or got.dtype != self._to_host:
            wanted = f"{self.to} {places.shape}"
            self._note(label, f"{got.dtype.name} {got.shape}", wanted)
            return
        if self._first is None:
            self._first = got
            asked = np.ones(got.shape, bool)
        else:
            first = self._at(places, _FIRST)
            if same_bytes(got, first):
                return
            asked = differing(got, first)
        if not asked.any():
            return
        numbers = self._numbers(places)
        errors = self.data.expected.errors(got[asked], numbers[asked])
        if self.case.flushes:
            errors = forgiven(got[asked], errors)
        self.case.judge(self.overload.op, self._dtype, float(errors.max()), self.bound)
        allowed = self.case.allowed(self.overload.op, self._dtype, self.bound)
        wrong = ~(errors <= allowed)
        if wrong.any():
            worst = int(np.argmax(np.where(wrong, errors, -1.0)))
            index = tuple(np.argwhere(asked)[worst].tolist())
            at = int(numbers[index])
            self.case.mistake(
                Mistake(
                    label,
                    str(index),
                    self._inputs_text(at),
                    str(got[index]),
                    self.data.expected.text(at),
                    float(errors[worst]),
                    allowed,
                    int(wrong.sum()),
                    got.size,
                )
            )

    def check_unchanged(self, label: str, inputs: list[Placed], places: Places) -> None:
        """Compare operands that were only read with what they were."""
        for i, placed in enumerate(inputs):
            if not placed.is_unchanged(self._at(places, i)):
                self._note(label, f"operand {i} changed", "operands are only read")

    def _at(self, places: Places, number: int) -> HostArray:
        """Return an operand, or the first result, at places: once, as runs share their places."""
        if isinstance(places, Round):
            return window(self._run(number, places.end), places.shape, places.steps)
        if places is not self._places:
            self._places, self._taken = places, {}
        if number not in self._taken:
            self._taken[number] = self._source(number)[places]
        return self._taken[number]

    def _run(self, number: int, count: int) -> HostArray:
        """Return an operand, or the first result, again and again: count elements or more."""
        run = self._runs.get(number)
        if run is None or run.size < count:
            # room for a little more, as rounds begin by chance
            run = self._runs[number] = np.resize(self._source(number), count + count // 4)
        return run

    def _run_there(self, number: int, count: int) -> Array:
        there = self._runs_there.get(number)
        if there is None or there.size < count:
            run = self._run(number, count)
            there = self._runs_there[number] = px.asarray(run, device=self.case.device)
        return there

    def run_rests(self) -> None:
        """Launch on whole vectors with a rest behind them, between chance places of two blocks.

        The results lie in one block, which is compared as a whole.
        """
        rng = self.case.rng("rests")
        width = _WHOLE + 2 * _VECTOR
        shifts = [3 * i for i in range(len(self.overload.inputs))]  # of operands against others
        rows = [
            px.asarray(np.concatenate([run[:s], run[:width]]), device=self.case.device)
            for run, s in ((self._run(i, width), s) for i, s in enumerate(shifts))
        ]
        firsts, tos = rng.integers(_VECTOR, size=(2, _VECTOR)).tolist()
        spans = [(n, slice(to, to + _WHOLE + n)) for n, to in enumerate(tos)]
        run = self._run(_FIRST, width)
        want = np.zeros((_VECTOR, width), self._to_host)
        for n, span in spans:
            want[n, span] = run[firsts[n] :][: _WHOLE + n]
        before = (want.view(np.uint8) ^ 1).view(want.dtype)  # nothing is as it will be
        block = px.asarray(before, device=self.case.device)
        for n, span in spans:
            inputs = [x[firsts[n] + s :][: _WHOLE + n] for x, s in zip(rows, shifts, strict=True)]
            launch_elementwise(self.overload.op, tuple(inputs), block[n, span])
        after = before.copy()
        for n, span in spans:
            after[n, span] = want[n, span]
        got = np.asarray(px.asnumpy(block))
        if same_bytes(got, after):
            return
        for n, span in spans:
            places = self.places((_WHOLE + n,), firsts[n])
            self.judge(f"{_WHOLE + n} elements from {firsts[n]} on", got[n, span], places)
            after[n, span] = got[n, span]
        if not same_bytes(got, after):
            self._note("rests of vectors", "elements outside of the result changed", "they stay")

    def check_runs(self) -> None:
        """Compare the runs on the device, of which operands were parts, with what they were."""
        for number, there in self._runs_there.items():
            now, run = np.asarray(px.asnumpy(there)), self._runs[number][: there.size]
            if not same_bytes(now, run) and differing(now, run).any():
                self._note("at the end", f"operand {number} changed", "operands are only read")

    def _source(self, number: int) -> HostArray:
        return np.asarray(self._first if number == _FIRST else self.data.operands[number])

    def number(self, number: int, place_: int) -> Any:
        """Return an operand at a place as a Python number."""
        value = self.data.operands[number][place_]
        return float(value) if value.dtype.name == "bfloat16" else value.item()

    def run_public(self, label: str, args: list[Any], places: HostArray) -> None:
        """Call the public function, of which some arguments may be Python numbers."""
        if self.overload.op in ("cast", "copy"):
            result = px.astype(args[0], getattr(px, self.to), copy=True)
        else:
            result = public_function(self.overload.op)(*args)
        self.judge(label, np.asarray(px.asnumpy(result)), places)

    def _inputs_text(self, place_: int) -> str:
        return ", ".join(str(operand[place_]) for operand in self.data.operands)

    def _note(self, label: str, got: str, want: str) -> None:
        self.case.mistake(Mistake(label, "", "", got, want))
