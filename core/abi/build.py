"""The C declarations of the plugin ABI, cut from ``include/phalanx.h``, for cffi.

The build runs this file by itself, before the package exists, to write ``phalanx._abi``: the same
declarations, already parsed (``cffi_modules=["core/abi/build.py:builder"]``). Parsing takes 77 ms,
the import of the result 2 ms.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cffi import FFI

HEADER = Path(__file__).parents[1] / "include" / "phalanx.h"
#: The one symbol that a plugin exports; outside of the markers because of its export attribute.
SYMBOL = "phalanx_plugin_get_api"
_ENTRY = (
    f"phx_error *{SYMBOL}(uint32_t host_abi_major, uint32_t host_abi_minor,"
    " const phx_host *host, const phx_api **out);"
)


def declarations() -> str:
    """Return the text between the header's markers, the entry symbol, and a check sum of both."""
    text = HEADER.read_text(encoding="utf-8")
    parts = re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, re.DOTALL)
    if not parts:
        raise ValueError(f"{HEADER.name} has no section between 'cffi: begin' and 'cffi: end'")
    source = "\n".join([*parts, _ENTRY])
    return f"{source}\n#define PHX_DECLARATIONS_CRC {zlib.crc32(source.encode())}\n"


def builder() -> FFI:
    """Return the builder of ``phalanx._abi``."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(declarations())
    ffi.set_source("phalanx._abi", None)
    return ffi
