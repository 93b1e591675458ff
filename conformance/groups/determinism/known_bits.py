"""Launches whose results are known bit by bit: operands, and digests of what comes of them.

The op table defines the order and the arithmetic of ops of class bitwise, and so their bits. What
they are is kept as digests, which ``cpu:0`` made of kernels that the references of the group
``ops`` had passed. Where a definition changes, they are written anew:
``python -m phalanx.conformance.groups.determinism.known_bits``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

import mpmath
import numpy as np
import phalanx as px
from phalanx.conformance.calls import Call
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.fourier import packed, scale_bits
from phalanx.conformance.reference.hard import beside_underflow, whole_results
from phalanx.conformance.reference.patterns import corners, pattern, plain, sized
from phalanx.conformance.reference.random_flips import PARAMS, flips
from phalanx.conformance.reference.rare import rare_operands
from phalanx.optable import COMPLEX, FLOATING, Structure
from phalanx.optable.fourier import OWN_RADICES

_FILE = "known_bits.json"
#: Elements of elementwise ops: of the quick run, and how often more follow in the full one.
_COUNT, _COUNT_COMPLEX, _MORE = 1 << 14, 1 << 12, 16
#: Combinations of corners that are tried, unless there are fewer.
_CORNERS = 4000
#: Random numbers.
_NUMBERS, _MORE_NUMBERS = 3000, 200_000

Calls = Iterator[Call]


def is_known(overload: Overload) -> bool:
    """Tell whether there are calls of an overload: floating ones, but conversions and moves."""
    row = overload.row
    if row.structure not in _BY_STRUCTURE or overload.op in _EXACT:
        return False
    if row.structure is Structure.RANDOM:
        return True
    return overload.inputs[-1] in _DTYPES and overload.outputs[0] in _DTYPES


_DTYPES = FLOATING + COMPLEX
#: Ops that only move or convert, which other cases hold to the last bit.
_EXACT = (
    *("copy", "cast", "where", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero"),
    *("random_bits", "random_integers", "random_bernoulli"),
)


def known_calls(overload: Overload, *, quick: bool) -> Calls:
    """Yield the launches of an overload, those of a quick run first."""
    yield from _BY_STRUCTURE[overload.row.structure](overload, quick)


def digest(result: HostArray) -> str:
    """Return 64 bits of a hash of a result, as hexadecimal digits; every NaN is one NaN."""
    flat = np.ascontiguousarray(result).reshape(-1).copy()
    if flat.dtype.kind in "fcV":
        parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
        with np.errstate(invalid="ignore"):
            parts[np.isnan(parts.astype(np.float64))] = np.nan
    return hashlib.sha256(flat.tobytes()).hexdigest()[:16]


@cache
def known_digests() -> dict[str, list[str]]:
    """Return the digests of an overload's calls, by its name."""
    text = files(__package__).joinpath(_FILE).read_text("utf-8")
    found: dict[str, list[str]] = json.loads(text)
    return found


# ---- elementwise ---------------------------------------------------------------------------------


def _elementwise(overload: Overload, quick: bool) -> Calls:
    rare = rare_operands(overload.op, overload.inputs)
    if rare:
        yield Call(overload, rare, rare[0].shape)
    if set(overload.inputs) <= set(_DTYPES):
        combined = corners(overload.inputs, _CORNERS)
        yield Call(overload, combined, combined[0].shape)
    if len(overload.inputs) == 1 and host_dtype(overload.inputs[0]).itemsize == 2:
        every = np.arange(1 << 16, dtype=np.uint16).view(host_dtype(overload.inputs[0]))
        yield Call(overload, (every,), every.shape)
        return
    if len(overload.inputs) == 1 and overload.inputs[0] in FLOATING:
        op, name = overload.op, overload.inputs[0]
        ends = np.concatenate([beside_underflow(op, name), whole_results(op, name)])
        if ends.size:
            yield Call(overload, (ends,), ends.shape)
        many = beside_underflow(op, name, 1009)
        if many.size:
            yield Call(overload, (many,), many.shape)
    few = _COUNT_COMPLEX if overload.inputs[0] in COMPLEX else _COUNT
    for first, count in ((0, few),) if quick else ((0, few), (16, _MORE * few)):
        operands = tuple(
            pattern(name, count, first + 4 * number) for number, name in enumerate(overload.inputs)
        )
        yield Call(overload, operands, (count,))


