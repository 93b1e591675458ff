"""Drawings in SVG whose text keeps its size: places along x are shares of the width, y are pixels.

So the same drawing fits a phone and a wide screen. Colours are classes, whose meaning is in the
style sheet of ``page``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

#: Pixels of a row of bars, and above the first for the numbers of the axis.
_ROW, _HEAD = 20, 22


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from ``low`` to ``high``."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Axis:
        """Return an axis that holds 1 and all values, with a margin; from 1/2 to 2 at least."""
        known = [value for value in values if value > 0.0]
        return cls(min([0.5, *(0.9 * v for v in known)]), max([2.0, *(1.1 * v for v in known)]))

    def place(self, value: float) -> float:
        """Return the place of a value in percent of the axis; values outside lie on its ends."""
        inside = min(max(value, self.low), self.high)
        return 100.0 * math.log(inside / self.low) / math.log(self.high / self.low)

    def ticks(self, most: int = 6) -> list[float]:
        """Return powers of a power of two on the axis, 1 among them; about ``most`` at most."""
        step = max(1, math.ceil(math.log2(self.high / self.low) / most))
        first = math.ceil(math.log2(self.low) / step)
        last = math.floor(math.log2(self.high) / step)
        return [2.0 ** (step * exponent) for exponent in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Bar:
    """A ratio with its name, and the interval in which it lies; ``tip`` is shown on hovering."""

    name: str
    ratio: float
    interval: tuple[float, float]
    tip: str

    @property
    def verdict(self) -> str:
        """``ahead``, ``behind``, or ``even`` where the interval holds 1."""
        if self.interval[0] <= 1.0 <= self.interval[1]:
            return "even"
        return "ahead" if self.ratio > 1.0 else "behind"


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a line: ``x`` in percent of the width, ``tip`` is shown on hovering."""

    x: float
    value: float
    tip: str


def tick_text(value: float) -> str:
    """Return a ratio of an axis: ``4`` or ``1/4``."""
    return f"{value:g}" if value >= 1.0 else f"1/{1.0 / value:g}"


def bars(found: Sequence[Bar], label: str) -> str:
    """Return a drawing with a row per bar: names, bars that begin at 1, and ratios."""
    axis = Axis.around(value for bar in found for value in (bar.ratio, *bar.interval))
    height = _HEAD + _ROW * len(found)
    drawn = []
    for value in axis.ticks():
        x, kind = axis.place(value), "one" if value == 1.0 else "grid"
        drawn.append(_line(x, _HEAD - 4, x, height, kind))
        drawn.append(_text(x, _HEAD - 9, tick_text(value), "tick", "middle"))
    drawn += [_bar(bar, axis, _HEAD + _ROW * number) for number, bar in enumerate(found)]
    levels = [_HEAD + _ROW * number + 14 for number in range(len(found))]
    rows = list(zip(found, levels, strict=True))
    names = (_text(100.0, y, bar.name, "name", "end") for bar, y in rows)
    ratios = (
        _text(100.0, y, ratio_text(bar.ratio), f"value {bar.verdict}", "end") for bar, y in rows
    )
    parts = (_drawing(height, label, each) for each in (names, drawn, ratios))
    return f'<div class="bars">{"".join(parts)}</div>'


def _bar(bar: Bar, axis: Axis, top: int) -> str:
    one, x = axis.place(1.0), axis.place(bar.ratio)
    low, high = (axis.place(value) for value in bar.interval)
    left, width = min(one, x), max(abs(x - one), 0.4)
    return (
        f"<g><title>{escape(bar.tip)}</title>"
        f'<rect x="{left:.2f}%" y="{top + 4}" width="{width:.2f}%" height="12" rx="2" '
        f'class="bar {bar.verdict}"/>'
        f"{_line(low, top + 10, high, top + 10, 'interval')}</g>"
    )


def lines(
    found: Sequence[Sequence[Point]], height: int, label: str, ends: tuple[str, str], margin: float
) -> str:
    """Return a drawing with lines of ratios over something; ``ends`` stand under both its ends.

    The line ``i`` has the class ``line-i``. ``margin`` is the share of the width, in percent, that
    the numbers of the axis have.
    """
    axis = Axis.around(point.value for line in found for point in line)
    top, bottom, left = 8.0, height - 18.0, margin + 3.0

    def level(value: float) -> float:
        return bottom - (bottom - top) * axis.place(value) / 100.0

    parts = []
    for value in axis.ticks(most=4):
        y = level(value)
        parts.append(_line(margin, y, 100.0, y, "one" if value == 1.0 else "grid"))
        parts.append(_text(margin - 1.5, y + 4.0, tick_text(value), "tick", "end"))
    for end, x, anchor in ((ends[0], margin, "start"), (ends[1], 100.0, "end")):
        parts.append(_text(x, height - 3.0, end, "tick", anchor))
    for number, line in enumerate(found):
        across = [left + (97.0 - left) * point.x / 100.0 for point in line]
        levels = [level(point.value) for point in line]
        dots = list(zip(across, levels, strict=True))
        for (x, y), (right, other) in pairwise(dots):
            parts.append(_line(x, y, right, other, f"line line-{number}"))
        for point, (x, y) in zip(line, dots, strict=True):
            parts.append(
                f'<circle cx="{x:.2f}%" cy="{y:.1f}" r="3.5" class="dot line-{number}">'
                f"<title>{escape(point.tip)}</title></circle>"
            )
    return _drawing(height, label, parts)


def ratio_text(ratio: float) -> str:
    """Return a ratio with three digits, cut and not rounded: just below 1 must not look like 1."""
    digits = 2 if ratio < 10.0 else 1 if ratio < 100.0 else 0
    return f"{math.floor(ratio * 10**digits) / 10**digits:.{digits}f}"


def _drawing(height: int, label: str, parts: Iterable[str]) -> str:
    return (
        f'<svg class="chart" width="100%" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return (
        f'<line x1="{x1:.2f}%" y1="{y1:.1f}" x2="{x2:.2f}%" y2="{y2:.1f}" class="{escape(kind)}"/>'
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.2f}%" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">'
        f"{escape(text)}</text>"
    )
