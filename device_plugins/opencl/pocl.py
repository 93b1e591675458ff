"""PoCL on x86-64 processors that are newer than it: kernels do not compile there, or compute wrong.

LLVM calls a processor that it does not know "generic", PoCL up to at least 3.1 hands that name to
clang, and clang refuses it ("unknown target CPU 'generic'", pocl issues 512 and 1049). AMD's Zen 4
and later are "znver3" to LLVM 14, which has no AVX-512, while PoCL links the library of functions
that it has for processors with AVX-512: the two pass wide vectors in different registers, so that
`vload16` of doubles loses half of them (seen with PoCL 3.0 on an EPYC of family 25, model 17).

No option, variable or call of OpenCL changes the name, so it is changed where PoCL keeps it: in its
record of the device, to the newest processor that PoCL has a library for and this one can stand
for.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path
from typing import Any

#: What newer processors are called, and the flag of one that the name does not stand for.
_WRONG_NAMES = {"generic": "", "znver1": "avx512f", "znver2": "avx512f", "znver3": "avx512f"}
#: Processors by what they need, the newest first: those that PoCL's wheel has libraries for.
_STAND_INS = (
    ("skylake-avx512", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "fma"}),
    ("haswell", {"avx2", "fma", "bmi1", "bmi2"}),
    ("x86-64", {"sse2"}),
)
#: Bytes of PoCL's record that are looked at; the pointer stands at 640 in PoCL 3.0.
_RECORD_SIZE = 2048
_POINTER = 8
#: Names that PoCL points to, for as long as the process lives.
_names: dict[str, Any] = {}


def is_pocl(device: Any) -> bool:
    """Tell whether a ``pyopencl.Device`` is one of PoCL's."""
    return "PoCL" in str(device.version)


def name_processor(device: Any) -> str:
    """Give PoCL a fitting name for a processor; return it, or an empty string.

    ``device`` is a ``pyopencl.Device``. Does nothing for other runtimes, for processors that PoCL
    knows, and where its record does not look as expected.
    """
    known_as = str(device.version).rpartition("-")[2]
    if not is_pocl(device) or known_as not in _WRONG_NAMES:
        return ""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return ""
    flags = _processor_flags()
    if _WRONG_NAMES[known_as] and _WRONG_NAMES[known_as] not in flags:
        return ""
    stand_in = next((name for name, needs in _STAND_INS if needs <= flags), "")
    places = _places_of_name(device.int_ptr, known_as)
    if not stand_in or len(places) != 1:
        return ""
    name = _names.setdefault(stand_in, ctypes.create_string_buffer(stand_in.encode()))
    ctypes.c_uint64.from_address(places[0]).value = ctypes.addressof(name)
    return stand_in


def _processor_flags() -> set[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return set(flags.partition(":")[2].split())


def _places_of_name(record: int, name: str) -> list[int]:
    """Return the addresses in a device's record that point to a name, or to one of ours."""
    wanted = name.encode() + b"\0"
    ours = {ctypes.addressof(name) for name in _names.values()}
    memory = os.open("/proc/self/mem", os.O_RDONLY)  # unmapped places are errors there, not crashes
    try:
        words = os.pread(memory, _RECORD_SIZE, record)
        found = []
        for offset in range(0, len(words) - _POINTER + 1, _POINTER):
            (pointer,) = struct.unpack_from("=Q", words, offset)
            if pointer in ours or _text_at(memory, pointer, len(wanted)) == wanted:
                found.append(record + offset)
        return found
    finally:
        os.close(memory)


def _text_at(memory: int, address: int, size: int) -> bytes:
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""
