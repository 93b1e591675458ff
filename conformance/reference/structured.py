"""What every structured op means, written apart from the op table and its kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from phalanx.optable.random import TRIED
from phalanx.optable.structured import NO_PLACE

from . import factors, fourier, order, random_numbers, random_tries, rows, sums
from .formats import FORMATS, PARTS
from .near import Expectation, Only, one_after_another
from .values import HostArray

Args = tuple[HostArray, ...]
Params = tuple[int, ...]
#: Numbers that are found together, as so many are kept in the host's caches: a multiple of those of
#: a block of random words.
_AT_ONCE = 1 << 15
_Reference = Callable[[Args, str, Params], Expectation]


def _is_rounded(x: HostArray) -> bool:
    return x.dtype.name in FORMATS or x.dtype.name in PARTS


def _sum(args: Args, to: str, _: Params) -> Expectation:
    if _is_rounded(args[0]):
        return sums.sums(args[0], mean=False)
    return Only(order.wrapped(np.asarray(order.modular(args[0]).sum(axis=-1)), to))


def _prod(args: Args, to: str, _: Params) -> Expectation:
    if _is_rounded(args[0]):
        return sums.products(args[0])
    return Only(order.wrapped(np.asarray(order.modular(args[0]).prod(axis=-1)), to))


def _count(args: Args, _to: str, _: Params) -> Expectation:
    return Only(np.asarray(order.counting(args[0]).sum(axis=-1, dtype=np.int64)))


def _cumulative_sum(args: Args, to: str, _: Params) -> Expectation:
    if _is_rounded(args[0]):
        return sums.running_sums(args[0])
    return Only(order.wrapped(np.cumsum(order.modular(args[0]), axis=-1), to))


def _cumulative_prod(args: Args, to: str, _: Params) -> Expectation:
    if _is_rounded(args[0]):
        return sums.running_products(args[0])
    return Only(order.wrapped(np.cumprod(order.modular(args[0]), axis=-1), to))


def _compress(args: Args, _to: str, _: Params) -> Expectation:
    return Only(args[0][np.flatnonzero(args[1])])


def _wrap_index(args: Args, _to: str, params: Params) -> Expectation:
    extent, stride = params
    indices = args[0].ravel().tolist()
    if all(-extent <= i < extent for i in indices):
        offsets = [i % extent * stride for i in indices]
    else:
        offsets = [NO_PLACE] * len(indices)
    return Only(np.array(offsets, np.int64).reshape(args[0].shape))


def _arange(args: Args, to: str, params: Params) -> Expectation:
    start, step = args
    (count,) = params
    if _is_rounded(start):
        return one_after_another([sums.steps(start, step, some) for some in _parts(count)])
    bits = (1 << 64) - 1
    first, width = int(start), int(step)
    return Only(order.wrapped(np.array([first + i * width & bits for i in range(count)], "u8"), to))


def _segment_sum(args: Args, to: str, params: Params) -> Expectation:
    rows, numbers = args
    (count,) = params
    order_of, bounds = _by_target(numbers, count)
    lengths = np.diff(bounds)
    groups = []
    for length in np.unique(lengths):
        targets = np.flatnonzero(lengths == length)
        groups.append((targets, order_of[bounds[targets, None] + np.arange(length)]))
    if _is_rounded(rows):
        return sums.sums_of_rows(rows, groups, count)
    whole = np.zeros((count, rows.shape[1]), np.uint64)
    for targets, places in groups:
        whole[targets] = order.modular(rows)[places].sum(axis=1)
    return Only(order.wrapped(whole, to))


def _by_target(numbers: HostArray, count: int) -> tuple[HostArray, HostArray]:
    """Return the places of numbers in their order, and where those of each target begin and end."""
    signed = numbers.astype(np.int64)
    places = np.argsort(signed, kind="stable")
    return places, np.searchsorted(signed[places], np.arange(count + 1))


def _bincount(args: Args, _to: str, params: Params) -> Expectation:
    _, bounds = _by_target(args[0], *params)
    return Only(np.diff(bounds))


def _histogram(args: Args, _to: str, params: Params) -> Expectation:
    x, edges = (a.astype(np.float64) for a in args)
    (count,) = params
    below = np.searchsorted(np.sort(x), edges)  # NaN comes last
    found = np.diff(below)
    if count:
        found[-1] += np.count_nonzero(x == edges[-1])
    return Only(found.astype(np.int64))


def _matmul(args: Args, to: str, _: Params) -> Expectation:
    a, b = args
    if _is_rounded(a):
        return sums.matrix_products(a, b)
    return Only(order.wrapped(np.asarray(order.modular(a) @ order.modular(b)), to))


def _random(op: str, args: Args, to: str, params: Params) -> Expectation:
    key, stream, position, count = params
    reference = random_tries.random_tries if op in TRIED else random_numbers.random_numbers
    steps = random_numbers.blocks_of(op, to)
    parts = []
    for some in _parts(count):
        own = tuple(x[some.start : some.stop] if x.ndim else x for x in args)
        at = position + int(some.start * steps)
        parts.append(reference(op, own, to, (key, stream, at, len(some))))
    return one_after_another(parts)


def _parts(count: int) -> list[range]:
    """Return the numbers below a count in parts, of which there is one at least."""
    return [
        range(first, min(first + _AT_ONCE, count)) for first in range(0, max(count, 1), _AT_ONCE)
    ]


#: Reductions that are not defined over no elements.
NEED_ELEMENTS = ("max", "min", "argmax", "argmin")
#: By op. For ``arange`` and for what goes by target the params are the length of the result, which
#: for random numbers is last.
REFERENCES: dict[str, _Reference] = {
    "sum": _sum,
    "prod": _prod,
    "mean": lambda args, *_: sums.sums(args[0], mean=True),
    "sum_squared_deviations": lambda args, *_: rows.sum_squared_deviations(args[0]),
    "max": lambda args, *_: Only(order.extremes(args[0], largest=True)),
    "min": lambda args, *_: Only(order.extremes(args[0], largest=False)),
    "argmax": lambda args, *_: Only(order.extreme_places(args[0], largest=True)),
    "argmin": lambda args, *_: Only(order.extreme_places(args[0], largest=False)),
    "any": lambda args, *_: Only(np.asarray(order.counting(args[0]).any(axis=-1))),
    "all": lambda args, *_: Only(np.asarray(order.counting(args[0]).all(axis=-1))),
    "count_nonzero": _count,
    "cumulative_sum": _cumulative_sum,
    "cumulative_prod": _cumulative_prod,
    "sort": lambda args, _, params: Only(order.in_order(args[0], params[0] == 1)),
    "argsort": lambda args, _, params: Only(order.places(args[0], params[0] == 1)),
    "searchsorted": lambda args, _, params: Only(order.search(args[0], args[1], params[0] == 1)),
    "nonzero": lambda args, *_: Only(np.flatnonzero(args[0]).astype(np.int64)),
    "compress": _compress,
    "wrap_index": _wrap_index,
    "segment_sum": _segment_sum,
    "bincount": _bincount,
    "histogram": _histogram,
    "arange": _arange,
    "matmul": _matmul,
    "softmax": lambda args, *_: rows.softmax(args[0]),
    "log_softmax": lambda args, *_: rows.log_softmax(args[0]),
    "layer_norm": lambda args, _, params: rows.layer_norm(args[0], args[1], args[2], params),
    "fft": fourier.transform,
    "fft_from_pairs": fourier.from_pairs,
    "fft_to_pairs": fourier.to_pairs,
    **{
        f"random_{name}": partial(_random, f"random_{name}")
        for name in (
            *("bits", "bernoulli", "integers", "uniform", "normal", "exponential"),
            *("gamma", "poisson", "binomial"),
        )
    },
    **{
        name: partial(factors.factored, name)
        for name in ("cholesky", "lu", "triangular_solve", "householder", "jacobi", "eigh", "schur")
    },
}


def expected(op: str, args: Args, to: str, params: Params = ()) -> Expectation:
    """Return what an op gives for operands in canonical form; ``to`` names the result's dtype.

    ``gather`` and ``scatter``, which move memory, have `gathered` and `scattered`.

    Raises:
        KeyError: the op has no reference.
    """
    return REFERENCES[op](args, to, params)


def gathered(memory: HostArray, inner: HostArray, offsets: HostArray) -> HostArray:
    """Return the slices (m, inner...) of flat memory, zeros where an offset names no element.

    Args:
        memory: all elements (count,).
        inner: places (inner...) of the elements of the slice at offset 0.
        offsets: of the slices (m,).
    """
    there = offsets >= NO_PLACE // 2
    found = np.zeros((*offsets.shape, *inner.shape), memory.dtype)
    found[there] = memory[np.add.outer(offsets[there], inner)]
    return found


def scattered(
    memory: HostArray, inner: HostArray, values: HostArray, offsets: HostArray
) -> HostArray:
    """Return memory (count,) after slices (m, inner...) are written one after the other.

    What has an offset that names no element is left out.
    """
    result = memory.copy()
    there = offsets >= NO_PLACE // 2
    # of values for one place, NumPy leaves the last there
    result[np.add.outer(offsets[there], inner)] = values[there]
    return result
