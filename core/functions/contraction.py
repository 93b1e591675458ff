"""Sums of products by the names of axes: einsum."""

from __future__ import annotations

import builtins
import math
import string
from collections.abc import Sequence
from typing import Any, NamedTuple

from phalanx._warm import Array, cast, view
from phalanx.arrays.checks import need_array, need_int, need_one_device
from phalanx.arrays.data_types import as_dtype, astype, int64, result_type
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.elementwise import multiply
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import permute_dims, reshape
from phalanx.namespace.reductions import sum

from .contraction_path import Plan, plan_of

_LETTERS = set(string.ascii_letters)


class _Term(NamedTuple):
    """An operand and the names of its axes."""

    array: Array
    names: str


def einsum(*operands: Any, optimize: Any = False, dtype: Any = None) -> Array:
    """Return sums of products of arrays, told by names of their axes.

    ``einsum("ij,jk->ik", a, b)`` is a matrix product. Axes of one name run together, those that are
    not named behind the arrow are summed over; without an arrow the result has the names that
    occur once, in their order. A name twice in one operand takes a diagonal; ``...`` stands for
    axes that broadcast. ``einsum(a, [0, 1], b, [1, 2], [0, 2])`` tells the names by numbers.

    Two operands are contracted at a time: sums over axes that only one of them has first, then a
    matrix product over those that both have, in the order of ``matmul``. The pairs are chosen by
    the shapes, so the bits are the same on every device.

    Args:
        operands: the names, then the arrays; or each array followed by the numbers of its axes,
            and those of the result at the end.
        optimize: ``False`` contracts from the left; ``True`` or ``"greedy"`` the pair first that
            makes the least (and ``"optimal"`` the cheapest order, for up to eight operands); or a
            path as NumPy's ``einsum_path`` gives it.
        dtype: of the computation and the result; without it the operands' common one.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: no arrays, names that are no text, or operands that do not go into ``dtype``.
        ValueError: names and shapes that do not fit; the message says which.

    Examples:
        >>> a, b = px.asarray([[1, 2], [3, 4]]), px.asarray([10, 100])
        >>> print(px.einsum("ij,j->i", a, b), px.einsum("ii", a))
        [210 430] 5
    """
    names, arrays = _parsed(operands)
    inputs, output = _expanded(names, arrays)
    need_one_device("einsum", *arrays)
    kind = as_dtype(dtype) or result_type(*arrays)
    logical = kind is bool_
    terms = [
        _single(_Term(_converted(a, int64 if logical else kind), n))
        for a, n in zip(arrays, inputs, strict=True)
    ]
    sizes = _sizes(terms)
    missing = [n for n in output if n not in sizes]
    if missing:
        raise ValueError(
            f"einsum: the result has {missing[0]!r}, which no operand has, in {names!r}"
        )
    plan = plan_of([t.names for t in terms], output, sizes, optimize)
    result = _contracted(terms, output, sizes, plan)
    return cast(result, bool_) if logical else result


def _converted(a: Array, kind: Any) -> Array:
    return astype(a, kind, copy=False)


