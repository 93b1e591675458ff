"""Reads a plugin's kernel table and holds every row against the op table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from phalanx.driver import Layout
from phalanx.optable import ALL, OPS, Determinism

from .problem import Problem
from .structs import end_of, ffi, text

_DETERMINISM = (Determinism.NONE, Determinism.REPRODUCIBLE, Determinism.BITWISE)
_MOST_OPERANDS = 32
_MOST_ROWS = 1 << 20
_LONGEST_NAME = 256


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One row: ``run`` is the address of its function, ``address`` that of the ``phx_kernel``."""

    op: str
    dtypes: tuple[str, ...]
    layout: Layout
    determinism: Determinism
    error_bound: float
    run: int
    address: int

    @property
    def key(self) -> tuple[str, tuple[str, ...], Layout]:
        """The kernel key."""
        return self.op, self.dtypes, self.layout


@dataclass(frozen=True, slots=True)
class TableRead:
    """What a table holds: the good rows, what is wrong with others, and what is beyond this host.

    ``unknown`` has a line for every row of a newer plugin that uses words which came after this
    host: an op, an element type, a layout, a class, or dtypes that the op has only since.
    """

    rows: list[KernelRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def read_row(row: Any) -> tuple[KernelRow | None, Problem | None]:
    """Return a single row as it was found, or ``None`` and what is wrong with it."""
    fault = _malformed(row) or _unknown(row) or _unfit(row)
    return (None, _problem("phx_kernel", row, fault)) if fault else (_read(row), None)


def read_table(rows: Any, count: int, *, newer: bool = False) -> TableRead:
    """Read a table and hold every row against the op table.

    Args:
        rows: ``const phx_kernel *const *`` as the plugin returned it.
        count: the number of rows.
        newer: the plugin was built for a later minor ABI than ours, so rows with words that we do
            not know are left out: this host never calls them. From other plugins they are mistakes.
    """
    if count and not rows:
        return TableRead(problems=[Problem("kernel_table", f"{count} rows and a null pointer")])
    if count > _MOST_ROWS:
        wrong = f"it returned {count} rows, more than {_MOST_ROWS}"
        return TableRead(problems=[Problem("kernel_table", wrong)])
    good: dict[tuple[object, ...], KernelRow] = {}
    read = TableRead()
    for place in range(count):
        row = rows[place]
        fault = _malformed(row)
        beyond = fault or _unknown(row) or _unfit(row)
        if newer and beyond and not fault:
            read.unknown.append(f"{_label(row)}: {beyond[1]}")
            continue
        key = None if beyond else (*_read(row).key, row.determinism)
        if key in good:
            beyond = ("op", "an earlier row has the same key and determinism")
        if beyond:
            read.problems.append(_problem(f"kernel_table[{place}]", row, beyond))
        elif key is not None:
            good[key] = _read(row)
    read.rows.extend(good.values())
    return read


#: The field, and what is wrong with it.
_Fault = tuple[str, str]


def _problem(where: str, row: Any, fault: _Fault) -> Problem:
    label = _label(row)
    return Problem(f"{where}.{fault[0]}", f"{label}: {fault[1]}" if label else fault[1])


def _least() -> int:
    return end_of("phx_kernel", "data")


def _label(row: Any) -> str:
    if not row or row.struct_size < _least() or not row.op.data or row.op.size > _LONGEST_NAME:
        return ""
    dtypes = _dtypes(row) if row.dtypes and row.n_inputs + row.n_outputs <= _MOST_OPERANDS else ()
    return f"{text(row.op)}({', '.join(dtypes)})"


def _malformed(row: Any) -> _Fault | None:  # noqa: PLR0911 - one line per rule
    """Return what no version of the ABI allows."""
    if not row:
        return "struct_size", "the pointer to the row is null"
    if row.struct_size < _least():
        return (
            "struct_size",
            f"it is {int(row.struct_size)}, and phx_kernel has {_least()} bytes",
        )
    if not row.op.data or not 0 < row.op.size <= _LONGEST_NAME:
        return "op", f"the op's name is missing or longer than {_LONGEST_NAME} bytes"
    if not row.dtypes:
        return "dtypes", "it is null"
    if row.n_outputs == 0 or row.n_inputs + row.n_outputs > _MOST_OPERANDS:
        return "n_inputs", f"{int(row.n_inputs)} inputs and {int(row.n_outputs)} outputs"
    if not row.run:
        return "run", "it is null"
    if not math.isfinite(row.error_bound):
        stated = f"it is {float(row.error_bound)}; a negative one means that none is stated"
        return "error_bound", stated
    return None


def _unknown(row: Any) -> _Fault | None:
    """Return which constant of a well-formed row this host does not know."""
    unknown = [code for code in _codes(row) if code >= len(ALL)]
    if unknown:
        return "dtypes", f"unknown element types {unknown}"
    if row.layout not in set(Layout):
        return "layout", f"unknown layout {int(row.layout)}"
    if not 0 <= row.determinism < len(_DETERMINISM):
        return "determinism", f"unknown determinism class {int(row.determinism)}"
    return None


def _unfit(row: Any) -> _Fault | None:
    """Return why a well-formed row serves no op; a misnamed kernel would never be called."""
    name = text(row.op)
    op = OPS.get(name)
    if op is None:
        close = get_close_matches(name, OPS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return "op", f"the op table has no op {name!r}{hint}"
    dtypes, inputs = _dtypes(row), int(row.n_inputs)
    if any(s.inputs == dtypes[:inputs] and s.outputs == dtypes[inputs:] for s in op.signatures):
        return None
    known = [str(s) for s in op.signatures]
    shown = ", ".join(known[:4]) + (", ..." if len(known) > 4 else "")
    got = f"{','.join(dtypes[:inputs])}->{','.join(dtypes[inputs:])}"
    return "dtypes", f"the op has no signature {got}; it has {shown}"


def _codes(row: Any) -> bytes:
    return bytes(ffi().buffer(row.dtypes, row.n_inputs + row.n_outputs))


def _dtypes(row: Any) -> tuple[str, ...]:
    return tuple(ALL[c] if c < len(ALL) else f"type {c}" for c in _codes(row))


def _read(row: Any) -> KernelRow:
    address = ffi().cast
    return KernelRow(
        text(row.op),
        _dtypes(row),
        Layout(row.layout),
        _DETERMINISM[row.determinism],
        float(row.error_bound),
        int(address("uintptr_t", row.run)),
        int(address("uintptr_t", row)),
    )
