"""Large arrays of the host come and go in each case: the process keeps their pages."""

from __future__ import annotations

from ctypes import CDLL, c_int

#: Numbers of options of glibc's ``mallopt`` (malloc.h), and what it calls the largest threshold.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 << 20
#: More than the large arrays of a case take together.
_KEPT = 1 << 30


def keep_freed_pages() -> None:
    """Have the C library keep freed memory, whose pages cost more than their contents; glibc's."""
    try:
        mallopt = CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt.argtypes, mallopt.restype = (c_int, c_int), c_int
    mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    mallopt(_TRIM_THRESHOLD, _KEPT)
