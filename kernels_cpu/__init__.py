"""Kernels of the CPU: C sources, their generator and the build step; compiled into three libraries.

``_cpu_baseline``, ``_cpu_avx2`` and ``_cpu_avx512`` are plugins of the C ABI in one wheel, one per
instruction set; the driver ``phalanx.device_plugins.cpu`` opens the best one that the processor
runs.
"""

from __future__ import annotations

from pathlib import Path

#: Names of the libraries, best first.
LIBRARIES = ("_cpu_avx512", "_cpu_avx2", "_cpu_baseline")


def libraries() -> dict[str, Path]:
    """Return the path of each library that this installation has, best first.

    Nothing is opened: a file may exist for an instruction set that the processor lacks, which the
    library's ``plugin_score`` answers with 0.
    """
    found: dict[str, Path] = {}
    for folder in map(Path, __path__):
        for name in LIBRARIES:
            candidates = sorted(folder.glob(f"{name}.*so")) + sorted(folder.glob(f"{name}.pyd"))
            if candidates and name not in found:
                found[name] = candidates[0]
    return {name: found[name] for name in LIBRARIES if name in found}


__all__ = ["LIBRARIES", "libraries"]
