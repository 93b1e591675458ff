"""What a plugin's library does not keep to: the field, and what is wrong with it."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A fault of a library.

    ``field`` is written as in ``phalanx.h``, such as ``phx_api.capabilities``, or the call that
    showed the fault, such as ``device_open``; empty if it is the library as a whole.
    """

    field: str
    detail: str

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}" if self.field else self.detail
