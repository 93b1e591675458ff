"""Sums of products by the names of axes: einsum."""

from __future__ import annotations

import builtins
import math
from functools import lru_cache
from typing import Any, NamedTuple

from phalanx._warm import Array, cast, product_seen_as, seen_as, view
from phalanx.arrays.checks import need_one_device
from phalanx.arrays.data_types import as_dtype, astype, int64, result_type
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.elementwise import multiply
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_to, permute_dims, reshape
from phalanx.namespace.reductions import sum

from .contraction_names import Told, parsed, read, without_repeats
from .contraction_path import Plan, plan_of


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
    if dtype is None and type(optimize) is bool and type(operands[0] if operands else 0) is str:
        plain = _plain(*operands)
        if plain is not None:
            return plain
    names, arrays = parsed(operands)
    need_one_device("einsum", *arrays)
    kind = as_dtype(dtype) or result_type(*arrays)
    logical = kind is bool_
    shapes = tuple([a.shape for a in arrays])
    if isinstance(optimize, bool) and not logical and len(arrays) == 2:
        product = _alone(names, shapes)
        if product is not None:
            a, b = (astype(x, kind, copy=False) for x in arrays)
            return _multiplied(a, b, product)
    told = read(names, shapes)
    plan = plan_of(told.kept, told.output, told.sizes, optimize)
    wide = int64 if logical else kind
    terms = [
        _single(astype(a, wide, copy=False), n) for a, n in zip(arrays, told.inputs, strict=True)
    ]
    result = _contracted(terms, told, plan)
    return cast(result, bool_) if logical else result


def _plain(names: str, *arrays: Any) -> Array | None:
    """What one array gives, or two of one dtype that are a product; None for all else."""
    first = arrays[0] if arrays else None
    if type(first) is not Array or first.dtype is bool_:
        return None
    if len(arrays) == 1:
        told = read(names.replace(" ", ""), (first.shape,))
        return _arranged(_single(first, told.inputs[0]), told.output, told.sizes)
    second = arrays[1]
    if len(arrays) > 2 or type(second) is not Array or second.dtype is not first.dtype:
        return None
    if second.device is not first.device:
        return None
    product = _alone(names, (first.shape, second.shape))
    return None if product is None else _multiplied(first, second, product)


def _single(array: Array, names: str) -> _Term:
    """An operand in which no name stands twice: diagonals are views."""
    if len(set(names)) == len(names):
        return _Term(array, names)
    kept = "".join(dict.fromkeys(names))
    strides = []
    for name in kept:
        places = [i for i, n in enumerate(names) if n == name and array.shape[i] != 1]
        strides.append(builtins.sum(array.strides[i] for i in places))
    return _Term(view(array, without_repeats(array.shape, names), tuple(strides)), kept)


def _contracted(terms: list[_Term], told: Told, plan: Plan) -> Array:
    """Pair by pair, then the order of the result."""
    left = list(terms)
    for places in plan:
        chosen = [left[i] for i in places]
        left = [t for i, t in enumerate(left) if i not in places]
        needed = frozenset(told.output).union(*(t.names for t in left))
        made = chosen[0]
        for other in chosen[1:]:
            made = _pair(made, other, needed)
        left.append(made)
    return _arranged(left[0], told.output, told.sizes)


def _arranged(term: _Term, output: str, sizes: dict[str, int]) -> Array:
    """What is left, without the axes that the result has not, and in its order."""
    array, names = term
    if names != output:
        gone, order = _order_of(names, output)
        if gone:
            array = sum(array, axis=gone, dtype=array.dtype)
        array = permute_dims(array, order)
    shape = tuple([sizes[n] for n in output])
    return array if array.shape == shape else broadcast_to(array, shape)


