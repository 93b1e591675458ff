"""What to compute for one element of an elementwise overload, in words that every dialect has.

The text is C over the types of `ScalarType`, the functions of ``core/scalar`` and those of the
dialect's prelude (``phx_fma``, ``phx_make_c64``, ...).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .dtypes import DTYPES
from .headers import headers_of
from .row import Guard, Op, Role


@dataclass(frozen=True, slots=True)
class Expression:
    """What to write for one element: ``text`` is of the operands ``a``, ``b`` and ``c``.

    ``types`` are the C types in memory, inputs then output; ``loads`` turns an element in memory
    into an operand of the type in ``values``, per input; ``text`` gives an element in memory.
    ``headers`` are those of ``core/scalar`` that it needs. ``moves`` tells that elements are only
    passed on: one text serves all dtypes of a size.

    Some functions have a ``main`` part without branches, which is right where ``rare`` is 0;
    ``guard`` has the same test by operands. All three are empty for the others.
    """

    types: tuple[str, ...]
    loads: tuple[str, ...]
    values: tuple[str, ...]
    text: str
    headers: tuple[str, ...] = ()
    moves: bool = False
    main: str = ""
    rare: str = ""
    guard: Guard | None = None


def loaded(dtype: str, text: str) -> str:
    """Return the expression of an element in memory ``text`` as a value of arithmetic."""
    facts = DTYPES[dtype]
    return f"phx_{facts.suffix}_to_{facts.compute}({text})" if facts.is_half else text


def stored(dtype: str, text: str) -> str:
    """Return the expression of a value of arithmetic ``text`` as an element in memory."""
    facts = DTYPES[dtype]
    if facts.is_half:
        return f"phx_{facts.compute}_to_{facts.suffix}({text})"
    return text if facts.part else f"({facts.storage})({text})"


def expression(op: Op, dtypes: tuple[str, ...], suffix: str = "") -> Expression:
    """Return the expression of an overload, its dtypes being inputs then output.

    ``suffix`` names the scalar function, if it is not that of the dtypes: float16 has some of its
    own that compute in float32.
    """
    *inputs, output = dtypes
    if Role.CONVERTED in op.roles:
        return _conversion(*dtypes)
    key = DTYPES[inputs[op.key]]
    if Role.ENCODED in op.roles and key.is_half:
        return _encoded(op, dtypes)
    suffix = suffix or op.suffix(key.name)
    text = op.expression(key.kind).format(s=suffix)
    if Role.MOVED in op.roles or (text == "a" and key.name == output):
        return _move(op, dtypes, text)
    loads = tuple(loaded(d, "{}") for d in inputs)
    values = tuple(DTYPES[d].compute for d in inputs)
    result = stored(output, text)
    guard = op.guards.get(suffix)
    main = stored(output, text.replace(f"_{suffix}(", f"_main_{suffix}(")) if guard else ""
    rare = _rare(guard, values) if guard else ""
    return Expression(
        tuple(DTYPES[d].storage for d in dtypes),
        loads,
        values,
        result,
        headers_of(*loads, result, main, rare),
        main=main,
        rare=rare,
        guard=guard,
    )


def _rare(guard: Guard, values: tuple[str, ...]) -> str:
    """The test of a guard for whole operands."""
    tests = []
    for operand, test, value in zip("abc", guard.tests, values, strict=False):
        parts = (operand,) if guard.unit == value else (f"{operand}.re", f"{operand}.im")
        tests += [re.sub(r"\ba\b", part, test) for part in parts]
    return " | ".join(tests)


def _move(op: Op, dtypes: tuple[str, ...], text: str) -> Expression:
    roles = op.roles or (Role.MOVED,)
    types = tuple(
        DTYPES[d].storage if role is Role.MASK else DTYPES[d].moved
        for d, role in zip(dtypes, (*roles, Role.MOVED), strict=True)
    )
    return Expression(types, ("{}",) * op.arity, types[:-1], text, moves=True)


def _encoded(op: Op, dtypes: tuple[str, ...]) -> Expression:
    """A function of the bits of float16 or bfloat16, which float32 cannot stand for."""
    types = tuple(DTYPES[d].storage for d in dtypes)
    text = op.expression("f").format(s=op.suffix(dtypes[0]))
    return Expression(types, ("{}",) * op.arity, types[:-1], text, headers_of(text))


def _conversion(source: str, target: str) -> Expression:
    """A cast: it converts what lies in memory, float16 being its bits."""
    types = (DTYPES[source].storage, DTYPES[target].storage)
    text = _conversion_text(source, target)
    return Expression(types, ("{}",), types[:1], text, headers_of(text))


def _conversion_text(source: str, target: str) -> str:
    """The parts of complex numbers are converted one by one; a real one is the part of another."""
    from_, to = DTYPES[source], DTYPES[target]
    if from_.part and to.part:
        parts = (_converted(from_.part, to.part, f"a.{part}") for part in ("re", "im"))
        return f"phx_make_{to.suffix}({', '.join(parts)})"
    if from_.part and target == "bool":
        parts = (_converted(from_.part, target, f"a.{part}") for part in ("re", "im"))
        return stored(target, " | ".join(parts))
    if from_.part:
        return _converted(from_.part, target, "a.re")
    if to.part:
        return f"phx_make_{to.suffix}({_converted(source, to.part, 'a')}, 0)"
    return _converted(source, target, "a")


def _converted(source: str, target: str, text: str) -> str:
    if source == target:
        return text
    return f"phx_{DTYPES[source].suffix}_to_{DTYPES[target].suffix}({text})"
