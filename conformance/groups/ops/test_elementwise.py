"""Every overload of every elementwise op, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import view
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.elementwise_check import Check
from phalanx.conformance.groups.ops.elementwise_data import data_of
from phalanx.conformance.layouts import LAYOUTS, broadcast, drawn_shape, drawn_size, shapes
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import BOOLEAN, COMPLEX, Structure

NAMES = tuple(LAYOUTS)
#: Around the widths of vectors and the sizes of work-groups.
SIZES = (
    *(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257),
    *(47, 75, 95, 300, 511, 513, 1023, 1024, 1025, 3072, 4095, 4097, 65_535, 65_536, 65_537),
    307_200,
)
#: Larger sizes of these are aligned or misaligned, not both.
_BY_TURNS = 4097
LARGE, LARGE_QUICK = 2**20 + 3, 70_001
#: Those that are tried with more elements than float32 has whole numbers.
HUGE = ("add(float32,float32)->float32", "copy(uint8)->uint8", "logical_not(bool)->bool")


#: How many arrangements each overload meets in a quick run: a fault that many kernels share is met
#: by one of them, and a device that compiles at first use is not kept busy for an hour.
QUICK_ARRANGEMENTS = 2
#: Matrices of which a column or a row is an operand: beyond tiles of 32, and lines kept aside.
_LINES = ((97, 101), (89, 89), (2, 8219), (8219, 2))
#: Elements of a line beside one element.
_LINE = 3001
#: The part of the overloads of one or two operands that have thirteen axes.
THIRTEEN_AXES = 0.1
#: The part of those with long axes among them that try them.
LONG_AXES_QUICK = 0.3


@pytest.mark.parametrize("overload", overloads(Structure.ELEMENTWISE), ids=str)
def test_elementwise(case: Case, overload: Overload) -> None:
    """All values contiguous and strided, and some twice; then other arrangements of memory."""
    rng = case.rng()
    check = Check(case, overload, data_of(overload, rng, case.quick, case.flushes))
    all_values(check)
    check.run_rests()
    same_array_twice(check)
    usual_numbers(check)
    if overload.op == "copy":
        fills(check)
    arrangements = (
        large,  # what it makes is room for all others
        layouts,
        many_axes,
        sizes,
        tiles,
        long_axes,
        broadcast_operands,
        middle_axis,
        columns_and_rows,
        long_lines,
        columns,
        windows,
        one_address,
        one_element_operands,
        in_place,
        public_function,
        numbers,
    )
    # what kernels keep of their first launches is met in any order
    chosen = [0, *(1 + rng.permutation(len(arrangements) - 1)).tolist()]
    if case.quick:
        chosen = sorted(rng.choice(chosen, QUICK_ARRANGEMENTS, replace=False).tolist())
    for number in chosen:
        arrangements[number](check, rng)
    check.check_runs()
    case.finish()


def all_values(check: Check) -> None:
    """Every operand once, contiguous and strided, which may be two kernels."""
    places = check.places((check.data.size,))
    for layout in ("contiguous", "strided"):
        inputs = check.all_operands(places, (layout,))
        check.run(f"{layout} {places.shape}", [p.array for p in inputs], places, layout)
        check.check_unchanged(layout, inputs, places)
    first = check.data.table.size + check.data.equal.size  # each special value is once the last
    few = check.case.quick and check.overload.inputs[0] not in COMPLEX
    for end in check.case.rng("ends").integers(first, first + 400, 8 if few else 32):
        places = check.places((int(end),))
        check.run(f"the first {end}", check.arrays(places, ("offset",)), places, "contiguous")


def layouts(check: Check, rng: np.random.Generator) -> None:
    """Each layout for all arrays, and each mixed with others; of no, one and more axes."""
    count, ranks = (120, (2, 3)) if check.case.quick else (1500, (1, 2, 3, 4))
    numbers = [int(rng.integers(len(NAMES)))] if check.case.quick else range(len(NAMES))
    for number in numbers:
        name = NAMES[number]
        others = tuple(NAMES[(number + i) % len(NAMES)] for i in (1, 2, 3))
        for rank in ranks:
            drawn = drawn_shape(count, rank, rng)
            for kinds, shape in (((name,), shapes(count, rank)), (others, drawn)):
                places = check.round(shape, rng, kinds[0])
                inputs = check.arrays(places, kinds)
                label = f"{' and '.join(kinds)} to {name} {shape}"
                check.run(label, inputs, places, name)
    for rest in rng.permutation(16)[: 3 if check.case.quick else 16].tolist():
        places = check.round((3, 32 + rest), rng, "padded")
        inputs = check.arrays(places, ("padded",))
        check.run(f"padded, {rest} behind vectors", inputs, places, "contiguous")
    for shape in ((), (0,), (3, 0, 2), (1, 1, 1), (1, 9, 1)):
        name = NAMES[int(rng.integers(len(NAMES)))]
        places = check.round(shape, rng, name)
        inputs = check.arrays(places, (name,))
        check.run(f"{name} {shape}", inputs, places, "mixed")


def many_axes(check: Check, rng: np.random.Generator) -> None:
    """Seven to ten axes that cannot be merged; for some overloads, which share code, thirteen."""
    shapes_ = [(2, 3, 2, 3, 2, 2, 3), (2,) * 9, (2, 1, 3, *(2,) * 7)]
    if len(check.overload.inputs) == 3 or rng.random() < THIRTEEN_AXES:
        shapes_.append((2,) * 13)
    for shape in shapes_:
        places = check.round(shape, rng, "mixed")
        inputs = check.arrays(places, ("mixed", "transposed"))
        check.run(f"mixed and transposed to mixed {shape}", inputs, places, "mixed")


def tiles(check: Check, rng: np.random.Generator) -> None:
    """Matrices that are whole tiles of 16, 32 or 64 and a rest, which may be 1, across."""
    pairs = (("transposed", "contiguous"), ("contiguous", "transposed"), ("padded", "transposed"))
    shapes_ = [(67, 131), (129, 33), (16, 65), (64, 128), (70, 129), (300, 33), (33, 289)]
    if check.case.quick:
        shapes_ = [shapes_[int(rng.integers(len(shapes_)))]]
    for shape in shapes_:
        for name, to in (*pairs, ("transposed", "padded")):
            places = check.round(shape, rng, name)
            inputs = check.arrays(places, (name, to))
            check.run(f"{name} and {to} to {to} {shape}", inputs, places, to)


def long_axes(check: Check, rng: np.random.Generator) -> None:
    """More rows, or columns, than a number of 16 bits counts, with gaps between them."""
    if check.case.quick and rng.random() > LONG_AXES_QUICK:
        return
    kinds = rng.permutation(("mixed", "padded", "transposed")).tolist()
    pairs = list(zip(((65_537, 2), (3, 65_536), (65_535, 1, 2)), kinds, strict=True))
    for shape, name in [pairs[int(rng.integers(3))]] if check.case.quick else pairs:
        places = check.round(shape, rng, name)
        other = kinds[kinds.index(name) - 1]  # lines of one operand cross those of the others
        inputs = check.arrays(places, (name, other))
        check.run(f"{name} and {other} to {name} {shape}", inputs, places, name)
    places = check.round((65_539, 2, 2), rng, "mixed")
    inputs = check.arrays(places, ("mixed",))
    check.run(f"mixed {places.shape}", inputs, places, "mixed")


def sizes(check: Check, rng: np.random.Generator) -> None:
    """Odd sizes and chance ones, aligned and misaligned; large ones by turns."""
    chosen = rng.choice(SIZES, 8, replace=False).tolist() if check.case.quick else SIZES
    drawn = [drawn_size(1 << 16, rng) for _ in range(4 if check.case.quick else 12)]
    for number, size in enumerate((*chosen, *drawn)):
        kinds = ("contiguous", "offset") if number % 2 else ("offset", "contiguous")
        for name in kinds[:1] if check.case.quick or size > _BY_TURNS else kinds:
            places = check.round((size,), rng, name)
            inputs = check.arrays(places, (name,))
            check.run(f"{name} {places.shape}", inputs, places, name)


def broadcast_operands(check: Check, rng: np.random.Generator) -> None:
    """Each operand varies along one axis of its own; a single operand along the last of two."""
    places, axes = check.data.table, list(range(check.data.table.ndim))
    if places.ndim == 1:
        places, axes = np.stack([places] * 4), [1]
    inputs = []
    for i, (axis, name) in enumerate(zip(axes, check.overload.inputs, strict=True)):
        line = tuple(slice(None) if k == axis else slice(1) for k in range(places.ndim))
        values = check.data.operands[i][places[line]]
        values = values.reshape(values.shape[axis:])
        inputs.append(broadcast(check.case.device, values, places.shape, name))
    for layout in ("contiguous", "transposed") if check.case.quick else NAMES:
        check.run(f"broadcast to {layout} {places.shape}", inputs, places, layout)


def middle_axis(check: Check, rng: np.random.Generator) -> None:
    """One operand varies along the outer and the last axis, another along the one between."""
    count = len(check.overload.inputs)
    for outer in range(count):
        table = check.data.table
        if count == 1:
            grid = np.stack([table] * 3, axis=1)
        else:
            grid = np.moveaxis(table, (outer, (outer + 1) % count), (0, 1))
            grid = grid.reshape(*grid.shape[:2], -1)[:, :, 0]
        half = grid.shape[0] // 2
        places = grid[: 2 * half].reshape(half, 2, -1).transpose(0, 2, 1)
        inputs = []
        for i, name in enumerate(check.overload.inputs):
            line = places[:1, :1, :1]
            if i == outer:
                line = places[:, :1]
            elif i == (outer + 1) % count:
                line = places[:1, :, :1]
            values = check.data.operands[i][line]
            inputs.append(broadcast(check.case.device, values, places.shape, name))
        for layout in ("contiguous", "mixed"):
            label = f"operand {outer} around the middle axis to {layout} {places.shape}"
            check.run(label, inputs, places, layout)


def columns_and_rows(check: Check, rng: np.random.Generator) -> None:
    """Each operand in turn is a column, then a row, of a matrix that the others fill."""
    for number, name in enumerate(check.overload.inputs):
        table = np.moveaxis(check.data.table, number, 0)
        for places in (table.reshape(len(table), -1), table.reshape(len(table), -1).T):
            inputs = check.arrays(places, ("contiguous", "padded"))
            line = places[:, :1] if len(places) == len(table) else places[:1]
            values = check.data.operands[number][line]
            inputs[number] = broadcast(check.case.device, values, places.shape, name)
            for layout in ("contiguous", "padded"):
                label = f"operand {number} {line.shape} of {places.shape} to {layout}"
                check.run(label, inputs, places, layout)


def long_lines(check: Check, rng: np.random.Generator) -> None:
    """Columns and rows of more elements than tiles and buffers have, beside matrices and others."""
    count = len(check.overload.inputs)
    for number, name in enumerate(check.overload.inputs if count > 1 else ()):
        table = np.moveaxis(check.data.table, number, 0).reshape(check.data.table.shape[number], -1)
        for shape in [_LINES[int(rng.integers(len(_LINES)))]] if check.case.quick else _LINES:
            rows, columns_ = (np.arange(n) % k for n, k in zip(shape, table.shape, strict=True))
            grid = table[np.ix_(rows, columns_)]
            for places, line in ((grid, grid[:, :1]), (grid.T, grid.T[:1])):
                inputs = check.arrays(places, ("contiguous",))
                values = check.data.operands[number][line]
                inputs[number] = broadcast(check.case.device, values, places.shape, name)
                label = f"operand {number} {line.shape} of {places.shape}"
                check.run(label, inputs, places, "contiguous")
                if count == 2:
                    across = places[:1] if len(line) > 1 else places[:, :1]
                    values = check.data.operands[1 - number][across]
                    other = check.overload.inputs[1 - number]
                    inputs[1 - number] = broadcast(check.case.device, values, places.shape, other)
                    check.run(f"{label}, the other {across.shape}", inputs, places, "contiguous")


def columns(check: Check, rng: np.random.Generator) -> None:
    """All operands are columns, so that rows of the result are one element each."""
    for width in (6, 33):
        line = check.places((11, 1), int(rng.integers(check.data.size)))
        places = np.repeat(line, width, axis=1)
        inputs = [
            broadcast(check.case.device, check.data.operands[i][line], places.shape, name)
            for i, name in enumerate(check.overload.inputs)
        ]
        for layout in ("contiguous", "padded"):
            check.run(f"columns to {layout} {places.shape}", inputs, places, layout)


def windows(check: Check, rng: np.random.Generator) -> None:
    """Rows that begin one element behind another, as those of a moving window do."""
    shape = (9, 70)
    line = check.places((sum(shape) - 1,), int(rng.integers(check.data.size)))
    places = line[np.add.outer(*map(np.arange, shape))]
    inputs = [
        view(check.operand(i, line, "offset").array, shape, (1, 1))
        for i in range(len(check.overload.inputs))
    ]
    check.run("moving windows", inputs, places, "contiguous")


def one_address(check: Check, rng: np.random.Generator) -> None:
    """Two operands begin at one element, of which one is turned, or a row or column for all."""
    corners, names = check.data.corners, check.overload.inputs
    if corners is None or names[0] != names[1]:
        return
    drawn = rng.integers(len(corners), size=(37, 37))
    one = check.operand(0, corners[drawn, 0], "contiguous").array
    forms = (
        ("transpose", one.T, drawn.T),
        ("first row", view(one, one.shape, (0, 1)), drawn[:1]),
        ("first column", view(one, one.shape, (one.strides[0], 0)), drawn[:, :1]),
    )
    for label, other, seen in forms:
        check.run(f"x and its {label}", [one, other], corners[drawn, seen], "contiguous")
        check.run(f"x's {label} and x", [other, one], corners[seen, drawn], "contiguous")


def one_element_operands(check: Check, rng: np.random.Generator) -> None:
    """One operand is an array of no axes, the others have one; the last of them is strided, too."""
    for number in range(len(check.overload.inputs)):
        places = line_of_table(check, number)
        if places.ndim == 0:
            continue
        places = np.resize(places, _LINE)
        last = len(check.overload.inputs) - 1
        for layout in ("offset", "strided"):
            inputs = [
                check.operand(
                    i,
                    places.flat[0] if i == number else places,
                    layout if i == last else "offset",
                ).array
                for i in range(last + 1)
            ]
            label = f"operand {number} of one element, the last one {layout}"
            check.run(label, inputs, places, "contiguous")
    if check.data.corners is not None:
        one_of_corners(check, check.data.corners, rng)
    if len(check.overload.inputs) == 3:
        for axis in range(3):
            line = np.moveaxis(check.data.table, axis, 0)[:, 0, 0]
            inputs = [
                check.operand(i, line if i == axis else line[0], "offset").array for i in range(3)
            ]
            check.run(f"two operands of one element beside {axis}", inputs, line, "contiguous")
    same = np.full((5, 13), int(rng.integers(check.data.size)))
    inputs = [
        broadcast(check.case.device, check.data.operands[i][same[:1, :1]], same.shape, name)
        for i, name in enumerate(check.overload.inputs)
    ]
    for layout in ("contiguous", "padded"):
        check.run(f"one element to {layout} {same.shape}", inputs, same, layout)


def one_of_corners(check: Check, corners: HostArray, rng: np.random.Generator) -> None:
    """Each special value is one element beside all of them, itself among them."""
    for number, table in enumerate((corners, corners.T)):
        few = rng.permutation(len(table))[:2] if check.case.quick else range(len(table))
        for line in table[few]:
            places = [line[0] if i == number else line for i in (0, 1)]
            inputs = [check.operand(i, places[i], "offset").array for i in (0, 1)]
            check.run(f"operand {number} of one special value", inputs, line, "contiguous")


def line_of_table(check: Check, number: int) -> np.ndarray:
    """Return places along which an operand does not change; of one operand, a single place."""
    table = check.data.table
    axes = [i for i in range(table.ndim) if i != number]
    kept = axes[-1] if axes else -1
    return table[tuple(slice(None) if i == kept else 0 for i in range(table.ndim))]


def in_place(check: Check, rng: np.random.Generator) -> None:
    """The result goes into an operand of its dtype, in each layout; also x op= x."""
    for number, name in enumerate(check.overload.inputs):
        if name != check.to:
            continue
        kinds = ("contiguous", "strided", "negative") if check.case.quick else NAMES
        if check.case.quick:
            kinds = (kinds[int(rng.integers(len(kinds)))],)
        for layout in kinds:
            places = check.round(drawn_shape(100, 2, rng), rng)
            inputs = check.all_operands(places, (layout, "contiguous", layout))
            label = f"in place of operand {number}, {layout}"
            check.run_into(label, [p.array for p in inputs], inputs[number], places)
        places = check.round((9001,), rng)
        for layout in ("contiguous", "offset"):
            inputs = check.all_operands(places, (layout,))
            label = f"in place of operand {number}, {layout} {places.shape}"
            check.run_into(label, [p.array for p in inputs], inputs[number], places)
        if check.case.quick:
            break


def same_array_twice(check: Check) -> None:
    """All operands of one dtype are one array, which in place takes the result as well."""
    if len(check.overload.inputs) == 1:
        return
    places, name = check.data.equal, check.overload.inputs[-1]
    for layout in ("contiguous",) if check.case.quick else ("contiguous", "strided"):
        inputs = check.all_operands(places, (layout,))
        pairs = zip(inputs, check.overload.inputs, strict=True)
        arrays = [inputs[-1].array if n == name else p.array for p, n in pairs]
        check.run(f"one array for all operands, {layout}", arrays, places, layout)
        if name == check.to:
            check.run_into(f"x op= x, {layout}", arrays, inputs[-1], places)


def public_function(check: Check, rng: np.random.Generator) -> None:
    """The public function on arrays, and with a Python number for each operand in turn."""
    if is_refused(check.overload):
        return
    places = check.places((check.data.size,))[:211]
    arrays = check.arrays(places, ("contiguous",))
    check.run_public("public function", arrays, places)
    count = len(check.overload.inputs)
    first = 1 if count == 3 else 0
    if count == 3:
        two_numbers(check, rng)
    for number in range(first, count):
        line = line_of_table(check, number)
        if line.ndim == 0:
            continue
        kinds = tuple(str(name) for name in rng.choice(NAMES, count))
        if not check.case.moves(check.to):  # a result may have strides, which a copy takes away
            kinds = ("contiguous",)
        for places, layouts_ in ((line, ("contiguous",)), (np.resize(line, (5, 7)), kinds)):
            args = check.arrays(places, layouts_)
            args[number] = check.number(number, int(line[0]))
            label = f"public function, operand {number} a Python number, {' and '.join(layouts_)}"
            check.run_public(label, args, places)


def two_numbers(check: Check, rng: np.random.Generator) -> None:
    """The public function of an array, in each layout, and two Python numbers."""
    line = check.data.table[:, 0, 1]
    numbers_ = [check.number(number, int(line[0])) for number in (1, 2)]
    dtype = check.operand(0, line, "contiguous").array.dtype
    if dtype is px.bool and px.asarray(numbers_[0]).dtype.name != check.to:
        return  # numbers alone have the default dtype
    for layout in rng.choice(NAMES, 3, replace=False).tolist() if check.case.quick else NAMES:
        places = np.resize(line, drawn_shape(60, 2, rng))
        array = check.operand(0, places, layout).array
        label = f"public function of {layout} {places.shape} and two numbers"
        check.run_public(label, [array, *numbers_], places)


def numbers(check: Check, rng: np.random.Generator) -> None:
    """A Python number that is special, zeros of both signs among them, and an array with gaps."""
    grid = check.data.corners
    if grid is None:
        return
    for number in range(2):
        lines = np.moveaxis(grid, number, 0)
        values = check.data.operands[number][lines[:, 0]]
        chosen = rng.permutation(len(lines))[: 8 if check.case.quick else 16].tolist()
        if values.dtype.kind in "fV":
            chosen += np.flatnonzero(values == 0).tolist()
        for at in dict.fromkeys(chosen):
            line = lines[at]
            layout = ("strided", "contiguous", "negative")[at % 3]
            args = check.arrays(line, (layout,))
            args[number] = check.number(number, int(line[0]))
            check.run_public(f"operand {number} is {args[number]}, {layout}", args, line)


def usual_numbers(check: Check) -> None:
    """Numbers that programs have beside arrays: contiguous, of three axes, in place, and many."""
    for numbers, lines in check.data.usual:
        for at, line in enumerate(lines):
            turn = at + numbers[0]
            places = line.reshape(2, 3, 4) if turn % 2 else line
            layout = "mixed" if places.ndim > 1 else "contiguous"
            if len(check.overload.inputs) == 2:
                args = check.arrays(places, (layout,))
                args[numbers[0]] = check.number(numbers[0], int(line[0]))
                label = f"operand {numbers[0]} is {args[numbers[0]]}, {layout} {places.shape}"
                check.run_public(label, args, places)
            check.run_numbers(numbers, places, layout, in_place=False)
            if turn % 3 == 0 or not check.case.quick:
                check.run_numbers(numbers, places, layout, in_place=True)
        many = np.resize(lines[-2], LARGE_QUICK)
        check.run_numbers(numbers, many, "contiguous", in_place=False)


def fills(check: Check) -> None:
    """Copies of one element, which are fills: zeros of both signs, and some others."""
    values = check.data.operands[0]
    zeros = {values[at].tobytes(): int(at) for at in np.flatnonzero(values == 0)}
    chosen = [*zeros.values(), *check.case.rng().integers(0, check.data.size, 4).tolist()]
    for number, at in enumerate(chosen):
        places = np.full((4_500, 70_001)[number % 2], at)
        one = check.operand(0, places[0], "contiguous").array
        for layout in ("contiguous", "offset", "strided", "negative"):
            check.run(f"one element to {layout} {places.shape}", [one], places, layout)
            check.run_numbers((0,), places, layout, in_place=False)


def is_refused(overload: Overload) -> bool:
    """Tell whether ``astype`` refuses a conversion, because it drops imaginary parts unseen."""
    kept = overload.inputs[0] not in COMPLEX or overload.outputs[0] in COMPLEX + BOOLEAN
    return overload.op == "cast" and not kept


def large(check: Check, rng: np.random.Generator) -> None:
    """More elements than one round of threads or work-groups takes."""
    size = LARGE_QUICK if check.case.quick else LARGE
    if not check.case.quick and str(check.overload) in HUGE:
        size = 2**24 + 4099
        rows = check.round((4097, 4099), rng, "padded")
        inputs = check.arrays(rows, ("padded",))
        check.run(f"padded {rows.shape}", inputs, rows, "padded")
    places = check.round((size,), rng)
    inputs = check.arrays(places, ("contiguous",))
    check.run(f"contiguous {places.shape}", inputs, places, "contiguous")
