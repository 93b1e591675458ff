"""A mistake as data, and the names that the mistakes may use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import phalanx as px


@dataclass(frozen=True, slots=True)
class Mistake:
    """``code`` raises ``error``, or a subclass of it, and its text is ``message``.

    ``{device}`` stands in it for the name of the current device.
    """

    code: str
    error: type[BaseException]
    message: str


def names(device: px.Device) -> dict[str, Any]:
    """What the code of a mistake finds: arrays on the current device, and ``other`` elsewhere."""
    return {
        "px": px,
        "np": np,
        "math": math,
        "device": device,
        "x": px.asarray([0.0, 1.0, 2.0]),
        "m": px.reshape(px.arange(6, dtype="float64"), (2, 3)),
        "t": px.zeros((2, 2, 2)),
        "s": px.asarray(1.5),
        "i": px.arange(3),
        "u": px.asarray([1, 2, 3], dtype="uint8"),
        "b": px.asarray([True, False, True]),
        "c": px.asarray([1j, 2, 3]),
        "other": px.ones(3, device="fake:0"),
    }


def answer(code: str, scope: dict[str, Any]) -> BaseException | None:
    """Run what somebody types and return the error that it raises; None if there is none."""
    try:
        exec(compile(code, "<mistake>", "exec"), scope)
    except Exception as error:  # noqa: BLE001 - any is compared with the table
        return error
    return None
