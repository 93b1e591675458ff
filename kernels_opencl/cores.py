"""Devices whose work-items are cores, or whose groups are small: how their work is cut."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from phalanx.device_code.recipe import Traits

#: Elements that are worth a work-item of its own.
GRAIN = 16384


@cache
def template(name: str) -> str:
    """Return a text of this folder by its file name."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def serial(traits: Traits) -> bool:
    """Whether a work-item should take whole blocks: it is a core, or groups are too small."""
    return traits.is_cpu or traits.max_work_group < 64


def items(traits: Traits) -> int:
    """How many work-items keep a device busy whose work-items are cores."""
    return max(1, traits.compute_units) * 16