# ---- others --------------------------------------------------------------------------------------


def _rows(overload: Overload, quick: bool) -> Calls:
    if overload.op in ("softmax", "log_softmax"):
        far = sized(overload.inputs[0], 6000, 0, -9, 16).reshape(1500, 4)
        yield Call(overload, (far,), far.shape)
    for operand in rare_operands(overload.op, overload.inputs):
        rows = np.stack([np.zeros_like(operand), operand], axis=1)
        yield Call(overload, (rows,), rows.shape)
    shapes = ((3, 65), (2, 4097)) if quick else ((3, 65), (2, 4097), (1, 70_001))
    for shape in shapes:
        name, *others = overload.inputs
        count = shape[0] * shape[1]
        x = plain(name, count, 0, 4).reshape(shape)
        behind = (plain(other, shape[-1], 8 + 4 * i) for i, other in enumerate(others))
        params = (0x3EE4F8B588E368F1,) if overload.op == "layer_norm" else ()
        to: tuple[int, ...] = shape[:-1] if overload.row.structure is Structure.REDUCTION else shape
        yield Call(overload, (x, *behind), to, params)


def _products(overload: Overload, quick: bool) -> Calls:
    sizes = ((33, 65, 17), (3, 4200, 5), (30, 200, 1), (1, 200, 30))
    for m, k, n in sizes if quick else (*sizes, (130, 300, 129)):
        name = overload.inputs[0]
        a, b = plain(name, m * k, 0, 4).reshape(m, k), plain(name, k * n, 4, 4).reshape(k, n)
        yield Call(overload, (a, b), (m, n))


def _numbers(overload: Overload, quick: bool) -> Calls:
    del quick
    ends = plain(overload.inputs[0], 2, 0, 4)
    yield Call(overload, (ends[0].reshape(()), ends[1].reshape(())), (1000,))


def _roots(turns: list[int], n: int, name: str) -> HostArray:
    """Return exp(-2 pi i t / n), each part rounded once from 100 bits."""
    with mpmath.workprec(100):
        exact = [mpmath.expjpi(mpmath.mpf(-2 * (t % n)) / n) for t in turns]
    part = np.float32 if name == "complex64" else np.float64
    digits = 24 if name == "complex64" else 53
    z = np.empty(len(exact), name)
    with mpmath.workprec(digits):
        z.real = [part(float(+one.real)) for one in exact]
        z.imag = [part(float(+one.imag)) for one in exact]
    return z


def _fourier(overload: Overload, quick: bool) -> Calls:
    del quick
    name = overload.inputs[0]
    if overload.op != "fft":
        m, back = 60, overload.op == "fft_to_pairs"
        x = plain(name, 7 * (m + back), 0, 4).reshape(7, m + back)
        scale = () if back else (scale_bits(0.5, name),)
        roots = _roots(list(range(m + 1)), 2 * m, name)
        for rows in (x, _near_overflow(x)):
            yield Call(overload, (rows, roots), (7, m + 1 - back), scale, anywhere=False)
        return
    for radices in ((2,), (3,), (4,), (5,), (7,), (8,), (11,), (3, 4), (7, 5), (127,), (251,)):
        n = int(np.prod(radices))
        x = plain(name, 37 * n, 0, 4).reshape(37, n)
        turns, of = list(range(n)) if n in radices and n not in OWN_RADICES else [], n
        if len(radices) == 2:
            turns = [j * k for j in range(1, radices[1]) for k in range(radices[0])]
        table = _roots(turns, of, name) if turns else np.zeros(1, name)
        params = (0, scale_bits(1.0, name), *packed(radices))
        yield Call(overload, (x, table), (37, n), params, anywhere=False)


def _near_overflow(x: HostArray) -> HostArray:
    """Return the numbers times a power of two, so large that sums of two of them overflow."""
    parts = x.view(x.real.dtype)
    _, most = np.frexp(np.abs(parts).max())
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(parts, np.finfo(parts.dtype).maxexp - most)).view(x.dtype)


#: Parameters of random numbers that are for all elements, by op.
_SHAPES = (0.001, 0.3, 1.0, 2.5, 40.0)
_MEANS = (0.5, 5.0, 9.75, 12.0, 30.0, 100.0, 1e4, 1e8)
_TRIALS = ((20.0, 0.25), (50.0, 0.5), (1000.0, 0.015625), (1000.0, 0.75), (1e6, 0.3125))


