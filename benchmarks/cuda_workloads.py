"""What is timed on CUDA devices: rows of the usual table at the sizes of a large card."""

from __future__ import annotations

from dataclasses import replace

from .workloads import ONE, WORKLOADS, Workload, vectors

_SIZES = (2**20, 2**24, 2**28)
_QUICK_SIZES = (2**24,)
_NAMES = ("add", "exp", "sum", "mean rows", "softmax rows", "strided add", "broadcast add", "sort")
_USUAL = {work.name: work for work in WORKLOADS}

CUDA_WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "launch add",
        "host's time to launch a + b of one element",
        "a + b",
        vectors(2),
        waits=False,
        **ONE,
    ),
    Workload(
        "copy",
        "copy of a, the rate that others are measured by",
        "xp.asarray(a, copy=True)",
        vectors(1),
        sizes=_SIZES,
        quick_sizes=_QUICK_SIZES,
        special={"numpy": "a.copy()", "cupy": "a.copy()", "torch": "a.clone()"},
    ),
    *(
        replace(
            _USUAL[name],
            sizes=_SIZES,
            quick_sizes=_QUICK_SIZES,
            special={
                **_USUAL[name].special,
                "cupy": _USUAL[name].special.get("numpy", _USUAL[name].expression),
            },
        )
        for name in _NAMES
    ),
    Workload(
        "cumulative sum",
        "sums of all up to each",
        "xp.cumulative_sum(a)",
        vectors(1),
        sizes=_SIZES,
        quick_sizes=_QUICK_SIZES,
        # NumPy is the reference, and sums one after the other: in float32 that is far too rough.
        special={
            "numpy": "xp.cumulative_sum(a, dtype=xp.float64).astype(xp.float32)",
            "cupy": "xp.cumsum(a)",
            "torch": "xp.cumsum(a, dim=0)",
        },
    ),
    replace(_USUAL["matmul"], sizes=(512, 2048, 8192), quick_sizes=(2048,)),
)
