"""The functions of ``core/scalar`` as syntax trees, each parsed when it is first asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from phalanx.optable.headers import expanded_headers
from pycparser import c_ast
from pycparser.c_parser import CParser

from .prelude import PRELUDE

#: A type of C that stands for bool: memory and arithmetic of it are those of u8.
BOOL = "phx_bool"
_SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", BOOL)

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BRANCH = re.compile(r"^#if \w+\n.*?^#else\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)
_DEFINED = re.compile(r"^#define (PHX_\w+) (.+)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^ *#.*$", re.MULTILINE)
_STRUCT = re.compile(r"typedef struct \{([^}]*)\} (\w+);")
_TABLE = re.compile(r"PHX_TABLE\((\w+), (\w+), (\d+)\) = \{([^}]*)\};")
_FUNCTION = re.compile(r"\bPHX_(?:FN|OUTLINE) (\w+ phx_\w+\()")


@dataclass(frozen=True, slots=True)
class Function:
    """A function: the type of its result, its parameters as (type, name), its statements."""

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    body: tuple[c_ast.Node, ...]


@dataclass(frozen=True, slots=True)
class _Texts:
    functions: dict[str, str]
    structs: dict[str, tuple[tuple[str, str], ...]]
    tables: dict[str, tuple[str, tuple[int | float, ...]]]
    constants: dict[str, str]


@cache
def _texts() -> _Texts:
    found = _Texts({}, {}, {}, {})
    for text in (*expanded_headers().values(), PRELUDE):
        plain = _BRANCH.sub(r"\1", _COMMENT.sub(" ", text.replace("\\\n", "\n")))
        for name, value in _DEFINED.findall(plain):
            if not name.endswith("_H"):
                found.constants.setdefault(name, value.strip())
        plain = _DIRECTIVE.sub("", plain)
        for members, name in _STRUCT.findall(plain):
            found.structs.setdefault(name, tuple(_members(members)))
        for kind, name, _, items in _TABLE.findall(plain):
            numbers = [item.strip() for item in items.split(",") if item.strip()]
            found.tables[name] = (kind, tuple(_number(item) for item in numbers))
        for match in _FUNCTION.finditer(plain):
            name = match[1].split()[1].rstrip("(")
            found.functions.setdefault(name, plain[match.start(1) : _end(plain, match.end())])
    return found


def _members(text: str) -> list[tuple[str, str]]:
    members = []
    for part in text.split(";"):
        kind, _, names = part.strip().partition(" ")
        members += [(kind, name.strip()) for name in names.split(",") if name.strip()]
    return members


def _number(text: str) -> int | float:
    return int(text, 16) if text.startswith("0x") else float(text.rstrip("f"))


def _end(text: str, start: int) -> int:
    """The place behind the brace that closes the first one from a place on."""
    depth, at = 0, text.index("{", start)
    while True:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return at


def members_of(struct: str) -> tuple[tuple[str, str], ...] | None:
    """Return the members of a struct as (type, name), ``None`` if it is none."""
    return _texts().structs.get(struct)


def table(name: str) -> tuple[str, tuple[int | float, ...]]:
    """Return the type and the numbers of a table."""
    return _texts().tables[name]


def has_function(name: str) -> bool:
    """Return whether there is a function of the name."""
    return name in _texts().functions


@cache
def function(name: str) -> Function:
    """Return a function by name; raises ``KeyError`` if there is none."""
    return parsed(_texts().functions[name])


def parsed(text: str) -> Function:
    """Return the function that a text defines."""
    constants = _texts().constants
    while True:
        spread = re.sub(r"\bPHX_\w+\b", lambda m: constants.get(m[0], m[0]), text)
        if spread == text:
            break
        text = spread
    types = "".join(f"typedef int {name};" for name in (*_SCALARS, *_texts().structs))
    (definition,) = CParser().parse(types + text).ext[-1:]
    declared = definition.decl
    parameters = declared.type.args.params if declared.type.args else []
    return Function(
        declared.name,
        type_name(declared.type.type),
        tuple((type_name(p.type), p.name) for p in parameters if p.name),
        tuple(definition.body.block_items or ()),
    )


def type_name(node: c_ast.Node) -> str:
    """Return the name of a declared type."""
    while not isinstance(node, c_ast.IdentifierType):
        node = node.type
    return str(node.names[-1])
