"""A program of ops: what an op is decomposed into, and how it runs on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from phalanx._warm import (
    Array,
    Device,
    DType,
    assign,
    compute,
    copy,
    dtype_from_name,
    fill,
    overlaps,
    reinterpret,
)

#: An overload of an op: its name, then the dtypes of its inputs and of its output.
Overload: TypeAlias = tuple[str, tuple[str, ...]]
Number: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True)
class Ref:
    """The value of a node, of a dtype."""

    node: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Const:
    """A number of a dtype."""

    value: Number
    dtype: str


Value: TypeAlias = Ref | Const


@dataclass(frozen=True, slots=True)
class Node:
    """One step.

    ``kind`` is ``input`` (part ``part`` of operand ``place``, as elements of ``dtypes[0]``),
    ``view`` (the same bytes as another dtype of the size), ``op``, ``table`` (the elements of
    ``numbers`` at an index), ``loop`` (the state behind ``body`` while ``condition`` holds), or
    ``state`` (one number of a loop's state).
    """

    kind: str
    op: str = ""
    dtypes: tuple[str, ...] = ()
    args: tuple[Value, ...] = ()
    place: int = 0
    part: int = 0
    numbers: tuple[int | float, ...] = ()
    body: Program | None = None
    condition: Program | None = None


@dataclass(slots=True)
class Program:
    """Nodes in an order in which each comes behind those that it takes, and the results.

    ``results`` are the parts of the output: one, or those of a complex number.
    """

    nodes: list[Node] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    last_uses: list[tuple[int, ...]] = field(default_factory=list)

    def overloads(self) -> set[Overload]:
        """Return the overloads that the program launches."""
        found: set[Overload] = set()
        for node in self.nodes:
            if node.kind == "op":
                found.add((node.op, node.dtypes))
            elif node.kind == "table":
                found |= {("gather", (node.dtypes[0], "int64", node.dtypes[0]))}
                found |= {("copy", ("int64", "int64"))}
            elif node.kind == "loop" and node.body and node.condition:
                found |= node.body.overloads() | node.condition.overloads()
                found |= {("any", ("bool", "bool"))}
                found |= {("where", ("bool", r.dtype, r.dtype, r.dtype)) for r in node.body.results}
        return found

    def finish(self) -> Program:
        """Drop what no result needs and note when a value is needed for the last time."""
        needed: set[int] = set()
        stack = [r.node for r in self.results if isinstance(r, Ref)]
        while stack:
            at = stack.pop()
            if at not in needed:
                needed.add(at)
                stack += [a.node for a in self.nodes[at].args if isinstance(a, Ref)]
        kept = sorted(needed)
        moved = {old: new for new, old in enumerate(kept)}

        def at_new(value: Value) -> Value:
            return Ref(moved[value.node], value.dtype) if isinstance(value, Ref) else value

        self.nodes = [
            replace(self.nodes[i], args=tuple(map(at_new, self.nodes[i].args))) for i in kept
        ]
        self.results = [at_new(r) for r in self.results]
        last = list(range(len(kept)))
        for i, node in enumerate(self.nodes):
            for a in node.args:
                if isinstance(a, Ref):
                    last[a.node] = i
        for r in self.results:
            if isinstance(r, Ref):
                last[r.node] = len(kept)
        self.last_uses = [()] * len(kept)
        ends: dict[int, list[int]] = {}
        for i, at in enumerate(last):
            ends.setdefault(at, []).append(i)
        self.last_uses = [tuple(ends.get(i, ())) for i in range(len(kept))]
        return self

    def run(
        self,
        inputs: Sequence[Array | Number],
        device: Device,
        out: Array | None = None,
    ) -> list[Array | Number]:
        """Run on operands; the last op writes into ``out`` if it gives the only result.

        Enqueues on the current stream and returns; a loop waits for the device.
        """
        values: list[Any] = [0] * len(self.nodes)
        direct = self._direct(out)
        for i, node in enumerate(self.nodes):
            args = [values[a.node] if isinstance(a, Ref) else a.value for a in node.args]
            if node.kind == "op":
                dtypes = tuple(map(dtype_from_name, node.dtypes))
                target = out if i == direct else None
                values[i] = compute(node.op, tuple(args), dtypes, device, target)
            else:
                values[i] = _OTHERS[node.kind](node, args, inputs, device)
            for dead in self.last_uses[i]:
                values[dead] = 0
        return [values[r.node] if isinstance(r, Ref) else r.value for r in self.results]

    def _direct(self, out: Array | None) -> int:
        """The node that may write the result where it belongs; -1 for none."""
        if out is None or len(self.results) != 1 or not isinstance(self.results[0], Ref):
            return -1
        last = self.results[0].node
        node = self.nodes[last]
        return last if node.kind == "op" and node.dtypes[-1] == str(out.dtype) else -1


def part_of(x: Array, dtype: DType, part: int = 0) -> Array:
    """Return a part of a number, or all of it as another dtype of the size, as a view."""
    if x.dtype is dtype:
        return x
    times = x.dtype.itemsize // dtype.itemsize
    strides = tuple(s * times for s in x.strides)
    view: Array = reinterpret(x, dtype, x.shape, strides, part * dtype.itemsize)
    return view


def _input(
    node: Node, args: list[Array | Number], inputs: Sequence[Array | Number], device: Device
) -> Array | Number:
    x = inputs[node.place]
    if not isinstance(x, Array):
        return x
    return part_of(x, dtype_from_name(node.dtypes[0]), node.part)


def _view(
    node: Node, args: list[Array | Number], inputs: Sequence[Array | Number], device: Device
) -> Array | Number:
    (x,) = args
    if isinstance(x, Array):
        return part_of(x, dtype_from_name(node.dtypes[0]))
    from .constants import folded

    return folded("view", (Const(x, node.args[0].dtype),), node.dtypes[0]).value


def _table(
    node: Node, args: list[Array | Number], inputs: Sequence[Array | Number], device: Device
) -> Array | Number:
    from .tables import looked_up

    (index,) = args
    assert isinstance(index, Array)
    return looked_up(node.numbers, dtype_from_name(node.dtypes[0]), index)


def _loop(
    node: Node, args: list[Array | Number], inputs: Sequence[Array | Number], device: Device
) -> list[Array | Number]:
    from phalanx.namespace import reductions

    assert node.body is not None
    assert node.condition is not None
    state, rest = list(args[: len(node.body.results)]), list(args[len(node.body.results) :])
    while True:
        (goes_on,) = node.condition.run((*state, *rest), device)
        if not (bool(reductions.any(goes_on)) if isinstance(goes_on, Array) else goes_on):
            return state
        after = node.body.run((*state, *rest), device)
        for k, (new, old) in enumerate(zip(after, state, strict=True)):
            dtype = dtype_from_name(node.body.results[k].dtype)
            dtypes = (dtype_from_name("bool"), dtype, dtype, dtype)
            if isinstance(goes_on, Array):
                state[k] = compute("where", (goes_on, new, old), dtypes, device)
            else:
                state[k] = new


def _state(
    node: Node, args: list[list[Array | Number]], inputs: Sequence[Array | Number], device: Device
) -> Array | Number:
    (values,) = args
    return values[node.place]


_OTHERS: dict[str, Callable[..., Array | Number | list[Array | Number]]] = {
    "input": _input,
    "view": _view,
    "table": _table,
    "loop": _loop,
    "state": _state,
}


def write(results: Sequence[Array | Number], out: Array) -> None:
    """Write the parts of a result into an output that may lie over the operands."""
    if len(results) == 1:
        places = [out]
    else:
        part = dtype_from_name("float32" if str(out.dtype) == "complex64" else "float64")
        places = [part_of(out, part, i) for i in range(len(results))]
    held = [
        copy(x) if i and isinstance(x, Array) and overlaps(x, out) else x
        for i, x in enumerate(results)
    ]
    for place, result in zip(places, held, strict=True):
        if not isinstance(result, Array):
            fill(place, result)
        elif result is not place:
            assign(place, result)
