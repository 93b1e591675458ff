"""Sorts as a network of comparisons: Batcher, "Sorting networks and their applications", 1968.

Numbers become unsigned keys in the same order. What is compared with what depends on the length
alone, so each step is a few ops on views of all elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, dtype_from_name
from phalanx.driver import Operand
from phalanx.optable import DTYPES

from .program import Overload, part_of
from .steps import (
    INT64,
    apply,
    cast,
    casts,
    full,
    needs,
    new,
    overload,
    places,
    run_of,
    tail,
)
from .table import Decomposition


def key_dtype(dtype: str) -> str:
    """Return the dtype of the keys of a dtype."""
    return "uint64" if DTYPES[dtype].size == 8 else "uint32"


def _number_dtype(dtype: str) -> str:
    """The dtype whose bits make the key."""
    width = key_dtype(dtype).removeprefix("uint")
    kind = {"f": "float", "i": "int"}.get(DTYPES[dtype].kind, "uint")
    return f"{kind}{width}"


def keys_of(x: Array, *, one_zero: bool, descending: bool = False) -> Array:
    """Return keys in the order of numbers, NaN being the largest; -0 before +0, or both as one."""
    dtype = x.dtype.name
    word, number = key_dtype(dtype), _number_dtype(dtype)
    bits = 8 * DTYPES[word].size
    ones, sign = (1 << bits) - 1, 1 << (bits - 1)
    x = cast(cast(x, "uint8") if dtype == "bool" else x, number)
    keys = part_of(x, dtype_from_name(word))
    if number[0] == "f":
        if one_zero:
            keys = apply("where", apply("equal", x, 0.0), 0, keys)
        below = apply("not_equal", apply("bitwise_right_shift", keys, bits - 1), 0)
        flips = apply("where", below, full((), ones, word, x), full((), sign, word, x))
        keys = apply("bitwise_xor", keys, flips)
        keys = apply("where", apply("not_equal", x, x), ones, keys)
    elif number[0] == "i":
        keys = apply("bitwise_xor", keys, sign)
    return apply("bitwise_xor", keys, ones) if descending else keys


def key_steps(dtype: str) -> set[Overload]:
    """Return the overloads that make keys."""
    word, number = key_dtype(dtype), _number_dtype(dtype)
    steps = casts(("uint8" if dtype == "bool" else dtype, number)) | overload("bitwise_xor", word)
    steps |= casts(("bool", "uint8")) if dtype == "bool" else set()
    if number[0] == "f":
        steps |= overload("equal", number) | overload("not_equal", number, word)
        steps |= overload("where", word) | overload("bitwise_right_shift", word)
    return steps


def _number_of(keys: Array, dtype: str, out: Array, *, descending: bool) -> None:
    """Write the numbers of keys that were made with two zeros."""
    word, number = key_dtype(dtype), _number_dtype(dtype)
    bits = 8 * DTYPES[word].size
    ones, sign = (1 << bits) - 1, 1 << (bits - 1)
    if descending:
        keys = apply("bitwise_xor", keys, ones)
    if number[0] == "f":
        above = apply("not_equal", apply("bitwise_right_shift", keys, bits - 1), 0)
        flips = apply("where", above, full((), sign, word, out), full((), ones, word, out))
        keys = apply("bitwise_xor", keys, flips)
    elif number[0] == "i":
        keys = apply("bitwise_xor", keys, sign)
    cast(part_of(keys, dtype_from_name(number)), dtype, out=out)


def _padded(x: Array, size: int, value: int) -> Array:
    """The last axis made longer by a number."""
    n = x.shape[-1]
    held = new((*x.shape[:-1], size), x.dtype.name, x)
    apply("copy", x, out=run_of(held, 0, n))
    if size > n:
        apply("copy", full((), value, x.dtype.name, x), out=run_of(held, n, size))
    return held


def _network(rows: list[Array], size: int) -> list[Array]:
    """Sort keys, and what goes along with them, along the last axis of a power of two.

    Equal keys are told apart by the second of the rows, if there is one.
    """
    half = 1
    while half < size:
        rows = _exchanged(rows, size // (2 * half), half, 2 * half - 1, -1)
        far = half // 2
        while far:
            rows = _exchanged(rows, size // (2 * far), far, far, 1)
            far //= 2
        half *= 2
    return rows


def _exchanged(rows: list[Array], blocks: int, width: int, first: int, step: int) -> list[Array]:
    """Put the smaller of each pair first: element i of a block and ``first + step * i``."""

    def low(x: Array) -> Array:
        return tail(x, (blocks, width), (2 * width, 1))

    def high(x: Array) -> Array:
        return tail(x, (blocks, width), (2 * width, step), first)

    pairs = [(low(x), high(x)) for x in rows]
    swap = apply("less", pairs[0][1], pairs[0][0])
    if len(rows) > 1:
        equal = apply("equal", pairs[0][1], pairs[0][0])
        later = apply("less", pairs[1][1], pairs[1][0])
        swap = apply("bitwise_or", swap, apply("bitwise_and", equal, later))
    after = []
    for x, (a, b) in zip(rows, pairs, strict=True):
        made = new(x.shape, x.dtype.name, x)
        apply("where", swap, b, a, out=low(made))
        apply("where", swap, a, b, out=high(made))
        after.append(made)
    return after


def sorting(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """``sort`` of keys, ``argsort`` of keys with their places."""
    dtype = dtypes[0]
    word = key_dtype(dtype)
    ones = (1 << 8 * DTYPES[word].size) - 1
    packs = op == "argsort" and word == "uint32"  # key and place in one number
    held = "uint64" if packs else word

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        assert isinstance(x, Array)
        if not out.size:
            return
        n = x.shape[-1]
        size = 1 << (n - 1).bit_length()
        keys = keys_of(x, one_zero=op == "argsort", descending=bool(params[0]))
        if op == "sort":
            (keys,) = _network([_padded(keys, size, ones)], size)
            _number_of(run_of(keys, 0, n), dtype, out, descending=bool(params[0]))
            return
        order = part_of(places(size, x), dtype_from_name("uint64"))
        if packs:
            keys = apply("bitwise_left_shift", cast(keys, "uint64"), 32)
            keys = apply("bitwise_or", keys, run_of(order, 0, n))
            (order,) = _network([_padded(keys, size, (1 << 64) - 1)], size)
            order = apply("bitwise_and", order, (1 << 32) - 1)
        else:
            every = new((*x.shape[:-1], size), "uint64", x)
            apply("copy", order, out=every)
            _, order = _network([_padded(keys, size, ones), every], size)
        apply("copy", run_of(part_of(order, dtype_from_name(INT64)), 0, n), out=out)

    steps = key_steps(dtype) | casts((held, held), (INT64, INT64))
    steps |= overload("less", held) | overload("where", held, word)
    if op == "sort":
        steps |= casts((_number_dtype(dtype), dtype)) | overload("not_equal", word)
        steps |= overload("bitwise_right_shift", word)
    else:
        steps |= overload("arange", INT64) | casts(("uint64", "uint64"))
    if packs:
        steps |= casts((word, "uint64")) | overload("bitwise_left_shift", "uint64")
        steps |= overload("bitwise_or", "uint64") | overload("bitwise_and", "uint64")
    elif op == "argsort":
        steps |= overload("equal", word) | overload("bitwise_or", "bool")
        steps |= overload("bitwise_and", "bool") | overload("less", "uint64")
        steps |= overload("where", "uint64")
    return Decomposition(needs(steps), run)