def _random(overload: Overload, quick: bool) -> Calls:
    ends: tuple[tuple[float, ...], ...] = {
        "random_gamma": tuple((a,) for a in _SHAPES),
        "random_poisson": tuple((m,) for m in _MEANS),
        "random_binomial": _TRIALS,
    }.get(overload.op, ((0.0, 1.0)[-len(overload.inputs) :],))
    for operands, count in flips(overload.op):
        yield Call(overload, operands, (count,), PARAMS)
    for count in (_NUMBERS,) if quick else (_NUMBERS, _MORE_NUMBERS):
        for end in ends:
            operands = tuple(
                np.array(v).astype(host_dtype(name))
                for v, name in zip(end, overload.inputs, strict=True)
            )
            yield Call(overload, operands, (count,), PARAMS)


def _corner_factors(overload: Overload) -> Calls:
    """Yield matrices at the limits of rules: where a product vanishes, and parts of one size."""
    name, op = overload.inputs[0], overload.op
    kind = host_dtype(name)
    if op == "eigh":
        least = np.array([[0, 1], [1, 0]], kind) * np.finfo(kind).smallest_normal
        yield Call(overload, (least[None],), (1, 4, 2))
    if name in COMPLEX and op in ("lu", "triangular_solve"):
        x = np.array([[[1 - 1j, 2], [1 + 1j, 3]]], kind)
        args = (x,) if op == "lu" else (x, np.array([[[1 + 1j], [1]]], kind))
        to = (1, 2, 3) if op == "lu" else (1, 2, 1)
        yield Call(overload, args, to, () if op == "lu" else (0,))
    if name in COMPLEX and op == "schur":
        tiny = 4 * np.finfo(kind).smallest_normal
        yield Call(overload, (np.array([[[0, 1000], [tiny, 0]]], kind),), (1, 7, 2))


def _factors(overload: Overload, quick: bool) -> Calls:
    yield from _corner_factors(overload)
    name, op = overload.inputs[0], overload.op
    square = op in ("cholesky", "eigh", "schur")
    for b, rows, n in ((3, 9, 9), (2, 12, 7)) if quick else ((3, 9, 9), (2, 12, 7), (1, 40, 33)):
        m = n if square else rows
        x = plain(name, b * m * n, 0, 4).reshape(b, m, n)
        if op == "cholesky":
            x = x / x.dtype.type(8 * n)
            x[:, range(n), range(n)] = 2
        args: tuple[HostArray, ...] = (x,)
        if op == "triangular_solve":
            low = plain(name, b * m * m, 8).reshape(b, m, m) / x.dtype.type(m)
            low[:, range(m), range(m)] = 2
            args = (low, x)
        below, columns = _beside(op, n)
        params = (0,) if op == "triangular_solve" else ()
        yield Call(overload, args, (b, m + below, n + columns), params)


def _beside(op: str, n: int) -> tuple[int, int]:
    """Return the rows and columns of a result beside the factors, for n columns."""
    rows = {"householder": n, "jacobi": n + 1, "eigh": 2, "schur": 2 * n + 1}
    return rows.get(op, 0), int(op == "lu")


_BY_STRUCTURE: dict[Structure, Callable[[Overload, bool], Calls]] = {
    Structure.ELEMENTWISE: _elementwise,
    Structure.REDUCTION: _rows,
    Structure.SCAN: _rows,
    Structure.ROW: _rows,
    Structure.CONTRACTION: _products,
    Structure.GENERATION: _numbers,
    Structure.FOURIER: _fourier,
    Structure.RANDOM: _random,
    Structure.FACTORIZATION: _factors,
}


def write() -> None:
    """Write the digests of ``cpu:0`` over those that are known."""
    device = px.devices("cpu")[0]
    found = {
        str(overload): [
            digest(call.prepare(device)()) for call in known_calls(overload, quick=False)
        ]
        for overload in overloads(*Structure)
        if is_known(overload)
    }
    lines = (f"{json.dumps(name)}: {json.dumps(digests)}" for name, digests in found.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    with open(str(files(__package__).joinpath(_FILE)), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    write()