@lru_cache(maxsize=256)
def _order_of(names: str, output: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that a result has not, and the order of the others in it."""
    left = [n for n in names if n in output]
    gone = tuple([i for i, n in enumerate(names) if n not in output])
    return gone, tuple([left.index(n) for n in output])


class _Side(NamedTuple):
    """How an operand becomes a factor: axes summed over, those kept then, their order, a shape.

    ``axes`` is all of it where a view is enough: an axis of the operand for each of the factor, or
    -1.
    """

    gone: tuple[int, ...]
    kept: tuple[int, ...] | None
    order: tuple[int, ...] | None
    shape: tuple[int, ...]
    axes: tuple[int, ...] | None


class _Product(NamedTuple):
    """Two factors, whether they are matrices, and names and shape of what is made of them.

    ``axes`` are those of the product of matrices that a view of the shape has, if a view is enough.
    """

    left: _Side
    right: _Side
    matrices: bool
    names: str
    shape: tuple[int, ...]
    axes: tuple[int, ...] | None


def _pair(a: _Term, b: _Term, needed: frozenset[str]) -> _Term:
    """Two operands: a product of matrices over the names that both have and nobody else needs."""
    product = _product_of(a.names, a.array.shape, b.names, b.array.shape, needed)
    return _Term(_multiplied(a.array, b.array, product), product.names)


def _multiplied(a: Array, b: Array, product: _Product) -> Array:
    rows, columns = product.left.axes, product.right.axes
    if product.matrices and rows is not None and columns is not None and product.axes is not None:
        seen: Array | None = product_seen_as(a, rows, b, columns, product.axes)
        if seen is not None:
            return seen
    left, right = _factor(a, product.left), _factor(b, product.right)
    made = matmul(left, right) if product.matrices else multiply(left, right)
    if product.axes is not None:
        return seen_as(made, product.shape, product.axes)
    return made if made.shape == product.shape else reshape(made, product.shape)


def _factor(array: Array, side: _Side) -> Array:
    if side.axes is not None:
        return seen_as(array, side.shape, side.axes)
    if side.gone:
        array = sum(array, axis=side.gone, dtype=array.dtype)
    if side.kept is not None:
        shape, strides = (tuple([v[i] for i in side.kept]) for v in (array.shape, array.strides))
        array = view(array, shape, strides)
    if side.order is not None:
        array = permute_dims(array, side.order)
    return array if array.shape == side.shape else reshape(array, side.shape)


@lru_cache(maxsize=256)
def _alone(names: str, shapes: tuple[tuple[int, ...], ...]) -> _Product | None:
    """The product that two operands are, with the result's order; None if there is more to do."""
    told = read(names.replace(" ", ""), shapes)
    a, b = told.inputs
    if told.kept != told.inputs:
        return None
    product = _product_of(a, shapes[0], b, shapes[1], frozenset(told.output))
    shape = tuple([told.sizes[n] for n in told.output])
    if product.axes is None or sorted(product.names) != sorted(told.output):
        return None
    order = [product.names.index(n) for n in told.output]
    if tuple([product.shape[i] for i in order]) != shape:
        return None
    return product._replace(shape=shape, axes=tuple([product.axes[i] for i in order]))


@lru_cache(maxsize=256)
def _product_of(
    a: str, a_shape: tuple[int, ...], b: str, b_shape: tuple[int, ...], needed: frozenset[str]
) -> _Product:
    left = {n: e for n, e in zip(a, a_shape, strict=True) if n in needed or n in b}
    right = {n: e for n, e in zip(b, b_shape, strict=True) if n in needed or n in a}
    rows, columns = _without_ones(left, right), _without_ones(right, left)
    both = [n for n in rows if n in columns]
    batch, inner = [n for n in both if n in needed], [n for n in both if n not in needed]
    own = [n for n in rows if n not in both], [n for n in columns if n not in both]
    extents = {**columns, **rows}

    def shape_of(names: list[str]) -> tuple[int, ...]:
        return tuple(extents[n] for n in names)

    lead, ones = shape_of(batch), [(1,) * len(names) for names in own]
    plain = max(len(inner), *map(len, own)) < 2
    targets: tuple[list[str | None], ...]
    if inner:
        count, m, n = (math.prod(shape_of(names)) for names in (inner, *own))
        shapes = (*lead, m, count), (*lead, count, n)
        orders = [*batch, *own[0], *inner], [*batch, *inner, *own[1]]
        targets = [*batch, *_or_new(own[0]), *inner], [*batch, *inner, *_or_new(own[1])]
    else:  # nothing is summed
        shapes = (*lead, *shape_of(own[0]), *ones[1]), (*lead, *ones[0], *shape_of(own[1]))
        orders = [*batch, *own[0]], [*batch, *own[1]]
        new: list[list[str | None]] = [[None] * len(names) for names in own]
        targets = [*batch, *own[0], *new[1]], [*batch, *new[0], *own[1]]
    names = [*batch, *own[0], *own[1]]
    return _Product(
        _side(a, left, rows, orders[0], shapes[0], targets[0] if plain or not inner else None),
        _side(b, right, columns, orders[1], shapes[1], targets[1] if plain or not inner else None),
        bool(inner),
        "".join(names),
        shape_of(names),
        _axes_of(len(batch), *map(len, own), is_matrix=bool(inner)) if plain or not inner else None,
    )


def _or_new(names: list[str]) -> list[str | None]:
    """The names of a matrix's rows or columns, or one that is no name for an axis of extent 1."""
    return [*names] if names else [None]


def _axes_of(batch: int, rows: int, columns: int, *, is_matrix: bool) -> tuple[int, ...]:
    """The axes of a product that its result has: one of a row or a column that is none goes."""
    if not is_matrix:
        return tuple(range(batch + rows + columns))
    return (*range(batch), *[batch] * rows, *[batch + 1] * columns)


def _without_ones(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    """Without axes of extent 1 that the other operand has longer: they broadcast."""
    return {n: e for n, e in a.items() if e != 1 or b.get(n, 1) == 1}


def _side(
    names: str,
    needed: dict[str, int],
    kept: dict[str, int],
    order: list[str],
    shape: tuple[int, ...],
    targets: list[str | None] | None,
) -> _Side:
    places = list(kept)
    gone = tuple(i for i, n in enumerate(names) if n not in needed)
    axes = None
    if targets is not None and not gone:
        axes = tuple([-1 if n is None else names.index(n) for n in targets])
    return _Side(
        gone,
        tuple(i for i, n in enumerate(needed) if n in kept) if len(kept) < len(needed) else None,
        tuple(places.index(n) for n in order) if order != places else None,
        shape,
        axes,
    )
