"""Softmax, its logarithm and layer norm, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import along_params
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import MANY_BLOCKS, Along
from phalanx.conformance.groups.ops.structured_check import Check
from phalanx.conformance.layouts import broadcast, place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, host_dtype
from phalanx.conformance.reference.near import ACCUMULATOR
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure

#: Elements of a column that is longer than the buffer in which a kernel may keep several, a MiB.
_TALL = (1 << 18) + 101
#: So many different rows an operand has: powers and quotients go wrong for few numbers.
_MOST_ROWS = 130
#: Elements of three blocks of the order of evaluation and a rest (docs/ops.md: 4096).
_BLOCKS = 3 * 4096 + 77


@pytest.mark.parametrize("overload", overloads(Structure.ROW), ids=str)
def test_row(case: Case, overload: Overload) -> None:
    """Every length and layout; rows whose powers would overflow; infinities and NaN."""
    check = Check(case, overload)
    along = Along(check, _rows, along_params(overload), _MOST_ROWS)
    along.everything()
    specials(check, along)
    if check.name == "float32" or not case.quick:
        late_maximum(check, along)
        check.run("many rows", (along.rows(65_541, 3), *along.others(3)), along.params[0])
    if overload.op != "layer_norm":
        masked_beginnings(check)
    if overload.op == "layer_norm":
        small_epsilons(check, along)
        one_for_all(check, along)
    if check.name == "float32" or not case.quick:
        along.large(MANY_BLOCKS)
        many = case.rng("many").standard_normal(MANY_BLOCKS)  # no block counts less than another
        args = (many.astype(host_dtype(check.name)), *along.others(MANY_BLOCKS))
        check.run("a row of many blocks", args, along.params[0])
    if check.name == "float16" and overload.op == "softmax":
        x = _rows(overload.op, check.name, 2, _TALL, case.rng("tall"))
        check.run("tall columns", (x,), along.params[0], ("transposed",))
    case.finish()


def _rows(_op: str, name: str, count: int, n: int, rng: np.random.Generator) -> HostArray:
    """Return rows (count, n) near zero, far from it, and with one outstanding number."""
    x = rng.standard_normal((count, n))
    kinds = (np.arange(count)[:, None] + rng.integers(4)) % 4
    x *= np.array([1, 20, 1, 1])[kinds]
    x += np.array([0, 0, 1000, -3000])[kinds]
    if n:
        x[np.arange(count), rng.integers(0, n, count)] += 5
    return x.astype(host_dtype(name))


def late_maximum(check: Check, along: Along) -> None:
    """Rows of several blocks whose largest number, in the last or the second one, is far above."""
    for n, layout in ((_BLOCKS, "contiguous"), (1500, "transposed")):
        x = np.zeros((2, n))
        x[0, -1], x[1, n // 2] = 800.0, 900.0
        args = (x.astype(host_dtype(check.name)), *along.others(n))
        check.run(f"a late maximum, {layout}", args, along.params[0], (layout,))


def masked_beginnings(check: Check) -> None:
    """Rows that begin with infinities, as masked ones do: as many as a block or a group takes."""
    x = check.case.rng("masked").standard_normal((6, 1100))
    for row, masked in enumerate((1, 64, 128, 256, 512, 1024)):
        x[row, :masked] = -np.inf
    for n in (75, 1100):
        check.run(f"masked beginnings of {n}", (x[:, :n].astype(host_dtype(check.name)),))


def small_epsilons(check: Check, along: Along) -> None:
    """No epsilon, and one far below that of programs, beside variances that are as small."""
    rows = 2.0**-12 * check.case.rng("small").standard_normal((7, 33))
    rows[5], rows[6] = 3.0, 0.0  # equal numbers
    rows = rows.astype(host_dtype(check.name))
    for epsilon in (0.0, 1e-12, 1e-7):  # the last is another in float16
        params = (int(np.float64(epsilon).view(np.int64)),)
        check.run(f"epsilon {epsilon}", (rows, *along.others(33)), params)


def one_for_all(check: Check, along: Along) -> None:
    """A weight, or a bias, that is one number in memory, by a stride of 0."""
    x, device = along.rows(3, 40), check.case.device
    for at in (1, 2):
        args = [x, *along.others(40)]
        one = args[at][:1]
        args[at] = np.full(40, one[0])
        arrays = [
            place(device, a, name, "contiguous").array
            for a, name in zip(args, check.overload.inputs, strict=True)
        ]
        arrays[at] = broadcast(device, one, (40,), check.overload.inputs[at])
        want = check.expected(tuple(args), along.params[0])
        label = f"operand {at} is one number"
        check.run_arrays(label, arrays, tuple(args), along.params[0], "contiguous", want)


def specials(check: Check, along: Along) -> None:
    """The largest numbers, equal ones, far ones, zeros, infinities and NaN."""
    top = (2.0 - 2.0 ** (1 - FORMATS[check.name][0])) * 2.0 ** FORMATS[check.name][2]
    if check.overload.op == "layer_norm":  # the squares of a row must not overflow
        top = min(top, 2.0 ** (FORMATS[ACCUMULATOR[check.name]][2] // 2 - 5))
    table = np.zeros((12, 75))
    table[0, 74], table[1], table[2] = top, top, -top
    table[3, ::2], table[4, 3], table[5] = -np.inf, np.inf, -np.inf
    table[6, 74], table[7, 0], table[8] = np.nan, np.nan, np.linspace(-100, 10, 75)
    table[9], table[10], table[11, 1::2] = -0.0, 7.0, -0.0
    others = along.others(75)
    kind = host_dtype(check.name)
    alone = np.array([[np.nan], [np.inf], [-np.inf], [top], [-0.0], [7.0]], kind)
    for params in along.params:
        check.run("special values", (table.astype(kind), *others), params)
        check.run("special values in rows of one", (alone, *along.others(1)), params)
