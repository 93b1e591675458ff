"""What is timed on OpenCL devices: rows of the usual table, and three of its own.

pyopencl.array mostly takes the usual expressions; the hand-written kernels are called by name.
"""

from __future__ import annotations

from dataclasses import replace

from .opencl_peers import HAND_WRITTEN
from .workloads import ONE, WORKLOADS, Workload, vectors

_SIZES = (2**16, 2**20, 2**24)
_QUICK_SIZES = (2**20,)
_USUAL = {work.name: work for work in WORKLOADS}


def _usual(name: str, by_hand: str, array: str = "") -> Workload:
    """Return a row of the usual table at our sizes, with the peers' spellings."""
    work = _USUAL[name]
    sizes, quick = ((512, 2048), (512,)) if work.is_matrix else (_SIZES, _QUICK_SIZES)
    special = {**work.special, HAND_WRITTEN: by_hand}
    if array:
        special["pyopencl"] = array
    return replace(work, sizes=sizes, quick_sizes=quick, special=special)


OPENCL_WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "launch add",
        "host's time to launch a + b of one element",
        "a + b",
        vectors(2),
        special={HAND_WRITTEN: "xp.add(a, b)"},
        waits=False,
        **ONE,
    ),
    _usual("add", "xp.add(a, b)"),
    _usual("strided add", "xp.add_strided(a, b)"),
    _usual("broadcast add", "xp.add_row(a, b)"),
    Workload(
        "copy",
        "copy of a",
        "xp.asarray(a, copy=True)",
        vectors(1),
        sizes=_SIZES,
        quick_sizes=_QUICK_SIZES,
        special={
            "numpy": "a.copy()",
            "pyopencl": "a.copy()",
            HAND_WRITTEN: "xp.copy(a)",
        },
    ),
    _usual("exp", "xp.exp(a)"),
    _usual("sum", "xp.sum(a)"),
    _usual("mean rows", "xp.mean_rows(a)"),
    _usual("softmax rows", "xp.softmax_rows(a)"),
    Workload(
        "cumulative sum",
        "sums of all up to each",
        "xp.cumulative_sum(a)",
        vectors(1),
        sizes=_SIZES,
        quick_sizes=_QUICK_SIZES,
        # NumPy is the reference, and sums one after the other: in float32 that is far too rough.
        special={"numpy": "xp.cumulative_sum(a, dtype=xp.float64).astype(xp.float32)"},
    ),
    _usual("sort", "xp.sort(a)"),
    _usual("matmul", "xp.matmul(a, b)", array="xp.matmul(a, b)"),
)
