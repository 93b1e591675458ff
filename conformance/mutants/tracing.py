"""Which functions of a library ran: it is compiled with calls of `TRACER` at their beginnings."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

#: Compiled into the library, which is compiled with ``-finstrument-functions``.
TRACER = """\
#include <stddef.h>
#include <stdint.h>
#define SIZE (1u << 16)
#define UNTRACED __attribute__((no_instrument_function))
static void *ran[SIZE];
UNTRACED void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    uint32_t at = (uint32_t)(((uintptr_t)function * 0x9e3779b97f4a7c15u) >> 48);
    for (;; at = (at + 1) % SIZE) {
        void *there = __atomic_load_n(&ran[at], __ATOMIC_RELAXED);
        if (there == function) return;
        if (there == NULL && __atomic_compare_exchange_n(&ran[at], &there, function, 0,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return;
        }
        if (there == function) return;
    }
}
UNTRACED void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    (void)caller;
}
/* The two above stay hidden: libc has such functions, too, and would be asked first.
   Write the functions that ran since the last call; return how many. Nothing may run meanwhile. */
UNTRACED __attribute__((visibility("default"))) size_t phx_trace_take(void **out) {
    size_t count = 0;
    for (size_t i = 0; i < SIZE; i++) {
        if (ran[i] != NULL) out[count++] = ran[i];
        ran[i] = NULL;
    }
    return count;
}
"""
_TAKE = "phx_trace_take"
_SIZE = 1 << 16


def functions_of(binary: Path) -> dict[int, tuple[str, str]]:
    """Return the source and the name of each function of a library or object by its place.

    The source is empty for what several sources share; names are without compilers' endings.
    """
    done = subprocess.run(
        ["readelf", "--symbols", "--wide", str(binary)], capture_output=True, text=True, check=True
    )
    found, source = {}, ""
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) > _KIND and words[_KIND] == "FILE":
            source = Path(words[_NAME]).stem if len(words) > _NAME else ""
        elif len(words) > _NAME and words[_KIND] == "FUNC" and words[_PLACE] != "UND":
            name = words[_NAME].partition(".")[0]
            found[int(words[1], 16)] = (source if words[_BINDING] == "LOCAL" else "", name)
    return found


#: The columns of readelf's table of symbols.
_KIND, _BINDING, _PLACE, _NAME = 3, 4, 6, 7


def qualified(source: str, name: str) -> str:
    """Return a function's name with that of its source, as many sources have one ``run``."""
    return f"{source}:{name}" if source else name


class Trace:
    """The functions that run in a library of this process."""

    def __init__(self, library: Path) -> None:
        self._names = {place: qualified(*one) for place, one in functions_of(library).items()}
        (offset,) = (place for place, name in self._names.items() if name == _TAKE)
        # the same library that the driver opens: the process has it once
        self._take = getattr(ctypes.CDLL(str(library)), _TAKE)
        self._take.restype = ctypes.c_size_t
        address = ctypes.cast(self._take, ctypes.c_void_p).value or 0
        self._base = address - offset
        self._out = (ctypes.c_void_p * _SIZE)()

    def taken(self) -> list[str]:
        """Return the functions that ran since the last call, by name."""
        count = self._take(self._out)
        places = (int(self._out[i] or 0) - self._base for i in range(count))
        return sorted({self._names[place] for place in places if place in self._names})
