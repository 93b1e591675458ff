"""Faults of prepared launches: what a launch that comes again keeps of those before it."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from phalanx.testing import Tensor
from phalanx.vendor import Array, Kernel, PreparedLaunch, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

#: Seconds in which another thread may come in between.
_WINDOW = 0.001


class _PreparedWrongly(SoundDevice):
    """``again`` gets the right launch, the places and the stream, and what it kept."""

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch:
        right = super().prepare(kernel, inputs, outputs, params, stream=stream)
        kept: dict[str, Any] = {}

        def launch(places: bytes, stream: Stream) -> None:
            words = list(memoryview(places).cast("Q"))
            self.again(right, words, stream, kept)

        return launch

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        right(struct.pack(f"={len(words)}Q", *words), stream)


@driver_fault("runtime")
class PreparedOutputKept(_PreparedWrongly):
    """A launch that comes again writes where the first one like it wrote."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        words[-2:] = kept.setdefault("output", words[-2:])
        super().again(right, words, stream, kept)


@driver_fault("runtime")
class PreparedInputKept(_PreparedWrongly):
    """A launch that comes again reads its first input where the first one like it did."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        if len(words) > 2:
            words[:2] = kept.setdefault("input", words[:2])
        super().again(right, words, stream, kept)


@driver_fault("runtime")
class PreparedOffsetSetByHandle(_PreparedWrongly):
    """A launch that comes again takes over an offset only if the handle is another one, too."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        before = kept.get("words", words)
        for at in range(0, len(words), 2):
            if words[at] == before[at]:
                words[at + 1] = before[at + 1]
        kept["words"] = words
        super().again(right, words, stream, kept)


@driver_fault("runtime")
class PreparedOperandsTakenForOne(_PreparedWrongly):
    """Where the operands of the first launch like it were one array, they are ever after."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        if len(words) == 6 and kept.setdefault("one", words[:2] == words[2:4]):
            words[2:4] = words[:2]
        super().again(right, words, stream, kept)


@driver_fault("runtime")
class PreparedStreamKept(_PreparedWrongly):
    """A launch that comes again goes into the stream of the first one like it."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        first = kept.setdefault("stream", stream)
        super().again(right, words, stream if first.closed else first, kept)


@driver_fault("programs")
class PreparedPlacesShared(_PreparedWrongly):
    """Two threads that launch the same at once may launch with the later one's operands."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        kept["words"] = words
        if stream.handle is not None:
            time.sleep(_WINDOW)
        super().again(right, kept["words"], stream, kept)


class _Keeping(SoundDevice):
    """A device that keeps numbers of a launch for later ones that it takes for the same."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._kept: dict[tuple[Any, ...], tuple[int, ...]] = {}


@driver_fault("ops")
class StridesKeptByShape(_Keeping):
    """A launch like an earlier one, by the shapes, goes through the second operand as that did."""

    def enqueue(
        self,
        kernel: Kernel,
        operands: tuple[Any, ...],
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        if n == 2 and kernel.op in _ARITHMETIC and all(isinstance(x, Tensor) for x in operands):
            key = (kernel.op, kernel.dtypes, kernel.layout, *(x.shape for x in operands))
            second = operands[1]
            strides = self._kept.setdefault(key, second.strides)
            if min(strides, default=0) >= 0 and _span(second.shape, strides) <= _span(
                second.shape, second.strides
            ):
                operands = (operands[0], replace(second, strides=strides), *operands[2:])
        super().enqueue(kernel, operands, n, params, stream)


_ARITHMETIC = ("add", "subtract", "multiply", "divide")


def _span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


@driver_fault("ops", "layer_norm", "sort", "argsort")
class ParamsKeptByKernel(_Keeping):
    """The params of a kernel are those of its first launch: another eps, another direction."""

    def enqueue(
        self,
        kernel: Kernel,
        operands: tuple[Any, ...],
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        if kernel.op in ("layer_norm", "sort", "argsort"):
            params = self._kept.setdefault((kernel.op, kernel.dtypes), params)
        super().enqueue(kernel, operands, n, params, stream)


@driver_fault("runtime")
class PreparedInPlaceForEver(_PreparedWrongly):
    """A launch like one that went into its first input goes into its own first input, too."""

    def again(
        self, right: PreparedLaunch, words: list[int], stream: Stream, kept: dict[str, Any]
    ) -> None:
        if kept.setdefault("in place", len(words) > 2 and words[:2] == words[-2:]):
            words[-2:] = words[:2]
        super().again(right, words, stream, kept)


@driver_fault("runtime")
class PreparedStridesInAnyOrder(SoundDevice):
    """Prepared launches are known by a sum of strides, whichever operands have them."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._kept: dict[tuple[Any, ...], PreparedLaunch] = {}

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch:
        arrays = [x for x in (*inputs, *outputs) if isinstance(x, Array)]
        if len(arrays) < len(inputs) + len(outputs):
            return super().prepare(kernel, inputs, outputs, params, stream=stream)
        shapes = tuple(x.shape for x in arrays)
        strides = tuple(sorted(x.strides for x in arrays))
        key = (kernel.op, kernel.dtypes, kernel.layout, params, shapes, strides)
        if key not in self._kept:
            self._kept[key] = super().prepare(kernel, inputs, outputs, params, stream=stream)
        return self._kept[key]
