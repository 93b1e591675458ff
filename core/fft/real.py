"""Real transforms: of long, even rows through half as many pairs, of others as complex ones."""

from __future__ import annotations

from phalanx._warm import (
    Array,
    assign,
    cast,
    empty,
    fill,
    launch,
    launch_elementwise,
    reinterpret,
    view,
)
from phalanx.namespace.elementwise import conj, imag, real
from phalanx.optable.fourier import goes_by_pairs

from . import tables
from .transform import behind, bits, complex_of, cut, into, new, part_of


def real_along(x: Array, axis: int, n: int, scale: float) -> Array:
    """Return the first half of the transform of real x along an axis."""
    out = new(x, axis, n // 2 + 1, complex_of(x.dtype))
    if out.size:
        run = from_pairs if goes_by_pairs(n) else from_whole
        run(cut(behind(x, axis), n), behind(out, axis), n, scale)
    return out


def hermitian_along(x: Array, axis: int, n: int, scale: float) -> Array:
    """Return the real inverse of the first half of a transform along an axis."""
    out = new(x, axis, n, part_of(x.dtype))
    if out.size:
        run = to_odd if n % 2 else to_pairs if goes_by_pairs(n) else to_short
        run(cut(behind(x, axis), n // 2 + 1), behind(out, axis), scale)
    return out


def from_pairs(x: Array, out: Array, n: int, scale: float) -> None:
    """Transform n real numbers, n even, into the n / 2 + 1 of ``out``; zeros follow those given."""
    kind, m = out.dtype, n // 2
    made = empty((*out.shape[:-1], m), kind, out.device)
    into(_as_pairs(x), made, 1.0, inverse=False)
    table = tables.half_turn(n, kind, out.device)
    launch("fft_from_pairs", (made, table), (out,), (bits(0.5 * scale, kind),))


def to_pairs(x: Array, out: Array, scale: float) -> None:
    """Transform the first half of a Hermitian row back into an even number of real numbers."""
    kind, n = x.dtype, out.shape[-1]
    m = n // 2
    made = empty((*out.shape[:-1], m), kind, out.device)
    table = tables.half_turn(n, kind, out.device)
    launch("fft_to_pairs", (x, table), (made,))
    direct = out.is_contiguous
    target = out if direct else empty(out.shape, out.dtype, out.device)
    into(made, _pairs_of(target, m), scale, inverse=True)
    if not direct:
        assign(out, target)


def from_whole(x: Array, out: Array, n: int, scale: float) -> None:
    """Transform n real numbers as complex ones; the first half is kept."""
    kind = out.dtype
    whole = empty((*out.shape[:-1], n), kind, out.device)
    into(cast(x, kind), whole, scale, inverse=False)
    assign(out, cut(whole, out.shape[-1]))


def to_odd(x: Array, out: Array, scale: float) -> None:
    """Transform a Hermitian row that is completed first; its first number counts as real."""
    kind, n = x.dtype, out.shape[-1]
    m, given = n // 2 + 1, x.shape[-1]
    rows = out.shape[:-1]
    whole = empty((*rows, n), kind, out.device)
    fill(whole, 0)
    assign(cut(whole, given), x)
    first = cut(whole, 1)
    assign(first, cast(real(first), kind))
    if given > 1:
        steps = (*whole.strides[:-1], -whole.strides[-1])
        mirror = view(whole, (*rows, given - 1), steps, (n - 1) * whole.strides[-1])
        assign(mirror, conj(view(whole, (*rows, given - 1), whole.strides, whole.strides[-1])))
    assert m >= given
    made = empty((*rows, n), kind, out.device)
    into(whole, made, scale, inverse=True)
    launch_elementwise("real", (made,), out)


def to_short(x: Array, out: Array, scale: float) -> None:
    """Transform the first half of a Hermitian row as complex numbers; real parts are kept.

    Doubled, the half stands for its mirror image, too, which the two ends do not have.
    """
    kind, n = x.dtype, out.shape[-1]
    rows, given, middle = out.shape[:-1], x.shape[-1], n // 2
    half = empty((*rows, given), kind, out.device)
    assign(half, x)
    ends = view(half, (*rows, 1 + given // (middle + 1)), (*half.strides[:-1], middle))
    halves = real(ends)
    halves *= 0.5
    fill(imag(ends), 0)
    made = empty((*rows, n), kind, out.device)
    into(half, made, 2.0 * scale, inverse=True)
    launch_elementwise("real", (made,), out)


def _as_pairs(x: Array) -> Array:
    """Real numbers as complex ones of two each; copied unless they lie so in memory."""
    rows, given = x.shape[:-1], x.shape[-1]
    kind = complex_of(x.dtype)
    apart = x.strides[-1] == 1 or given == 1
    fits = all(s % 2 == 0 for s, k in zip(x.strides[:-1], rows, strict=True) if k > 1)
    if apart and fits and given % 2 == 0 and x.offset % kind.itemsize == 0:
        shape = (*rows, given // 2)
        steps = (*(s // 2 for s in x.strides[:-1]), 1)
        return reinterpret(x, kind, shape, steps)
    held = given + given % 2
    copied = empty((*rows, held), x.dtype, x.device)
    if held > given:
        fill(view(copied, (*rows, 1), copied.strides, given), 0)
    assign(cut(copied, given), x)
    return _pairs_of(copied, held // 2)


def _pairs_of(x: Array, m: int) -> Array:
    """A contiguous real array (..., 2 m) as complex (..., m)."""
    steps = (*[s // 2 for s in x.strides[:-1]], 1)
    return reinterpret(x, complex_of(x.dtype), (*x.shape[:-1], m), steps)
