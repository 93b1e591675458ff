"""The versions of the installed distribution, of the C ABI, and of the op table."""

from __future__ import annotations

__version__ = "0.1.0"
#: Major and minor, as in ``phalanx.h``.
ABI = (1, 1)
#: Major and minor: a new op or signature adds to the minor one, a changed meaning to the major one.
OP_TABLE = (1, 0)
