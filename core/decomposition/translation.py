"""From a scalar function in C to a program of ops.

Both sides of a condition are computed and one is selected, element by element. A loop goes on until
no element needs it. Every step of the text becomes one op with its dtypes, so the bits are the
same; integers wrap, as the op table has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from phalanx.optable import DTYPES
from pycparser import c_ast

from . import scalar_text
from .c_expressions import EXPRESSIONS
from .c_values import DTYPE_OF, FLOATS, Any_, NotTranslated
from .constants import folded
from .program import Const, Node, Overload, Program, Ref, Value
from .scalar_text import Function

_BINARY = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "bitwise_left_shift",
    ">>": "bitwise_right_shift",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "&&": "bitwise_and",
    "||": "bitwise_or",
}
_COMPARED = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
#: The name of a variable that no text has: where the text of a loop is reached.
_HERE = "#here"


class Translator:
    """Makes one program.

    ``root`` is the overload that is decomposed: where its own op would be a step, it is
    spelled out.
    ``calls`` has the functions of ``core/scalar`` that are ops themselves.
    """

    def __init__(self, root: Overload, calls: Mapping[str, Overload]) -> None:
        self.root = root
        self.calls = calls
        self.program = Program()
        self._known: dict[Node, Ref] = {}
        self._paths: list[Value] = []

    @contextmanager
    def under(self, mask: Value, is_true: bool) -> Iterator[None]:
        """Translate what C does only where a condition is true, or false: loops need to know."""
        self._paths.append(mask if is_true else self.op("bitwise_invert", (mask,), "bool"))
        try:
            yield
        finally:
            self._paths.pop()

    # ---- nodes

    def add(self, node: Node, dtype: str) -> Ref:
        """Return the value of a node, that of an equal one if there is one."""
        if node not in self._known:
            self._known[node] = Ref(len(self.program.nodes), dtype)
            self.program.nodes.append(node)
        return self._known[node]

    def input(self, place: int, dtype: str, part: int = 0) -> Ref:
        """Return an operand, or a part of it, as a dtype."""
        return self.add(Node("input", dtypes=(dtype,), place=place, part=part), dtype)

    def view(self, x: Value, dtype: str) -> Value:
        """Return the same bits as another dtype of the size."""
        if x.dtype == dtype:
            return x
        if isinstance(x, Const):
            return folded("view", (x,), dtype)
        node = self.program.nodes[x.node]
        if node.kind == "view":
            return self.view(node.args[0], dtype)
        return self.add(Node("view", dtypes=(dtype,), args=(x,)), dtype)

    def op(self, op: str, args: tuple[Value, ...], result: str) -> Value:
        """Return what an op of the table gives, by simpler ones if it is the root itself."""
        dtypes = (*(a.dtype for a in args), result)
        if all(isinstance(a, Const) for a in args):
            return folded(op, tuple(a for a in args if isinstance(a, Const)), result)
        if (op, dtypes) == self.root:
            from .spelling import spelled

            simpler = spelled(self, op, args, result)
            if simpler is not None:
                return simpler
        return self.add(Node("op", op, dtypes, args), result)

    # ---- types

    def convert(self, x: Value, dtype: str) -> Value:
        """Return a number as C converts it to another type."""
        if x.dtype == dtype:
            return x
        if isinstance(x, Const):
            return folded("cast", (x,), dtype)
        if dtype == "bool":
            return self.truth(x)
        if x.dtype == "bool":
            return self.convert(self.view(x, "uint8"), dtype)
        a, b = DTYPES[x.dtype], DTYPES[dtype]
        if a.size == b.size and a.kind in "iu" and b.kind in "iu":
            return self.view(x, dtype)
        return self.op("cast", (x,), dtype)

    def truth(self, x: Value) -> Value:
        """Return whether a number is not zero."""
        if x.dtype == "bool":
            return x
        if isinstance(x, Ref) and x.dtype == "uint8":
            node = self.program.nodes[x.node]
            if node.kind == "view" and node.args[0].dtype == "bool":
                return node.args[0]
        return self.op("not_equal", (x, Const(0, x.dtype)), "bool")

    def promoted(self, x: Value) -> Value:
        """Return an integer below int, or a bool, as an int."""
        facts = DTYPES[x.dtype]
        return self.convert(x, "int32") if facts.kind in "biu" and facts.size < 4 else x

    def common(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Return operands in their common type: ISO C11, 6.3.1.8."""
        a, b = self.promoted(a), self.promoted(b)
        order = ("int32", "uint32", "int64", "uint64", "float32", "float64")
        dtype = max(a.dtype, b.dtype, key=order.index)
        return self.convert(a, dtype), self.convert(b, dtype)

    def coerced(self, x: Any_, kind: str) -> Any_:
        """Return a value as a type of C: structs are what they are."""
        if isinstance(x, dict) or kind not in DTYPE_OF:
            return x
        assert not isinstance(x, str)
        return self.convert(x, DTYPE_OF[kind])

    def select(self, mask: Value, x: Any_, y: Any_) -> Any_:
        """Return ``x`` where the mask is true, else ``y``."""
        if isinstance(mask, Const):
            return x if mask.value else y
        if x == y or isinstance(x, str):
            return x
        if isinstance(x, dict):
            assert isinstance(y, dict)
            return {name: self.select(mask, x[name], y[name]) for name in x if name in y}
        assert not isinstance(y, dict | str)
        if x.dtype != y.dtype:
            x, y = self.common(x, y)
        return self.op("where", (mask, x, y), x.dtype)

    # ---- functions and statements

    def call(self, function: Function, args: list[Any_]) -> Any_:
        """Return the result of a function for arguments."""
        names: dict[str, Any_] = {
            name: self.coerced(x, kind)
            for (kind, name), x in zip(function.parameters, args, strict=True)
        }
        result = self.run(list(function.body), names)
        if result is None:
            raise NotTranslated(f"{function.name} returns nothing")
        return self.coerced(result, function.result)

    def run(self, body: list[c_ast.Node], names: dict[str, Any_]) -> Any_ | None:
        """Run statements on variables; return what they return, ``None`` if they do not."""
        for i, statement in enumerate(body):
            if isinstance(statement, c_ast.Return):
                return self.value(statement.expr, names)
            if isinstance(statement, c_ast.If):
                rest = body[i + 1 :]
                if _returns(statement):
                    return self._either(statement, rest, names)
                self._choose(statement, names)
            elif isinstance(statement, c_ast.Compound):
                return self.run([*(statement.block_items or ()), *body[i + 1 :]], names)
            elif isinstance(statement, c_ast.While):
                self._loop(statement, names)
            else:
                self._simple(statement, names)
        return None

    def _either(
        self, statement: c_ast.If, rest: list[c_ast.Node], names: dict[str, Any_]
    ) -> Any_ | None:
        """A condition one side of which returns: each side goes on to the end by itself."""
        mask = self.condition(statement.cond, names)
        sides = {True: statement.iftrue, False: statement.iffalse}
        if isinstance(mask, Const):
            return self.run([*_block(sides[bool(mask.value)]), *rest], names)
        results = []
        for is_true, side in sides.items():
            with self.under(mask, is_true):
                results.append(self.run([*_block(side), *rest], dict(names)))
        yes, no = results
        if yes is None or no is None:
            raise NotTranslated("a function that does not always return")
        return self.select(mask, yes, no)

    def _choose(self, statement: c_ast.If, names: dict[str, Any_]) -> None:
        """A condition that sets variables."""
        mask = self.condition(statement.cond, names)
        yes, no = dict(names), dict(names)
        with self.under(mask, True):
            self.run(_block(statement.iftrue), yes)
        with self.under(mask, False):
            self.run(_block(statement.iffalse), no)
        for name in names:
            names[name] = self.select(mask, yes[name], no[name])

    def _simple(self, statement: c_ast.Node, names: dict[str, Any_]) -> None:
        if isinstance(statement, c_ast.Decl):
            kind = scalar_text.type_name(statement.type)
            if statement.init is not None:
                names[statement.name] = self.coerced(self.value(statement.init, names), kind)
            else:
                names[statement.name] = _unset(kind)
        elif isinstance(statement, c_ast.Assignment):
            self._assign(statement, names)
        elif isinstance(statement, c_ast.Cast):
            pass  # (void)x
        else:
            raise NotTranslated(type(statement).__name__)

    def _assign(self, statement: c_ast.Assignment, names: dict[str, Any_]) -> None:
        source = statement.rvalue
        if isinstance(source, c_ast.Assignment):  # a = b = c
            self._assign(source, names)
            source = source.lvalue
        new = self.value(source, names)
        if statement.op != "=":
            old = self.value(statement.lvalue, names)
            assert not isinstance(old, dict | str)
            assert not isinstance(new, dict | str)
            new = self.binary(statement.op[:-1], old, new)
        path: list[str] = []
        target = statement.lvalue
        while isinstance(target, c_ast.StructRef):
            path.insert(0, target.field.name)
            target = target.name
        names[target.name] = self._placed(names[target.name], path, new)

    def _placed(self, whole: Any_, path: list[str], new: Any_) -> Any_:
        """A value with a member of it replaced; the new one has the type of the old one."""
        if path:
            assert isinstance(whole, dict)
            return whole | {path[0]: self._placed(whole[path[0]], path[1:], new)}
        if isinstance(new, dict) or isinstance(whole, dict | str):
            return new
        assert not isinstance(new, str)
        return self.convert(new, whole.dtype)

    def _loop(self, statement: c_ast.While, names: dict[str, Any_]) -> None:
        """A loop over numbers: what it sets is its state, what else it reads comes along."""
        changed = set(_set_in(statement.stmt))
        held = _leaves(names | {_HERE: self._here()})
        state = [path for path in held if path[0] in changed]
        order = [*state, *(path for path in held if path[0] not in changed)]

        def inner() -> tuple[Translator, dict[str, Any_]]:
            other = Translator(self.root, self.calls)
            inside: dict[str, Any_] = {}
            for i, path in enumerate(order):
                inside = _with_leaf(inside, path, other.input(i, held[path].dtype))
            return other, inside

        body, inside = inner()
        body.run(_block(statement.stmt), inside)
        after = _leaves(inside)
        body.program.results = [after[path] for path in state]
        test, seen = inner()
        here, goes_on = seen[_HERE], test.condition(statement.cond, seen)
        test.program.results = [test.op("bitwise_and", (test.number_of(here), goes_on), "bool")]
        node = Node(
            "loop",
            args=tuple(held[path] for path in order),
            body=body.program.finish(),
            condition=test.program.finish(),
        )
        self.program.nodes.append(node)
        loop = Ref(len(self.program.nodes) - 1, "")
        for place, path in enumerate(state):
            node = Node("state", args=(loop,), place=place)
            names |= _with_leaf(names, path, self.add(node, held[path].dtype))

    def _here(self) -> Value:
        """Where the text at hand is reached."""
        reached: Value = Const(True, "bool")
        for mask in self._paths:
            reached = (
                mask
                if isinstance(reached, Const)
                else self.op("bitwise_and", (reached, mask), "bool")
            )
        return reached

    # ---- expressions

    def condition(self, node: c_ast.Node, names: dict[str, Any_]) -> Value:
        """Return an expression as a bool."""
        x = self.value(node, names)
        assert not isinstance(x, dict | str)
        return self.truth(x)

    def number(self, node: c_ast.Node, names: dict[str, Any_]) -> Value:
        """Return an expression that is no struct."""
        x = self.value(node, names)
        assert not isinstance(x, dict | str)
        return x

    def value(self, node: c_ast.Node, names: dict[str, Any_]) -> Any_:
        """Return the value of an expression."""
        found: Any_ = EXPRESSIONS[type(node)](self, node, names)
        return found

    def binary(self, sign: str, a: Value, b: Value) -> Value:
        """Return what an operator of C gives."""
        if sign in ("&&", "||"):
            a, b = self.truth(a), self.truth(b)
        if a.dtype == b.dtype == "bool" and sign in ("&", "|", "^", "&&", "||"):
            return self.op(_BINARY[sign], (a, b), "bool")
        if sign in ("<<", ">>"):
            a = self.promoted(a)
            b = self.convert(b, a.dtype)
        else:
            a, b = self.common(a, b)
        if sign == "/":
            return self._quotient(a, b)
        op = _BINARY[sign]
        return self.op(op, (a, b), "bool" if op in _COMPARED else a.dtype)

    def _quotient(self, a: Value, b: Value) -> Value:
        """A quotient; of integers it is cut off: ISO C11, 6.5.5."""
        if a.dtype in FLOATS:
            return self.op("divide", (a, b), a.dtype)
        if DTYPES[a.dtype].kind == "u":
            return self.op("floor_divide", (a, b), a.dtype)
        word = f"u{a.dtype}"
        zero = Const(0, a.dtype)
        below = [self.op("less", (x, zero), "bool") for x in (a, b)]
        sizes = [
            self.view(self.number_of(self.select(low, self.negative(x), x)), word)
            for low, x in zip(below, (a, b), strict=True)
        ]
        q = self.view(self.op("floor_divide", (sizes[0], sizes[1]), word), a.dtype)
        differ = self.op("bitwise_xor", (below[0], below[1]), "bool")
        return self.number_of(self.select(differ, self.negative(q), q))

    def number_of(self, x: Any_) -> Value:
        """Return a value that is known to be a number."""
        assert not isinstance(x, dict | str)
        return x

    def negative(self, x: Value) -> Value:
        """Return ``-x``, wrapped."""
        x = self.promoted(x)
        if DTYPES[x.dtype].kind == "u":
            return self.op("subtract", (Const(0, x.dtype), x), x.dtype)
        return self.op("negative", (x,), x.dtype)


