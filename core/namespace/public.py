"""Where the public functions of the op table are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from phalanx.optable import OPS


def public_function(op: str) -> Any:
    """Return the public function of an elementwise op, from the module that its row names.

    Raises:
        KeyError: no op of this name.
        AttributeError: an op without a public function, such as ``copy``.
    """
    return getattr(import_module(OPS[op].module), op)