def _parsed(operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    """The names as a text, and the arrays."""
    if not operands:
        raise ValueError('einsum takes names and arrays, such as einsum("ij,jk->ik", a, b)')
    if isinstance(operands[0], str):
        names, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        names, arrays = _from_numbers(operands)
    for a in arrays:
        need_array(a, "einsum")
    odd = set(names) - _LETTERS - set(".,->")
    if odd:
        raise ValueError(f"einsum: names of axes are letters, got {min(odd)!r} in {names!r}")
    if (
        names.count("->") > 1
        or names.replace("->", "").count("-")
        or ">" in names.replace("->", "")
    ):
        raise ValueError(f'einsum: names are "inputs" or "inputs->output", got {names!r}')
    if not arrays:
        raise ValueError(f"einsum: no arrays for {names!r}")
    return names, arrays


def _from_numbers(operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    """Arrays and the numbers of their axes in turn."""
    items = list(operands)
    arrays, terms = items[0 : len(items) // 2 * 2 : 2], items[1::2]
    texts = [_letters(t) for t in terms]
    names = ",".join(texts)
    if len(items) % 2:
        names += "->" + _letters(items[-1])
    return names, arrays


def _letters(numbers: Any) -> str:
    if isinstance(numbers, str | Array) or not isinstance(numbers, Sequence):
        raise TypeError(
            "einsum takes a text and arrays, or each array followed by a list of the numbers of "
            f"its axes, got {type(numbers).__name__}"
        )
    text = ""
    for n in numbers:
        if n is Ellipsis:
            text += "..."
            continue
        number = need_int(n, "einsum: the number of an axis")
        if not 0 <= number < len(string.ascii_letters):
            raise ValueError(
                f"einsum: numbers of axes are from 0 to {len(string.ascii_letters) - 1}, got {n}"
            )
        text += string.ascii_letters[number]
    return text


def _expanded(names: str, arrays: list[Array]) -> tuple[list[str], str]:
    """The names of each operand and of the result, with ``...`` written out as unused ones."""
    left, arrow, output = names.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {names!r} is for {len(terms)} operands, got {len(arrays)}")
    unused = [n for n in string.ascii_letters if n not in names]
    unused += [chr(i) for i in range(192, 448)]
    inputs, longest = [], 0
    for term, a in zip(terms, arrays, strict=True):
        letters = term.replace("...", "", 1)
        if "." in letters:
            raise ValueError(f"einsum: {term!r} has more than one ..., or parts of it")
        more = a.ndim - len(letters)
        if more < 0 or (more and "..." not in term):
            raise ValueError(
                f"einsum: {term!r} names {len(letters)} axes, the operand has shape {a.shape}"
            )
        longest = max(longest, more if "..." in term else 0)
        inputs.append((term, more))
    rest = "".join(unused[:longest])
    written = [t.replace("...", rest[longest - more :] if more else "") for t, more in inputs]
    if not arrow:
        whole = "".join(t.replace("...", "") for t in terms)
        output = rest + "".join(n for n in sorted(set(whole)) if whole.count(n) == 1)
        return written, output
    letters = output.replace("...", "", 1)
    if "." in letters or "," in letters:
        raise ValueError(f"einsum: the result is one term, got {output!r}")
    repeated = [n for n in letters if letters.count(n) > 1]
    if repeated:
        raise ValueError(f"einsum: the result names {repeated[0]!r} twice in {names!r}")
    if rest and "..." not in output:
        raise ValueError(f"einsum: {names!r} has ... in an operand, and not in the result")
    return written, output.replace("...", rest)


def _sizes(terms: list[_Term]) -> dict[str, int]:
    """The extent of each name; 1 broadcasts."""
    sizes: dict[str, int] = {}
    for array, names in terms:
        for name, extent in zip(names, array.shape, strict=True):
            have = sizes.setdefault(name, extent)
            if have == 1:
                sizes[name] = extent
            elif extent not in (1, have):
                raise ValueError(
                    f"einsum: the axes of name {name!r} have the extents {have} and {extent}"
                )
    return sizes


def _single(term: _Term) -> _Term:
    """An operand in which no name stands twice: diagonals are views."""
    array, names = term
    kept = "".join(dict.fromkeys(names))
    if len(kept) == len(names):
        return term
    shape, strides = [], []
    for name in kept:
        places = [i for i, n in enumerate(names) if n == name]
        extents = {array.shape[i] for i in places if array.shape[i] != 1}
        if len(extents) > 1:
            a, b = sorted(extents)
            raise ValueError(f"einsum: {name!r} twice takes a diagonal of extents {a} and {b}")
        shape.append(extents.pop() if extents else 1)
        strides.append(builtins.sum(array.strides[i] for i in places if array.shape[i] != 1))
    return _Term(view(array, tuple(shape), tuple(strides)), kept)


def _contracted(terms: list[_Term], output: str, sizes: dict[str, int], plan: Plan) -> Array:
    """Pair by pair, then the order of the result."""
    left = list(terms)
    for places in plan:
        chosen = [left[i] for i in places]
        left = [t for i, t in enumerate(left) if i not in places]
        needed = set(output).union(*(t.names for t in left))
        made = chosen[0]
        for other in chosen[1:]:
            made = _pair(made, other, needed)
        left.append(made)
    return _arranged(_summed(left[0], set(output)), output, sizes)


def _summed(term: _Term, needed: set[str]) -> _Term:
    """Without the axes that nobody needs."""
    gone = tuple(i for i, n in enumerate(term.names) if n not in needed)
    if not gone:
        return term
    kept = "".join(n for n in term.names if n in needed)
    return _Term(sum(term.array, axis=gone, dtype=term.array.dtype), kept)


def _arranged(term: _Term, output: str, sizes: dict[str, int]) -> Array:
    order = tuple(term.names.index(n) for n in output)
    array = term.array if order == tuple(range(len(order))) else permute_dims(term.array, order)
    shape = tuple(sizes[n] for n in output)
    if array.shape == shape:
        return array
    from phalanx.namespace.manipulation import broadcast_to

    return broadcast_to(array, shape)


def _pair(a: _Term, b: _Term, needed: set[str]) -> _Term:
    """Two operands: a product of matrices over the names that both have and nobody else needs."""
    a = _summed(a, needed | set(b.names))
    b = _summed(b, needed | set(a.names))
    a, b = _without_ones(a, b), _without_ones(b, a)
    both = [n for n in a.names if n in b.names]
    batch = [n for n in both if n in needed]
    inner = [n for n in both if n not in needed]
    rows = [n for n in a.names if n not in both]
    columns = [n for n in b.names if n not in both]
    names = "".join((*batch, *rows, *columns))
    if not inner:
        return _Term(_outer(a, b, batch, rows, columns), names)
    extents = {n: e for t in (a, b) for n, e in zip(t.names, t.array.shape, strict=True)}

    def count(group: list[str]) -> int:
        return math.prod(extents[n] for n in group)

    lead = tuple(extents[n] for n in batch)
    left = reshape(_ordered(a, [*batch, *rows, *inner]), (*lead, count(rows), count(inner)))
    right = reshape(_ordered(b, [*batch, *inner, *columns]), (*lead, count(inner), count(columns)))
    return _Term(reshape(matmul(left, right), tuple(extents[n] for n in names)), names)


def _without_ones(a: _Term, b: _Term) -> _Term:
    """Without axes of extent 1 that the other operand has longer: they broadcast."""
    other = dict(zip(b.names, b.array.shape, strict=True))
    kept = [i for i, n in enumerate(a.names) if a.array.shape[i] != 1 or other.get(n, 1) == 1]
    if len(kept) == len(a.names):
        return a
    shape, strides = (tuple(v[i] for i in kept) for v in (a.array.shape, a.array.strides))
    return _Term(view(a.array, shape, strides), "".join(a.names[i] for i in kept))


def _ordered(term: _Term, names: list[str]) -> Array:
    order = tuple(term.names.index(n) for n in names)
    return permute_dims(term.array, order)


def _outer(a: _Term, b: _Term, batch: list[str], rows: list[str], columns: list[str]) -> Array:
    """The product of what is not summed."""
    left, right = _ordered(a, [*batch, *rows]), _ordered(b, [*batch, *columns])
    wide = (*left.shape, *(1,) * len(columns))
    narrow = (*right.shape[: len(batch)], *(1,) * len(rows), *right.shape[len(batch) :])
    return multiply(reshape(left, wide), reshape(right, narrow))
