"""What C's values are while a program is made."""

from __future__ import annotations

from typing import TypeAlias

from phalanx.optable import DTYPES

from .program import Value
from .scalar_text import BOOL

#: Values by the names of members; ``#`` is the name of the struct.
Struct: TypeAlias = "dict[str, Any_]"
Any_: TypeAlias = "Value | Struct | str"

DTYPE_OF = {t.storage: t.name for t in DTYPES.values() if t.storage == t.suffix} | {BOOL: "bool"}
FLOATS = ("float32", "float64")


class NotTranslated(Exception):
    """A text has something that no program can do."""
