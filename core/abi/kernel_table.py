"""Reads a plugin's kernel table and holds every row against the op table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from phalanx.driver import Layout
from phalanx.optable import ALL, OPS, Determinism

from .structs import end_of, ffi, text

_DETERMINISM = (Determinism.NONE, Determinism.REPRODUCIBLE, Determinism.BITWISE)
_MOST_OPERANDS = 32
_MOST_ROWS = 1 << 20


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


def read_row(row: Any) -> tuple[KernelRow | None, str]:
    """Return a single row as it was found, or ``None`` and what is wrong with it."""
    least = end_of("phx_kernel", "data")
    why = _malformed(row, least) or _unfit(row)
    return (None, f"{_label(row, least)}: {why}") if why else (_read(row), "")


def read_table(rows: Any, count: int, *, newer: bool = False) -> tuple[list[KernelRow], list[str]]:
    """Return the good rows of a table, and a line for every row that is not one.

    Args:
        rows: ``const phx_kernel *const *`` as the plugin returned it.
        count: the number of rows.
        newer: the plugin was built for a later minor ABI than ours, so rows for ops that we do not
            know are left out: this host never calls them. From other plugins they are mistakes.
    """
    if count and not rows:
        return [], [f"kernel_table returned {count} rows and a null pointer"]
    if count > _MOST_ROWS:
        return [], [f"kernel_table returned {count} rows, more than {_MOST_ROWS}"]
    good: dict[tuple[object, ...], KernelRow] = {}
    problems = []
    least = end_of("phx_kernel", "data")
    for place in range(count):
        row = rows[place]
        where = f"row {place} of the kernel table"
        why = _malformed(row, least)
        if newer and not why and text(row.op) not in OPS:
            continue
        why = why or _unfit(row)
        if why:
            problems.append(f"{where}{_label(row, least)}: {why}")
            continue
        read = _read(row)
        which = (*read.key, read.determinism)
        if which in good:
            problems.append(
                f"{where}{_label(row, least)}: an earlier row has the same key and determinism"
            )
        else:
            good[which] = read
    return list(good.values()), problems


def _label(row: Any, least: int) -> str:
    if not row or row.struct_size < least or not row.op.data or row.op.size > 256:
        return ""
    dtypes = _dtypes(row) if row.dtypes and row.n_inputs + row.n_outputs <= _MOST_OPERANDS else ()
    return f", {text(row.op)}({', '.join(dtypes)})"


def _malformed(row: Any, least: int) -> str:  # noqa: PLR0911 - one line per rule
    if not row:
        return "the pointer is null"
    if row.struct_size < least:
        return f"struct_size is {int(row.struct_size)}; phx_kernel of ABI 1.0 has {least} bytes"
    if not row.op.data or not 0 < row.op.size <= 256:
        return "the op's name is missing or longer than 256 bytes"
    if not row.dtypes:
        return "dtypes is null"
    if row.n_outputs == 0 or row.n_inputs + row.n_outputs > _MOST_OPERANDS:
        return f"{int(row.n_inputs)} inputs and {int(row.n_outputs)} outputs"
    if not row.run:
        return "run is null"
    return _out_of_range(row)


def _out_of_range(row: Any) -> str:
    unknown = [code for code in _codes(row) if code >= len(ALL)]
    if unknown:
        return f"unknown element types {unknown}"
    if row.layout not in set(Layout):
        return f"unknown layout {int(row.layout)}"
    if not 0 <= row.determinism < len(_DETERMINISM):
        return f"unknown determinism class {int(row.determinism)}"
    if not math.isfinite(row.error_bound):
        return f"error_bound is {float(row.error_bound)}; a negative one means that none is stated"
    return ""


def _unfit(row: Any) -> str:
    """Return why a well-formed row serves no op; a misnamed kernel would never be called."""
    name = text(row.op)
    op = OPS.get(name)
    if op is None:
        close = get_close_matches(name, OPS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"the op table has no op {name!r}{hint}"
    dtypes, inputs = _dtypes(row), int(row.n_inputs)
    if any(s.inputs == dtypes[:inputs] and s.outputs == dtypes[inputs:] for s in op.signatures):
        return ""
    known = [str(s) for s in op.signatures]
    shown = ", ".join(known[:4]) + (", ..." if len(known) > 4 else "")
    got = f"{','.join(dtypes[:inputs])}->{','.join(dtypes[inputs:])}"
    return f"the op has no signature {got}; it has {shown}"


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