def _block(node: c_ast.Node | None) -> list[c_ast.Node]:
    if node is None:
        return []
    return list(node.block_items or ()) if isinstance(node, c_ast.Compound) else [node]


def _returns(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.Return):
        return True
    return any(_returns(child) for _, child in node.children())


def _set_in(node: c_ast.Node) -> list[str]:
    """The variables that statements set."""
    found = []
    if isinstance(node, c_ast.Assignment):
        target = node.lvalue
        while isinstance(target, c_ast.StructRef):
            target = target.name
        found.append(str(target.name))
    for _, child in node.children():
        found += _set_in(child)
    return list(dict.fromkeys(found))


def _leaves(names: Mapping[str, Any_]) -> dict[tuple[str, ...], Value]:
    """The numbers in variables, by the names that lead to them."""
    found: dict[tuple[str, ...], Value] = {}
    for name, x in names.items():
        if isinstance(x, dict):
            found |= {(name, *path): leaf for path, leaf in _leaves(x).items()}
        elif not isinstance(x, str):
            found[name,] = x
    return found


def _with_leaf(names: dict[str, Any_], path: tuple[str, ...], leaf: Value) -> dict[str, Any_]:
    """Variables with one number in them replaced or added."""
    first, *rest = path
    if not rest:
        return names | {first: leaf}
    inside = names.get(first, {})
    assert isinstance(inside, dict)
    return names | {first: _with_leaf(inside, tuple(rest), leaf)}


def _unset(kind: str) -> Any_:
    """A variable without a value yet: zero, or a struct of zeros."""
    members = scalar_text.members_of(kind)
    if members is not None:
        return {name: _unset(part) for part, name in members}
    return Const(0, DTYPE_OF[kind])
