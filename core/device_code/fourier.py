"""The Fourier transform: a launch per pass, through one or two arrays of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phalanx.optable.fourier import OWN_RADICES, PRIME_BLOCK, unpacked

from .dtypes import ITEMSIZE, PART
from .recipe import Program, Recipe, Traits, divide_up
from .rows import Axis, Plan, defines, pieces
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

_GROUP = 256
_SWAP_IN, _SWAP_OUT, _ROWS_FIRST = 1, 2, 4


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of the transform; see ``device_code.find``."""
    del layout  # there is one for all strides
    made = _Fourier(dtypes[0], traits) if op == "fft" else _Pairs(op, dtypes[0], traits)
    bitwise = traits.subnormals or dtypes[0] == "complex128"
    return Recipe(made.common, made.launch, "bitwise" if bitwise else "reproducible")


class _Rows:
    """What the ops share: the words of their texts, and how rows are walked."""

    def __init__(self, dtype: str, traits: Traits) -> None:
        self._dtype, self._traits = dtype, traits
        self._size = ITEMSIZE[PART[dtype]]
        self._real = f"f{8 * self._size}"
        self._group = min(_GROUP, traits.max_work_group)

    def _text(self, names: dict[str, str], text: str, *, wide: bool) -> Program:
        own = {"BLOCK": "1", "C": f"c{16 * self._size}", "F": self._real, "GROUP": str(_GROUP)}
        own["place"] = "u64" if wide else "u32"
        parts = ("rows.h", "fourier.h", text)
        return Program(defines(own | names) + "".join(map(template, parts)), ("fourier",))

    def launch(
        self, env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        x, table, y = inputs[0], inputs[1], outputs[0]
        if y.size == 0:
            return
        assert not isinstance(x, bool | int | float | complex)
        kept = zip(y.shape[:-1], x.strides[:-1], y.strides[:-1], strict=True)
        axes = tuple(Axis(*a) for a in kept if a[0] != 1)
        plan = Plan(y.shape[-1], x.strides[-1], y.strides[-1], True, Axis(1, 0, 0), axes)
        for part, px, py in pieces(env, plan, x, y):
            self._run(env, part, (px, table, py), x.shape[-1], params)

    def _run(
        self,
        env: Env,
        plan: Plan,
        arrays: tuple[Array, Operand, Array],
        given: int,
        params: tuple[int, ...],
    ) -> None:
        raise NotImplementedError

    def _enqueue_tasks(
        self, env: Env, kernel: Any, plan: Plan, tasks: int, arrays: Any, *numbers: int | bytes
    ) -> None:
        groups = min(divide_up(tasks, self._group), self._traits.most_groups)
        packed, size = plan.pack(1, 1, tasks, 1), (groups * self._group,)
        env.enqueue(kernel, size, (self._group,), *arrays, packed, *numbers)

    def _is_wide(self, plan: Plan) -> bool:
        """Whether the number of an element needs 64 bits."""
        return plan.rows * plan.n >= self._traits.far

    def _scalar(self, bits: int) -> bytes:
        """The part with these bits as kernel argument."""
        return (bits % (1 << 8 * self._size)).to_bytes(self._size, "little")


class _Pairs(_Rows):
    """The ops before and behind a transform of pairs."""

    def __init__(self, op: str, dtype: str, traits: Traits) -> None:
        super().__init__(dtype, traits)
        self._op = op
        names = {
            "FROM_PAIRS": f"phx_fft_from_pairs_{self._real}",
            "TO_PAIRS": f"phx_fft_to_pairs_{self._real}",
        }
        self._programs = [self._text(names, "fourier_pairs.h", wide=wide) for wide in (False, True)]
        self.common: tuple[Program, ...] = (self._programs[0],)

    def _run(
        self,
        env: Env,
        plan: Plan,
        arrays: tuple[Array, Operand, Array],
        given: int,
        params: tuple[int, ...],
    ) -> None:
        kernel = env.kernel(self._programs[self._is_wide(plan)], self._op)
        scale = self._scalar(params[0] if params else _ONE[self._size])
        self._enqueue_tasks(env, kernel, plan, plan.rows * plan.n, arrays, given, scale)


class _Fourier(_Rows):
    """The passes of one dtype, and their launches."""

    def __init__(self, dtype: str, traits: Traits) -> None:
        super().__init__(dtype, traits)
        self._programs = {
            (radix, wide): self._program(radix, wide=wide)
            for radix in (*OWN_RADICES, 0)
            for wide in (False, True)
        }
        self.common: tuple[Program, ...] = (self._programs[8, False], self._programs[4, False])

    def _program(self, radix: int, *, wide: bool) -> Program:
        """The pass of a radix; 0 is for any prime. ``wide``: places need 64 bits."""
        names = {"TWIDDLE": f"phx_fft_twiddle_{self._real}"}
        if radix:
            known = f"phx_fft{radix}_{self._real}(re, im)" if radix > 1 else ""
            names |= {"RADIX": str(radix), "BUTTERFLY(re, im)": known}
            return self._text(names, "fourier_pass.h", wide=wide)
        names["PRIME_BLOCK"] = str(PRIME_BLOCK)
        names["FMA"] = "phx_fmaf" if self._real == "f32" else "phx_fma"
        return self._text(names, "fourier_prime.h", wide=wide)

    def _run(
        self,
        env: Env,
        plan: Plan,
        arrays: tuple[Array, Operand, Array],
        given: int,
        params: tuple[int, ...],
    ) -> None:
        """All passes over the rows of a plan."""
        source, table, target = arrays
        inverse, scale, *rest = params
        radices = unpacked(rest)
        rows, n = plan.rows, plan.n
        within = _contiguous(plan)
        spare = [env.scratch(rows * n, self._dtype) for _ in radices[1:3]]
        first, m = 0, 1
        for number, radix in enumerate(radices):
            last = number == len(radices) - 1
            to = target if last else spare[number % 2]
            here = _joined(plan, within, number > 0, not last)
            flags = (_SWAP_IN if inverse and number == 0 else 0) | (
                _SWAP_OUT if inverse and last else 0
            )
            factor = scale if last else _ONE[self._size]
            self._enqueue(env, here, (source, table, to), given, (radix, m, first, flags, factor))
            first += (radix - 1) * m if m > 1 else 0
            first += 0 if radix in OWN_RADICES else radix
            m *= radix
            source, given = to, n

    def _enqueue(
        self,
        env: Env,
        plan: Plan,
        arrays: tuple[Array, Operand, Array],
        given: int,
        turn: tuple[int, int, int, int, int],
    ) -> None:
        """One pass."""
        radix, m, first, flags, factor = turn
        if plan.axes and abs(plan.axes[-1].xs) < abs(plan.sn):
            flags |= _ROWS_FIRST
        tasks = plan.rows * (plan.n // radix)
        if radix in OWN_RADICES:
            kernel = env.kernel(self._programs[radix, self._is_wide(plan)], "fft_pass")
            numbers: tuple[int, ...] = (given, m, first, flags)
        else:
            kernel = env.kernel(self._programs[0, self._is_wide(plan)], "fft_prime")
            tasks *= radix // 2 + 1
            roots = first + ((radix - 1) * m if m > 1 else 0)
            numbers = (given, radix, m, first, roots, flags)
        self._enqueue_tasks(env, kernel, plan, tasks, arrays, *numbers, self._scalar(factor))


#: The bits of 1, by the size of the part.
_ONE = {4: 0x3F800000, 8: 0x3FF0000000000000}


def _contiguous(plan: Plan) -> tuple[int, ...]:
    """The strides of the kept axes where rows lie one behind the other."""
    extents = [axis.extent for axis in plan.axes]
    return tuple(plan.n * math.prod(extents[i + 1 :]) for i in range(len(extents)))


def _joined(plan: Plan, within: tuple[int, ...], from_spare: bool, to_spare: bool) -> Plan:
    """The plan of a pass that reads or writes scratch in place of the operands."""
    axes = tuple(
        Axis(axis.extent, step if from_spare else axis.xs, step if to_spare else axis.ys)
        for axis, step in zip(plan.axes, within, strict=True)
    )
    sn = 1 if from_spare else plan.sn
    return replace(plan, sn=sn, yn=1 if to_spare else plan.yn, axes=axes)
