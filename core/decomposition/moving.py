"""Copies, gathers and scatters by words of the elements' size; arange by whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

from phalanx._warm import Array, compute, dtype_from_name, launch, view
from phalanx.driver import Operand
from phalanx.optable import DTYPES

from .steps import INT64, apply, cast, casts, needs, overload, part_dtype, parts, places
from .table import Decomposition
from .words import as_words, moved_as, words_of


def copying(dtypes: tuple[str, ...]) -> Decomposition | None:
    """Elements are moved as words of their size."""
    word = moved_as(dtypes[0])
    if word == dtypes[0]:
        return None
    kind = dtype_from_name(word)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x,), (out,) = inputs, outputs
        target = as_words(out)
        if isinstance(x, Array):
            compute("copy", (as_words(x),), (kind, kind), out.device, target)
            return
        words = words_of(x, dtypes[0])
        for i, number in enumerate(words):
            place = target if len(words) == 1 else view(target, out.shape, target.strides[:-1], i)
            compute("copy", (number,), (kind, kind), out.device, place)

    return Decomposition(frozenset({("copy", (word, word))}), run)


def _moving(op: str, dtype: str) -> Decomposition | None:
    word = moved_as(dtype)
    if word == dtype:
        return None
    times = DTYPES[dtype].size // DTYPES[word].size

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (x, offsets), (out,) = inputs, outputs
        assert isinstance(x, Array)
        assert isinstance(offsets, Array)
        if times > 1:
            offsets = apply("multiply", offsets, times)
        launch(op, (as_words(x), offsets), (as_words(out),))

    steps = overload(op, word) | (overload("multiply", INT64) if times > 1 else set())
    return Decomposition(needs(steps), run)


def gathering(dtypes: tuple[str, ...]) -> Decomposition | None:
    """Slices at offsets, as words; an offset that is no place stays below all places."""
    return _moving("gather", dtypes[0])


def scattering(dtypes: tuple[str, ...]) -> Decomposition | None:
    """Slices to offsets, as words."""
    return _moving("scatter", dtypes[0])


def counting(dtypes: tuple[str, ...]) -> Decomposition | None:
    """``start + i * step`` from whole numbers i: the product is rounded, then the sum."""
    dtype = dtypes[0]
    if dtype == INT64:
        return None
    wide = part_dtype(dtype)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (start, step), (out,) = inputs, outputs
        assert isinstance(start, Array)
        assert isinstance(step, Array)
        if not out.size:
            return
        i = cast(places(out.size, out), wide)
        if DTYPES[dtype].kind == "c":
            lists = zip(parts(start), parts(step), parts(out), strict=True)
        else:
            lists = zip((start,), (step,), (out,), strict=True)
        for first, gap, target in lists:
            one = apply("multiply", i, cast(gap, wide))
            found = apply("add", cast(first, wide), one)
            cast(found, target.dtype.name, out=target)

    steps = overload("arange", INT64) | overload("multiply", wide) | overload("add", wide)
    steps |= casts((INT64, wide), (wide, wide))
    if DTYPES[dtype].kind != "c":
        steps |= casts((dtype, wide), (wide, dtype))
    return Decomposition(needs(steps), run)
