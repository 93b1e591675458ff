"""Programs of the elementwise ops, from the expressions of their rows."""

from __future__ import annotations

from functools import cache

from phalanx.optable import DTYPES, OPS, Op, Role, Structure
from phalanx.optable.expressions import expression

from . import scalar_text
from .c_values import Any_, NotTranslated
from .program import Overload, Program, Value
from .scalar_text import BOOL
from .translation import Translator


@cache
def functions_of_ops() -> dict[str, Overload]:
    """Return the functions of ``core/scalar`` that are ops of real numbers, by name."""
    found: dict[str, Overload] = {}
    for row in OPS.values():
        if row.structure is not Structure.ELEMENTWISE:
            continue
        for signature in row.signatures:
            dtypes = signature.dtypes
            if any(DTYPES[d].kind == "c" for d in dtypes):
                continue
            if Role.CONVERTED in row.roles:
                a, b = (DTYPES[d].suffix for d in dtypes)
                found[f"phx_{a}_to_{b}"] = (row.name, dtypes)
            elif _calls_its_own(row, dtypes):
                found[f"phx_{row.name}_{DTYPES[dtypes[0]].suffix}"] = (row.name, dtypes)
    return found


def _calls_its_own(row: Op, dtypes: tuple[str, ...]) -> bool:
    facts = DTYPES[dtypes[0]]
    is_own = not facts.is_half and facts.kind not in row.expressions
    return is_own and not row.roles and DTYPES[dtypes[-1]].kind == facts.kind


@cache
def program_of(op: str, dtypes: tuple[str, ...]) -> Program | None:
    """Return the program of an elementwise overload; ``None`` if it consists of the op itself."""
    try:
        program = _made(op, dtypes, expression(OPS[op], dtypes).text, dtypes[-1])
    except NotTranslated:
        return None
    return None if (op, dtypes) in program.overloads() else program


@cache
def guarded_of(op: str, dtypes: tuple[str, ...]) -> tuple[Program, Program] | None:
    """Return the test for operands that need the whole program, and what does for all others.

    Only for complex numbers, whose whole programs take hundreds of launches.
    """
    text = expression(OPS[op], dtypes)
    if not text.main or DTYPES[dtypes[0]].kind != "c":
        return None
    main = _made(op, dtypes, text.main, dtypes[-1])
    return _made(op, dtypes, text.rare, "bool"), main


def _made(op: str, dtypes: tuple[str, ...], text: str, output: str) -> Program:
    t = Translator((op, dtypes), functions_of_ops())
    args = [_operand(t, i, dtype) for i, dtype in enumerate(dtypes[:-1])]
    result = t.call(_wrapper(OPS[op], dtypes, text, output), args)
    t.program.results = _parts(t, result, output)
    return t.program.finish()


def program_of_function(name: str, *dtypes: str) -> Program:
    """Return the program of a function of ``core/scalar`` for operands of these dtypes."""
    t = Translator((name, ()), functions_of_ops())
    args = [_operand(t, i, dtype) for i, dtype in enumerate(dtypes)]
    result = t.call(scalar_text.function(name), args)
    if isinstance(result, dict):
        t.program.results = [t.number_of(result[part]) for part in ("re", "im")]
    else:
        t.program.results = [t.number_of(result)]
    return t.program.finish()


def _operand(t: Translator, place: int, dtype: str) -> Any_:
    facts = DTYPES[dtype]
    if facts.part:
        return {name: t.input(place, facts.part, i) for i, name in enumerate(("re", "im"))}
    return t.input(place, _memory(dtype))


def _memory(dtype: str) -> str:
    """The dtype of an element in memory as the text sees it."""
    return "uint16" if DTYPES[dtype].is_half else dtype


def _wrapper(row: Op, dtypes: tuple[str, ...], body: str, output: str) -> scalar_text.Function:
    """A function of elements in memory around an expression of the operands of a row."""
    text = expression(row, dtypes)
    inputs = dtypes[:-1]
    types = [_c_type(d) for d in inputs]
    values = [
        BOOL if d == "bool" else v if "(" in load else _c_type(d)
        for d, v, load in zip(inputs, text.values, text.loads, strict=True)
    ]
    parameters = ", ".join(f"{t} {n}_element" for t, n in zip(types, "abc", strict=False))
    loads = " ".join(
        f"const {v} {n} = {load.format(f'{n}_element')};"
        for v, n, load in zip(values, "abc", text.loads, strict=False)
    )
    result = "phx_result"
    body = f"{{ {loads} return {body}; }}"
    return scalar_text.parsed(f"{_c_type(output)} {result}({parameters}) {body}")


def _c_type(dtype: str) -> str:
    return BOOL if dtype == "bool" else DTYPES[dtype].storage


def _parts(t: Translator, result: Any_, output: str) -> list[Value]:
    if isinstance(result, dict):
        return [t.number_of(result[name]) for name in ("re", "im")]
    return [t.view(t.number_of(result), output)]
